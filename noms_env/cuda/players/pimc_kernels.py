"""The kernels of `pimc` for exact solutions; arguments and all other kernels are in `flat_mc_kernels`.

`positions` and `frames` are the solver's working memory, one element per thread.
"""

from __future__ import annotations

import numpy as np
from numba import cuda

from noms_env.cuda.kernels import kernel
from noms_env.search.endgame.solver import is_solvable
from noms_env.search.pimc import EVERY_SEAT_MARGIN, MARGIN, SHORT, write_exact_values
from noms_env.search.rollouts import end_value, play_out


@kernel
def solve_worlds(tables, counts, kind, first, at_once, n_worlds, candidates, n_candidates, positions, frames, values):
    """Solve all candidates in the worlds with few enough cards left. Each thread loops over several worlds."""
    thread = np.int64(cuda.grid(1))
    if thread < len(positions):
        for world in range(thread, min(at_once, counts[kind, 0] - first) * n_worlds, len(positions)):
            j, t = world // n_worlds, tables[world]
            if is_solvable(t, MARGIN[SHORT, 0]):
                write_exact_values(t, candidates[j], n_candidates[j], SHORT, positions[thread], frames[thread], values[world])


@kernel
def play_to_endings(
    tables,
    words,
    counts,
    kind,
    first,
    at_once,
    n_worlds,
    candidates,
    n_candidates,
    most,
    workspaces,
    spare,
    spare_words,
    positions,
    frames,
    values,
):
    """Play each candidate in the other worlds up to a solvable ending, as in `flat_mc_kernels`, and solve the ending."""
    thread = np.int64(cuda.grid(1))
    worlds = min(at_once, counts[kind, 0] - first) * n_worlds
    if thread < len(positions):
        for i in range(thread, worlds * most[0, 0], len(positions)):
            k, world = i // worlds, i % worlds
            j = world // n_worlds
            if k < n_candidates[j] and not is_solvable(tables[world], MARGIN[SHORT, 0]):
                t, seat = spare[thread], tables[world].seat
                for word in range(words.shape[1]):
                    spare_words[thread, word] = words[world, word]
                play_out(t, candidates[j, k], MARGIN[SHORT, 1], workspaces[thread])
                values[world, k] = end_value(t, seat, EVERY_SEAT_MARGIN[SHORT, 1], positions[thread], frames[thread])


ALL = (solve_worlds, play_to_endings)
"""All kernels."""
