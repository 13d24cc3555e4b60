"""Players that are asked for whole batches on a GPU.

    player = load_player("thumb", device="cuda")
    seeds = torch.randint(2**63 - 1, (len(batch),), device="cuda")  # a number for each row
    batch.step(player.act(batch, seeds))

They answer as the players of `noms_env.players` do for the same tables and seeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from noms_env.cuda import streams
from noms_env.cuda.arrays import GpuArray
from noms_env.cuda.rows import GpuRows, check_gpu


class Batch(Protocol):
    """A batch of tables, `BatchEnv`."""

    @property
    def groups(self) -> Sequence[Any]:
        """Which `rows` play by which `rules`."""
        ...

    @property
    def gpu(self) -> GpuRows:
        """Its tables, where they lie on a GPU; ValueError elsewhere."""
        ...

    def __len__(self) -> int: ...


class GpuPlayer:
    """What answers for the tables of a batch on a GPU."""

    draws = False
    """Whether anything is left to chance, so that `act` needs seeds."""
    can_be_captured = True
    """Whether `act` can be captured in a CUDA graph."""

    def __init__(self) -> None:
        """See that there is a GPU (`rows.check_gpu`)."""
        check_gpu()
        self._actions: dict[int, GpuArray] = {}

    def act(self, batch: Batch, seeds: Any = None, *, where: Any = None, actions: Any = None) -> GpuArray:
        """Choose an action in each row; nothing waits for the GPU.

        Args:
            batch: with `device="cuda"`; its tables are looked at, so that no `observe` is needed before.
            seeds: int64, shape (n,), on the GPU, 0 to 2**63 - 1: all that is random in a row follows from its number. Not
                looked at by players that leave nothing to chance.
            where: bool, shape (n,), on the GPU: the rows that are asked; None for all.
            actions: int64, shape (n,), on the GPU: is written, but for the rows that are not asked. None for an array of the
                player's own, which the next call writes again.

        Returns:
            `actions`: numbers of legal actions, `NOBODY` (-1) where nobody is to act.

        Raises:
            ValueError: the batch is not on a GPU, or these are no such arrays.
        """
        rows = batch.gpu
        n = len(batch)
        self.sit(batch, where is not None)
        if actions is None:
            if n not in self._actions:
                self._actions[n] = GpuArray(streams.to_device(np.full(n, -1)))
            actions = self._actions[n]
        if self.draws and seeds is None:
            raise ValueError(f"{type(self).__name__} draws: give seeds, a number from 0 to 2**63 - 1 for each row")
        chosen = rows.written("actions", actions)
        numbers = rows.written("seeds", seeds) if self.draws else None
        asked = rows.flags("where", where) if where is not None else rows.over.native
        self.write(rows, asked, where is not None, numbers, chosen)
        return actions if isinstance(actions, GpuArray) else GpuArray(chosen)

    def sit(self, batch: Batch, some: bool) -> None:
        """See that the player can be asked about a batch, about all rows or `some`; ValueError where it cannot."""

    def write(self, rows: GpuRows, where: Any, some: bool, seeds: Any, actions: Any) -> None:
        """Write the actions; the arguments are those of `players.kernels`."""
        raise NotImplementedError
