"""The hidden partner: who was dealt the nominated card, which role a seat has, what is public yet (rules 3.2, 4.5)."""

from __future__ import annotations

from noms_env._jit import jit
from noms_env.core.cards import has

NO_ROLE, DECLARER, DECLARER_ALONE, PARTNER, OPPONENT = range(5)
ROLES = ("none", "declarer", "declarer_alone", "partner", "opponent")
"""Roles as a seat knows its own: a declarer is `declarer_alone` if he knows that he is."""


@jit
def holder_of(t, card):
    """The seat that was dealt a card of this deal, -1 if it lies in the stock."""
    for seat in range(t.n_seats):
        if has(t.hands[seat] | t.played[seat], card):
            return seat
    return -1


@jit
def nominate(t, card):
    """Fix the nominated card and with it the partner; with `open_partner` all learn at once who was dealt the card.

    If nobody was, they learn that the declarer is alone.
    """
    t.nominated = card
    find_partner(t)
    if t.open_partner != 0:
        t.revealed = holder_of(t, card)
        if t.revealed < 0:
            t.alone = 1


@jit
def find_partner(t):
    """The holder of the nominated card, if another seat than the declarer, is the hidden partner."""
    holder = holder_of(t, t.nominated)
    t.partner = -1 if holder == t.declarer else holder


@jit
def reveal(t, seat, card):
    """The nominated card appears on the table: from now on everybody knows who held it."""
    if card == t.nominated:
        t.revealed = seat


@jit
def is_on_side(t, seat):
    """True for the declarer and the hidden partner."""
    return seat == t.declarer or seat == t.partner


@jit
def side_tricks(t):
    """Tricks of the declarer and the partner together."""
    taken = t.tricks[t.declarer]
    if t.partner >= 0:
        taken += t.tricks[t.partner]
    return taken


@jit
def role_known_to(t, seat):
    """A seat's role as far as the seat itself knows it."""
    if t.declarer < 0:
        return NO_ROLE
    named = t.nominated >= 0
    if seat == t.declarer:
        own = t.hands[seat] | t.played[seat]
        return DECLARER_ALONE if t.alone != 0 or (named and has(own, t.nominated)) else DECLARER
    if t.alone != 0:
        return OPPONENT
    if not named:
        return NO_ROLE
    return PARTNER if seat == t.partner else OPPONENT
