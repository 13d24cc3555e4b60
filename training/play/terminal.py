"""The terminal of `noms play`: the screen as lines with ANSI colours, and the parser of what the person types.

The table is drawn from a `View`, which holds only public facts and the seat's own cards.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache

from noms_env.core.actions import NUM_ACTIONS, action_number, action_word
from noms_env.core.cards import CARD_NUMBERS, FRENCH, SUIT_LETTERS
from noms_env.record import Record
from noms_env.show import card_text, hand_text
from noms_env.show.data import why_illegal
from noms_env.show.lines import (
    BOLD,
    BRIGHT,
    DIM,
    add_label,
    contract_lines,
    hand_lines,
    headline,
    legal_text,
    paint,
    seat_lines,
    status,
    trick_lines,
)
from noms_env.show.rules import LEGENDS, SUIT_NAMES, rules_in_brief
from noms_env.show.view import View, say_call
from noms_env.table import Table
from noms_env.variants import Rules
from noms_env.variants.families import PLAIN

from ..text import LONGEST, cut_middle, short_names
from . import deal_text
from .narrate import LEAST, action_text, value_text
from .score_sheet import result_lines
from .session import Advice, RankedActions

PROMPTS = {
    "call": "Your call",
    "trump": "Your trump",
    "nominate": "The card that you nominate",
    "play": "Your card",
    "suit": "The suit that you lead",
}
DONE = {"call": "call ", "trump": "name ", "nominate": "nominate ", "play": "play ", "suit": "name "}
COMMANDS = "help ? t u q"
WIDEST_HAND = 50
"""Widest hand on one line, in characters; a wider one takes two lines, each with its marks."""
BAR = 24
"""Length of the bar of probability 1."""
MIN_NAME = 6
"""Names in a table of seats that is too wide are cut to this length, not further."""
MAX_ADVISED = 13
"""Actions listed by advice, plus all others of probability `LEAST` or more."""


def screen_lines(view: View, names: Sequence[str | None], width: int | None = None) -> list[str]:
    """Draw the table as the person sees it, with marks under the legal cards.

    `names` are the players' by seat, None for the person. The table of seats fits `width`; None means no limit.
    """
    blocks = [
        [paint(headline(view), BOLD, True), paint(status(view), BRIGHT, True)],
        [*contract_lines(view, True), *trick_lines(view, True)],
        seat_lines(_add_names(view, names, width), True),
        [] if view.phase is None else own_lines(view),
        [*result_lines(view, names)] if view.phase is None else [],
    ]
    return [line for block in blocks if block for line in ("", *block)]


def _add_names(view: View, names: Sequence[str | None], width: int | None) -> View:
    """Return the view with the players' names before the other marks of the seats.

    If the table of seats is too wide, only the names remain, shortened until it fits.
    """
    short = short_names([name or "" for name in names])
    named = view
    for longest in (None, *range(LONGEST, MIN_NAME - 1, -1)):
        marks = [((name if longest is None else cut_middle(name, longest)),) if name else () for name in short]
        places = (replace(place, marks=marks[place.seat] + (place.marks if longest is None else ())) for place in view.places)
        named = replace(view, places=tuple(places))
        if width is None or max(map(len, seat_lines(named, False))) <= width:
            break
    return named


def own_lines(view: View) -> list[str]:
    """Return the person's hand with its marks, visible hands of others, and the other legal actions."""
    _, *others = hand_lines(replace(view, legal=()), True)
    lines = [line for row in _rows(view) for line in row]
    lines[0] = add_label("Hand", lines[0], True)
    lines[1:] = [add_label("", line, True) for line in lines[1:]]
    lines += others
    words = replace(view, legal=tuple(word for word in view.legal if view.phase != "play" or word == "indicate"))
    if words.legal:
        lines.append(add_label("Legal", legal_text(words), True))
    return lines


def _rows(view: View) -> Iterator[list[str]]:
    """Split the person's hand into rows, each with its marks if any."""
    hand = next(place.hand for place in view.places if place.seat == view.viewer) or ()
    middle = len(hand) if len(hand_text(hand, view.deck_kind)) <= WIDEST_HAND else (len(hand) + 1) // 2
    for cards in filter(None, (hand[:middle], hand[middle:])) if hand else [()]:
        marks = legal_marks(view, cards) if view.phase == "play" and view.legal else ""
        yield [hand_text(cards, view.deck_kind, True) or "-", *([paint(marks, BRIGHT, True)] if marks else [])]


