"""What the three exact-bid games share: Big Ships, ten down and up, one to thirteen (rules 2, 6, 7, and 0.2).

1. The hand size follows a list, deal by deal; the trump follows a rotation (or `trump_mode`).
2. One round of calls from eldest: how many tricks; the last caller may be bound by the hook.
3. Eldest leads.
4. One point for each trick, ten more for making the call.
"""

from __future__ import annotations

from typing import Any

from noms_env._jit import jit
from noms_env.core.actions import CALL_ZERO, CALLING
from noms_env.core.bids import record_call
from noms_env.core.state import eldest
from noms_env.core.tricks import open_play
from noms_env.variants.families import EXACT_BID
from noms_env.variants.rulebook import Need, Option, Values, deck_size, refuse_too_small_deck
from noms_env.variants.trumps import set_trump

BONUSES = ("exact", "at_least")
EXACT, AT_LEAST = range(2)
BONUS_POINTS = 10
FULL_DEAL_TURN_UPS = ("none", "dealer_last")
DEALER_LAST = 1


def hook_options(default: bool, min_cards: int) -> tuple[Option, Option]:
    """The options of the hook (rules 0.2)."""
    return (
        Option("hook", default, "the last caller may not make the calls add up to the tricks", flag=True, byte=11),
        Option("hook_min_cards", min_cards, "smallest hand in which the hook holds", numbers=(1, 17), byte=12),
    )


TRAITS: dict[str, Any] = {
    "family": EXACT_BID,
    "simple_rollout": True,
    "point_range": lambda _values, tricks: (0.0, tricks + BONUS_POINTS),
    "max_decisions": lambda _values, seats, tricks, _undealt: seats + seats * tricks,
}
"""What a `Variant` of this family has in common with the others."""

HOOK_NEED = Need("hook_min_cards", "with hook=True", lambda values: bool(values["hook"]))


def largest_hand(values: Values, seats: int, cap: int) -> int:
    """The largest hand that the deck and the game allow.

    Raises:
        RulesError: the deck has less than one card a seat.
    """
    refuse_too_small_deck(values, seats)
    return min(cap, deck_size(values) // seats)


def down(top: int) -> list[int]:
    """top, top - 1, ..., 1."""
    return list(range(top, 0, -1))


def up(top: int) -> list[int]:
    """1, 2, ..., top."""
    return list(range(1, top + 1))


@jit
def open_deal(t):
    """1, 2. The trump is known before the calls."""
    set_trump(t, t.turnup_full_deal == DEALER_LAST)
    t.phase = CALLING
    t.seat = eldest(t)


@jit
def make_call(t, call):
    """2, 3. One call each; then eldest leads."""
    record_call(t, call)
    if t.n_calls == t.n_seats:
        open_play(t, eldest(t))


@jit
def settle(t):
    """4."""
    for seat in range(t.n_seats):
        t.points[seat] = t.tricks[seat] + bonus_points(t, seat)


@jit
def bonus_points(t, seat):
    """4. Ten for a call made: exactly, or under `bonus="at_least"` at least."""
    called = t.call[seat] - CALL_ZERO
    made = t.tricks[seat] >= called if t.bonus == AT_LEAST else t.tricks[seat] == called
    return BONUS_POINTS if made else 0
