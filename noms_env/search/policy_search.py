"""The player that searches on a trained policy.

For the seat to act *worlds* are dealt from what it knows (`noms_env.belief`): the cards that it cannot see. In each of them
actions are tried, the same worlds for all, and the deal is played to its end by the policy (`rollouts`). What a deal comes to
is the seat's points less the mean of the others' points, not multiplied, as for the player `pimc`. Which actions go on being
tried, and what is taken, follows from these means and from the policy (`findings`). The worlds are uniform and the others play
like the policy, or both follow from what the others did (`beliefs`).

Forced actions are not thought about, and of cards that come to the same one is tried, the seat's own and those of others in
a rollout alike. All rows of a call are searched together, so that the network sees many rows at once.

In a deal of Noms after a pass-out the policy plays without a search: the cards were sorted, which it has learnt to use, and the
worlds do not know.
"""

from __future__ import annotations

import math
import time as clock
from collections import deque
from copy import copy
from typing import Any, ClassVar

import numpy as np

from noms_env._threads import ONE_THREAD, RowThreads
from noms_env.core.chance import MAX_SEED
from noms_env.core.state import MAX_SEATS
from noms_env.engine.row_kernels import kernel_view
from noms_env.players.protocol import NOBODY, ActionValue, Targets, as_batch, row_seeds
from noms_env.players.registry import load_player
from noms_env.policy.player import PolicyPlayer
from noms_env.search.flat_mc import MOST_WORLDS, checked_number
from noms_env.search.opponent_models import Model, draw_worlds, policy_model, styles_shown, thumb_model
from noms_env.search.rollouts import Task, candidates_of, play_out
from noms_env.search.seq_halving import Findings, Rounds
from noms_env.search.worlds import Worlds, are_sorted
from noms_env.variants import Rules

