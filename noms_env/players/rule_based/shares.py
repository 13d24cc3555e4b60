"""Rules of thumb for the bids none, some and most: shares of the tricks.

The bid
1. Compute the chance of each number of tricks if the seat takes what it can: this gives the expected points of Some and of
   Most. Compute it again for a seat that ducks: this gives those of None. Make the bid with most expected points: None on hands
   without high cards, Most on those that should take half of the tricks.
2. While two suits can still be trump, the holder of the Excuse assumes the better of them for each bid, with the up card in
   hand; the others take the mean of both.

Trump
3. The better suit for the bid made.

The play
4. A trick is worth one point to a seat with Some, two with Most. A seat with None loses the points of all tricks and one more
   with its first trick, and one with each further trick. The others' gains count against the player, divided among them.
5. So the player takes what it can with Some and Most, and ducks with None. It lets a seat with None that has no trick yet take
   one, by leading low and by staying below it.
6. Seats with Some or Most take a trick nine times out of ten when they can, seats with None hardly ever (3 %).
7. With two or three cards in hand the player looks ahead (`endings`) to the points of its own tricks.
8. A two-suited lead names the better suit for this trick.
"""

from __future__ import annotations

import numpy as np

from noms_env._jit import jit, lowest
from noms_env.core.actions import CALL_MOST, CALL_NONE, CALL_SOME, PASS, SUIT
from noms_env.core.bids import half_up
from noms_env.core.cards import CARD_SUITS, EXCUSE, bit, has
from noms_env.players.rule_based.endings import best_ending_card, is_ending
from noms_env.players.rule_based.heuristics import ENDING, MIN_GAIN, assume_trump, best_card, best_suit
from noms_env.players.rule_based.later_tricks import NO_CARD, spread_odds
from noms_env.players.rule_based.weights import DECKTET_DUCKING, DECKTET_TAKING

EAGER, SHY = 0.9, 0.03


@jit
def playing_hand(t):
    """2. Return the hand that the seat to act will play with: the holder of the Excuse gets the up card for it."""
    hand = t.hands[t.seat]
    return (hand & ~bit(EXCUSE)) | bit(t.turn_up) if has(hand, EXCUSE) else hand


@jit
def find_unseen_after_swap(t, m):
    """Set `unseen` for the play after the swap: all cards outside the coming hand, except the Excuse, are in other hands."""
    m.unseen = (m.unseen | bit(t.turn_up)) & ~bit(EXCUSE) & ~playing_hand(t)
    m.share = 1.0


@jit
def bid_points(t, bid, m):
    """1. Return the expected points of a bid under the assumed trump."""
    ducks = bid == CALL_NONE
    expected = spread_odds(t, playing_hand(t), NO_CARD, int(t.deal_size), DECKTET_DUCKING if ducks else DECKTET_TAKING, m)
    if ducks:
        return t.deal_size * m.odds[0] - expected
    if bid == CALL_SOME:
        return expected
    points = 0.0
    for tricks in range(int(t.deal_size) + 1):
        points += m.odds[tricks] * points_of(t, bid, tricks)
    return points


@jit
def points_of(t, bid, tricks):
    """Return the points of a bid with a number of tricks, without doubling."""
    if bid == CALL_NONE:
        return t.deal_size if tricks == 0 else -tricks
    half = int(half_up(t))
    if bid == CALL_SOME:
        return tricks
    return 2.0 * tricks if tricks >= half else tricks - half


@jit
def points_by_trump(t, bid, m):
    """1. Return the expected points of a bid under each suit of the up card."""
    suits = CARD_SUITS[t.deck_kind, t.turn_up]
    assume_trump(t, lowest(suits))
    first = bid_points(t, bid, m)
    assume_trump(t, lowest(suits & (suits - 1)))
    second = bid_points(t, bid, m)
    assume_trump(t, -1)
    return first, second


@jit
def bid_value(t, bid, m):
    """1, 2. Return the expected points of a bid."""
    if t.trump >= 0:
        return bid_points(t, bid, m)
    first, second = points_by_trump(t, bid, m)
    return max(first, second) if has(t.hands[t.seat], EXCUSE) else (first + second) / 2.0


@jit
def call(t, m):
    """1, 2. Return the action."""
    find_unseen_after_swap(t, m)
    best, choice = -np.inf, CALL_SOME
    for bid in (CALL_SOME, CALL_NONE, CALL_MOST):
        value = bid_value(t, bid, m)
        if value > best + MIN_GAIN:
            best, choice = value, bid
    return PASS + choice


@jit
def name_trump(t, m):
    """3. Return the action."""
    find_unseen_after_swap(t, m)
    suits = CARD_SUITS[t.deck_kind, t.turn_up]
    first, second = points_by_trump(t, int(t.call[t.seat]), m)
    return SUIT + lowest(suits & (suits - 1) if second > first + MIN_GAIN else suits)


@jit
def weigh_seats(t, m):
    """4, 6. Set the payoff of the trick by the seat that takes it, and how eager each seat is."""
    for seat in range(t.n_seats):
        ducks = t.call[seat] == CALL_NONE
        gain = 1.0
        if ducks:
            gain = -1.0 - t.deal_size if t.tricks[seat] == 0 else -1.0
        elif t.call[seat] == CALL_MOST:
            gain = 2.0
        m.payoff[seat] = gain if seat == t.seat else -gain / (t.n_seats - 1.0)
        m.eager[seat] = SHY if ducks else EAGER


@jit
def play(t, m):
    """4 to 7. Return the card."""
    weigh_seats(t, m)
    if is_ending(t, m):
        for tricks in range(ENDING + 1):
            m.worth[tricks] = points_of(t, int(t.call[t.seat]), int(t.tricks[t.seat]) + tricks)
        m.payoff[t.seat] = 0.0
        return best_ending_card(t, t.legal_cards, m)
    mood = DECKTET_DUCKING if t.call[t.seat] == CALL_NONE else DECKTET_TAKING
    return best_card(t, t.legal_cards, mood, m.payoff[t.seat], m)


@jit
def name_suit(t, m):
    """8. Return the action; the led card is on the table already."""
    weigh_seats(t, m)
    return SUIT + best_suit(t, int(t.best_card), m)
