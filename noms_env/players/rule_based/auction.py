"""Rules of thumb for the auction games with a hidden partner.

The auction
1. The tricks of the own hand under its best trump, plus a share of the others, are the expected tricks of the side. The chance
   of each bid follows from them (`call_value`).
2. Misere: the chance follows from the danger of the hand, which counts how far each card is above a safe one.
3. A bid is worth its points times its chance, less the cost of failure. Failure pays the others as much as success would have
   paid the side. If opponents score their own tricks, failure costs only the three points that a seat may expect from passing.
   Make the bid that is worth most, or pass if none is worth more than passing.

Announcements
4. Trump: the suit (or none) under which the own hand takes most tricks; in Misere fewest.
5. Nominate the highest missing trump, unless two own trumps are above it. In that case, or without trumps, nominate the highest
   missing card of a side suit; among equals, from the longest suit.
6. In Misere nominate an own card, the lowest: a partner would have to duck as well.
7. Never leave trump unsaid, never nominate a bare rank, never indicate: it costs twice the bid.

Whose side
8. The declarer and the holder of the card are friends, and the others are friends. Until the holder is known, each seat that
   has not shown a void of the card's suit holds it with the same chance.

The play of a numbered bid
9. Declarer and partner count a trick of their side as one, whoever takes it, so that neither overtakes the other. On lead they
   draw trumps while others may hold any.
10. An opponent counts every trick against the contract as one. If opponents score their own tricks, an own trick counts as one,
    and each trick against the contract as another 0.3.
11. On lead an opponent who does not know the holder yet prefers the suit of the nominated card, if it is not trump: it forces
    the card out.
12. Friends of the seat that is winning the trick seldom overtake it; the others do when they can.
13. With two or three cards in hand a seat looks ahead (`endings`); the payoff of its own tricks stays the same.

The play of Misere
14. The declarer's side counts each trick as a loss of ten, so it throws its highest losers and leads low.
15. The opponents count a trick of the declarer's side as ten until it has one, then as one. They lead low and stay below the
    declarer. If opponents score their own tricks, an own trick counts as one.
"""

from __future__ import annotations

import math

import numpy as np

from noms_env._jit import highest, jit, lowest, size
from noms_env.core.actions import CALL_MIS_A_VIS, CALL_PASS, CALL_ZERO, FIRST_WORD, NOMINATE, PASS
from noms_env.core.cards import SUIT_CARDS, above, has, suit_of
from noms_env.players.rule_based.endings import best_ending_card, is_ending
from noms_env.players.rule_based.heuristics import ENDING, MIN_GAIN, best_card, best_trump, by_rank, prefer_loser
from noms_env.players.rule_based.weights import DUCKING, TAKING
from noms_env.variants import dispatch
from noms_env.variants.families.auction import is_misere

OTHERS_SHARE = np.array([0.0, 0.0, 0.65, 0.55, 0.44, 0.37, 0.31, 0.27])
OWN_SHARE = np.array([0.0, 0.0, 0.35, 0.44, 0.60, 0.72, 0.82, 0.90])
"""[seats]: a side takes on average the first times the hand size, plus the second times the tricks expected of the declarer's
own hand. Fitted to forced contracts in self-play, 3 to 6 seats (standard deviation of a deal 1.1 to 1.7)."""
MAKE_SLOPE = 1.2
PASS_WORTH = 3.0 / 13.0
"""Expected points of a pass per card in hand, if opponents score their own tricks; tuned in matches."""
MISERE_BASE, MISERE_SEATS, MISERE_DANGER, MISERE_LEAD = 0.2, 2.2, 0.18, 0.7
"""Log odds of Misere: with three seats, per further seat, per point of danger per 13 cards, and for having to lead."""
MISERE_MARGIN = 2  # tricks that a failed Misere costs on top of its value
EAGER, SHY, FRIENDLY = 1.0, 0.05, 0.2
DEFEAT = 0.3
MISERE_LOSS = 10.0
FORCE_CARD = 0.2


