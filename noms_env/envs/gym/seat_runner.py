"""Play of many tables with one learner each, from one decision of the learners to the next.

One compiled pass (`batch_kernels.play_on_rows`) takes the learners' actions, deals, and plays for `random` players. It stops in
a row when another player must be asked (in one call for many rows) or when a deal is scored.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from noms_env.belief.determinize import sampled_tables
from noms_env.core.actions import NUM_ACTIONS, plain_array
from noms_env.engine import batch_kernels
from noms_env.engine.row_kernels import kernel_view
from noms_env.envs.batch import make_batch
from noms_env.envs.common import ILLEGAL_REWARD
from noms_env.envs.gym.seat_config import SeatConfig
from noms_env.envs.gym.seat_players import PlayerStreams, engine_streams, is_random, learner_seats
from noms_env.envs.results import deal_rewards, members
from noms_env.envs.table_groups import TableGroup
from noms_env.observation.layout import OBSERVATION_SIZE, PADDED_MASK_SIZE
from noms_env.players import Player
from noms_env.table import IllegalActionError

RANDOM, LEARNER = -1, -2
"""Numbers in place of a player's: the engine chooses at random; the learner."""
Seats = int | str | np.ndarray
"""The learner's seats: a seat or rule for all rows (`checked_seat`), or int64, shape (rows,)."""


class Results:
    """The results of a step, one row per table.

    Attributes:
        reward: the learner's, float64, shape (rows,).
        terminated: the episode is over, bool, shape (rows,).
        truncated: the match was cut short, bool, shape (rows,).
        scored: a deal ended, bool, shape (rows,).
        points: of all seats in the deals that ended, float64, shape (rows, seats).
        totals: of all seats in the match, float64, shape (rows, seats).
        winners: of an episode that is over, bool, shape (rows, seats).
        refusals: reasons why actions were illegal, by row.
    """

    def __init__(self, rows: int, seats: int) -> None:
        self.reward = np.zeros(rows)
        self.terminated, self.truncated, self.scored = np.zeros((3, rows), np.bool_)
        self.points, self.totals = np.zeros((2, rows, seats))
        self.winners = np.zeros((rows, seats), np.bool_)
        self.refusals: Mapping[int, str] = {}

    def clear(self, rows: np.ndarray) -> None:
        """Set the results of some rows to 0."""
        for array in (self.reward, self.terminated, self.truncated, self.scored, self.points):
            array[rows] = 0
        if self.refusals:
            self.refusals = {row: reason for row, reason in self.refusals.items() if row not in rows}


