"""A position: the play of the cards that are left, in a form that is fast to search.

1. The cards in play are renumbered, in ascending order and without gaps, so that sets of them are short. In both decks a higher
   number is still a higher rank within every suit.
2. The holder of a card does not change during the play, so a state is the set of the cards left and the trick under way;
   nothing needs to be undone.
3. The value of the deal depends only on how many more tricks each seat takes. These *ends* are numbered, together with the
   counts before them: `count` numbers all ways to share tricks among the seats, a smaller total first (`COUNT_TRICKS`,
   `NEXT_COUNT`). The rules compute the value of every end beforehand (`dispatch.settle`), so the search knows no scoring.
4. The value to a seat is its points less the mean of the others' points, times `units(seats)`: a whole number in every game, so
   that equal values compare equal.

The position knows these rules of play: following suit, winning tricks, the suit that the leader of a two-suited card names, and
the ban on leading trumps before one has been played. Other rules (a ban on the declarer's first lead, a trump left unsaid,
indication) concern the action at the root only: `solver` leaves that one to the engine.
"""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np

from noms_env._jit import jit, lowest
from noms_env.core.cards import CARD_SUITS, NO_TRUMP, bit, has
from noms_env.core.state import MAX_SEATS, all_hands
from noms_env.engine.row_kernels import kernel_view
from noms_env.variants import dispatch

MAX_CARDS = 42  # maximum number of cards in play
MAX_TRICKS_LEFT = 16  # maximum number of tricks to come
MAX_COUNTS = 512  # maximum number of counts
CACHE_BITS = 18

_I8 = np.int64

_FIELDS: list[tuple[Any, ...]] = [
    ("n_seats", _I8),
    # --- the cards in play, by their new numbers
    ("number_of", np.int8, 64),  # the new number of an old one
    ("suits_of", np.int8, 64),  # bit set
    ("suit_cards", _I8, NO_TRUMP + 1),
    ("trump_cards", _I8),
    ("two_suited", _I8),  # set of the cards that bear two suits
    ("hands", _I8, MAX_SEATS),
    ("ban", _I8),  # trumps that may not be led until one is played; 0 for no ban
    # --- the state at the root
    ("seat", _I8),
    ("n_table", _I8),
    ("led", _I8),  # cards that follow suit
    ("best", _I8),  # card, -1 for none
    ("best_seat", _I8),
    ("tricks_left", _I8),  # tricks to come, the one under way included
    ("tricks", _I8, MAX_SEATS),  # of each seat so far
    # --- two sides
    ("side", _I8),  # bit set: the declarer and the partner
    ("side_values", _I8, MAX_TRICKS_LEFT + 1),  # per number of further tricks of the side: value to each member
    ("n_levels", _I8),
    ("levels", _I8, MAX_TRICKS_LEFT + 1),  # the different values, ascending
    # --- the cache
    ("cache_size", _I8),
    ("n_cached", _I8),  # statistics: states cached
]


def position_type(counts: int = MAX_COUNTS, words: int = 1 << CACHE_BITS) -> np.dtype:
    """Return the record of the working memory of a search, with a maximum number of counts.

    `words`, a power of 2, at least 64, is the size of the cache. A smaller one slows the search, with the same results.
    """
    sized = [
        ("values", _I8, (counts, MAX_SEATS)),  # of an end, to each seat; of another count, the maximum that it may reach
        ("cache", _I8, words),
    ]
    return np.dtype([*_FIELDS, *sized], align=True)


_RECORD = np.dtype((np.record, position_type()))  # one dtype object: numba inspects all fields of any other, 4 µs

ORDER = np.array([[comb(p + j - 1, j) if j else 0 for j in range(MAX_SEATS + 1)] for p in range(MAX_TRICKS_LEFT + 2)], np.int64)
"""[p, j]: number of ways to share fewer than p tricks among j seats; see `number_counts`."""


def number_counts(n_seats: int) -> tuple[np.ndarray, np.ndarray]:
    """Number the ways to share tricks among the seats: a smaller total has a smaller number; no tricks are number 0.

    With p_j for the tricks of the first j seats together, the number is the sum of ORDER[p_j, j]: the combinatorial number
    system for multisets.

    Returns:
        The tricks of each seat, and the number with one more trick for a seat; int16, shape (MAX_COUNTS, MAX_SEATS). All
        totals are included for which there is room.
    """
    tricks, next_count = np.zeros((2, MAX_COUNTS, MAX_SEATS), np.int16)
    max_left = max(max_left for max_left in range(MAX_TRICKS_LEFT + 1) if ORDER[max_left + 1, n_seats] <= MAX_COUNTS)
    places = np.arange(1, n_seats + 1)
    for count in range(ORDER[max_left, n_seats]):
        for seat in range(n_seats):
            more_tricks = tricks[count] + (np.arange(MAX_SEATS) == seat)
            number = ORDER[more_tricks.cumsum()[:n_seats], places].sum()
            next_count[count, seat] = number
            tricks[number] = more_tricks
    return tricks, next_count


