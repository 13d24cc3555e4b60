"""The tables of a batch in host memory, and the compiled loops over them.

`cuda.rows.GpuRows` has the same methods for tables on a GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from noms_env._threads import RowThreads
from noms_env.belief import new_sampling_workspace, sample_hidden_rows
from noms_env.core.actions import NUM_ACTIONS
from noms_env.core.chance import check_streams
from noms_env.engine import batch_kernels
from noms_env.engine.row_kernels import kernel_view
from noms_env.envs.validation import checked_actions, checked_array
from noms_env.observation.feature_layout import FeatureLayout
from noms_env.observation.layout import HIDDEN_SIZE, OBSERVATION_SIZE, PADDED_MASK_SIZE
from noms_env.variants.table_record import TABLE, new_tables

MIN_ROWS_PER_THREAD = 1024


class ProcessorRows:
    """Arrays with one row per table; `BatchEnv` documents the public ones.

    Attributes:
        seen: the arguments `observation`, `mask` and `hidden` of `batch_kernels`.
        features: the argument `features` of `batch_kernels`; None for bytes.
        wanted: the argument `wanted` of `batch_kernels`.
    """

    def __init__(
        self, models: np.recarray, ends: Sequence[int], layout: FeatureLayout | None, hidden_state: bool, threads: int
    ) -> None:
        """Make the tables: group i fills the rows up to `ends[i]` with copies of `models[i]`; `layout` is None for bytes."""
        rows = self._count = ends[-1]
        self.tables = new_tables(rows)
        for model, start, end in zip(models, [0, *ends], ends, strict=False):
            self.tables[start:end] = model
        self.tables.table = np.arange(rows)
        self._kernel_tables = kernel_view(self.tables)
        self._words = self.tables.view(np.ndarray).view(np.int64).reshape(rows, TABLE.itemsize // 8)
        observation = np.zeros((rows, OBSERVATION_SIZE // 8), np.int64)
        mask = np.zeros((rows, PADDED_MASK_SIZE // 8), np.int64)
        hidden = np.zeros((rows if hidden_state else 0, HIDDEN_SIZE // 8), np.int64)
        self.seen = (observation, mask, hidden)
        self.features: tuple[np.ndarray, ...] | None = None
        self.observation = observation.view(np.uint8)
        if layout is not None:
            features = np.zeros((rows, layout.words), np.int64)
            self.features = (features, *layout.parts)
            self.observation = features.view(np.uint8)[:, : layout.n_features]
        self.mask = mask.view(np.int8)[:, :NUM_ACTIONS]
        self.hidden_state = hidden.view(np.uint8) if hidden_state else None
        self.wanted = batch_kernels.WRITE_OBSERVATION + batch_kernels.WRITE_MASK
        self.wanted += batch_kernels.WRITE_HIDDEN if hidden_state else 0
        self.seat = np.zeros(rows, np.int16)
        self.over = np.ones(rows, np.bool_)
        self.scored = np.zeros(rows, np.bool_)
        self.points = np.zeros((rows, max(models.n_seats)), np.float32)
        self._stepped = (self.points, self.scored, self.seat, self.over, *self.seen)
        in_threads = threads > 1 and rows >= 2 * MIN_ROWS_PER_THREAD
        self._row_threads = RowThreads(threads, MIN_ROWS_PER_THREAD) if in_threads else None

    def run(self, kernel: Callable[..., Any], *arguments: Any) -> None:
        """Run a kernel over all rows, in several threads if there are many rows. The result is the same."""
        if self._row_threads is None:
            kernel(self._kernel_tables, 0, self._count, *arguments)
        else:
            self._row_threads.run(self._count, lambda first, end, _: kernel(self._kernel_tables, first, end, *arguments))

    def holds(self, _array: Any) -> bool:
        """Return whether an array is on the GPU with the tables."""
        return False

    def actions(self, actions: Any) -> np.ndarray:
        """Return actions as int64, shape (n,); raise ValueError unless they are n integers."""
        return checked_actions(actions, self._count)

    def observe(self, rows: np.ndarray | None) -> None:
        """Write the observations of some rows; None for all."""
        if rows is None:
            self.run(batch_kernels.observe_rows, *self.seen, self.wanted, self.features)
        else:
            batch_kernels.observe_some(self._kernel_tables, rows, *self.seen, self.wanted, self.features)

    def first_illegal(self, actions: np.ndarray) -> int:
        """Return the first row with an illegal action; -1 if there is none."""
        row: int = batch_kernels.first_illegal(self._kernel_tables, actions)
        return row

    def step(self, actions: np.ndarray, skip_forced: bool, pause: bool, observe: bool) -> None:
        """Take an action in each row (`batch_kernels.step_rows`)."""
        wanted = self.wanted if observe else 0
        self.run(batch_kernels.step_rows, actions, skip_forced, pause, *self._stepped, wanted, self.features)

    def next_deal(self) -> None:
        """Deal the next hand in paused rows."""
        self.run(batch_kernels.next_deal_rows, self.points, self.scored)
        self._note()

    def start(self, rows: np.ndarray, dealers: np.ndarray, pause: bool) -> None:
        """Start a match in some rows, by the `seed`, `table` and `match` in their records."""
        batch_kernels.start_rows(self._kernel_tables, rows, dealers)
        self._settle(rows, pause)

    def random_actions(self, states: Any, actions: Any, _check: bool) -> None:
        """Write a random legal action for each row; arguments and errors as in `BatchEnv.random_actions`."""
        checked_array("actions", actions, self._count)
        check_streams(checked_array("streams", states, self._count))
        self.run(batch_kernels.random_rows, states, actions)

    def to_numpy(self, array: np.ndarray) -> np.ndarray:
        """Return an array in host memory."""
        return array

    def field(self, name: str, rows: np.ndarray) -> np.ndarray:
        """Return a field of some tables."""
        numbers: np.ndarray = self.tables[name][rows]
        return numbers

    def set_field(self, name: str, rows: np.ndarray, values: np.ndarray) -> None:
        """Write a field of some tables, int64."""
        self.tables[name][rows] = values

    def save(self, rows: np.ndarray) -> np.recarray:
        saved: np.recarray = self.tables[rows]
        return saved

    def put(self, rows: np.ndarray, records: np.ndarray, pause: bool) -> None:
        """Write records into rows: one per row, or one for all."""
        self._words[rows] = (
            np.ascontiguousarray(records).view(np.ndarray).view(np.int64).reshape(len(records), self._words.shape[1])
        )
        self._settle(rows, pause)

    def clone(self, source: int, rows: np.ndarray, pause: bool) -> None:
        batch_kernels.clone_row(self._words, source, rows)
        self._settle(rows, pause)

    def sample_hidden(self, source: int, rows: np.ndarray, seat: int, seed: int, pause: bool) -> None:
        """Fill at least one row with copies of a table, with the hidden cards dealt anew."""
        batch_kernels.clone_row(self._words, source, rows)
        sample_hidden_rows(self._kernel_tables, rows, seat, seed, new_sampling_workspace())
        self._settle(rows, pause)

    def _settle(self, rows: np.ndarray, pause: bool) -> None:
        """Write `scored`, `points`, `seat` and `over` after rows were overwritten."""
        batch_kernels.settle_rows(self._kernel_tables, rows, pause, self.points, self.scored)
        self._note()

    def _note(self) -> None:
        batch_kernels.write_turns(self._kernel_tables, 0, self._count, self.seat, self.over)
