"""Chances of the cards of a hand in later tricks: parts 4, 5 and 7 of `heuristics`."""

from __future__ import annotations

import math

from noms_env._jit import jit, lowest, size
from noms_env.core.cards import CARD_SUITS, SUIT_CARDS, above, below, bit, has
from noms_env.core.tricks import beaters
from noms_env.players.rule_based.weights import PLAIN, SIDE, TRUMP, WEIGHTS

NO_CARD = -1


@jit
def find_rivals(t, card, m):
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
def write_terms(t, mood, m):
    """4. Write the terms of all own cards, for `later_chance`."""
    remaining = t.hands[t.seat]
    while remaining != 0:
        write_card_terms(t, lowest(remaining), mood, m)
        remaining &= remaining - 1


@jit
def write_card_terms(t, card, mood, m):
    """4. Write the terms of a card's chance that depend neither on the rest of the hand nor on the trumps drawn."""
    peers, higher = find_rivals(t, card, m)
    kind = PLAIN if t.trump_cards == 0 else TRUMP if has(t.trump_cards, card) else SIDE
    none_higher = 1.0
    for _ in range(size(higher)):
        none_higher *= 1.0 - m.share
    weights = WEIGHTS[mood, kind]
    m.peers[card] = peers
    m.kinds[card] = kind
    m.partial_sum[card] = weights[0] + weights[1] * (size(higher) * m.share) + weights[2] * none_higher
    m.suit_term[card] = weights[5] * (size(m.unseen & peers) * m.share / (t.n_seats - 1))
    m.other_trumps[card] = size(m.unseen & t.trump_cards & ~peers) * m.share


@jit
def chance_from_terms(t, hand, card, n_drawn, mood, m):
    """4. Return the chance that a card takes a later trick, from the terms of `write_card_terms`.

    `hand` is the hand after the present trick, including the card; by then `n_drawn` trumps will have left the other hands. The
    sum has the order of `weights.COUNTS`.
    """
    weights = WEIGHTS[mood, m.kinds[card]]
    peers = hand & m.peers[card]
    total = m.partial_sum[card]
    total += weights[3] * size(above(peers, card))
    total += weights[4] * size(below(peers, card))
    total += m.suit_term[card]
    total += weights[6] * (max(0.0, m.other_trumps[card] - n_drawn) / (t.n_seats - 1))
    total += weights[7] * size(hand & t.trump_cards)
    total += weights[8] * m.pressure
    total += weights[9] * size(hand)
    return 1.0 / (1.0 + math.exp(-total))


@jit
def later_chance(t, card, played_card, n_drawn, mood, m):
    """4. Return `chance_from_terms` of an own card after another one has been played.

    All trumps draw the same number of trumps, other cards none. The mood is the same for all cards of a decision. `look` and
    `write_terms` must have been called.
    """
    change = 0
    if has(m.peers[card], played_card):
        change = 1 if played_card > card else 2
    if has(t.trump_cards, played_card):
        change += 3
    if not has(m.cached[change], card):
        m.cached[change] |= bit(card)
        m.chances[change, card] = chance_from_terms(t, t.hands[t.seat] & ~bit(played_card), card, n_drawn, mood, m)
    return m.chances[change, card]


@jit
def spread_odds(t, hand, played_card, max_tricks, mood, m):
    """5. Write the chance of each number of tricks up to `max_tricks` into `odds`; return the expected number.

    `played_card` is the card played to the present trick, or `NO_CARD`.
    """
    m.odds[: max_tricks + 1] = 0.0
    m.odds[0] = 1.0
    n_drawn = trumps_drawn(t, played_card, m) if played_card >= 0 else 0.0
    expected = 0.0
    remaining = hand
    while remaining != 0:
        card = lowest(remaining)
        remaining &= remaining - 1
        if played_card < 0:
            write_card_terms(t, card, mood, m)
            chance = chance_from_terms(t, hand, card, n_drawn, mood, m)
        else:
            chance = later_chance(t, card, played_card, n_drawn, mood, m)
        expected += chance
        for k in range(max_tricks, 0, -1):
            m.odds[k] += chance * (m.odds[k - 1] - m.odds[k])
        m.odds[0] *= 1.0 - chance
    return expected


@jit
def expected_tricks(t, played_card, mood, m):
    """5. Return the expected number of tricks of the own hand after a card has been played; see `later_chance`."""
    n_drawn = trumps_drawn(t, played_card, m)
    expected = 0.0
    remaining = t.hands[t.seat] & ~bit(played_card)
    while remaining != 0:
        expected += later_chance(t, lowest(remaining), played_card, n_drawn, mood, m)
        remaining &= remaining - 1
    return expected


@jit
def trumps_drawn(t, card, m):
    """7. Return the number of trumps that the other hands will have lost after the trick, because this card was led."""
    if t.n_table > 0 or not has(t.trump_cards, card):
        return 0.0
    return min(t.n_seats - 1.0, size(m.unseen & t.trump_cards) * m.share)
