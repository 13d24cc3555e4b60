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
"""Deals that are played side by side: fewer with players that search or may be slow. Results depend on it."""
GPU_TABLES, GPU_SEARCH_TABLES = 1 << 18, 1 << 13
"""Tables at which deals are played side by side on a GPU, without players that search and with one. No result depends on it."""


@dataclass(frozen=True)
class AgentSpec:
    """A player, and how to run it at many tables.

    Attributes:
        name: as the user wrote it.
        make: makes the player for a block of deals.
        rule_sets: the rules that it can play; None for all.
        block: deals to play side by side.
        sha256: of a policy's file; None for other players.
        at_once: the most rows of one call; None for any number.
        hand_size: the only hand size that a solution can play; None for all.
        device: `cuda` for a `GpuPlayer`, which plays only with others on a GPU.
    """

    name: str
    make: Callable[[], Player]
    rule_sets: tuple[Rules, ...] | None = None
    block: int = BLOCK
    sha256: str | None = None
    at_once: int | None = None
    hand_size: int | None = None
    device: Device = "cpu"

    def check(self, rules: Rules) -> None:
        """Check that it can play all deals of a match at a table.

        Raises:
            ValueError: it was trained for other rules, or it is a solution for one hand size only.
        """
        check_rules(self.name, self.rule_sets, rules)
        if self.hand_size is not None and set(rules.schedule) - {self.hand_size}:
            sizes = f"hands have {span(min(rules.schedule), max(rules.schedule))} cards"
            raise ValueError(
                f"{self.name} is a solution for deals of {self.hand_size} cards, and in {rules.variant.name} {sizes}: "
                f"it plays in Python, with episode='deal' and hand_size={self.hand_size}"
            )


def device_of(players: Sequence[AgentSpec]) -> Device:
    """The common device of some players.

    Raises:
        ValueError: some play on the processor and others on a GPU.
    """
    first = players[0]
    for player in players:
        if player.device != first.device:
            both = f"{first.name} of {first.device} and {player.name} of {player.device}"
            raise ValueError(f"players at one table must be of one device, not {both}")
    return first.device


def check_together(players: Sequence[AgentSpec], rules: Rules) -> None:
    """Check that some players can play at one table.

    Raises:
        ValueError: one cannot sit there, or they play on several devices.
    """
    for player in players:
        player.check(rules)
    device_of(players)


def threads_of(players: Sequence[AgentSpec], threads: int) -> int:
    """The number of threads for blocks of deals; one keeps a GPU busy."""
    return threads if device_of(players) == "cpu" else 1


def deals_at_once(players: Sequence[AgentSpec], games: int, block: int | None = None) -> int:
    """The number of deals to play side by side, each in `games` games: a block, or on a GPU as many as fit its tables."""
    least = min(player.block for player in players)
    block = block or least
    if device_of(players) == "cpu":
        return block
    tables = GPU_TABLES if least >= BLOCK else GPU_SEARCH_TABLES
    return block * max(1, tables // (games * block))


def describe_device(device: Device) -> dict[str, str]:
    """The entry of a device in result files: none for the CPU."""
    return {} if device == "cpu" else {"device": device}
