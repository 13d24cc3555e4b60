"""Moments of a search in a position (`position`): which cards may be played, what they lead to, what is remembered."""

from __future__ import annotations

import numpy as np

from noms_env._jit import jit, lowest
from noms_env.core.cards import bit
from noms_env.core.tricks import beats, follow
from noms_env.engine.row_kernels import kernel_view
from noms_env.search.endgame.position import MOST_CARDS

CHUNK_BITS = 6
"""A memory is emptied in whole chunks of 2**6 words; no memory is smaller."""

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
        ("left", _I8),  # tricks to come, the one under way included (two sides)
        ("key", _I8),  # what the result is remembered under, 0 for not at all
        ("present", _I8),  # the cards left, and the best one on the table
        ("cards", _I8),  # to try yet
        ("later", _I8),  # to try behind these (two sides)
        ("from_low", _I8),  # bits: the cards, and the later ones, are tried in ascending order (two sides)
        ("card", _I8),  # tried now, -1 for none yet
        ("suits", _I8),  # that may be named with it yet, if it is led
        ("result", _I8),  # the best end so far, or the answer
    ],
    align=True,
)
"""One moment of the search: it keeps its own stack, since numba's disk cache cannot hold functions that call themselves."""
_RECORD = np.dtype((np.record, FRAME))  # one object: numba looks at all fields of another for 4 µs

NO_CARD = -1


def new_frames() -> np.ndarray:
    """The stack of a search, shape (MOST_CARDS + 1,), in the form of `new_positions`."""
    return kernel_view(np.zeros(MOST_CARDS + 1, _RECORD).view(np.recarray))


@jit
def forget(w, bits):
    """Empty the memory, and let it have 2**bits words, at least 2**CHUNK_BITS and at most all."""
    w.memory_size = min(bit(max(bits, CHUNK_BITS)), len(w.memory))
    w.entered = 0
    w.memory[: w.memory_size] = 0


@jit
def place_of(w, key):
    """Where in the memory a key belongs; the products stay within 62 bits."""
    low = (key & 0x3FFFFFFF) * 0x9E3779B1
    high = (key >> 30) * 0x5851F42D
    mixed = low ^ (low >> 32) ^ (high >> 7) ^ (high >> 33)
    return mixed & (w.memory_size - 1)


@jit
def recall(w, key, bits):
    """The result of so many bits that is remembered for a key, -1 if none is."""
    word = w.memory[place_of(w, key)]
    return word & (bit(bits) - 1) if word >> bits == key else np.int64(-1)


@jit
def remember(w, key, result, bits):
    """Note the result for a key, in the place of whatever was there."""
    w.memory[place_of(w, key)] = (key << bits) | result
    w.entered += 1


@jit
def open_root(w, f):
    """The moment at the root; which cards are tried is left to the caller."""
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
    """The moment behind the card that is tried; the trick may be complete, and is not taken yet."""
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
    """The complete trick goes to its winner, who is to lead."""
    child.seat = child.best_seat
    child.n_table = 0
    child.present = child.remaining


@jit
def legal_cards(w, f):
    """The cards that the seat to act may play; no trump may be led until one has been played, unless there is nothing else."""
    hand = w.hands[f.seat] & f.remaining
    if f.n_table > 0:
        return follow(hand, f.led)
    others = hand & ~w.trump_cards
    return others if others != 0 and w.ban != 0 and (w.ban & ~f.remaining) == 0 else hand


@jit
def try_card(w, f, card):
    """Turn to a card; False if it makes no difference whether it or the one before is played.

    That is so if they bear the same suits, and no card in the hands, nor the best on the table, has a number between them.
    """
    before = f.card
    f.card = card
    f.cards &= ~bit(card)
    if before >= 0 and w.suits_of[before] == w.suits_of[card]:
        between = (bit(max(before, card)) - 1) & ~((bit(min(before, card)) << 1) - 1)
        if (f.present & between) == 0:
            return False
    f.suits = w.suits_of[card] if f.n_table == 0 else 0
    return True


@jit
def is_last_trick(w, f):
    """True for a moment between two tricks whose next trick is the last and leaves no choice."""
    card = w.hands[f.seat] & f.remaining
    return (card & (card - 1)) == 0 and (card & w.two_suited) == 0


@jit
def last_winner(w, f):
    """Who takes the last trick, in which everybody plays the one card left."""
    best_seat = f.seat
    best = lowest(w.hands[best_seat] & f.remaining)
    led = w.suit_cards[lowest(w.suits_of[best])]
    for seat in range(w.n_seats):
        if seat != f.seat:
            card = lowest(w.hands[seat] & f.remaining)
            if beats(card, best, led, w.trump_cards):
                best, best_seat = card, seat
    return best_seat
