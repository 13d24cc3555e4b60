"""A layout in the record of a table, with all that follows from it."""

from __future__ import annotations

import numpy as np

from noms_env._jit import jit, lowest
from noms_env.core.cards import bit, has
from noms_env.core.state import HELD, STOCK, eldest, get_byte, left_of
from noms_env.engine.legal import find_legal
from noms_env.variants import dispatch


@jit
def lay_out(t, seat, p):
    """Write a layout into a table, with all that follows from it."""
    for place in range(t.n_seats):
        t.hands[place] = p.known[place] | p.dealt[place]
    t.stock = p.known[STOCK] | p.dealt[STOCK]
    t.partner = -1
    dispatch.find_holders(t)
    order_deck(t)
    if t.observe_previous_hand != 0:
        forget_unseen(t, seat)
    find_legal(t)


@jit
def order_deck(t):
    """Write a dealing order that gives these hands and this turn-up; else every hand comes in ascending order."""
    end = t.n_seats * t.deal_size
    undealt = t.stock
    if t.turn_up >= 0:
        undealt |= bit(t.turn_up)
    seat = eldest(t)
    for turn in range(t.n_seats):
        cards = dispatch.dealt_hand(t, seat)
        if t.turn_up >= 0 and has(cards, t.turn_up):
            cards &= ~bit(t.turn_up)
            undealt &= ~bit(t.turn_up)
            t.deck[end - 1] = t.turn_up
        k = 0
        while cards != 0:
            t.deck[dispatch.deck_place(t, turn, k)] = lowest(cards)
            cards &= cards - 1
            k += 1
        seat = left_of(t, seat)
    order_stock(t, undealt, end)


@jit
def order_stock(t, cards, place):
    """The undealt cards at the end of the deck, from a place on, the turn-up first."""
    if t.turn_up >= 0 and has(cards, t.turn_up):
        t.deck[place] = t.turn_up
        cards &= ~bit(t.turn_up)
        place += 1
    while cards != 0:
        t.deck[place] = lowest(cards)
        cards &= cards - 1
        place += 1


@jit
def forget_unseen(t, seat):
    """Blank in `previous` what other seats held to the end of the deal before."""
    for card in range(52):
        seen = get_byte(t.previous, card)
        if seen >= HELD and seen != HELD + seat:
            t.previous[card >> 3] ^= seen << np.int64(8 * (card & 7))
