"""Trump in rotation, turned up, drawn, or chosen (rules 1, 2, 6, 7)."""

from __future__ import annotations

from noms_env._jit import jit
from noms_env.core.actions import INDICATE, NO_TRUMP_ACTION, SUIT
from noms_env.core.cards import NO_TRUMP, bit, has, suit_of
from noms_env.core.chance import DRAW_TRUMP, draw_below
from noms_env.core.state import STOCK
from noms_env.core.tricks import name_trump

TRUMP_MODES = ("rotation", "turnup", "random", "none", "dealer")
ROTATION, TURN_UP, RANDOM, NO_TRUMPS, DEALER_CHOOSES = range(len(TRUMP_MODES))


@jit
def turn_up(t, dealer_last):
    """Turn up a card for trump: the next undealt one; if there is none, the dealer's last card or, by option, no trump."""
    dealt = t.n_seats * t.deal_size
    if t.stock != 0:
        t.turn_up = t.deck[dealt]
    elif dealer_last:
        t.turn_up = t.deck[dealt - 1]
    name_trump(t, suit_of(int(t.turn_up)) if t.turn_up >= 0 else NO_TRUMP)


@jit
def set_trump(t, dealer_last):
    """Set the trump of a deal by `trump_mode`, unless the dealer chooses it."""
    if t.trump_mode == ROTATION:
        name_trump(t, int(t.trump_rotation[t.deal % t.rotation_length]))
    elif t.trump_mode == TURN_UP:
        turn_up(t, dealer_last)
    elif t.trump_mode == RANDOM:
        name_trump(t, draw_below(t, DRAW_TRUMP, int(t.suits)))
    elif t.trump_mode == NO_TRUMPS:
        name_trump(t, NO_TRUMP)


@jit
def note_turn_up(t, known):
    """Add the unplayed card turned up to `known`."""
    if t.turn_up >= 0 and not has(t.cards_played, t.turn_up):
        known[STOCK if t.stock != 0 else t.dealer] |= bit(t.turn_up)


@jit
def all_trumps(t):
    """Return the words for the suits of the French deck in use, and for no trump."""
    return ((bit(t.suits) - 1) << (SUIT - INDICATE)) | bit(NO_TRUMP_ACTION - INDICATE)
