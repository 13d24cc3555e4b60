"""Features derived from an observation, as bytes appended to it: the card features and the trick features.

    OBSERVATION_SIZE bytes of the observation | CARD_FEATURES_SIZE bytes | TRICK_FEATURES_SIZE bytes

They are written only for networks that read them. A network could derive them from the observation, but would have to learn
that for each card separately. Card features are counts at each own card:

1. Cards that are out: all cards of the deck, except the own hand, cards played, and cards known to be in the stock.
2. A card belongs to its suit. A card that bears the trump belongs to the trump suit only, any other two-suited card to both.
3. In its suit it is beaten by the higher cards and, if the suit is not trump, by cards of the suit that also bear the trump.
4. `takes`: the own cards that would be the best of the trick so far.

Trick features describe the trick, once the seat has to play a card:

5. A seat may hold the cards that are out, except those of a suit in which it has shown void.
6. A rival of a card beats it in this trick, and may be held by a seat that has yet to play. Rivals and such seats are counted
   for each own card that takes. On lead they are counted for all own cards, once for each suit of the card.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from noms_env._jit import jit, jit_inline, lowest, nonzero, size
from noms_env.core.cards import CARD_SUITS, DECKTET, EXCUSE, FRENCH, SUIT_CARDS, above, decktet_deck, has, set_of
from noms_env.core.state import MAX_SEATS
from noms_env.observation.features import Placed, Tables, cards_from, copies
from noms_env.observation.layout import CARD_BYTES, OBSERVATION_SIZE, SEAT_BYTES, START
from noms_env.observation.suit_order import has_decktet
from noms_env.variants.table_record import choice_names

TAKES, BEATEN_BY, BEATS, TOP, BOTTOM, SECOND = range(6)
"""Sections of a byte for each card, see `write_card_features`. From `SECOND` on, four are repeated for the other suit."""
SUIT_SECTIONS = SECOND - BEATEN_BY
CARD_SECTIONS = SECOND + SUIT_SECTIONS
RIVALS, RIVAL_SEATS, SAFE, SECOND_LEAD = range(CARD_SECTIONS, CARD_SECTIONS + 4)
"""Further sections, see `write_trick_features`. From `SECOND_LEAD` on, three are repeated for the other suit."""
LEAD_SECTIONS = SECOND_LEAD - RIVALS
IS_TRUMP = SECOND_LEAD + LEAD_SECTIONS
SECTIONS = IS_TRUMP + 1
SEAT_TRUMPS, SEAT_HAS_NONE, SEAT_IS_VOID = range(3)
"""Bytes of each seat after the sections, see `write_trick_features`."""
SEAT_FEATURES = 3
CARD_FEATURES_SIZE = CARD_SECTIONS * CARD_BYTES
TRICK_FEATURES_SIZE = (SECTIONS - CARD_SECTIONS) * CARD_BYTES + MAX_SEATS * SEAT_FEATURES

_HAND, _PLAYED_IN, _EXPOSED, _ON_TABLE = (START[name] for name in ("hand", "trick_of", "exposed", "on_table"))
_VOIDS = START["tricks"]
_SEATS, _TRUMP, _LED, _PHASE = (START[name] for name in ("seats", "trump", "led_suit", "phase"))
_RANKS, _SUITS = (START["choices"] + choice_names().index(name) for name in ("ranks", "suits"))
_DECKTET_CARDS = np.zeros((12, 8), np.int64)
"""[byte of ranks, byte of suits]: the Decktet cards in use that bear a suit; a byte of 0 means all ranks or suits."""
for _ranks in range(12):
    for _suits in range(8):
        _deck = decktet_deck(_ranks - 1 if _ranks else 10, _suits - 1 if _suits else 6)
        _DECKTET_CARDS[_ranks, _suits] = set_of(_deck) & ~(1 << EXCUSE)
_NUMBER, _BEST, _IS_OPEN = 7, 7, 7  # in a row of `on_table`, in a row of `seats`, and in `phase`
_IS_THERE, _PLAYING = 2, 3  # in a row of `seats`, and in `phase`


def section_start(section: int) -> int:
    """Return the start of a section, counted from the first byte of the observation."""
    return int(OBSERVATION_SIZE + section * CARD_BYTES)


def seat_start(seat: int) -> int:
    """Return the start of a seat's trick features, counted from the first byte of the observation."""
    return section_start(SECTIONS) + seat * SEAT_FEATURES


def extended_size(card_features: bool, trick_features: bool) -> int:
    """Return the bytes of an extended observation, up to the last that is read; 0 if the observation is enough."""
    if trick_features:
        return int(OBSERVATION_SIZE + CARD_FEATURES_SIZE + TRICK_FEATURES_SIZE)
    return int(OBSERVATION_SIZE + CARD_FEATURES_SIZE) if card_features else 0


