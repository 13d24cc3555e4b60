"""The kernels of `flat_mc`. `world_kernels` defines pieces and working memory; j is the index of a row in its piece.

Arrays of candidates and values have one row per j or per world, with `MAX_CANDIDATES` columns.
"""

from __future__ import annotations

import numpy as np
from numba import cuda

from noms_env.cuda.kernels import kernel
from noms_env.players.rule_based.player import thumb_action
from noms_env.search.candidates import candidate_index, write_candidates
from noms_env.search.endgame.position import value_to
from noms_env.search.pimc import MARGIN, NO_ENDINGS, add_up, choose_best
from noms_env.search.rollouts import play_out


@kernel
def find_candidates(
    tables, numbers, counts, kind, first, at_once, workspaces, candidates, n_candidates, favourites, places, most
):
    """Write candidates, their number and `thumb`'s choice for each row of a piece; raise `most[0, 0]` to the largest number."""
    thread = np.int64(cuda.grid(1))
    if thread < len(workspaces):
        for j in range(thread, min(at_once, counts[kind, 0] - first), len(workspaces)):
            t = tables[numbers[kind, first + j]]
            n_candidates[j] = write_candidates(t, np.int64(0), candidates[j])
            favourites[j] = thumb_action(t, workspaces[thread])
            places[j] = candidate_index(candidates[j], n_candidates[j], favourites[j])
            cuda.atomic.max(most, (0, 0), n_candidates[j])


@kernel
def play_worlds_out(
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
    values,
):
    """Play out each candidate in each world, and write `values[world, k]`. Each thread loops over several of these rollouts.

    Neighbouring threads have the same candidate in neighbouring worlds. `spare` has one table per thread.
    """
    thread = np.int64(cuda.grid(1))
    worlds = min(at_once, counts[kind, 0] - first) * n_worlds
    if thread < len(spare):
        for i in range(thread, worlds * most[0, 0], len(spare)):
            k, world = i // worlds, i % worlds
            j = world // n_worlds
            if k < n_candidates[j]:
                for word in range(words.shape[1]):
                    spare_words[thread, word] = words[world, word]
                play_out(spare[thread], candidates[j, k], MARGIN[NO_ENDINGS, 1], workspaces[thread])
                values[world, k] = value_to(spare[thread], tables[world].seat)


@kernel
def choose_candidates(
    numbers,
    counts,
    kind,
    first,
    at_once,
    n_worlds,
    candidates,
    n_candidates,
    favourites,
    places,
    values,
    sums,
    squares,
    actions,
):
    """Write the actions of the rows of a piece from the candidates' values, added world by world as on the CPU."""
    j = np.int64(cuda.grid(1))
    if j < min(at_once, counts[kind, 0] - first):
        for k in range(n_candidates[j]):
            sums[j, k] = 0
            squares[j, k] = 0.0
        for world in range(j * n_worlds, (j + 1) * n_worlds):
            add_up(values[world], sums[j], squares[j], n_candidates[j], places[j])
        best = choose_best(sums[j], squares[j], n_candidates[j], places[j])
        actions[numbers[kind, first + j]] = favourites[j] if best == places[j] else candidates[j, best]


ALL = (find_candidates, play_worlds_out, choose_candidates)
"""All kernels."""
