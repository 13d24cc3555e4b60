"""The learner's seat, and the random numbers of the players at the other seats."""

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
"""Purposes of random words, mixed into them."""


def is_random(player: object) -> bool:
    """Return whether the engine itself can choose for this player, with `batch_kernels.random_rows`."""
    from noms_env.players.random_player import RandomPlayer  # imported late, so that the package imports no player

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
    """Return the learner's seat in each row: a function of the row's seed and the number of its episode.

    Args:
        seat: from `checked_seat`. `rotate` begins at seat `seed % seats` and moves one seat on with each episode.
        seats: number of seats at the table.
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
