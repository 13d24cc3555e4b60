"""Rules of both auction games: the contract, and the nomination of a hidden partner (rules 3.1, 4.1, 4.2)."""

from __future__ import annotations

from noms_env._jit import jit
from noms_env.core.actions import CALL_MIS, CALL_MIS_A_VIS, CALL_ZERO
from noms_env.core.cards import bit
from noms_env.core.partners import find_partner
from noms_env.core.state import MAX_CALLS, STOCK
from noms_env.variants.rulebook import Option, Values

OPEN_PARTNER = Option(
    "open_partner",
    False,
    "all seats learn the holder of the nominated card at the nomination (not in the rulebook)",
    flag=True,
    late=True,
    byte=57,
)


def max_decisions(values: Values, seats: int, tricks: int, undealt: int, highest_bids: int) -> int:
    """Return an upper bound on the decisions in a deal (rules 0.3); `highest_bids` counts the bids that are not numbers."""
    bids = tricks - values["min_bid"] + 1 + highest_bids
    calls = min(max(bids * (seats - 1) + 1, seats), MAX_CALLS)
    refused = undealt if values.get("stock_nomination") == "redraw" else 0
    indicated = 1 if values.get("indication") else 0
    return int(calls + 2 + refused + indicated + seats * tricks)


@jit
def declare(t):
    """Make the high bidder the declarer and the seat to act."""
    t.declarer = t.high_bidder
    t.contract = t.high_call
    t.seat = t.high_bidder


@jit
def is_misere(call):
    """Return whether a call is Misere or Mis a Vis."""
    return call == CALL_MIS or call == CALL_MIS_A_VIS


@jit
def bid_number(t):
    """Return the number of tricks in the contract; 0 for Misere and Mis a Vis."""
    return 0 if is_misere(t.contract) else t.contract - CALL_ZERO


@jit
def find_holders(t):
    """Find the hidden partner again."""
    if t.nominated >= 0:
        find_partner(t)


@jit
def note_open_partner(t, known):
    """With `open_partner`, add the unplayed nominated card to `known`: at its holder, or in the stock."""
    if t.open_partner != 0 and t.nominated >= 0:
        place = STOCK if t.revealed < 0 else int(t.revealed)
        known[place] |= bit(int(t.nominated)) & ~t.cards_played
