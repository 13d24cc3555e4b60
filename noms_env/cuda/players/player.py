"""Players of whole batches on a GPU.

    player = load_player("thumb", device="cuda")
    seeds = torch.randint(2**63 - 1, (len(batch),), device="cuda")  # one per row
    batch.step(player.act(batch, seeds))

They choose the actions of the players in `noms_env.players` for the same tables and seeds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from noms_env.cuda import streams
from noms_env.cuda.arrays import GpuArray
from noms_env.cuda.rows import Batch, GpuRows, check_gpu


class GpuPlayer:
    """Base class of players for the tables of a batch on a GPU."""

    draws = False
    """Whether the player is randomized, so that `act` needs seeds."""
    can_be_captured = True
    """Whether `act` can be captured in a CUDA graph."""

    def __init__(self) -> None:
        check_gpu()
        self._actions: dict[int, GpuArray] = {}

    def act(self, batch: Batch, seeds: Any = None, *, where: Any = None, actions: Any = None) -> GpuArray:
        """Choose an action in each row, without a synchronization.

        Args:
            batch: with `device="cuda"`. The player reads its tables, so no `observe` is needed before.
            seeds: int64, shape (n,), on the GPU, 0 to 2**63 - 1: one seed per row for all random choices. Deterministic players
                ignore it.
            where: bool, shape (n,), on the GPU: the rows to act in; None for all.
            actions: int64, shape (n,), on the GPU: output; rows outside `where` stay unchanged. None for an array of the
                player, which the next call overwrites.

        Returns:
            `actions`: numbers of legal actions, `NOBODY` (-1) if no seat is to act.

        Raises:
            ValueError: the batch is not on a GPU, `seeds` is missing, or an array has another dtype, shape or device.
        """
        rows = batch.gpu
        n = len(batch)
        self.sit(batch, where is not None)
        if actions is None:
            if n not in self._actions:
                self._actions[n] = GpuArray(streams.to_device(np.full(n, -1)))
            actions = self._actions[n]
        if self.draws and seeds is None:
            raise ValueError(f"{type(self).__name__} needs seeds: a number from 0 to 2**63 - 1 for each row")
        chosen = rows.checked_array("actions", actions)
        numbers = rows.checked_array("seeds", seeds) if self.draws else None
        asked = rows.flags("where", where) if where is not None else rows.over.native
        self.write(rows, asked, where is not None, numbers, chosen)
        return actions if isinstance(actions, GpuArray) else GpuArray(chosen)

    def sit(self, batch: Batch, some: bool) -> None:
        """Check that the player can play the rules of a batch, in all rows or in `some`; raise ValueError if not."""

    def write(self, rows: GpuRows, where: Any, some: bool, seeds: Any, actions: Any) -> None:
        """Write the actions; arguments as in `players.kernels`."""
        raise NotImplementedError
