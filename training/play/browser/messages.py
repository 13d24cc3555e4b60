"""Validation of untrusted messages from browsers."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from noms_env._json import parse_json
from noms_env.core.messages import clean_name
from noms_env.core.state import MAX_SEATS

from .live import SPEEDS, SUBSTITUTE, RefusedError

LOOPBACK = ("127.0.0.1", "localhost", "::1", "[::1]")
"""Host names of this machine."""
MAX_TEXT = 200
"""Maximum length of a text in a message."""
MAX_NAME = 40
"""Maximum length of a person's name."""
MAX_OPTIONS, MAX_DEALS = 64, 1_000_000
MAX_NUMBER = 1 << 16
"""Upper bound of the numbers of deals and decisions."""


@dataclass(frozen=True)
class Limits:
    """The server's limits.

    Attributes:
        message_bytes: size of a message on a socket.
        body_bytes: size of a request body, such as a file of records.
        rate: average messages per second on a socket; bursts of two seconds are allowed.
        tables: number of tables.
        sockets: spectators per table.
        idle_hours: hours after which an empty table is removed.
        film_deals: deals per replayed file.
        analysis_seconds: minimum interval between analyses at a table.
        film_seconds: minimum interval between films of a deal at a table, and between downloads of its records.
        undo_seconds: minimum interval between undo requests at a table that others have to accept.
        pace: minimum delay of a player's decision in seconds, so that thinking time is not visible.
        thought_seconds: time limit of a player's decision, including compilation; a slower player has failed.
        queued_bytes: size of the queue for a browser; a slower client is disconnected.
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
        rate: messages per second.
        clock: clock in seconds.
    """

    rate: float
    clock: Callable[[], float] = time.monotonic
    _left: float = field(init=False)
    _at: float = field(init=False)

    def __post_init__(self) -> None:
        self._left, self._at = 2 * self.rate, self.clock()

    def take(self) -> bool:
        """Take a token; return False if none is left."""
        now = self.clock()
        self._left = min(2 * self.rate, self._left + (now - self._at) * self.rate)
        self._at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True


def _text(value: Any, most: int = MAX_TEXT) -> str:
    if not isinstance(value, str) or len(value) > most or any("\ud800" <= sign <= "\udfff" for sign in value):
        raise RefusedError(f"a text of at most {most} letters was expected")
    return value


def _key(value: Any) -> str:
    return "" if value is None else _text(value)


def _integer(what: str, low: int, high: int) -> Callable[[Any], int]:
    def check(value: Any) -> int:
        if type(value) is not int or not low <= value <= high:
            raise RefusedError(f"{what} from {low} to {high} was expected")
        return value

    return check


_seat, _deal = _integer("a seat", 0, MAX_SEATS - 1), _integer("the number of a deal", 1, MAX_DEALS)
_number = _integer("a number", 0, MAX_NUMBER - 1)


def _guest_name(value: Any) -> str:
    return clean_name(_text(value, MAX_NAME))


def _name(value: Any) -> str:
    name = _guest_name(value)
    if not name:
        raise RefusedError(f"a name of 1 to {MAX_NAME} letters was expected")
    return name


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
"""Requests on a socket, each with its fields and their parsers."""
BODIES: dict[str, dict[str, Callable[[Any], Any]]] = {
    "seat": {"table": _text, "invitation": _text, "key": _text},
    "day": {"variant": _text, "name": _guest_name, "practice": _flag},
    "again": {"table": _text, "key": _text, "moment": _text},
    "picture": {"table": _text, "key": _text, "deal": _number},
}
"""Bodies of HTTP requests, each with its fields and their parsers."""


def parse_message(text: str) -> dict[str, Any]:
    """Parse a message from a socket into `do` and the fields of that request, or raise `RefusedError`."""
    message = parse_object(text)
    job = message.get("do")
    fields = FIELDS.get(job) if isinstance(job, str) else None
    if fields is None or set(message) != {"do", *fields}:
        raise RefusedError("there is no such message")
    return {"do": job, **{name: check(message[name]) for name, check in fields.items()}}


def parse_object(text: str) -> dict[str, Any]:
    """Parse a JSON object, or raise `RefusedError`."""
    try:
        message = parse_json(text)
    except ValueError:
        message = None
    if not isinstance(message, dict):
        raise RefusedError("a JSON object was expected")
    return message


def parse_body(kind: str, text: str) -> tuple[Any, ...]:
    """Parse the body of an HTTP request into the fields of `BODIES`, in their order, or raise `RefusedError`."""
    body = parse_object(text)
    return tuple(check(body.get(name)) for name, check in BODIES[kind].items())


@dataclass(frozen=True)
class TableRequest:
    """A request for a table.

    Attributes:
        variant: name of the game.
        seats: number of seats.
        options: options as text, by name; see `noms_training.options.parse_value`.
        players: names of players by seat; None for a person.
        people: names of people by seat; empty for guests, who enter their own.
        hints: name of the player that gives hints.
        host: seat of the person who opens the table; None without a seat.
        substitute: name of the player that replaces an absent person.
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
    """Parse a request for a table, or raise `RefusedError`."""
    request = parse_object(text)
    options, players, people = request.get("options", {}), request.get("players"), request.get("people", {})
    if not isinstance(options, dict) or not isinstance(people, dict) or not isinstance(players, list):
        raise RefusedError("a table must have options, players and people")
    host = request.get("host")
    fits = len(players) <= MAX_SEATS and len(people) <= MAX_SEATS and len(options) <= MAX_OPTIONS
    if not fits or not all(seat.isascii() and seat.isdigit() and len(seat) < 3 for seat in people):
        raise RefusedError("a table must have a player or a person for each seat")
    return TableRequest(
        _text(request.get("variant")),
        _number(request.get("seats")),
        {_text(name): _text(value) for name, value in options.items()},
        tuple(None if name is None else _text(name) for name in players),
        {int(seat): _guest_name(name) for seat, name in people.items()},
        _text(request.get("hints")),
        None if host is None else _seat(host),
        _text(request.get("substitute", SUBSTITUTE)),
    )
