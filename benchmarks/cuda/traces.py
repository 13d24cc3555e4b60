"""Traces of the words of a table that decisions read and write: `python -m benchmarks.cuda.traces FILE GAME TABLES`.

The compiled functions run as plain Python (`NUMBA_DISABLE_JIT=1`) on a table that records each access.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from noms_env import make_batch
from noms_env.engine import batch_kernels
from noms_env.engine.row_kernels import kernel_view
from noms_env.variants.table_record import TABLE

STEPS = 60
"""Table i of a batch is traced after i % STEPS decisions, about one deal."""
Note = Callable[[int, bool], None]
"""Callback for an access: byte offset in the table, and whether it is a write."""


class NotedTable:
    """A table that reports reads and writes of its fields."""

    def __init__(self, record: Any, note: Note) -> None:
        object.__setattr__(self, "_record", record)
        object.__setattr__(self, "_note", note)

    def __getattr__(self, name: str) -> Any:
        dtype, start = TABLE.fields[name][:2]  # type: ignore[index]
        value = getattr(self._record, name)
        if dtype.shape:
            return NotedArray(value, start, self._note)
        self._note(start, False)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        dtype, start = TABLE.fields[name][:2]  # type: ignore[index]
        if dtype.shape:
            NotedArray(getattr(self._record, name), start, self._note)[:] = value
        else:
            self._note(start, True)
            setattr(self._record, name, value)


class NotedArray:
    """An array field that reports reads and writes."""

    def __init__(self, values: np.ndarray, start: int, note: Note) -> None:
        self._values, self._start, self._note = values, start, note

    def __len__(self) -> int:
        return len(self._values)

    def _noted(self, key: Any, written: bool) -> None:
        for place in np.atleast_1d(np.arange(len(self._values))[key]):
            self._note(self._start + int(place) * self._values.itemsize, written)

    def __getitem__(self, key: Any) -> Any:
        self._noted(key, False)
        return self._values[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._noted(key, True)
        self._values[key] = value


def traces_of(variant: str, tables: int) -> list[list[int]]:
    """Return the words that a random decision and its observation touch in each table, in order, as for `kernels.touch`.

    Repeated reads or writes of a word count once, since it stays in registers or the cache.
    """
    batch = make_batch(variant, tables, seed=1)
    batch.reset()
    streams = np.random.default_rng(0).integers(1, 2**32, tables)
    observation, mask, hidden = batch._rows.seen
    wanted = batch_kernels.WRITE_OBSERVATION + batch_kernels.WRITE_MASK
    records = kernel_view(batch.tables)
    traces = []
    for row in range(tables):
        for _ in range(row % STEPS):
            batch_kernels.step_randomly(records[row], row, streams)
        touched: dict[int, None] = {}

        def note(byte: int, written: bool, touched: dict[int, None] = touched) -> None:
            touched.setdefault(2 * (byte // 8) + written)

        table = NotedTable(records[row], note)
        batch_kernels.step_randomly(table, row, streams)
        batch_kernels.write(table, row, observation, mask, hidden, wanted, None, row)
        traces.append([*touched])
    return traces


def packed(traces: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    """Pack traces into an array, int16, shape (longest, n), and return it with their lengths, int64, shape (n,)."""
    lengths = np.array([len(trace) for trace in traces], np.int64)
    array = np.zeros((lengths.max(), len(traces)), np.int16)
    for column, trace in enumerate(traces):
        array[: len(trace), column] = trace
    return array, lengths


if __name__ == "__main__":
    with Path(sys.argv[1]).open("wb") as file:
        made = packed(traces_of(sys.argv[2], int(sys.argv[3])))
        np.savez(file, traces=made[0], lengths=made[1])
