"""When a match ends, and who has won it (the last lines of each game's section in the rulebook).

1. A match of fixed length ends with its last deal: the exact-bid games, sniped whist.
2. The others end when a total has reached `target`; Small Ships also after `max_hands` deals.
3. Noms is truncated after `max_deals` deals, Nonesuch after `max_hands`.
4. The highest total wins, equal ones together; Noms with `tie="play_on"` goes on instead.
5. An episode of a single deal ends with the first deal that is played; the most points in the deal win.
"""

from __future__ import annotations

from noms_env._jit import jit
from noms_env.core.cards import bit
from noms_env.core.state import NOMS, NONESUCH, SINGLE_DEAL, SMALL_SHIPS, SNIPED_WHIST
from noms_env.variants import noms, sniped_whist

SAME = 1e-9
"""Totals that differ by less are equal: fractions of a point add up with rounding errors."""


@jit
def judge(t):
    """Decide whether the match is over, and find its winners."""
    ended = has_ended(t)
    truncated = not ended and has_run_out(t)
    if not ended and not truncated:
        return
    t.over = 1
    t.truncated = 1 if truncated else 0
    t.winners = find_winners(t)


@jit
def has_ended(t):
    """1, 2, 4, 5."""
    if t.episode == SINGLE_DEAL:
        return t.passed_out == 0
    if t.n_deals > 0:
        return t.deal == t.n_deals - 1
    if t.variant == SMALL_SHIPS and t.max_hands > 0 and t.deal == t.max_hands - 1:
        return True
    if not reaches_target(t):
        return False
    return not (t.variant == NOMS and t.tie == noms.PLAY_ON and several(leaders(t, t.totals)))


@jit
def has_run_out(t):
    """3."""
    if t.variant == NOMS:
        return t.deal == t.max_deals - 1
    return t.variant == NONESUCH and t.deal == t.max_hands - 1


@jit
def reaches_target(t):
    """2."""
    if t.target < 0:
        return False
    for seat in range(t.n_seats):
        if t.totals[seat] >= t.target:
            return True
    return False


@jit
def find_winners(t):
    """4, 5; in sniped whist of one deal the tricks decide."""
    if t.variant == SNIPED_WHIST and (t.n_deals == 1 or t.episode == SINGLE_DEAL):
        return sniped_whist.single_deal_winners(t)
    return leaders(t, t.points if t.episode == SINGLE_DEAL else t.totals)


@jit
def leaders(t, values):
    """The seats with the highest value, as a bit set."""
    best = values[0]
    for seat in range(1, t.n_seats):
        best = max(best, values[seat])
    seats = bit(0) - 1
    for seat in range(t.n_seats):
        if values[seat] > best - SAME:
            seats |= bit(seat)
    return seats


@jit
def several(seats):
    """True for more than one member."""
    return (seats & (seats - 1)) != 0