_COUNTS = [number_counts(max(n_seats, 1)) for n_seats in range(MAX_SEATS + 1)]
COUNT_TRICKS = np.array([taken for taken, _ in _COUNTS])  # [seats, count, seat]: tricks of the seat
NEXT_COUNT = np.array([after for _, after in _COUNTS])
"""[seats, count, seat]: the count with one more trick for the seat."""


def new_positions() -> np.ndarray:
    """Return working memory for a search, shape (1,), in the form of `row_kernels.kernel_view`."""
    return kernel_view(np.zeros(1, _RECORD).view(np.recarray))


@jit
def units(n_seats):
    """Return the units of a lead of one point over all others.

    Points come in halves (`half="exact"`) and in shares of 1/2 to 1/7 (place scoring): 840 makes them whole.
    """
    return 840 * (n_seats - 1)


@jit
def value_to(t, seat):
    """Return the points of a seat less the mean of the others' points, in units, without the multiplier."""
    others = 0.0
    for other in range(t.n_seats):
        if other != seat:
            others += t.points[other]
    return np.int64(round(840.0 * (t.points[seat] * (t.n_seats - 1) - others) / t.multiplier))


@jit
def fits(t):
    """Return whether the rest of the deal fits into a position."""
    n_tricks = t.deal_size - t.trick_number
    return n_tricks * t.n_seats <= MAX_CARDS and n_tricks <= MAX_TRICKS_LEFT and ORDER[n_tricks + 1, t.n_seats] <= MAX_COUNTS


@jit
def set_up(w, t):
    """Copy the cards and the trick under way of a table (phase `play` or `suit`, trump known, `fits`)."""
    w.n_seats = t.n_seats
    w.tricks_left = t.deal_size - t.trick_number
    number_cards(w, t)
    for seat in range(w.n_seats):
        w.tricks[seat] = t.tricks[seat]
    w.seat = t.seat
    w.n_table = t.n_table
    w.best = -1
    w.best_seat = t.best_seat
    w.led = 0
    if t.n_table > 0:
        w.best = w.number_of[t.best_card]
        if t.led_suit >= 0:
            w.led = w.suit_cards[t.led_suit]
    w.ban = 0
    if t.breaks_trumps != 0 and t.broken == 0:
        w.ban = w.trump_cards


@jit
def number_cards(w, t):
    """Number the cards in the hands, and the best card on the table."""
    cards = all_hands(t)
    if t.n_table > 0:
        cards |= bit(t.best_card)
    w.suit_cards[:] = 0
    w.hands[:] = 0
    w.trump_cards = 0
    w.two_suited = 0
    number = 0
    while cards != 0:
        card = lowest(cards)
        cards &= cards - 1
        w.number_of[card] = number
        suits = CARD_SUITS[t.deck_kind, card]
        w.suits_of[number] = suits
        if (suits & (suits - 1)) != 0:
            w.two_suited |= bit(number)
        while suits != 0:
            w.suit_cards[lowest(suits)] |= bit(number)
            suits &= suits - 1
        if has(t.trump_cards, card):
            w.trump_cards |= bit(number)
        for seat in range(w.n_seats):
            if has(t.hands[seat], card):
                w.hands[seat] |= bit(number)
        number += 1


@jit
def find_values(w, t):
    """Compute the value of each end to each seat, and the maximum of each count; overwrites the points of the table `t`."""
    first_end = ORDER[w.tricks_left, w.n_seats]
    for count in range(ORDER[w.tricks_left + 1, w.n_seats] - 1, -1, -1):
        if count >= first_end:
            for seat in range(w.n_seats):
                t.tricks[seat] = w.tricks[seat] + COUNT_TRICKS[w.n_seats, count, seat]
            settle(t)
            for seat in range(w.n_seats):
                w.values[count, seat] = value_to(t, seat)
        else:
            for seat in range(w.n_seats):
                maximum = w.values[NEXT_COUNT[w.n_seats, count, 0], seat]
                for winner in range(1, w.n_seats):
                    maximum = max(maximum, w.values[NEXT_COUNT[w.n_seats, count, winner], seat])
                w.values[count, seat] = maximum
    restore_tricks(w, t)


@jit
def restore_tricks(w, t):
    """Restore the tricks of a table."""
    for seat in range(w.n_seats):
        t.tricks[seat] = w.tricks[seat]


@jit
def settle(t):
    """Score a deal whose tricks are all taken."""
    t.points[:] = 0.0
    dispatch.settle(t)


@jit
def count_deal_as_last(t):
    """Make a table score this deal on all tricks so far, even if only the last deal of a match is scored."""
    if t.accumulate != 0:
        t.deal = t.n_deals - 1