def legal_marks(view: View, hand: Sequence[int]) -> str:
    """Return a line with `^` under each legal card of `hand_text`."""
    text = hand_text(hand, view.deck_kind)
    cards = re.finditer(r"[^ ♣♦♥♠]" if view.deck_kind == FRENCH else r"\S+", text)
    marks = [" "] * len(text)
    for card, place in zip(hand, cards, strict=True):
        if card in view.legal_cards:
            marks[place.start() : place.end()] = "^" * len(place.group())
    return "".join(marks).rstrip()


def prompt(view: View, is_last: bool) -> str:
    """Return the prompt for the person; `is_last` means that no deal follows this one."""
    if view.phase is None:
        return f"Enter {'ends the game' if is_last else 'deals the next hand'} [help score t u q]: "
    example = ""
    if len(view.legal) == 1:
        example = f", Enter for {say_call(view.legal[0], view.misere) if view.phase == 'call' else view.legal[0]}"
    elif view.phase in ("play", "nominate"):
        example = f", such as {view.legal[0]}"
    return f"{PROMPTS[view.phase]}{example} [{COMMANDS}]: "


def tricks_lines(record: Record, table: Table) -> list[str]:
    """Return the calls and tricks of the deal so far; `record` may be incomplete."""
    calls = [line for line in deal_text.talk_lines(record, table, int(table.row.seat)) if line.startswith("  calls")]
    return [*calls, *deal_text.trick_lines(record, table, None)] or ["  nothing has been said or played yet"]


def advice_lines(table: Table, advice: Sequence[Advice]) -> Iterator[str]:
    """Describe the players' advice."""
    for entry in advice:
        if entry.probabilities is None:
            text = action_text(table, entry.action)
            would = f"  {entry.name} would {'' if text == 'indicate' else DONE[table.phase or '']}{text}"
            yield f"{would}; it expects, in points above the others' mean," if entry.values else would
            yield from (f"    {action_text(table, value.action)}  {value_text(value)}" for value in entry.values[:MAX_ADVISED])
            continue
        yield f"  {entry.name} plays, with probability"
        yield from _bars(table, entry.probabilities)


def _bars(table: Table, ranked: RankedActions) -> Iterator[str]:
    """Draw a bar per action, most probable first; improbable ones beyond `MAX_ADVISED` are only counted."""
    shown = [pair for place, pair in enumerate(ranked) if place < MAX_ADVISED or pair[1] >= LEAST]
    width = max(len(action_text(table, action, False)) for action, _ in shown)
    for action, probability in shown:
        gap = " " * (width - len(action_text(table, action, False)))
        length = round(BAR * probability)
        bar = "  " + paint("█" * length, DIM, True) if length else ""
        yield f"    {action_text(table, action)}{gap}  {probability:4.0%}{bar}"
    left = ranked[len(shown) :]
    if left:
        yield f"    and {len(left)} more, together {sum(probability for _, probability in left):.0%}"


# -------------------------------------------------------------------------------------------------- help and rules

TYPED = {
    "Enter": "the only legal action",
    "?": "advice: what the players would do in your place",
    "t": "the tricks of this deal",
    "score": "the score sheet",
    "rules": "the rules of the game, as it is played at this table",
    "u": "take back your last decision",
    "q": "end the game; finished deals are saved as records",
    "help": "this page",
}


def help_lines(rules: Rules) -> Iterator[str]:
    """Explain what can be typed and how cards are written, as lines with ANSI colours."""
    yield paint("What you can type, in capitals or small letters:", BOLD, True)
    is_french = rules.variant.deck_kind == FRENCH
    if rules.variant.family != PLAIN:
        yield add_label("call", "as it is listed, such as a number or pass; its beginning is enough", True)
    yield add_label("card", "QH, hq or 10s: rank and suit" if is_french else "2MK or km2: rank and suits", True)
    yield add_label("suit", "H or hearts; nt for no trump" if is_french else "M or moons", True)
    for word, does in TYPED.items():
        yield add_label(word, does, True)
    yield f"Cards: {LEGENDS[rules.variant.deck_kind]}"


