"""A layout in the record of a table, with all that follows from it."""

from __future__ import annotations

import numpy as np

from noms_env._jit import jit, lowest
from noms_env.belief.plan import STOCK
from noms_env.core.cards import EXCUSE, bit, has
from noms_env.core.partners import nominate
from noms_env.core.state import HELD, NOMS, NONESUCH, eldest, get_byte
from noms_env.engine.legal import find_legal
from noms_env.variants.noms_deck import PACKET_SEATS, SINGLE_SHUFFLED
from noms_env.variants.nonesuch import excuse_is_shown

PACKET_PLACES = np.array([np.flatnonzero(turn == PACKET_SEATS) for turn in range(4)])
"""[seat from eldest, n]: place in the deck of the n-th card that the seat is dealt in packets."""


@jit
def lay_out(t, seat, p):
    """Write a layout into a table, with all that follows from it."""
    for place in range(t.n_seats):
        t.hands[place] = p.known[place] | p.dealt[place]
    t.stock = p.known[STOCK] | p.dealt[STOCK]
    t.partner = -1
    if t.nominated >= 0:
        nominate(t, t.nominated)
    if t.variant == NONESUCH and not excuse_is_shown(t):
        t.excuse = holder_of_excuse(t)
    order_deck(t)
    if t.observe_previous_hand != 0:
        forget_unseen(t, seat)
    find_legal(t)


@jit
def holder_of_excuse(t):
    """The seat that holds the Excuse before it is shown, -1 if it was turned up."""
    for seat in range(t.n_seats):
        if has(t.hands[seat], EXCUSE):
            return seat
    return -1


@jit
def order_deck(t):
    """Write a dealing order that gives these hands and this turn-up; else every hand comes in ascending order."""
    in_packets = t.variant == NOMS and t.deal_mode != SINGLE_SHUFFLED
    for turn in range(t.n_seats):
        seat = (eldest(t) + turn) % t.n_seats
        cards = dealt_hand(t, seat)
        if t.turn_up >= 0 and has(cards, t.turn_up):
            cards &= ~bit(t.turn_up)
            t.deck[t.n_seats * t.hand_size - 1] = t.turn_up
        k = 0
        while cards != 0:
            t.deck[PACKET_PLACES[turn, k] if in_packets else turn + t.n_seats * k] = lowest(cards)
            cards &= cards - 1
            k += 1
    order_stock(t)


@jit
def dealt_hand(t, seat):
    """The hand that a seat was dealt (nonesuch: with the Excuse, before the swap)."""
    cards = t.hands[seat] | t.played[seat]
    if t.variant == NONESUCH and seat == t.excuse and t.leader >= 0:
        cards = (cards & ~bit(t.turn_up)) | bit(EXCUSE)
    return cards


@jit
def order_stock(t):
    """The undealt cards at the end of the deck, the turn-up first."""
    place = t.n_seats * t.hand_size
    cards = t.stock
    if t.turn_up >= 0 and (t.variant == NONESUCH or has(cards, t.turn_up)):
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
