"""The bytes of an observation and of the hidden state: tables of named sections and of their fields.

Sizes, documentation, features and the writer derive from these tables. Every section starts at a multiple of eight bytes. A
byte of 0 means "none" or "not yet"; numbers have the offset named in the text. Sections over cards have 56 bytes, one for each
card by its number; bytes from 52 on (37 on in the Decktet) are 0. Seats are relative: 0 is the observing seat, 1 its left
neighbour, and so on; rows of absent seats are 0.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from noms_env.core.actions import NUM_ACTIONS, action_word
from noms_env.core.cards import DECK_NAMES
from noms_env.core.state import MAX_CALLS, MAX_SEATS, MAX_TRICKS, MAX_VARIANTS
from noms_env.variants import VARIANTS
from noms_env.variants.table_record import choice_names

CARD_BYTES = 56
SEAT_BYTES = 8


@dataclass(frozen=True)
class Section:
    """A named part of a vector of bytes.

    Attributes:
        name: unique in its vector.
        start: first byte.
        shape: the section's own shape, in C order.
        meaning: description of the bytes.
    """

    name: str
    start: int
    shape: tuple[int, ...]
    meaning: str

    @property
    def slice(self) -> slice:
        """Slice of the section in the flat vector."""
        return slice(self.start, self.start + math.prod(self.shape))


class Field(NamedTuple):
    """Bytes of a section (of each of its rows) with one meaning.

    Attributes:
        name: "" for a field that is the whole section.
        size: number of bytes.
        meaning: description of the bytes.
        most: the largest value of a byte.
    """

    name: str
    size: int
    meaning: str
    most: int = 1


Fields = tuple[Field, ...]


def _cards(meaning: str, most: int = 1) -> Fields:
    return (Field("", CARD_BYTES, meaning, most),)


def _flags(**meanings: str) -> Fields:
    return tuple(Field(name, 1, f"1 if {text}") for name, text in meanings.items())


def _card(which: str, of_rank: str = "") -> Fields:
    rank = Field("rank", 1, f"1 + place of the rank of {which}{of_rank}", 13)
    return (Field("suits", 6, f"1 for each suit of {which}"), rank, Field("number", 1, f"1 + number of {which}", 52))


FIELDS: dict[str, Fields] = {
    "hand": _cards("1 for each card in the own hand"),
    "played": _cards("1 for each card that it has played in this deal"),
    "trick_of": _cards("per card, 1 + number of the trick in which it was played", MAX_TRICKS),
    "exposed": _cards(
        "1 for each unplayed card in a public place: an open hand (Mis a Vis), or the stock (nomination refused)"
    ),
    "previous_deal": _cards(
        "with `observe_previous_hand`, per card: 1 + 4 * trick + seat if it was played in the previous deal, 101 if it stayed "
        "in the own hand (a passed-out deal)",
        101,
    ),
    "on_table": _card("its card in the current trick"),
    "call_of": (
        *_flags(called="it called", passed="its latest call is a pass"),
        Field("number", 1, "1 + number of its latest call", MAX_TRICKS + 1),
        *_flags(mis="it called mis", mis_a_vis="it called mis a vis"),
        *_flags(none="it called none", some="it called some", most="it called most"),
    ),
    "tricks": (
        Field("voids", 6, "the suits in which it has shown void"),
        Field("taken", 1, "tricks taken", MAX_TRICKS),
        Field("wanted", 1, "64 + tricks still needed for its call or contract, as known to the own seat; 0 for none", 255),
    ),
    "seats": (
        Field("total", 1, "64 + total (at the scale `Variant.total_scale`; with `accumulate` tricks of earlier deals)", 255),
        Field("total_quarter", 1, "64 + total / 4, at the same scale", 255),
        *_flags(present="the seat exists", dealer="it dealt", leader="it led the trick", declarer="it is declarer"),
        *_flags(revealed="it is publicly known to have held the nominated card, or has shown the Excuse"),
        *_flags(winning="it is winning the trick"),
    ),
    "calls": (Field("", MAX_CALLS, "calls in order from eldest, seat by seat clockwise: 1 + (action - 74)", 24),),
    "nominated": _card("the nominated card", " (for a bare rank the only byte)"),
    "turn_up": _card("the card turned up"),
    "phase": (
        Field("", 5, "1 in the phase: call, trump, nominate, play, suit"),
        *_flags(own_turn="the seat is to act"),
        *_flags(trump_played="a trump was played (if trumps must be broken, they may now be led)"),
        *_flags(open_hand="a hand is open"),
    ),
    "trump": (Field("", 8, "1 for the trump: six suits, no trump, unsaid"),),
    "led_suit": (Field("", 8, "1 for the suit to follow: six suits, two zeros"),),
    "role": (
        Field("", 5, "1 for the own role, as known to the seat: none, declarer, declarer alone, partner, opponent"),
        *_flags(alone="it is public that the declarer is alone", revealed="it is public who held the nominated card"),
        Field("zero", 1, "a zero"),
    ),
    "contract": (
        Field("number", 1, "1 + number of the contract", MAX_TRICKS + 1),
        *_flags(mis="the contract is mis", mis_a_vis="the contract is mis a vis"),
        Field("multiplier", 1, "multiplier of the points (above 64: 58 + number of doublings, at most 255)", 255),
        Field("bid_number", 1, "1 + number of the high bid", MAX_TRICKS + 1),
        *_flags(bid_mis="the high bid is mis", bid_mis_a_vis="the high bid is mis a vis"),
        Field("passes", 1, "passes in a row", 255),
    ),
    "numbers": (
        Field("dealt", 1, "cards dealt to each seat", 52),
        Field("held", 1, "cards in the own hand", 52),
        Field("tricks", 1, "tricks complete", MAX_TRICKS),
        Field("on_table", 1, "cards on the table", 7),
        Field("deal", 1, "1 + number of the deal in the match", 255),
        Field("deals_left", 1, "1 + deals left in the match, if their number is fixed", 255),
        Field("seats", 1, "seats", 7),
        Field("place", 1, "own place from eldest", 6),
        Field("forbidden", 1, "1 + number that the hook forbids to the last caller", 52),
        Field("called", 1, "sum of the calls", 255),
        Field("gap", 1, "64 + sum of the calls - tricks of the deal (the exact-bid games)", 255),
        Field("undealt", 1, "undealt cards", 52),
        Field("unseen", 1, "cards that the seat has not seen", 52),
        Field("excuse", 1, "1 + seat that has shown the Excuse", 7),
        *_flags(single_deal="the episode is a single deal"),
        Field("zero", 1, "a zero"),
    ),
    "variant": (Field("", MAX_VARIANTS, f"1 for the variant: {', '.join(VARIANTS)}; zeros for future variants"),),
    "choices": tuple(Field(name or "free", 1, f"the option `{name}`, as its byte", 255) for name in choice_names()),
}
"""The fields of each section of an observation (of each of its rows)."""
_HIDDEN_FIELDS: dict[str, Fields] = {
    "hands": _cards("1 for each card in its hand"),
    "stock": _cards("1 for each undealt card"),
    "partner": (
        Field("", 8, "1 for the seat that was dealt the nominated card, the declarer excepted: seven seats and a zero"),
    ),
    "excuse": (Field("", 8, "1 for the seat that was dealt the Excuse: seven seats and a zero"),),
}
_PER_SEAT = ("played", "on_table", "call_of", "tricks", "seats", "hands")
_CHOICES = (
    "the options: 1 + value up to 254 (flags 0 and 1, words by position), 255 for None; 0 if the variant does not have the "
    "option, at the default of an option added later, and for future options: see `table_record.choice_names`"
)


def _sections(fields: dict[str, Fields]) -> tuple[Section, ...]:
    start, sections = 0, []
    for name, parts in fields.items():
        size = sum(field.size for field in parts)
        meaning = _CHOICES if name == "choices" else "; ".join(field.meaning for field in parts)
        if name in _PER_SEAT:
            sections.append(Section(name, start, (MAX_SEATS, size), f"per seat, {meaning}"))
        else:
            sections.append(Section(name, start, (size,), meaning))
        start = sections[-1].slice.stop
    return tuple(sections)


OBSERVATION = _sections(FIELDS)
"""The sections of an observation, from the observing seat."""
HIDDEN = _sections(_HIDDEN_FIELDS)
"""The sections of the hidden state, which completes an observation to the whole state."""

OBSERVATION_SIZE = OBSERVATION[-1].slice.stop
HIDDEN_SIZE = HIDDEN[-1].slice.stop
STATE_SIZE = OBSERVATION_SIZE + HIDDEN_SIZE
PADDED_MASK_SIZE = (NUM_ACTIONS + 7) // 8 * 8


START = {section.name: section.start for section in (*OBSERVATION, *HIDDEN)}
"""The first byte of each section in its vector."""


def state_layout() -> tuple[Section, ...]:
    """Return the sections of the state: an observation from seat 0, then the hidden state."""
    hidden = (Section(part.name, OBSERVATION_SIZE + part.start, part.shape, part.meaning) for part in HIDDEN)
    return (*OBSERVATION, *hidden)


@cache
def layout_digest() -> str:
    """Return the SHA-256 over the sections and the actions with their words, 64 hexadecimal digits.

    Equal digests mean that all bytes and actions have the same numbers. The texts of `meaning` are not part of it.
    """
    sections = [[section.name, section.start, section.shape] for section in state_layout()]
    actions = [[_word_or_none(action, deck) for action in range(NUM_ACTIONS)] for deck in range(len(DECK_NAMES))]
    return hashlib.sha256(json.dumps([sections, actions]).encode()).hexdigest()


def _word_or_none(action: int, deck_kind: int) -> str | None:
    try:
        return action_word(action, deck_kind)
    except ValueError:
        return None
