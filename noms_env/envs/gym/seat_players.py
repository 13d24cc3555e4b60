"""The other seats of an environment for one learner: who plays there, where the learner sits, and their random numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from noms_env.core.actions import is_integer
from noms_env.core.chance import MAX_SEED
from noms_env.players import PLAYERS, Player, load_player, make_player
from noms_env.variants import Rules, RulesError

Opponents = str | Path | Player | Sequence[str | Path | Player]
"""One player for all other seats, or one for each, clockwise from the learner's left."""

SEAT_RULES = ("rotate", "random")
"""Where the learner may sit, beside a seat of its own."""

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_PLAYERS, _OWN_SEAT, _RANDOM_PLAYERS = np.uint64(0), _FIRST, _SECOND
"""Purposes: what a random word is for."""


# ------------------------------------------------------------------------------------------------------- who plays


def seated_players(opponents: Opponents, rules: Rules) -> list[Player]:
    """The players of the other seats, clockwise from the learner's left, shape (seats - 1,).

    Args:
        opponents: one for all of them or one for each: a name (`make_player`), the name, file or folder of a policy
            (`load_player`), or a player. A name that is given twice is one player.
        rules: of the table.

    Raises:
        ValueError: there is no such player, it cannot sit at this table, or there are not as many as other seats.
    """
    places = rules.seats - 1
    given = _listed(opponents, places)
    if len(given) != places:
        raise ValueError(
            f"opponents must be one player for all {places} other seats, or {places} of them, clockwise from the learner's "
            f"left, not {len(given)}"
        )
    named = {name: _named_player(name) for name in dict.fromkeys(one for one in given if isinstance(one, str | Path))}
    players = [named[one] if isinstance(one, str | Path) else one for one in given]
    for name, player in zip(given, players, strict=True):
        _check_player(name, player, rules)
    return players


def _listed(opponents: Any, places: int) -> list[Any]:
    """One player for each place, if one was given; else those that were given."""
    is_one = isinstance(opponents, str | Path) or not isinstance(opponents, Iterable)
    return [opponents] * places if is_one else list(opponents)


def _named_player(name: str | Path) -> Player:
    """The player that a name or a path stands for."""
    if isinstance(name, str) and name.partition(":")[0] in PLAYERS:
        return make_player(name)
    from noms_env.policy.player import is_policy_name  # here, since it takes time to import and few want it

    if isinstance(name, str) and not (is_policy_name(name) or Path(name).exists() or name.endswith(".safetensors")):
        raise ValueError(f"there is no player {name!r}; the players are {', '.join(PLAYERS)}, and policies by name or file")
    return load_player(name)


def _check_player(name: object, player: Any, rules: Rules) -> None:
    """Refuse what cannot play, and a policy that was trained for other tables."""
    if not callable(getattr(player, "act", None)) or not isinstance(getattr(player, "wants_tables", None), bool):
        raise ValueError(f"a player must be a name, a path, or have act and wants_tables (players.Player), not {player!r}")
    rule_sets = getattr(player, "rule_sets", None)
    if rule_sets is not None and rules not in rule_sets:
        trained = ", ".join(dict.fromkeys(f"{kind.variant.name} with {kind.seats} seats" for kind in rule_sets))
        own = f"{rules.variant.name} with {rules.seats} seats"
        raise ValueError(f"the policy {name!s} was trained for {trained}, not for {own} and these options")


def is_random(player: object) -> bool:
    """Whether the engine itself can choose for a player, by `engine.many.random_rows`."""
    from noms_env.players.random_player import RandomPlayer  # here, since no player is imported with the package

    return type(player) is RandomPlayer


# ------------------------------------------------------------------------------------------- where the learner sits


def checked_seat(seat: int | str, seats: int) -> int | str:
    """A seat number, or a word of `SEAT_RULES`.

    Raises:
        ValueError: it is neither.
    """
    if isinstance(seat, str) and seat in SEAT_RULES:
        return seat
    if not is_integer(seat) or not 0 <= int(seat) < seats:
        raise RulesError(f"seat must be a seat from 0 to {seats - 1}, 'rotate' or 'random', not {seat!r}")
    return int(seat)


def learner_seats(seat: int | str, seats: int, seeds: np.ndarray, matches: np.ndarray) -> np.ndarray:
    """The learner's seat in each row; a function of the row's seed and of the number of the episode alone.

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


# -------------------------------------------------------------------------------------------------- random numbers


class RowStreams(np.random.Generator):
    """The random numbers of the other seats: a stream for each row, whatever happens in other rows.

    It is handed to players as their generator. A player draws one integer for each row that it is asked for
    (`players.row_seeds`); here that integer comes from the stream of its row, by SplitMix64 (G. L. Steele, D. Lea,
    C. H. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014). For any other draw it is a plain generator,
    which all rows share.

    Attributes:
        rows: int64, shape (m,): the rows that the next integers are for.
        words: int64, shape (n,): the states for the engine's own random choices (`engine.many.random_rows`).
    """

    def __init__(self, rows: int) -> None:
        """Make the streams of so many rows; `begin` sets them."""
        super().__init__(np.random.PCG64(0))
        self.rows = np.arange(rows)
        self.words = np.ones(rows, np.int64)
        self._states = np.zeros(rows, np.uint64)

    def begin(self, rows: np.ndarray, seeds: np.ndarray, matches: np.ndarray) -> None:
        """Begin the streams of some rows anew: they follow from the row's seed and from the number of the episode.

        Args:
            rows: int64, shape (m,).
            seeds: int64, shape (m,).
            matches: int64, shape (m,).
        """
        self._states[rows] = _word(seeds, matches, _PLAYERS)
        words = _word(seeds, matches, _RANDOM_PLAYERS) % np.uint64(2**32 - 1)
        self.words[rows] = words.astype(np.int64) + 1

    def reseed(self) -> None:
        """Let the generator that all rows share follow from the stream of row 0."""
        self.bit_generator.state = np.random.PCG64(int(self._states[0])).state

    def integers(self, low: Any, high: Any = None, size: Any = None, dtype: Any = np.int64, endpoint: bool = False) -> Any:
        """See `numpy.random.Generator.integers`; what `players.row_seeds` asks for comes from the streams of `rows`."""
        if not (endpoint and high is None and is_integer(low) and low == MAX_SEED and size == len(self.rows)):
            return super().integers(low, high, size=size, dtype=dtype, endpoint=endpoint)
        states = self._states[self.rows] + _GOLDEN
        self._states[self.rows] = states
        return (_mixed(states) >> np.uint64(1)).astype(np.int64)

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickle and deepcopy, which would make a plain generator of it."""
        return _restored, (self.bit_generator, self.rows, self.words, self._states)


def _restored(bit_generator: np.random.BitGenerator, rows: np.ndarray, words: np.ndarray, states: np.ndarray) -> RowStreams:
    """Streams from what `RowStreams.__reduce__` kept."""
    streams = RowStreams(len(words))
    streams.bit_generator.state = bit_generator.state
    streams.rows, streams.words, streams._states = rows, words, states
    return streams


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
