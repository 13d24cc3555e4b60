"""Rules of the three exact-bid games: Big Ships, ten down and up, one to thirteen (rules 2, 6, 7, and 0.2).

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
from noms_env.variants.rulebook import Need, Option
from noms_env.variants.rulebook import largest_hand as largest_hand
from noms_env.variants.trumps import set_trump

BONUSES = ("exact", "at_least")
EXACT, AT_LEAST = range(2)
BONUS_POINTS = 10
FULL_DEAL_TURN_UPS = ("none", "dealer_last")
DEALER_LAST = 1


def hook_options(default: bool, min_cards: int) -> tuple[Option, Option]:
    """Return the options of the hook (rules 0.2)."""
    return (
        Option("hook", default, "the last caller may not make the calls add up to the tricks", flag=True, byte=11),
        Option("hook_min_cards", min_cards, "smallest hand in which the hook applies", numbers=(1, 17), byte=12),
    )


TRAITS: dict[str, Any] = {
    "family": EXACT_BID,
    "simple_rollout": True,
    "point_range": lambda _values, tricks: (0.0, tricks + BONUS_POINTS),
    "max_decisions": lambda _values, seats, tricks, _undealt: seats + seats * tricks,
}
"""Arguments of `Variant` that all games of this family share."""

HOOK_NEED = Need("hook_min_cards", "with hook=True", lambda values: bool(values["hook"]))


def down(top: int) -> list[int]:
    """Return [top, top - 1, ..., 1]."""
    return list(range(top, 0, -1))


def up(top: int) -> list[int]:
    """Return [1, 2, ..., top]."""
    return list(range(1, top + 1))


@jit
def open_deal(t):
    """Set the trump; eldest calls first (rules 1, 2)."""
    set_trump(t, t.turnup_full_deal == DEALER_LAST)
    t.phase = CALLING
    t.seat = eldest(t)


@jit
def make_call(t, call):
    """Record a call; after the last one, eldest leads (rules 2, 3)."""
    record_call(t, call)
    if t.n_calls == t.n_seats:
        open_play(t, eldest(t))


@jit
def settle(t):
    """Score the deal (rule 4)."""
    for seat in range(t.n_seats):
        t.points[seat] = t.tricks[seat] + bonus_points(t, seat)


@jit
def bonus_points(t, seat):
    """Return the bonus of a seat for its call: won exactly, or with `bonus="at_least"` at least (rule 4)."""
    called = t.call[seat] - CALL_ZERO
    made = t.tricks[seat] >= called if t.bonus == AT_LEAST else t.tricks[seat] == called
    return BONUS_POINTS if made else 0
