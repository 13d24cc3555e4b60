"""One seat at thousands of tables as a Gymnasium vector environment, on the batch engine.

    envs = gymnasium.make_vec("noms_env:noms/down_up-v0", num_envs=4096, opponents="random")

Row i plays as `SeatEnv` does with seed + i: the same deals, observations, rewards and infos, whatever the number of rows, the
threads, and what happens in other rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from noms_env.actions import NUM_ACTIONS
from noms_env.chance import MAX_SEED, checked_seed
from noms_env.engine.imagine import imagined
from noms_env.engine.table import IllegalActionError
from noms_env.envs.aec import ILLEGAL_REWARD, POSITION_KEYS, Observation, _flag, _one_of
from noms_env.envs.batch import make_batch
from noms_env.envs.seat import RENDER_FPS, SeatChoices, checked_options, frame, members
from noms_env.envs.seat_players import Opponents, RowStreams, checked_seat, is_random, learner_seats
from noms_env.players import Player

RENDER_MODES = ("ansi", "rgb_array")
RANDOM, NOBODY = -1, -2
"""In place of the number of a player: the engine chooses; the row is on hold."""
Seats = int | str | np.ndarray
Step = tuple[Observation, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]


class SeatVectorEnv(VectorEnv[Observation, np.ndarray, np.ndarray]):
    """One seat at each of many tables; the other seats are played by players, many rows at once.

    It keeps Gymnasium's contract of vector environments, and gives what `SyncVectorEnv` of as many `SeatEnv` would give:

    * `NEXT_STEP`: the step after an episode has ended begins the next one, whatever the action; its reward is 0.
    * `SAME_STEP`: the step that ends an episode begins the next one; `final_obs` and `final_info` of the infos show the end.
    * `DISABLED`: rows that are over wait for `reset(options={"reset_mask": ...})`.

    A row whose episode is over has a mask of zeros. Rewards are float64, shape (num_envs,). The keys of the infos are those of
    `SeatEnv`, each an array with a row for each environment; under the same name with `_` before it is a mask of the rows that
    it holds for.
    """

    metadata: dict[str, Any]

    def __init__(
        self,
        num_envs: int,
        variant: str,
        *,
        opponents: Opponents = "random",
        seat: int | str = 0,
        seats: int | None = None,
        episode: str = "deal",
        reward: str = "points",
        illegal_action: str = "raise",
        mask_in: str = "observation",
        skip_forced: bool = False,
        render_mode: str | None = None,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        threads: int | None = 1,
        copy: bool = True,
        **options: Any,
    ) -> None:
        """Set up the tables; `reset` deals.

        Args:
            num_envs: number of tables.
            variant: name of the game; it and the arguments up to `render_mode` are those of `SeatEnv`, for every row.
            opponents: see `SeatEnv`. `random` is fastest, since the engine itself chooses.
            seat: see `SeatEnv`.
            seats: see `SeatEnv`.
            episode: see `SeatEnv`.
            reward: see `SeatEnv`.
            illegal_action: `raise` an error that leaves all tables unharmed, or `terminate` the episode of the row.
            mask_in: see `SeatEnv`.
            skip_forced: see `SeatEnv`.
            render_mode: `ansi` or `rgb_array`; `render` gives a frame for each row.
            autoreset_mode: see the class; a word (`NextStep`, `SameStep`, `Disabled`) or a member of the enumeration.
            threads: threads of the engine, None for all cores. They never change a result.
            copy: give new arrays with each call. Without it observations and masks are written in place, which saves about
                a tenth of the time; they hold until the next call.
            **options: see `SeatEnv`.

        Raises:
            ValueError: an argument is not allowed; the message says what is.
        """
        self._choices = SeatChoices(
            variant,
            opponents=opponents,
            seat=seat,
            seats=seats,
            episode=episode,
            reward=reward,
            illegal_action=illegal_action,
            mask_in=mask_in,
            skip_forced=skip_forced,
            **options,
        )
        self._mode = _checked_mode(autoreset_mode)
        self._copies = _flag("copy", copy)
        self.render_mode = None if render_mode is None else _one_of("render_mode", render_mode, RENDER_MODES)
        self.metadata = {"render_modes": list(RENDER_MODES), "render_fps": RENDER_FPS, "autoreset_mode": self._mode}
        self._make_tables(num_envs, threads)
        self.num_envs = len(self._batch)
        self.single_observation_space = self._choices.observation_space()
        self.single_action_space = spaces.Discrete(NUM_ACTIONS)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._new_results()

    def _make_tables(self, num_envs: int, threads: int | None) -> None:
        """The tables, who plays at them, and what is known of each row."""
        choices, rules = self._choices, self._choices.table.rules
        self._batch = make_batch(
            [(rules.variant.name, rules.seats, rules.options, 1.0)],
            num_envs,
            episode=choices.episode,
            skip_forced=choices.skip_forced,
            pause=True,
            threads=threads,
            check=False,
        )
        rows = len(self._batch)
        self._batch.tables.place_size = choices.table.row.place_size
        self._seats = rules.seats
        self._streams = RowStreams(rows)
        self._rows = np.arange(rows)
        self._actions = np.zeros(rows, np.int64)
        self._seat = np.zeros(rows, np.int16)
        self._is_over = np.ones(rows, np.bool_)
        self._is_seeded = False
        self._distinct: list[Player] = [*{id(player): player for player in choices.players if not is_random(player)}.values()]
        number_of = {id(player): number for number, player in enumerate(self._distinct)}
        numbers = [number_of.get(id(player), RANDOM) for player in choices.players]
        self._player_at = np.array([NOBODY, *numbers])  # by seats clockwise from the learner

    # ------------------------------------------------------------------------------------------------ the interface

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode in each row, up to the learner's first decision.

        Args:
            seed: of row 0, where row i has seed + i; or a seed for each row. See `SeatEnv.reset`; None goes on to the next
                match of a row's seed (at first, of seeds drawn from `np_random`).
            options: `reset_mask`, bool of shape (num_envs,): begin anew in these rows only. `seat`: the learner's seat in
                these episodes, one or one for each row. Other keys are ignored; positions are set up in `SeatEnv`.

        Returns:
            Observations of all rows, and infos of those that were reset.

        Raises:
            ValueError: a seed, a seat or the mask is not possible; nothing has changed.
            TypeError: `reset_mask` is no array of booleans.
        """
        given = checked_options(options)
        rows = np.flatnonzero(self._reset_mask(given))
        seats = self._asked_seats(given)
        seeds = self._asked_seeds(seed)[rows]
        super().reset(seed=int(seed) if isinstance(seed, int | np.integer) else None)
        if not self._is_seeded:
            drawn = self.np_random.integers(MAX_SEED, endpoint=True, size=len(rows))
            seeds = np.where(seeds < 0, drawn, seeds)
            self._is_seeded = True
        self._new_results()
        self._begin(rows, seeds, seats)
        if len(rows) == self.num_envs:
            self._streams.reseed()
        self._play_on(rows, seats)
        self._observe()
        started = np.zeros(self.num_envs, np.bool_)
        started[rows] = True
        return self._seen(), self._infos(started)

    def step(self, actions: np.ndarray) -> Step:
        """Take an action for each learner, and let the others play until it is to act again or its episode is over.

        Args:
            actions: integers, shape (num_envs,). With `NEXT_STEP`, those of rows whose episode ended in the step before are
                not looked at; with these rows begins the next episode.

        Returns:
            Observations, rewards (float64), terminated (bool), truncated (bool; matches that were cut short), infos.

        Raises:
            ValueError: not num_envs integers.
            IllegalActionError: an action is not legal, with `illegal_action="raise"`; no table has changed.
            gymnasium.error.ResetNeeded: there are no episodes, or with `DISABLED` some are over.
        """
        if not self._is_seeded:
            raise ResetNeeded("there are no episodes yet: call reset first")
        if self._mode is AutoresetMode.DISABLED and self._is_over.any():
            over = ", ".join(map(str, np.flatnonzero(self._is_over)[:8]))
            raise ResetNeeded(f"episodes are over (rows {over}): with autoreset disabled, reset them by options['reset_mask']")
        numbers = self._checked_actions(actions)
        resting = self._is_over.copy()
        refused = ~resting & self._illegal(numbers)
        if refused.any() and not self._choices.ends_if_illegal:
            raise self._refusal(int(refused.argmax()), int(numbers[refused.argmax()]))
        self._new_results()
        self._forfeit(numbers, np.flatnonzero(refused))
        np.copyto(self._actions, numbers)
        self._take(hold=resting | refused)
        starting = np.flatnonzero(resting)
        self._begin(starting)
        self._play_on(starting)
        return self._results()

    def action_masks(self) -> np.ndarray:
        """The legal actions of the learners, bool, shape (num_envs, NUM_ACTIONS), as of the last `reset` or `step`.

        All False in rows whose episode is over.
        """
        return np.asarray(self._batch.mask != 0)

    def render(self) -> tuple[Any, ...] | None:
        """A frame for each row, from the view of its learner: text, or an image of uint8 (height, width, 3)."""
        if self.render_mode is None:
            return None
        if not self._is_seeded:
            raise ResetNeeded("nothing has been dealt yet: call reset first")
        return tuple(self._frame(row) for row in range(self.num_envs))

    # ------------------------------------------------------------------------------------------------- what is asked for

    def _reset_mask(self, options: Mapping[str, Any]) -> np.ndarray:
        """The rows to begin anew, bool, shape (num_envs,)."""
        positions = [key for key in POSITION_KEYS if key in options]
        if positions:
            raise ValueError(f"{positions[0]} sets up a position, which SeatEnv can do, not SeatVectorEnv")
        mask = options.get("reset_mask")
        if mask is None:
            return np.ones(self.num_envs, np.bool_)
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_:
            raise TypeError(f"options['reset_mask'] must be an array of booleans, not {mask!r}")
        if mask.shape != (self.num_envs,) or not mask.any():
            raise ValueError(
                f"options['reset_mask'] must have shape ({self.num_envs},) and a True in it, not {mask.shape} with {mask.sum()}"
            )
        if not self._is_seeded and not mask.all():
            raise ResetNeeded("there are no episodes yet: the first reset must be one of all rows")
        return mask

    def _asked_seats(self, options: Mapping[str, Any]) -> Seats:
        """The learner's seats where a reset gives them: a rule for all rows, or int64, shape (num_envs,)."""
        given = options.get("seat", self._choices.seat)
        if np.ndim(given) == 0:
            return checked_seat(given, self._seats)
        if np.shape(given) != (self.num_envs,):
            raise ValueError(f"seat must be one seat or {self.num_envs} of them, not {given!r}")
        return np.array([checked_seat(seat, self._seats) for seat in np.asarray(given)], np.int64)

    def _asked_seeds(self, seed: Any) -> np.ndarray:
        """A seed for each row, int64, shape (num_envs,); -1 for none."""
        if seed is None:
            return np.full(self.num_envs, -1, np.int64)
        if np.ndim(seed) == 0:
            checked_seed(checked_seed(seed) + self.num_envs - 1)
            return np.asarray(seed + self._rows)
        if len(seed) != self.num_envs:
            raise ValueError(f"seed must be one seed or {self.num_envs} of them, not {len(seed)}")
        return np.array([-1 if one is None else checked_seed(one) for one in seed], np.int64)

    def _checked_actions(self, actions: Any) -> np.ndarray:
        """Actions as int64, shape (num_envs,)."""
        numbers = np.asarray(actions)
        if numbers.shape != (self.num_envs,) or numbers.dtype.kind not in "iu":
            raise ValueError(f"actions must be {self.num_envs} integers, not {numbers.dtype} of shape {numbers.shape}")
        return numbers.astype(np.int64, copy=False)

    def _illegal(self, numbers: np.ndarray) -> np.ndarray:
        """Whether each learner's action is not legal, bool, shape (num_envs,)."""
        within = np.minimum(numbers.view(np.uint64), NUM_ACTIONS - 1).view(np.int64)
        return np.asarray((self._batch.mask[self._rows, within] == 0) | (within != numbers))

    # --------------------------------------------------------------------------------------------- what happens inside

    def _new_results(self) -> None:
        """Make the results of a step anew: empty."""
        rows, n = self.num_envs, self._seats
        self._reward = np.zeros(rows)
        self._terminated = np.zeros(rows, np.bool_)
        self._truncated = np.zeros(rows, np.bool_)
        self._is_scored = np.zeros(rows, np.bool_)
        self._points, self._totals = np.zeros((rows, n)), np.zeros((rows, n))
        self._winners = np.zeros((rows, n), np.bool_)
        self._sentences: dict[int, str] = {}

    def _clear_results(self, rows: np.ndarray) -> None:
        """Empty the results of some rows."""
        for results in (self._reward, self._terminated, self._truncated, self._is_scored):
            results[rows] = 0
        for row in rows if self._sentences else ():
            self._sentences.pop(int(row), None)

    def _begin(self, rows: np.ndarray, seeds: np.ndarray | None = None, seats: Seats | None = None) -> None:
        """Deal the next match in some rows, or the first one of a seed, seat everybody, and begin the random numbers.

        Args:
            rows: int64, shape (m,).
            seeds: int64, shape (m,); -1 to go on with the seed in force, as when None.
            seats: the learner's seats: a rule, or int64, shape (num_envs,); by the rule of the environment when None.
        """
        if len(rows) == 0:
            return
        batch = self._batch
        old, next_match = batch.tables.seed[rows], batch.tables.match[rows] + 1
        seeds = np.full(len(rows), -1) if seeds is None else seeds
        wanted, matches = np.where(seeds < 0, old, seeds), np.where(seeds < 0, next_match, 0)
        batch.deal(rows, seed=wanted, match=matches, table=0)
        rule = self._choices.seat if seats is None else seats
        given = rule[rows] if isinstance(rule, np.ndarray) else learner_seats(rule, self._seats, wanted, matches)
        self._seat[rows] = given
        self._streams.begin(rows, wanted, matches)
        self._is_over[rows] = False

    def _play_on(self, starting: np.ndarray, seats: Seats | None = None) -> None:
        """Let the others play until it is the learner's turn, or its episode is over, in every row.

        Args:
            starting: rows in which an episode has just begun, int64, shape (m,). Where it leaves the learner no choice at
                all (`skip_forced`), the next one begins.
            seats: the learner's seats in these episodes; see `_begin`.
        """
        batch = self._batch
        while True:
            hold = self._is_over | (batch.seat == self._seat)
            if not hold.all():
                self._choose(hold)
                self._take(hold)
                continue
            starting = starting[self._is_over[starting]]
            if len(starting) == 0:
                return
            self._clear_results(starting)
            self._begin(starting, seats=seats)

    def _take(self, hold: np.ndarray) -> None:
        """Take the actions in all rows but those on hold; score the deals that end, and deal the next hands of matches.

        While the batch pauses at the end of deals, a row whose `scored` is set is left alone by `step`.
        """
        batch = self._batch
        np.copyto(batch.scored, hold)
        batch.step(self._actions)
        ended = np.flatnonzero(batch.scored & ~hold)
        if len(ended) == 0:
            return
        self._score(ended)
        going_on = ended[~self._is_over[ended]]
        if len(going_on) > 0:
            batch.scored[:] = False
            batch.scored[going_on] = True
            batch.next_deal()

    def _score(self, rows: np.ndarray) -> None:
        """Note the results of deals just scored, and which episodes are over."""
        tables, n = self._batch.tables, self._seats
        points, winners = tables.points[rows, :n], members(tables.winners[rows], n)
        over, truncated = tables.over[rows] != 0, tables.truncated[rows] != 0
        self._reward[rows] += self._choices.rewards(points, self._seat[rows], over, winners)
        self._is_scored[rows] = True
        self._points[rows], self._totals[rows] = points, tables.totals[rows, :n]
        self._is_over[rows] = over
        self._terminated[rows], self._truncated[rows] = over & ~truncated, over & truncated
        self._winners[rows] = winners & over[:, np.newaxis]

    def _choose(self, hold: np.ndarray) -> None:
        """Write what the players of all seats to act do, in all rows but those on hold."""
        if not self._distinct:
            self._choose_at_random(hold)
            return
        who = np.where(hold, NOBODY, self._player_at[self._places()])
        if (self._player_at == RANDOM).any():
            self._choose_at_random(who != RANDOM)
        for number, player in enumerate(self._distinct):
            rows = np.flatnonzero(who == number)
            if len(rows) > 0:
                self._actions[rows] = self._asked(player, rows)

    def _choose_at_random(self, others: np.ndarray) -> None:
        """Write what the engine chooses, in all rows but some others, whose streams stay where they are."""
        words = self._streams.words
        before = words.copy()
        self._batch.random_actions(words, self._actions)
        np.copyto(words, before, where=others)

    def _places(self) -> np.ndarray:
        """The seat to act in each row, counted clockwise from the learner."""
        places: np.ndarray = (self._batch.seat - self._seat) % self._seats
        return places

    def _asked(self, player: Player, rows: np.ndarray) -> np.ndarray:
        """The answers of a player for some rows, int64, shape (m,)."""
        batch = self._batch
        batch.observe(rows)
        self._streams.rows = rows
        tables = imagined(batch.tables, rows, self._streams) if player.wants_tables else None
        mask = batch.mask[rows]
        answers = np.asarray(player.act(batch.observation[rows], mask, self._streams, tables=tables))
        if answers.shape != rows.shape or answers.dtype.kind not in "iu":
            raise TypeError(f"{player!r} must answer with {len(rows)} integers, not {answers.dtype} of shape {answers.shape}")
        legal = mask[np.arange(len(rows)), np.clip(answers, 0, NUM_ACTIONS - 1)] != 0
        wrong = np.flatnonzero(~legal | (answers < 0) | (answers >= NUM_ACTIONS))
        if len(wrong) > 0:
            raise self._refusal(int(rows[wrong[0]]), int(answers[wrong[0]]))
        return answers

    # ------------------------------------------------------------------------------------------------- illegal actions

    def _refusal(self, row: int, action: int) -> IllegalActionError:
        """The error that refuses an action in a row."""
        return IllegalActionError(f"table {row}: {self._why_illegal(row, action)}")

    def _forfeit(self, numbers: np.ndarray, rows: np.ndarray) -> None:
        """End the episodes of some rows because of illegal actions."""
        self._is_over[rows] = self._terminated[rows] = True
        self._reward[rows] = ILLEGAL_REWARD
        self._sentences = {int(row): self._why_illegal(int(row), int(numbers[row])) for row in rows}

    def _why_illegal(self, row: int, action: int) -> str:
        """The sentence that refuses an action in a row."""
        table = self._choices.table
        table.row_from(self._batch.tables[row])
        try:
            table.step(action)
        except IllegalActionError as refusal:
            return str(refusal)
        raise AssertionError(f"action {action} is legal at table {row}")

    # -------------------------------------------------------------------------------------------------- what is shown

    def _results(self) -> Step:
        """What a step gives, after the next episodes have begun where they do so in the same step."""
        over = np.flatnonzero(self._is_over)
        results = (self._reward, self._terminated, self._truncated)
        final = {}
        if self._mode is AutoresetMode.SAME_STEP and len(over) > 0:
            results = (self._reward.copy(), self._terminated.copy(), self._truncated.copy())
            final = self._final(over)
            self._clear_results(over)
            self._begin(over)
            self._play_on(over)
        self._observe()
        return (self._seen(), *results, {**self._infos(np.ones(self.num_envs, np.bool_)), **final})

    def _final(self, rows: np.ndarray) -> dict[str, Any]:
        """The last observations and infos of episodes that are over, as `SyncVectorEnv` gives them."""
        self._observe(rows)
        is_over = np.zeros(self.num_envs, np.bool_)
        is_over[rows] = True
        final_obs = np.full(self.num_envs, None, object)
        for row, vector, mask in zip(rows, self._batch.observation[rows], self._batch.mask[rows], strict=True):
            final_obs[row] = self._choices.observation(vector, mask)
        infos = {"final_obs": final_obs, "final_info": self._infos(is_over)}
        return {**infos, **{f"_{key}": is_over.copy() for key in infos}}

    def _observe(self, rows: np.ndarray | None = None) -> None:
        """Write what the learners see, in some rows or all; the masks of rows that are over are zeros."""
        batch = self._batch
        over = np.flatnonzero(self._is_over)
        # Nobody is to act where a match is over, and what is seen is seen from the seat to act.
        batch.tables.seat[over] = self._seat[over]
        batch.observe(rows)
        batch.mask[over] = 0

    def _seen(self) -> Observation:
        """What the learners see, in new arrays where they are wanted."""
        vector, mask = self._batch.observation, self._batch.mask
        if self._copies:
            vector, mask = vector.copy(), mask.copy()
        return self._choices.observation(vector, mask)

    def _infos(self, rows: np.ndarray) -> dict[str, Any]:
        """The infos of some rows (bool, shape (num_envs,)), as `SyncVectorEnv` gives them."""
        scored, ended = self._is_scored & rows, self._is_scored & rows & self._is_over
        infos: dict[str, tuple[np.ndarray, np.ndarray]] = {"seat": (self._seat.astype(np.int64), rows)}
        if scored.any():
            infos |= {"points": (self._points, scored), "totals": (self._totals, scored)}
        if ended.any():
            infos["winners"] = (self._winners, ended)
        if self._sentences:
            infos["illegal_action"] = self._refusals()
        if self._choices.mask_in != "observation":
            infos["action_mask"] = (self._batch.mask, rows)
        shown = {key: _only(values, where) for key, (values, where) in infos.items()}
        return {**shown, **{f"_{key}": where.copy() for key, (_, where) in infos.items()}}

    def _refusals(self) -> tuple[np.ndarray, np.ndarray]:
        """The sentences of illegal actions, and the rows that have one."""
        sentences, where = np.full(self.num_envs, None, object), np.zeros(self.num_envs, np.bool_)
        for row, sentence in self._sentences.items():
            sentences[row], where[row] = sentence, True
        return sentences, where

    def _frame(self, row: int) -> Any:
        """The table of one row, from the view of its learner."""
        table = self._choices.table
        table.row_from(self._batch.tables[row])
        assert self.render_mode is not None
        return frame(table, int(self._seat[row]), self.render_mode)


def _checked_mode(mode: str | AutoresetMode) -> AutoresetMode:
    """The mode that a word stands for."""
    try:
        return AutoresetMode(mode)
    except ValueError:
        words = " or ".join(repr(one.value) for one in AutoresetMode)
        raise ValueError(f"autoreset_mode must be {words}, not {mode!r}") from None


def _only(values: np.ndarray, where: np.ndarray) -> np.ndarray:
    """The rows of an array in a new one that is empty elsewhere."""
    empty: np.ndarray = np.full(values.shape, None, object) if values.dtype == object else np.zeros(values.shape, values.dtype)
    empty[where] = values[where]
    return empty
