"""The seats of an environment for one learner: where the learner sits, and the random numbers of the others."""

from __future__ import annotations

from hashlib import blake2b
from typing import Literal, get_args

import numpy as np

from noms_env.core.actions import brief, is_integer
from noms_env.variants import RulesError

SeatRule = Literal["rotate", "random"]
"""Rules for the learner's seat, besides a fixed seat."""
Seat = int | SeatRule
SEAT_RULES: tuple[str, ...] = get_args(SeatRule)

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_OWN_SEAT, _RANDOM_PLAYERS = _FIRST, _SECOND
"""Purposes: what a random word is for."""


def is_random(player: object) -> bool:
    """Whether the engine itself can choose for this player, with `batch_kernels.random_rows`."""
    from noms_env.players.random_player import RandomPlayer  # here, since no player is imported with the package

    return type(player) is RandomPlayer


def checked_seat(seat: int | str, seats: int) -> int | str:
    """Return a seat, or a word of `SEAT_RULES`.

    Raises:
        ValueError: it is neither.
    """
    if isinstance(seat, str) and seat in SEAT_RULES:
        return seat
    if not is_integer(seat) or not 0 <= int(seat) < seats:
        raise RulesError(f"seat must be a seat from 0 to {seats - 1}, 'rotate' or 'random', not {brief(seat)}")
    return int(seat)


def learner_seats(seat: int | str, seats: int, seeds: np.ndarray, matches: np.ndarray) -> np.ndarray:
    """The learner's seat in each row: a function of the row's seed and the number of its episode.

    Args:
        seat: from `checked_seat`. `rotate` begins at seat `seed % seats` and goes one seat on with each episode.
        seats: at the table.
        seeds: int64, shape (n,).
        matches: int64, shape (n,): numbers of the episodes, from 0.

    Returns:
        int64, shape (n,).
    """
    if seat == "rotate":
        return np.asarray((seeds % seats + matches) % seats)
    if seat == "random":
        words = _word(seeds, matches, _OWN_SEAT) >> np.uint64(32)
        return (words * np.uint64(seats) >> np.uint64(32)).astype(np.int64)
    return np.full(len(seeds), seat, np.int64)


def engine_streams(seeds: np.ndarray, matches: np.ndarray) -> np.ndarray:
    """The states for the engine's own random choices (`batch_kernels.random_rows`) as the episodes begin, int64, shape (m,).

    No player may see them: what they are made of can be worked out from them.
    """
    return (_word(seeds, matches, _RANDOM_PLAYERS) % np.uint64(2**32 - 1)).astype(np.int64) + 1


class PlayerStreams:
    """The random numbers of the players at other seats: one stream for each row, independent of other rows.

    No draw gives away the seed of the deals: a stream begins with a BLAKE2b hash of the seed and the number of the episode, and
    goes on with SplitMix64 (G. L. Steele, D. Lea, C. H. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014),
    to whose output, which could be inverted, the state is added (as in the construction of Davies and Meyer).
    """

    def __init__(self, rows: int) -> None:
        self._states = np.zeros(rows, np.uint64)

    def begin(self, rows: np.ndarray, seeds: np.ndarray, matches: np.ndarray) -> None:
        """Begin the streams of some rows: a function of the row's seed and the number of its episode.

        Args:
            rows: int64, shape (m,).
            seeds: int64, shape (m,).
            matches: int64, shape (m,).
        """
        pairs = np.stack([seeds, matches], axis=1).astype("<i8")
        hashes = b"".join(blake2b(pair.tobytes(), digest_size=8, person=b"player").digest() for pair in pairs)
        self._states[rows] = np.frombuffer(hashes, "<u8")

    def draw(self, rows: np.ndarray) -> np.ndarray:
        """The next seed of each of some rows, int64, shape (m,), from 0 to 2**63 - 1 (`Player.act`)."""
        states = self._states[rows] + _GOLDEN
        self._states[rows] = states
        return np.asarray((_mixed(states) + states >> np.uint64(1)).astype(np.int64))


def _word(seeds: np.ndarray, matches: np.ndarray, purpose: np.uint64) -> np.ndarray:
    """A random word for each row, uint64, shape (m,), from its seed, the number of the episode and a purpose."""
    keys = _mixed(np.asarray(seeds).astype(np.uint64) + _GOLDEN)
    keys = _mixed(keys + np.asarray(matches).astype(np.uint64) * _GOLDEN)
    return _mixed(keys ^ purpose)


def _mixed(words: np.ndarray) -> np.ndarray:
    """The output function of SplitMix64, which is a permutation of the 64-bit words."""
    words = (words ^ (words >> np.uint64(30))) * _FIRST
    words = (words ^ (words >> np.uint64(27))) * _SECOND
    return np.asarray(words ^ (words >> np.uint64(31)))
