"""Messages from browsers: untrusted, and checked before use."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from noms_env._json import parse_json
from noms_env.core.messages import clean_name

from .live import SPEEDS, SUBSTITUTE, RefusedError

LOOPBACK = ("127.0.0.1", "localhost", "::1", "[::1]")
"""Hosts of this machine."""
MOST_TEXT = 200
"""Letters of a text within a message."""
MOST_NAME = 40
"""Letters of a person's name."""
MOST_OPTIONS, MOST_SEATS, MOST_DEALS = 64, 16, 1_000_000
MOST_NUMBER = 1 << 16
"""More than a match has deals, and a deal decisions."""


@dataclass(frozen=True)
class Limits:
    """The server's limits.

    Attributes:
        message_bytes: bytes of a message on a socket.
        body_bytes: bytes of a request, such as a file of records.
        rate: messages a second on a socket, on average, with bursts of two seconds.
        tables: tables at a time.
        sockets: spectators at a table.
        idle_hours: hours after which an empty table is removed.
        film_deals: deals of a replayed file.
        analysis_seconds: seconds between two analyses at a table.
        film_seconds: seconds between two films of a deal at a table, and between two downloads of its records.
        undo_seconds: seconds between two requests at a table to take back a decision, where others have to agree.
        pace: minimum seconds before a player's decision, so that thinking time is not visible.
        thought_seconds: seconds for a player's decision, compiling included; after that it has failed.
        queued_bytes: bytes queued for a browser; a slow client with more is disconnected.
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
    undo_seconds: float = 10
    pace: float = 0.2
    thought_seconds: float = 120
    queued_bytes: int = 2_000_000


@dataclass
class Allowance:
    """A token bucket of messages.

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
        """Take a token; False if there is none."""
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


def _number(value: Any) -> int:
    if type(value) is not int or not 0 <= value < MOST_NUMBER:
        raise RefusedError(f"a number from 0 to {MOST_NUMBER - 1} was expected")
    return value


def _name(value: Any) -> str:
    name = clean_name(_text(value, MOST_NAME))
    if not name:
        raise RefusedError(f"a name of 1 to {MOST_NAME} letters was expected")
    return name


def _deal(value: Any) -> int:
    if type(value) is not int or not 1 <= value <= MOST_DEALS:
        raise RefusedError("the number of a deal was expected")
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
    "film": {"deal": _deal, "analyse": _flag},
    "speed": {"seconds": _speed},
    "replace": {"seat": _seat, "player": _text},
    "sit": {},
    "end": {},
    "compare": {},
    "name": {"name": _name},
    "begin": {},
    "answer": {"seat": _seat, "moment": _text, "agrees": _flag},
    "moment": {"deal": _number, "decision": _number},
}
"""What may be asked for on a socket, and what else such a message holds."""


def parse_message(text: str) -> dict[str, Any]:
    """Parse a message from a socket: `do`, and the fields of that request.

    Raises:
        RefusedError: it is no valid message.
    """
    message = parse_object(text)
    job = message.get("do")
    wanted = FIELDS.get(job) if isinstance(job, str) else None
    if wanted is None or set(message) != {"do", *wanted}:
        raise RefusedError("there is no such message")
    return {"do": job, **{name: check(message[name]) for name, check in wanted.items()}}


def parse_object(text: str) -> dict[str, Any]:
    """Parse a JSON object.

    Raises:
        RefusedError: the text is no JSON object.
    """
    try:
        message = parse_json(text)
    except ValueError:
        message = None
    if not isinstance(message, dict):
        raise RefusedError("an object of JSON was expected")
    return message


def parse_claim(text: str) -> tuple[str, str, str]:
    """Parse a request for a seat: the table, the invitation, and the new key.

    Raises:
        RefusedError: it is no valid request.
    """
    told = parse_object(text)
    return _text(told.get("table")), _text(told.get("invitation")), _text(told.get("key"))


def parse_day(text: str) -> tuple[str, str, bool]:
    """Parse a request for the deal of the day: the game, the person's name, and whether it is for practice.

    Raises:
        RefusedError: it is no valid request.
    """
    told = parse_object(text)
    return _text(told.get("variant")), clean_name(_text(told.get("name"), MOST_NAME)) or "You", _flag(told.get("practice"))


def parse_again(text: str) -> tuple[str, str, str]:
    """Parse a request to try a decision again: the table, the key, and the moment.

    Raises:
        RefusedError: it is no valid request.
    """
    told = parse_object(text)
    return _text(told.get("table")), _text(told.get("key")), _text(told.get("moment"))


@dataclass(frozen=True)
class TableRequest:
    """A request for a table.

    Attributes:
        variant: name of the game.
        seats: their number.
        options: as text, by name; `noms_training.options.parse_value` reads them.
        players: names of players, seat by seat; None where a person sits.
        people: names of people, by seat; empty for guests who give theirs when they come.
        hints: name of the player that gives hints.
        host: seat of whoever opens the table; None if they have no seat.
        substitute: name of the player that takes the seat of a person who is not there.
    """

    variant: str
    seats: int
    options: Mapping[str, str]
    players: tuple[str | None, ...]
    people: Mapping[int, str]
    hints: str
    host: int | None
    substitute: str


def parse_request(text: str) -> TableRequest:
    """Parse a request for a table.

    Raises:
        RefusedError: it is no valid request.
    """
    request = parse_object(text)
    options, players, people = request.get("options", {}), request.get("players"), request.get("people", {})
    if not isinstance(options, dict) or not isinstance(people, dict) or not isinstance(players, list):
        raise RefusedError("a table wants options, players and people")
    host = request.get("host")
    fits = len(players) <= MOST_SEATS and len(people) <= MOST_SEATS and len(options) <= MOST_OPTIONS
    if not fits or not all(seat.isascii() and seat.isdigit() and len(seat) < 3 for seat in people):
        raise RefusedError("a table wants a player or a person for each seat")
    return TableRequest(
        _text(request.get("variant")),
        _seat(request.get("seats")),
        {_text(name): _text(value) for name, value in options.items()},
        tuple(None if name is None else _text(name) for name in players),
        {int(seat): clean_name(_text(name, MOST_NAME)) for seat, name in people.items()},
        _text(request.get("hints")),
        None if host is None else _seat(host),
        _text(request.get("substitute", SUBSTITUTE)),
    )
