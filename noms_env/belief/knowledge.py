"""What a seat knows of the cards that it has not seen: where they cannot be."""

from __future__ import annotations

from noms_env._jit import jit, size
from noms_env.belief.plan import PLACES
from noms_env.core.cards import NO_TRUMP, SUIT_CARDS, has
from noms_env.core.state import STOCK
from noms_env.variants import dispatch


@jit
def survey(t, seat, p):
    """Find out what a seat knows about the unplayed cards.

    A seat has none of a suit that it did not follow. What else tells something is up to the rules (`dispatch.rule_out`).
    The field `partner` is used as scratch.
    """
    p.known[:] = 0
    p.room[:] = 0
    p.allowed[:] = 0
    p.known[seat] = t.hands[seat]
    if t.exposed >= 0:
        p.known[t.exposed] = t.hands[t.exposed]
    p.known[STOCK] = t.refused
    dispatch.note_open_cards(t, seat, p.known)
    seen = t.cards_played
    for place in range(PLACES):
        seen |= p.known[place]
    p.unseen = t.cards & ~seen & ~dispatch.out_of_play(t)
    for place in range(t.n_seats):
        p.room[place] = size(t.hands[place]) - size(p.known[place])
        p.allowed[place] = p.unseen & fitting_cards(t, place)
    p.room[STOCK] = size(t.stock) - size(p.known[STOCK])
    p.allowed[STOCK] = p.unseen
    dispatch.rule_out(t, p.allowed)


@jit
def fitting_cards(t, seat):
    """The cards of the suits in which a seat has not shown void."""
    cards = t.cards
    for suit in range(NO_TRUMP):
        if has(t.voids[seat], suit):
            cards &= ~SUIT_CARDS[t.deck_kind, suit]
    return cards
