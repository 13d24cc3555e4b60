"""The greedy player: it takes the tricks that it wants as cheaply as it can, and ducks the others.

1. A call (exact-bid games): one for each ace and king, and for each other trump above the ten.
2. An auction: pass; if it must bid, the lowest bid. A bid of none, some or most: Some.
3. Trump: the longest suit. The nomination: the highest trump that it does not hold, else the highest card.
4. It wants a trick until it has made its call, and always if extra tricks do no harm, in the auction games, and with Some and
   Most. It never wants one as the declarer of Misere, with None, or if the fewest tricks win.
5. Wanted: lead the highest card; follow with the lowest card that beats all on the table, else with the lowest.
6. Not wanted: lead the lowest card; follow with the highest card that loses, else with the lowest.

It looks only at its own cards and the trick on the table, and is deterministic.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from noms_env._jit import highest, jit, lowest, size
from noms_env.core import actions as acts
from noms_env.core.cards import CARD_RANK, NO_TRUMP, SUIT_CARDS, has
from noms_env.core.tricks import beaters
from noms_env.players.protocol import NOBODY, RowsPlayer
from noms_env.variants.families import AUCTION, PLAIN, SHARES
from noms_env.variants.families.auction import is_misere
from noms_env.variants.families.exact_bid import AT_LEAST
from noms_env.variants.families.plain import LEAST

KING, TEN = 11, 8


class GreedyPlayer(RowsPlayer):
    """Takes wanted tricks cheaply, and ducks the rest."""

    def write_actions(self, mask: np.ndarray, seeds: np.ndarray, tables: Any, actions: np.ndarray) -> None:
        greedy_rows(tables, actions)


@jit
def greedy_rows(tables, actions):
    """Write an action for each row, `NOBODY` if nobody is to act."""
    for row in range(len(tables)):
        actions[row] = NOBODY if tables[row].phase == acts.SCORED else greedy_action(tables[row])


@jit
def greedy_action(t):
    """Return the action of the seat to act."""
    if t.phase == acts.PLAYING:
        return greedy_card(t)
    if t.phase == acts.CALLING:
        return acts.PASS + greedy_call(t)
    if t.phase == acts.NOMINATING:
        trumps = t.legal_cards & t.trump_cards & ~t.hands[t.seat]
        return acts.NOMINATE + highest(trumps if trumps != 0 else t.legal_cards)
    return acts.FIRST_WORD + longest_suit(t)


@jit
def greedy_call(t):
    """1, 2. Return the call."""
    calls = t.legal_words >> (acts.PASS - acts.FIRST_WORD)
    if t.family == SHARES:
        return acts.CALL_SOME
    if t.family == AUCTION:
        return acts.CALL_PASS if has(calls, acts.CALL_PASS) else lowest(calls)
    call = acts.CALL_ZERO + min(high_cards(t), int(t.deal_size))
    while not has(calls, call):  # the hook forbids one number
        call = call - 1 if call > acts.CALL_ZERO else call + 1
    return call


@jit
def high_cards(t):
    """1. Count aces, kings, and other trumps above the ten."""
    count = 0
    cards = t.hands[t.seat]
    while cards != 0:
        rank = CARD_RANK[t.deck_kind, lowest(cards)]
        if rank >= KING or (rank > TEN and has(t.trump_cards, lowest(cards))):
            count += 1
        cards &= cards - 1
    return count


@jit
def longest_suit(t):
    """3. Return the word of the longest suit among those that may be named."""
    words = t.legal_words
    choice, max_length = lowest(words), -1
    while words != 0:
        suit = lowest(words) - 1
        length = size(t.hands[t.seat] & SUIT_CARDS[t.deck_kind, suit]) if suit < NO_TRUMP else -1
        if length > max_length:
            choice, max_length = lowest(words), length
        words &= words - 1
    return choice


@jit
def wants_trick(t):
    """4. Return whether the seat to act wants the trick."""
    if t.family == PLAIN:
        return t.objective != LEAST
    if t.family == SHARES:
        return t.call[t.seat] != acts.CALL_NONE
    if t.family == AUCTION:
        return not (is_misere(t.contract) and t.seat == t.declarer)
    return t.bonus == AT_LEAST or t.tricks[t.seat] < t.call[t.seat] - acts.CALL_ZERO


@jit
def greedy_card(t):
    """5, 6. Return the card."""
    wants = wants_trick(t)
    if t.n_table == 0:
        return by_rank(t, t.legal_cards, wants)
    winning = t.legal_cards & beaters(t.best_card, t.led_cards, t.trump_cards)
    losing = t.legal_cards & ~winning
    if wants:
        return by_rank(t, winning if winning != 0 else losing, False)
    return by_rank(t, losing if losing != 0 else winning, losing != 0)


@jit
def by_rank(t, cards, top):
    """Return the card of the highest (`top`) or the lowest rank; trumps rank above the others."""
    choice, best = -1, -1
    while cards != 0:
        card = lowest(cards)
        rank = CARD_RANK[t.deck_kind, card] + (20 if has(t.trump_cards, card) else 0)
        if choice < 0 or (rank > best) == top:
            choice, best = card, rank
        cards &= cards - 1
    return choice
