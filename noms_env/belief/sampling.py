"""Sampling of hidden cards in copies of a table."""

from __future__ import annotations

import numpy as np

from noms_env._jit import jit, lowest
from noms_env.belief.constraints import form_classes, form_groups, join_classes, order_groups, settle_forced, survey
from noms_env.belief.layouts import count_ways, draw_layout, next_words, open_stream
from noms_env.core.cards import bit, has
from noms_env.core.state import HELD, STOCK, eldest, get_byte, left_of
from noms_env.engine.legal import find_legal
from noms_env.variants import dispatch


@jit
def sample_hidden_rows(tables, rows, seat, seed, workspace):
    """Deal anew the cards that a seat has not seen, in rows that all hold copies of one table in the middle of a deal.

    Row i depends only on the seat's knowledge, the seed (0 to 2**63 - 1) and i. `tables` is a structured array, shape
    (tables,), `rows` int64, shape (n,), n at least 1, and `workspace` comes from `new_sampling_workspace`.
    """
    p = workspace[0]
    plan(tables[rows[0]], seat, p, p, p.ways)
    for i in range(len(rows)):
        deal_hidden(tables[rows[i]], seat, seed, i, p, p, p.ways)


@jit
def plan(t, seat, p, d, ways):
    """Compute the properties that all layouts of a table share, for the knowledge of `seat`.

    `t` is a copy of the table, whose field `partner` is scratch; `p` has the fields of `workspace.PLAN`, and is written; `d`
    has those of `workspace.LAYOUT`, and is scratch; `ways`, float64, shape (MAX_WAYS,), is written and belongs to the plan.
    """
    survey(t, seat, p)
    form_groups(p)
    form_classes(p)
    settle_forced(p)
    join_classes(p)
    order_groups(p)
    count_ways(p, d, ways)


@jit
def deal_hidden(t, seat, seed, stream, p, d, ways):
    """Deal the hidden cards of a table copy anew. The result depends only on the plan, the seed and the stream."""
    d.seed = seed
    open_stream(d, stream)
    words = next_words(d)
    t.seed = ((words[0] & 0x7FFFFFFF) << 32) | words[1]
    t.table = 0
    t.match = 0
    draw_layout(p, d, ways)
    lay_out(t, seat, p, d)


@jit
def lay_out(t, seat, p, d):
    """Write a layout into a table, and update the fields that depend on it."""
    for place in range(t.n_seats):
        t.hands[place] = p.known[place] | d.dealt[place]
    t.stock = p.known[STOCK] | d.dealt[STOCK]
    t.partner = -1
    dispatch.find_holders(t)
    order_deck(t)
    if t.observe_previous_hand != 0:  # blank the cards that other seats held at the end of the deal before
        for card in range(52):
            mark = get_byte(t.previous, card)
            if mark >= HELD and mark != HELD + seat:
                t.previous[card >> 3] ^= mark << np.int64(8 * (card & 7))
    find_legal(t)


@jit
def order_deck(t):
    """Write a dealing order that gives these hands and this turn-up, with each hand in ascending order otherwise."""
    end = t.n_seats * t.deal_size
    undealt = t.stock
    if t.turn_up >= 0:
        undealt |= bit(t.turn_up)
    seat, seats, packets = eldest(t), t.n_seats, dispatch.deals_packets(t)
    for turn in range(seats):
        cards = dispatch.dealt_hand(t, seat)
        if t.turn_up >= 0 and has(cards, t.turn_up):
            cards &= ~bit(t.turn_up)
            undealt &= ~bit(t.turn_up)
            t.deck[end - 1] = t.turn_up
        k = 0
        while cards != 0:
            t.deck[dispatch.deck_place(packets, seats, turn, k)] = lowest(cards)
            cards &= cards - 1
            k += 1
        seat = left_of(t, seat)
    if t.turn_up >= 0 and has(undealt, t.turn_up):
        t.deck[end] = t.turn_up
        undealt &= ~bit(t.turn_up)
        end += 1
    while undealt != 0:
        t.deck[end] = lowest(undealt)
        undealt &= undealt - 1
        end += 1
