"""Memory for a search on a policy: lanes for parallel rollouts, and pools of worlds."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from numba import cuda
from torch.utils.dlpack import from_dlpack

from noms_env.belief.workspace import LAYOUT, MAX_WAYS, PLAN
from noms_env.core.actions import NUM_ACTIONS
from noms_env.core.state import MAX_SEATS
from noms_env.cuda import streams
from noms_env.cuda.arrays import SIMULATED, GpuArray
from noms_env.cuda.players import search_kernels as kernels
from noms_env.cuda.players.policy import GpuPolicy, can_capture, captured
from noms_env.cuda.rows import MAX_THREADS, GpuRows, launch
from noms_env.players.registry import FIRST
from noms_env.players.rule_based.heuristics import new_workspaces
from noms_env.search.endgame.moves import FRAME
from noms_env.search.endgame.position import position_type
from noms_env.search.opponent_models import MAX_POOLS
from noms_env.search.rollouts import ENDING_COUNTS, ENDING_FRAMES, ENDING_WORDS
from noms_env.variants.table_record import TABLE

PLANS = 3 if SIMULATED else 2048
"""Maximum of tasks whose worlds are dealt in one launch."""
SOLVERS = 5 if SIMULATED else 1 << 14
"""Maximum of threads that solve endings."""
POSITION = np.dtype((np.record, position_type(ENDING_COUNTS, ENDING_WORDS)))
THUMBS = 5 if SIMULATED else 1 << 16
"""Maximum of threads that play by rules of thumb."""
AHEAD = 1
"""Number of further steps to launch before reading the number of active lanes."""


class Choices:
    """Memory for the rows of a batch with a choice."""

    def __init__(self, rows: int) -> None:
        self.places, self.marked = new_shared_array(rows)
        self.numbers, self.listed = (cuda.device_array(rows, np.int64) for _ in range(2))
        self.chances = cuda.device_array((rows, NUM_ACTIONS), np.float32)


class Lanes:
    """Tables of parallel rollouts or replays.

    Attributes:
        capacity: maximum number of lanes.
        threads: maximum number of threads that advance lanes.
        tables: structured, shape (capacity,).
    """

    def __init__(self, capacity: int, by_thumb: bool) -> None:
        """Allocate memory; `by_thumb` says whether seats may play by rules of thumb."""
        self.capacity = capacity
        self.tables = cuda.device_array(capacity, TABLE)
        self._words = words_of(self.tables)
        self.active, self.actions, self.seeds, self.values = (cuda.device_array(capacity, np.int64) for _ in range(4))
        self.listed, self._listed = new_shared_array(capacity)
        self.sources, self._sources = new_shared_array(capacity)
        self.places, self._marked = new_shared_array(capacity)
        self.chances = cuda.device_array(capacity, np.float32)
        self.count, self.moment = (streams.to_device(np.zeros(1, np.int64)) for _ in range(2))
        self._counted = from_dlpack(GpuArray(self.count))
        solvers = min(capacity, SOLVERS)
        self.positions = cuda.device_array(solvers, POSITION)
        self.frames = cuda.device_array((solvers, ENDING_FRAMES), FRAME)
        model = new_workspaces(FIRST)
        self.threads = min(capacity, THUMBS) if by_thumb else capacity
        self.workspaces = cuda.device_array(self.threads if by_thumb else 1, model.dtype)
        words_of(self.workspaces).copy_(torch.from_numpy(model.view(np.ndarray).view(np.int64)))
        self._graphs: dict[Any, Any] = {}
        self._room: Any = None
        self._memory: Any = None

    def copy_rows(self, rows: GpuRows, pools: Pools, worlds: int) -> None:
        """Copy the first `worlds` rows in `listed` from a batch into the slots in `sources`."""
        torch.index_select(from_dlpack(rows.tables), 0, self._listed[:worlds], out=self._words[:worlds])
        pools.words.index_copy_(0, self._sources[:worlds], self._words[:worlds])

    def take_slots(self, pools: Pools, lanes: int, listed: bool) -> None:
        """Copy slots of pools into the first `lanes` lanes: the slots in `listed`, or those in `sources`."""
        slots = self._listed if listed else self._sources
        torch.index_select(pools.words, 0, slots[:lanes], out=self._words[:lanes])

    def forget_graphs(self) -> None:
        """Drop all captured steps, after a reallocation of memory."""
        self._graphs.clear()
        self._memory = None  # torch frees the memory pool with its last graph

    def play(self, lanes: int, step: Callable[[int], None], name: str, policy: GpuPolicy) -> None:
        """Repeat a step, for at most `lanes` lanes, until no lane is active. CUDA graphs are cached by name and size."""
        numbers = deque[Callable[[], int]]()
        room = policy.room(min(step_size(lanes), self.capacity))
        if room is not self._room:
            self.forget_graphs()
            self._room = room
        while lanes > 0:
            size = min(step_size(lanes), self.capacity)
            if not can_capture():
                step(size)
            elif (name, size) in self._graphs:
                self._graphs[name, size].replay()
            else:
                self._memory = self._memory or torch.cuda.graph_pool_handle()
                self._graphs[name, size] = captured(partial(step, size), self._memory)  # also runs the step once
            numbers.append(self._number())
            if len(numbers) > AHEAD:
                lanes = numbers.popleft()()

    def keep_marked(self, size: int, draws: Any = None) -> None:
        """Keep the marked lanes among the first `size` active ones, in order, and write their next random numbers.

        Args:
            size: upper bound on the number of active lanes.
            draws: seeds of the worlds for these numbers; None to draw nothing.
        """
        self._marked[:size].cumsum_(0)
        launch(size, kernels.list_marked, size, self.places, self.active, self.listed)
        arrays = (self.active, self.count, self.moment, self.sources, self.seeds)
        drawn = (self.seeds if draws is None else draws, draws is not None)
        launch(size, kernels.take_active, size, self.places, self.listed, *arrays, *drawn)
        launch(1, kernels.count_moment, self.moment)

    def _number(self) -> Callable[[], int]:
        """Return a function that waits for the current number of active lanes and returns it."""
        if SIMULATED:
            number = int(self.count.copy_to_host()[0])
            return lambda: number
        host = torch.empty(1, dtype=torch.int64, pin_memory=True)
        host.copy_(self._counted, non_blocking=True)
        done = torch.cuda.Event()
        done.record()

        def known() -> int:
            done.synchronize()
            return int(host[0])

        return known


def refuse_capture() -> None:
    """Check that no CUDA graph is being captured.

    Raises:
        RuntimeError: a capture is in progress.
    """
    if not SIMULATED and torch.cuda.is_current_stream_capturing():
        raise RuntimeError("a search cannot be captured in a CUDA graph, since it waits for the GPU: call it outside of one")


def step_size(lanes: int) -> int:
    """Round `lanes` up to a power of 2 or to 3/4 of one, so that few graphs suffice."""
    power = 1 << max(lanes - 1, 0).bit_length()
    return 3 * power // 4 if lanes <= 3 * power // 4 else power


class Pools:
    """Pools of worlds, with the weights for drawing from them.

    A *slot* is a world of a pool. The worlds of a row are slots drawn from its pools; without models there is one pool, and
    each slot is a world.

    Attributes:
        worlds: maximum number of worlds.
        pool: structured, shape (slots,).
        words: the same memory as a torch tensor, int64, shape (slots, WORDS).
    """

    def __init__(self, worlds: int, models: int) -> None:
        slots = worlds * (MAX_POOLS if models else 1)
        self.worlds = worlds
        self.pool = cuda.device_array(slots, TABLE)
        self.words = words_of(self.pool)
        self.logs = cuda.device_array((max(models, 1), MAX_SEATS, slots if models else 1), np.float64)
        self.weights = cuda.device_array(slots if models else 1, np.float64)
        self.draws, self.picks = (cuda.device_array(worlds, np.int64) for _ in range(2))
        self.styles = cuda.device_array((worlds, MAX_SEATS), np.int8)
        self._plans, self._ways = cuda.device_array(PLANS, PLAN), cuda.device_array((PLANS, MAX_WAYS), np.float64)
        self._layouts = cuda.device_array(min(worlds, MAX_THREADS), LAYOUT)

    def deal(self, rows: GpuRows, lanes: Lanes, seeds: Any, tasks: np.ndarray, listed: Any, number: int) -> None:
        """Deal the worlds of one pool of some tasks.

        Args:
            rows: the tables of the batch.
            lanes: at least one per world; their tables are overwritten, and `sources` gets the slots.
            seeds: int64, shape (n,), on the GPU: the seed of each row.
            tasks: see `search_kernels`.
            listed: `tasks` on the GPU.
            number: number of the pool; below 0 for uniform worlds.
        """
        total, threads = int(tasks[kernels.TASK_END, -1]), len(self._layouts)
        launch(total, kernels.list_slots, listed, total, lanes.listed, lanes.sources)
        lanes.copy_rows(rows, self, total)
        memory = (self._plans, self._layouts, self._ways)
        for first in range(0, tasks.shape[1], PLANS):
            end = min(first + PLANS, tasks.shape[1])
            begin_world, end_world = (int(tasks[kernels.TASK_END, j - 1]) if j else 0 for j in (first, end))
            launch(min(end - first, threads), kernels.plan_pools, self.pool, listed, first, end, *memory)
            numbers = (first, begin_world, end_world, seeds, number)
            launch(min(end_world - begin_world, threads), kernels.deal_pools, self.pool, listed, *numbers, *memory)


def new_shared_array(length: int) -> tuple[Any, torch.Tensor]:
    """Return an array on the GPU, int64, shape (length,), as numba array and as torch tensor."""
    array = GpuArray(cuda.device_array(length, np.int64))
    return array.native, from_dlpack(array)


def words_of(records: Any) -> torch.Tensor:
    """Return the memory of records as a torch tensor, int64, shape (n, words of a record)."""
    words: torch.Tensor = from_dlpack(GpuArray(records.view(np.int64).reshape(len(records), records.dtype.itemsize // 8)))
    return words