@jit
def call(t, m):
    """1, 2, 3. Return the action."""
    _, own_tricks = best_trump(t, False, m)
    expected = OTHERS_SHARE[t.n_seats] * t.deal_size + OWN_SHARE[t.n_seats] * own_tricks
    calls = t.legal_words >> (PASS - FIRST_WORD)
    best, choice = -np.inf, CALL_PASS
    while calls != 0:
        value = call_value(t, lowest(calls), expected)
        if value > best + MIN_GAIN:
            best, choice = value, lowest(calls)
        calls &= calls - 1
    return PASS + choice


@jit
def call_value(t, call, side):
    """3. Return the value of a call in points more than the others'; for a pass, the value of leaving the bid to others."""
    if call == CALL_PASS:
        return PASS_WORTH * t.deal_size if t.opponents_score_tricks != 0 else 0.0
    if is_misere(call):
        return misere_value(t, call)
    tricks = call - CALL_ZERO
    chance = 1.0 / (1.0 + math.exp(MAKE_SLOPE * (tricks - 0.5 - side)))  # of at least that many
    return tricks * chance if t.opponents_score_tricks != 0 else tricks * (2.0 * chance - 1.0)


@jit
def misere_value(t, call):
    """2, 3. Return the value of Misere or Mis a Vis; all opponents play to catch an open hand, so its chance is cubed."""
    odds = MISERE_BASE + MISERE_SEATS * (t.n_seats - 3) - MISERE_DANGER * danger(t, t.hands[t.seat]) * 13.0 / t.deal_size
    if t.opponents_score_tricks == 0:  # here the declarer leads, too
        odds -= MISERE_LEAD
    chance = 1.0 / (1.0 + math.exp(-odds))  # to take no trick, alone
    if call == CALL_MIS_A_VIS:
        return 2.0 * t.deal_size * (2.0 * chance * chance * chance - 1.0)
    value = dispatch.misere_points(t)
    if not dispatch.misere_costs_tricks(t):
        return value * (2.0 * chance - 1.0)
    return value * chance - (value + MISERE_MARGIN) * (1.0 - chance)


@jit
def danger(t, hand):
    """2. Return how far the i-th lowest card is above the rank 2i + 1 (i and the lowest rank are 0), summed over all suits."""
    total = 0
    for suit in range(t.suits):
        cards = hand & SUIT_CARDS[t.deck_kind, suit]
        safe = 13 * suit + 13 - int(t.ranks) + 1
        while cards != 0:
            total += max(0, lowest(cards) - safe)
            safe += 2
            cards &= cards - 1
    return total


@jit
def nominate(t):
    """5, 6, 7. Return the action."""
    hand = t.hands[t.seat]
    own_cards = t.legal_cards & hand
    missing = t.legal_cards & ~hand
    if (is_misere(t.contract) and own_cards != 0) or missing == 0:
        return NOMINATE + by_rank(own_cards, -1)
    trumps = missing & t.trump_cards
    if trumps != 0 and (size(above(hand & t.trump_cards, highest(trumps))) < 2 or missing == trumps):
        return NOMINATE + highest(trumps)
    return NOMINATE + best_missing(t, hand, missing & ~t.trump_cards)


@jit
def best_missing(t, hand, missing):
    """5. Return the card of the highest rank, among equals that of the suit in which the hand is longest."""
    best, choice = -1, -1
    while missing != 0:
        card = lowest(missing)
        value = 16 * (card % 13) + size(hand & SUIT_CARDS[t.deck_kind, suit_of(card)])
        if value > best:
            best, choice = value, card
        missing &= missing - 1
    return choice


@jit
def is_on_side(t, seat):
    """8. Return whether a seat, by its own knowledge, is the declarer or the past or present holder of the nominated card."""
    return seat == t.declarer or (t.nominated >= 0 and has(t.hands[seat] | t.played[seat], t.nominated))


