"""The legal actions of the seat to act, as two sets: cards, and words (`actions`)."""

from __future__ import annotations

import numpy as np

from noms_env._jit import jit
from noms_env.core.actions import CALLING, INDICATE, NAMING_TRUMP, NOMINATE, NOMINATING, NUM_ACTIONS, PASS, PLAYING, SUIT
from noms_env.core.cards import CARD_SUITS, bit, has
from noms_env.core.tricks import follow
from noms_env.variants import dispatch


@jit
def find_legal(t):
    """Fill `legal_cards` and `legal_words` for the phase and the seat to act."""
    cards = np.int64(0)
    words = np.int64(0)
    if t.phase == PLAYING:
        hand = t.hands[t.seat]
        cards = dispatch.legal_leads(t, hand) if t.n_table == 0 else follow(hand, t.led_cards)
        if dispatch.may_indicate(t):
            words = bit(0)
    elif t.phase == CALLING:
        words = dispatch.legal_calls(t) << (PASS - INDICATE)
    elif t.phase == NAMING_TRUMP:
        words = dispatch.legal_trumps(t)
    elif t.phase == NOMINATING:
        cards = dispatch.legal_nominations(t)
        words = dispatch.legal_ranks(t)
    else:
        words = CARD_SUITS[t.deck_kind, t.best_card] << (SUIT - INDICATE)
    t.legal_cards = cards
    t.legal_words = words


@jit
def is_legal(t, action):
    """Return whether an action (any integer) is legal for the seat to act."""
    if action < 0 or action >= NUM_ACTIONS:
        return False
    if action < INDICATE:
        return t.phase == PLAYING and has(t.legal_cards, action)
    if action >= NOMINATE:
        return t.phase == NOMINATING and has(t.legal_cards, action - NOMINATE)
    return has(t.legal_words, action - INDICATE)
