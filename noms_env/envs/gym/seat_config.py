"""What an environment for one learner and one for thousands share: the arguments, checked, and what follows from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces

from noms_env.core.actions import NUM_ACTIONS
from noms_env.envs.aec import Observation
from noms_env.envs.gym.seat_players import Opponents, checked_seat, seated_players
from noms_env.envs.validation import ILLEGAL_ACTIONS, MASK_PLACES, REWARDS, checked_choice, checked_flag
from noms_env.observation.layout import OBSERVATION_SIZE
from noms_env.table import Table
from noms_env.variants import game


class SeatConfig:
    """The arguments of an environment for one learner, checked.

    Attributes:
        table: a table by the rules that were chosen.
        players: of the other seats, clockwise from the learner's left.
        seat: the learner's seat, `rotate` or `random`.
    """

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
        **options: Any,
    ) -> None:
        """Check the arguments; see `SeatEnv`.

        Raises:
            ValueError: an argument is not allowed; the message says what is.
        """
        self.reward = checked_choice("reward", reward, REWARDS)
        self.episode = episode
        self.ends_if_illegal = checked_choice("illegal_action", illegal_action, ILLEGAL_ACTIONS) == "terminate"
        self.mask_in = checked_choice("mask_in", mask_in, MASK_PLACES)
        self.skip_forced = checked_flag("skip_forced", skip_forced)
        deal_size = None
        if "hand_size" in options and "hand_size" not in [option.name for option in game(variant).options]:
            deal_size = options.pop("hand_size")
        self.table = Table(variant, seats, options, episode=episode, deal_size=deal_size)
        self.players = seated_players(opponents, self.table.rules)
        self.seat = checked_seat(seat, self.table.seats)

    def observation_space(self) -> spaces.Space[Any]:
        """The space of the learner's observations."""
        vector = spaces.Box(0, 255, (OBSERVATION_SIZE,), np.uint8)
        if self.mask_in == "info":
            return vector
        return spaces.Dict({"observation": vector, "action_mask": spaces.Box(0, 1, (NUM_ACTIONS,), np.int8)})

    def observation(self, vector: np.ndarray, mask: np.ndarray) -> Observation:
        """What is shown of an observation and a mask, of one row or of many."""
        return vector if self.mask_in == "info" else {"observation": vector, "action_mask": mask}

    def rewards(self, points: np.ndarray, learner: np.ndarray, over: np.ndarray, winners: np.ndarray) -> np.ndarray:
        """The learner's rewards for deals just scored.

        Args:
            points: of the deals, float64, shape (m, seats).
            learner: its seats, int64, shape (m,).
            over: whether the episode ends with the deal, bool, shape (m,).
            winners: of the episode, bool, shape (m, seats).

        Returns:
            float64, shape (m,).
        """
        rows = np.arange(len(points))
        own: np.ndarray = points[rows, learner]
        if self.reward == "points":
            return own
        if self.reward == "relative":
            return np.asarray(own - (points.sum(axis=1) - own) / (points.shape[1] - 1))
        shares = winners[rows, learner] / np.maximum(winners.sum(axis=1), 1)
        return np.where(over, shares, 0.0)


def members(sets: np.ndarray, seats: int) -> np.ndarray:
    """Bit sets of seats as bool, shape (m, seats)."""
    flags: np.ndarray = (sets[:, np.newaxis] >> np.arange(seats)) & 1 != 0
    return flags


def frame(table: Table, seat: int, render_mode: str) -> Any:
    """The table from the view of a seat: text, or an image of uint8 (height, width, 3)."""
    from noms_env import show  # here, since drawing is not wanted where training is

    if render_mode == "rgb_array":
        return show.image(table, seat)
    return show.text(table, seat, colour=render_mode == "human")


def checked_options(options: Any) -> dict[str, Any]:
    """The options of a reset as a dictionary.

    Raises:
        ValueError: they are neither a dictionary nor None.
    """
    if options is not None and not isinstance(options, Mapping):
        raise ValueError(f"options must be a dictionary or None, not {options!r}")
    return dict(options or {})
