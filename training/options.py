"""Options of games as words of the command line, NAME=VALUE."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import tyro

if TYPE_CHECKING:
    from noms_env.variants import Rules

OFF = tyro.conf.arg(help_behavior_hint="")
"""For a flag, which is off by default."""
PYTHON_WORDS = {"True": True, "False": False, "None": None}


def by_default(says: str, metavar: str | None = None, **more: Any) -> Any:
    """For an argument of the command line that may be left out: what holds then, in words, as tyro's `arg`."""
    return tyro.conf.arg(metavar=metavar, help_behavior_hint=f"(default: {says})", **more)


def rules_of(variant: str, seats: int | None, option: Iterable[str]) -> Rules:
    """The rules that the words of a command line name; ValueError if there are none."""
    from noms_env.variants import game, make_rules

    return make_rules(game(variant), seats, parse_options(option))


def parse_options(words: Iterable[str]) -> dict[str, Any]:
    """Options from `name=value` words; a value is JSON, or else a word.

    Raises:
        ValueError: one is not of this form, or is given twice.
    """
    options: dict[str, Any] = {}
    for text in words:
        name, sign, value = text.partition("=")
        if not sign or not name:
            raise ValueError(f"--option wants NAME=VALUE, such as target=50, not {text!r}")
        if name in options:
            raise ValueError(f"--option {name} is given twice")
        options[name] = parse_value(value)
    return options


def parse_held_out(words: Iterable[str]) -> dict[str, list[Any]]:
    """The values of `name=value` words by name; ValueError if one is not of this form."""
    values: dict[str, list[Any]] = {}
    for text in words:
        name, sign, value = text.partition("=")
        if not sign or not name:
            raise ValueError(f"--held-out wants NAME=VALUE, such as half=floor, not {text!r}")
        values.setdefault(name, []).append(parse_value(value))
    return values


def parse_value(text: str) -> Any:
    """A value from JSON (or Python's True, False, None), or else the word itself."""
    if text in PYTHON_WORDS:
        return PYTHON_WORDS[text]
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
