"""The format of a record: its keys, their values, and the check for damage."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from noms_env.core.state import MAX_MULTIPLIER, MAX_POINTS, MAX_SEATS
from noms_env.variants import VARIANTS

FORMAT = "noms-record/1"

MAX_WHOLE = 2**53
"""Largest integer in a record, except multipliers: beyond it, JSON readers disagree on integers."""

SAME = 1e-9
"""Points that differ by less are equal, since fractions of a point add up with rounding errors."""

Record = dict[str, Any]


class RecordError(ValueError):
    """A record that cannot be replayed; the message is one sentence."""


def is_whole(value: Any, low: int = 0, high: int = MAX_WHOLE) -> bool:
    """Return whether a JSON value is an integer within limits; booleans are not."""
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def is_number(value: Any) -> bool:
    """Return whether a JSON value is a possible number of points."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= MAX_POINTS


def _are_words(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(word, str) for word in value)


def _is_option_value(value: Any) -> bool:
    is_small_number = is_number(value) and abs(value) <= MAX_WHOLE
    return value is None or isinstance(value, str | bool) or is_small_number or _are_words(value)


_Shape = tuple[str, Callable[[Any, int], bool]]
_WHOLE: _Shape = (f"a whole number from 0 to {MAX_WHOLE}", lambda value, _seats: is_whole(value))
_SEAT: _Shape = ("a seat", lambda value, seats: is_whole(value, 0, seats - 1))
_SEAT_OR_NULL: _Shape = ("a seat or null", lambda value, seats: value is None or is_whole(value, 0, seats - 1))
_WORD_OR_NULL: _Shape = ("a word or null", lambda value, _seats: value is None or isinstance(value, str))
_WORDS: _Shape = ("a list of cards", lambda value, _seats: _are_words(value))
_NAME: _Shape = ("a word", lambda value, _seats: isinstance(value, str))
_BOOL: _Shape = ("true or false", lambda value, _seats: isinstance(value, bool))


def _for_seats(values: str, test: Callable[[Any], bool]) -> _Shape:
    words = f"a list of {values}, one for each seat"
    return words, lambda value, seats: isinstance(value, list) and len(value) == seats and all(map(test, value))


_POINTS = _for_seats("numbers", is_number)

SHAPES: dict[str, _Shape] = {
    "format": (repr(FORMAT), lambda value, _seats: bool(value == FORMAT)),
    "variant": ("a variant", lambda value, _seats: isinstance(value, str) and value in VARIANTS),
    "seats": (f"a number from 2 to {MAX_SEATS}", lambda value, _seats: is_whole(value, 2, MAX_SEATS)),
    "options": (
        "an object of words, numbers, true, false, null and lists of words",
        lambda value, _seats: isinstance(value, dict) and all(map(_is_option_value, value.values())),
    ),
    "match": _WHOLE,
    "deal": _WHOLE,
    "dealer": _SEAT,
    "hand_size": _WHOLE,
    "deck": _WORDS,
    "hands": _for_seats("lists of cards", _are_words),
    "stock": _WORDS,
    "turn_up": _WORD_OR_NULL,
    "multiplier": ("a whole number from 1 to 2**999", lambda value, _seats: is_whole(value, 1, int(MAX_MULTIPLIER))),
    "before": _POINTS,
    "steps": ("a list of objects", lambda value, _seats: isinstance(value, list)),
    "trump": _WORD_OR_NULL,
    "declarer": _SEAT_OR_NULL,
    "nominated": _WORD_OR_NULL,
    "partner": _SEAT_OR_NULL,
    "tricks": _for_seats("whole numbers", is_whole),
    "points": _POINTS,
    "after": _POINTS,
    "over": _BOOL,
    "truncated": _BOOL,
    "winners": (
        "a list of seats",
        lambda value, seats: isinstance(value, list) and all(is_whole(seat, 0, seats - 1) for seat in value),
    ),
}
"""The keys of a record in order, each with its allowed values in words and as a test of (value, seats)."""

STEP_SHAPES: dict[str, _Shape] = {"seat": _SEAT, "phase": _NAME, "action": _NAME}


def find_damage(record: Any) -> str | None:
    """Return why a JSON value does not have the format of a record; None if it has."""
    if not isinstance(record, dict):
        return f"the line is not an object but {brief(record)}"
    damage = _find_misshapen_key(record, SHAPES, 0)
    if damage:
        return damage
    for place, step in enumerate(record["steps"]):
        if not isinstance(step, dict):
            return f"step {place} is not an object but {brief(step)}"
        damage = _find_misshapen_key(step, STEP_SHAPES, record["seats"])
        if damage is None and not _are_words(step.get("legal", [])):
            damage = f"legal must be a list of words, not {brief(step['legal'])}"
        if damage:
            return f"step {place}: {damage}"
    return None


def _find_misshapen_key(values: dict[str, Any], shapes: Mapping[str, _Shape], seats: int) -> str | None:
    """Return an error for missing keys or the first misshapen value; `seats` is read from the values, if they have it."""
    missing = [key for key in shapes if key not in values]
    if missing:
        return f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing"
    for key, (words, test) in shapes.items():
        if not test(values[key], seats):
            return f"{key} must be {words}, not {brief(values[key])}"
        if key == "seats":
            seats = values[key]
    return None


def brief(value: Any) -> str:
    """Return a value as JSON for a message, cut short if it is long."""
    try:
        text = json.dumps(value)
    except RecursionError:
        return "something nested too deeply"
    except ValueError:
        return "a number with too many digits"
    return text if len(text) <= 120 else f"{text[:120]}..."
