"""The page that `help` shows at the table of `noms play`, and the rules."""

from __future__ import annotations

from collections.abc import Iterator

from noms_env.core.cards import FRENCH
from noms_env.show.lines import BOLD, labelled, paint
from noms_env.show.rules import legend, rules_in_brief
from noms_env.variants import Rules
from noms_env.variants.families import PLAIN

TYPED = {
    "Enter": "the only legal action",
    "?": "advice: what the players would do in your place",
    "t": "the tricks of this deal",
    "score": "the score sheet",
    "rules": "the rules of the game, as it is played at this table",
    "u": "take back your last decision",
    "q": "end the game; finished deals are kept as records",
    "help": "this page",
}


def help_lines(rules: Rules) -> Iterator[str]:
    """What can be typed, and what the cards are called, as lines with ANSI colours."""
    yield paint("What you can type, in capitals or small letters:", BOLD, True)
    is_french = rules.variant.deck_kind == FRENCH
    if rules.variant.family != PLAIN:
        yield labelled("call", "as it is listed, such as a number or pass; its beginning is enough", True)
    yield labelled("card", "QH, hq or 10s: rank and suit" if is_french else "2MK or km2: rank and suits", True)
    yield labelled("suit", "H or hearts; nt for no trump" if is_french else "M or moons", True)
    for word, does in TYPED.items():
        yield labelled(word, does, True)
    yield legend(rules.variant.deck_kind)


def legend_lines(rules: Rules) -> list[str]:
    """What the letters of the cards stand for, where the deck is not the usual one."""
    return [] if rules.variant.deck_kind == FRENCH else [legend(rules.variant.deck_kind)]


def rules_lines(rules: Rules) -> Iterator[str]:
    """The rules on a page, as lines with ANSI colours."""
    yield paint(f"{rules.variant.title}, {rules.seats} seats", BOLD, True)
    yield from rules_in_brief(rules)
    yield f"All options: noms list {rules.variant.name}"
