"""Checked arguments of the environments for one learner."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Unpack

import numpy as np

from noms_env.core.messages import literal
from noms_env.envs.common import Observation, checked_layout, make_table, observation_space
from noms_env.envs.gym.seat_players import Seat, checked_seat
from noms_env.envs.option_types import Options
from noms_env.envs.validation import (
    ILLEGAL_ACTIONS,
    MASK_PLACES,
    REWARDS,
    Episode,
    IllegalAction,
    MaskPlace,
    ObservationKind,
    Reward,
    checked_choice,
    checked_flag,
)
from noms_env.observation.feature_layout import FeatureLayout
from noms_env.players import Players, load_players


class SeatArguments(Options, total=False):
    """Types of the keyword arguments of `SeatConfig`, for functions that pass them on."""

    opponents: Players
    seat: Seat
    seats: int | None
    episode: Episode
    observation: ObservationKind | FeatureLayout
    reward: Reward
    illegal_action: IllegalAction
    mask_in: MaskPlace
    skip_forced: bool


class SeatConfig:
    """The arguments of an environment for one learner, checked.

    Attributes:
        table: a table with the rules.
        players: the players of the other seats, clockwise from the learner's left.
        seat: the learner's seat, `rotate` or `random`.
        ends_if_illegal: whether an illegal action ends the episode.
        feature_layout: layout of the features; None if observations are bytes.
        space: the space of the learner's observations.
        chosen: source text of seat, opponents and episode, and of all other arguments that are not the default, by name.
        summary: the rules and `chosen`, in one line.
    """

    def __init__(
        self,
        variant: str,
        *,
        opponents: Players = "random",
        seat: Seat = 0,
        seats: int | None = None,
        episode: Episode = "deal",
        observation: ObservationKind | FeatureLayout = "features",
        reward: Reward = "points",
        illegal_action: IllegalAction = "raise",
        mask_in: MaskPlace = "observation",
        skip_forced: bool = False,
        **options: Unpack[Options],
    ) -> None:
        """Check the arguments; `SeatEnv` documents them and the errors."""
        self.episode = episode
        self.reward = checked_choice("reward", reward, REWARDS)
        self.ends_if_illegal = checked_choice("illegal_action", illegal_action, ILLEGAL_ACTIONS) == "terminate"
        self.mask_in = checked_choice("mask_in", mask_in, MASK_PLACES)
        self.skip_forced = checked_flag("skip_forced", skip_forced)
        self.table = make_table(variant, seats, options, episode)
        self.feature_layout = checked_layout(observation, [self.table.rules], episode)
        self.space = observation_space(mask_in, self.feature_layout)
        self.players = load_players(opponents, self.table.seats - 1, self.table.rules, "opponents")
        self.seat = checked_seat(seat, self.table.seats)
        self.chosen = {"seat": literal(seat), "opponents": _source_text(opponents), "episode": literal(episode)}
        kind = "bytes" if self.feature_layout is None else "features"
        values = {"observation": kind, "reward": reward, "mask_in": mask_in, "skip_forced": skip_forced}
        defaults = {"observation": "features", "reward": "points", "mask_in": "observation", "skip_forced": False}
        self.chosen |= {name: literal(value) for name, value in values.items() if value != defaults[name]}
        listed = (f"{name}={value}" for name, value in self.chosen.items())
        self.summary = f"{variant}: {', '.join([self.table.rules.summary, *listed])}"

    def observation(self, vector: np.ndarray, mask: np.ndarray) -> Observation:
        """Return the observation for bytes and a mask, of one row or many."""
        vector = vector if self.feature_layout is None else self.feature_layout.encode(vector)
        return vector if self.mask_in == "info" else {"observation": vector, "action_mask": mask}


def _source_text(opponents: Players) -> str:
    """Return the source text of `opponents`: names in quotes, other players by class."""
    if isinstance(opponents, str | Path):
        return literal(str(opponents))
    if not isinstance(opponents, Iterable):
        return type(opponents).__name__
    return f"[{', '.join(map(_source_text, opponents))}]"
