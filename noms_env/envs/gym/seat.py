"""The variants as Gymnasium environments for one learner, with players at the other seats.

    env = gymnasium.make("noms_env:noms/small_ships-v0", opponents="thumb")

`SeatVectorEnv` (in `seat_vector`) is the same for thousands of tables at once.
"""

from __future__ import annotations

import copy
from typing import Any, Unpack

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded

from noms_env.core.actions import NUM_ACTIONS, brief, is_integer
from noms_env.core.chance import MAX_SEED
from noms_env.engine import batch_kernels
from noms_env.engine.row_kernels import IS_SCORED
from noms_env.envs.common import ILLEGAL_HINT, ILLEGAL_REWARD, POSITION_KEYS, Observation, frame, notebook
from noms_env.envs.gym.seat_config import (
    PlayerStreams,
    Seat,
    SeatConfig,
    checked_seat,
    engine_streams,
    is_random,
    learner_seats,
)
from noms_env.envs.modules import environment_id
from noms_env.envs.option_types import Options
from noms_env.envs.results import deal_rewards, members
from noms_env.envs.validation import (
    RENDER_MODES,
    Episode,
    IllegalAction,
    MaskPlace,
    ObservationKind,
    RenderMode,
    Reward,
    checked_names,
    checked_options,
    checked_render_mode,
)
from noms_env.players import Player, Players
from noms_env.table import IllegalActionError
from noms_env.variants import GAMES

RENDER_FPS = 2
FIRST_ROW = np.zeros(1, np.int64)
_EPISODE_NAMES = ("seat", "_streams", "_engine_streams", "_is_seeded", "_is_over", "_mask", "_np_random", "_np_random_seed")
"""Attributes with the state of an episode, except the table and the players."""
METADATA: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": RENDER_FPS}


