"""Who plays, and how it is to be asked; and what players share that decide one row after another."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, ClassVar

import numpy as np

from noms_env.core.actions import span
from noms_env.envs.validation import Device
from noms_env.players import NOBODY, Player, as_batch
from noms_env.players.registry import check_rules
from noms_env.variants import Rules

BLOCK, SEARCH_BLOCK, EXTERNAL_BLOCK = 128, 8, 32
"""Deals that are played side by side: fewer with players that search or may be slow. Results depend on it."""
GPU_TABLES, GPU_SEARCH_TABLES = 1 << 18, 1 << 13
"""Tables at which deals are played side by side on a GPU, without players that search and with one. No result depends on it."""
NO_LIMIT = "a time limit for decisions is kept on the processor only"


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
        keeps_limit: it keeps the time that it has for a decision by itself.
        hand_size: cards in the only hands that it can play, those of a deal that was solved; None for all.
        device: where it plays: `cuda` for a `GpuPlayer`, which sits with others of a GPU only.
    """

    name: str
    make: Callable[[], Player]
    rule_sets: tuple[Rules, ...] | None = None
    block: int = BLOCK
    sha256: str | None = None
    at_once: int | None = None
    keeps_limit: bool = False
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


def check_together(players: Sequence[AgentSpec], rules: Rules, limit: float | None) -> None:
    """Make sure that some players can sit at one table, with so many seconds for a decision.

    Raises:
        ValueError: one cannot sit there, they play on several devices, or there is a limit on a GPU.
    """
    for player in players:
        player.check(rules)
    if device_of(players) == "cuda" and limit is not None:
        raise ValueError(NO_LIMIT)


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


class RowByRow(ABC):
    """A player that is asked for one row after another: what is left to the class is `decide`."""

    wants_tables: ClassVar[bool] = False

    @as_batch
    def act(self, observation: np.ndarray, mask: np.ndarray, seeds: Any, *, tables: np.recarray | None = None) -> np.ndarray:
        """See `noms_env.players.Player.act`; raises what `decide` raises, and the rows behind are not decided then."""
        rows = zip(observation, mask, repeat(None) if tables is None else tables, seeds.tolist(), strict=False)
        return np.array([self.decide(*row) if row[1].any() else NOBODY for row in rows], np.int64)

    @abstractmethod
    def decide(self, observation: np.ndarray, mask: np.ndarray, row: Any, seed: int) -> int:
        """The number of an action in a row; `row` is its table (`np.record`) if the class wants tables."""
