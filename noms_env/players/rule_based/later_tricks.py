"""What the cards of a hand may take later: the parts 4, 5 and 7 of `heuristics`."""

from __future__ import annotations

import math

from noms_env._jit import jit, lowest, size
from noms_env.core.cards import CARD_SUITS, SUIT_CARDS, above, below, bit, has
from noms_env.core.tricks import beaters
from noms_env.players.rule_based.weights import FEATURES, PLAIN, SIDE, TRUMP, WEIGHTS

NO_CARD = -1


@jit
def rivals(t, card, m):
    """The suit in which a card stands best, and the unseen cards of that suit which beat it (two sets)."""
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
def later_chance(t, hand, card, drawn, mood, m):
    """4. Chance that a card takes a trick later on.

    `hand` is what will be left when the present trick is over, the card included; till then so many trumps will have been
    drawn from the other hands. `features` are written, in the order of `weights.COUNTS`.
    """
    peers, higher = rivals(t, card, m)
    others = t.n_seats - 1
    m.features[0] = 1.0
    m.features[1] = size(higher) * m.share
    m.features[2] = 1.0
    for _ in range(size(higher)):
        m.features[2] *= 1.0 - m.share
    m.features[3] = size(above(hand & peers, card))
    m.features[4] = size(below(hand & peers, card))
    m.features[5] = size(m.unseen & peers) * m.share / others
    m.features[6] = max(0.0, size(m.unseen & t.trump_cards & ~peers) * m.share - drawn) / others
    m.features[7] = size(hand & t.trump_cards)
    m.features[8] = m.pressure
    m.features[9] = size(hand)
    kind = PLAIN if t.trump_cards == 0 else TRUMP if has(t.trump_cards, card) else SIDE
    total = 0.0
    for i in range(FEATURES):
        total += WEIGHTS[mood, kind, i] * m.features[i]
    return 1.0 / (1.0 + math.exp(-total))


@jit
def note_peers(t, m):
    """4. Write `peers`, for `kept_chance`."""
    left = t.hands[t.seat]
    while left != 0:
        m.peers[lowest(left)], _ = rivals(t, lowest(left), m)
        left &= left - 1


@jit
def kept_chance(t, card, played, drawn, mood, m):
    """4. `later_chance` of an own card once another one has been played.

    The trumps that it will have drawn are the same for all trumps that may be played, and none for others; the mood is the same
    for all cards of a decision, for which `look` and `note_peers` have been called.
    """
    change = 0
    if has(m.peers[card], played):
        change = 1 if played > card else 2
    if has(t.trump_cards, played):
        change += 3
    if not has(m.known[change], card):
        m.known[change] |= bit(card)
        m.chances[change, card] = later_chance(t, t.hands[t.seat] & ~bit(played), card, drawn, mood, m)
    return m.chances[change, card]


@jit
def spread_odds(t, hand, played, most, mood, m):
    """5. Write the chance of each number of tricks of a hand, from 0 to `most`, into `odds`; returns the expected number.

    `played` is the card that was played from the own hand before, or `NO_CARD`.
    """
    m.odds[: most + 1] = 0.0
    m.odds[0] = 1.0
    drawn = trumps_drawn(t, played, m) if played >= 0 else 0.0
    expected = 0.0
    left = hand
    while left != 0:
        card = lowest(left)
        left &= left - 1
        if played < 0:
            chance = later_chance(t, hand, card, drawn, mood, m)
        else:
            chance = kept_chance(t, card, played, drawn, mood, m)
        expected += chance
        for k in range(most, 0, -1):
            m.odds[k] += chance * (m.odds[k - 1] - m.odds[k])
        m.odds[0] *= 1.0 - chance
    return expected


@jit
def trumps_drawn(t, card, m):
    """7. Trumps that the other hands will have lost when the trick is over, because this card was led."""
    if t.n_table > 0 or not has(t.trump_cards, card):
        return 0.0
    return min(t.n_seats - 1.0, size(m.unseen & t.trump_cards) * m.share)
