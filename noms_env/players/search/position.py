"""The play of the cards that are left, in a form that is quick to search: a position.

1. The cards in play are numbered anew, in ascending order and without gaps, so that sets of them are short. In both decks a
   higher number is still a higher rank within every suit.
2. Who holds a card does not change during the play, so a moment of it is the set of the cards that are left and the trick
   under way; nothing needs to be taken back.
3. What the deal will be worth depends only on how many more tricks each seat takes. These *ends* are numbered, together with
   what leads to them: `count` numbers all ways in which up to `left` tricks can be shared by the seats. The worth of every
   end is worked out beforehand by the rules themselves (`dispatch.settle`), so that the search knows no scoring.
4. The worth to a seat is its points less the mean of the others' points, times `units(seats)`: a whole number in every game,
   so that equal is equal.

Of the rules of play the position knows following suit, winning tricks, the suit that the leader of a two-suited card names,
and the ban on leading trumps (nonesuch). What else there is (the declarer's first lead in small ships, a trump left unsaid in
noms, indication) concerns the action at hand only: `solver` leaves that one to the engine.
"""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np

from noms_env._jit import COMPILED, jit, lowest
from noms_env.core.cards import CARD_SUITS, NO_TRUMP, bit, has
from noms_env.core.state import MAX_SEATS, all_hands
from noms_env.core.tricks import follow
from noms_env.variants import dispatch

MOST_CARDS = 42
"""Cards in play that a position has room for."""
MOST_LEFT = 16
"""Tricks to come that a position has room for."""
MOST_COUNTS = 512
"""Counts that a position has room for."""
MEMORY_BITS = 18
CHUNK_BITS = 6
"""A memory is emptied in whole chunks of 2**6 words; no memory is smaller."""

_I8 = np.int64

POSITION = np.dtype(
    [
        ("n_seats", _I8),
        # --- the cards in play, by their new numbers
        ("n_cards", _I8),
        ("card_of", _I8, 64),  # the old number
        ("number_of", _I8, 64),  # the new number of an old one
        ("suits_of", _I8, 64),  # bit set
        ("suit_cards", _I8, NO_TRUMP + 1),
        ("trump_cards", _I8),
        ("two_suited", _I8),  # set of the cards that bear two suits
        ("hands", _I8, MAX_SEATS),
        ("ban", _I8),  # trumps that may not be led while all of them are there; 0 for no such ban
        # --- the moment at the root
        ("seat", _I8),
        ("n_table", _I8),
        ("led", _I8),  # cards that follow suit
        ("best", _I8),  # card, -1 for none
        ("best_seat", _I8),
        ("left", _I8),  # tricks to come, the one under way included
        # --- counts of the tricks that each seat takes from here on
        ("count_seats", _I8),  # what the table of counts below was made for
        ("count_left", _I8),
        ("n_counts", _I8),
        ("after", np.int16, (MOST_COUNTS, MAX_SEATS)),  # the count with one more trick for a seat
        ("total", np.int16, MOST_COUNTS),  # tricks counted
        ("taken", np.int16, (MOST_COUNTS, MAX_SEATS)),  # tricks of each seat
        ("worth", _I8, (MOST_COUNTS, MAX_SEATS)),  # of an end, to each seat; of another count, the most that may become of it
        # --- two sides
        ("side", _I8),  # bit set: the declarer and the partner
        ("side_worth", _I8, MOST_LEFT + 1),  # per number of tricks of the side to come: to each member of the side
        ("n_levels", _I8),
        ("levels", _I8, MOST_LEFT + 1),  # the different worths, ascending
        # --- what the search remembers
        ("memory_size", _I8),
        ("memory", _I8, 1 << MEMORY_BITS),
        ("entered", _I8),  # statistics: positions remembered
    ],
    align=True,
)
"""The working memory of a search."""

ORDER = np.array([[comb(p + j - 1, j) if j else 0 for j in range(MAX_SEATS + 1)] for p in range(MOST_LEFT + 2)], np.int64)
"""[p, j]: number of ways to share fewer than p tricks among j seats; see `number_counts`."""


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

