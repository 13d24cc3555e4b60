"""`flat_mc` on a GPU: one rollout for each row, world and candidate, spread over the threads."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import cuda

from noms_env.cuda import kernels
from noms_env.cuda.players import flat_mc_kernels
from noms_env.cuda.players.player import GpuPlayer
from noms_env.cuda.players.simple import working_memory
from noms_env.cuda.players.worlds import GpuWorlds, Piece
from noms_env.cuda.rows import MAX_THREADS, WORDS, GpuRows
from noms_env.players.registry import FIRST
from noms_env.players.rule_based.heuristics import new_workspaces
from noms_env.search.candidates import MAX_CANDIDATES
from noms_env.search.pimc import FlatMC
from noms_env.variants.table_record import TABLE


class Memory:
    """Working memory of a search on the GPU for a batch.

    Attributes:
        worlds: the worlds of a piece of the batch's rows.
        candidates: int64, shape (rows, MAX_CANDIDATES): the actions to try in each row of the piece.
        n_candidates: int64, shape (rows,).
        favourites: int64, shape (rows,): `thumb`'s choice.
        places: int64, shape (rows,): index of the favourite among the candidates.
        most: int64, shape (1, 1): the largest number of candidates.
        values: int64, shape (worlds, MAX_CANDIDATES): value of each candidate in each world, in `position.units`.
        sums: int64, shape (rows, MAX_CANDIDATES): sums of the values over all worlds of a row.
        squares: float64, shape (rows, MAX_CANDIDATES): sums of squared differences to the favourite.
        workspaces: of `thumb`, one per thread.
        spare: one table per thread for rollouts, structured.
        spare_words: the same memory, int64, shape (threads, WORDS).
    """

    def __init__(self, batch_rows: int, n_worlds: int) -> None:
        """Allocate memory for a batch of `batch_rows` rows with `n_worlds` worlds each."""
        self.worlds = GpuWorlds(batch_rows, n_worlds, more_bytes=8 * MAX_CANDIDATES)
        rows, worlds = self.worlds.rows, self.worlds.capacity
        self.candidates = cuda.device_array((rows, MAX_CANDIDATES), np.int64)
        self.n_candidates, self.favourites, self.places = (cuda.device_array(rows, np.int64) for _ in range(3))
        self.most = cuda.device_array((1, 1), np.int64)
        self.values = cuda.device_array((worlds, MAX_CANDIDATES), np.int64)
        self.sums = cuda.device_array((rows, MAX_CANDIDATES), np.int64)
        self.squares = cuda.device_array((rows, MAX_CANDIDATES), np.float64)
        threads = min(MAX_THREADS, worlds * MAX_CANDIDATES)
        self.workspaces = working_memory(new_workspaces(FIRST), threads)
        self.spare = cuda.device_array(threads, TABLE)
        self.spare_words = self.spare.view(np.int64).reshape(threads, WORDS)


class GpuFlatMC(GpuPlayer):
    """`flat_mc` on a GPU, with the same actions as on the CPU for the same seeds."""

    draws = True

    def __init__(self, worlds: int = 20) -> None:
        super().__init__()
        self.worlds = FlatMC(worlds).worlds
        self._memory: dict[int, Memory] = {}

    def write(self, rows: GpuRows, where: Any, some: bool, seeds: Any, actions: Any) -> None:
        if len(actions) not in self._memory:
            self._memory = {len(actions): Memory(len(actions), self.worlds)}
        memory = self._memory[len(actions)]
        memory.worlds.list_rows(rows, where, some, actions)
        for piece in memory.worlds.pieces:
            self.find_candidates(rows, piece, memory)
            memory.worlds.deal(rows, piece, seeds)
            self.find_values(rows, piece, memory)
            self.choose(rows, piece, memory, actions)

    def find_candidates(self, rows: GpuRows, piece: Piece, memory: Memory) -> None:
        """Write the candidates and favourites of a piece."""
        rows.launch(1, kernels.clear, memory.most)
        candidates = (memory.candidates, memory.n_candidates, memory.favourites, memory.places, memory.most)
        threads = min(piece.rows, len(memory.workspaces))
        arguments = (piece.numbers, piece.counts, piece.kind, piece.first, piece.rows, memory.workspaces)
        rows.launch(threads, flat_mc_kernels.find_candidates, rows.native, *arguments, *candidates)

    def find_values(self, rows: GpuRows, piece: Piece, memory: Memory) -> None:
        """Write the values of the candidates in the worlds of a piece."""
        place = (piece.counts, piece.kind, piece.first, piece.rows, piece.n_worlds)
        candidates = (memory.candidates, memory.n_candidates, memory.most)
        spare = (memory.workspaces, memory.spare, memory.spare_words)
        tables = (memory.worlds.tables, memory.worlds.words)
        rows.launch(len(memory.spare), flat_mc_kernels.play_worlds_out, *tables, *place, *candidates, *spare, memory.values)

    def choose(self, rows: GpuRows, piece: Piece, memory: Memory, actions: Any) -> None:
        """Write the actions of a piece."""
        candidates = (memory.candidates, memory.n_candidates, memory.favourites, memory.places)
        found = (memory.values, memory.sums, memory.squares)
        rows.launch(piece.rows, flat_mc_kernels.choose_candidates, *piece, *candidates, *found, actions)
