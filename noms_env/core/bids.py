"""The round of calls with its hook (rules 0.2), and the auction with re-entry (rules 0.3).

A set of calls is an int64 with bit `call` set for each member; a call is `action - PASS` (`actions`).
"""

from __future__ import annotations

import numpy as np

from noms_env._jit import jit
from noms_env.core.actions import CALL_MIS, CALL_MIS_A_VIS, CALL_PASS, CALL_ZERO
from noms_env.core.cards import bit
from noms_env.core.state import left_of, put_byte


@jit
def calls_between(low, high):
    """Return the set of calls of the numbers from low to high (empty if low is above high)."""
    if low > high:
        return np.int64(0)
    return ((np.int64(1) << np.int64(high - low + 1)) - 1) << np.int64(CALL_ZERO + low)


@jit
def record_call(t, call):
    """Record a call of the seat to act, and pass the turn to the left."""
    put_byte(t.calls, t.n_calls, call + 1)
    t.n_calls += 1
    t.call[t.seat] = call
    if CALL_ZERO <= call < CALL_MIS:
        t.called += call - CALL_ZERO
    t.seat = left_of(t, t.seat)


@jit
def forbidden_number(t):
    """Return the number that the hook forbids the seat to act (rules 0.2), -1 for none.

    The hook binds the last caller: the calls may not add up to the number of tricks.
    """
    if t.hook == 0 or t.deal_size < t.hook_min_cards or t.n_calls != t.n_seats - 1:
        return -1
    missing = t.deal_size - t.called
    return missing if missing >= 0 else -1


@jit
def exact_calls(t):
    """Return the legal calls of an exact-bid game (rules 0.2): 0 to the hand size, except a number the hook forbids."""
    calls = calls_between(0, t.deal_size)
    forbidden = forbidden_number(t)
    if forbidden >= 0:
        calls &= ~calls_between(forbidden, forbidden)
    return calls


@jit
def half_up(t):
    """Return half of the tricks, rounded up: the fewest that make the bid Most."""
    return (t.deal_size + 1) // 2


@jit
def height(t, call):
    """Return the rank of a bid: even for a number, odd for Misere, which stands between two numbers."""
    if call == CALL_MIS:
        return int(t.misere_height)
    if call == CALL_MIS_A_VIS:
        return 2 * t.deal_size + 3
    return 2 * (call - CALL_ZERO)


@jit
def higher_bids(t):
    """Return the bids above the high bid (rules 0.3); all bids if there is no bid yet."""
    high = height(t, int(t.high_call)) if t.high_call >= 0 else -1
    bids = calls_between(max(int(t.min_bid), high // 2 + 1), t.deal_size)
    if t.misere_height > high:
        bids |= bit(CALL_MIS)
    if t.open_misere != 0 and high < 2 * t.deal_size + 3:
        bids |= bit(CALL_MIS_A_VIS)
    return bids


@jit
def is_forced_dealer(t):
    """Return whether the dealer acts after n-1 passes and no bid (rules 0.3)."""
    return t.high_call < 0 and t.passes == t.n_seats - 1


@jit
def record_auction_call(t, call):
    """Record a pass or a bid in the auction."""
    if call == CALL_PASS:
        t.passes += 1
    else:
        t.high_call = call
        t.high_bidder = t.seat
        t.passes = 0
    record_call(t, call)


@jit
def auction_is_over(t):
    """Return whether the auction is over (rules 0.3): n-1 passes after a bid, no higher bid left, or all seats passed."""
    if t.high_call < 0:
        return t.passes == t.n_seats
    return t.passes == t.n_seats - 1 or higher_bids(t) == 0
