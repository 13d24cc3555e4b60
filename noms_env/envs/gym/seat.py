"""The variants as Gymnasium environments for one learner: it sits on one seat, players sit on the others.

    env = gymnasium.make("noms_env:noms/small_ships-v0", opponents="thumb")

`SeatVectorEnv` (in `seat_vector`) is the same for thousands of tables at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded

from noms_env.core.actions import NUM_ACTIONS
from noms_env.core.chance import MAX_SEED, checked_seed
from noms_env.core.state import VARIANTS
from noms_env.engine import batch_kernels
from noms_env.engine.row_kernels import IS_SCORED
from noms_env.envs.aec import ILLEGAL_REWARD, POSITION_KEYS, Observation
from noms_env.envs.gym.seat_config import SeatConfig, checked_options, frame, members
from noms_env.envs.gym.seat_players import Opponents, RowStreams, checked_seat, is_random, learner_seats
from noms_env.envs.modules import environment_id
from noms_env.envs.validation import RENDER_MODES, checked_choice
from noms_env.players import Player
from noms_env.table import IllegalActionError

RENDER_FPS = 2
METADATA: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": RENDER_FPS}


class SeatEnv(gymnasium.Env[Observation, int | np.integer]):
    """One seat of a variant as a Gymnasium environment; the other seats are played by players.

    A step is a decision of the learner and all that the others decide before it is the learner's turn again. The reward
    comes with the step in which a deal ends, since a reward for a trick would tell who plays with whom.

    Observation: `{"observation": uint8 (OBSERVATION_SIZE,), "action_mask": int8 (NUM_ACTIONS,)}`, from the learner's seat, as
    in `TrickTakingEnv`; with `mask_in="info"` the bare array. `action_masks()` gives the mask as booleans. After the end of
    an episode the mask is all zeros.

    Info: `seat` (the learner's, int); `points` of all seats and `totals` of the match (float64, shape (seats,)) with the step
    in which a deal ended; `winners` (bool, shape (seats,)) with the step that ended the episode.

    Everything follows from the seed: `reset(seed=s)` deals the cards that `raw_env().reset(seed=s)` deals, and each `reset()`
    after it goes on to the next match of that seed.

    Attributes:
        table: the table that is played at (`noms_env.table.Table`); it knows all cards.
        seat: where the learner sits in the present episode.
    """

    metadata: dict[str, Any] = METADATA

    def __init__(
        self,
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
        **options: Any,
    ) -> None:
        """Set up the table; `reset` deals.

        Args:
            variant: name of the game.
            opponents: one player for all other seats, or a sequence with one for each, clockwise from the learner's left: a
                name (`random`, `thumb`, `pimc:20`: `players.make_player`), a policy by name, file or folder
                (`noms_env.load_player`), or a player (`players.Player`).
            seat: the learner's seat; `rotate` for one seat further in each episode, from seat `seed % seats` on; `random`.
            seats: number of seats, the variant's default when None.
            episode: `deal` for one scored deal (exact-bid games: its place in the schedule is drawn, with `hand_size` among
                the deals of that size; noms: the first deal that is not passed out), or `match`.
            reward: `points` at the end of each deal, `relative` (own minus the mean of the others), or `outcome` (at the
                end of the episode, the winners share 1).
            illegal_action: `raise` an error that leaves the table unharmed, or `terminate` the episode with a reward of -1
                and the sentence in `info["illegal_action"]` (the registered ids do).
            mask_in: where the action mask is: `observation`, `info` (the observation is then a bare array) or `both`.
            skip_forced: take actions without alternative inside `step`, but for the first one of a deal. A single deal that
                leaves the learner no choice is passed over.
            render_mode: `ansi`, `human` or `rgb_array`; `render` shows the view of the learner.
            **options: options of the variant; `hand_size` in an exact-bid game picks the deals of that size.

        Raises:
            ValueError: an argument is not allowed; the message says what is.
        """
        self._config = SeatConfig(
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
        self.render_mode = None if render_mode is None else checked_choice("render_mode", render_mode, RENDER_MODES)
        self.observation_space = self._config.observation_space()
        self.action_space: spaces.Space[Any] = spaces.Discrete(NUM_ACTIONS)
        self.table = self._config.table
        self.seat = 0
        self._player_at: list[Player | None] = [None] * self.table.seats
        self._streams = RowStreams(1)
        self._choice = np.zeros(1, np.int64)
        self._is_seeded = False
        self._is_over = True
        self._mask = np.zeros(NUM_ACTIONS, np.int8)

    # ------------------------------------------------------------------------------------------------ the interface

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode, up to the learner's first decision.

        Args:
            seed: 0 to 2**63 - 1; the same seed gives the same deals for ever, and with the same actions the same bytes. None
                goes on to the next match of the seed in force (at first, of one drawn from `np_random`).
            options: `seat`: the learner's seat in this episode. May also set up a position, as in `TrickTakingEnv`: `deck`,
                `dealer`, `totals`, `deal`, `multiplier`. Other keys are ignored.

        Returns:
            Observation and info.

        Raises:
            ValueError: the seed, the seat or the position is not possible; the environment is unharmed.
        """
        given = checked_options(options)
        position = {key: value for key, value in given.items() if key in POSITION_KEYS}
        rule = checked_seat(given.get("seat", self._config.seat), self.table.seats)
        seed = None if seed is None else checked_seed(seed)
        super().reset(seed=seed)
        if seed is None and not self._is_seeded:
            seed = int(self.np_random.integers(MAX_SEED, endpoint=True))
        self._deal(seed, position)
        info = self._begin(rule)
        while self._is_over and not position:  # it left the learner no choice
            self._deal(None, {})
            info = self._begin(rule)
        if self._is_over:
            raise ValueError("the position leaves the learner no choice, and skip_forced passes over what is forced")
        if self.render_mode == "human":
            self.render()
        return self._seen(info), info

    def step(self, action: int | np.integer) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Take an action for the learner, and let the others play until it is to act again or the episode is over.

        Returns:
            Observation, reward, terminated, truncated (a match that was cut short), info.

        Raises:
            IllegalActionError: the action is not legal, with `illegal_action="raise"`; the table is unharmed.
            gymnasium.error.ResetNeeded: there is no episode.
        """
        if self._is_over:
            raise ResetNeeded("there is no episode, or it is over: call reset first")
        try:
            status = self._take(int(action) if isinstance(action, np.integer) else action)
        except IllegalActionError as refusal:
            if not self._config.ends_if_illegal:
                raise
            return self._forfeit(str(refusal))
        reward, terminated, truncated, info = self._play_on(status)
        if self.render_mode == "human":
            self.render()
        return self._seen(info), reward, terminated, truncated, info

    def action_masks(self) -> np.ndarray:
        """The legal actions of the learner, bool, shape (NUM_ACTIONS,), as of the last `reset` or `step`.

        MaskablePPO of sb3-contrib looks for a method of this name.
        """
        return self._mask.astype(np.bool_)

    def render(self) -> Any:
        """The table from the view of the learner: text, or an image of uint8 (height, width, 3); `human` prints the text."""
        if self.render_mode is None:
            return None
        if not self._is_seeded:
            raise ResetNeeded("nothing has been dealt yet: call reset first")
        shown = frame(self.table, self.seat, self.render_mode)
        if self.render_mode != "human":
            return shown
        print(shown)
        return None

    def close(self) -> None:
        """Nothing is held open."""

    # --------------------------------------------------------------------------------------------- what happens inside

    def _deal(self, seed: int | None, position: Mapping[str, Any]) -> None:
        """Deal the first match of a seed, or the next one of the seed in force; the table is unharmed where that fails."""
        before = self.table.get_state()
        try:
            if seed is not None:
                self.table.row.seed = seed
                self.table.row.match = -1
            self.table.start(**position)
        except ValueError:
            self.table.set_state(before)
            raise
        self._is_seeded = True

    def _begin(self, rule: int | str) -> dict[str, Any]:
        """Seat everybody for an episode that has been dealt, and play up to the learner's first decision; the info."""
        row, n = self.table.row, self.table.seats
        seeds, matches = np.array([row.seed]), np.array([row.match])
        self.seat = int(learner_seats(rule, n, seeds, matches)[0])
        for place, player in enumerate(self._config.players, 1):
            self._player_at[(self.seat + place) % n] = None if is_random(player) else player
        self._streams.begin(np.zeros(1, np.int64), seeds, matches)
        self._streams.reseed()
        self._is_over = False
        return self._play_on(int(row.seat))[3]

    def _take(self, action: Any) -> int:
        """An action of the seat to act, and the forced ones after it where they are skipped; the status after them."""
        status = self.table.step(action)
        if self._config.skip_forced:
            while not status & IS_SCORED and len(legal := self.table.legal_actions()) == 1:
                status = self.table.step(legal[0])
        return status

    def _play_on(self, status: int) -> tuple[float, bool, bool, dict[str, Any]]:
        """Let the others play, from a status on (`Table.step`), until the learner is to act or the episode is over.

        Returns:
            Reward, terminated, truncated, info.
        """
        table, row = self.table, self.table.row
        reward, info = 0.0, {"seat": self.seat}
        while status != self.seat:
            if not status & IS_SCORED:
                status = self._take(self._choose(status))
                continue
            reward += self._score(info)
            if row.over:
                self._is_over = True
                return reward, not row.truncated, bool(row.truncated), info
            status = table.next_deal()
        return reward, False, False, info

    def _choose(self, seat: int) -> int:
        """What the player of a seat does."""
        player, table = self._player_at[seat], self.table
        if player is None:  # `random`: the engine itself chooses
            batch_kernels.random_rows(table._kernel_rows, 0, 1, self._streams.words, self._choice)
            return int(self._choice[0])
        sampled_tables = table.determinize(self._streams) if player.wants_tables else None
        return int(player.act(*table.view(seat), self._streams, tables=sampled_tables))

    def _score(self, info: dict[str, Any]) -> float:
        """The reward of a deal just scored; its public result goes into the info."""
        row, n = self.table.row, self.table.seats
        points, winners = row.points[:n].copy(), members(np.array([row.winners], np.int64), n)
        info.update(points=points, totals=row.totals[:n].copy())
        over = np.array([row.over != 0])
        if over[0]:
            info["winners"] = winners[0]
        return float(self._config.rewards(points[np.newaxis], np.array([self.seat]), over, winners)[0])

    def _forfeit(self, sentence: str) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """End the episode because of an illegal action."""
        self._is_over = True
        info = {"seat": self.seat, "illegal_action": sentence}
        return self._seen(info), ILLEGAL_REWARD, True, False, info

    def _seen(self, info: dict[str, Any]) -> Observation:
        """What the learner sees, in new arrays; the mask goes into the info where it is wanted there."""
        vector, mask = self.table.view(self.seat)
        if self._is_over:
            mask[:] = 0
        self._mask = mask.copy()
        if self._config.mask_in != "observation":
            info["action_mask"] = mask.copy()
        return self._config.observation(vector, mask)


# ------------------------------------------------------------------------------------------------------ the registry


def register_seats() -> None:
    """Enter the variants into Gymnasium's registry as `noms/<variant>-v0`; doing it twice is harmless.

    Under these ids an illegal action ends the episode with a reward of -1, as under the `env` of the AEC environments.
    """
    for variant in VARIANTS:
        name = environment_id(variant)
        if name not in gymnasium.registry:
            gymnasium.register(
                name,
                entry_point="noms_env.envs.gym.seat:SeatEnv",
                vector_entry_point="noms_env.envs.gym.seat_vector:SeatVectorEnv",
                kwargs={"variant": variant, "illegal_action": "terminate"},
            )
