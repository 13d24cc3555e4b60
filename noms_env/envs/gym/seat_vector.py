"""One seat at each of thousands of tables, as a Gymnasium vector environment on the batch engine.

    envs = gymnasium.make_vec("noms_env:noms/down_up-v0", num_envs=4096, opponents="random")

Row i plays as `SeatEnv` does with seed + i: the same deals, observations, rewards and infos, whatever the number of rows and
threads, and whatever happens in other rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any, Literal, Unpack

import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from noms_env._threads import one_thread
from noms_env.core.actions import NUM_ACTIONS, brief, plain_array
from noms_env.core.chance import MAX_SEED, check_seed
from noms_env.envs.common import ILLEGAL_HINT, POSITION_KEYS, Observation, frame, notebook_rows
from noms_env.envs.gym.seat import RENDER_FPS
from noms_env.envs.gym.seat_config import SeatArguments, SeatConfig
from noms_env.envs.gym.seat_players import checked_seat
from noms_env.envs.gym.seat_runner import SeatRunner, Seats
from noms_env.envs.validation import RENDER_MODES as ALL_RENDER_MODES
from noms_env.envs.validation import checked_actions, checked_flag, checked_names, checked_options, checked_render_mode
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

    def __repr__(self) -> str:
        return f"<SeatVectorEnv of {self.num_envs} tables, {self._config.summary}>"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        """Return the notebook view: rules, arguments and the form of observations."""
        rules, space = self._config.table.rules, self.observation_space
        vector = space["observation"] if isinstance(space, spaces.Dict) else space
        rows = {"tables": f"{self.num_envs:,} of {rules.variant.name} ({rules.summary})", **self._config.chosen}
        rows |= {"observation": f"{rows.get('observation', 'features')}, {vector.dtype} {vector.shape}"}
        return notebook_rows(self, {**rows, "autoreset": self.autoreset_mode.value})

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
