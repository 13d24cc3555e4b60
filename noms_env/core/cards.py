"""Cards as numbers, and sets of cards as 64-bit integers, for both decks.

A set of cards is an int64 with bit `card` set for each member. In both decks the numbers ascend by rank within every suit, so
the best card of a suit is the highest bit of the set.

* French deck: `card = 13 * suit + rank`, suits C D H S = 0..3, ranks 2..A = 0..12.
* Decktet (rules 5.1): 36 basic cards by rank, the aces 0..5, three cards each of the ranks 2 to 9, the crowns 30..35; the
  Excuse is 36. Suits M S W L Y K = 0..5. The number cards bear two suits, so they belong to two suit sets.
"""

from __future__ import annotations

import numpy as np

from noms_env._jit import jit

FRENCH, DECKTET = 0, 1
DECK_NAMES = ("French deck", "Decktet")

SUIT_LETTERS = ("CDHS", "MSWLYK")
RANK_LETTERS = ("23456789TJQKA", "A23456789C")
MAX_SUITS = 6
NO_TRUMP = 6
"""No trump, as a trump: one above the last suit of either deck."""

EXCUSE = 36

# Rules 5.1, the table of the deck, rank by rank.
_DECKTET_WORDS = (
    *("AM", "AS", "AW", "AL", "AY", "AK"),
    *("2MK", "2SY", "2WL"),
    *("3MW", "3SK", "3LY"),
    *("4MS", "4WL", "4YK"),
    *("5ML", "5SW", "5YK"),
    *("6MW", "6SY", "6LK"),
    *("7ML", "7SK", "7WY"),
    *("8MS", "8WL", "8YK"),
    *("9MS", "9WY", "9LK"),
    *("CM", "CS", "CW", "CL", "CY", "CK"),
    "EX",
)
_FRENCH_WORDS = tuple(rank + suit for suit in SUIT_LETTERS[FRENCH] for rank in RANK_LETTERS[FRENCH])

CARD_WORDS = (_FRENCH_WORDS, _DECKTET_WORDS)
"""[deck]: the word of each card, rank then suits; the Excuse is EX."""

CARD_NUMBERS = tuple({word: card for card, word in enumerate(words)} for words in CARD_WORDS)
"""[deck]: the number of the card of each word."""


def _suits_of(deck_kind: int, word: str) -> int:
    return sum(1 << suit for suit, letter in enumerate(SUIT_LETTERS[deck_kind]) if letter in word[1:] and word != "EX")


CARD_SUITS = np.zeros((2, 64), np.int64)
"""[deck, card]: bit set of the card's suits; 0 for the Excuse."""
CARD_RANK = np.full((2, 64), -1, np.int64)
"""[deck, card]: index of the card's rank in `RANK_LETTERS`; -1 for the Excuse."""
SUIT_CARDS = np.zeros((2, NO_TRUMP + 1), np.int64)
"""[deck, suit]: the cards that bear the suit; the entry of `NO_TRUMP` is empty."""

for _deck_kind, _words in enumerate(CARD_WORDS):
    for _card, _word in enumerate(_words):
        CARD_SUITS[_deck_kind, _card] = _suits_of(_deck_kind, _word)
        CARD_RANK[_deck_kind, _card] = RANK_LETTERS[_deck_kind].find(_word[0])
        for _suit in range(MAX_SUITS):
            if CARD_SUITS[_deck_kind, _card] >> _suit & 1:
                SUIT_CARDS[_deck_kind, _suit] |= 1 << _card


@jit
def bit(number):
    """Return the set with one member."""
    return np.int64(1) << np.int64(number)


@jit
def has(members, number):
    """Return whether a number is a member of a set."""
    return (members >> np.int64(number)) & 1 != 0


@jit
def above(cards, card):
    """Return the cards of a one-suit set that rank above a card of the suit."""
    return cards & ~((bit(card) << 1) - 1)


@jit
def below(cards, card):
    """Return the cards of a one-suit set that rank below a card of the suit."""
    return cards & (bit(card) - 1)


@jit
def suit_of(card):
    """Return the suit of a card of the French deck."""
    return card // 13


def cards_in(members: int) -> list[int]:
    """Return the members of a set in ascending order."""
    number = int(members)
    return [card for card in range(number.bit_length()) if number >> card & 1]


def set_of(cards: list[int]) -> int:
    """Return the set of some cards."""
    return sum(1 << card for card in set(cards))


def french_deck(ranks: int, suits: int) -> list[int]:
    """Return the cards of the top `ranks` ranks in the first `suits` suits (C D H S), ascending."""
    return [13 * suit + rank for suit in range(suits) for rank in range(13 - ranks, 13)]


def decktet_deck(ranks: int, suits: int) -> list[int]:
    """Return the cards of the top `ranks` ranks with only the first `suits` suits (M S W L Y K), ascending, and the Excuse."""
    basic = [
        card for card in range(EXCUSE) if CARD_RANK[DECKTET, card] >= 10 - ranks and CARD_SUITS[DECKTET, card] >> suits == 0
    ]
    return [*basic, EXCUSE]
