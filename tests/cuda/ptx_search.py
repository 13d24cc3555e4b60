"""What a search on a policy launches, with arrays of the types that it has: for `ptx`, since its own code needs torch."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import cuda

from noms_env import BatchEnv
from noms_env.belief.workspace import LAYOUT, MAX_WAYS, PLAN
from noms_env.core.actions import NUM_ACTIONS
from noms_env.core.state import MAX_SEATS
from noms_env.cuda.players import search_kernels as kernels
from noms_env.cuda.rows import launch
from noms_env.players.registry import FIRST
from noms_env.players.rule_based.heuristics import new_workspaces
from noms_env.search.endgame.moves import FRAME
from noms_env.search.endgame.position import position_type
from noms_env.search.rollouts import ENDING_COUNTS, ENDING_FRAMES, ENDING_WORDS
from noms_env.search.seq_halving import ROOT_STATS
from noms_env.variants.table_record import TABLE


def launch_search(batch: BatchEnv) -> None:
    """Launch each kernel of a search."""
    tables, over = batch.gpu.native, batch.gpu.over.native
    numbers, flags = cuda.device_array(3, np.int64), cuda.device_array(2, np.bool_)
    lanes, pool = (cuda.device_array(3, TABLE) for _ in range(2))
    tasks, turns = (cuda.device_array((len(names), 3), np.int64) for names in (kernels.TASK, kernels.TURN))
    stats, chances = cuda.device_array(3, ROOT_STATS), cuda.device_array((3, NUM_ACTIONS), np.float32)
    of_lanes, weights = cuda.device_array(3, np.float32), cuda.device_array(3, np.float64)
    logs, styles = cuda.device_array((2, MAX_SEATS, 3), np.float64), cuda.device_array((3, MAX_SEATS), np.int8)
    sampling = (cuda.device_array(3, PLAN), cuda.device_array(3, LAYOUT), cuda.device_array((3, MAX_WAYS), np.float64))
    workspaces = cuda.device_array(3, new_workspaces(FIRST).dtype)
    found = (chances, of_lanes, chances, chances, cuda.device_array((3, NUM_ACTIONS), np.int32))
    solving = (cuda.device_array(3, position_type(ENDING_COUNTS, ENDING_WORDS)), cuda.device_array((3, ENDING_FRAMES), FRAME))
    launches: dict[Any, tuple[Any, ...]] = {
        kernels.mark_choices: (tables, over, True, over, True, numbers, numbers, numbers),
        kernels.list_marked: (3, numbers, numbers, numbers),
        kernels.list_candidates: (tables, numbers, 0, 3, chances, 24, stats, numbers),
        kernels.list_slots: (tasks, 3, numbers, numbers),
        kernels.plan_pools: (pool, tasks, 0, 3, *sampling),
        kernels.deal_pools: (pool, tasks, 0, 0, 3, numbers, 0, *sampling),
        kernels.open_replays: (3, lanes, numbers, logs, numbers, numbers, numbers, numbers),
        kernels.advance_replays: (
            *(3, 3, numbers, numbers, lanes, numbers, pool, logs, 0, 1),
            *(workspaces, numbers, of_lanes, numbers),
        ),
        kernels.take_active: (3, numbers, numbers, numbers, numbers, numbers, numbers, numbers, numbers, True),
        kernels.count_moment: (numbers,),
        kernels.weigh_pools: (tasks, logs, weights, numbers),
        kernels.add_weights: (tasks, weights),
        kernels.draw_numbers: (tasks, 3, numbers, numbers, numbers, styles),
        kernels.pick_worlds: (tasks, 3, numbers, weights, numbers),
        kernels.draw_styles: (tasks, 3, numbers, pool, logs, numbers, styles),
        kernels.open_rollouts: (turns, 3, stats, numbers, numbers, numbers, numbers, numbers, numbers, numbers),
        kernels.advance_rollouts: (3, 3, numbers, numbers, lanes, numbers, styles, flags, workspaces, numbers, numbers),
        kernels.value_lanes: (3, lanes, numbers, numbers, pool, *solving, numbers),
        kernels.add_round: (turns, stats, numbers, 24, 0.25),
        kernels.choose_actions: (numbers, 0, 3, stats, numbers, 0.25, 1.0, numbers),
        kernels.clear_output: (tables, over, True, *found),
        kernels.write_output: (numbers, 0, 3, stats, *found),
    }
    for kernel, arguments in launches.items():
        launch(3, kernel, *arguments)
