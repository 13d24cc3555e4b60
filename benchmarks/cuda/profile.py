"""Bottlenecks of the kernels of random play: `python -m benchmarks.cuda --profile`.

The program times variants of one kernel: decisions without writing, neighbours in equal or different phases and games, and
other block sizes. If NVIDIA's `ncu` is on the path, it also prints hardware counters.
"""

from __future__ import annotations

import csv
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numba import cuda

from benchmarks.cuda import report
from benchmarks.cuda.speed import MOVED_A_DECISION, Gpu, bandwidth, seconds_of
from noms_env import TableGroup, load_player
from noms_env.cuda import kernels, streams
from noms_env.cuda.arrays import SIMULATED
from noms_env.observation.layout import OBSERVATION_SIZE, PADDED_MASK_SIZE
from noms_env.variants import VARIANTS
from noms_env.variants.table_record import TABLE

STEPS = 1 if SIMULATED else 8
"""Decisions per launch."""
BLOCKS = (64, 128, 256)
WRITTEN = OBSERVATION_SIZE + PADDED_MASK_SIZE
TABLES_MOVED = 2 * TABLE.itemsize
Row = tuple[str, float, float, str]
"""Name, decisions per second, bytes per decision, and purpose."""
SECTIONS = ("SpeedOfLight", "Occupancy", "WarpStateStats", "MemoryWorkloadAnalysis", "SourceCounters", "LaunchStats")
COUNTERS = {
    "gpu__time_duration.sum": "time",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed": "memory, % of peak",
    "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed": "memory, % of peak",
    "sm__throughput.avg.pct_of_peak_sustained_elapsed": "multiprocessors, % of peak",
    "lts__t_sector_hit_rate.pct": "hits in L2, %",
    "l1tex__t_sector_hit_rate.pct": "hits in L1, %",
    "sm__warps_active.avg.pct_of_peak_sustained_active": "occupancy, %",
    "launch__registers_per_thread": "registers",
    "smsp__thread_inst_executed_per_inst_executed.ratio": "threads active, of 32",
    "smsp__sass_average_branch_targets_threads_uniform.pct": "branches that all take alike, %",
}
"""Counters of ncu to print, if the version has them."""
STALL = re.compile(r"smsp__average_warps_issue_stalled_(\w+?)_per_issue_active(?:\.ratio)?$")
STALLS_TOLD = 4


def show(game: str, tables: int, seconds: float, copied: int) -> int:
    """Print the bottlenecks of random play of a game."""
    report.show_profile(variants(game, tables, seconds), bandwidth(copied, seconds))
    ncu = shutil.which("ncu")
    if ncu is None:
        print("counters of the GPU are not read: ncu is not on the path")
        return 0
    print(*counters(ncu, game, tables), sep="\n")
    return 0


