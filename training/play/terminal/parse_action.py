"""Parser of typed actions: cards (`QH`, `10s`, `♥q`), calls (`3`, `pass`, `misere`), suits (`H`, `hearts`, `nt`)."""

from __future__ import annotations

import unicodedata
from functools import cache

from noms_env.core.actions import NUM_ACTIONS, action_number, action_word
from noms_env.core.cards import CARD_NUMBERS, SUIT_LETTERS
from noms_env.show import card_text, suit_text
from noms_env.show.lines import legal_text
from noms_env.show.rules import SUIT_NAMES
from noms_env.show.view import View, say_call

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
        if view.trick and view.led_suit is not None:
            return f"You must follow {suit_text(view.led_suit, kind)}"
        return f"{card_text(card, kind)} may not be led now"
    return f"{say_call(word, view.misere) if view.phase == 'call' else word} is not allowed now"
