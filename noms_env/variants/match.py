"""When a match ends, and who has won it.

1. A match of fixed length ends with its last deal, any other when a total has reached `target`.
2. The highest total wins, equal ones together. In an episode of a single deal the points of the deal count.

Totals are float64: whole ones are exact up to 2**53. Larger ones, behind many doublings, are rounded, and win as rounded.
"""

from __future__ import annotations

from noms_env._jit import jit
from noms_env.core.cards import bit
from noms_env.core.state import SINGLE_DEAL

SAME = 1e-9
"""Totals that differ by no more are equal: fractions of a point add up with rounding errors."""


@jit
def reaches_target(t):
    """1. A seat has `target` points; a target of None (-1) is never reached."""
    if t.target < 0:
        return False
    for seat in range(t.n_seats):
        if t.totals[seat] >= t.target:
            return True
    return False


@jit
def highest_totals(t):
    """2. The winners, as a bit set."""
    return leaders(t, t.points if t.episode == SINGLE_DEAL else t.totals)


@jit
def leaders(t, values):
    """The seats with the highest value, as a bit set."""
    best = values[0]
    for seat in range(1, t.n_seats):
        best = max(best, values[seat])
    seats = bit(0) - 1
    for seat in range(t.n_seats):
        if best - values[seat] <= SAME:  # exact, where `best - SAME` may be rounded to `best`
            seats |= bit(seat)
    return seats


@jit
def several(seats):
    """True for more than one member."""
    return (seats & (seats - 1)) != 0
