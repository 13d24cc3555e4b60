"""Chances of the cards of a hand in later tricks: parts 4, 5 and 7 of `heuristics`."""

from __future__ import annotations

import math

from noms_env._jit import jit, lowest, size
from noms_env.core.cards import CARD_SUITS, SUIT_CARDS, above, below, bit, has
from noms_env.core.tricks import beaters
from noms_env.players.rule_based.weights import PLAIN, SIDE, TRUMP, WEIGHTS

NO_CARD = -1


@jit
def rivals(t, card, m):
    """Return the suit in which a card ranks best, and the unseen cards of that suit that beat it (two sets)."""
    if has(t.trump_cards, card):
        return t.trump_cards, m.unseen & above(t.trump_cards, card)
    suits = CARD_SUITS[t.deck_kind, card]
    peers = SUIT_CARDS[t.deck_kind, lowest(suits)] & t.cards
    higher = m.unseen & peers & beaters(card, peers, t.trump_cards)
    suits &= suits - 1
    if suits != 0:
        others = SUIT_CARDS[t.deck_kind, lowest(suits)] & t.cards
        stronger = m.unseen & others & beaters(card, others, t.trump_cards)
        if size(stronger) < size(higher):
            return others, stronger
    return peers, higher


@jit
def note_cards(t, mood, m):
    """4. Write the terms of all own cards, for `kept_chance`."""
    left = t.hands[t.seat]
    while left != 0:
        note_card(t, lowest(left), mood, m)
        left &= left - 1


@jit
def note_card(t, card, mood, m):
    """4. Write the terms of a card's chance that depend neither on the rest of the hand nor on the trumps drawn."""
    peers, higher = rivals(t, card, m)
    kind = PLAIN if t.trump_cards == 0 else TRUMP if has(t.trump_cards, card) else SIDE
    none_higher = 1.0
    for _ in range(size(higher)):
        none_higher *= 1.0 - m.share
    weights = WEIGHTS[mood, kind]
    m.peers[card] = peers
    m.kinds[card] = kind
    m.begun[card] = weights[0] + weights[1] * (size(higher) * m.share) + weights[2] * none_higher
    m.suited[card] = weights[5] * (size(m.unseen & peers) * m.share / (t.n_seats - 1))
    m.trumps[card] = size(m.unseen & t.trump_cards & ~peers) * m.share


@jit
def noted_chance(t, hand, card, drawn, mood, m):
    """4. Return the chance that a card takes a later trick, from the terms of `note_card`.

    `hand` is the hand after the present trick, including the card; by then `drawn` trumps will have left the other hands. The
    sum has the order of `weights.COUNTS`.
    """
    weights = WEIGHTS[mood, m.kinds[card]]
    peers = hand & m.peers[card]
    total = m.begun[card]
    total += weights[3] * size(above(peers, card))
    total += weights[4] * size(below(peers, card))
    total += m.suited[card]
    total += weights[6] * (max(0.0, m.trumps[card] - drawn) / (t.n_seats - 1))
    total += weights[7] * size(hand & t.trump_cards)
    total += weights[8] * m.pressure
    total += weights[9] * size(hand)
    return 1.0 / (1.0 + math.exp(-total))


@jit
def kept_chance(t, card, played, drawn, mood, m):
    """4. Return `noted_chance` of an own card after another one has been played.

    All trumps draw the same number of trumps, other cards none. The mood is the same for all cards of a decision. `look` and
    `note_cards` must have been called.
    """
    change = 0
    if has(m.peers[card], played):
        change = 1 if played > card else 2
    if has(t.trump_cards, played):
        change += 3
    if not has(m.known[change], card):
        m.known[change] |= bit(card)
        m.chances[change, card] = noted_chance(t, t.hands[t.seat] & ~bit(played), card, drawn, mood, m)
    return m.chances[change, card]


@jit
def spread_odds(t, hand, played, most, mood, m):
    """5. Write the chances of 0 to `most` tricks into `odds`, after `played` or `NO_CARD`. Return the expected number."""
    m.odds[: most + 1] = 0.0
    m.odds[0] = 1.0
    drawn = trumps_drawn(t, played, m) if played >= 0 else 0.0
    expected = 0.0
    left = hand
    while left != 0:
        card = lowest(left)
        left &= left - 1
        if played < 0:
            note_card(t, card, mood, m)
            chance = noted_chance(t, hand, card, drawn, mood, m)
        else:
            chance = kept_chance(t, card, played, drawn, mood, m)
        expected += chance
        for k in range(most, 0, -1):
            m.odds[k] += chance * (m.odds[k - 1] - m.odds[k])
        m.odds[0] *= 1.0 - chance
    return expected


@jit
def kept_tricks(t, played, mood, m):
    """5. Return the expected number of tricks of the own hand after a card has been played; see `kept_chance`."""
    drawn = trumps_drawn(t, played, m)
    expected = 0.0
    left = t.hands[t.seat] & ~bit(played)
    while left != 0:
        expected += kept_chance(t, lowest(left), played, drawn, mood, m)
        left &= left - 1
    return expected


@jit
def trumps_drawn(t, card, m):
    """7. Return the number of trumps that the other hands will have lost after the trick, because this card was led."""
    if t.n_table > 0 or not has(t.trump_cards, card):
        return 0.0
    return min(t.n_seats - 1.0, size(m.unseen & t.trump_cards) * m.share)
