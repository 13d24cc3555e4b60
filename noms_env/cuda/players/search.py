"""The search on a policy (`search.policy_search`) for whole batches on a GPU.

    player = load_player("search:noms@0,worlds=24", device="cuda")
    batch.step(player.act(batch, seeds))
    found = player.values(batch, seeds)    # value of each action, as training targets of a network

All rows with a choice are searched in parallel. In each round of sequential halving every combination of row, world and
remaining action is a table in one array, a *lane*. The policy plays all lanes to the end of the deal, step by step. Replays,
which weigh the worlds, run in lanes too. Prefix sums remove finished lanes before the next step, so that the cost of a step is
proportional to the number of active lanes. The CPU reads that number one step late, while the GPU runs the next step. Removal
pays, since the mean rollout has half as many steps as the longest. The CPU also waits once for the number of rows with a
choice, once for their numbers of actions, and once per pool of worlds.

With the same policy in float32, worlds, rounds and random numbers equal those of the CPU, and the results are equal up to
rounding. There are two differences:

* The GPU search does not use earlier deals of a match (`players.Remembers`), from which the CPU infers the model of each seat.
* It runs the policy for each world, even if the seat to act has the same information in several. This affects only the time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numba import cuda

from noms_env.core.actions import NUM_ACTIONS
from noms_env.core.state import MAX_SEATS
from noms_env.cuda import streams
from noms_env.cuda.arrays import SIMULATED, GpuArray
from noms_env.cuda.players import search_kernels as kernels
from noms_env.cuda.players.lanes import Choices, Lanes, Pools, refuse_capture, step_size
from noms_env.cuda.players.player import GpuPlayer
from noms_env.cuda.players.policy import GpuPolicy
from noms_env.cuda.rows import Batch, GpuRows, launch
from noms_env.players.registry import load_player
from noms_env.search.opponent_models import MAX_POOLS, MIXTURE, UNIFORM
from noms_env.search.policy_search import TOGETHER, USUAL_TEMPERATURE, USUAL_WORLDS, SearchPlayer, search_player
from noms_env.search.seq_halving import ROOT_STATS, count_survivors, worlds_of_round
from noms_env.variants import Rules
from noms_env.variants.table_record import TABLE

MODELS = (UNIFORM, "policy", "thumb", MIXTURE)
"""Names of the opponent models."""
MAX_BYTES = 1 << 31
"""Maximum of memory for worlds and lanes, unless a single row needs more; up to half of it is added to avoid reallocations. All
other memory of a search is constant, except for a kilobyte per row of the batch."""
ROWS = 5 if SIMULATED else 8192
"""Maximum of rows whose candidates are listed in one launch."""
LANE_BYTES = TABLE.itemsize + 8 * 8
SLOT_BYTES = TABLE.itemsize + 8 * 2 * (MAX_SEATS + 1)
MAX_ROUNDS = 8


class GpuSearchOutput(NamedTuple):
    """Result of a search, on the GPU; see `players.SearchOutput` and `players.ActionValue`.

    Attributes:
        action: int64, shape (n,): the chosen actions.
        action_weights: float32, shape (n, NUM_ACTIONS): the updated policy.
        value: float32, shape (n,): estimated value of the deal; NaN in rows without a search.
        means: float32, shape (n, NUM_ACTIONS): estimated value of each action, in own points less the mean of the others; NaN
            for actions not tried. Only one of several equivalent actions is tried.
        errors: float32, of the same shape: standard errors of the differences to the policy's favourite.
        counts: int32, of the same shape: number of worlds in which each action was tried.
    """

    action: GpuArray
    action_weights: GpuArray
    value: GpuArray
    means: GpuArray
    errors: GpuArray
    counts: GpuArray


class Schedule:
    """The rounds of sequential halving; they depend only on the number of candidates.

    Attributes:
        tried: candidates in each round, int64, shape (NUM_ACTIONS + 1, MAX_ROUNDS); 0 after the last round.
        worlds: worlds in each round, of the same shape.
        all_worlds: worlds in all rounds, int64, shape (NUM_ACTIONS + 1,).
    """

    def __init__(self, most: int) -> None:
        """Compute the rounds for a mean of `most` worlds per candidate."""
        self.tried, self.worlds = np.zeros((2, NUM_ACTIONS + 1, MAX_ROUNDS), np.int64)
        for candidates in range(2, NUM_ACTIONS + 1):
            tried = candidates
            for number in range(MAX_ROUNDS):
                self.tried[candidates, number] = tried
                self.worlds[candidates, number] = worlds_of_round(most, False, candidates, tried, 0)
                if tried == 2:
                    break
                tried = count_survivors(tried)
        self.all_worlds = self.worlds.sum(axis=1)
        self._before = self.worlds.cumsum(axis=1) - self.worlds
        self._lanes = (self.tried * self.worlds).max(axis=1)

    def pieces(self, sizes: np.ndarray, pools: int) -> Iterator[np.ndarray]:
        """Yield the places of rows that fit into memory together; `sizes`: numbers of candidates, 0 for no search."""
        places = np.flatnonzero(sizes)
        of_rows = sizes[places]
        worlds = self.all_worlds[of_rows]
        used = (worlds * pools * SLOT_BYTES + np.maximum(self._lanes[of_rows], worlds) * LANE_BYTES).cumsum()
        first = 0
        while first < len(places):
            before = used[first - 1] if first else 0
            end = max(first + 1, int(np.searchsorted(used, before + MAX_BYTES, side="right")))
            yield places[first:end]
            first = end

    def tasks(self, rows: np.ndarray, sizes: np.ndarray, pools: int) -> np.ndarray:
        """Return the tasks of some rows with `sizes` candidates: a task is a set of worlds that the CPU draws together."""
        parts = -(-self.all_worlds[sizes] // TOGETHER)
        row_of = np.repeat(np.arange(len(rows)), parts)
        part = np.arange(len(row_of)) - np.repeat(parts.cumsum() - parts, parts)
        tasks = np.zeros((len(kernels.TASK), len(row_of)), np.int64)
        tasks[kernels.ROW], tasks[kernels.OFFSET] = rows[row_of], part * TOGETHER
        tasks[kernels.COUNT] = np.minimum(self.all_worlds[sizes[row_of]] - part * TOGETHER, TOGETHER)
        tasks[kernels.TASK_END] = tasks[kernels.COUNT].cumsum()
        tasks[kernels.FIRST_WORLD] = tasks[kernels.TASK_END] - tasks[kernels.COUNT]
        tasks[kernels.FIRST_SLOT] = tasks[kernels.SLOT] = pools * tasks[kernels.FIRST_WORLD]
        return tasks

    def turns(self, places: np.ndarray, sizes: np.ndarray, number: int) -> np.ndarray:
        """Return the turns of a round for rows with these places among the statistics and numbers of candidates."""
        first_world = self.all_worlds[sizes].cumsum() - self.all_worlds[sizes]
        inside = np.flatnonzero(self.worlds[sizes, number])
        candidates = sizes[inside]
        worlds, tried = self.worlds[candidates, number], self.tried[candidates, number]
        begin = first_world[inside] + self._before[candidates, number]
        return np.stack([places[inside], begin, worlds, tried, (worlds * tried).cumsum()])


class GpuSearch(GpuPlayer):
    """The search on a policy, on a GPU; see `SearchPlayer`.

    Attributes:
        policy: the policy of the rollouts. Its temperature is that of the final choice: 0 takes the best action, 1 draws.
        worlds: see `SearchPlayer`.
        opponents: `uniform`, `policy`, `thumb` or `mixture`.
        temperature: of the update, in standard errors.
    """

    draws = True
    can_be_captured = False

    def __init__(
        self,
        policy: GpuPolicy,
        worlds: int = USUAL_WORLDS,
        opponents: str = MIXTURE,
        temperature: float = USUAL_TEMPERATURE,
    ) -> None:
        """Set up the player.

        Raises:
            ValueError: a number is out of range (see `SearchPlayer`), or the opponent model is unknown.
        """
        super().__init__()
        if opponents not in MODELS:
            raise ValueError(f"opponents on a GPU must be {', '.join(MODELS[:-1])} or {MODELS[-1]}, not {opponents!r}")
        same = SearchPlayer(policy.player, worlds=worlds, opponents=opponents, temperature=temperature)
        self.policy, self.worlds, self.opponents, self.temperature = policy, same.worlds, opponents, same.temperature
        by_thumb = [model is None for model in same.models]
        self._models = tuple(by_thumb.index(kind) if kind in by_thumb else -1 for kind in (False, True))
        self._pool_count = MAX_POOLS if by_thumb else 1
        self._by_thumb = streams.to_device(np.array([False, *by_thumb]))
        self._schedule = Schedule(self.worlds)
        self._stats, self._sizes = cuda.device_array(ROWS, ROOT_STATS), streams.to_device(np.zeros(ROWS, np.int64))
        self._choices, self._lanes, self._pools = Choices(1), Lanes(1, any(by_thumb)), Pools(1, len(by_thumb))
        self._kept: dict[int, GpuSearchOutput] = {}
        self._output: GpuSearchOutput | None = None

    def __repr__(self) -> str:
        return f"<GpuSearch: {self.worlds} worlds, on {self.policy!r}>"

    @property
    def rule_sets(self) -> tuple[Rules, ...]:
        """The rules of the policy."""
        return self.policy.rule_sets

    def sit(self, batch: Batch, some: bool) -> None:
        refuse_capture()
        self.policy.sit(batch, some)

    def values(self, batch: Batch, seeds: Any, *, where: Any = None) -> GpuSearchOutput:
        """Search each row, and return the estimates and the action that `act` chooses with the same arguments.

        Args:
            batch: see `act`.
            seeds: see `act`.
            where: see `act`. The results of other rows are undefined.

        Returns:
            Arrays that the next call overwrites.

        Raises:
            ValueError: see `act`.
        """
        n = len(batch)
        if n not in self._kept:
            kinds = (((n,), np.int64), ((n, NUM_ACTIONS), np.float32), ((n,), np.float32))
            of_actions = (((n, NUM_ACTIONS), kind) for kind in (np.float32, np.float32, np.int32))
            self._kept[n] = GpuSearchOutput(*(GpuArray(streams.to_device(np.zeros(*kind))) for kind in (*kinds, *of_actions)))
        self._output = self._kept[n]
        try:
            self.act(batch, seeds, where=where, actions=self._output.action)
        finally:
            self._output = None
        return self._kept[n]

    def write(self, rows: GpuRows, where: Any, some: bool, seeds: Any, actions: Any) -> None:
        if self._output is not None:
            arrays = [array.native for array in self._output[1:]]
            launch(len(actions), kernels.clear_output, rows.native, where, some, *arrays)
        listed, number, chances = self._choices_of(rows, where, some, actions)
        for first in range(0, number, ROWS):
            count = min(ROWS, number - first)
            candidates = (chances, self.worlds, self._stats, self._sizes)
            launch(count, kernels.list_candidates, rows.native, listed, first, count, *candidates)
            sizes, numbers = streams.to_host(self._sizes)[:count], streams.to_host(listed)[first : first + count]
            for places in self._schedule.pieces(sizes, self._pool_count):
                self._search(rows, seeds, places, numbers[places], sizes[places])
            searched = (listed, first, count, self._stats)
            launch(count, kernels.choose_actions, *searched, seeds, self.temperature, self.policy.temperature, actions)
            if self._output is not None:
                launch(count, kernels.write_output, *searched, *arrays)

    def _choices_of(self, rows: GpuRows, where: Any, some: bool, actions: Any) -> tuple[Any, int, Any]:
        """Return the numbers of the rows with a choice, their count, and the probabilities of their actions."""
        n = len(actions)
        if len(self._choices.numbers) < n:
            self._choices = Choices(n)
        choices, fits = self._choices, self.policy.fits(rows)
        selected = (rows.native, where, some, where if fits is None else fits, fits is not None)
        launch(n, kernels.mark_choices, *selected, choices.places, choices.numbers, actions)
        choices.marked[:n].cumsum_(0)
        launch(n, kernels.list_marked, n, choices.places, choices.numbers, choices.listed)
        number = int(streams.to_host(choices.places[n - 1 : n])[0])
        if number > 0:
            self.policy.tell(rows.native, number, choices.chances, rows=choices.listed, temperature=1.0)
        return choices.listed, number, choices.chances

    def _search(self, rows: GpuRows, seeds: Any, places: np.ndarray, numbers: np.ndarray, sizes: np.ndarray) -> None:
        """Search some rows with these places among the statistics, numbers in the batch and numbers of candidates."""
        schedule = self._schedule
        tasks = schedule.tasks(numbers, sizes, self._pool_count)
        rounds = [schedule.turns(places, sizes, number) for number in range(MAX_ROUNDS)]
        worlds = int(tasks[kernels.TASK_END, -1])
        self._grow(worlds, max(worlds, *(int(turns[kernels.TURN_END, -1]) for turns in rounds if turns.size > 0)))
        self._draw_worlds(rows, seeds, tasks)
        for turns in rounds:
            if turns.size > 0:
                self._play_round(streams.to_device(turns), int(turns[kernels.TURN_END, -1]))

    def _grow(self, worlds: int, lanes: int) -> None:
        """Reallocate memory that is too small."""
        for more in (False, True):  # free the old memory first
            if self._pools.worlds < worlds:
                models = len(self._pools.logs) if self._pool_count > 1 else 0
                self._pools = Pools(step_size(worlds) if more else 1, models)
                self._lanes.forget_graphs()
            if self._lanes.capacity < lanes:
                self._lanes = Lanes(step_size(lanes) if more else 1, self._models[1] >= 0)

    def _draw_worlds(self, rows: GpuRows, seeds: Any, tasks: np.ndarray) -> None:
        """Deal the worlds of some tasks; with opponent models, draw from pools of them."""
        pools, total = self._pools, int(tasks[kernels.TASK_END, -1])
        left, by_models = np.arange(tasks.shape[1]), self._pool_count > 1
        for number in range(self._pool_count):
            some = tasks[:, left]
            some[kernels.SLOT] += number * some[kernels.COUNT]
            some[kernels.POOLS] = tasks[kernels.POOLS, left] = number + 1
            some[kernels.TASK_END] = some[kernels.COUNT].cumsum()
            listed = streams.to_device(some)
            pools.deal(rows, self._lanes, seeds, some, listed, number if by_models else -1)
            if by_models:
                left = left[self._weigh(some, listed) == 0]
            if len(left) == 0:
                break
        listed = streams.to_device(tasks)
        launch(total, kernels.draw_numbers, listed, total, seeds, pools.draws, pools.picks, pools.styles)
        if by_models:
            launch(tasks.shape[1], kernels.add_weights, listed, pools.weights)
            launch(total, kernels.pick_worlds, listed, total, pools.draws, pools.weights, pools.picks)
            launch(total, kernels.draw_styles, listed, total, seeds, pools.pool, pools.logs, pools.picks, pools.styles)

    def _weigh(self, tasks: np.ndarray, listed: Any) -> np.ndarray:
        """Replay the newest pool of some tasks, and weigh all their pools; return which tasks have enough worlds."""
        lanes, pools, total = self._lanes, self._pools, int(tasks[kernels.TASK_END, -1])
        lanes.take_slots(pools, total, listed=False)
        arrays = (lanes.sources, pools.logs, lanes.active, lanes.actions, lanes.count, lanes.moment)
        launch(total, kernels.open_replays, total, lanes.tables, *arrays)
        models = self._models

        def step(size: int) -> None:
            threads = min(size, lanes.threads)
            memory = (lanes.count, lanes.active, lanes.tables, lanes.sources, pools.pool, pools.logs, *models)
            written = (lanes.workspaces, lanes.actions, lanes.chances, lanes.places)
            launch(threads, kernels.advance_replays, size, threads, *memory, *written)
            lanes.keep_marked(size)
            if models[0] >= 0:
                self.policy.tell_of(lanes.tables, size, lanes.actions, lanes.chances, rows=lanes.active, temperature=1.0)

        lanes.play(total, step, "replays", self.policy)
        is_enough = cuda.device_array(tasks.shape[1], np.int64)
        launch(tasks.shape[1], kernels.weigh_pools, listed, pools.logs, pools.weights, is_enough)
        return streams.to_host(is_enough)

    def _play_round(self, turns: Any, total: int) -> None:
        """Play out the lanes of a round, and add their values to the statistics."""
        lanes, pools = self._lanes, self._pools
        arrays = (lanes.sources, lanes.listed, lanes.active, lanes.actions, lanes.count, lanes.moment)
        launch(total, kernels.open_rollouts, turns, total, self._stats, pools.picks, *arrays)
        lanes.take_slots(pools, total, listed=True)

        def step(size: int) -> None:
            threads = min(size, lanes.threads)
            memory = (lanes.count, lanes.active, lanes.tables, lanes.sources, pools.styles, self._by_thumb)
            written = (lanes.workspaces, lanes.actions, lanes.places)
            launch(threads, kernels.advance_rollouts, size, threads, *memory, *written)
            lanes.keep_marked(size, pools.draws)
            self.policy.draw(lanes.tables, size, lanes.seeds, lanes.actions, rows=lanes.active, temperature=1.0)

        lanes.play(total, step, "rollouts", self.policy)
        memory = (lanes.tables, lanes.sources, pools.picks, pools.pool, lanes.positions, lanes.frames, lanes.values)
        launch(len(lanes.positions), kernels.value_lanes, total, *memory)
        launch(turns.shape[1], kernels.add_round, turns, self._stats, lanes.values, self.worlds, self.temperature)


def gpu_search(policy: str | None = None, **options: Any) -> GpuSearch:
    """Return the player of a name such as `search:noms@0,worlds=50`; see `GpuSearch` for the options.

    Raises:
        ValueError: the policy is unknown, or an option is out of range or not available on a GPU.
    """
    for name in ("time", "threads"):
        if name in options:
            raise ValueError(f"the player search on a GPU has no option {name}: options are worlds, opponents and temperature")
    search_player(policy)  # raises if it is no policy
    return GpuSearch(load_player(str(policy), "cuda"), **options)
