"""The last tricks, from version 2 of the rules on: with two or three cards in hand the player looks ahead.

1. The winner of this trick leads to the next. So the rest of the hand has one value if the seat takes this trick, and another
   if not. The value of a card is the mean of both, weighted by their chances (`ending_value`). A family sets the value of each
   number of tricks in `worth`, by the points that the rules pay. Then `payoff` holds only the value of the others' tricks.
2. A card that is led takes its trick unless another seat beats it. The chances are those of `heuristics`, rule 2, with the
   number of cards that the seat will hold then. A seat with a single card has no choice.
3. A card that is not led must also be a trump, or be of the suit led. The chance of that is the share of lower cards of its
   suit among the unseen cards that do not beat it (`next_chance`).
4. Two cards are valued in the better order of play (`hand_worth`).

The player does not look ahead if the fewest tricks win, nor in Misere: it gains nothing there.
"""

from __future__ import annotations

import numpy as np

from noms_env._jit import jit, lowest, size
from noms_env.core.cards import CARD_SUITS, SUIT_CARDS, bit, has
from noms_env.core.tricks import beaters
from noms_env.players.registry import FIRST
from noms_env.players.rule_based.heuristics import ENDING, MIN_GAIN, beat_chance, best_suit, drop_equal_cards, trick_value


@jit
def is_ending(t, m):
    """Return whether few enough cards are left for the player to look ahead."""
    return m.version > FIRST and size(t.hands[t.seat]) <= ENDING


@jit
def best_ending_card(t, cards, m):
    """Return the card that maximises the value of the rest of the deal; `payoff`, `eager` and `worth` are set."""
    best, choice = -np.inf, -1
    remaining = drop_equal_cards(t, cards, m)
    while remaining != 0:
        card = lowest(remaining)
        remaining &= remaining - 1
        value = ending_value(t, card, m)
        if has(m.bonus_cards, card):
            value += m.bonus
        if value > best + MIN_GAIN:
            best, choice = value, card
    return choice


@jit
def ending_value(t, card, m):
    """1. Return the value of the rest of the deal after a card."""
    value = trick_value(t, card, best_suit(t, card, m), m)
    win_chance, hand = m.win_chance, t.hands[t.seat] & ~bit(card)
    return value + win_chance * hand_worth(t, hand, True, 1, m) + (1.0 - win_chance) * hand_worth(t, hand, False, 0, m)


@jit
def hand_worth(t, hand, leads, tricks, m):
    """4. Return the value of a hand of one or two cards after `tricks` further tricks, if the seat `leads` or does not."""
    best = -np.inf
    remaining = hand
    while remaining != 0:
        card = lowest(remaining)
        remaining &= remaining - 1
        last_cards = hand & ~bit(card)
        chance = next_chance(t, card, size(hand), leads, m)
        if last_cards == 0:
            return chance * m.worth[tricks + 1] + (1.0 - chance) * m.worth[tricks]
        value = chance * last_card_worth(t, lowest(last_cards), True, tricks + 1, m)
        value += (1.0 - chance) * last_card_worth(t, lowest(last_cards), False, tricks, m)
        best = max(best, value)
    return best


@jit
def last_card_worth(t, card, leads, tricks, m):
    """Return the value of the last card; arguments as in `hand_worth`."""
    chance = next_chance(t, card, 1, leads, m)
    return chance * m.worth[tricks + 1] + (1.0 - chance) * m.worth[tricks]


@jit
def next_chance(t, card, cards, leads, m):
    """2, 3. Return the chance that a card, led or not, takes a trick to which each hand has `cards` cards; cached."""
    change = 2 * (cards - 1) + int(leads)
    if not has(m.cached[change], card):
        m.cached[change] |= bit(card)
        m.chances[change, card] = best_chance(t, card, cards, leads, m)
    return m.chances[change, card]


@jit
def best_chance(t, card, cards, leads, m):
    """2, 3. Compute `next_chance`, with the best suit of the card."""
    best = 0.0
    suits = CARD_SUITS[t.deck_kind, card]
    while suits != 0:
        suit = lowest(suits)
        suits &= suits - 1
        chance = 1.0
        if not leads and not has(t.trump_cards, card):
            peers = SUIT_CARDS[t.deck_kind, suit]
            weaker = m.unseen & ~beaters(card, peers, t.trump_cards)
            chance = size(weaker & peers) / max(1, size(weaker))
        for other in range(t.n_seats):
            if other != t.seat and chance > best:
                chance *= 1.0 - beat_chance(t, other, cards, card, suit, m)
        best = max(best, chance)
    return best
