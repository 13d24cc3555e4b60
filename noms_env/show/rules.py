"""Rules of a game as text, from the docstrings of the variants, and the names of its cards."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator

from noms_env.variants import Rules, make_rules

_REFERENCE = r"(?:rules )?\d[\d.]*b?(?: `\w+`)?"
_REFERENCES = rf" \({_REFERENCE}(?:, {_REFERENCE})*\)|, {_REFERENCE}(?=\))| \(`(?:tricks|noms_deck)`\)"
"""References to the rulebook and to modules, omitted from the text."""

SUIT_NAMES = (("Clubs", "Diamonds", "Hearts", "Spades"), ("Moons", "Suns", "Waves", "Leaves", "Wyrms", "Knots"))
"""Names of the suits per deck, in the order of `SUIT_LETTERS`."""
LEGENDS = (
    "C clubs, D diamonds, H hearts, S spades; from high to low A K Q J T (10) 9 8 7 6 5 4 3 2",
    "M Moons, S Suns, W Waves, L Leaves, Y Wyrms, K Knots; from low to high A (ace) 2 3 4 5 6 7 8 9 C (crown). "
    "Aces and crowns have one suit, the others two: 2MK is the 2 of Moons and Knots. EX, the Excuse, has none.",
)
"""Explanation of the card letters, per deck."""


def paragraphs(module: str) -> list[str]:
    """Return the paragraphs of a module's docstring, each on one line except numbered lists."""
    text = re.sub(_REFERENCES, "", re.sub(r"\n +", " ", inspect.getdoc(sys.modules[module]) or ""))
    return [part if part.startswith("1. ") else " ".join(part.split()) for part in text.split("\n\n")]


def numbered_rules(module: str) -> str:
    """Return the numbered rules of a module's docstring."""
    (rules,) = (part for part in paragraphs(module) if part.startswith("1. "))
    return rules


def rules_in_brief(rules: Rules) -> Iterator[str]:
    """Return the rules of a table in brief: how to play, and each option that differs from its default."""
    game = rules.variant
    yield game.intro
    for rule in numbered_rules(f"noms_env.variants.{game.name}").replace("`", "").splitlines():
        yield rule.replace(". ", ".  ", 1)
    usual = make_rules(game).options
    changed = [option for option in game.options if rules.options[option.name] != usual[option.name]]
    yield "At this table, " + ("these options differ:" if changed else "all options have their usual values.")
    for option in changed:
        value = rules.options[option.name]
        meanings = dict(re.findall(r"`(\w+)`: ([^;]+)", game.details.get(option.name, "")))
        meaning = meanings.get(str(value), option.doc).replace("`", "")
        yield f"{option.name} is {value}, usually {usual[option.name]}: {meaning}"
