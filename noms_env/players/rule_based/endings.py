"""The last tricks, from the second version of the rules on: with two or three cards in hand the player looks ahead.

1. Who takes this trick leads to the next. So the cards kept are worth something else if this trick is taken than if it is not,
   and a card is worth both, each times its chance (`ending_value`). What a number of tricks is worth to the player is what a
   family says in `worth`, by the points that the rules pay for it; so `payoff` says only what others are worth.
2. A card that is led takes its trick unless another seat beats it; the chances are those of `heuristics`, rule 2, with as many
   cards as the seat will hold then. A seat with a single card has no choice.
3. A card that is not led must also be a trump, or be of the suit that is led: for that the chance is the share of lower cards
   of its suit among the unseen cards that do not beat it (`next_chance`).
4. Of two cards that are kept the one is played first with which both are worth more (`rest_worth`).

That is not done where the fewest tricks win, and not in Misere: it gains nothing there.
"""

from __future__ import annotations

import numpy as np

from noms_env._jit import jit, lowest, size
from noms_env.core.cards import CARD_SUITS, SUIT_CARDS, bit, has
from noms_env.core.tricks import beaters
from noms_env.players.registry import FIRST
from noms_env.players.rule_based.heuristics import (
    ENDING,
    LEAST_GAIN,
    beat_chance,
    best_suit,
    drop_equal_cards,
    trick_value,
)


@jit
def is_ending(t, m):
    """True if so few cards are left that the player looks ahead."""
    return m.version > FIRST and size(t.hands[t.seat]) <= ENDING


@jit
def best_ending_card(t, cards, m):
    """The card with which the rest of the deal is worth most; `payoff`, `eager` and `worth` are set."""
    best, choice = -np.inf, -1
    left = drop_equal_cards(t, cards, m)
    while left != 0:
        card = lowest(left)
        left &= left - 1
        value = ending_value(t, card, m)
        if has(m.liked, card):
            value += m.liking
        if value > best + LEAST_GAIN:
            best, choice = value, card
    return choice


@jit
def ending_value(t, card, m):
    """1. What the rest of the deal is worth with a card."""
    value = trick_value(t, card, best_suit(t, card, m), m)
    wins, rest = m.wins, t.hands[t.seat] & ~bit(card)
    return value + wins * rest_worth(t, rest, True, 1, m) + (1.0 - wins) * rest_worth(t, rest, False, 0, m)


@jit
def rest_worth(t, rest, leads, taken, m):
    """4. What one or two cards kept are worth if so many tricks have been taken, and the seat leads or does not."""
    best = -np.inf
    left = rest
    while left != 0:
        card = lowest(left)
        left &= left - 1
        last = rest & ~bit(card)
        chance = next_chance(t, card, size(rest), leads, m)
        if last == 0:
            return chance * m.worth[taken + 1] + (1.0 - chance) * m.worth[taken]
        value = chance * last_worth(t, lowest(last), True, taken + 1, m)
        value += (1.0 - chance) * last_worth(t, lowest(last), False, taken, m)
        best = max(best, value)
    return best


@jit
def last_worth(t, card, leads, taken, m):
    """The same of the last card."""
    chance = next_chance(t, card, 1, leads, m)
    return chance * m.worth[taken + 1] + (1.0 - chance) * m.worth[taken]


@jit
def next_chance(t, card, cards, leads, m):
    """2, 3. Chance that a card takes a trick to which each hand has so many cards, if it is led or not; reckoned once."""
    change = 2 * (cards - 1) + int(leads)
    if not has(m.known[change], card):
        m.known[change] |= bit(card)
        m.chances[change, card] = best_chance(t, card, cards, leads, m)
    return m.chances[change, card]


@jit
def best_chance(t, card, cards, leads, m):
    """2, 3. The same, under the suit of the card that is best for it."""
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
