"""Game options as command-line words, NAME=VALUE."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import tyro

if TYPE_CHECKING:
    from noms_env.variants import Rules

PYTHON_WORDS = {"True": True, "False": False, "None": None}


def by_default(text: str, metavar: str | None = None, **options: Any) -> Any:
    """Return tyro argument settings that describe the default in words."""
    return tyro.conf.arg(metavar=metavar, help_behavior_hint=f"(default: {text})", **options)


def rules_of(variant: str, seats: int | None, option: Iterable[str]) -> Rules:
    """Return the rules of a variant, number of seats and `name=value` options; ValueError if they are invalid."""
    from noms_env.variants import game, make_rules

    return make_rules(game(variant), seats, parse_options(option))


def parse_options(words: Iterable[str]) -> dict[str, Any]:
    """Parse `name=value` words; a value is JSON, or else a plain word.

    Raises:
        ValueError: a word has another form, or a name occurs twice.
    """
    values = _parse_pairs(words, "option", "target=50")
    for name, of_name in values.items():
        if len(of_name) > 1:
            raise ValueError(f"--option {name} is given twice")
    return {name: value for name, (value,) in values.items()}


def parse_held_out(words: Iterable[str]) -> dict[str, list[Any]]:
    """Parse `name=value` words into lists of values by name; ValueError if a word has another form."""
    return _parse_pairs(words, "held-out", "half=floor")


def _parse_pairs(words: Iterable[str], flag: str, example: str) -> dict[str, list[Any]]:
    values: dict[str, list[Any]] = {}
    for text in words:
        name, sign, value = text.partition("=")
        if not sign or not name:
            raise ValueError(f"--{flag} wants NAME=VALUE, such as {example}, not {text!r}")
        values.setdefault(name, []).append(parse_value(value))
    return values


def parse_value(text: str) -> Any:
    """Parse a value as JSON (or Python's True, False, None); any other text is returned unchanged."""
    if text in PYTHON_WORDS:
        return PYTHON_WORDS[text]
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
