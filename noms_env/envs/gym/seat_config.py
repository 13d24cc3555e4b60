"""The arguments of the environments for one learner, checked, and what follows from them."""

from __future__ import annotations

from typing import Any

import numpy as np

from noms_env.envs.common import Observation, make_table, observation_space
from noms_env.envs.gym.seat_players import checked_seat
from noms_env.envs.validation import ILLEGAL_ACTIONS, MASK_PLACES, REWARDS, checked_choice, checked_flag
from noms_env.players import Players, load_players


class SeatConfig:
    """The arguments of an environment for one learner, checked.

    Attributes:
        table: a table with the rules.
        players: the players of the other seats, clockwise from the learner's left.
        seat: the learner's seat, `rotate` or `random`.
        ends_if_illegal: whether an illegal action ends the episode.
        space: the space of the learner's observations.
    """

    def __init__(
        self,
        variant: str,
        *,
        opponents: Players = "random",
        seat: int | str = 0,
        seats: int | None = None,
        episode: str = "deal",
        reward: str = "points",
        illegal_action: str = "raise",
        mask_in: str = "observation",
        skip_forced: bool = False,
        **options: Any,
    ) -> None:
        """Check the arguments; `SeatEnv` documents them.

        Raises:
            ValueError: an argument is not allowed; the message says what is.
        """
        self.episode = episode
        self.reward = checked_choice("reward", reward, REWARDS)
        self.ends_if_illegal = checked_choice("illegal_action", illegal_action, ILLEGAL_ACTIONS) == "terminate"
        self.mask_in = checked_choice("mask_in", mask_in, MASK_PLACES)
        self.space = observation_space(mask_in)
        self.skip_forced = checked_flag("skip_forced", skip_forced)
        self.table = make_table(variant, seats, options, episode)
        self.players = load_players(opponents, self.table.seats - 1, self.table.rules, "opponents")
        self.seat = checked_seat(seat, self.table.seats)

    def observation(self, vector: np.ndarray, mask: np.ndarray) -> Observation:
        """The observation made of a vector and a mask, of one row or of many."""
        return vector if self.mask_in == "info" else {"observation": vector, "action_mask": mask}
