"""The deck of Noms from deal to deal (rules 4.3).

A deck is a list of cards, place 0 on top. After a played deal it is gathered trick by trick and pile by pile; after a
passed-out deal it is gathered hand by hand, each hand sorted. Then it is cut, and dealt in packets. It is shuffled only for
the first deal of a match (and in the two shuffled modes).
"""

from __future__ import annotations

import numpy as np

from noms_env._jit import highest, jit
from noms_env.core.cards import SUIT_CARDS, bit, has
from noms_env.core.chance import DRAW_CUT, DRAW_PILE_ORDER, DRAW_TRICK_ORDER, draw_below, shuffle
from noms_env.core.state import HELD, get_byte, left_of, put_byte
from noms_env.variants.rulebook import Need, Option

TRICK_ORDERS = ("play", "reverse", "random")
AS_PLAYED, REVERSED, SHUFFLED_TRICK = range(3)
TRICK_STACKS = ("on_top", "underneath")
ON_TOP, UNDERNEATH = range(2)
PILE_ORDERS = ("left_first", "right_first", "random")
LEFT_FIRST, RIGHT_FIRST, RANDOM_PILES = range(3)
DEAL_MODES = ("packets", "packets_shuffled", "single_shuffled")
PACKETS, PACKETS_SHUFFLED, SINGLE_SHUFFLED = range(3)

DECK_OPTIONS = (
    Option("cut", None, "cards that every cut takes off the top; None draws it", numbers=(0, 51), none=True, byte=36),
    Option("cut_min", 1, "fewest cards that a cut takes off or leaves", numbers=(1, 26), byte=37),
    Option("trick_order", "play", "order of the cards in a gathered trick", words=TRICK_ORDERS, byte=38),
    Option("trick_stack", "on_top", "where a won trick goes in its winner's pile", words=TRICK_STACKS, byte=39),
    Option("pile_order", "left_first", "how the new dealer stacks the piles", words=PILE_ORDERS, byte=40),
    Option("deal_mode", None, "packets from the unshuffled deck, or shuffled deals", words=DEAL_MODES, byte=41),
)
"""The options of the deck."""
DECK_NEEDS = tuple(
    Need(
        option.name,
        "with deal_mode='packets': a shuffled deck is neither gathered nor cut",
        lambda values: bool(values["deal_mode"] == "packets"),
    )
    for option in DECK_OPTIONS[:-1]
)
"""The conditions under which the options of the deck have an effect."""
DECK_DETAILS = {
    "trick_order": "`play`: as played, the card led on top; `reverse`: the card led at the bottom; `random`: shuffled",
    "trick_stack": "`on_top`: on top of the earlier tricks; `underneath`: under them",
    "pile_order": "`left_first`: the pile of the new dealer's left neighbour on top, then clockwise, the dealer's own "
    "last; `right_first`: the other way round, the dealer's own last; `random`: by lot",
    "deal_mode": "`packets`: the deck is gathered and cut, never shuffled, and dealt in packets of three and four; "
    "`packets_shuffled`: every deal is shuffled, then dealt in packets; `single_shuffled`: every deal is "
    "shuffled and dealt one card at a time, the default with a shortened deck or hand",
}
"""Details of the options of the deck, for the page of the game."""

SORTING_ORDER = np.array([2, 0, 1, 3])
"""Order of the suits in a sorted hand, after four passes: hearts, clubs, diamonds, spades."""

# There are four rounds. In round r the r-th seat from eldest gets four cards, and the others get three.
PACKET_SEATS = np.array([seat for round_ in range(4) for seat in range(4) for _ in range(4 if seat == round_ else 3)], np.int64)
"""[place in the deck]: the seat that is dealt the card, counted from eldest."""

PACKET_PLACES = np.array([np.flatnonzero(turn == PACKET_SEATS) for turn in range(4)])
"""[seat from eldest, n]: place in the deck of the seat's n-th card."""


@jit
def gather(t):
    """Gather and cut the deck of the next deal."""
    if t.passed_out != 0:
        gather_passed(t)
    else:
        gather_played(t)
    cut(t)


