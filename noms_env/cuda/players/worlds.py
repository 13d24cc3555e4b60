"""Worlds of searches on a GPU: copies of each row to search, with the unseen cards dealt anew.

    worlds = GpuWorlds(len(batch), n_worlds=20)
    worlds.list_rows(batch.gpu, where, some, actions)  # writes the actions of rows without a choice
    for piece in worlds.pieces:
        worlds.deal(batch.gpu, piece, seeds)
        ...  # search in `worlds.tables`, and write the actions of the piece's rows

The worlds equal those of the CPU (`search.pimc.search`) for the same seeds, byte for byte. No method synchronizes with the GPU,
and memory is allocated only once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import cuda

from noms_env.belief.workspace import LAYOUT, MAX_WAYS, PLAN
from noms_env.cuda import kernels
from noms_env.cuda.players import world_kernels
from noms_env.cuda.rows import MAX_THREADS, WORDS, GpuRows, copy_threads
from noms_env.search.pimc import CALL_WORLDS
from noms_env.variants.table_record import TABLE

MAX_BYTES = 1 << 31
"""Maximum of memory for worlds and their values, unless a single row needs more."""


class Piece(NamedTuple):
    """Rows that are searched together: `numbers[kind, first : min(first + rows, counts[kind, 0])]`.

    Attributes:
        numbers: int64, shape (2, n), on the GPU: two lists of rows to search, in any order.
        counts: int64, shape (2, 1), on the GPU: lengths of the lists.
        kind: number of the list: 1 for calls of a single round, 0 for all other decisions.
        first: index of the piece's first row in the list.
        rows: maximum number of rows; the list may end before.
        n_worlds: worlds per row: world k of row j of the piece is `tables[j * n_worlds + k]`.
    """

    numbers: Any
    counts: Any
    kind: int
    first: int
    rows: int
    n_worlds: int


class GpuWorlds:
    """Memory for the worlds of a batch's rows, one piece at a time.

    Attributes:
        n_worlds: worlds per row; a call of a single round has `CALL_WORLDS` times as many.
        rows: maximum of rows in a piece.
        capacity: maximum of worlds in a piece.
        tables: on the GPU, structured, shape (capacity,): the worlds of the piece dealt last.
        words: the same memory, int64, shape (capacity, WORDS).
        pieces: the pieces for the whole batch; pieces past the end of a list are empty.
    """

    def __init__(self, batch_rows: int, n_worlds: int, more_bytes: int = 0) -> None:
        """Allocate memory for a batch; `more_bytes`, a search's own memory per world, counts towards `MAX_BYTES`."""
        row_bytes = CALL_WORLDS * (n_worlds * (TABLE.itemsize + more_bytes) + PLAN.itemsize + 8 * MAX_WAYS)
        calling = min(batch_rows, max(1, MAX_BYTES // row_bytes))
        self.n_worlds = n_worlds
        self.rows = min(batch_rows, CALL_WORLDS * calling)
        self.capacity = CALL_WORLDS * n_worlds * calling
        self.tables = cuda.device_array(self.capacity, TABLE)
        self.words = self.tables.view(np.int64).reshape(self.capacity, WORDS)
        self._numbers = cuda.device_array((2, batch_rows), np.int64)
        self._counts = cuda.device_array((2, 1), np.int64)
        self._plans = cuda.device_array(self.rows, PLAN)
        self._ways = cuda.device_array((self.rows, MAX_WAYS), np.float64)
        self._layouts = cuda.device_array(min(self.capacity, MAX_THREADS), LAYOUT)
        self.pieces = [
            Piece(self._numbers, self._counts, kind, first, at_once, worlds)
            for kind, at_once, worlds in ((0, self.rows, n_worlds), (1, calling, CALL_WORLDS * n_worlds))
            for first in range(0, batch_rows, at_once)
        ]

    def list_rows(self, rows: GpuRows, where: Any, some: bool, actions: Any) -> None:
        """List the selected rows with a choice, and write the actions of selected rows without one.

        Args:
            rows: the tables of the batch.
            where: bool, shape (n,), on the GPU; ignored unless `some`.
            some: whether only the rows of `where` are selected.
            actions: int64, shape (n,), on the GPU: output for rows without a choice; `NOBODY` if no seat is to act.
        """
        rows.launch(2, kernels.clear, self._counts)
        rows.launch(len(actions), world_kernels.list_rows, rows.native, where, some, self._numbers, self._counts, actions)

    def deal(self, rows: GpuRows, piece: Piece, seeds: Any) -> None:
        """Fill `tables` with the worlds of a piece.

        Args:
            rows: the tables of the batch.
            piece: one of `pieces`.
            seeds: int64, shape (n,), on the GPU: one seed per row of the batch.
        """
        numbers, counts, kind, first, at_once, n_worlds = piece
        worlds = at_once * n_worlds
        place, memory = (counts, kind, first), (self._plans, self._layouts, self._ways)
        threads = len(self._layouts)
        rows.launch(copy_threads(worlds), world_kernels.copy_worlds, rows.words, numbers, *place, n_worlds, self.words)
        rows.launch(min(at_once, threads), world_kernels.plan_worlds, self.tables, *place, at_once, n_worlds, *memory)
        arguments = (self.tables, numbers, *place, at_once, n_worlds, seeds, *memory)
        rows.launch(min(worlds, threads), world_kernels.deal_worlds, *arguments)
