"""`pimc` on a GPU: like `flat_mc`, with exact solutions of short endings."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import cuda

from noms_env.core.state import MAX_SEATS
from noms_env.cuda.arrays import SIMULATED
from noms_env.cuda.players import pimc_kernels
from noms_env.cuda.players.flat_mc import GpuFlatMC, Memory
from noms_env.cuda.players.worlds import Piece
from noms_env.cuda.rows import BLOCK, GpuRows
from noms_env.search.endgame.moves import FRAME
from noms_env.search.endgame.position import ORDER, position_type
from noms_env.search.endgame.solver import MAX_TRICKS_TO_SOLVE
from noms_env.search.pimc import EVERY_SEAT_MARGIN, MARGIN, SHORT

SOLVERS = 3 * BLOCK if SIMULATED else 1 << 16
"""Maximum of threads that solve endings."""
WORDS_TO_REMEMBER = 1 << 8
"""Size of a thread's transposition table. With four seats a search visits at most 1.11 times as many positions as with 2**18
words: 200 to 950 per world, as means of the seven games. After a rollout it visits at most 1.14 times as many: 50 to 130, and
1,360 in small ships."""
_SEATS = range(2, MAX_SEATS + 1)
_ALONE, _SIDES = MAX_TRICKS_TO_SOLVE
_BEHIND = np.minimum(_SIDES - MARGIN[SHORT, 1], _ALONE - EVERY_SEAT_MARGIN[SHORT, 1])
MAX_COUNTS = max(int(ORDER[left + 1, seats]) for seats in _SEATS for left in (_ALONE[seats] - MARGIN[SHORT, 0], _BEHIND[seats]))
"""Maximum of counts (`position`) for endings in which every seat maximizes its own points."""
POSITION = np.dtype((np.record, position_type(MAX_COUNTS, WORDS_TO_REMEMBER)))
STACK = 1 + max(int((MAX_TRICKS_TO_SOLVE[:, seats].max() - MARGIN[SHORT, 0]) * seats) for seats in _SEATS)
"""Maximum search depth: one position per card in the hands; the Decktet has fewer cards."""


class GpuPIMC(GpuFlatMC):
    """`pimc` on a GPU. It solves only endings with fewer tricks left than the CPU player does (`search.pimc.SHORT`).

    With the same limit on endings the CPU player chooses the same actions for the same seeds.
    """

    def __init__(self, worlds: int = 20) -> None:
        super().__init__(worlds)
        self._solvers: tuple[Any, Any] | None = None

    def find_values(self, rows: GpuRows, piece: Piece, memory: Memory) -> None:
        if self._solvers is None or len(self._solvers[0]) < min(len(memory.spare), SOLVERS):
            threads = min(len(memory.spare), SOLVERS)
            self._solvers = (cuda.device_array(threads, POSITION), cuda.device_array((threads, STACK), FRAME))
        threads = len(self._solvers[0])
        place = (piece.counts, piece.kind, piece.first, piece.rows, piece.n_worlds)
        candidates = (memory.candidates, memory.n_candidates)
        tables, values = memory.worlds.tables, memory.values
        rows.launch(threads, pimc_kernels.solve_worlds, tables, *place, *candidates, *self._solvers, values)
        spare = (memory.workspaces, memory.spare, memory.spare_words)
        worlds = (tables, memory.worlds.words, *place, *candidates, memory.most)
        rows.launch(threads, pimc_kernels.play_to_endings, *worlds, *spare, *self._solvers, values)
