"""The kernels of `worlds`: lists of rows to search, and copies of them with the unseen cards dealt anew.

A *piece* is a range of the list `numbers[kind]`, from `first` on; `counts[kind, 0]` is the length of the list. Arrays of
working memory have one element per thread; each thread loops over several rows or worlds.
"""

from __future__ import annotations

import numpy as np
from numba import cuda

from noms_env.belief.sampling import deal_hidden, plan
from noms_env.core.actions import SCORED
from noms_env.cuda.kernels import kernel
from noms_env.players.protocol import NOBODY
from noms_env.search.candidates import only_candidate
from noms_env.search.endgame.position import count_deal_as_last
from noms_env.search.pimc import is_single_round


@kernel
def list_rows(tables, where, some, numbers, counts, actions):
    """List the rows whose seat to act has a choice: in `numbers[1]` the calls of a single round, in `numbers[0]` all others.

    The order is arbitrary. For selected rows without a choice (`players.kernels`) the action is written.
    """
    row = np.int64(cuda.grid(1))
    if row < len(tables) and (not some or where[row]):
        t = tables[row]
        action = NOBODY if t.phase == SCORED else only_candidate(t)
        if t.phase == SCORED or action >= 0:
            actions[row] = action
        else:
            kind = 1 if is_single_round(t) else 0
            numbers[kind, cuda.atomic.add(counts, (kind, 0), 1)] = row


@kernel
def copy_worlds(words, numbers, counts, kind, first, n_worlds, worlds):
    """Copy each row of a piece into `n_worlds` worlds, in any number of threads."""
    size = words.shape[1]
    last = min(len(worlds), (counts[kind, 0] - first) * n_worlds)
    for i in range(np.int64(cuda.grid(1)), last * size, np.int64(cuda.gridsize(1))):
        worlds[i // size, i % size] = words[numbers[kind, first + i // size // n_worlds], i % size]


@kernel
def plan_worlds(worlds, counts, kind, first, at_once, n_worlds, plans, layouts, ways):
    """Plan the redeals of each row of a piece, for the information of the seat to act."""
    thread = np.int64(cuda.grid(1))
    if thread < len(layouts):
        for j in range(thread, min(at_once, counts[kind, 0] - first), len(layouts)):
            t = worlds[j * n_worlds]
            plan(t, t.seat, plans[j], layouts[thread], ways[j])


@kernel
def deal_worlds(worlds, numbers, counts, kind, first, at_once, n_worlds, seeds, plans, layouts, ways):
    """Deal world k of each row of a piece anew, with stream k of the row's seed."""
    thread = np.int64(cuda.grid(1))
    if thread < len(layouts):
        for world in range(thread, min(at_once, counts[kind, 0] - first) * n_worlds, len(layouts)):
            j, t = world // n_worlds, worlds[world]
            deal_hidden(t, t.seat, seeds[numbers[kind, first + j]], world % n_worlds, plans[j], layouts[thread], ways[j])
            count_deal_as_last(t)


ALL = (list_rows, copy_worlds, plan_worlds, deal_worlds)
"""All kernels."""
