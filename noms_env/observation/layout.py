"""The bytes of an observation and of the hidden state: tables of named sections.

Sizes, documentation and the writer derive from these tables. Every section starts at a multiple of eight bytes. A byte of 0
stands for "none" or "not yet"; numbers have the offset named in the text. Sections over cards have 56 bytes, one for each
card by its number; the places from 52 on (37 on in the Decktet) are 0. Seats are relative: 0 is the seat that looks, 1 its
left neighbour, and so on; rows of absent seats are 0.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from functools import cache
from itertools import accumulate

from noms_env.core.actions import NUM_ACTIONS, action_word
from noms_env.core.cards import DECK_NAMES
from noms_env.core.state import MAX_CALLS, MAX_SEATS, MAX_VARIANTS, NUM_CHOICES
from noms_env.variants import VARIANTS

CARD_BYTES = 56
SEAT_BYTES = 8


@dataclass(frozen=True)
class Section:
    """A named part of a vector of bytes.

    Attributes:
        name: unique in its vector.
        start: first byte.
        shape: the section's own shape, in C order.
        meaning: what the bytes say.
    """

    name: str
    start: int
    shape: tuple[int, ...]
    meaning: str

    @property
    def slice(self) -> slice:
        """Where the section lies in the flat vector."""
        return slice(self.start, self.start + math.prod(self.shape))


def _sections(*parts: tuple[str, tuple[int, ...], str]) -> tuple[Section, ...]:
    starts = accumulate((math.prod(shape) for _, shape, _ in parts), initial=0)
    return tuple(Section(name, start, shape, text) for start, (name, shape, text) in zip(starts, parts, strict=False))


OBSERVATION = _sections(
    ("hand", (CARD_BYTES,), "1 for each card in the own hand"),
    ("played", (MAX_SEATS, CARD_BYTES), "per seat, 1 for each card that it has played in this deal"),
    ("trick_of", (CARD_BYTES,), "per card, 1 + number of the trick in which it was played"),
    (
        "exposed",
        (CARD_BYTES,),
        "1 for each unplayed card whose place all know: an open hand (Mis a Vis), nominations refused as lying in the stock",
    ),
    (
        "previous_deal",
        (CARD_BYTES,),
        "with `observe_previous_hand`, per card: 1 + 4 * trick + seat if it was played in the deal before, 101 if the own hand "
        "held it to the end (a passed-out deal)",
    ),
    (
        "on_table",
        (MAX_SEATS, SEAT_BYTES),
        "per seat, its card in the present trick: six bytes of suits, 1 + place of the rank, 1 + number of the card",
    ),
    (
        "call_of",
        (MAX_SEATS, SEAT_BYTES),
        "per seat, its latest call: 1 if it called, passed, 1 + number, mis, mis_a_vis, none, some, most",
    ),
    (
        "tricks",
        (MAX_SEATS, SEAT_BYTES),
        "per seat: six bytes of the suits in which it has shown void, tricks taken, 64 + tricks still wanted by the call or "
        "contract (as far as the looking seat knows the sides; 0 without such a number)",
    ),
    (
        "seats",
        (MAX_SEATS, SEAT_BYTES),
        "per seat: total + 64 (where points are fractions at a larger scale, `Variant.total_scale`), total / 4 + 64 (both "
        "rounded, 0..255; with `accumulate` the tricks of the earlier deals instead), 1 if it is there, dealer, leader of the "
        "trick, declarer, known to all to have held the nominated card (or to have shown the Excuse), winning the trick so far",
    ),
    ("calls", (MAX_CALLS,), "calls in order from eldest, seat by seat clockwise: 1 + (action - 74)"),
    ("nominated", (SEAT_BYTES,), "the nominated card, as in `on_table`; of a bare rank the rank only"),
    ("turn_up", (SEAT_BYTES,), "the card turned up, as in `on_table`"),
    (
        "phase",
        (SEAT_BYTES,),
        "1 in the phase: call, trump, nominate, play, suit; 1 on the own turn; 1 once a trump was played (where trumps "
        "must be broken, they may be led then); 1 if a hand lies open",
    ),
    ("trump", (SEAT_BYTES,), "1 for the trump: six suits, no trump, unsaid"),
    ("led_suit", (SEAT_BYTES,), "1 for the suit to follow: six suits; two zeros"),
    (
        "role",
        (SEAT_BYTES,),
        "1 for the own role as far as the seat knows it: none, declarer, declarer alone, partner, opponent; 1 if all know that "
        "the declarer is alone; 1 if all know who held the nominated card; a zero",
    ),
    (
        "contract",
        (SEAT_BYTES,),
        "the contract: 1 + number, mis, mis_a_vis; multiplier (above 64: 58 + how often the points are doubled, 255 at most); "
        "the high bid: 1 + number, mis, mis_a_vis; passes in a row",
    ),
    (
        "numbers",
        (2 * SEAT_BYTES,),
        "cards dealt to each seat, cards in the own hand, tricks complete, cards on the table, 1 + number of the deal, "
        "1 + deals left (where the match has a fixed length), seats, own place from eldest; 1 + number that the hook forbids "
        "to the last caller, sum of the calls, 64 + sum of the calls - tricks (the exact-bid games), undealt cards, cards that "
        "the seat has not seen, 1 + seat that has shown the Excuse, 1 if the episode is a single deal, a zero",
    ),
    ("variant", (MAX_VARIANTS,), f"1 for the variant: {', '.join(VARIANTS)}; zeros for variants to come"),
    (
        "choices",
        (NUM_CHOICES,),
        "the options, 1 + value up to 254 (flags 0 and 1, words by their place), 255 for None, 0 where the variant has no such "
        "option, at the default of an option that came later, and for options to come: see `table_record.choice_names`",
    ),
)
"""What a seat sees, from that seat."""

HIDDEN = _sections(
    ("hands", (MAX_SEATS, CARD_BYTES), "per seat, 1 for each card in its hand"),
    ("stock", (CARD_BYTES,), "1 for each undealt card"),
    (
        "partner",
        (SEAT_BYTES,),
        "1 for the seat that was dealt the nominated card, the declarer excepted: seven seats and a zero",
    ),
    ("excuse", (SEAT_BYTES,), "1 for the seat that was dealt the Excuse: seven seats and a zero"),
)
"""The hidden state: with an observation it makes the whole state."""

OBSERVATION_SIZE = OBSERVATION[-1].slice.stop
HIDDEN_SIZE = HIDDEN[-1].slice.stop
STATE_SIZE = OBSERVATION_SIZE + HIDDEN_SIZE
PADDED_MASK_SIZE = (NUM_ACTIONS + 7) // 8 * 8


START = {section.name: section.start for section in (*OBSERVATION, *HIDDEN)}
"""The first byte of each section in its vector."""


def state_layout() -> tuple[Section, ...]:
    """Sections of the state: those of an observation from seat 0, and the hidden ones."""
    hidden = (Section(part.name, OBSERVATION_SIZE + part.start, part.shape, part.meaning) for part in HIDDEN)
    return (*OBSERVATION, *hidden)


@cache
def layout_digest() -> str:
    """SHA-256 over the sections and the actions with their words, 64 hexadecimal digits.

    Equal digests mean that every byte and every action has the same place; the texts of `meaning` do not count.
    """
    sections = [[section.name, section.start, section.shape] for section in state_layout()]
    actions = [[_word_or_none(action, deck) for action in range(NUM_ACTIONS)] for deck in range(len(DECK_NAMES))]
    return hashlib.sha256(json.dumps([sections, actions]).encode()).hexdigest()


def _word_or_none(action: int, deck_kind: int) -> str | None:
    try:
        return action_word(action, deck_kind)
    except ValueError:
        return None