def variants(game: str, tables: int, seconds: float) -> list[Row]:
    """Return the rates of parts of random play, and of other orders of tables."""
    gpu = Gpu(game, tables)
    rows = gpu.rows

    def rate(work: Callable[[], object], decisions: int = tables) -> float:
        return decisions / seconds_of(work, seconds)

    def in_blocks(threads: int) -> None:
        arguments = (rows.native, STEPS, gpu.streams.native, *rows.seen, rows._wanted)
        streams.configure(kernels.play_randomly, -(-tables // threads), threads)(*arguments)

    many, thumb = STEPS * tables, load_player("thumb", device="cuda")
    timings: list[Row] = [
        ("step, and write observation and mask", rate(lambda: gpu.play(STEPS), many), MOVED_A_DECISION, "all of it"),
        ("step alone", rate(lambda: gpu.play(STEPS, written=False), many), TABLES_MOVED, "without writing"),
        ("write alone", rate(gpu.batch.observe), TABLE.itemsize + WRITTEN, "the table is only read"),
        ("choose alone", rate(partial(gpu.batch.random_actions, gpu.streams, gpu.actions)), 32, "reads three words"),  # type: ignore[arg-type]
        ("thumb", rate(lambda: thumb.act(gpu.batch)), TABLE.itemsize, "reads the table, computes much"),
        *(
            (f"the first in blocks of {threads}", rate(partial(in_blocks, threads), many), MOVED_A_DECISION, "occupancy, L1")
            for threads in ((2, 3) if SIMULATED else BLOCKS)
        ),
    ]
    in_step = Gpu(game, tables, out_of_step=False)
    timings.append(("the first, all in one phase", rate(lambda: in_step.play(STEPS), many), MOVED_A_DECISION, "divergence"))
    return timings + mixed(tables, rate)


def mixed(tables: int, rate: Callable[..., float]) -> list[Row]:
    """Return the rates of all games in one batch: sorted by game, and with neighbours of different games."""
    tables -= tables % len(VARIANTS)
    gpu = Gpu([TableGroup(variant) for variant in VARIANTS], tables)
    rows: list[Row] = []
    purposes = {"sorted by game": "the mean of the games", "neighbours differ": "divergence between games"}
    for order, purpose in purposes.items():
        if order == "neighbours differ":
            words = cuda.device_array(gpu.rows.tables.native.shape, np.int64)
            every = np.arange(tables)
            gpu.rows._copy(gpu.rows.tables.native, every, words, every)
            gpu.put(words, every.reshape(len(VARIANTS), -1).T.reshape(-1))
        figure = rate(lambda: gpu.play(STEPS), STEPS * tables)
        rows.append((f"all games, {order}", figure, MOVED_A_DECISION, purpose))
    return rows


def counters(ncu: str, game: str, tables: int) -> list[str]:
    """Return the counters of `ncu` for one launch of each kernel, one line per kernel."""
    command = [ncu, "--csv", "--page", "raw", "--profile-from-start", "off", "--clock-control", "none"]
    command += [f"--section={section}" for section in SECTIONS]
    command += [sys.executable, "-c", f"from benchmarks.cuda.profile import launch; launch({game!r}, {tables})"]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = [line for line in process.stdout.splitlines() if line.startswith('"')]
    if process.returncode != 0 or len(lines) < 3:
        output = (process.stdout + process.stderr).strip().splitlines()
        return [f"ncu counted nothing (status {process.returncode}): {' '.join(output[-3:])}"]
    return counted(lines)


def launch(game: str, tables: int) -> None:
    """Launch each kernel once in the range that `ncu` profiles."""
    gpu, thumb = Gpu(game, tables), load_player("thumb", device="cuda")
    thumb.act(gpu.batch)
    gpu.play(1, written=False)
    gpu.step()
    with cuda.profiling():
        gpu.play(1)
        gpu.play(1, written=False)
        gpu.batch.observe()
        gpu.batch.step(gpu.actions)  # type: ignore[arg-type]
        thumb.act(gpu.batch)


def counted(lines: Sequence[str]) -> list[str]:
    """Format the counters of `ncu`'s raw CSV table: names, units, and one row per launch."""
    heads, units, *launches = csv.reader(lines)
    unit = dict(zip(heads, units, strict=True))
    text = []
    for values in launches:
        row = dict(zip(heads, values, strict=True))
        parts = [f"{label} {row[name]} {unit[name]}".rstrip(" %") for name, label in COUNTERS.items() if row.get(name)]
        stalls = {match[1]: number(row[name]) for name in heads if (match := STALL.search(name))}
        worst = sorted(stalls, key=lambda name: -stalls[name])[:STALLS_TOLD]
        parts.append("waits for " + ", ".join(f"{name} {stalls[name]:.1f}" for name in worst))
        text.append(f"{row['Kernel Name'][:60]}: " + "; ".join(parts))
    return text


def number(text: str) -> float:
    """Parse a number with thousands separators; return 0 for any other text."""
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return 0.0
