"""Rules of thumb for the exact-bid games.

The call
1. Compute for each card its chance to take a trick, and from that the chance of each number of tricks. Call the likeliest
   number that is allowed: the last caller under the hook calls the second likeliest if the likeliest is forbidden. If a call is
   made by at least that many tricks (`bonus`), call as low as is allowed.
2. Never call fewer than the sure tricks: not zero with the ace of trumps.
3. The more the seats before have called, the less each card is worth; a seat that is still to call counts as one that calls its
   share of the tricks.

The play
4. If every trick left is needed, lead the highest trump, or else the card that is most likely to win.
5. Otherwise take the card most likely to make the call exactly, ten points, and among equals the one with most tricks, one
   point each. Consequences:
   a. Tricks needed: win those that are nearly sure, cheaply; keep cards that will win later.
   b. None needed: throw away the highest card that loses, and lead low.
   c. The call out of reach, or exceeded: take every possible trick.
6. A trick taken by a rival who has made its call spoils the rival's ten points: that is worth half a point at a table of four.
7. Others that need tricks take them when they can (85 %); others that need none seldom take one that they could duck (20 %).
8. With two or three cards in hand it looks ahead (`endings`): rule 5, trick by trick.
9. If a call is made by at least that many tricks, 6 does not apply, and all seats are eager for tricks.
"""

from __future__ import annotations

import numpy as np

from noms_env._jit import highest, jit, lowest, size
from noms_env.core.actions import CALL_ZERO, PASS
from noms_env.core.bids import calls_between, exact_calls
from noms_env.core.cards import bit, has
from noms_env.players.rule_based.endings import best_ending_card, is_ending
from noms_env.players.rule_based.heuristics import (
    ENDING,
    MIN_GAIN,
    best_suit,
    drop_equal_cards,
    prefer_loser,
    sure_tricks,
    trick_value,
)
from noms_env.players.rule_based.later_tricks import NO_CARD, spread_odds, write_terms
from noms_env.players.rule_based.weights import CONTRACT
from noms_env.variants.families.exact_bid import AT_LEAST, BONUS_POINTS

EAGER, SHY = 0.85, 0.2
SPOIL = 1.5  # points, divided by the number of rivals


@jit
def call(t, m):
    """1, 2, 3. Return the action."""
    size_of_hand = int(t.deal_size)
    n_to_call = t.n_seats - 1 - int(t.n_calls)
    m.pressure = int(t.called) / size_of_hand + n_to_call / t.n_seats
    calls = exact_calls(t)
    if t.bonus == AT_LEAST:
        return PASS + lowest(calls)
    enough = calls & calls_between(sure_tricks(t, t.hands[t.seat], m), size_of_hand)
    if enough != 0:
        calls = enough
    spread_odds(t, t.hands[t.seat], NO_CARD, size_of_hand, CONTRACT, m)
    best, choice = -np.inf, 0
    for tricks in range(size_of_hand + 1):
        if has(calls, CALL_ZERO + tricks) and m.odds[tricks] > best + MIN_GAIN:
            best, choice = m.odds[tricks], tricks
    return PASS + CALL_ZERO + choice


@jit
def missing_tricks(t, seat):
    """Return the tricks that a seat lacks to its call; negative beyond it."""
    return int(t.call[seat]) - CALL_ZERO - int(t.tricks[seat])


@jit
def weigh_seats(t, m):
    """6, 7. Set how eager the others are, and the payoff of the trick by the seat that takes it."""
    demand = 0
    tricks_left = int(t.deal_size) - int(t.trick_number)
    for other in range(t.n_seats):
        missing = missing_tricks(t, other)
        is_content = missing <= 0 and t.bonus != AT_LEAST
        m.eager[other] = SHY if is_content else EAGER
        m.payoff[other] = SPOIL / (t.n_seats - 1) if is_content and missing == 0 and other != t.seat else 0.0
        if other != t.seat:
            demand += max(0, min(missing, tricks_left))
    m.pressure = demand / tricks_left


@jit
def play(t, m):
    """4 to 8. Return the card."""
    weigh_seats(t, m)
    missing = missing_tricks(t, t.seat)
    if t.n_table == 0 and missing == size(t.hands[t.seat]):
        return strongest_lead(t, m)
    if is_ending(t, m):
        for tricks in range(ENDING + 1):
            is_made = tricks == missing or (t.bonus == AT_LEAST and tricks > missing)
            m.worth[tricks] = tricks + (BONUS_POINTS if is_made else 0.0)
        return prefer_loser(t, best_ending_card(t, t.legal_cards, m), m)
    write_terms(t, CONTRACT, m)
    best, choice = -np.inf, -1
    remaining = drop_equal_cards(t, t.legal_cards, m)
    while remaining != 0:
        card = lowest(remaining)
        remaining &= remaining - 1
        value = card_value(t, card, missing, m)
        if value > best + MIN_GAIN:
            best, choice = value, card
    return prefer_loser(t, choice, m)


@jit
def strongest_lead(t, m):
    """4. Return the highest trump, or else the card that is most likely to win."""
    trumps = t.legal_cards & t.trump_cards
    if trumps != 0:
        return highest(trumps)
    best, choice = -np.inf, -1
    remaining = t.legal_cards
    while remaining != 0:
        card = lowest(remaining)
        remaining &= remaining - 1
        trick_value(t, card, best_suit(t, card, m), m)
        if m.win_chance >= best:
            best, choice = m.win_chance, card
    return choice


@jit
def card_value(t, card, missing, m):
    """5, 6. Return the expected points with a card: the chance of the call times its bonus, tricks, and spoiled rivals."""
    spoil_value = trick_value(t, card, best_suit(t, card, m), m)
    win_chance = m.win_chance
    hand = t.hands[t.seat] & ~bit(card)
    max_tricks = max(0, min(missing, size(hand)))
    tricks = win_chance + spread_odds(t, hand, card, max_tricks, CONTRACT, m)
    call_chance = win_chance * made_chance(t, missing - 1, hand, m) + (1.0 - win_chance) * made_chance(t, missing, hand, m)
    return BONUS_POINTS * call_chance + tricks + spoil_value


@jit
def made_chance(t, missing, hand, m):
    """Return the chance, from `odds`, that a hand takes the missing tricks, or with `bonus="at_least"` at least these."""
    if missing > size(hand):
        return 0.0
    if t.bonus != AT_LEAST:
        return m.odds[missing] if missing >= 0 else 0.0
    chance = 1.0
    for tricks in range(missing):
        chance -= m.odds[tricks]
    return chance
