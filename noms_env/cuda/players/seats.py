"""Players that share the tables of a batch on a GPU: who is to act follows from where they sit.

    players = [load_player(name, device="cuda") for name in ("thumb", "random")]
    seated = SeatedPlayers(batch, players, np.array([[0, 1, 1, 1]] * len(batch)), seed=1)
    batch.step(seated.act())

Rows in which nobody is to act are left alone.
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
from noms_env.cuda.players.player import Batch


class Asked(Protocol):
    """What is asked for actions, such as a `GpuPlayer`."""

    def act(self, batch: Batch, seeds: Any = None, *, where: Any = None, actions: Any = None) -> GpuArray:
        """See `GpuPlayer.act`."""
        ...


class SeatedPlayers:
    """Players at the tables of a batch, each at seats of its own.

    What is random in a decision follows from a seed, from the seed, table, match and deal of the table, from who sits where,
    and from how many decisions were taken in that row before (`protocol.decision_seed`): not from other rows.

    Attributes:
        seating, decisions, seed: int64, shapes (n, seats), (n,) and (1,), on the GPU. Before the next deals others may be
            written there, so that a CUDA graph of `act` is good for them too.
    """

    def __init__(self, batch: Batch, players: Sequence[Asked], seating: np.ndarray, seed: int) -> None:
        """Seat players.

        Args:
            batch: with `device="cuda"`, from the beginning of a deal on.
            players: those who play.
            seating: integers, shape (n, seats): which of the players sits on each seat, for as many seats as a table has.
            seed: 0 to 2**63 - 1.

        Raises:
            ValueError: the batch is not on a GPU, or these are no such arrays and numbers.
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
        """Choose an action at each table whose deal goes on; nothing waits for the GPU.

        Returns:
            int64, shape (n,), on the GPU, for `step`; the next call writes it again. A row whose deal is over keeps its number.
        """
        numbers = (self.seating.native, self.decisions.native, self.seed.native, self._seeds.native, self._turns)
        self._rows.launch(len(self._batch), kernels.give_turns, self._rows.native, *numbers)
        for where, player in zip(self._where, self._players, strict=True):
            player.act(self._batch, self._seeds, where=where, actions=self._actions)
        return self._actions
