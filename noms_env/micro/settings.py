"""The suite of micro-games: frozen settings of the games on short decks, small enough to be solved exactly.

A named setting never changes, so its figures stay comparable. A better setting gets a new name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from noms_env.core.actions import suggest_names
from noms_env.micro.deal_setup import DealSetup


@dataclass(frozen=True)
class MicroGame:
    """One deal on a short deck.

    Attributes:
        options: options of the game that differ from their defaults.
        hand_size: cards per seat in exact-bid games; None in others.
        alive: the features of the game that remain.
    """

    name: str
    variant: str
    seats: int
    options: Mapping[str, Any] = field(hash=False)
    hand_size: int | None
    alive: str

    def setup(self) -> DealSetup:
        """Return the setup: the rules, with the last seat as dealer, so that seat 0 is eldest."""
        return DealSetup(self.variant, self.seats, dict(self.options), hand_size=self.hand_size)


def _deck(suits: int, ranks: int, **options: Any) -> dict[str, Any]:
    return {"suits": suits, "ranks": ranks, **options}


DIAMONDS: dict[str, Any] = {"trump_rotation": ["D"]}
"""Diamonds are trump in every deal, so that all deals with the same hand size are the same game."""


SUITE = (
    MicroGame("sniped-whist-1", "sniped_whist", 3, _deck(3, 3, hand_size=3), None, "a card turned up for trump, three tricks"),
    MicroGame("sniped-whist-2", "sniped_whist", 4, _deck(2, 4, hand_size=2, tie="cut"), None, "ties cut by lot"),
    MicroGame("big-ships-1", "big_ships", 4, _deck(2, 4, **DIAMONDS), 2, "bids without a hook, trumps, all cards dealt"),
    MicroGame("big-ships-2", "big_ships", 3, _deck(2, 4, bonus="at_least", **DIAMONDS), 2, "a bonus for the bid or more"),
    MicroGame(
        "small-ships-1", "small_ships", 4, _deck(2, 4, hand_size=2, min_bid=2), None, "an auction, misere, a hidden partner"
    ),
    MicroGame(
        "small-ships-2", "small_ships", 3, _deck(2, 4, hand_size=2, min_bid=1), None, "cards nominated that may lie undealt"
    ),
    MicroGame(
        "small-ships-3", "small_ships", 4, _deck(2, 4, hand_size=2, min_bid=1), None, "the first with lower bids: the largest"
    ),
    MicroGame("noms-1", "noms", 4, _deck(2, 4, hand_size=2, min_bid=2), None, "an auction, Mis, a hidden partner"),
    MicroGame("noms-2", "noms", 3, _deck(2, 3, hand_size=2, min_bid=1), None, "the same with three seats, and lower bids"),
    MicroGame("nonesuch-1", "nonesuch", 3, _deck(3, 5), None, "the Excuse, a trump to choose, cards of two suits"),
    MicroGame("down-up-1", "down_up", 2, _deck(2, 4, **DIAMONDS), 2, "the hook, trumps, undealt cards"),
    MicroGame("down-up-2", "down_up", 3, _deck(3, 3, **DIAMONDS), 2, "the hook, trumps, undealt cards"),
    MicroGame("up-down-1", "up_down", 4, _deck(2, 4, hook_min_cards=2, **DIAMONDS), 2, "the hook, trumps, all cards dealt"),
    MicroGame(
        "up-down-2", "up_down", 3, _deck(2, 4, hook_min_cards=2, trump_mode="turnup"), 2, "the hook, a card turned up for trump"
    ),
)
"""The settings, in the order of the variants."""


def micro_game(name: str) -> MicroGame:
    """Return the setting of a name; raises ValueError if there is none."""
    known = {setting.name: setting for setting in SUITE}
    if name not in known:
        raise ValueError(f"there is no micro-game {name!r}; {suggest_names(name, known)} micro-games are {', '.join(known)}")
    return known[name]
