"""The player that searches on a trained policy.

For the seat to act *worlds* are dealt from what it knows (`worlds`): the cards that it cannot see. In each of them candidates
are tried, the same worlds for all, and the deal is played to its end by the policy (`rollouts.play_tasks`). The value of a deal
is the seat's points less the mean of the others' points, not multiplied, as for the player `pimc`. Which candidates go on being
tried, and what is taken, follows from these values and from the policy (`seq_halving`). The worlds are uniform and the others
play like the policy, or both follow from what the others did (`opponent_models`).

Forced actions are not thought about, and of cards that come to the same one is tried, the seat's own and those of others in
a rollout alike. All rows of a call are searched together, so that the network sees many rows at once.

In a deal of Noms after a pass-out the policy plays without a search: the cards were sorted, which it has learnt to use, and the
worlds do not know.

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
from noms_env.search.pimc import MOST_WORLDS, checked_number
from noms_env.search.rollouts import play_tasks
from noms_env.search.seq_halving import RootStats
from noms_env.search.worlds import Worlds, are_sorted
from noms_env.variants import Rules

USUAL_WORLDS = 24
USUAL_TEMPERATURE = 0.25
TOGETHER = 1024
"""Deals that are played out side by side: more would not stay in the cache."""
PART, STEP = 256, 1_000_003
"""Of `SearchPlayer.outcomes`: worlds that are drawn together, and the difference between the seeds of two parts."""


class SearchPlayer:
    """Searches on a policy: see the module. It changes nothing of itself, so that several threads may ask it.

    Attributes:
        policy: that plays the worlds out. Its own temperature is that of the choice: 0 takes the best action, and 1 draws.
        worlds: in which an action is tried, on the mean of the actions; the promising ones are tried in more than the others.
        time: milliseconds for a decision, on the mean of those that are asked for at once; None for no limit.
        opponents: `uniform`, or the model of the others, by which worlds are weighted and played out.
        models: what that word stands for.
        temperature: of the update, in standard errors; 0 takes the action with the best mean.
        reward: what it plays for: points less the mean of the others'.
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
        """Set up the player.

        Args:
            policy: see above.
            worlds: see above, 1 to 10000; 24 where neither worlds nor time are given, 10000 where only time is.
            time: see above. With it the answer depends on the machine.
            opponents: see above: `uniform`, `policy`, `thumb`, `mixture`, or the name of a policy.
            temperature: see above, from 0 on.
            threads: that share the work of a call, 1 to 64; what is chosen does not depend on it, but for a limit of time.

        Raises:
            ValueError: one of the numbers is out of range, or there is no such model.
        """
        if time is not None and not 0 < time < math.inf:
            raise ValueError(f"time must be a number of milliseconds above 0, not {time!r}")
        if not 0 <= temperature < math.inf:
            raise ValueError(f"temperature must be a number from 0 on, not {temperature!r}")
        usual = USUAL_WORLDS if time is None else MOST_WORLDS
        self.policy, self.time, self.temperature = policy, time, float(temperature)
        self.opponents, self.models = opponents, load_models(opponents, policy)
        self.worlds = checked_number("worlds", usual if worlds is None else worlds, MOST_WORLDS)
        self._row_threads = RowThreads(checked_number("threads", threads, 64))
        self._memory: np.ndarray | None = None

    def __repr__(self) -> str:
        limit = "" if self.time is None else f", {self.time:g} ms"
        return f"<SearchPlayer: {self.worlds} worlds{limit}, on {self.policy!r}>"

    @property
    def rule_sets(self) -> tuple[Rules, ...]:
        """The rules of the tables that it can sit at: those of the policy."""
        return self.policy.rule_sets

    @property
    def policies(self) -> tuple[Model, ...]:
        """Those that play the worlds out: the own policy, and the models."""
        return self.policy, *self.models

    def recall(self, tables: np.recarray) -> np.ndarray:
        """See `noms_env.players.Remembers`: how well each model explains what each seat did, (n, models, MAX_SEATS).

        Of one model there is nothing to learn.
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
        """Choose an action in each row; see `Player.act`.

        Raises:
            ValueError: arrays of another shape or type, or a table with other rules than the policy was trained for.
        """
        assert tables is not None, "as_batch sees to it"
        return self.targets(observation, mask, seeds, tables=tables).action

    def targets(self, observation: np.ndarray, mask: np.ndarray, seeds: Seeds, *, tables: np.recarray) -> SearchOutput:
        """See `noms_env.players.TellsTargets`. Of actions that come to the same the most probable one stands for all."""
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
        """See `noms_env.players.TellsValues`; empty also where there was no time."""
        for stats in self.search(observation[np.newaxis], mask[np.newaxis], draw_seeds(seed, 1), tables):
            if stats.worlds > 0:
                columns = (stats.members.tolist(), stats.means.tolist(), stats.errors.tolist())
                return sorted(map(ActionValue, *columns), key=lambda value: -value.mean)
        return []

    def outcomes(self, tables: np.ndarray, row: int, seed: int, actions: np.ndarray, worlds: int) -> np.ndarray:
        """The values of given actions in many worlds, all of them in the same: to compare actions, not to choose one quickly.

        Args:
            tables: as `kernel_view` makes them.
            row: where a seat is to act.
            seed: 0 to 2**63 - 1: all that is random follows from it.
            actions: legal ones, int64, shape (n,).
            worlds: how many; the player's own number does not matter.

        Returns:
            Points of the seat to act less the mean of the others', float64, shape (worlds, n).
        """
        parts = list[np.ndarray]()
        for part, first in enumerate(range(0, worlds, PART)):
            begin = (seed + STEP * (1 + part)) & MAX_SEED
            drawn = self._draw_worlds(tables, row, begin, min(PART, worlds - first), self._row_threads)
            parts += play_tasks([(drawn, actions)], self.policies, math.inf, self._row_threads) or []
        return np.asarray(np.concatenate(parts) / units(int(tables[row]["n_seats"])))

    def search(self, observation: np.ndarray, mask: np.ndarray, seeds: np.ndarray, tables: np.recarray) -> list[RootStats]:
        """The statistics of the rows that have a choice; see `act` for the arguments."""
        started = clock.perf_counter()
        probabilities = self.policy.probabilities(observation, mask, temperature=1)
        view, all_stats = kernel_view(tables), list[RootStats]()
        for row in np.flatnonzero(np.count_nonzero(mask, axis=1) > 1).tolist():
            candidates, seats = policy_candidates(view, row, probabilities[row]), int(tables.n_seats[row])
            limits = (self.temperature, self.worlds, self.time is not None)
            all_stats.append(RootStats(row, int(seeds[row]), candidates, seats, *limits))
        is_sorted = are_sorted(view)
        queue = deque(stats for stats in all_stats if stats.left > 0 and not is_sorted[stats.row])
        self._search_rows(view, queue, math.inf if self.time is None else started + self.time / 1000 * len(queue))
        return all_stats

    def _search_rows(self, tables: np.ndarray, queue: deque[RootStats], deadline: float) -> None:
        """Try the candidates of some rows in all worlds, or in as many as there is time for."""
        pace, drawn = 0.0, dict[int, Worlds]()  # seconds for a rollout; worlds of a row that are not played yet
        while queue:
            started = clock.perf_counter()
            turns = self._next_turns(queue, drawn, min(TOGETHER, (deadline - started) / pace) if pace else TOGETHER)
            self._draw(tables, [turn for turn in turns if turn[0].row not in drawn], drawn, deadline)
            if not turns or clock.perf_counter() > deadline:
                return
            tasks = list[tuple[Worlds, np.ndarray]]()
            for stats, worlds in turns:
                own = drawn.pop(stats.row)
                tasks.append((own.part(0, worlds), stats.actions[stats.tried]))
                if len(own.draws) > worlds:
                    drawn[stats.row] = own.part(worlds, None)
            values = play_tasks(tasks, self.policies, deadline, self._row_threads)
            if values is None:
                return
            pace = (clock.perf_counter() - started) / sum(task_values.size for task_values in values)
            for task_values in values:
                stats = queue.popleft()
                stats.add(task_values)
                if stats.left > 0:
                    queue.append(stats)

    def _next_turns(self, queue: deque[RootStats], drawn: dict[int, Worlds], room: float) -> list[tuple[RootStats, int]]:
        """The first rows of the queue and the worlds that are played in each, up to so many rollouts.

        Without a limit of time the worlds of a row follow from it alone, so that other rows do not matter.
        """
        turns = list[tuple[RootStats, int]]()
        for stats in queue:
            tried = len(stats.tried)
            worlds = min(stats.left, TOGETHER // tried, len(drawn[stats.row].draws) if stats.row in drawn else TOGETHER)
            if self.time is not None:
                worlds = min(worlds, int(room) // tried)
            if worlds < 1 or worlds * tried > room:
                break
            turns.append((stats, worlds))
            room -= worlds * tried
        return turns

    def _draw(self, tables: np.ndarray, turns: list[tuple[RootStats, int]], drawn: dict[int, Worlds], deadline: float) -> None:
        """Draw worlds for some rows: for all rounds at once, but where the time may end before."""

        def draw(first: int, end: int, row_threads: RowThreads) -> None:
            for stats, worlds in turns[first:end]:
                count = min(stats.to_come, TOGETHER) if self.time is None else worlds
                if clock.perf_counter() <= deadline:
                    seed = (stats.seed + stats.worlds) & MAX_SEED
                    drawn[stats.row] = self._draw_worlds(tables, stats.row, seed, count, row_threads)

        if len(turns) < self._row_threads.threads:
            draw(0, len(turns), self._row_threads)
        else:
            self._row_threads.run(len(turns), lambda first, end, _part: draw(first, end, ONE_THREAD))

    def _draw_worlds(self, tables: np.ndarray, row: int, seed: int, count: int, row_threads: RowThreads) -> Worlds:
        """Worlds of a row by the models, and by what is known of the seats from the deals before."""
        shown = 0.0 if self._memory is None else np.asarray(self._memory[row])
        return draw_worlds(tables, row, seed, self.models, count, row_threads, shown)


def search_player(policy: str | None = None, **options: Any) -> SearchPlayer:
    """The player of a name such as `search:noms@0,worlds=50`; see `SearchPlayer` for the options.

    Raises:
        ValueError: there is no such policy, or an option is out of range.
    """
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
