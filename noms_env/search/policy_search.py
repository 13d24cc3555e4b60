"""The player that searches on a trained policy.

The hidden cards of the seat to act are sampled (*worlds*). Each candidate is tried in the same worlds, and the policy plays the
deal to its end (`rollouts.play_tasks`). The value of a deal is the seat's points less the mean of the others' points, without
the multiplier, as in `pimc`. Sequential halving allots the worlds to candidates, and the values update the policy
(`seq_halving`). Worlds are uniform and the others play like the policy, unless opponent models decide both (`opponent_models`).

Forced actions need no search, and of equivalent cards one is tried, both at the root and in rollouts. All rows of a call are
searched together, so that the network gets large batches.

In a deal of Noms after a pass-out the policy plays without a search: the deck was sorted. The policy has learnt to use that,
but sampled worlds ignore it.

Shapes: B rows of a call, A = NUM_ACTIONS.
"""

from __future__ import annotations

import math
import time as clock
from collections import deque
from copy import copy
from typing import Any, ClassVar

import numpy as np

from noms_env._threads import ONE_THREAD, RowThreads
from noms_env.core.chance import MAX_SEED, Seeds, draw_seeds
from noms_env.core.state import MAX_SEATS
from noms_env.engine.row_kernels import kernel_view
from noms_env.players.protocol import NOBODY, ActionValue, SearchOutput, as_batch
from noms_env.players.registry import load_player
from noms_env.policy.player import PolicyPlayer
from noms_env.search.candidates import policy_candidates
from noms_env.search.endgame.position import units
from noms_env.search.opponent_models import MIXTURE, Model, draw_worlds, load_models, recall_styles
from noms_env.search.pimc import MAX_WORLDS, check_number
from noms_env.search.rollouts import play_tasks
from noms_env.search.seq_halving import RootStats
from noms_env.search.worlds import Worlds, are_sorted
from noms_env.variants import Rules

USUAL_WORLDS = 24
USUAL_TEMPERATURE = 0.25
TOGETHER = 1024  # maximum number of deals that are played out side by side: more would not stay in the cache
PART, STEP = 256, 1_000_003
"""For `SearchPlayer.outcomes`: worlds that are drawn together, and the step between the seeds of two parts."""