def card_features_of(tables: Tables) -> Iterator[Placed]:
    """Yield the card features, for one suit, or with the Decktet for two."""
    yield from cards_from(tables, section_start(TAKES))
    for offset in (0, SUIT_SECTIONS) if DECKTET in tables.decks else (0,):
        for section in (BEATEN_BY, BEATS):
            yield from cards_from(tables, section_start(section + offset), scale=1 / 4)
        for section in (TOP, BOTTOM):
            yield from cards_from(tables, section_start(section + offset))


def trick_features_of(tables: Tables) -> Iterator[Placed]:
    """Yield the trick features: rivals of each own card, by the suit that it is led in; trumps; what the seats may hold."""
    is_decktet = DECKTET in tables.decks
    for offset in (0, LEAD_SECTIONS) if is_decktet else (0,):
        yield from cards_from(tables, section_start(RIVALS + offset), scale=1 / 4)
        yield from cards_from(tables, section_start(RIVAL_SEATS + offset), scale=1 / 2)
        yield from cards_from(tables, section_start(SAFE + offset))
    if is_decktet:
        yield from cards_from(tables, section_start(IS_TRUMP))
    for seat in range(1, tables.seats):
        yield from copies(seat_start(seat), SEAT_TRUMPS, scale=1 / 4)
        yield from copies(seat_start(seat), SEAT_HAS_NONE, SEAT_IS_VOID)


@jit
def write_card_features(observation, out):
    """Write the card features.

    Args:
        observation: uint8, shape (OBSERVATION_SIZE,).
        out: uint8, shape (CARD_FEATURES_SIZE,), written. For each own card: 1 if it takes the trick so far; the number of cards
            that are out and beat it in its suit; the number that it beats; 1 if the former is 0; 1 if the latter is 0; then the
            last four for its other suit. All other bytes are 0.
    """
    out[:] = 0
    kind, hand, unseen, trumps = read_cards(observation)
    mark(out, TAKES, hand & winning_cards(observation, kind, trumps))
    remaining = hand
    while remaining != 0:
        card = lowest(remaining)
        remaining &= remaining - 1
        if has(trumps, card):
            count_in_suit(card, unseen & trumps, np.int64(0), out, BEATEN_BY)
        else:
            suits = CARD_SUITS[kind, card]
            section = BEATEN_BY
            while suits != 0:
                count_in_suit(card, unseen & SUIT_CARDS[kind, lowest(suits)], trumps, out, section)
                suits &= suits - 1
                section += SUIT_SECTIONS


@jit
def write_trick_features(observation, out):
    """Write the trick features.

    Args:
        observation: uint8, shape (OBSERVATION_SIZE,).
        out: uint8, shape (TRICK_FEATURES_SIZE,), written. If a card is to be played, for each own card that takes, or on lead
            for each own card: the number of rivals, the number of seats that may hold one, and 1 if there is none. Then the
            same three for a lead in its other suit. 1 for each own card that bears the trump. For each other seat: the number
            of trumps that it may hold, 1 if it can have none, and 1 if it has shown void in the suit led. All other bytes are
            0.
    """
    out[:] = 0
    kind, hand, unseen, trumps = read_cards(observation)
    mark(out, IS_TRUMP - CARD_SECTIONS, hand & trumps)
    led_suit, rivals, is_lead = suit_at(observation, _LED), np.int64(0), True
    for seat in range(MAX_SEATS):
        is_lead &= observation[_ON_TABLE + SEAT_BYTES * seat + _NUMBER] == 0
    candidates = np.int64(0)
    if observation[_PHASE + _PLAYING] != 0:
        candidates = hand if is_lead else hand & winning_cards(observation, kind, trumps)
    for seat in range(1, MAX_SEATS):
        if observation[_SEATS + SEAT_BYTES * seat + _IS_THERE] == 0:
            continue
        possible = possible_cards(observation, kind, unseen, seat)
        place = (SECTIONS - CARD_SECTIONS) * CARD_BYTES + seat * SEAT_FEATURES
        out[place + SEAT_TRUMPS] = size(possible & trumps)
        out[place + SEAT_HAS_NONE] = trumps != 0 and (possible & trumps) == 0
        out[place + SEAT_IS_VOID] = led_suit < 6 and observation[_VOIDS + SEAT_BYTES * seat + led_suit] != 0
        if observation[_ON_TABLE + SEAT_BYTES * seat + _NUMBER] == 0:
            rivals |= possible
            count_rivals(kind, candidates, is_lead, led_suit, possible, trumps, RIVAL_SEATS - CARD_SECTIONS, out)
    count_rivals(kind, candidates, is_lead, led_suit, rivals, trumps, RIVALS - CARD_SECTIONS, out)


