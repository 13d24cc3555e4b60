"""Candidates: the legal actions up to equivalence. A search tries one action of each class.

1. *Cards to play.* Own cards with the same suits are equivalent if no card that others might hold lies between them; the lowest
   stands for all. The nominated card has its own class, since playing it reveals the partner.
2. *Cards to nominate.* Of 52 few make sense. In each suit: the two highest cards that the declarer does not hold, and the
   lowest one, which may be useful for a Misere. Of the declarer's own cards the lowest of each suit: any of them leaves the
   declarer alone, and only the suit affects what the declarer may lead to the first trick. A search on a policy adds the cards
   that the policy finds probable.
3. All other actions unchanged.
"""

from __future__ import annotations

import numpy as np

from noms_env._jit import highest, jit, lowest, size
from noms_env.core.actions import INDICATE, NOMINATE, NOMINATING, NUM_ACTIONS, PLAYING
from noms_env.core.cards import CARD_SUITS, NO_TRUMP, SUIT_CARDS, bit
from noms_env.engine.batch_kernels import count_legal
from noms_env.engine.row_kernels import write_members

MAX_CANDIDATES = 48
"""Maximum without a policy: the words (46), or the cards of a hand (26) or four of a suit, with a few words."""
MIN_NOMINATION_CHANCE = 0.005  # minimum probability by a policy with which it adds a card to nominate to the candidates


@jit
def write_candidates(t, nominations, actions):
    """Write the candidates, ascending except nominations, which come last and include `nominations`. Return their number."""
    count = 0
    if t.phase == PLAYING:
        count = write_members(cards_to_play(t), 0, actions, count)
    count = write_members(t.legal_words, INDICATE, actions, count)
    if t.phase == NOMINATING:
        count = write_members(cards_to_nominate(t) | nominations, NOMINATE, actions, count)
    return count


@jit
def write_policy_candidates(tables, row, probabilities, actions, weights, members):
    """Write `policy_candidates`. Return their number."""
    t = tables[row]
    count = write_candidates(t, probable_nominations(t, probabilities), actions)
    for k in range(count):
        members[k] = actions[k]
        weights[k] = probabilities[actions[k]]
    if t.phase == PLAYING:
        k, remaining = 0, t.legal_cards
        while remaining != 0:
            card = lowest(remaining)
            remaining &= remaining - 1
            if k + 1 < count and actions[k + 1] == card:
                k += 1
            elif actions[k] != card:
                weights[k] += probabilities[card]
                if probabilities[card] > probabilities[members[k]]:
                    members[k] = card
    return count


def policy_candidates(tables: np.ndarray, row: int, probabilities: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the candidates of a row in which a seat is to act, by a policy's probabilities, float32, shape (NUM_ACTIONS,).

    Returns three arrays of shape (A,): the candidates, int64; the probability of each class of actions, float64; and the most
    probable action of each class, int64.
    """
    actions, members, weights = np.empty(NUM_ACTIONS, np.int64), np.empty(NUM_ACTIONS, np.int64), np.empty(NUM_ACTIONS)
    count = write_policy_candidates(tables, row, probabilities, actions, weights, members)
    return actions[:count], weights[:count], members[:count]


@jit
def only_candidate(t):
    """Return the candidate if there is only one, else -1."""
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
def forced_action(t):
    """Return the action of a seat without a choice, else -1; of several cards to nominate none is forced."""
    return np.int64(-1) if t.phase == NOMINATING and count_legal(t) > 1 else only_candidate(t)


@jit
def candidate_index(actions, count, action):
    """Return the index of an action among the candidates, or of the lower equivalent card, which stands for it."""
    place = -1
    for k in range(count):
        if actions[k] <= action and (place < 0 or actions[k] > actions[place]):
            place = k
    return place


@jit
def cards_to_play(t):
    """1. Return the legal cards without those equivalent to a lower one."""
    present = t.cards & ~t.cards_played
    if t.n_table > 0:
        present |= bit(t.best_card)
    cards = np.int64(0)
    remaining = t.legal_cards
    previous = np.int64(-1)
    while remaining != 0:
        card = lowest(remaining)
        remaining &= remaining - 1
        if previous < 0 or not are_equivalent(t, present, previous, card):
            cards |= bit(card)
        previous = card
    return cards


@jit
def are_equivalent(t, present, low, high):
    """1. Return whether two cards of a hand are equivalent; `present` are the cards not played, and the best on the table."""
    if CARD_SUITS[t.deck_kind, low] != CARD_SUITS[t.deck_kind, high] or t.nominated == low or t.nominated == high:
        return False
    return (present & (bit(high) - 1) & ~((bit(low) << 1) - 1)) == 0


@jit
def cards_to_nominate(t):
    """2. Return a few of the legal cards."""
    cards = np.int64(0)
    for suit in range(NO_TRUMP):
        own_cards = t.legal_cards & SUIT_CARDS[t.deck_kind, suit] & t.hands[t.seat]
        if own_cards != 0:
            cards |= bit(lowest(own_cards))
        others = t.legal_cards & SUIT_CARDS[t.deck_kind, suit] & ~t.hands[t.seat]
        if others != 0:
            cards |= bit(lowest(others)) | bit(highest(others))
            others &= ~bit(highest(others))
        if others != 0:
            cards |= bit(highest(others))
    return cards


@jit
def probable_nominations(t, probabilities):
    """Return the legal cards that a policy nominates with a probability of `MIN_NOMINATION_CHANCE` or more."""
    cards = np.int64(0)
    remaining = t.legal_cards if t.phase == NOMINATING else np.int64(0)
    while remaining != 0:
        card = lowest(remaining)
        remaining &= remaining - 1
        if probabilities[NOMINATE + card] >= MIN_NOMINATION_CHANCE:
            cards |= bit(card)
    return cards