def legend_lines(rules: Rules) -> list[str]:
    """Explain the letters of the cards, unless the deck is French."""
    return [] if rules.variant.deck_kind == FRENCH else [f"Cards: {LEGENDS[rules.variant.deck_kind]}"]


def rules_lines(rules: Rules) -> Iterator[str]:
    """Return the rules in brief, as lines with ANSI colours."""
    yield paint(f"{rules.variant.title}, {rules.seats} seats", BOLD, True)
    yield from rules_in_brief(rules)
    yield f"All options: noms list {rules.variant.name}"


# ---------------------------------------------------------------- parser of typed actions: `QH`, `10s`, `♥q`, `pass`, `hearts`

SYMBOLS = str.maketrans("♣♦♥♠", "CDHS")
SYNONYMS = {"MISERE": "mis", "MISEREAVIS": "mis_a_vis", "OPENMISERE": "mis_a_vis", "OPENMIS": "mis_a_vis"}
"""Other names of bids, normalized by `_spell`; the screen shows each game's own name."""
NO_TRUMP_NAMES = ("NOTRUMP", "NOTRUMPS", "NONE", "N")
CARDS = ("play", "nominate")
"""Phases whose actions are cards."""
NOUNS = {"call": "call", "trump": "trump", "nominate": "card to nominate", "play": "card", "suit": "suit"}


class UnclearError(ValueError):
    """The text is not a legal action; the message says why and lists the legal ones."""


def parse_action(view: View, text: str) -> int:
    """Parse the legal action that the person to act typed.

    Raises:
        UnclearError: the text names no action, or an illegal one.
    """
    phase, legal = view.phase or "", f"Legal: {legal_text(view)}"
    if not text.strip():
        raise UnclearError(f"There is a choice. {legal}")
    word = _words(phase, view.deck_kind).get(_spell(text, phase)) or _find_call(view, text)
    if word is None:
        raise UnclearError(f"{text.strip()!r} is no {NOUNS[phase]}. {legal}")
    if word not in view.legal:
        raise UnclearError(f"{_reason(view, word)}. {legal}")
    return action_number(word, phase, view.deck_kind)


@cache
def _words(phase: str, deck_kind: int) -> dict[str, str]:
    """Map each accepted spelling of a phase, normalized by `_spell`, to its word."""
    words: dict[str, str] = {}
    for action in range(NUM_ACTIONS):
        try:
            word = action_word(action, deck_kind)
            if action_number(word, phase, deck_kind) == action:
                words[_spell(word, phase)] = word
        except ValueError:  # not an action of this phase
            continue
    if phase in ("trump", "suit"):
        words |= dict(zip(map(str.upper, SUIT_NAMES[deck_kind]), SUIT_LETTERS[deck_kind], strict=True))
    if phase == "trump":
        words |= dict.fromkeys(NO_TRUMP_NAMES, "NT")
    if phase == "call":
        words |= SYNONYMS
    return words


def _spell(text: str, phase: str) -> str:
    """Normalize text: capitals, no gaps, letters for suit symbols; the letters of a card are sorted."""
    plain = unicodedata.normalize("NFD", text.upper()).translate(SYMBOLS)
    plain = "".join(letter for letter in plain if letter not in " \t_-" and not unicodedata.combining(letter))
    if phase in CARDS:
        plain = "".join(sorted(plain.replace("10", "T")))
    return plain


def _find_call(view: View, text: str) -> str | None:
    """Return the only legal call with this prefix (`p`, `mo`); None if there are none or several."""
    start = _spell(text, "call")
    if view.phase != "call" or not start.isalpha():
        return None
    spellings = {word: (word, say_call(word, view.misere)) for word in view.legal}
    matches = [word for word, forms in spellings.items() if any(_spell(form, "call").startswith(start) for form in forms)]
    return matches[0] if len(matches) == 1 else None


def _reason(view: View, word: str) -> str:
    """Explain why an action is illegal, from what the person sees."""
    kind, card = view.deck_kind, CARD_NUMBERS[view.deck_kind].get(word)
    if view.phase == "play" and card is not None:
        own = next(place.hand for place in view.places if place.seat == view.viewer)
        if card not in (own or ()):
            return f"You do not hold {card_text(card, kind)}"
        return why_illegal(view, card).removesuffix(".")
    return f"{say_call(word, view.misere) if view.phase == 'call' else word} is not allowed now"
