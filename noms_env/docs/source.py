"""What the pages take from the code: the prose and the arguments in docstrings, and the defaults of options."""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
from dataclasses import dataclass
from typing import Any

from noms_env.envs.aec import TrickTakingEnv
from noms_env.variants import Variant, make_rules
from noms_env.variants.rulebook import Option

DEVIATIONS = "Deviations and decisions: "
_REFERENCE = r"(?:rules )?\d[\d.]*b?(?: `\w+`)?"
_REFERENCES = (
    (re.compile(rf" \({_REFERENCE}(?:, {_REFERENCE})*\)"), ""),
    (re.compile(rf", {_REFERENCE}(?=\))"), ""),
    (re.compile(r" \(`(?:tricks|noms_deck)`\)"), ""),
)
"""References to the rulebook and to modules, which mean nothing on a page, and what to put in their place."""


@dataclass(frozen=True)
class Prose:
    """The docstring of a rules file: the numbered rules, and what the rulebook decided."""

    rules: list[str]
    deviations: str


def prose(variant: str) -> Prose:
    """The rules of a variant as its file tells them."""
    parts = _paragraphs(f"noms_env.variants.{variant}")
    (numbered,) = (part for part in parts if part.startswith("1. "))
    (deviations,) = (part for part in parts if part.startswith(DEVIATIONS))
    return Prose(_items(numbered), _capitalised(_flat(deviations.removeprefix(DEVIATIONS))))


def family_rules(module: str) -> list[str]:
    """The numbered rules in the docstring of a file that several variants share."""
    (numbered,) = (part for part in _paragraphs(f"noms_env.variants.{module}") if part.startswith("1. "))
    return _items(numbered)


def second_paragraph(module: str) -> str:
    """What a rules file says after its headline."""
    return _flat(_paragraphs(f"noms_env.variants.{module}")[1])


def _paragraphs(module: str) -> list[str]:
    """The paragraphs of a module's docstring."""
    return (sys.modules[module].__doc__ or "").strip().split("\n\n")


def _items(paragraph: str) -> list[str]:
    """The items of a numbered list, without their numbers."""
    return [_flat(item) for item in re.split(r"(?m)^\d+\. ", paragraph) if item]


def _flat(text: str) -> str:
    """The text on one line, without references to the rulebook."""
    line = " ".join(text.split())
    for pattern, instead in _REFERENCES:
        line = pattern.sub(instead, line)
    return line


def _capitalised(text: str) -> str:
    """The text with a capital letter to begin with."""
    return text[:1].upper() + text[1:]


# ----------------------------------------------------------------------------------------------- arguments and options


def arguments() -> dict[str, tuple[Any, str]]:
    """The arguments that all variants have: their defaults, and what the docstring of the environment says of them."""
    docstring = inspect.cleandoc(TrickTakingEnv.__init__.__doc__ or "")
    block = textwrap.dedent(docstring.partition("Args:\n")[2].partition("\n\n")[0])
    said = re.findall(r"(?m)^(\w+): (.+(?:\n .+)*)", block)
    parameters = inspect.signature(TrickTakingEnv.__init__).parameters
    return {name: (parameters[name].default, " ".join(text.split())) for name, text in said if name in parameters}


def defaults(variant: Variant, option: Option) -> dict[int, Any]:
    """The value of an option that is not given, for each number of seats that the rulebook allows."""
    low, high = variant.seats
    return {seats: make_rules(variant, seats).options[option.name] for seats in range(low, high + 1)}
