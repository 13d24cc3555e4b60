"""The hidden partner: the holder of the nominated card, the roles of the seats, and what is public (rules 3.2, 4.5)."""

from __future__ import annotations

from noms_env._jit import jit
from noms_env.core.cards import has

NO_ROLE, DECLARER, DECLARER_ALONE, PARTNER, OPPONENT = range(5)
ROLES = ("none", "declarer", "declarer_alone", "partner", "opponent")
"""Roles, as a seat knows its own: a declarer who knows that it plays alone is `declarer_alone`."""


@jit
def holder_of(t, card):
    """Return the seat that was dealt a card, -1 if the card is in the stock."""
    for seat in range(t.n_seats):
        if has(t.hands[seat] | t.played[seat], card):
            return seat
    return -1


@jit
def nominate(t, card):
    """Set the nominated card and the partner; with `open_partner` reveal the holder, or that the declarer is alone."""
    t.nominated = card
    find_partner(t)
    if t.open_partner != 0:
        t.revealed = holder_of(t, card)
        if t.revealed < 0:
            t.alone = 1


@jit
def find_partner(t):
    """Set the hidden partner: the holder of the nominated card, unless that is the declarer."""
    holder = holder_of(t, t.nominated)
    t.partner = -1 if holder == t.declarer else holder


@jit
def reveal(t, seat, card):
    """Reveal the holder of the nominated card, if this is the card."""
    if card == t.nominated:
        t.revealed = seat


@jit
def is_on_side(t, seat):
    """Return whether a seat is the declarer or the hidden partner."""
    return seat == t.declarer or seat == t.partner


@jit
def side_tricks(t):
    """Return the tricks of declarer and partner together."""
    tricks = t.tricks[t.declarer]
    if t.partner >= 0:
        tricks += t.tricks[t.partner]
    return tricks


@jit
def known_role(t, seat):
    """Return the role of a seat, as far as the seat knows it."""
    if t.declarer < 0:
        return NO_ROLE
    is_nominated = t.nominated >= 0
    if seat == t.declarer:
        dealt_hand = t.hands[seat] | t.played[seat]
        return DECLARER_ALONE if t.alone != 0 or (is_nominated and has(dealt_hand, t.nominated)) else DECLARER
    if t.alone != 0:
        return OPPONENT
    if not is_nominated:
        return NO_ROLE
    return PARTNER if seat == t.partner else OPPONENT