@jit
def count_rivals(kind, candidates, is_lead, led_suit, possible, trumps, section, out):
    """Count the rivals in `possible` of each card in `candidates`.

    In the section `RIVALS`, write their number and whether there are none. In `RIVAL_SEATS`, add one seat if there are any.
    """
    remaining = candidates
    while remaining != 0:
        card = lowest(remaining)
        remaining &= remaining - 1
        suits = CARD_SUITS[kind, card] if is_lead else np.int64(1) << led_suit
        place = section * CARD_BYTES + card
        while suits != 0:
            if has(trumps, card):
                better = possible & above(trumps, card)
            else:
                better = possible & (above(SUIT_CARDS[kind, lowest(suits)], card) | trumps)
            suits &= suits - 1
            if section == RIVALS - CARD_SECTIONS:
                out[place] = size(better)
                out[place + (SAFE - RIVALS) * CARD_BYTES] = better == 0
            else:
                out[place] += better != 0
            place += LEAD_SECTIONS * CARD_BYTES


@jit_inline
def possible_cards(observation, kind, unseen, seat):
    """5. Return the cards that a seat may hold."""
    cards = unseen
    for suit in range(6):
        if observation[_VOIDS + SEAT_BYTES * seat + suit] != 0:
            cards &= ~SUIT_CARDS[kind, suit]
    return cards


@jit_inline
def read_cards(observation):
    """Return the kind of deck, the own hand, the cards that are out, and the trumps."""
    is_decktet = has_decktet(observation)
    kind = DECKTET if is_decktet else FRENCH
    hand = nonzero(observation, _HAND)
    deck = _DECKTET_CARDS[observation[_RANKS], observation[_SUITS]] if is_decktet else french_cards(observation)
    unseen = deck & ~hand & ~nonzero(observation, _PLAYED_IN)
    if observation[_PHASE + _IS_OPEN] == 0:
        unseen &= ~nonzero(observation, _EXPOSED)
    return kind, hand, unseen, SUIT_CARDS[kind, suit_at(observation, _TRUMP)]


@jit_inline
def french_cards(observation):
    """Return the French cards in use: the top ranks of the first suits."""
    ranks = np.int64(observation[_RANKS]) - 1
    cards = np.int64(0)
    for suit in range(np.int64(observation[_SUITS]) - 1):
        cards |= ((np.int64(1) << ranks) - 1) << (13 * suit + 13 - ranks)
    return cards


@jit_inline
def suit_at(observation, start):
    """Return the suit marked in a section; 6, a suit without cards, if none is."""
    for suit in range(6):
        if observation[start + suit] != 0:
            return suit
    return 6


@jit
def winning_cards(observation, kind, trumps):
    """4. Return the cards that beat the best of the trick so far; none on lead."""
    for seat in range(MAX_SEATS):
        if observation[_SEATS + SEAT_BYTES * seat + _BEST] != 0 and observation[_ON_TABLE + SEAT_BYTES * seat + _NUMBER] != 0:
            best = np.int64(observation[_ON_TABLE + SEAT_BYTES * seat + _NUMBER]) - 1
            if has(trumps, best):
                return above(trumps, best)
            return above(SUIT_CARDS[kind, suit_at(observation, _LED)], best) | trumps
    return np.int64(0)


@jit_inline
def count_in_suit(card, unseen, trumps, out, section):
    """Write the four bytes of a card for one suit; `unseen` are the cards of the suit that are out."""
    beaten_by = size(unseen & (above(unseen, card) | trumps))
    beats = size(unseen) - beaten_by
    place = section * CARD_BYTES + card
    out[place] = beaten_by
    out[place + CARD_BYTES] = beats
    out[place + 2 * CARD_BYTES] = beaten_by == 0
    out[place + 3 * CARD_BYTES] = beats == 0


@jit_inline
def mark(out, section, cards):
    """Write 1 for each card of a set."""
    while cards != 0:
        out[section * CARD_BYTES + lowest(cards)] = 1
        cards &= cards - 1


@jit
def extend(observation, extended):
    """Write an observation, uint8, and the features after it that fit into `extended`, uint8, shape (`extended_size`,)."""
    for byte in range(OBSERVATION_SIZE):
        extended[byte] = observation[byte]
    write_extra(observation, extended[OBSERVATION_SIZE:])


@jit
def write_extra(observation, out):
    """Write the features after an observation for which `out` has room."""
    write_card_features(observation, out[:CARD_FEATURES_SIZE])
    if len(out) > CARD_FEATURES_SIZE:
        write_trick_features(observation, out[CARD_FEATURES_SIZE:])
