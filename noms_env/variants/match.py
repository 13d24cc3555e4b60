"""The end of a match, and its winners.

1. A match of fixed length ends with its last deal; any other match ends when a total reaches `target`.
2. The highest total wins, and equal totals win together. In an episode of a single deal the points of the deal count.

Totals are float64: whole numbers are exact up to 2**53. Larger totals, after many doublings, are compared as rounded.
"""

from __future__ import annotations

from noms_env._jit import jit
from noms_env.core.cards import bit
from noms_env.core.state import SINGLE_DEAL

SAME = 1e-9
"""Totals that differ by at most this are equal, since fractions of a point add up with rounding errors."""


@jit
def reaches_target(t):
    """Return whether a seat has `target` points (rule 1); a target of None (-1) is never reached."""
    if t.target < 0:
        return False
    for seat in range(t.n_seats):
        if t.totals[seat] >= t.target:
            return True
    return False


@jit
def highest_totals(t):
    """Return the winners as a bit set (rule 2)."""
    return leaders(t, t.points if t.episode == SINGLE_DEAL else t.totals)


@jit
def leaders(t, values):
    """Return the seats with the highest value, as a bit set."""
    best = values[0]
    for seat in range(1, t.n_seats):
        best = max(best, values[seat])
    seats = bit(0) - 1
    for seat in range(t.n_seats):
        if best - values[seat] <= SAME:  # a difference, since `best - SAME` may round to `best`
            seats |= bit(seat)
    return seats


@jit
def has_several(seats):
    """Return whether a set has more than one member."""
    return (seats & (seats - 1)) != 0
