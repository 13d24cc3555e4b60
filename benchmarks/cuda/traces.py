"""Which words of a table a decision reads and writes: `python -m benchmarks.cuda.traces FILE` writes them to a file.

The compiled functions run as plain Python (`NUMBA_DISABLE_JIT=1`) on a table that notes what is asked of it.
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
"""Table i of a batch is looked at after i % STEPS decisions: about a deal's."""
Note = Callable[[int, bool], None]
"""Takes the byte of a number in its table, and whether it is written."""


class NotedTable:
    """A table that notes which of its numbers are read and written."""

    def __init__(self, record: Any, note: Note) -> None:
        """Look at a record."""
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
    """A field of several numbers."""

    def __init__(self, values: np.ndarray, start: int, note: Note) -> None:
        """Look at an array that starts at a byte of its table."""
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
    """For each table the words that a random decision and the writing after it touch, in order: `kernels.touch`.

    A word that is read again, or written again, is taken to be still at hand.
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
    """Traces as an array, int16, shape (longest, n), and their lengths, int64, shape (n,)."""
    lengths = np.array([len(trace) for trace in traces], np.int64)
    array = np.zeros((lengths.max(), len(traces)), np.int16)
    for column, trace in enumerate(traces):
        array[: len(trace), column] = trace
    return array, lengths


if __name__ == "__main__":
    with Path(sys.argv[1]).open("wb") as file:
        made = packed(traces_of(sys.argv[2], int(sys.argv[3])))
        np.savez(file, traces=made[0], lengths=made[1])
