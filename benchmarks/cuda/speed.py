"""Rates of random play on a GPU and on one core of the same machine."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from time import perf_counter
from typing import Any

import numpy as np
from numba import cuda

from noms_env import make_batch
from noms_env.cuda import kernels, streams
from noms_env.cuda.arrays import SIMULATED, GpuArray, to_gpu
from noms_env.cuda.rows import GpuRows
from noms_env.engine import batch_kernels
from noms_env.engine.row_kernels import kernel_view
from noms_env.observation.layout import OBSERVATION_SIZE, PADDED_MASK_SIZE
from noms_env.variants.table_record import TABLE

MOVED_A_DECISION = 2 * TABLE.itemsize + OBSERVATION_SIZE + PADDED_MASK_SIZE
"""Bytes per decision: the table is read and written, observation and mask are written; unchanged bytes count too."""
OUT_OF_STEP = 2 if SIMULATED else 60
"""Table i takes i % OUT_OF_STEP decisions before a measurement, about one deal, so that neighbours are in different phases."""


def torch_on_gpu() -> Any:
    """Return torch if it can use the GPU, else None."""
    if SIMULATED:
        return None
    try:
        import torch
    except ImportError:
        return None
    if not torch.cuda.is_available():
        return None
    torch.cuda.init()
    return torch


def wait() -> None:
    """Wait for all launches."""
    if not SIMULATED:
        cuda.synchronize()


def works() -> bool:
    """Return whether this process can still use the GPU."""
    try:
        wait()
    except Exception:  # the driver raises many types
        return False
    return True


def seconds_of(work: Callable[[], object], least: float, first: int = 1) -> float:
    """Return the seconds per call of `work`, from a series of calls that takes at least `least` seconds."""
    times = first
    while True:
        wait()
        start = perf_counter()
        for _ in range(times):
            work()
        wait()
        elapsed = perf_counter() - start
        if elapsed >= least:
            return elapsed / times
        times = max(times + 1, int(1.2 * times * least / max(elapsed, 1e-6))) if not SIMULATED else 2 * times


class Gpu:
    """A batch of tables in the middle of their deals, with the arrays for random play."""

    def __init__(self, variant: Any, tables: int, observation: Any = "bytes", out_of_step: bool = True) -> None:
        """Deal, and play some decisions: a different number in neighbouring tables, or without `out_of_step` the same."""
        self.batch = make_batch(variant, tables, seed=1, device="cuda", observation=observation, check_actions=False)
        self.rows: GpuRows = self.batch._rows
        self.streams = to_gpu(np.random.default_rng(0).integers(1, 2**32, tables))
        self.actions = to_gpu(np.zeros(tables, np.int64))
        self.batch.reset()
        if out_of_step:
            self.go_out_of_step()
        else:
            self.play(OUT_OF_STEP // 2)

    def go_out_of_step(self) -> None:
        """Play a different number of decisions in neighbouring rows."""
        rows, words = self.rows, self.rows.tables.native
        saved = cuda.device_array(words.shape, np.int64)
        for step in range(OUT_OF_STEP):
            places = np.arange(step, len(self.batch), OUT_OF_STEP)
            if len(places) > 0:
                rows._copy(words, places, saved, places)
            self.play(1)
        self.put(saved, np.arange(len(self.batch)))

    def put(self, words: Any, order: np.ndarray) -> None:
        """Copy row `order[i]` of some words on the GPU to row i of the batch."""
        every = np.arange(len(self.batch))
        self.rows._copy(words, order, self.rows.tables.native, every)
        self.rows._settle(every, False)
        self.batch.observe()

    def play(self, steps: int, written: bool = True) -> None:
        """Play random decisions in one launch; with `written`, write observation and mask after each."""
        rows = self.rows
        wanted = rows._wanted if written else 0
        rows.launch(len(self.batch), kernels.play_randomly, rows.native, steps, self.streams.native, *rows.seen, wanted)

    def step(self) -> None:
        """Take a decision at each table by calls of `BatchEnv`, and start the next match at tables that are over."""
        self.batch.random_actions(self.streams, self.actions)  # type: ignore[arg-type]
        self.batch.step(self.actions)  # type: ignore[arg-type]
        self.batch.reset(self.batch.over)
        self.batch.observe()

    def graph(self, torch: Any) -> Callable[[], object]:
        """Capture `step` in a CUDA graph; return the function that replays it."""
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(2):
                self.step()
        side.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=side):
            self.step()
        return lambda: graph.replay()


def one_core(variant: str, tables: int, seconds: float) -> float:
    """Return the decisions per second of the compiled loop on one core, with observation and mask written."""
    batch = make_batch(variant, tables, seed=1)
    batch.reset()
    states = np.random.default_rng(0).integers(1, 2**32, tables)
    observation, mask, hidden = batch._rows.seen
    wanted = batch_kernels.WRITE_OBSERVATION + batch_kernels.WRITE_MASK
    table_view = kernel_view(batch.tables)

    def play() -> None:
        batch_kernels.play_random(table_view, 0, tables, steps, states, observation, mask, hidden, wanted)

    steps = 1
    play()
    steps = max(1, 2**16 // tables) if not SIMULATED else 1
    play()
    decisions, start = 0, perf_counter()
    while perf_counter() - start < seconds or decisions == 0:
        play()
        decisions += steps * tables
    return decisions / (perf_counter() - start)


def bandwidth(size: int, seconds: float) -> float:
    """Return the bytes per second of copies on the GPU, reads and writes together."""
    words = max(1, size // TABLE.itemsize)
    moved = 2.0 * words * TABLE.itemsize
    source, target = (cuda.device_array((words, TABLE.itemsize // 8), np.int64) for _ in range(2))
    if SIMULATED:
        return moved / seconds_of(lambda: target.copy_to_device(np.zeros(source.shape, np.int64)), seconds)
    stream = streams.current()
    return moved / seconds_of(lambda: target.copy_to_device(source, stream=stream), seconds)


def launch_rate(gpu: Gpu, seconds: float) -> float:
    """Return the decisions per second of many steps in one launch."""
    steps = 1 if SIMULATED else 8
    return steps * len(gpu.batch) / seconds_of(lambda: gpu.play(steps), seconds)


def rates(variant: str, tables: int, seconds: float, observation: Any = "bytes") -> dict[str, float | None]:
    """Return the decisions per second: in one launch, by calls of `BatchEnv`, and by replays of a CUDA graph."""
    gpu, torch = Gpu(variant, tables, observation), torch_on_gpu()
    by_kind: dict[str, float | None] = {"launch": None, "calls": None, "graph": None}
    if observation == "bytes":
        by_kind["launch"] = launch_rate(gpu, seconds)
    by_kind["calls"] = tables / seconds_of(gpu.step, seconds)
    if torch is not None:
        by_kind["graph"] = tables / seconds_of(gpu.graph(torch), seconds)
    return by_kind


def captured_is_the_same(variant: str, tables: int, steps: int) -> bool | None:
    """Return whether replays of a captured step give the same tables as calls; None without torch."""
    torch = torch_on_gpu()
    if torch is None:
        return None
    called, captured = Gpu(variant, tables), Gpu(variant, tables)
    replay = captured.graph(torch)  # has taken two steps
    for _ in range(steps + 2):
        called.step()
    for _ in range(steps):
        replay()
    torch.cuda.synchronize()
    same = called.batch.save().tobytes() == captured.batch.save().tobytes()
    arrays = ("observation", "mask", "seat", "over", "points")
    return same and all(np.array_equal(_host(called, name), _host(captured, name)) for name in arrays)


def _host(gpu: Gpu, name: str) -> np.ndarray:
    array: GpuArray = getattr(gpu.batch, name)
    return array.to_numpy()


def device_names() -> dict[str, str]:
    """Return the names and versions of the GPU and its software."""
    if SIMULATED:
        return {"gpu": "numba's simulator"}
    device = cuda.get_current_device()
    name = device.name.decode() if isinstance(device.name, bytes) else str(device.name)
    versions = {"python": sys.version.split()[0]}
    for package in ("numpy", "numba", "numba-cuda", "torch", "jax", "pgx"):
        with suppress(PackageNotFoundError):
            versions[package] = version(package)
    capability = ".".join(map(str, device.compute_capability))
    return {"gpu": name, "capability": capability, **versions}
