"""`random`, `greedy` and `thumb` on a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np

from noms_env.cuda import streams
from noms_env.cuda.players import kernels
from noms_env.cuda.players.player import GpuPlayer
from noms_env.cuda.rows import MAX_THREADS, GpuRows
from noms_env.players.registry import NEWEST
from noms_env.players.rule_based.heuristics import new_workspaces
from noms_env.players.rule_based.player import ThumbPlayer


class GpuRandom(GpuPlayer):
    """`random` on a GPU."""

    draws = True

    def write(self, rows: GpuRows, where: Any, some: bool, seeds: Any, actions: Any) -> None:
        rows.launch(len(actions), kernels.ask_random, rows.native, where, some, seeds, actions)


class GpuGreedy(GpuPlayer):
    """`greedy` on a GPU."""

    def write(self, rows: GpuRows, where: Any, some: bool, seeds: Any, actions: Any) -> None:
        rows.launch(len(actions), kernels.ask_greedy, rows.native, where, some, actions)


class GpuThumb(GpuPlayer):
    """`thumb` on a GPU."""

    def __init__(self, version: int = NEWEST) -> None:
        super().__init__()
        self.version = ThumbPlayer(version).version
        self._workspaces: Any = None

    def write(self, rows: GpuRows, where: Any, some: bool, seeds: Any, actions: Any) -> None:
        threads = min(len(actions), MAX_THREADS)
        if self._workspaces is None or len(self._workspaces) < threads:
            self._workspaces = working_memory(new_workspaces(self.version), threads)
        rows.launch(threads, kernels.ask_thumb, rows.native, where, some, self._workspaces, actions)


def working_memory(model: np.ndarray, threads: int) -> Any:
    """Return copies of one record, one per thread, on the GPU."""
    return streams.to_device(np.repeat(model, threads))
