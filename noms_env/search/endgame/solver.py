"""The exact value of the actions at a table whose cards all lie open: the play-out solver.

    values = solve(table)      # {action: value to each seat}

The value of a deal to a seat is its points less the mean of the others' points. There are two kinds of play:

* `EVERY_SEAT`, each seat for itself (`max_n`): exact in every game.
* `TWO_SIDES`, the declarer's side against the rest (`sides`), much faster: exact if all members of a side win and lose the
  same. If opponents score their own tricks, they play as one nevertheless.
"""

from __future__ import annotations

import numpy as np

from noms_env._jit import jit, lowest, size
from noms_env.core.actions import INDICATE, NAMING_SUIT, NUM_ACTIONS, PLAYING, SUIT, UNSAID
from noms_env.core.cards import FRENCH, bit, has
from noms_env.engine.row_kernels import kernel_view, legal_row
from noms_env.engine.step import step
from noms_env.search.endgame import max_n, sides
from noms_env.search.endgame.max_n import ANY
from noms_env.search.endgame.moves import clear_cache, new_frames
from noms_env.search.endgame.position import count_deal_as_last, find_values, fits, new_positions, set_up, units
from noms_env.table import Table
from noms_env.variants import dispatch
from noms_env.variants.table_record import new_tables

EVERY_SEAT, TWO_SIDES = range(2)
KINDS = ("every_seat", "two_sides")
MAX_TRICKS_TO_SOLVE = np.array([[0, 0, 8, 6, 5, 4, 4, 3], [0, 0, 9, 8, 6, 5, 4, 4]])
"""[kind, seats]: maximum tricks to come, the one under way included, at which a search solves worlds of the French deck."""
MAX_TRICKS_TO_SOLVE_DECKTET = np.array([0, 0, 0, 4, 4])
"""[seats]: the same for the Decktet, whose leads have more choices."""
NEVER = 99  # a margin with which no ending is solved


def solve(table: Table, kind: str | None = None) -> dict[int, list[float]]:
    """Return the value of each legal action to each seat, with open cards and best play by all.

    `kind` is `every_seat` or `two_sides`; by default, two sides if that is exact, else every seat for itself. Returns per legal
    action, in ascending order, the points of each seat less the mean of the others' points. With `accumulate` the deal counts
    as the last. Ties between ends go to the lowest card.

    ValueError if no card is to be played, or there are too many; or if there is no such kind, or it does not fit the game.
    """
    if table.phase not in ("play", "suit"):
        raise ValueError(f"only the play of the cards can be solved, not the phase {table.phase}")
    if kind is not None and kind not in KINDS:
        raise ValueError(f"kind must be {' or '.join(map(repr, KINDS))}, not {kind!r}")
    if kind == KINDS[TWO_SIDES] and dispatch.common_sides(table.row) == 0:
        raise ValueError(
            f"the members of a side do not share their points in this deal of {table.rules.variant.name}, so "
            "two_sides does not fit; use every_seat"
        )
    if not fits(table.row):
        raise ValueError(f"{table.row.deal_size - table.row.trick_number} tricks by {table.seats} seats are too many to solve")
    quickest = KINDS[TWO_SIDES if dispatch.common_sides(table.row) == 2 else EVERY_SEAT]
    tables = new_tables(3)
    tables[0] = table.row
    actions = np.empty(NUM_ACTIONS, np.int64)
    values = np.empty((NUM_ACTIONS, table.seats), np.int64)
    count = solve_row(kernel_view(tables), 0, KINDS.index(kind or quickest), new_positions(), new_frames(), actions, values)
    shares = values[:count] / units(table.seats) * table.row.multiplier
    return {int(action): list(map(float, share)) for action, share in zip(actions[:count], shares, strict=True)}


