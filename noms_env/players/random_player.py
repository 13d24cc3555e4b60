"""The player that takes every legal action with the same probability."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from noms_env._jit import jit, size
from noms_env.core.actions import INDICATE, NOMINATING
from noms_env.core.chance import philox
from noms_env.engine.batch_kernels import count_legal, nth_legal, nth_member
from noms_env.players.protocol import NOBODY, RowsPlayer


class RandomPlayer(RowsPlayer):
    """Uniform over the legal actions; reads only the mask."""

    wants_tables: ClassVar[bool] = False

    def write_actions(self, mask: np.ndarray, seeds: np.ndarray, tables: Any, actions: np.ndarray) -> None:
        pick_rows(np.ascontiguousarray(mask, np.int8), seeds, actions)


@jit
def pick_rows(mask, seeds, actions):
    """Write a legal action for each row, uniform up to the number of legal actions / 2**32; `NOBODY` if nothing is legal.

    `mask` is int8, shape (n, NUM_ACTIONS); `seeds`, int64, shape (n,), hold the seed of each choice; `actions` is int64, shape
    (n,).
    """
    for row in range(len(mask)):
        skips = draw_index(seeds[row], int(mask[row].sum()))
        actions[row] = NOBODY
        for action in range(mask.shape[1]):
            if mask[row, action] != 0:
                if skips == 0:
                    actions[row] = action
                skips -= 1


@jit
def draw_index(seed, count):
    """Return the index of the action to take among the legal ones, in ascending order."""
    seed = int(seed)
    word = philox(0, 0, 0, 0, seed & 0xFFFFFFFF, seed >> 32)[0]
    return (word * count) >> 32


@jit
def random_action(t, seed):
    """Return the action of `pick_rows`, without a mask."""
    place = draw_index(seed, count_legal(t))
    if t.phase == NOMINATING:  # words come before nominations
        words = size(t.legal_words)
        return INDICATE + nth_member(t.legal_words, place) if place < words else nth_legal(t, place - words)
    return nth_legal(t, place)