@jit
def store_previous_deal(t):
    """Store who played each card in which trick, or was dealt it, for `observe_previous_hand`.

    The byte of a card is 1 + 4 * trick + seat if it was played, `HELD` + seat if it was only dealt, and 0 if it was not dealt.
    """
    if t.observe_previous_hand == 0:
        return
    t.previous[:] = 0
    for card in range(52):
        for seat in range(t.n_seats):
            if has(t.played[seat], card):
                put_byte(t.previous, card, 1 + 4 * (get_byte(t.trick_of, card) - 1) + seat)
            elif has(t.hands[seat], card):
                put_byte(t.previous, card, HELD + seat)


@jit
def cut(t):
    """Cut the deck: move the top cards under the rest. The option `cut` fixes their number; otherwise it is drawn."""
    n_cards = int(t.cut)
    if n_cards < 0:
        low = int(t.cut_min)
        n_cards = low + draw_below(t, DRAW_CUT, 52 - 2 * low + 1)
    reverse(t.deck, 0, n_cards)
    reverse(t.deck, n_cards, 52)
    reverse(t.deck, 0, 52)


@jit
def reverse(cards, start, end):
    """Reverse `cards[start:end]` in place."""
    for i in range((end - start) // 2):
        card = cards[start + i]
        cards[start + i] = cards[end - 1 - i]
        cards[end - 1 - i] = card


@jit
def gather_passed(t):
    """Gather the deck after four passes: sorted hands, the one on the (old) dealer's left on top."""
    place = 0
    seat = left_of(t, t.dealer)
    for _ in range(t.n_seats):
        for suit in SORTING_ORDER:
            cards = t.hands[seat] & SUIT_CARDS[t.deck_kind, suit]
            while cards != 0:
                card = highest(cards)
                cards &= ~bit(card)
                t.deck[place] = card
                place += 1
        seat = left_of(t, seat)


@jit
def gather_played(t):
    """Gather the deck after a played deal: the new dealer (left of the old one) stacks the four piles, his own last."""
    for i in range(4):
        t.deck[i] = i
    if t.pile_order == RANDOM_PILES:
        shuffle(t, DRAW_PILE_ORDER, t.deck, 4)
    piles = (int(t.deck[0]), int(t.deck[1]), int(t.deck[2]), int(t.deck[3]))
    new_dealer = left_of(t, t.dealer)
    place = 0
    for k in range(4):
        i = piles[k]
        step = 3 - i if t.pile_order == RIGHT_FIRST and i < 3 else i + 1
        place = gather_pile(t, (new_dealer + step) % 4, place)


@jit
def gather_pile(t, seat, place):
    """Write the tricks of a seat into the deck from `place` on; return the next free place.

    The cards that a seat still holds (`early_stop`) count as its last trick.
    """
    if t.trick_stack == ON_TOP:
        place = gather_held(t, seat, place)
    for i in range(t.trick_number):
        trick = t.trick_number - 1 - i if t.trick_stack == ON_TOP else i
        if t.trick_winners[trick] == seat:
            for i in range(4):
                t.deck[place + i] = t.order[4 * trick + i]
            place = arrange(t, place, place + 4, trick)
    if t.trick_stack == UNDERNEATH:
        place = gather_held(t, seat, place)
    return place


@jit
def gather_held(t, seat, place):
    """Write the cards that a seat still holds into the deck as one packet, clubs to spades and low to high."""
    end = place
    for card in range(52):
        if has(t.hands[seat], card):
            t.deck[end] = card
            end += 1
    return arrange(t, place, end, 13 + 2 * seat)


@jit
def arrange(t, place, end, number):
    """Arrange a packet in the deck by `trick_order`; return the next free place. `number` selects its random draws."""
    if t.trick_order == SHUFFLED_TRICK:
        shuffle(t, DRAW_TRICK_ORDER, t.deck[place:end], end - place, number)
    elif t.trick_order == REVERSED:
        reverse(t.deck, place, end)
    return end
