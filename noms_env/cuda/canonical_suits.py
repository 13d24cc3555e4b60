"""Canonical suit order (`noms_env.CanonicalSuits`) for a batch on a GPU.

suits = GpuCanonicalSuits(batch)                  # made with observation="features"
batch.observe()
suits.rename()
features, mask = (torch.from_dlpack(array) for array in (suits.observation, suits.mask))
batch.step(suits.meant(choose(features, mask)))
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import cuda

from noms_env.core.actions import NUM_ACTIONS, brief
from noms_env.cuda import kernels, streams
from noms_env.cuda.arrays import GpuArray, to_gpu
from noms_env.cuda.rows import BLOCK, Batch, launch


class GpuCanonicalSuits:
    """Suit permutations of a batch on a GPU. Memory is allocated once; no method synchronizes with the GPU.

    Attributes:
        observation: uint8, shape (n, n_features), written by `rename`.
        mask: int8, shape (n, NUM_ACTIONS), written by `rename`.
        orders: int64, shape (n,), written by `rename`: the suit order of each row.
        features: int64, shape (orders, n_features): for each suit order, the original feature at each index.
        actions: int64, shape (orders, NUM_ACTIONS): for each suit order, the table's action for each canonical action.
    """

    def __init__(self, batch: Batch) -> None:
        """Allocate memory for the rows of a batch.

        Raises:
            ValueError: the batch is not on a GPU, has observations of bytes, or tables of both decks.
        """
        self._rows, layout, n = batch.gpu, batch.feature_layout, len(batch)
        if layout is None:
            raise ValueError(f"canonical suits need a batch with observation='features', not {brief(batch)}")
        if len(layout.decktet):
            raise ValueError("canonical suits on a GPU need tables of one deck, not of both")
        self._places = layout.suit_places()
        self.features, self.actions = to_gpu(layout.suit_orders()), to_gpu(layout.action_orders())
        self.observation = GpuArray(cuda.device_array((n, layout.n_features), np.uint8))
        self.mask = GpuArray(cuda.device_array((n, NUM_ACTIONS), np.int8))
        self.orders, self._meant = (GpuArray(streams.to_device(np.zeros(n, np.int64))) for _ in range(2))
        seen = self._rows.observation.native.view(np.uint8), self._rows.mask.native.view(np.int8)
        self._from = tuple(zip(seen, (self.features, self.actions), (self.observation, self.mask), strict=True))

    def rename(self) -> None:
        """Write `observation`, `mask` and `orders` from the batch's last observation."""
        orders, n = self.orders.native, len(self.orders)
        launch(n, kernels.order_features, self._from[0][0], self._places, orders)
        for seen, index, out in self._from:
            launch(BLOCK * n, kernels.gather, seen, orders, index.native, out.native)

    def meant(self, actions: Any) -> GpuArray:
        """Return the tables' actions for canonical actions, shape (n,): int64; the next call overwrites the array.

        A number that is no action is returned unchanged.

        Raises:
            ValueError: `actions` are not n integers.
        """
        numbers = self._rows.actions(actions)
        launch(len(self.orders), kernels.name_actions, numbers, self.orders.native, self.actions.native, self._meant.native)
        return self._meant
