"""The player that takes every legal action with the same probability."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from noms_env._jit import jit
from noms_env.core.chance import philox
from noms_env.players.protocol import NOBODY, RowsPlayer, row_seeds


class RandomPlayer(RowsPlayer):
    """Uniform among the legal actions; looks at the mask only."""

    wants_tables: ClassVar[bool] = False

    def write_actions(self, mask: np.ndarray, rng: np.random.Generator, tables: Any, actions: np.ndarray) -> None:
        pick_rows(np.ascontiguousarray(mask, np.int8), row_seeds(rng, len(mask)), actions)


@jit
def pick_rows(mask, seeds, actions):
    """Write a legal action for each row, uniform up to the number of legal actions / 2**32.

    Args:
        mask: int8, shape (n, NUM_ACTIONS).
        seeds: int64, shape (n,): what each choice follows from.
        actions: int64, shape (n,): is written; `NOBODY` where nothing is legal.
    """
    for row in range(len(mask)):
        seed = int(seeds[row])
        word = philox(0, 0, 0, 0, seed & 0xFFFFFFFF, seed >> 32)[0]
        left = (word * int(mask[row].sum())) >> 32
        actions[row] = NOBODY
        for action in range(mask.shape[1]):
            if mask[row, action] != 0:
                if left == 0:
                    actions[row] = action
                left -= 1
