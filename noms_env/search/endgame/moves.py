"""States of a search in a position (`position`): legal cards, successors, and the cache."""

from __future__ import annotations

import numpy as np

from noms_env._jit import jit, lowest
from noms_env.core.cards import bit
from noms_env.core.tricks import beats, follow
from noms_env.engine.row_kernels import kernel_view
from noms_env.search.endgame.position import MAX_CARDS

CHUNK_BITS = 6  # the cache is emptied in whole chunks of 2**6 words, which is also its minimum size

_I8 = np.int64

FRAME = np.dtype(
    [
        ("remaining", _I8),  # the cards left in the hands
        ("seat", _I8),  # to act
        ("n_table", _I8),
        ("led", _I8),
        ("best", _I8),
        ("best_seat", _I8),
        ("count", _I8),  # of the tricks so far (each seat for itself)
        ("goal", _I8),  # numbers of further tricks (two sides)
        ("tricks_left", _I8),  # tricks to come, the one under way included (two sides)
        ("key", _I8),  # key of the result in the cache, 0 for none
        ("present", _I8),  # the cards left, and the best one on the table
        ("cards", _I8),  # still to try
        ("later", _I8),  # to try after these (two sides)
        ("from_low", _I8),  # bits: the cards, and the later ones, are tried in ascending order (two sides)
        ("card", _I8),  # tried now, -1 for none yet
        ("suits", _I8),  # suits still to name with it, if it is led
        ("result", _I8),  # the best end so far, or the answer
    ],
    align=True,
)
"""One state of the search. The search has its own stack, since numba's disk cache cannot hold recursive functions."""
_RECORD = np.dtype((np.record, FRAME))  # one dtype object: numba inspects all fields of any other, 4 µs

NO_CARD = -1


def new_frames() -> np.ndarray:
    """Return the stack of a search, shape (MAX_CARDS + 1,), in the form of `new_positions`."""
    return kernel_view(np.zeros(MAX_CARDS + 1, _RECORD).view(np.recarray))


@jit
def clear_cache(w, bits):
    """Empty the cache, and set its size to 2**bits words, at least 2**CHUNK_BITS and at most all."""
    w.cache_size = min(bit(max(bits, CHUNK_BITS)), len(w.cache))
    w.n_cached = 0
    w.cache[: w.cache_size] = 0


@jit
def cache_index(w, key):
    """Return the place of a key in the cache; the products stay within 62 bits."""
    low = (key & 0x3FFFFFFF) * 0x9E3779B1
    high = (key >> 30) * 0x5851F42D
    hashed = low ^ (low >> 32) ^ (high >> 7) ^ (high >> 33)
    return hashed & (w.cache_size - 1)


@jit
def look_up(w, key, bits):
    """Return the cached result of a key, of `bits` bits; -1 if there is none."""
    word = w.cache[cache_index(w, key)]
    return word & (bit(bits) - 1) if word >> bits == key else np.int64(-1)


@jit
def store_result(w, key, result, bits):
    """Cache the result of a key, replacing any other result at its place."""
    w.cache[cache_index(w, key)] = (key << bits) | result
    w.n_cached += 1


@jit
def open_root(w, f):
    """Set up the root state; the caller chooses the cards to try."""
    f.remaining = 0
    for seat in range(w.n_seats):
        f.remaining |= w.hands[seat]
    f.seat = w.seat
    f.n_table = w.n_table
    f.led = w.led
    f.best = w.best
    f.best_seat = w.best_seat
    f.key = 0
    f.card = NO_CARD
    f.suits = 0
    f.present = f.remaining | bit(f.best) if f.n_table > 0 else f.remaining


@jit
def lay(w, f, child):
    """Set up the state after the card that is tried; a complete trick is not taken yet."""
    child.remaining = f.remaining & ~bit(f.card)
    child.n_table = f.n_table + 1
    child.card = NO_CARD
    child.suits = 0
    if f.n_table == 0:
        child.led = w.suit_cards[lowest(f.suits)]
        f.suits &= f.suits - 1
        child.best = f.card
        child.best_seat = f.seat
    else:
        child.led = f.led
        better = beats(f.card, f.best, f.led, w.trump_cards)
        child.best = f.card if better else f.best
        child.best_seat = f.seat if better else f.best_seat
    child.seat = f.seat + 1 if f.seat + 1 < w.n_seats else 0
    child.present = child.remaining | bit(child.best)
    child.key = 0


@jit
def take(child):
    """Give the complete trick to its winner, who is to lead."""
    child.seat = child.best_seat
    child.n_table = 0
    child.present = child.remaining


@jit
def legal_cards(w, f):
    """Return the legal cards of the seat to act; trumps may be led only after one has been played, or without other cards."""
    hand = w.hands[f.seat] & f.remaining
    if f.n_table > 0:
        return follow(hand, f.led)
    others = hand & ~w.trump_cards
    return others if others != 0 and w.ban != 0 and (w.ban & ~f.remaining) == 0 else hand


@jit
def try_card(w, f, card):
    """Turn to a card; False if it is equivalent to the one before.

    Two cards are equivalent if they bear the same suits, and no card in the hands, nor the best on the table, has a number
    between them.
    """
    previous = f.card
    f.card = card
    f.cards &= ~bit(card)
    if previous >= 0 and w.suits_of[previous] == w.suits_of[card]:
        between = (bit(max(previous, card)) - 1) & ~((bit(min(previous, card)) << 1) - 1)
        if (f.present & between) == 0:
            return False
    f.suits = w.suits_of[card] if f.n_table == 0 else 0
    return True


@jit
def is_last_trick(w, f):
    """Return whether the next trick is the last and leaves no choice, for a state between two tricks."""
    card = w.hands[f.seat] & f.remaining
    return (card & (card - 1)) == 0 and (card & w.two_suited) == 0


@jit
def last_winner(w, f):
    """Return the winner of the last trick, in which all seats play their only card."""
    best_seat = f.seat
    best = lowest(w.hands[best_seat] & f.remaining)
    led = w.suit_cards[lowest(w.suits_of[best])]
    for seat in range(w.n_seats):
        if seat != f.seat:
            card = lowest(w.hands[seat] & f.remaining)
            if beats(card, best, led, w.trump_cards):
                best, best_seat = card, seat
    return best_seat
