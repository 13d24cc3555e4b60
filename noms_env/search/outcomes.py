"""What given actions come to in many worlds, all of them in the same: to compare actions, not to choose one quickly."""

from __future__ import annotations

import math

import numpy as np

from noms_env._threads import ONE_THREAD, RowThreads
from noms_env.core.chance import MAX_SEED
from noms_env.search.endgame.position import units
from noms_env.search.opponent_models import draw_worlds
from noms_env.search.policy_search import SearchPlayer
from noms_env.search.rollouts import Task, play_out

PART = 256
"""Worlds that are drawn together."""
STEP = 1_000_003
"""Between the seeds of two parts."""


def outcomes(
    player: SearchPlayer,
    tables: np.ndarray,
    row: int,
    seed: int,
    actions: np.ndarray,
    worlds: int,
    row_threads: RowThreads = ONE_THREAD,
) -> np.ndarray:
    """Points of the seat to act less the mean of the others', if it takes an action and all play on as the search has it.

    Args:
        player: whose worlds and whose policies are used; its own number of worlds does not matter.
        tables: as `kernel_view` makes them.
        row: where somebody is to act.
        seed: 0 to 2**63 - 1: all that is random follows from it.
        actions: legal ones, int64, shape (n,).
        worlds: how many.
        row_threads: that share the work; the outcomes do not depend on them.

    Returns:
        float64, shape (worlds, n).
    """
    parts = list[np.ndarray]()
    for part, first in enumerate(range(0, worlds, PART)):
        count = min(PART, worlds - first)
        begin = (seed + STEP * (1 + part)) & MAX_SEED
        drawn = draw_worlds(tables, row, begin, player.models, count, row_threads, player.remembered(row))
        values = play_out([Task(drawn, actions)], player.policies, math.inf, row_threads)
        assert values is not None, "there is no deadline"
        parts.append(values[0])
    return np.asarray(np.concatenate(parts) / units(int(tables[row]["n_seats"])))
