"""Cost of the layout of tables in memory and of the width of stores, to decide whether to change them.

* A table is a row of `TABLE.itemsize` bytes, so neighbouring threads read distant words. The alternative layout interleaves the
  words of 32 neighbouring tables. In both layouts the threads only read and write the engine's words in its order (`traces`),
  so the rates are upper bounds of the gain.
* Each thread writes the observation of one row with stores of eight bytes. The alternatives are stores of sixteen bytes and
  coalesced stores.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numba import cuda

from benchmarks.cuda import kernels, traces
from benchmarks.cuda.speed import seconds_of
from noms_env.cuda import streams
from noms_env.cuda.arrays import SIMULATED
from noms_env.cuda.rows import launch
from noms_env.observation.layout import OBSERVATION_SIZE
from noms_env.variants.table_record import TABLE

WORDS = TABLE.itemsize // 8
NEIGHBOURS = 32
LAYOUTS = {"rows": (WORDS, 1), "neighbours": (1, NEIGHBOURS)}
"""Strides in words: from one table to the next of its 32, and from one word of a table to the next."""


def real_traces(variant: str, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the traces of `count` tables, from a process without the compiler."""
    if SIMULATED:
        return traces.packed(traces.traces_of(variant, count))
    with TemporaryDirectory() as folder:
        file = Path(folder) / "traces.npz"
        environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
        command = [sys.executable, "-m", "benchmarks.cuda.traces", str(file), variant, str(count)]
        subprocess.run(command, env=environment, check=True, capture_output=True, timeout=60)
        with np.load(file) as saved:
            return saved["traces"], saved["lengths"]


def measure_layouts(variant: str, tables: int, count: int, seconds: float) -> dict[str, Any]:
    """Return the decisions per second that memory access allows in both layouts, for different and equal neighbours."""
    tables = -(-tables // NEIGHBOURS) * NEIGHBOURS
    words = cuda.device_array(tables * WORDS, np.int64)
    array, lengths = real_traces(variant, count)
    rates: list[dict[str, Any]] = []
    orders = {"mixed": np.arange(count), "alike": np.repeat(np.arange(-(-count // NEIGHBOURS)), NEIGHBOURS)[:count]}
    for order, chosen in orders.items():
        on_gpu = streams.to_device(np.ascontiguousarray(array[:, chosen])), streams.to_device(lengths[chosen])
        for layout, (lane, word) in LAYOUTS.items():
            numbers = (lane, word, NEIGHBOURS * WORDS, tables)
            elapsed = seconds_of(lambda: launch(tables, kernels.touch, words, *on_gpu, *numbers), seconds)  # noqa: B023
            rates.append({"name": f"{layout}, {order}", "tables": tables, "rate": tables / elapsed})
    return {"words read": mean_touched(array, lengths, 0), "words written": mean_touched(array, lengths, 1), "rates": rates}


def mean_touched(array: np.ndarray, lengths: np.ndarray, written: int) -> float:
    """Return the mean number of words that a decision reads (or writes)."""
    there = np.arange(len(array))[:, None] < lengths
    return float(((array & 1) == written)[there].sum() / len(lengths))


def measure_stores(rows: int, seconds: float) -> dict[str, float]:
    """Return bytes per second for writing rows of observations, by kind of store."""
    out = cuda.device_array((rows, OBSERVATION_SIZE // 8), np.int64)
    moved = float(rows * OBSERVATION_SIZE)

    def rate(threads: int, kernel: Any) -> float:
        return moved / seconds_of(lambda: launch(threads, kernel, out, 1), seconds)

    return {
        "8 bytes a store": rate(rows, kernels.store_words),
        "16 bytes a store": rate(rows, kernels.store_pairs),
        "threads side by side": rate(out.size, kernels.store_together),
    }