UNIFORM, MIXTURE = "uniform", "mixture"
USUAL_WORLDS = 24
USUAL_TEMPERATURE = 0.25
TOGETHER = 1024
"""Deals that are played out side by side: more would not stay in the cache."""


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
        self.opponents, self.models = opponents, models_of(opponents, policy)
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
    def policies(self) -> tuple[PolicyPlayer | None, ...]:
        """Those that play the worlds out: the own one, and those of the models; None for rules of thumb."""
        return self.policy, *(model.policy for model in self.models)

    def recall(self, tables: np.recarray) -> np.ndarray:
        """See `noms_env.players.Remembers`: how well each model explains what each seat did, (n, models, MAX_SEATS).

        Of one model there is nothing to learn.
        """
        if len(self.models) < 2 or len(tables) == 0:
            return np.zeros((len(tables), len(self.models), MAX_SEATS))
        return styles_shown(kernel_view(tables), self.models).transpose(2, 0, 1)

    def remembered(self, row: int) -> np.ndarray | float:
        """What is known of the seats of a row from the deals before; 0 for nothing."""
        return 0.0 if self._memory is None else np.asarray(self._memory[row])

    def with_memory(self, memory: np.ndarray) -> SearchPlayer:
        """See `noms_env.players.Remembers`."""
        twin = copy(self)
        twin._memory = memory
        return twin

    @as_batch
    def act(
        self, observation: np.ndarray, mask: np.ndarray, rng: np.random.Generator, *, tables: np.recarray | None = None
    ) -> np.ndarray:
        """Choose an action in each row; see `Player.act`.

        Raises:
            ValueError: arrays of another shape or type, or a table with other rules than the policy was trained for.
        """
        assert tables is not None, "as_batch sees to it"
        return self.targets(observation, mask, rng, tables=tables).actions

    def targets(self, observation: np.ndarray, mask: np.ndarray, rng: np.random.Generator, *, tables: np.recarray) -> Targets:
        """See `noms_env.players.TellsTargets`. Of actions that come to the same the most probable one stands for all."""
        seeds = row_seeds(rng, len(mask))
        legal = mask != 0
        actions = np.where(legal.any(axis=1), legal.argmax(axis=1), NOBODY)
        policy, value = (
            np.where(np.count_nonzero(legal, axis=1)[:, None] == 1, legal, 0).astype(np.float32),
            np.full(len(mask), np.nan),
        )
        for found in self.search(observation, mask, seeds, tables):
            actions[found.row] = found.choose(self.policy.temperature)
            policy[found.row, found.members] = found.policy
            if found.worlds > 0:
                value[found.row] = found.policy @ found.means
        return Targets(actions, policy, value.astype(np.float32))

    def values(
        self, observation: np.ndarray, mask: np.ndarray, rng: np.random.Generator, *, tables: np.recarray
    ) -> list[ActionValue]:
        """See `noms_env.players.TellsValues`; empty also where there was no time."""
        found = self.search(observation[np.newaxis], mask[np.newaxis], row_seeds(rng, 1), tables)
        if not found or found[0].worlds == 0:
            return []
        told = zip(found[0].members.tolist(), found[0].means.tolist(), found[0].errors.tolist(), strict=True)
        return sorted((ActionValue(*one) for one in told), key=lambda one: -one.mean)

    def search(self, observation: np.ndarray, mask: np.ndarray, seeds: np.ndarray, tables: np.recarray) -> list[Findings]:
        """What is found out about the rows that have a choice; see `act` for the arguments, and `row_seeds` for `seeds`."""
        started = clock.perf_counter()
        chances = self.policy.probabilities(observation, mask, temperature=1)
        rows, view = np.flatnonzero(np.count_nonzero(mask, axis=1) > 1).tolist(), kernel_view(tables)
        rounds, found = Rounds(self.worlds, self.time is not None), list[Findings]()
        for row in rows:
            candidates = candidates_of(view, row, chances[row])
            found.append(Findings(row, int(seeds[row]), candidates, int(tables.n_seats[row]), self.temperature, rounds))
        is_sorted = are_sorted(view)
        open_rows = deque(one for one in found if one.left > 0 and not is_sorted[one.row])
        self._search_rows(view, open_rows, math.inf if self.time is None else started + self.time / 1000 * len(open_rows))
        return found

    def _search_rows(self, tables: np.ndarray, queue: deque[Findings], deadline: float) -> None:
        """Try the actions of some rows in all worlds, or in as many as there is time for."""
        pace, drawn = 0.0, dict[int, Worlds]()  # seconds for a rollout; worlds of a row that are not played yet
        while queue:
            started = clock.perf_counter()
            turns = self._next_turns(queue, drawn, min(TOGETHER, (deadline - started) / pace) if pace else TOGETHER)
            self._draw(tables, [one for one in turns if one[0].row not in drawn], drawn, deadline)
            if not turns or clock.perf_counter() > deadline:
                return
            tasks = list[Task]()
            for one, worlds in turns:
                mine = drawn.pop(one.row)
                tasks.append(Task(mine.part(0, worlds), one.actions[one.tried]))
                if len(mine.draws) > worlds:
                    drawn[one.row] = mine.part(worlds, None)
            values = play_out(tasks, self.policies, deadline, self._row_threads)
            if values is None:
                return
            pace = (clock.perf_counter() - started) / sum(task.rollouts for task in tasks)
            for task_values in values:
                one = queue.popleft()
                one.add(task_values)
                if one.left > 0:
                    queue.append(one)

    def _next_turns(self, queue: deque[Findings], drawn: dict[int, Worlds], room: float) -> list[tuple[Findings, int]]:
        """The first rows of the queue and the worlds that are played in each, up to so many rollouts.

        Without a limit of time the worlds of a row follow from it alone, so that other rows do not matter.
        """
        turns = list[tuple[Findings, int]]()
        for one in queue:
            tried = len(one.tried)
            worlds = min(one.left, TOGETHER // tried, len(drawn[one.row].draws) if one.row in drawn else TOGETHER)
            if self.time is not None:
                worlds = min(worlds, int(room) // tried)
            if worlds < 1 or worlds * tried > room:
                break
            turns.append((one, worlds))
            room -= worlds * tried
        return turns

    def _draw(self, tables: np.ndarray, turns: list[tuple[Findings, int]], drawn: dict[int, Worlds], deadline: float) -> None:
        """Draw worlds for some rows: for all rounds at once, but where the time may end before."""

        def draw(first: int, end: int, row_threads: RowThreads) -> None:
            for one, worlds in turns[first:end]:
                count = min(one.to_come, TOGETHER) if self.time is None else worlds
                if clock.perf_counter() <= deadline:
                    seed = (one.seed + one.worlds) & MAX_SEED
                    shown = self.remembered(one.row)
                    drawn[one.row] = draw_worlds(tables, one.row, seed, self.models, count, row_threads, shown)

        if len(turns) < self._row_threads.threads:
            draw(0, len(turns), self._row_threads)
        else:
            self._row_threads.run(len(turns), lambda first, end, _part: draw(first, end, ONE_THREAD))


def models_of(opponents: str, policy: PolicyPlayer) -> list[Model]:
    """The models of the others that a word stands for; none for `uniform`.

    Raises:
        ValueError: it is no such word, and no policy for the same games has that name.
    """
    own = policy_model(policy)
    words = {UNIFORM: [], "policy": [own], "thumb": [thumb_model()], MIXTURE: [own, thumb_model()]}
    if opponents in words:
        return words[opponents]
    try:
        other = load_player(opponents)
    except ValueError as error:
        raise ValueError(f"opponents must be {', '.join(words)}, or a policy: {error}") from None
    if not isinstance(other, PolicyPlayer) or not set(policy.rule_sets) <= set(other.rule_sets):
        raise ValueError(f"opponents must be {', '.join(words)}, or a policy for the same games, which {opponents} is not")
    if other.temperature != 1:
        raise ValueError(f"opponents are taken to draw their actions: {opponents.rpartition('@')[0]}, and not {opponents}")
    return [policy_model(other)]


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
