"""One seat at each of thousands of tables, as a Gymnasium vector environment on the batch engine.

    envs = gymnasium.make_vec("noms_env:noms/down_up-v0", num_envs=4096, opponents="random")

Row i plays as `SeatEnv` does with seed + i: the same deals, observations, rewards and infos, whatever the number of rows and
threads, and whatever happens in other rows.

One compiled pass (`batch_kernels.play_on_rows`) takes the learners' actions, deals, and plays for `random` players. It stops in
a row when another player must be asked (in one call for many rows) or when a deal is scored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any, Literal, NoReturn, Unpack

import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from noms_env._threads import one_thread
from noms_env.belief.determinize import sampled_tables
from noms_env.core.actions import NUM_ACTIONS, brief, plain_array
from noms_env.core.chance import MAX_SEED, check_seed
from noms_env.engine import batch_kernels
from noms_env.engine.row_kernels import kernel_view
from noms_env.envs.batch import TableGroup, make_batch
from noms_env.envs.common import ILLEGAL_HINT, ILLEGAL_REWARD, POSITION_KEYS, Observation, frame
from noms_env.envs.gym.seat import RENDER_FPS
from noms_env.envs.gym.seat_config import (
    PlayerStreams,
    SeatArguments,
    SeatConfig,
    checked_seat,
    engine_streams,
    is_random,
    learner_seats,
)
from noms_env.envs.results import deal_rewards, members
from noms_env.envs.validation import RENDER_MODES as ALL_RENDER_MODES
from noms_env.envs.validation import checked_actions, checked_flag, checked_names, checked_options, checked_render_mode
from noms_env.observation.layout import OBSERVATION_SIZE, PADDED_MASK_SIZE
from noms_env.players import Player
from noms_env.table import IllegalActionError

RENDER_MODES = tuple(mode for mode in ALL_RENDER_MODES if mode != "human")
Step = tuple[Observation, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]

RESET_ALL = "call reset for all rows first"


class SeatVectorEnv(VectorEnv[Observation, np.ndarray, np.ndarray]):
    """One seat at each of many tables; players have the other seats and answer many rows in one call.

    All results equal those of Gymnasium's `SyncVectorEnv` with one `SeatEnv` per row. Three modes of autoreset:

    * `NEXT_STEP`: the step after the end of an episode begins the next one and ignores the action; its reward is 0.
    * `SAME_STEP`: the step that ends an episode begins the next one; the infos have its end in `final_obs` and `final_info`.
    * `DISABLED`: rows that are over wait for `reset(options={"reset_mask": ...})`.

    A row whose episode is over has a mask of zeros. Rewards are float64, shape (num_envs,). The infos have the keys of
    `SeatEnv`, each with an array of one entry per row. The key with `_` before it is the bool mask of the rows with an entry.

    Args:
        num_envs: number of tables.
        variant: name of the game.
        render_mode: `ansi` or, with the extra `render`, `rgb_array`; `render` returns a frame for each row.
        autoreset_mode: an `AutoresetMode`, or its value: `NextStep`, `SameStep` or `Disabled`.
        threads: number of threads of the engine; None for all cores. Results do not depend on it.
        copy: return new arrays with each call. With False, masks and observations of bytes are overwritten by the next call,
            which saves a tenth of the time.
        **arguments: the other arguments of `SeatEnv`, for every row. With `illegal_action="terminate"` only the row with the
            illegal action ends. `opponents="random"` is fastest, since the engine itself chooses.

    Attributes:
        feature_layout: layout of the features (`FeatureLayout`); None with `observation="bytes"`.

    Raises:
        ValueError: an argument is not allowed; the message lists the allowed values. An unknown keyword is also a TypeError.
        gymnasium.error.DependencyNotInstalled: `render_mode` is `rgb_array`, and the extra `render` is not installed.
    """

    metadata: dict[str, Any]

    def __init__(
        self,
        num_envs: int,
        variant: str,
        *,
        render_mode: Literal["ansi", "rgb_array"] | None = None,
        autoreset_mode: Literal["NextStep", "SameStep", "Disabled"] | AutoresetMode = AutoresetMode.NEXT_STEP,
        threads: int | None = 1,
        copy: bool = True,
        **arguments: Unpack[SeatArguments],
    ) -> None:
        checked_names(variant, arguments, SeatVectorEnv.__init__, SeatConfig.__init__)
        self._config = SeatConfig(variant, **arguments)
        self.autoreset_mode = _checked_mode(autoreset_mode)
        self._copies = checked_flag("copy", copy)
        self.render_mode = checked_render_mode(render_mode, RENDER_MODES)
        self.metadata = {"render_modes": list(RENDER_MODES), "render_fps": RENDER_FPS, "autoreset_mode": self.autoreset_mode}
        self.feature_layout = self._config.feature_layout
        in_new_arrays = self._copies and self.feature_layout is None  # features are new arrays anyway
        self._runner = SeatRunner(self._config, num_envs, threads, in_new_arrays)
        self.num_envs = len(self._runner.is_over)
        self._is_seeded = False
        self._lock = Lock()
        self.single_observation_space = self._config.space
        self.single_action_space = spaces.Discrete(NUM_ACTIONS)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a SeatVectorEnv cannot be copied or pickled: make another with the same arguments, and reset it with the same seed"
        )

    def __repr__(self) -> str:
        return f"<SeatVectorEnv of {self.num_envs} tables, {self._config.summary}>"

    @one_thread
    def reset(
        self,
        *,
        seed: int | np.integer[Any] | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode in each row, and play up to the learner's first decision.

        Args:
            seed: one seed, so that row i has seed + i, or a list with a seed for each row. None starts the next match of the
                row's seed; if there is none yet, a seed is drawn from `np_random`.
            options: `reset_mask`, bool of shape (num_envs,): reset these rows only. `seat`: the learner's seat in these
                episodes, one seat or one for each row.

        Returns:
            Observations of all rows, and infos of the rows that were reset.

        Raises:
            ValueError: an option is unknown, or a seed, a seat or the mask is not possible; nothing has changed.
            TypeError: `reset_mask` is not an array of booleans.
        """
        checked = _checked_options(options)
        rows = np.flatnonzero(self._reset_mask(checked))
        seats = self._read_seats(checked)
        seeds = self._read_seeds(seed)[rows]
        super().reset(seed=int(seed) if isinstance(seed, int | np.integer) else None)
        if not self._is_seeded:
            drawn = self.np_random.integers(MAX_SEED, endpoint=True, size=len(rows))
            seeds = np.where(seeds < 0, drawn, seeds)
            self._is_seeded = True
        started = np.zeros(self.num_envs, np.bool_)
        started[rows] = True
        runner = self._runner
        runner.new_results(idle=np.flatnonzero(~started))
        runner.begin(rows, seeds, seats)
        runner.play_on(rows, seats)
        return self._seen(), self._infos(started)

    @one_thread
    def step(self, actions: np.ndarray) -> Step:
        """Take each learner's action, then those of the others until its next turn or the end of its episode.

        Args:
            actions: integers, shape (num_envs,). With `NEXT_STEP`, rows whose episode ended in the last step ignore the action
                and begin the next episode.

        Returns:
            Observations, rewards (float64), terminated (bool), truncated (bool: the match was cut short), infos.

        Raises:
            ValueError: `actions` are not num_envs integers.
            IllegalActionError: an action is not legal, with `illegal_action="raise"`; no table has changed.
            gymnasium.error.ResetNeeded: there are no episodes yet, some are over with `DISABLED`, or Ctrl-C or an error of a
                player interrupted the last step.
        """
        if not self._is_seeded:
            raise ResetNeeded("there are no episodes yet: call reset first")
        runner = self._runner
        if runner.is_interrupted:
            raise ResetNeeded(f"the last step was interrupted, and the tables stand where it ended: {RESET_ALL}")
        if self.autoreset_mode is AutoresetMode.DISABLED and runner.is_over.any():
            over = ", ".join(map(str, np.flatnonzero(runner.is_over)[:8]))
            raise ResetNeeded(
                f"the episodes of rows {over} are over; with autoreset disabled, reset them with options['reset_mask']"
            )
        numbers = checked_actions(actions, self.num_envs)
        refused, starting = runner.illegal(numbers), np.flatnonzero(runner.is_over)
        if len(refused) > 0 and not self._config.ends_if_illegal:
            raise IllegalActionError(f"{runner.refusal(int(refused[0]), int(numbers[refused[0]]))}; {ILLEGAL_HINT}")
        runner.new_results(idle=refused)
        runner.forfeit(refused, numbers)
        runner.act(numbers)
        runner.begin(starting)
        runner.play_on(starting)
        runner.results.reward[starting] = 0.0  # even if a deal was scored before the learner's first decision
        return self._results()

    def action_masks(self) -> np.ndarray:
        """Return the legal actions of the learners after the last `reset` or `step`: bool, shape (num_envs, NUM_ACTIONS).

        All False in rows whose episode is over.
        """
        return np.asarray(self._runner.mask != 0)

    def render(self) -> tuple[Any, ...] | None:
        """Return a frame for each row with its learner's view: text, or uint8 (height, width, 3)."""
        if self.render_mode is None:
            return None
        if not self._is_seeded:
            raise ResetNeeded("nothing has been dealt yet: call reset first")
        batch, seats = self._runner.batch, self._runner.learner.tolist()
        return tuple(frame(batch.table(row), seat, self.render_mode) for row, seat in enumerate(seats))

    def _reset_mask(self, options: Mapping[str, Any]) -> np.ndarray:
        mask = options.get("reset_mask")
        if mask is None:
            return np.ones(self.num_envs, np.bool_)
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_:
            raise TypeError(f"options['reset_mask'] must be an array of booleans, not {brief(mask)}")
        if mask.shape != (self.num_envs,) or not mask.any():
            shown = f"shape {mask.shape} with {mask.sum()} rows"
            raise ValueError(f"options['reset_mask'] must have shape ({self.num_envs},) and select a row, not {shown}")
        if not self._is_seeded and not mask.all():
            raise ResetNeeded("there are no episodes yet: the first reset must select all rows")
        if self._runner.is_interrupted and not mask.all():
            raise ResetNeeded(f"the last step was interrupted: {RESET_ALL}")
        return mask

    def _read_seats(self, options: Mapping[str, Any]) -> Seats:
        asked = options.get("seat", self._config.seat)
        seats = plain_array(asked)
        if seats.ndim == 0:
            return checked_seat(asked, self._config.table.seats)
        if seats.shape != (self.num_envs,):
            raise ValueError(f"seat must be one seat or {self.num_envs} of them, not {brief(asked)}")
        if seats.dtype.kind not in "iu":
            raise ValueError(f"seats of rows must be whole numbers, not {brief(asked)}")
        return np.array([checked_seat(seat, self._config.table.seats) for seat in seats], np.int64)

    def _read_seeds(self, seed: Any) -> np.ndarray:
        """Return a seed for each row, int64, shape (num_envs,); -1 for None."""
        if seed is None:
            return np.full(self.num_envs, -1, np.int64)
        seeds = plain_array(seed)
        if seeds.ndim == 0:
            check_seed(check_seed(seed) + self.num_envs - 1)
            return np.asarray(check_seed(seed) + np.arange(self.num_envs))
        if len(seeds) != self.num_envs:
            raise ValueError(f"seed must be one seed or {self.num_envs} of them, not {len(seeds)}")
        return np.array([-1 if number is None else check_seed(number) for number in seed], np.int64)

    def _results(self) -> Step:
        """Return the results of a step; with `SAME_STEP` begin the next episodes first."""
        runner, results = self._runner, self._runner.results
        arrays = (results.reward, results.terminated, results.truncated)
        over = np.flatnonzero(runner.is_over)
        final = {}
        if self.autoreset_mode is AutoresetMode.SAME_STEP and len(over) > 0:
            arrays = (results.reward.copy(), results.terminated.copy(), results.truncated.copy())
            final = self._final(over)
            results.clear(over)
            runner.begin(over)
            runner.play_on(over)
        return (self._seen(), *arrays, {**self._infos(np.ones(self.num_envs, np.bool_)), **final})

    def _final(self, rows: np.ndarray) -> dict[str, Any]:
        is_over = self._runner.is_over.copy()
        final_obs = np.full(self.num_envs, None, object)
        for row, vector, mask in zip(rows, self._runner.observation[rows], self._runner.mask[rows], strict=True):
            final_obs[row] = self._config.observation(vector, mask)
        infos = {"final_obs": final_obs, "final_info": self._infos(is_over)}
        return {**infos, **{f"_{key}": is_over.copy() for key in infos}}

    def _seen(self) -> Observation:
        mask = self._runner.mask
        return self._config.observation(self._runner.observation, mask.copy() if self._copies else mask)

    def _infos(self, rows: np.ndarray) -> dict[str, Any]:
        """Return the infos of some rows (bool, shape (num_envs,)), in the form of `SyncVectorEnv`."""
        runner, results = self._runner, self._runner.results
        scored, ended = results.scored & rows, results.scored & rows & runner.is_over
        infos: dict[str, tuple[np.ndarray, np.ndarray]] = {"seat": (runner.learner, rows)}
        if scored.any():
            infos |= {"points": (results.points, scored), "totals": (results.totals, scored)}
        if ended.any():
            infos["winners"] = (results.winners, ended)
        if results.refusals:
            reasons = np.full(self.num_envs, None, object)
            reasons[list(results.refusals)] = list(results.refusals.values())
            infos["illegal_action"] = (reasons, np.isin(np.arange(self.num_envs), list(results.refusals)))
        if self._config.mask_in != "observation":
            infos["action_mask"] = (runner.mask, rows)
        shown = {key: _only(values, where) for key, (values, where) in infos.items()}
        return {**shown, **{f"_{key}": where.copy() for key, (_, where) in infos.items()}}


