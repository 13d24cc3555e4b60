"""What a seat knows of the cards that it has not seen: where they cannot be."""

from __future__ import annotations

import numpy as np

from noms_env._jit import jit, size
from noms_env.belief.plan import PLACES, STOCK
from noms_env.core.actions import NOMINATING
from noms_env.core.cards import EXCUSE, NO_TRUMP, SUIT_CARDS, bit, has, suit_of
from noms_env.core.state import NONESUCH, SMALL_SHIPS, eldest
from noms_env.variants.noms import is_decided
from noms_env.variants.nonesuch import excuse_is_shown
from noms_env.variants.small_ships import BAN_SUIT, STOCK_ALONE, STOCK_ILLEGAL


@jit
def survey(t, seat, p):
    """Find out what a seat knows about the unplayed cards.

    The field `partner` is used as scratch.
    """
    for place in range(PLACES):
        p.known[place] = 0
        p.room[place] = 0
        p.allowed[place] = 0
    note_open_cards(t, seat, p)
    seen = t.cards_played
    for place in range(PLACES):
        seen |= p.known[place]
    p.unseen = t.cards & ~seen & ~out_of_play(t)
    for place in range(t.n_seats):
        p.room[place] = size(t.hands[place]) - size(p.known[place])
        p.allowed[place] = p.unseen & fitting_cards(t, place)
    p.room[STOCK] = size(t.stock) - size(p.known[STOCK])
    p.allowed[STOCK] = p.unseen
    if t.nominated >= 0 and has(p.unseen, t.nominated):
        for place in range(PLACES):
            if not may_hold_nominated(t, place):
                p.allowed[place] &= ~bit(t.nominated)


@jit
def note_open_cards(t, seat, p):
    """Unplayed cards whose place the seat knows."""
    p.known[seat] = t.hands[seat]
    if t.exposed >= 0:
        p.known[t.exposed] = t.hands[t.exposed]
    p.known[STOCK] = t.stock if has_seen_stock(t, seat) else t.refused
    if t.turn_up >= 0 and not has(t.cards_played, t.turn_up):
        place = place_of_turn_up(t)
        if place >= 0:
            p.known[place] |= bit(t.turn_up)
    if excuse_is_shown(t) and t.leader < 0:
        p.known[t.excuse] |= bit(EXCUSE)
    if t.indicated >= 0:
        p.known[t.indicated] |= bit(t.nominated) & ~t.cards_played


@jit
def has_seen_stock(t, seat):
    """Rules 3.3, `stock_nomination="illegal"`: the declarer saw the cards of the stock missing among his nominations."""
    if t.stock_nomination != STOCK_ILLEGAL or t.declarer != seat:
        return False
    return t.phase == NOMINATING or t.nominated >= 0


@jit
def place_of_turn_up(t):
    """Where the card turned up lies while it is not played; -1 for beside the table (nonesuch)."""
    if t.variant == NONESUCH:
        return t.excuse if t.leader >= 0 else -1
    return STOCK if t.stock != 0 else t.dealer


@jit
def out_of_play(t):
    """Rules 5.2: the up card before the swap and the Excuse after it (nonesuch)."""
    if t.variant != NONESUCH:
        return np.int64(0)
    return bit(EXCUSE) if t.leader >= 0 else bit(t.turn_up)


@jit
def fitting_cards(t, seat):
    """The cards that the plays of a seat do not rule out in its hand.

    It has none of a suit that it did not follow. It had nothing else when it led a card against a ban: the suit nominated,
    to the first trick of small ships (rules 3.1; a banned card that was led was the only one), or a trump before any was
    played, in nonesuch (rules 5.2).
    """
    cards = t.cards
    for suit in range(NO_TRUMP):
        if has(t.voids[seat], suit):
            cards &= ~SUIT_CARDS[t.deck_kind, suit]
    if t.variant == SMALL_SHIPS and seat == t.declarer and led_nominated_suit(t):
        cards &= SUIT_CARDS[t.deck_kind, suit_of(int(t.nominated))]
    if t.variant == NONESUCH and t.broken != 0 and led_first_trump(t, seat):
        cards &= t.trump_cards
    return cards


@jit
def led_nominated_suit(t):
    """True if the declarer had to lead the suit that he nominated to the first trick, where that is banned."""
    if t.first_trick_restriction != BAN_SUIT or t.nominated < 0 or t.declarer != eldest(t) or t.order[0] < 0:
        return False
    return suit_of(int(t.order[0])) == suit_of(int(t.nominated))


@jit
def led_first_trump(t, seat):
    """True if the first trump of the deal was led, and by this seat (nonesuch, once a trump was played)."""
    place = 0
    while not has(t.trump_cards, t.order[place]):
        place += 1
    trick = place // t.n_seats
    leader = t.trick_winners[trick - 1] if trick > 0 else eldest(t)
    return place % t.n_seats == 0 and leader == seat


@jit
def may_hold_nominated(t, place):
    """False where the nominated card cannot be.

    It is not in the stock if the rules refuse that (3.3); and with `early_stop` nobody holds it with whom the deal would
    be over (8b).
    """
    if place == STOCK and t.stock_nomination != STOCK_ALONE:
        return False
    if t.early_stop == 0:
        return True
    t.partner = -1 if place == STOCK or place == t.declarer else place
    return not is_decided(t)
