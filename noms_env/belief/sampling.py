"""A redeal from beginning to end."""

from __future__ import annotations

from noms_env._jit import jit_allocating
from noms_env.belief.counting import count_ways
from noms_env.belief.drawing import draw_layout, next_words, open_stream
from noms_env.belief.groups import form_classes, form_groups, join_classes, order_groups, settle_forced
from noms_env.belief.knowledge import survey
from noms_env.belief.record import lay_out


@jit_allocating
def sample_hidden_rows(tables, rows, seat, seed, plans):
    """Deal the cards that a seat has not seen anew, in rows that all hold copies of one table in the middle of a deal.

    What becomes of row i depends on the seat's knowledge, the seed (0 to 2**63 - 1) and i alone. `tables` is a structured
    array, shape (tables,), `rows` int64, shape (n,), n at least 1, and `plans` comes from `new_plan`.
    """
    p = plans[0]
    survey(tables[rows[0]], seat, p)
    form_groups(p)
    form_classes(p)
    settle_forced(p)
    join_classes(p)
    order_groups(p)
    ways = count_ways(p)
    p.seed = seed
    for i in range(len(rows)):
        t = tables[rows[i]]
        open_stream(p, i)
        words = next_words(p)
        t.seed = ((words[0] & 0x7FFFFFFF) << 32) | words[1]
        t.table = 0
        t.match = 0
        draw_layout(p, ways)
        lay_out(t, seat, p)