def _checked_options(options: Any) -> dict[str, Any]:
    positions = [key for key in POSITION_KEYS if isinstance(options, Mapping) and key in options]
    if positions:
        raise ValueError(f"{positions[0]} sets up a position: use SeatEnv, since SeatVectorEnv sets up none")
    return checked_options(options, ("reset_mask", "seat"))


def _checked_mode(mode: str | AutoresetMode) -> AutoresetMode:
    try:
        return AutoresetMode(mode)
    except ValueError:
        words = " or ".join(repr(allowed.value) for allowed in AutoresetMode)
        raise ValueError(f"autoreset_mode must be {words}, not {brief(mode)}") from None


def _only(values: np.ndarray, where: np.ndarray) -> np.ndarray:
    """Return a copy of an array with 0 in all other rows (None in an array of objects)."""
    empty: np.ndarray = np.full(values.shape, None, object) if values.dtype == object else np.zeros(values.shape, values.dtype)
    empty[where] = values[where]
    return empty


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
        """Set up the tables without dealing; with `new_arrays` each step makes a new `observation` array.

        Raises:
            ValueError: the number of tables (`rows`) or threads is not allowed.
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

        The rows `idle`, int64, shape (m,), keep their observations, since they are not played in this step.
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
        """Store the learners' legal actions, int64, shape (rows,), for `play_on`; rows that are over ignore theirs."""
        np.copyto(self._actions, actions)
        self._next[:] = np.where(self.is_over, batch_kernels.HOLD, batch_kernels.ACT)

    def forfeit(self, rows: np.ndarray, actions: np.ndarray) -> None:
        """End the episodes of some rows after illegal actions; `actions` are those of all rows, int64."""
        self.is_over[rows] = self.results.terminated[rows] = True
        self.results.reward[rows] = ILLEGAL_REWARD
        self.results.refusals = {int(row): self.batch.why_illegal(int(row), int(actions[row])) for row in rows}
        self.mask[rows] = 0

    def play_on(self, starting: np.ndarray, seats: Seats | None = None) -> None:
        """Play until in every row it is the learner's turn or the episode is over.

        In the rows `starting`, int64, shape (m,), an episode has just begun, with the learner at these seats (`begin`). If it
        leaves the learner no choice (`skip_forced`), the next one begins.
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
    """Return whether each action, int64, shape (m,), of any value, is illegal under its row of a mask: bool, shape (m,)."""
    within = np.clip(actions, 0, NUM_ACTIONS - 1)
    return np.asarray((mask[np.arange(len(mask)), within] == 0) | (within != actions))
