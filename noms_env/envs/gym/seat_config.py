"""Arguments of the environments for one learner: its seat, and the other players with their random numbers."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path
from typing import Literal, Unpack, get_args

import numpy as np

from noms_env.core.actions import brief, is_integer
from noms_env.core.messages import literal
from noms_env.envs.common import Observation, checked_layout, make_table, observation_space
from noms_env.envs.option_types import Options
from noms_env.envs.validation import (
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
from noms_env.variants import RulesError

SeatRule = Literal["rotate", "random"]
"""Rules for the learner's seat, besides a fixed seat."""
Seat = int | SeatRule
SEAT_RULES: tuple[str, ...] = get_args(SeatRule)


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
        ends_if_illegal: whether an illegal action ends the episode.
        space: the space of the learner's observations.
        summary: the rules, seat, opponents and episode, and all other arguments that are not the default, in one line.
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
        self.reward = checked_choice("reward", reward, Reward)
        self.ends_if_illegal = checked_choice("illegal_action", illegal_action, IllegalAction) == "terminate"
        self.mask_in = checked_choice("mask_in", mask_in, MaskPlace)
        self.skip_forced = checked_flag("skip_forced", skip_forced)
        self.table = make_table(variant, seats, options, episode)
        self.feature_layout = checked_layout(observation, [self.table.rules], episode)
        self.space = observation_space(mask_in, self.feature_layout)
        self.players = load_players(opponents, self.table.seats - 1, self.table.rules, "opponents")
        self.seat = checked_seat(seat, self.table.seats)
        kind = "bytes" if self.feature_layout is None else "features"
        values = {"observation": kind, "reward": reward, "mask_in": mask_in, "skip_forced": skip_forced}
        defaults = {"observation": "features", "reward": "points", "mask_in": "observation", "skip_forced": False}
        chosen = {"seat": literal(seat), "opponents": _source_text(opponents), "episode": literal(episode)}
        chosen |= {name: literal(value) for name, value in values.items() if value != defaults[name]}
        listed = (f"{name}={value}" for name, value in chosen.items())
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


_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_OWN_SEAT, _RANDOM_PLAYERS = _FIRST, _SECOND
"""Purposes of random words, mixed into them."""


def is_random(player: object) -> bool:
    """Return whether the engine itself can choose for this player, with `batch_kernels.random_rows`."""
    from noms_env.players.random_player import RandomPlayer  # imported late, so that the package imports no player

    return type(player) is RandomPlayer


def checked_seat(seat: int | str, seats: int) -> int | str:
    """Return a seat, or a word of `SEAT_RULES`; raise RulesError for anything else."""
    if isinstance(seat, str) and seat in SEAT_RULES:
        return seat
    if not is_integer(seat) or not 0 <= int(seat) < seats:
        raise RulesError(f"seat must be a seat from 0 to {seats - 1}, 'rotate' or 'random', not {brief(seat)}")
    return int(seat)


def learner_seats(seat: int | str, seats: int, seeds: np.ndarray, matches: np.ndarray) -> np.ndarray:
    """Return the learner's seat in each row, int64, shape (n,): a function of the row's seed and the number of its episode.

    Args:
        seat: from `checked_seat`. `rotate` begins at seat `seed % seats` and moves one seat on with each episode.
        seats: number of seats at the table.
        seeds: int64, shape (n,).
        matches: int64, shape (n,): numbers of the episodes, from 0.
    """
    if seat == "rotate":
        return np.asarray((seeds % seats + matches) % seats)
    if seat == "random":
        words = _word(seeds, matches, _OWN_SEAT) >> np.uint64(32)
        return (words * np.uint64(seats) >> np.uint64(32)).astype(np.int64)
    return np.full(len(seeds), seat, np.int64)


def engine_streams(seeds: np.ndarray, matches: np.ndarray) -> np.ndarray:
    """Return the initial states for the engine's own random choices (`batch_kernels.random_rows`), int64, shape (m,).

    No player may see them: they are invertible, so that the seed of the deals follows from them.
    """
    return (_word(seeds, matches, _RANDOM_PLAYERS) % np.uint64(2**32 - 1)).astype(np.int64) + 1


class PlayerStreams:
    """Random streams of the players at the other seats: one for each row, independent of other rows.

    No draw reveals the seed of the deals. A stream begins with a BLAKE2b hash of the seed and the number of the episode, and
    continues with SplitMix64 (G. L. Steele, D. Lea, C. H. Flood, "Fast splittable pseudorandom number generators", OOPSLA
    2014). The output of SplitMix64 is invertible, so the state is added to it (as in the Davies-Meyer construction).
    """

    def __init__(self, rows: int) -> None:
        self._states = np.zeros(rows, np.uint64)

    def begin(self, rows: np.ndarray, seeds: np.ndarray, matches: np.ndarray) -> None:
        """Begin the streams of some rows, from seeds and numbers of episodes: all int64, shape (m,)."""
        pairs = np.stack([seeds, matches], axis=1).astype("<i8")
        hashes = b"".join(blake2b(pair.tobytes(), digest_size=8, person=b"player").digest() for pair in pairs)
        self._states[rows] = np.frombuffer(hashes, "<u8")

    def draw(self, rows: np.ndarray) -> np.ndarray:
        """Draw the next seed for `Player.act` in each of some rows: int64, shape (m,), from 0 to 2**63 - 1."""
        states = self._states[rows] + _GOLDEN
        self._states[rows] = states
        return np.asarray((_mixed(states) + states >> np.uint64(1)).astype(np.int64))


def _word(seeds: np.ndarray, matches: np.ndarray, purpose: np.uint64) -> np.ndarray:
    """Return a random word for each row, uint64, shape (m,), from its seed, the number of the episode and a purpose."""
    keys = _mixed(np.asarray(seeds).astype(np.uint64) + _GOLDEN)
    keys = _mixed(keys + np.asarray(matches).astype(np.uint64) * _GOLDEN)
    return _mixed(keys ^ purpose)


def _mixed(words: np.ndarray) -> np.ndarray:
    """Apply the output function of SplitMix64, a permutation of the 64-bit words."""
    words = (words ^ (words >> np.uint64(30))) * _FIRST
    words = (words ^ (words >> np.uint64(27))) * _SECOND
    return np.asarray(words ^ (words >> np.uint64(31)))
