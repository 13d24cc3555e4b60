"""What the declarer of an auction game announces: trump, then a card (rules 3.1, 4.1, 4.2). Shared by two variants."""

from __future__ import annotations

from noms_env._jit import jit
from noms_env.core.actions import CALL_MIS, CALL_MIS_A_VIS, CALL_ZERO
from noms_env.core.partners import nominate
from noms_env.core.state import MAX_CALLS
from noms_env.variants.rulebook import Values


def max_decisions(values: Values, seats: int, tricks: int, undealt: int, highest_bids: int) -> int:
    """A bound of the decisions in a deal: calls (rules 0.3), trump, nomination, cards; `highest_bids` are not numbers."""
    bids = tricks - values["min_bid"] + 1 + highest_bids
    calls = min(max(bids * (seats - 1) + 1, seats), MAX_CALLS)
    refused = undealt if values.get("stock_nomination") == "redraw" else 0
    indicated = 1 if values.get("indication") else 0
    return int(calls + 2 + refused + indicated + seats * tricks)


@jit
def declare(t):
    """The high bidder becomes declarer, and it is his turn."""
    t.declarer = t.high_bidder
    t.contract = t.high_call
    t.seat = t.high_bidder


@jit
def is_misere(call):
    """True for Misere and Mis a Vis."""
    return call == CALL_MIS or call == CALL_MIS_A_VIS


@jit
def bid_number(t):
    """The tricks that the contract names; 0 for Misere and Mis a Vis."""
    return 0 if is_misere(t.contract) else t.contract - CALL_ZERO


@jit
def find_holders(t):
    """Find the hidden partner anew."""
    if t.nominated >= 0:
        nominate(t, t.nominated)
