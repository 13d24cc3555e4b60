"""Several players at the tables of a batch on a GPU, each at its own seats.

players = [load_player(name, device="cuda") for name in ("thumb", "random")]
seated = SeatedPlayers(batch, players, np.array([[0, 1, 1, 1]] * len(batch)), seed=1)
batch.step(seated.act())

Rows in which no seat is to act keep their actions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from noms_env.core.actions import brief
from noms_env.core.chance import check_seed
from noms_env.cuda import streams
from noms_env.cuda.arrays import GpuArray
from noms_env.cuda.players import kernels
from noms_env.cuda.rows import Batch


class Asked(Protocol):
    """A player with the method `act` of `GpuPlayer`."""

    def act(self, batch: Batch, seeds: Any = None, *, where: Any = None, actions: Any = None) -> GpuArray:
        """See `GpuPlayer.act`."""
        ...


class SeatedPlayers:
    """Players at the tables of a batch, each at its own seats.

    The random choices of a decision are a function of the seed, of the table's seed, table, match and deal, of the seating, and
    of the number of earlier decisions in the row (`protocol.decision_seed`). They do not depend on other rows.

    Attributes:
        seating, decisions, seed: int64, shapes (n, seats), (n,) and (1,), on the GPU. They may be overwritten before the next
            deals, so that a CUDA graph of `act` can be replayed for them.
    """

    def __init__(self, batch: Batch, players: Sequence[Asked], seating: np.ndarray, seed: int) -> None:
        """Seat players.

        Args:
            batch: with `device="cuda"`, at the beginning of deals.
            players: the players.
            seating: integers, shape (n, seats): index of the player at each seat; `seats` is that of the largest table.
            seed: 0 to 2**63 - 1.

        Raises:
            ValueError: the batch is not on a GPU, or `seating` or `seed` is not allowed.
        """
        self._rows, self._batch, self._players = batch.gpu, batch, players
        numbers = np.asarray(seating)
        if numbers.ndim != 2 or len(numbers) != len(batch) or numbers.dtype.kind not in "iu":
            raise ValueError(f"seating must be integers of shape ({len(batch)}, seats), not {brief(seating)}")
        if numbers.min() < 0 or numbers.max() >= len(players):
            raise ValueError(f"seating must name players from 0 to {len(players) - 1}, not {numbers.min()} to {numbers.max()}")
        self.seed = GpuArray(streams.to_device(np.array([check_seed(seed)], np.int64)))
        self.seating = GpuArray(streams.to_device(numbers.astype(np.int64)))
        self.decisions = GpuArray(streams.to_device(np.zeros(len(batch), np.int64)))
        self._seeds = GpuArray(streams.to_device(np.zeros(len(batch), np.int64)))
        self._turns = streams.to_device(np.zeros((len(players), len(batch)), np.bool_))
        self._where = [GpuArray(self._turns[place]) for place in range(len(players))]
        self._actions = GpuArray(streams.to_device(np.zeros(len(batch), np.int64)))

    def act(self) -> GpuArray:
        """Choose an action at each table whose deal is not over, without a synchronization.

        Returns:
            int64, shape (n,), on the GPU, for `step`; the next call overwrites it, except in rows whose deal is over.
        """
        numbers = (self.seating.native, self.decisions.native, self.seed.native, self._seeds.native, self._turns)
        self._rows.launch(len(self._batch), kernels.give_turns, self._rows.native, *numbers)
        for where, player in zip(self._where, self._players, strict=True):
            player.act(self._batch, self._seeds, where=where, actions=self._actions)
        return self._actions