NO_CARD = -1


def new_positions() -> np.ndarray:
    """Working memory for a search, shape (1,), in the form that compiled functions want (see `rows.kernel_view`)."""
    return _array(POSITION, 1)


def new_frames() -> np.ndarray:
    """The stack of a search, shape (MOST_CARDS + 1,), in the same form."""
    return _array(FRAME, MOST_CARDS + 1)


def _array(kind: np.dtype[Any], n: int) -> np.ndarray:
    """Zeros of a structured type."""
    zeros = np.zeros(n, kind)
    return zeros if COMPILED else zeros.view(np.recarray)


@jit
def units(n_seats):
    """What the worth of one point more than all others is counted as.

    Points come in halves (nonesuch, `half="exact"`) and in shares of 1/2 to 1/7 (sniped whist): 840 makes them whole.
    """
    return 840 * (n_seats - 1)


@jit
def worth_to(t, seat):
    """Points of a seat less the mean of the others' points, in units."""
    others = 0.0
    for other in range(t.n_seats):
        if other != seat:
            others += t.points[other]
    return np.int64(round(840.0 * (t.points[seat] * (t.n_seats - 1) - others)))


# ------------------------------------------------------------------------------------------------- setting up


@jit
def fits(t):
    """True if the rest of the deal has room in a position."""
    left = t.hand_size - t.trick_number
    return left * t.n_seats <= MOST_CARDS and left <= MOST_LEFT and ORDER[left + 1, t.n_seats] <= MOST_COUNTS


@jit
def set_up(w, t):
    """Take over the cards and the trick under way.

    Args:
        w: the position.
        t: a table in the phase `play` or `suit`, whose trump is known and which `fits`.
    """
    w.n_seats = t.n_seats
    w.left = t.hand_size - t.trick_number
    number_cards(w, t)
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
    if w.count_seats != w.n_seats or w.count_left != w.left:
        number_counts(w)


@jit
def number_cards(w, t):
    """Number the cards in the hands, and the best card on the table."""
    cards = all_hands(t)
    if t.n_table > 0:
        cards |= bit(t.best_card)
    for suit in range(NO_TRUMP + 1):
        w.suit_cards[suit] = 0
    for seat in range(w.n_seats):
        w.hands[seat] = 0
    w.trump_cards = 0
    w.two_suited = 0
    number = 0
    while cards != 0:
        card = lowest(cards)
        cards &= cards - 1
        number_card(w, t, card, number)
        number += 1
    w.n_cards = number


@jit
def number_card(w, t, card, number):
    """Give a card its new number."""
    w.card_of[number] = card
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


@jit
def cards_left(w):
    """The cards in the hands at the root."""
    cards = np.int64(0)
    for seat in range(w.n_seats):
        cards |= w.hands[seat]
    return cards


# ------------------------------------------------------------------------------------------------- counts and worths


@jit
def number_counts(w):
    """Number the ways to share up to `left` tricks: a smaller total has a smaller number; nothing taken is number 0.

    With p_j for the tricks of the first j seats together, the number is the sum of ORDER[p_j, j]: the combinatorial number
    system for multisets.
    """
    w.count_seats = w.n_seats
    w.count_left = w.left
    w.n_counts = ORDER[w.left + 1, w.n_seats]
    for seat in range(w.n_seats):
        w.taken[0, seat] = 0
    for count in range(w.n_counts):
        total = 0
        for seat in range(w.n_seats):
            total += w.taken[count, seat]
        w.total[count] = total
        if total < w.left:
            for seat in range(w.n_seats):
                enter_successor(w, count, seat)


@jit
def enter_successor(w, count, seat):
    """Work out the count with one more trick for a seat."""
    number = 0
    sum_so_far = 0
    for other in range(w.n_seats):
        sum_so_far += w.taken[count, other] + (1 if other == seat else 0)
        number += ORDER[sum_so_far, other + 1]
    w.after[count, seat] = number
    for other in range(w.n_seats):
        w.taken[number, other] = w.taken[count, other] + (1 if other == seat else 0)


