"""Two sides: the declarer and the partner against all others, each side playing as one.

This is exact if the points of a deal depend only on the tricks of the declarer's side, and all members of a side win or lose
the same. If opponents score their own tricks, it is nearly right for a number of tricks to make. They would rather take a trick
themselves than leave it to each other, which is ignored here.

A question is a *goal*: the set of the numbers of further tricks that are good for the side. So "at least 3", "none" and "at
least 10 but not all" are asked in the same way. Alpha-beta with two values finds the answer.

1. States between two tricks are cached: the cards left, the leader, and the goal in that state.
2. The answer is known at once if every number of further tricks is good, or none.
3. Of equivalent cards one is tried.
4. A side that wants the trick first tries the cards that win it, the lowest ones in the last place and otherwise the highest. A
   side that does not want it first tries the highest card that loses it. A side that has the trick already plays low.
"""

from __future__ import annotations

import numpy as np

from noms_env._jit import highest, jit, lowest
from noms_env.core.cards import bit, has
from noms_env.core.partners import is_on_side
from noms_env.core.tricks import beaters
from noms_env.search.endgame import moves
from noms_env.search.endgame.max_n import ANY
from noms_env.search.endgame.position import MAX_CARDS, restore_tricks, settle, value_to

GOAL_SHIFT = MAX_CARDS + 3


@jit
def find_side_values(w, t):
    """Compute the value of each number of further tricks to the side, and list the values; overwrites the points of `t`."""
    w.side = 0
    opponent = -1
    for seat in range(w.n_seats):
        if is_on_side(t, seat):
            w.side |= bit(seat)
        else:
            opponent = seat
    w.n_levels = 0
    for tricks in range(w.tricks_left + 1):
        t.tricks[t.declarer] = w.tricks[t.declarer] + tricks
        t.tricks[opponent] = w.tricks[opponent] + w.tricks_left - tricks
        settle(t)
        value = value_to(t, t.declarer)
        w.side_values[tricks] = value
        place = 0
        while place < w.n_levels and w.levels[place] < value:
            place += 1
        if place == w.n_levels or w.levels[place] != value:
            for k in range(w.n_levels, place, -1):
                w.levels[k] = w.levels[k - 1]
            w.levels[place] = value
            w.n_levels += 1
    restore_tricks(w, t)


@jit
def side_value(w, frames, choice):
    """Return the value of the play from the root to each member of the side, by bisection; `choice` as in `max_n.find_end`."""
    low, high = 0, w.n_levels - 1
    while low < high:
        middle = (low + high + 1) // 2
        goal = np.int64(0)
        for tricks in range(w.tricks_left + 1):
            if w.side_values[tricks] >= w.levels[middle]:
                goal |= bit(tricks)
        if reaches_goal(w, frames, goal, choice):
            low = middle
        else:
            high = middle - 1
    return w.levels[low]


@jit
def reaches_goal(w, frames, goal, choice):
    """Return whether the side reaches a goal, a set of numbers of further tricks; `choice` as in `max_n.find_end`."""
    moves.open_root(w, frames[0])
    frames[0].goal = goal
    frames[0].tricks_left = w.tricks_left
    trivial = trivial_answer(frames[0])
    if trivial >= 0:
        return trivial == 1
    order_cards(w, frames[0], choice)
    depth = 0
    while True:
        f = frames[depth]
        if turn_to_next(w, f):
            answer = open_next(w, f, frames[depth + 1])
            if answer < 0:
                depth += 1
            else:
                f.result = answer
            continue
        if f.key != 0:
            moves.store_result(w, f.key, f.result, 1)
        if depth == 0:
            return f.result == 1
        depth -= 1
        frames[depth].result = f.result


@jit
def trivial_answer(f):
    """Return 1 if every number of further tricks is good for the side, 0 if none is, else -1."""
    if f.goal == 0:
        return 0
    return 1 if f.goal == bit(f.tricks_left + 1) - 1 else -1


@jit
def order_cards(w, f, choice):
    """4. Set the cards to try first and later; the result starts as a failure of the seat to act."""
    cards = moves.legal_cards(w, f) & choice
    on_side = has(w.side, f.seat)
    wants = (has(f.goal, f.tricks_left) or not has(f.goal, 0)) == on_side  # to take all tricks is good, or to take none is bad
    f.result = 0 if on_side else 1
    if f.n_table == 0:
        f.cards, f.later = cards, np.int64(0)
        f.from_low = 0 if wants else 1
        return
    winners = cards & beaters(f.best, f.led, w.trump_cards)
    has_trick = has(w.side, f.best_seat) == on_side
    winners_low = 1 if has_trick or f.n_table == w.n_seats - 1 else 0
    losers_low = 1 if wants else 0
    if wants and not has_trick:
        f.cards, f.later = winners, cards & ~winners
        f.from_low = winners_low | (losers_low << 1)
    else:
        f.cards, f.later = cards & ~winners, winners
        f.from_low = losers_low | (winners_low << 1)


@jit
def turn_to_next(w, f):
    """Turn to the next card, or to the next suit of a two-suited lead; False if the seat to act needs no other, or has none."""
    if f.result == (1 if has(w.side, f.seat) else 0):
        return False
    if f.suits != 0:
        return True
    while f.cards != 0 or f.later != 0:
        if f.cards == 0:
            f.cards, f.later = f.later, np.int64(0)
            f.from_low >>= 1
            f.card = moves.NO_CARD
        card = lowest(f.cards) if f.from_low & 1 else highest(f.cards)
        if moves.try_card(w, f, card):
            return True
    return False


@jit
def open_next(w, f, child):
    """Play the card that is tried. Return the answer if it is known at once; else set up the next state and return -1."""
    moves.lay(w, f, child)
    child.goal = f.goal
    child.tricks_left = f.tricks_left
    if child.n_table == w.n_seats:
        moves.take(child)
        child.tricks_left = f.tricks_left - 1
        if has(w.side, child.seat):
            child.goal = f.goal >> 1
        else:
            child.goal = f.goal & (bit(child.tricks_left + 1) - 1)
        answer = trivial_answer(child)
        if answer >= 0:
            return np.int64(answer)
        if moves.is_last_trick(w, child):
            return (child.goal >> 1 if has(w.side, moves.last_winner(w, child)) else child.goal) & 1
        child.key = child.remaining | (child.seat << MAX_CARDS) | (child.goal << GOAL_SHIFT)
        answer = moves.look_up(w, child.key, 1)
        if answer >= 0:
            return answer
    order_cards(w, child, ANY)
    return np.int64(-1)