class SeatRunner:
    """Many tables with one learner each.

    Attributes:
        batch: the tables. Only its `tables`, its threads and, for players, its `observe` are used.
        learner: the learner's seat, int64, shape (rows,).
        is_over: the episode is over, bool, shape (rows,).
        results: of the last step.
        observation: of the learners, uint8, shape (rows, OBSERVATION_SIZE).
        streams: the random streams of the players, separate from the engine's.
        mask: legal actions of the learners, int8, shape (rows, NUM_ACTIONS), zeros where the episode is over; written in place.
    """

    def __init__(self, config: SeatConfig, rows: int, threads: int | None, new_arrays: bool) -> None:
        """Set up the tables without dealing.

        Args:
            config: the arguments of the environment.
            rows: number of tables.
            threads: of the engine, None for all cores.
            new_arrays: make a new `observation` array at each step instead of writing in place.

        Raises:
            ValueError: the number of tables or threads is not allowed.
        """
        rules = config.table.rules
        group = TableGroup(rules.variant.name, rules.seats, rules.options)
        self.batch = make_batch([group], rows, episode=config.episode, threads=threads)
        self.batch.tables.wanted_deal_size = config.table.row.wanted_deal_size
        self._fields = self.batch.tables.view(np.ndarray)  # a plain array: faster access to fields than a record array
        self._config = config
        self._seats = rules.seats
        self._new_arrays = new_arrays
        self._rows = np.arange(rows)
        self.streams = PlayerStreams(rows)
        self._engine_streams = np.ones(rows, np.int64)
        self._next = np.full(rows, batch_kernels.HOLD, np.int8)
        self._actions = np.zeros(rows, np.int64)
        self._observation = np.zeros((rows, OBSERVATION_SIZE // 8), np.int64)
        self._mask = np.zeros((rows, PADDED_MASK_SIZE // 8), np.int64)
        self.observation = self._observation.view(np.uint8)
        self.mask = self._mask.view(np.int8)[:, :NUM_ACTIONS]
        self.learner = np.zeros(rows, np.int64)
        self.is_over = np.ones(rows, np.bool_)
        self.is_interrupted = False
        self.results = Results(rows, rules.seats)
        self._players: list[Player] = [*{id(player): player for player in config.players if not is_random(player)}.values()]
        number_of = {id(player): number for number, player in enumerate(self._players)}
        numbers = [number_of.get(id(player), RANDOM) for player in config.players]
        self._player_at = np.array([LEARNER, *numbers])  # by places clockwise from the learner
        self._is_random = self._player_at == RANDOM

    def new_results(self, idle: np.ndarray) -> None:
        """Make new results and, with `new_arrays`, a new array of observations.

        Args:
            idle: rows that keep their observations, since they are not played in this step, int64, shape (m,).
        """
        self.results = Results(len(self._rows), self._seats)
        if self._new_arrays:
            self._observation = np.empty_like(self._observation)
            self.observation = self._observation.view(np.uint8)
            tables = kernel_view(self.batch.tables)
            batch_kernels.observe_some(tables, idle, self._observation, self._mask, self._mask, batch_kernels.WRITE_OBSERVATION)

    def begin(self, rows: np.ndarray, seeds: np.ndarray | None = None, seats: Seats | None = None) -> None:
        """Begin the next match in some rows, or the first match of a seed. Assign the seats and seed the random streams.

        Args:
            rows: int64, shape (m,).
            seeds: int64, shape (m,); -1 to keep the row's seed; None to keep all.
            seats: the learner's seats; None for the rule of the environment.
        """
        if len(rows) == 0:
            return
        current_seeds, matches = self._fields["seed"][rows], self._fields["match"][rows] + 1
        if seeds is None:
            seeds = current_seeds
        else:
            seeds, matches = np.where(seeds < 0, current_seeds, seeds), np.where(seeds < 0, matches, 0)
        self._fields["seed"][rows], self._fields["match"][rows], self._fields["table"][rows] = seeds, matches, 0
        rule = self._config.seat if seats is None else seats
        self.learner[rows] = rule[rows] if isinstance(rule, np.ndarray) else learner_seats(rule, self._seats, seeds, matches)
        self.streams.begin(rows, seeds, matches)
        self._engine_streams[rows] = engine_streams(seeds, matches)
        self.is_over[rows] = False
        self._next[rows] = batch_kernels.NEW_MATCH

    def act(self, actions: np.ndarray) -> None:
        """Store the learners' actions for `play_on`; ignore them in rows whose episode is over.

        Args:
            actions: int64, shape (rows,), legal.
        """
        np.copyto(self._actions, actions)
        self._next[:] = np.where(self.is_over, batch_kernels.HOLD, batch_kernels.ACT)

    def forfeit(self, rows: np.ndarray, actions: np.ndarray) -> None:
        """End the episodes of some rows after illegal actions.

        Args:
            rows: int64, shape (m,).
            actions: of all rows, int64, shape (rows,).
        """
        self.is_over[rows] = self.results.terminated[rows] = True
        self.results.reward[rows] = ILLEGAL_REWARD
        self.results.refusals = {int(row): self.batch.why_illegal(int(row), int(actions[row])) for row in rows}
        self.mask[rows] = 0

    def play_on(self, starting: np.ndarray, seats: Seats | None = None) -> None:
        """Play until in every row it is the learner's turn or the episode is over.

        Args:
            starting: rows in which an episode has just begun, int64, shape (m,). An episode without a choice for the learner
                (`skip_forced`) is skipped.
            seats: the learner's seats in these episodes; see `begin`.
        """
        self.is_interrupted = True
        self._play_until_held()
        while len(starting := starting[self.is_over[starting]]) > 0:
            self.results.clear(starting)
            self.begin(starting, seats=seats)
            self._play_until_held()
        self.is_interrupted = False

    def _play_until_held(self) -> None:
        rows = (self._next, self._actions, self.learner, self._is_random, self._engine_streams)
        seen = (self._observation, self._mask)
        while (self._next != batch_kernels.HOLD).any():
            self.batch._rows.run(batch_kernels.play_on_rows, *rows, self._config.skip_forced, *seen)
            self._score(np.flatnonzero(self._next == batch_kernels.SCORE))
            # Deal first, so that each call to a player has as many rows as possible.
            if self._players and not (self._next == batch_kernels.NEXT_DEAL).any():
                self._ask(np.flatnonzero(self._next == batch_kernels.ASK))

    def _score(self, rows: np.ndarray) -> None:
        if len(rows) == 0:
            return
        fields, results, n = self._fields, self.results, self._seats
        points, winners = fields["points"][rows, :n], fields["winners"][rows]
        over, truncated = fields["over"][rows] != 0, fields["truncated"][rows] != 0
        rewards = deal_rewards(self._config.reward, points, over, winners)
        results.reward[rows] += rewards[np.arange(len(rows)), self.learner[rows]]
        results.scored[rows] = True
        results.points[rows] += points
        results.totals[rows] = fields["totals"][rows, :n]
        results.terminated[rows], results.truncated[rows] = over & ~truncated, over & truncated
        results.winners[rows] = members(winners, n) & over[:, np.newaxis]
        self.is_over[rows] = over
        self._next[rows] = np.where(over, batch_kernels.HOLD, batch_kernels.NEXT_DEAL)

    def _ask(self, rows: np.ndarray) -> None:
        numbers = self._player_at[(self._fields["seat"][rows] - self.learner[rows]) % self._seats]
        for number, player in enumerate(self._players):
            player_rows = rows[numbers == number]
            if len(player_rows) > 0:
                self._actions[player_rows] = self._answers(player, player_rows)
        self._next[rows] = batch_kernels.ACT

    def _answers(self, player: Player, rows: np.ndarray) -> np.ndarray:
        batch = self.batch
        batch.observe(rows)
        tables = sampled_tables(batch.tables, rows, self.streams.draw(rows)) if player.wants_tables else None
        mask = batch.mask[rows]
        answers = plain_array(player.act(batch.observation[rows], mask, self.streams.draw(rows), tables=tables))
        if answers.shape != rows.shape or answers.dtype.kind not in "iu":
            raise TypeError(f"{player!r} must answer with {len(rows)} integers, not {answers.dtype} of shape {answers.shape}")
        answers = answers.astype(np.int64, copy=False)
        wrong = np.flatnonzero(is_illegal(mask, answers))
        if len(wrong) > 0:
            raise self.refusal(int(rows[wrong[0]]), int(answers[wrong[0]]))
        return answers

    def illegal(self, actions: np.ndarray) -> np.ndarray:
        """Return the rows with an illegal action whose episode is not over, int64, shape (m,)."""
        return np.flatnonzero(is_illegal(self.mask, actions) & ~self.is_over)

    def refusal(self, row: int, action: int) -> IllegalActionError:
        """Return the error for an illegal action in a row."""
        return IllegalActionError(f"table {row}: {self.batch.why_illegal(row, action)}")


def is_illegal(mask: np.ndarray, actions: np.ndarray) -> np.ndarray:
    """Return whether each action is illegal, bool, shape (m,).

    Args:
        mask: int8, shape (m, NUM_ACTIONS).
        actions: int64, shape (m,), of any value.
    """
    within = np.clip(actions, 0, NUM_ACTIONS - 1)
    return np.asarray((mask[np.arange(len(mask)), within] == 0) | (within != actions))
