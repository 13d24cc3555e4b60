"""Every seat for itself: max^n, in which each seat maximises its own value (C. Luckhardt and K. Irani, 1986).

The value of a state is an end (`position`). The seat to act chooses the end with the highest value to it. Ties go to the lowest
card, then to the lowest suit of a two-suited card; with more than two interests the tie-break matters.

1. States between two tricks are cached: the cards left, the leader, and the count of tricks so far.
2. Of equivalent cards only the lowest is tried (`try_card`).
3. A seat stops once it has found the maximum that its count can still reach. This saves most in games in which only calls
   score.
"""

from __future__ import annotations

import numpy as np

from noms_env._jit import jit, lowest
from noms_env.search.endgame import moves
from noms_env.search.endgame.position import MAX_CARDS, NEXT_COUNT

ANY = np.int64(-1)  # all cards, as the choice of the seat to act

END_BITS = 9


@jit
def find_end(w, frames, choice):
    """Return the end of the play from the root; the seat to act chooses among the cards `choice`, or `ANY`."""
    moves.open_root(w, frames[0])
    frames[0].count = 0
    frames[0].result = -1
    frames[0].cards = moves.legal_cards(w, frames[0]) & choice
    depth = 0
    while True:
        f = frames[depth]
        if turn_to_next(w, f):
            end = open_next(w, f, frames[depth + 1])
            if end < 0:
                depth += 1
            else:
                keep_better(w, f, end)
            continue
        if f.key != 0:
            moves.store_result(w, f.key, f.result, END_BITS)
        if depth == 0:
            return f.result
        depth -= 1
        keep_better(w, frames[depth], f.result)


@jit
def turn_to_next(w, f):
    """Turn to the next card, or to the next suit of a two-suited lead; False if none can be better."""
    if f.result >= 0 and w.values[f.result, f.seat] == w.values[f.count, f.seat]:
        return False
    if f.suits != 0:
        return True
    while f.cards != 0:
        if moves.try_card(w, f, lowest(f.cards)):
            return True
    return False


@jit
def keep_better(w, f, end):
    """Keep the better of two ends, the earlier one on a tie."""
    if f.result < 0 or w.values[end, f.seat] > w.values[f.result, f.seat]:
        f.result = end


@jit
def open_next(w, f, child):
    """Play the card that is tried. Return its end if that is known at once; else set up the next state and return -1."""
    moves.lay(w, f, child)
    child.count = f.count
    child.result = -1
    if child.n_table == w.n_seats:
        child.count = NEXT_COUNT[w.n_seats, f.count, child.best_seat]
        moves.take(child)
        if child.remaining == 0:
            return np.int64(child.count)
        if moves.is_last_trick(w, child):
            return np.int64(NEXT_COUNT[w.n_seats, child.count, moves.last_winner(w, child)])
        child.key = child.remaining | (child.count << MAX_CARDS) | (child.seat << (MAX_CARDS + END_BITS))
        end = moves.look_up(w, child.key, END_BITS)
        if end >= 0:
            return end
    child.cards = moves.legal_cards(w, child)
    return np.int64(-1)