@jit
def solve_row(tables, row, kind, positions, frames, actions, values):
    """Write the legal actions in a row, and the value of each to each seat. Return their number.

    The row is in the phase `play` or `suit`. The last two rows of `tables`, a structured array, are scratch. `actions` is
    int64, shape (NUM_ACTIONS,); `values` is int64, shape (NUM_ACTIONS, seats), in `position.units`, without the multiplier.
    """
    w = positions[0]
    scratch = len(tables) - 1
    count = legal_row(tables, row, actions)
    tables[scratch] = tables[row]
    count_deal_as_last(tables[scratch])
    if tables[row].trump != UNSAID:
        prepare(w, tables[scratch], kind)
    for k in range(count):
        for seat in range(tables[row].n_seats):
            if tables[row].trump == UNSAID:
                tables[scratch - 1] = tables[scratch]
                step(tables[scratch - 1], actions[k])
                values[k, seat] = position_value(w, frames, tables[scratch - 1], kind, seat)
            else:
                values[k, seat] = action_value(w, frames, tables[scratch], kind, actions[k], seat)
    return count


@jit
def prepare(w, t, kind):
    """Set up the position of a table (phase `play` or `suit`, trump known, `fits`), whose points are overwritten."""
    set_up(w, t)
    if kind == TWO_SIDES:
        sides.find_side_values(w, t)
    else:
        find_values(w, t)
    clear_cache(w, 7 * w.tricks_left * w.n_seats // 10)


@jit
def action_value(w, frames, t, kind, action, seat):
    """Return the value of a legal action of the prepared table to a seat; a seat that indicates pays for it to the others."""
    if action < INDICATE:
        return choice_value(w, frames, kind, bit(w.number_of[action]), seat)
    if action == INDICATE:
        price = 840 * dispatch.indication_price(t)
        return choice_value(w, frames, kind, ANY, seat) - (price * (t.n_seats - 1) if seat == t.seat else -price)
    name_suit(w, action - SUIT)
    return choice_value(w, frames, kind, ANY, seat)


@jit
def choice_value(w, frames, kind, choice, seat):
    """Return the value of the play from the root to a seat; the seat to act takes one of the cards `choice` (or `ANY`)."""
    if kind == EVERY_SEAT:
        return w.values[max_n.find_end(w, frames, choice), seat]
    value = sides.side_value(w, frames, choice)
    if has(w.side, seat):
        return value
    return -value * size(w.side) // (w.n_seats - size(w.side))


@jit
def name_suit(w, suit):
    """Name the suit of a two-suited lead; the next seat is to act."""
    w.led = w.suit_cards[suit]
    w.seat = w.best_seat + 1 if w.best_seat + 1 < w.n_seats else 0


@jit
def position_value(w, frames, t, kind, seat):
    """Return the value of a table's state to a seat, in units: see `prepare` for the arguments."""
    prepare(w, t, kind)
    if t.phase == PLAYING:
        choice = ANY
        if t.trick_number == 0 and t.n_table == 0:
            choice = np.int64(0)
            cards = t.legal_cards
            while cards != 0:
                choice |= bit(w.number_of[lowest(cards)])
                cards &= cards - 1
        return choice_value(w, frames, kind, choice, seat)
    words = t.legal_words
    own_value = np.int64(0)
    best_led = np.int64(-1)
    while words != 0:
        name_suit(w, INDICATE + lowest(words) - SUIT)
        words &= words - 1
        value = choice_value(w, frames, kind, ANY, t.seat)
        if best_led < 0 or value > own_value:
            own_value = value
            best_led = w.led
    w.led = best_led
    return choice_value(w, frames, kind, ANY, seat)


@jit
def is_solvable(t, margin):
    """Return whether cards are being played, with few enough tricks to come: the maximum of a search less `margin`."""
    if margin == NEVER or (t.phase != PLAYING and t.phase != NAMING_SUIT) or t.trump == UNSAID or not fits(t):
        return False
    if t.deck_kind == FRENCH:
        max_tricks = MAX_TRICKS_TO_SOLVE[TWO_SIDES if dispatch.common_sides(t) > 0 else EVERY_SEAT, t.n_seats]
    else:
        max_tricks = MAX_TRICKS_TO_SOLVE_DECKTET[t.n_seats]
    return t.deal_size - t.trick_number <= max_tricks - margin


@jit
def choose_kind(t, margin):
    """Return the kind of a world's solution: each seat for itself if few tricks are to come, unless two sides are exact."""
    sharing = dispatch.common_sides(t)
    if sharing == 0:
        return EVERY_SEAT
    max_tricks = MAX_TRICKS_TO_SOLVE[EVERY_SEAT, t.n_seats] - margin
    return TWO_SIDES if sharing == 2 or t.deal_size - t.trick_number > max_tricks else EVERY_SEAT