class SeatEnv(gymnasium.Env[Observation, int | np.integer]):
    """One seat of a variant as a Gymnasium environment; players have the other seats.

    A step is one decision of the learner, then all decisions of the others until the learner's next turn. The reward for a
    deal comes in the step in which it ends: rewards for tricks would reveal the partner.

    Observation: `{"observation": float32 (n_features,), "action_mask": int8 (NUM_ACTIONS,)}` from the learner's seat; with
    `observation="bytes"` the vector is uint8 (OBSERVATION_SIZE,), as in `TrickTakingEnv`; with `mask_in="info"` the
    observation is the vector alone. `action_masks()` returns the mask as booleans. After an episode the mask is all zeros.

    Info: `seat`, the learner's seat (int). In the step in which a deal ends: `points` of all seats in the deal and
    `totals` in the match, float64, shape (seats,). With `skip_forced`, `points` is the sum over all deals that end in the
    step. In the step that ends the episode: `winners`, bool, shape (seats,).

    Everything is a function of the seed and the learner's actions. `reset(seed=s)` deals the cards of
    `raw_env().reset(seed=s)` with the same `episode`. Each later `reset()` starts the next match of that seed.

    Args:
        variant: name of the game.
        opponents: one player for all other seats, or one per seat, clockwise from the learner's left. A player is a name, file
            or folder (`random`, `pimc:20`, `noms@0`, `my_agent:act`, see `noms_env.load_player`), or a `players.Player`.
        seat: the learner's seat; `rotate` to move one seat on with each episode, from seat `seed % seats`; or `random`.
        seats: number of seats; None for the variant's default.
        episode: `match`, or `deal` for one scored deal. In an exact-bid game the deal is drawn from the schedule, with
            `hand_size` from the deals of that size. In noms, passed-out deals do not end the episode.
        observation: `features`, scaled and one-hot numbers for a plain network, or `bytes`, the input of players.
        reward: `points` at the end of each deal, `relative` (own points minus the mean of the others), or `outcome` (at the
            end of the episode, the winners share 1).
        illegal_action: `raise` an error and leave the table unchanged, or `terminate` the episode with a reward of -1 and the
            reason in `info["illegal_action"]`. With `gymnasium.make` the default is `terminate`.
        mask_in: place of the action mask: `observation`, `info` (then the observation is the bare array) or `both`.
        skip_forced: take forced actions (those without alternative) inside `step`, except the first one of a deal. A single
            deal without a choice for the learner is skipped. Points scored before the first decision of an episode are in no
            reward.
        render_mode: `ansi`, `human` or, with the extra `render`, `rgb_array`; `render` shows the view of the learner.
        **options: options of the variant; in an exact-bid game also `hand_size`, see `episode`.

    Attributes:
        table: the table (`noms_env.table.Table`), with all cards, hidden ones too.
        seat: the learner's seat in this episode.
        feature_layout: layout of the features (`FeatureLayout`); None with `observation="bytes"`.

    Raises:
        ValueError: an argument is not allowed; the message lists the allowed values. An unknown keyword is also a TypeError.
        gymnasium.error.DependencyNotInstalled: `render_mode` is `rgb_array`, and the extra `render` is not installed.
    """

    metadata: dict[str, Any] = METADATA

    def __init__(
        self,
        variant: str,
        *,
        opponents: Players = "random",
        seat: Seat = 0,
        seats: int | None = None,
        episode: Episode = "deal",
        observation: ObservationKind = "features",
        reward: Reward = "points",
        illegal_action: IllegalAction = "raise",
        mask_in: MaskPlace = "observation",
        skip_forced: bool = False,
        render_mode: RenderMode | None = None,
        **options: Unpack[Options],
    ) -> None:
        checked_names(variant, options, SeatEnv.__init__)
        self._config = SeatConfig(
            variant,
            opponents=opponents,
            seat=seat,
            seats=seats,
            episode=episode,
            observation=observation,
            reward=reward,
            illegal_action=illegal_action,
            mask_in=mask_in,
            skip_forced=skip_forced,
            **options,
        )
        self.render_mode = checked_render_mode(render_mode, RENDER_MODES)
        self.feature_layout = self._config.feature_layout
        self.observation_space = self._config.space
        self.action_space: spaces.Space[Any] = spaces.Discrete(NUM_ACTIONS)
        self.table = self._config.table
        self.seat = 0
        self._player_at: list[Player | None] = [None] * self.table.seats
        self._streams = PlayerStreams(1)
        self._engine_streams = np.ones(1, np.int64)
        self._choice = np.zeros(1, np.int64)
        self._is_seeded = False
        self._is_over = True
        self._mask = np.zeros(NUM_ACTIONS, np.int8)

    def __repr__(self) -> str:
        return f"<SeatEnv {self._config.summary}>"

    __str__ = __repr__

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return notebook(self, self.seat)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode, and play up to the learner's first decision.

        Args:
            seed: 0 to 2**63 - 1; the same seed always gives the same deals. None starts the next match of the current seed;
                if there is none yet, a seed is drawn from `np_random`.
            options: `seat`: the learner's seat in this episode. `deck`, `dealer`, `totals`, `deal` and `multiplier` set up a
                position, see `TrickTakingEnv.reset`.

        Returns:
            Observation and info.

        Raises:
            ValueError: an option is unknown, or the seed, the seat or the position is not possible; the environment is
                unchanged.
        """
        checked = checked_options(options, ("seat", *POSITION_KEYS))
        position = {key: value for key, value in checked.items() if key in POSITION_KEYS}
        rule = checked_seat(checked.get("seat", self._config.seat), self.table.seats)
        backup = copy.deepcopy({name: getattr(self, name) for name in _EPISODE_NAMES}) if position else {}
        backup["_player_at"] = list(self._player_at)
        before = self.table.get_state()
        self.table.start(seed=seed, **position)  # raises before anything changes
        super().reset(seed=None if seed is None else int(seed))
        if seed is None and not self._is_seeded:
            self.table.start(seed=int(self.np_random.integers(MAX_SEED, endpoint=True)), **position)
        self._is_seeded = True
        info = self._begin(rule)
        while self._is_over and not position:  # the deal left the learner no choice
            self.table.start()
            info = self._begin(rule)
        if self._is_over:
            vars(self).update(backup)
            self.table.set_state(before)
            raise ValueError("the position leaves the learner no choice; set it up with skip_forced=False")
        if self.render_mode == "human":
            self.render()
        return self._seen(info), info

    def step(self, action: int | np.integer) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Take the learner's action, then those of the others until its next turn or the end of the episode.

        Returns:
            Observation, reward, terminated, truncated (the match was cut short), info.

        Raises:
            IllegalActionError: the action is not legal, with `illegal_action="raise"`; the table is unchanged.
            gymnasium.error.ResetNeeded: there is no episode, or the last step was interrupted.
        """
        if self._is_over:
            raise ResetNeeded("there is no episode, or it is over or was interrupted: call reset first")
        try:
            status = self._take(int(action) if is_integer(action) else action)
        except IllegalActionError as refusal:
            if not self._config.ends_if_illegal:
                raise IllegalActionError(f"{refusal}; {ILLEGAL_HINT}") from None
            return self._forfeit(str(refusal))
        reward, terminated, truncated, info = self._play_on(status)
        if self.render_mode == "human":
            self.render()
        return self._seen(info), reward, terminated, truncated, info

    def action_masks(self) -> np.ndarray:
        """Return the legal actions after the last `reset` or `step`: bool, shape (NUM_ACTIONS,). MaskablePPO calls this."""
        return self._mask.astype(np.bool_)

    def render(self) -> Any:
        """Return the learner's view of the table: text, or uint8 (height, width, 3); with `human` print the text."""
        if self.render_mode is None:
            return None
        if not self._is_seeded:
            raise ResetNeeded("nothing has been dealt yet: call reset first")
        return frame(self.table, self.seat, self.render_mode)

    def _begin(self, rule: int | str) -> dict[str, Any]:
        """Assign the seats of a new episode, play up to the learner's first decision, and return the info."""
        row, n = self.table.row, self.table.seats
        seeds, matches = np.array([row.seed]), np.array([row.match])
        self.seat = int(learner_seats(rule, n, seeds, matches)[0])
        for place, player in enumerate(self._config.players, 1):
            self._player_at[(self.seat + place) % n] = None if is_random(player) else player
        self._streams.begin(FIRST_ROW, seeds, matches)
        self._engine_streams = engine_streams(seeds, matches)
        return self._play_on(int(row.seat))[3]

    def _take(self, action: Any) -> int:
        """Take an action, and with `skip_forced` the forced ones after it. Return the status of `Table.step`."""
        status = self.table.step(action)
        if self._config.skip_forced:
            while not status & IS_SCORED and len(legal := self.table.legal_actions()) == 1:
                status = self.table.step(legal[0])
        return status

    def _play_on(self, status: int) -> tuple[float, bool, bool, dict[str, Any]]:
        """Play until the learner's turn or the end of the episode, from a status of `Table.step`.

        Returns:
            Reward, terminated, truncated, info.
        """
        table, row = self.table, self.table.row
        reward, info = 0.0, {"seat": self.seat}
        self._is_over = True  # until this loop ends, so that no step can follow an interrupted one
        while status != self.seat:
            if not status & IS_SCORED:
                status = self._take(self._choose(status))
                continue
            reward += self._score(info)
            if row.over:
                return reward, not row.truncated, bool(row.truncated), info
            status = table.next_deal()
        self._is_over = False
        return reward, False, False, info

    def _choose(self, seat: int) -> int:
        player, table = self._player_at[seat], self.table
        if player is None:  # `random`: the engine itself chooses
            batch_kernels.random_rows(table._kernel_rows, 0, 1, self._engine_streams, self._choice)
            return int(self._choice[0])
        tables = table.determinize(self._draw_seed()) if player.wants_tables else None
        action = player.act(*table.view(seat), self._draw_seed(), tables=tables)
        if not is_integer(action):
            raise TypeError(f"a player must answer with the number of an action, not {brief(action)}")
        return int(action)

    def _draw_seed(self) -> int:
        return int(self._streams.draw(FIRST_ROW)[0])

    def _score(self, info: dict[str, Any]) -> float:
        """Return the reward of a deal just scored; write its points, totals and winners to the info."""
        rows, n = self.table._kernel_rows, self.table.seats
        points, over = rows["points"][:, :n], rows["over"] != 0
        info["points"] = points[0] + info.get("points", 0)
        info["totals"] = rows["totals"][0, :n].copy()
        if over[0]:
            info["winners"] = members(rows["winners"], n)[0]
        return float(deal_rewards(self._config.reward, points, over, rows["winners"])[0, self.seat])

    def _forfeit(self, reason: str) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        self._is_over = True
        info = {"seat": self.seat, "illegal_action": reason}
        return self._seen(info), ILLEGAL_REWARD, True, False, info

    def _seen(self, info: dict[str, Any]) -> Observation:
        """Return the observation of the learner in new arrays; write the mask to the info if `mask_in` says so."""
        vector, mask = self.table.view(self.seat)
        if self._is_over:
            mask[:] = 0
        self._mask = mask.copy()
        if self._config.mask_in != "observation":
            info["action_mask"] = mask.copy()
        return self._config.observation(vector, mask)


def register_seats() -> None:
    """Add the variants to Gymnasium's registry as `noms/<variant>-v0`. A second call does nothing.

    In environments made with `gymnasium.make` or `make_vec` an illegal action ends the episode with a reward of -1.
    """
    for variant in GAMES:
        name = environment_id(variant)
        if name not in gymnasium.registry:
            gymnasium.register(
                name,
                entry_point="noms_env.envs.gym.seat:SeatEnv",
                vector_entry_point="noms_env.envs.gym.seat_vector:SeatVectorEnv",
                kwargs={"variant": variant, "illegal_action": "terminate"},
            )
