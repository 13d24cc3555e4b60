"""The numbers and words of actions, the same in the whole package.

| actions | meaning | words |
|---|---|---|
| 0..51 | play the card of that number | `QS`, `2MK` |
| 52 | indicate (with `indication`) | `indicate` |
| 53..58 | a suit: trump to name, or the suit of a two-suited lead | `C D H S`, `M S W L Y K` |
| 59 | no trump | `NT` |
| 60 | leave the trump unsaid (with `implicit_announcements`) | `unsaid` |
| 61..73 | nominate a bare rank, 2..A (with `implicit_announcements`) | `2` .. `A` |
| 74 | pass | `pass` |
| 75..92 | bid or call 0..17 tricks | `0` .. `17` |
| 93, 94 | Misere, Mis a Vis | `mis`, `mis_a_vis` |
| 95..97 | None, Some, Most | `none`, `some`, `most` |
| 98..149 | nominate the card of number `action - 98` | `QS` |

In the engine a *call* is `action - PASS`: 0 is a pass, 1 + k is the number k. The actions 52 to 97 are called *words*. A set
of words is an int64 in which bit `action - 52` stands for the action.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

import numpy as np

from noms_env.core.cards import CARD_NUMBERS, CARD_WORDS, DECK_NAMES, FRENCH, NO_TRUMP, RANK_LETTERS, SUIT_LETTERS

INDICATE = 52
SUIT = 53
NO_TRUMP_ACTION = SUIT + NO_TRUMP
UNSAID_ACTION = 60
RANK = 61
PASS = 74
NUMBER = 75
MIS = 93
MIS_A_VIS = 94
NONE, SOME, MOST = 95, 96, 97
NOMINATE = 98
NUM_ACTIONS = 150

FIRST_WORD = INDICATE
MAX_NUMBER = MIS - NUMBER - 1

# Calls, as the engine numbers them.
CALL_PASS, CALL_ZERO = 0, 1
CALL_MIS, CALL_MIS_A_VIS = MIS - PASS, MIS_A_VIS - PASS
CALL_NONE, CALL_SOME, CALL_MOST = NONE - PASS, SOME - PASS, MOST - PASS
NUM_CALLS = NOMINATE - PASS

# Trump in the engine: a suit, NO_TRUMP, or this.
UNSAID = UNSAID_ACTION - SUIT

CALLING, NAMING_TRUMP, NOMINATING, PLAYING, NAMING_SUIT, SCORED = range(6)
PHASES = ("call", "trump", "nominate", "play", "suit")
"""Words of the phases, by number. In `SCORED`, after the last action of a deal, no seat acts."""

CALL_WORDS = ("pass", *(str(k) for k in range(MAX_NUMBER + 1)), "mis", "mis_a_vis", "none", "some", "most")


def is_integer(number: Any) -> bool:
    """Return whether a value is a Python or numpy integer, or an array of one with shape (); not a boolean or timedelta."""
    if isinstance(number, np.ndarray) and number.ndim == 0:
        number = number[()]
    return isinstance(number, int | np.integer) and not isinstance(number, bool | np.timedelta64)


def plain_array(values: Any) -> np.ndarray:
    """Convert values to an array; if that fails (ragged lists, masked elements), return an object array of shape (0, 0)."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        return np.empty((0, 0), object)
    try:
        return np.asarray(values)
    except Exception:  # a user's object may raise anything
        return np.empty((0, 0), object)


def brief(value: Any) -> str:
    """Return the `repr` of a value for a message, on one line of at most 120 characters."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # for example an integer of more than 4,300 digits
        return f"something of the type {type(value).__name__}"
    return text if len(text) <= 120 else f"{text[:117]}..."


def span(low: int, high: int) -> str:
    """Return a range for a message: `3 to 7`, or `4` if both ends are 4."""
    return str(low) if low == high else f"{low} to {high}"


def suggest_names(name: Any, known: Iterable[str]) -> str:
    """Return the start of a message's list of names: `did you mean noms? The` (at most two close names), or `the`."""
    names, close = list(known), list[str]()
    if isinstance(name, str):
        close = get_close_matches(name, names, 2, 0.8) or get_close_matches(name, names, 1)
    return f"did you mean {' or '.join(close)}? The" if close else "the"


def action_word(action: int, deck_kind: int = FRENCH) -> str:
    """Return the word of an action, as in records; raises ValueError if games with this deck have no such action."""
    if not is_integer(action) or not 0 <= action < NUM_ACTIONS:
        raise ValueError(f"{brief(action)} is not the number of an action; the numbers go from 0 to {NUM_ACTIONS - 1}")
    word = _WORDS[deck_kind].get(int(action))
    if word is None:
        raise ValueError(f"action {action} stands for nothing with the {DECK_NAMES[deck_kind]}")
    return word


def action_number(word: str, phase: str, deck_kind: int = FRENCH) -> int:
    """Return the action that a word means in a phase (`call`, `trump`, `nominate`, `play`, `suit`).

    Raises:
        ValueError: the phase is unknown, or the word means nothing in it.
    """
    if not isinstance(phase, str) or phase not in PHASES:
        raise ValueError(f"{brief(phase)} is not a phase; the phases are {', '.join(PHASES)}")
    number = _NUMBERS[deck_kind][phase].get(word) if isinstance(word, str) else None
    if number is None:
        known = ", ".join(_NUMBERS[deck_kind][phase])
        raise ValueError(f"{brief(word)} means nothing in the phase {phase}; its words are {known}")
    return number


def _numbers(deck_kind: int) -> dict[str, dict[str, int]]:
    cards = CARD_NUMBERS[deck_kind]
    suits = {letter: SUIT + suit for suit, letter in enumerate(SUIT_LETTERS[deck_kind])}
    numbers = {
        "call": {word: PASS + call for call, word in enumerate(CALL_WORDS)},
        "trump": {**suits, "NT": NO_TRUMP_ACTION, "unsaid": UNSAID_ACTION},
        "nominate": {word: NOMINATE + card for word, card in cards.items()},
        "play": {**cards, "indicate": INDICATE},
        "suit": suits,
    }
    if deck_kind == FRENCH:
        numbers["nominate"].update({letter: RANK + rank for rank, letter in enumerate(RANK_LETTERS[FRENCH])})
    return numbers


_NUMBERS = tuple(_numbers(deck_kind) for deck_kind in range(len(CARD_WORDS)))
_WORDS = tuple({number: word for words in by_phase.values() for word, number in words.items()} for by_phase in _NUMBERS)
