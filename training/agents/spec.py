"""Who plays, and how it is to be asked."""

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
    """Who plays, and how it is to be asked.

    Attributes:
        name: as the user wrote it.
        make: the player for a block of deals.
        rule_sets: the rules of the tables that it can sit at; None for all.
        block: deals that it should be asked to play side by side.
        sha256: of a policy's file; None for other players.
        at_once: rows that it should be asked for at once; None for any number.
        hand_size: cards in the only hands that it can play, those of a deal that was solved; None for all.
        device: where it plays: `cuda` for a `GpuPlayer`, which sits with others of a GPU only.
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
        """Make sure that it can sit at a table, in all deals of a match.

        Raises:
            ValueError: it was trained for others, or it is a solution, and hands have other sizes too.
        """
        check_rules(self.name, self.rule_sets, rules)
        if self.hand_size is not None and set(rules.schedule) - {self.hand_size}:
            sizes = f"hands have {span(min(rules.schedule), max(rules.schedule))} cards"
            raise ValueError(
                f"{self.name} is a solution for deals of {self.hand_size} cards, and in {rules.variant.name} {sizes}: "
                f"it plays in Python, with episode='deal' and hand_size={self.hand_size}"
            )


def device_of(players: Sequence[AgentSpec]) -> Device:
    """Where some players play together.

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
    """Make sure that some players can sit at one table.

    Raises:
        ValueError: one cannot sit there, or they play on several devices.
    """
    for player in players:
        player.check(rules)
    device_of(players)


def threads_of(players: Sequence[AgentSpec], threads: int) -> int:
    """Threads that share the blocks: one keeps a GPU busy."""
    return threads if device_of(players) == "cpu" else 1


def deals_at_once(players: Sequence[AgentSpec], games: int, block: int | None = None) -> int:
    """Deals that some players play side by side, each in so many games: a block, or on a GPU as many as it has tables for."""
    least = min(player.block for player in players)
    block = block or least
    if device_of(players) == "cpu":
        return block
    tables = GPU_TABLES if least >= BLOCK else GPU_SEARCH_TABLES
    return block * max(1, tables // (games * block))


def named_in_file(device: Device) -> dict[str, str]:
    """What files of results say of a device: nothing of the processor."""
    return {} if device == "cpu" else {"device": device}