@jit
def friend_chance(t, seat, other):
    """8. Return the chance that another seat is on a seat's side, by the seat's knowledge."""
    if seat == other:
        return 1.0
    if other == t.declarer:
        return 1.0 if is_on_side(t, seat) else 0.0
    if not is_on_side(t, seat):
        return 1.0 - holder_chance(t, seat, other)
    alone = seat != t.declarer or (t.nominated >= 0 and has(t.hands[seat] | t.played[seat], t.nominated))
    return 0.0 if alone else holder_chance(t, seat, other)


@jit
def holder_chance(t, seat, other):
    """8. Return the chance that another seat, not the declarer, was dealt the nominated card, for a seat that was not."""
    if t.alone != 0:
        return 0.0
    if t.revealed >= 0:
        return 1.0 if t.revealed == other else 0.0
    if not may_hold(t, other):
        return 0.0
    candidates = 0
    for place in range(t.n_seats):
        if place != seat and place != t.declarer and may_hold(t, place):
            candidates += 1
    return 1.0 / candidates


@jit
def may_hold(t, seat):
    """8. Return False for a seat that has shown a void of the nominated card's suit."""
    return t.nominated < 0 or not has(t.voids[seat], suit_of(int(t.nominated)))


@jit
def play(t, m):
    """8 to 15. Return the card."""
    seat = t.seat
    if not is_misere(t.contract):
        weigh_seats(t, seat, m)
        if is_ending(t, m):
            for tricks in range(ENDING + 1):
                m.worth[tricks] = tricks * m.payoff[seat]
            m.payoff[seat] = 0.0
            return best_ending_card(t, cards_to_choose(t, seat, m), m)
        return best_card(t, cards_to_choose(t, seat, m), TAKING, m.payoff[seat], m)
    weigh_misere(t, seat, m)
    if is_on_side(t, seat):
        return prefer_loser(t, best_card(t, t.legal_cards, DUCKING, -MISERE_LOSS, m), m)
    if t.misere_opponents_score != 0:
        return best_card(t, t.legal_cards, TAKING, m.payoff[seat], m)
    return best_card(t, t.legal_cards, DUCKING, -1.0, m)


@jit
def weigh_seats(t, seat, m):
    """9, 10, 12. Set the payoff of the trick by the seat that takes it, and how eager each seat is."""
    selfish = t.opponents_score_tricks != 0 and not is_on_side(t, seat)
    for other in range(t.n_seats):
        friend = friend_chance(t, seat, other)
        m.payoff[other] = DEFEAT * friend if selfish else friend
        m.eager[other] = EAGER + friend * (FRIENDLY - EAGER)
    if selfish:
        m.payoff[seat] = 1.0 + DEFEAT


@jit
def cards_to_choose(t, seat, m):
    """9, 11. Return the cards to consider: the declarer's side draws trumps; an opponent on lead may prefer `bonus_cards`."""
    if t.n_table > 0:
        return t.legal_cards
    if not is_on_side(t, seat):
        if t.nominated >= 0 and t.revealed < 0 and t.alone == 0 and not has(t.trump_cards, t.nominated):
            m.bonus_cards = SUIT_CARDS[t.deck_kind, suit_of(int(t.nominated))]
            m.bonus = FORCE_CARD
        return t.legal_cards
    trumps = t.legal_cards & t.trump_cards
    if trumps != 0 and m.unseen & t.trump_cards != 0:
        for other in range(t.n_seats):
            if friend_chance(t, seat, other) < 1.0 and not has(t.voids[other], t.trump):
                return trumps
    return t.legal_cards


@jit
def weigh_misere(t, seat, m):
    """14, 15. Set the payoffs and the eagerness of the seats in Misere."""
    on_side = is_on_side(t, seat)
    stake = 1.0 if t.tricks[t.declarer] > 0 else MISERE_LOSS
    for other in range(t.n_seats):
        friend = friend_chance(t, seat, other)
        m.payoff[other] = -MISERE_LOSS * friend if on_side else stake * (1.0 - friend)
        m.eager[other] = SHY
    if not on_side:
        m.payoff[seat] = 1.0 if t.misere_opponents_score != 0 else 0.0
