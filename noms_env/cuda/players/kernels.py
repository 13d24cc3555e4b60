"""The kernels of simple players: each thread calls the player's CPU function for one or more tables.

If `some` is True, only the rows of `where` get an action; the actions of other rows stay unchanged.
"""

from __future__ import annotations

import numpy as np
from numba import cuda

from noms_env.core.actions import SCORED
from noms_env.cuda.kernels import kernel
from noms_env.players.greedy import greedy_action
from noms_env.players.protocol import NOBODY, decision_seed
from noms_env.players.random_player import random_action
from noms_env.players.rule_based.player import thumb_action


@kernel
def ask_random(tables, where, some, seeds, actions):
    """See `RandomPlayer`."""
    row = np.int64(cuda.grid(1))
    if row < len(tables) and (not some or where[row]):
        actions[row] = NOBODY if tables[row].phase == SCORED else random_action(tables[row], seeds[row])


@kernel
def ask_greedy(tables, where, some, actions):
    """See `GreedyPlayer`."""
    row = np.int64(cuda.grid(1))
    if row < len(tables) and (not some or where[row]):
        actions[row] = NOBODY if tables[row].phase == SCORED else greedy_action(tables[row])


@kernel
def ask_thumb(tables, where, some, workspaces, actions):
    """See `ThumbPlayer`; `workspaces` has one per thread."""
    thread = np.int64(cuda.grid(1))
    for row in range(thread, len(tables), len(workspaces)):
        if thread < len(workspaces) and (not some or where[row]):
            actions[row] = NOBODY if tables[row].phase == SCORED else thumb_action(tables[row], workspaces[thread])


@kernel
def give_turns(tables, seating, decisions, seed, seeds, turns):
    """Write for each row the player to act and the seed of its decision.

    `seating` is int64, shape (n, seats). `decisions` counts the decisions in each row; it and `seeds` are int64, shape (n,).
    `seed` is int64, shape (1,). `turns` is bool, shape (players, n).
    """
    row = np.int64(cuda.grid(1))
    if row < len(tables):
        t = tables[row]
        goes_on = t.phase != SCORED
        for player in range(len(turns)):
            turns[player, row] = goes_on and seating[row, t.seat] == player
        if goes_on:
            seeds[row] = decision_seed(t, seating[row], decisions[row], seed[0])
            decisions[row] += 1


ALL = (ask_random, ask_greedy, ask_thumb, give_turns)
"""All kernels."""
