"""What browsers send, checked before anything is done with it. Nothing in it is trusted."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from noms_env._json import parse_json
from noms_env.core.messages import clean_name

from .live import SPEEDS, RefusedError

MOST_TEXT = 200
"""Letters of a text within a message."""
MOST_NAME = 40
"""Letters of a person's name."""
MOST_OPTIONS, MOST_SEATS = 64, 16


@dataclass(frozen=True)
class Limits:
    """What a server puts up with.

    Attributes:
        message_bytes: of a message on a socket.
        body_bytes: of a request, such as a file of records.
        rate: messages a second on a socket, on the mean; twice as many seconds of them may come at once.
        tables: at a time.
        sockets: of spectators at a table.
        idle_hours: after which a table where nobody is gets removed.
        film_deals: of a file that is replayed.
        analysis_seconds: between two analyses at a table.
        film_seconds: between two films of a deal at a table, and between two times that its records are given.
        pace: seconds before a decision of a player at least, also where a table wants none: what it thinks shall not be seen.
        thought_seconds: that a player may think, its first compiling included; then it counts as failed.
        queued_bytes: that wait to be sent to a browser; one that takes less is left behind.
    """

    message_bytes: int = 4096
    body_bytes: int = 2_000_000
    rate: float = 20
    tables: int = 200
    sockets: int = 32
    idle_hours: float = 72
    film_deals: int = 30
    analysis_seconds: float = 10
    film_seconds: float = 1
    pace: float = 0.2
    thought_seconds: float = 120
    queued_bytes: int = 2_000_000


@dataclass
class Allowance:
    """How many messages may still come: a bucket that fills with time.

    Attributes:
        rate: messages a second.
        clock: seconds.
    """

    rate: float
    clock: Callable[[], float] = time.monotonic
    _left: float = field(init=False)
    _at: float = field(init=False)

    def __post_init__(self) -> None:
        self._left, self._at = 2 * self.rate, self.clock()

    def take(self) -> bool:
        """Whether one more may come; if so it is taken."""
        now = self.clock()
        self._left = min(2 * self.rate, self._left + (now - self._at) * self.rate)
        self._at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True


def _text(value: Any, most: int = MOST_TEXT) -> str:
    if not isinstance(value, str) or len(value) > most or any("\ud800" <= sign <= "\udfff" for sign in value):
        raise RefusedError(f"a text of {most} letters at most was expected")
    return value


def _key(value: Any) -> str:
    return "" if value is None else _text(value)


def _seat(value: Any) -> int:
    if type(value) is not int or not 0 <= value < MOST_SEATS:
        raise RefusedError("a seat was expected")
    return value


def _speed(value: Any) -> float:
    if type(value) not in (int, float) or not SPEEDS[0] <= value <= SPEEDS[1]:
        raise RefusedError(f"the speed must be from {SPEEDS[0]} to {SPEEDS[1]} seconds")
    return float(value)


def _flag(value: Any) -> bool:
    if type(value) is not bool:
        raise RefusedError("true or false was expected")
    return value


FIELDS: dict[str, dict[str, Callable[[Any], Any]]] = {
    "hello": {"table": _text, "key": _key, "token": _key},
    "act": {"word": _text, "moment": _text},
    "back": {},
    "hint": {},
    "next": {},
    "records": {},
    "film": {"analyse": _flag},
    "speed": {"seconds": _speed},
    "replace": {"seat": _seat, "player": _text},
    "sit": {},
}
"""What may be asked for on a socket, and what else such a message holds."""


def parsed(text: str) -> dict[str, Any]:
    """A message from a socket: `do`, and the fields of that.

    Raises:
        RefusedError: it is no such message.
    """
    message = parsed_object(text)
    job = message.get("do")
    wanted = FIELDS.get(job) if isinstance(job, str) else None
    if wanted is None or set(message) != {"do", *wanted}:
        raise RefusedError("there is no such message")
    return {"do": job, **{name: check(message[name]) for name, check in wanted.items()}}


def parsed_object(text: str) -> dict[str, Any]:
    """An object of JSON.

    Raises:
        RefusedError: the text is none.
    """
    try:
        message = parse_json(text)
    except ValueError:
        message = None
    if not isinstance(message, dict):
        raise RefusedError("an object of JSON was expected")
    return message


def parsed_claim(text: str) -> tuple[str, str, str]:
    """A request for a seat: the table, the invitation, and the key of whoever sits there from now on.

    Raises:
        RefusedError: it is none.
    """
    told = parsed_object(text)
    return _text(told.get("table")), _text(told.get("invitation")), _text(told.get("key"))


@dataclass(frozen=True)
class TableRequest:
    """A table that somebody wants.

    Attributes:
        variant: name of the game.
        seats: their number.
        options: as text, by name; `noms_training.options.parse_value` reads them.
        players: names of players, seat by seat; None where a person sits.
        people: names of people, by seat.
        hints: name of the player that gives hints.
    """

    variant: str
    seats: int
    options: Mapping[str, str]
    players: tuple[str | None, ...]
    people: Mapping[int, str]
    hints: str


def parsed_request(text: str) -> TableRequest:
    """A request for a table.

    Raises:
        RefusedError: it is none.
    """
    given = parsed_object(text)
    options, players, people = given.get("options", {}), given.get("players"), given.get("people", {})
    if not isinstance(options, dict) or not isinstance(people, dict) or not isinstance(players, list):
        raise RefusedError("a table wants options, players and people")
    fits = len(players) <= MOST_SEATS and len(people) <= MOST_SEATS and len(options) <= MOST_OPTIONS
    if not fits or not all(seat.isascii() and seat.isdigit() and len(seat) < 3 for seat in people):
        raise RefusedError("a table wants a player or a person for each seat")
    return TableRequest(
        _text(given.get("variant")),
        _seat(given.get("seats")),
        {_text(name): _text(value) for name, value in options.items()},
        tuple(None if name is None else _text(name) for name in players),
        {int(seat): clean_name(_text(name, MOST_NAME)) or f"Seat {int(seat)}" for seat, name in people.items()},
        _text(given.get("hints")),
    )