@jit
def find_worths(w, t, scratch):
    """Work out what each end is worth to each seat, and what each count may at best come to.

    Args:
        w: the position, set up.
        t: its table.
        scratch: another table with the same record but for the tricks and the points; both are overwritten.
    """
    for count in range(w.n_counts - 1, -1, -1):
        if w.total[count] == w.left:
            for seat in range(w.n_seats):
                scratch.tricks[seat] = t.tricks[seat] + w.taken[count, seat]
            settle(scratch)
            for seat in range(w.n_seats):
                w.worth[count, seat] = worth_to(scratch, seat)
        else:
            for seat in range(w.n_seats):
                most = w.worth[w.after[count, 0], seat]
                for winner in range(1, w.n_seats):
                    most = max(most, w.worth[w.after[count, winner], seat])
                w.worth[count, seat] = most


@jit
def settle(t):
    """Points of a deal whose tricks are all taken."""
    for seat in range(t.n_seats):
        t.points[seat] = 0.0
    dispatch.settle(t)


@jit
def count_deal_as_last(t):
    """A match with `accumulate` scores the last deal only: let a table score the present one, on all tricks so far."""
    if t.accumulate != 0:
        t.deal = t.n_deals - 1


# ------------------------------------------------------------------------------------------------- moves


@jit
def may_lead(w, hand, remaining):
    """The cards of a hand that its seat may lead (rules 5.2: no trump until one has been played, or nothing else)."""
    if w.ban == 0 or (w.ban & ~remaining) != 0:
        return hand
    others = hand & ~w.trump_cards
    return others if others != 0 else hand


@jit
def is_same(w, present, one, other):
    """True if it makes no difference which of two cards of a hand is played.

    They bear the same suits, and no card that is left has a number between them.

    Args:
        w: the position.
        present: the cards in the hands, and the best card on the table.
        one: a card.
        other: another.
    """
    low, high = min(one, other), max(one, other)
    between = (bit(high) - 1) & ~((bit(low) << 1) - 1)
    return w.suits_of[one] == w.suits_of[other] and (present & between) == 0


@jit
def wins(w, card, best, led):
    """True if a card that comes to a trick beats the best card so far (`tricks.beats`)."""
    if has(w.trump_cards, card):
        return not has(w.trump_cards, best) or card > best
    return not has(w.trump_cards, best) and has(led, card) and card > best


# ------------------------------------------------------------------------------------------------- memory


@jit
def forget(w, bits):
    """Empty the memory, and let it have 2**bits words (at least 2**CHUNK_BITS)."""
    bits = min(max(bits, CHUNK_BITS), MEMORY_BITS)
    w.memory_size = bit(bits)
    w.entered = 0
    for word in range(w.memory_size):
        w.memory[word] = 0


@jit
def place_of(w, key):
    """Where in the memory a key belongs; the products stay within 62 bits."""
    low = (key & 0x3FFFFFFF) * 0x9E3779B1
    high = (key >> 30) * 0x5851F42D
    mixed = low ^ (low >> 32) ^ (high >> 7) ^ (high >> 33)
    return mixed & (w.memory_size - 1)


# ------------------------------------------------------------------------------------------------- moments of the search


@jit
def open_root(w, f):
    """The moment at the root; which cards are tried is left to the caller."""
    f.remaining = cards_left(w)
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
        better = wins(w, f.card, f.best, f.led)
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
def allowed(w, f):
    """The cards that the seat to act may play."""
    hand = w.hands[f.seat] & f.remaining
    return may_lead(w, hand, f.remaining) if f.n_table == 0 else follow(hand, f.led)


@jit
def try_card(w, f, card):
    """Turn to a card, unless it is like the one tried before; True if it is to be tried."""
    before = f.card
    f.card = card
    f.cards &= ~bit(card)
    if before >= 0 and is_same(w, f.present, before, card):
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
            if wins(w, card, best, led):
                best, best_seat = card, seat
    return best_seat
