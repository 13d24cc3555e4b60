"""The actions that a search tries: the legal ones, but for those that would only say the same again.

1. *Cards to play.* Of cards of a hand with the same suits between which no card is left that others might hold, the lowest.
   The nominated card stands for itself, since playing it tells who the partner is.
2. *Cards to nominate.* Of 52 few make sense. In each suit: the two highest cards that the declarer does not hold, and the
   lowest one, which may be wanted for a Misere. Of the declarer's own cards the lowest of each suit: all of them leave him
   alone, and only the suit matters to what he may lead to the first trick.
3. All other actions as they are.
"""

from __future__ import annotations

import numpy as np

from noms_env._jit import highest, jit, lowest, size
from noms_env.core.actions import INDICATE, NOMINATE, NOMINATING, PLAYING
from noms_env.core.cards import CARD_SUITS, NO_TRUMP, SUIT_CARDS, bit
from noms_env.engine.row_kernels import write_members

MOST_CANDIDATES = 48
"""There are no more at a time: the words (46), or the cards of a hand (26) or four of a suit, with a few words."""


@jit
def write_candidates(t, actions):
    """Write the actions to try, int64, ascending but for nominations, which come behind the words; returns their number."""
    count = 0
    if t.phase == PLAYING:
        count = write_members(cards_to_play(t), 0, actions, count)
    count = write_members(t.legal_words, INDICATE, actions, count)
    if t.phase == NOMINATING:
        count = write_members(cards_to_nominate(t), NOMINATE, actions, count)
    return count


@jit
def only_candidate(t):
    """The action to try if there is a single one, else -1."""
    cards = np.int64(0)
    first = 0
    if t.phase == PLAYING:
        cards = cards_to_play(t)
    elif t.phase == NOMINATING:
        cards = cards_to_nominate(t)
        first = NOMINATE
    if size(cards) + size(t.legal_words) != 1:
        return np.int64(-1)
    return first + lowest(cards) if cards != 0 else INDICATE + lowest(t.legal_words)


@jit
def place_among(actions, count, action):
    """The place of an action among the candidates; if it is a card that is not among them, that of the lower one like it."""
    place = -1
    for k in range(count):
        if actions[k] <= action and (place < 0 or actions[k] > actions[place]):
            place = k
    return place


@jit
def cards_to_play(t):
    """1. The legal cards without those that are like a lower one."""
    present = t.cards & ~t.cards_played
    if t.n_table > 0:
        present |= bit(t.best_card)
    cards = np.int64(0)
    left = t.legal_cards
    before = np.int64(-1)
    while left != 0:
        card = lowest(left)
        left &= left - 1
        if before < 0 or not is_like(t, present, before, card):
            cards |= bit(card)
        before = card
    return cards


@jit
def is_like(t, present, low, high):
    """True if two cards of a hand are alike: see 1; `present` are the cards not played, and the best on the table."""
    if CARD_SUITS[t.deck_kind, low] != CARD_SUITS[t.deck_kind, high] or t.nominated == low or t.nominated == high:
        return False
    return (present & (bit(high) - 1) & ~((bit(low) << 1) - 1)) == 0


@jit
def cards_to_nominate(t):
    """2. A few of the legal cards."""
    cards = np.int64(0)
    for suit in range(NO_TRUMP):
        own = t.legal_cards & SUIT_CARDS[t.deck_kind, suit] & t.hands[t.seat]
        if own != 0:
            cards |= bit(lowest(own))
        others = t.legal_cards & SUIT_CARDS[t.deck_kind, suit] & ~t.hands[t.seat]
        if others != 0:
            cards |= bit(lowest(others)) | bit(highest(others))
            others &= ~bit(highest(others))
        if others != 0:
            cards |= bit(highest(others))
    return cards