class SearchPlayer:
    """A search on a policy: see the module. It is stateless, so several threads may call it.

    Attributes:
        policy: plays the worlds out. Its temperature is also that of the final choice: 0 takes the best action, 1 draws.
        worlds: per action, on average; promising actions are tried in more.
        time: milliseconds per decision, on average over a call; None for no limit.
        opponents: `uniform`, or the opponent model that weights the worlds and plays them out.
        models: the models of that name.
        temperature: of the update, in standard errors; 0 takes the action with the best mean.
        reward: its objective: points less the mean of the others'.
    """

    wants_tables: ClassVar[bool] = True
    reward: ClassVar[str] = "relative"

    def __init__(
        self,
        policy: PolicyPlayer,
        worlds: int | None = None,
        time: float | None = None,
        opponents: str = MIXTURE,
        temperature: float = USUAL_TEMPERATURE,
        threads: int = 1,
    ) -> None:
        """Set up the player; the arguments are attributes, see above.

        `worlds` are 1 to 10000, by default 24, or 10000 if only `time` is set; with `time` the answer depends on the machine.
        `opponents` is `uniform`, `policy`, `thumb`, `mixture`, or the name of a policy. `threads`, 1 to 64, share a call;
        without a time limit the choice does not depend on them.

        Raises:
            ValueError: one of the numbers is out of range, or there is no such model.
        """
        if time is not None and not 0 < time < math.inf:
            raise ValueError(f"time must be a number of milliseconds above 0, not {time!r}")
        if not 0 <= temperature < math.inf:
            raise ValueError(f"temperature must be a number from 0 on, not {temperature!r}")
        usual = USUAL_WORLDS if time is None else MAX_WORLDS
        self.policy, self.time, self.temperature = policy, time, float(temperature)
        self.opponents, self.models = opponents, load_models(opponents, policy)
        self.worlds = check_number("worlds", usual if worlds is None else worlds, MAX_WORLDS)
        self._row_threads = RowThreads(check_number("threads", threads, 64))
        self._memory: np.ndarray | None = None

    def __repr__(self) -> str:
        limit = "" if self.time is None else f", {self.time:g} ms"
        return f"<SearchPlayer: {self.worlds} worlds{limit}, on {self.policy!r}>"

    @property
    def rule_sets(self) -> tuple[Rules, ...]:
        """Rules of the tables that it can play at: those of the policy."""
        return self.policy.rule_sets

    @property
    def policies(self) -> tuple[Model, ...]:
        """Players of the worlds: the own policy, and the models."""
        return self.policy, *self.models

    def recall(self, tables: np.recarray) -> np.ndarray:
        """See `noms_env.players.Remembers`: how well each model explains each seat's actions, (n, models, MAX_SEATS).

        With a single model there is nothing to learn.
        """
        if len(self.models) < 2 or len(tables) == 0:
            return np.zeros((len(tables), len(self.models), MAX_SEATS))
        return recall_styles(kernel_view(tables), self.models).transpose(2, 0, 1)

    def with_memory(self, memory: np.ndarray) -> SearchPlayer:
        """See `noms_env.players.Remembers`."""
        twin = copy(self)
        twin._memory = memory
        return twin

    @as_batch
    def act(self, observation: np.ndarray, mask: np.ndarray, seeds: Any, *, tables: np.recarray | None = None) -> np.ndarray:
        """See `Player.act`; ValueError for arrays of another shape or dtype, or rules that the policy was not trained for."""
        assert tables is not None, "as_batch sees to it"
        return self.targets(observation, mask, seeds, tables=tables).action

    def targets(self, observation: np.ndarray, mask: np.ndarray, seeds: Seeds, *, tables: np.recarray) -> SearchOutput:
        """See `noms_env.players.TellsTargets`. The most probable action of each class stands for all."""
        legal = mask != 0
        action = np.where(legal.any(axis=1), legal.argmax(axis=1), NOBODY)
        action_weights = np.where(np.count_nonzero(legal, axis=1)[:, None] == 1, legal, 0).astype(np.float32)
        value = np.full(len(mask), np.nan, np.float32)
        for stats in self.search(observation, mask, draw_seeds(seeds, len(mask)), tables):
            action[stats.row] = stats.choose(self.policy.temperature)
            weights = stats.action_weights
            action_weights[stats.row, stats.members] = weights
            if stats.worlds > 0:
                value[stats.row] = weights @ stats.means
        return SearchOutput(action, action_weights, value)

    def values(self, observation: np.ndarray, mask: np.ndarray, seed: Seeds, *, tables: np.recarray) -> list[ActionValue]:
        """See `noms_env.players.TellsValues`; also empty if there was no time."""
        for stats in self.search(observation[np.newaxis], mask[np.newaxis], draw_seeds(seed, 1), tables):
            if stats.worlds > 0:
                columns = (stats.members.tolist(), stats.means.tolist(), stats.errors.tolist())
                return sorted(map(ActionValue, *columns), key=lambda value: -value.mean)
        return []

    def outcomes(self, tables: np.ndarray, row: int, seed: int, actions: np.ndarray, worlds: int) -> np.ndarray:
        """Return the values of some actions in the same worlds, to compare them; the player's own number of worlds is ignored.

        `tables` are as `kernel_view` makes them, `actions` are legal, int64, shape (n,). Returns points of the seat to act in a
        row less the mean of the others', float64, shape (worlds, n).
        """
        parts = list[np.ndarray]()
        for part, first in enumerate(range(0, worlds, PART)):
            begin = (seed + STEP * (1 + part)) & MAX_SEED
            drawn = self._draw_worlds(tables, row, begin, min(PART, worlds - first), self._row_threads)
            parts += play_tasks([(drawn, actions)], self.policies, math.inf, self._row_threads) or []
        return np.asarray(np.concatenate(parts) / units(int(tables[row]["n_seats"])))

    def search(self, observation: np.ndarray, mask: np.ndarray, seeds: np.ndarray, tables: np.recarray) -> list[RootStats]:
        """Return the root statistics of the rows that have a choice; arguments as in `act`."""
        started = clock.perf_counter()
        probabilities = self.policy.probabilities(observation, mask, temperature=1)
        view, all_stats = kernel_view(tables), list[RootStats]()
        for row in np.flatnonzero(np.count_nonzero(mask, axis=1) > 1).tolist():
            candidates, seats = policy_candidates(view, row, probabilities[row]), int(tables.n_seats[row])
            limits = (self.temperature, self.worlds, self.time is not None)
            all_stats.append(RootStats(row, int(seeds[row]), candidates, seats, *limits))
        is_sorted = are_sorted(view)
        queue = deque(stats for stats in all_stats if stats.worlds_left > 0 and not is_sorted[stats.row])
        self._search_rows(view, queue, math.inf if self.time is None else started + self.time / 1000 * len(queue))
        return all_stats

    def _search_rows(self, tables: np.ndarray, queue: deque[RootStats], deadline: float) -> None:
        """Try the candidates of some rows in all worlds, or until the deadline."""
        pace, drawn = 0.0, dict[int, Worlds]()  # seconds per rollout; worlds of each row that are not played yet
        while queue:
            started = clock.perf_counter()
            turns = self._next_turns(queue, drawn, min(TOGETHER, (deadline - started) / pace) if pace else TOGETHER)
            self._draw(tables, [turn for turn in turns if turn[0].row not in drawn], drawn, deadline)
            if not turns or clock.perf_counter() > deadline:
                return
            tasks = list[tuple[Worlds, np.ndarray]]()
            for stats, worlds in turns:
                own = drawn.pop(stats.row)
                tasks.append((own.part(0, worlds), stats.actions[stats.remaining]))
                if len(own.draws) > worlds:
                    drawn[stats.row] = own.part(worlds, None)
            values = play_tasks(tasks, self.policies, deadline, self._row_threads)
            if values is None:
                return
            pace = (clock.perf_counter() - started) / sum(task_values.size for task_values in values)
            for task_values in values:
                stats = queue.popleft()
                stats.add(task_values)
                if stats.worlds_left > 0:
                    queue.append(stats)

    def _next_turns(self, queue: deque[RootStats], drawn: dict[int, Worlds], room: float) -> list[tuple[RootStats, int]]:
        """Return the first rows of the queue and the worlds to play in each, up to `room` rollouts.

        Without a time limit the worlds of a row depend on it alone, so that other rows do not matter.
        """
        turns = list[tuple[RootStats, int]]()
        for stats in queue:
            tried = len(stats.remaining)
            worlds = min(stats.worlds_left, TOGETHER // tried, len(drawn[stats.row].draws) if stats.row in drawn else TOGETHER)
            if self.time is not None:
                worlds = min(worlds, int(room) // tried)
            if worlds < 1 or worlds * tried > room:
                break
            turns.append((stats, worlds))
            room -= worlds * tried
        return turns

    def _draw(self, tables: np.ndarray, turns: list[tuple[RootStats, int]], drawn: dict[int, Worlds], deadline: float) -> None:
        """Draw worlds for some rows: for all rounds at once, or with a time limit for one turn."""

        def draw(first: int, end: int, row_threads: RowThreads) -> None:
            for stats, worlds in turns[first:end]:
                count = min(stats.total_left, TOGETHER) if self.time is None else worlds
                if clock.perf_counter() <= deadline:
                    seed = (stats.seed + stats.worlds) & MAX_SEED
                    drawn[stats.row] = self._draw_worlds(tables, stats.row, seed, count, row_threads)

        if len(turns) < self._row_threads.threads:
            draw(0, len(turns), self._row_threads)
        else:
            self._row_threads.run(len(turns), lambda first, end, _part: draw(first, end, ONE_THREAD))

    def _draw_worlds(self, tables: np.ndarray, row: int, seed: int, count: int, row_threads: RowThreads) -> Worlds:
        """Draw worlds of a row by the models, and by the memory of its seats in earlier deals."""
        shown = 0.0 if self._memory is None else np.asarray(self._memory[row])
        return draw_worlds(tables, row, seed, self.models, count, row_threads, shown)


def search_player(policy: str | None = None, **options: Any) -> SearchPlayer:
    """Return the player of a name such as `search:noms@0,worlds=50`; for options and errors see `SearchPlayer`."""
    usage = "give search:POLICY, such as search:runs/first@0 or search:runs/first,worlds=50"
    if not policy:
        raise ValueError(f"the player search needs a trained policy: {usage}")
    try:
        player = load_player(policy)
    except ValueError as error:
        raise ValueError(f"search:{policy} needs a trained policy: {error}") from error
    if not isinstance(player, PolicyPlayer):
        raise ValueError(f"the player search needs a trained policy, and {policy} is none: {usage}")
    return SearchPlayer(player, **options)
