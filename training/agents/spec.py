"""Specifications of players for evaluation and training."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from noms_env.core.actions import span
from noms_env.envs.validation import Device
from noms_env.players import Player
from noms_env.players.registry import check_rules
from noms_env.variants import Rules

BLOCK, SEARCH_BLOCK, EXTERNAL_BLOCK = 128, 8, 32
"""Deals played at once: in general, with players that search, and with third-party players. Results depend on it."""
GPU_TABLES, GPU_SEARCH_TABLES = 1 << 18, 1 << 13
"""Tables played at once on a GPU, without and with players that search. Results do not depend on it."""


@dataclass(frozen=True)
class AgentSpec:
    """Specification of a player at many tables."""

    name: str  # as the user wrote it
    make: Callable[[], Player]  # makes the player for a block of deals
    rule_sets: tuple[Rules, ...] | None = None  # rules that it can play; None for all
    block: int = BLOCK  # deals to play at once
    sha256: str | None = None  # of the policy file; None for other players
    at_once: int | None = None  # maximum rows per call; None for any number
    hand_size: int | None = None  # the only hand size that a solution can play; None for all
    device: Device = "cpu"  # `cuda` for a `GpuPlayer`, which plays only with others on a GPU

    def check(self, rules: Rules) -> None:
        """Check that the player can play all deals of a match; ValueError if its rules or its hand size differ."""
        check_rules(self.name, self.rule_sets, rules)
        if self.hand_size is not None and set(rules.schedule) - {self.hand_size}:
            sizes = f"hands have {span(min(rules.schedule), max(rules.schedule))} cards"
            raise ValueError(
                f"{self.name} is a solution for deals of {self.hand_size} cards, and in {rules.variant.name} {sizes}: "
                f"it plays in Python, with episode='deal' and hand_size={self.hand_size}"
            )


def device_of(players: Sequence[AgentSpec]) -> Device:
    """Return the common device of some players, cpu for none; ValueError if they differ."""
    if not players:
        return "cpu"
    first = players[0]
    for player in players[1:]:
        if player.device != first.device:
            both = f"{first.name} of {first.device} and {player.name} of {player.device}"
            raise ValueError(f"players at one table must be of one device, not {both}")
    return first.device


def check_together(players: Sequence[AgentSpec], rules: Rules) -> None:
    """Check that some players can play at one table; ValueError if one does not know the rules, or devices differ."""
    for player in players:
        player.check(rules)
    device_of(players)


def threads_of(players: Sequence[AgentSpec], threads: int) -> int:
    """Return the number of threads for blocks of deals; on a GPU one is enough."""
    return threads if device_of(players) == "cpu" else 1


def deals_at_once(players: Sequence[AgentSpec], games: int, block: int | None = None) -> int:
    """Return the number of deals to play at once, each in `games` games: a block, or on a GPU enough to fill its tables."""
    least = min(player.block for player in players)
    block = block or least
    if device_of(players) == "cpu":
        return block
    tables = GPU_TABLES if least >= BLOCK else GPU_SEARCH_TABLES
    return block * max(1, tables // (games * block))


def describe_device(device: Device) -> dict[str, str]:
    """Return the entry of a device in result files; none for the CPU."""
    return {} if device == "cpu" else {"device": device}
