"""How a hidden partner plays otherwise than a defender: whether he takes tricks from the declarer when he need not.

Only the holder of the nominated card knows whose side he is on. Until that card is played, a decision counts in which the
declarer's card is winning the trick and the seat may play a higher one as well as a lower one. Misère is left out: there the
declarer wants no tricks.
"""

from __future__ import annotations

import numpy as np

from noms_env._jit import jit
from noms_env.core.actions import CALL_MIS, CALL_MIS_A_VIS
from noms_env.core.cards import SUIT_CARDS, has, suit_of
from noms_env.core.tricks import beats, follow

PARTNER, DEFENDER = range(2)
COULD, DID = range(2)


def overtakes(tables: np.recarray, watched: np.ndarray) -> np.ndarray:
    """Count them in deals with a hidden partner; deals without one count nothing.

    Args:
        tables: records of tables of the auction games at the end of a deal (`table_record.TABLE`), shape (n,).
        watched: bool, shape (n, MAX_SEATS): whose decisions count.

    Returns:
        int64, shape (2, 2): by `PARTNER` and `DEFENDER`, how often it was possible (`COULD`) and how often it was done (`DID`).
    """
    counts = np.zeros((2, 2), np.int64)
    misere = (tables.contract == CALL_MIS) | (tables.contract == CALL_MIS_A_VIS)
    for row in np.flatnonzero((tables.declarer >= 0) & (tables.partner >= 0) & (tables.nominated >= 0) & ~misere):
        t = tables[row]
        sets = (t.order.astype(np.int64), t.played.astype(np.int64), SUIT_CARDS[t.deck_kind] & t.cards, int(t.trump_cards))
        numbers = (int(t.n_seats), int(t.trick_number), int(t.declarer), int(t.partner), int(t.nominated))
        count_deal(*sets, *numbers, watched[row], counts)
    return counts


@jit
def count_deal(order, hands, suits, trump_cards, seats, tricks, declarer, partner, nominated, watched, counts):
    """Add those of one deal.

    Args:
        order: int64: the cards in the order in which they were played.
        hands: int64, per seat: the cards that it had.
        suits: int64, per suit: its cards.
        trump_cards: the cards of the trump suit, as a set.
        seats: how many.
        tricks: how many were played.
        declarer: seat.
        partner: seat.
        nominated: card.
        watched: bool, per seat.
        counts: int64, shape (2, 2): is added to.
    """
    gone = 0
    for trick in range(tricks):
        best, best_seat, led = -1, -1, 0
        for place in range(seats):
            card = order[trick * seats + place]
            seat = 0
            while not has(hands[seat], card):
                seat += 1
            if place == 0:
                led = suits[suit_of(card)]
            elif best_seat == declarer and watched[seat]:
                higher, lower = False, False
                legal = follow(hands[seat] & ~gone, led)
                for other in range(64):
                    if legal >> other & 1:
                        if beats(other, best, led, trump_cards):
                            higher = True
                        else:
                            lower = True
                if higher and lower:
                    role = PARTNER if seat == partner else DEFENDER
                    counts[role, COULD] += 1
                    if beats(card, best, led, trump_cards):
                        counts[role, DID] += 1
            if place == 0 or beats(card, best, led, trump_cards):
                best, best_seat = card, seat
            gone |= 1 << card
            if card == nominated:
                return
