"""The rules of a game as text, from the docstrings of the variants, and what its cards are called."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator

from noms_env.core.cards import FRENCH
from noms_env.variants import Rules, make_rules

_REFERENCE = r"(?:rules )?\d[\d.]*b?(?: `\w+`)?"
_REFERENCES = rf" \({_REFERENCE}(?:, {_REFERENCE})*\)|, {_REFERENCE}(?=\))| \(`(?:tricks|noms_deck)`\)"
"""References to the rulebook and to modules, which mean nothing to a reader."""

SUIT_NAMES = (("Clubs", "Diamonds", "Hearts", "Spades"), ("Moons", "Suns", "Waves", "Leaves", "Wyrms", "Knots"))
"""Per deck, in the order of `SUIT_LETTERS`."""
LEGENDS = (
    "C clubs, D diamonds, H hearts, S spades; from high to low A K Q J T (10) 9 8 7 6 5 4 3 2",
    "M Moons, S Suns, W Waves, L Leaves, Y Wyrms, K Knots; from low to high A (ace) 2 3 4 5 6 7 8 9 C (crown). "
    "Aces and crowns have one suit, the others two: 2MK is the 2 of Moons and Knots. EX, the Excuse, has none.",
)
"""Per deck, what the letters of its cards stand for."""


def paragraphs(module: str) -> list[str]:
    """The paragraphs of a module's docstring, each on one line but for the items of a list."""
    text = re.sub(_REFERENCES, "", re.sub(r"\n +", " ", inspect.getdoc(sys.modules[module]) or ""))
    return [part if part.startswith("1. ") else " ".join(part.split()) for part in text.split("\n\n")]


def numbered_rules(module: str) -> str:
    """The numbered rules of a module's docstring."""
    (rules,) = (part for part in paragraphs(module) if part.startswith("1. "))
    return rules


def rules_in_brief(rules: Rules) -> Iterator[str]:
    """The rules of a table on a page: how to play the game, and each option that is not as usual."""
    game = rules.variant
    yield game.intro
    for rule in numbered_rules(f"noms_env.variants.{game.name}").replace("`", "").splitlines():
        yield rule.replace(". ", ".  ", 1)
    usual = make_rules(game).options
    changed = [option for option in game.options if rules.options[option.name] != usual[option.name]]
    yield "At this table, " + ("all options are as usual." if not changed else "unlike above:")
    for option in changed:
        value = rules.options[option.name]
        said = dict(re.findall(r"`(\w+)`: ([^;]+)", game.details.get(option.name, "")))
        meaning = said.get(str(value), option.doc).replace("`", "")
        yield f"{option.name} is {value}, usually {usual[option.name]}: {meaning}"


def legend(deck_kind: int = FRENCH) -> str:
    """What the letters of the cards stand for."""
    return f"Cards: {LEGENDS[deck_kind]}"
