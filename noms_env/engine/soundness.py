"""Validation of table records from outside.

The engine trusts the record of a table, so a record from outside is checked first: numbers are in range, each card is in one
place, calls and tricks agree with the fields derived from them, and the legal actions match the position. Independent values
such as totals are only checked for their range.
"""

from __future__ import annotations

import numpy as np

from noms_env._jit import jit, size
from noms_env.core.actions import CALL_MIS, CALL_PASS, CALL_ZERO, CALLING, NAMING_SUIT, NUM_CALLS, PLAYING, SCORED, UNSAID
from noms_env.core.bids import auction_is_over
from noms_env.core.cards import CARD_SUITS, NO_TRUMP, SUIT_CARDS, bit, has
from noms_env.core.chance import MAX_TABLE
from noms_env.core.state import HELD, MAX_CALLS, MAX_MULTIPLIER, MAX_POINTS, MAX_SEATS, MAX_TRICKS, eldest, get_byte
from noms_env.core.tricks import beats
from noms_env.engine.legal import find_legal
from noms_env.engine.row_kernels import kernel_view
from noms_env.variants.families import AUCTION
from noms_env.variants.table_record import RULE_FIELDS, TABLE, new_tables

_MAX_DEALS = 1 << 24


def _mask(names: tuple[str, ...]) -> np.ndarray:
    """Return a bit mask of a record with all bits of some fields set."""
    mask = np.zeros(TABLE.itemsize, np.uint8)
    for name in names:
        dtype, start = TABLE.fields[name][:2]  # type: ignore[index]
        mask[start : start + dtype.itemsize] = 255
    return mask.view(np.int64)


_RULES_MASK = _mask(RULE_FIELDS)
_DEAL_MASK = ~(_RULES_MASK | _mask(("seed", "table", "match", "over")))
"""The fields that are 0 until the first deal."""


def check_states(records: np.ndarray, rules: np.ndarray) -> None:
    """Check that records are possible states of tables with some rules.

    Args:
        records: `table_record.TABLE`, shape (n,).
        rules: records of tables with the expected rules, shape (n,) or (1,).

    Raises:
        ValueError: a record has other rules, or play cannot lead to it.
    """
    copies = new_tables(len(records))
    words = _words(copies)
    words[:] = _words(records)
    if (((words ^ _words(rules)) & _RULES_MASK) != 0).any():
        raise ValueError("the state is of a table with other rules than those here")
    is_unstarted = ((words & _DEAL_MASK) == 0).all(axis=1)
    if not are_sound(kernel_view(copies[~is_unstarted])):
        raise ValueError("the state is damaged: play cannot lead to it")


def _words(records: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(records).view(np.ndarray).view(np.int64).reshape(len(records), TABLE.itemsize // 8)


@jit
def are_sound(tables):
    """Return whether all tables are sound; recomputes their legal actions in place."""
    for row in range(len(tables)):
        t = tables[row]
        if not (numbers_are_sound(t) and cards_are_sound(t) and calls_are_sound(t)):
            return False
        if not (tricks_are_sound(t) and trick_is_sound(t) and legal_is_sound(t)):
            return False
    return True


@jit
def numbers_are_sound(t):
    """Return whether seats, cards and small numbers are in range."""
    n = t.n_seats
    for seat in (t.leader, t.declarer, t.partner, t.revealed, t.indicated, t.excuse, t.exposed, t.high_bidder, t.best_seat):
        if seat < -1 or seat >= n:
            return False
    for card in (t.turn_up, t.nominated, t.best_card):
        if card < -1 or card >= 52 or (card >= 0 and not has(t.cards, card)):
            return False
    for flag in (t.over, t.truncated, t.passed_out, t.alone, t.broken, t.open_misere):
        if flag < 0 or flag > 1:
            return False
    for call in (t.contract, t.high_call):
        if call < -1 or call >= NUM_CALLS:
            return False
    for seats in (t.winners, t.sniped):
        if seats < 0 or seats >= 1 << n:
            return False
    for seat in range(MAX_SEATS):
        if not (abs(t.totals[seat]) <= MAX_POINTS and abs(t.points[seat]) <= MAX_POINTS):
            return False
        if t.voids[seat] < 0 or t.voids[seat] >= 64 or t.carried_tricks[seat] < 0 or t.standings[seat] >> 17 != 0:
            return False
    for card in range(56):
        if get_byte(t.previous, card) > HELD + MAX_SEATS:
            return False
    if t.seed < 0 or t.table < 0 or t.table > MAX_TABLE or t.match < -1 or t.match > MAX_TABLE:
        return False
    if t.trump < -1 or t.trump > UNSAID or t.nominated_rank < -1 or t.nominated_rank > 12:
        return False
    if t.misere_height < -1 or t.misere_height > 127 or not 1 <= t.multiplier <= MAX_MULTIPLIER:
        return False
    if t.over != 0 and t.phase != SCORED:
        return False
    return 0 <= t.phase <= SCORED and 0 <= t.seat < n and 0 <= t.dealer < n


@jit
def cards_are_sound(t):
    """Return whether the deck has each card once, and each seat was dealt `deal_size` cards."""
    places = t.n_deals if t.sizes[0] > 0 else _MAX_DEALS
    if t.deal < 0 or t.deal >= places or t.deal_size != (t.sizes[t.deal] if t.sizes[0] > 0 else t.usual_deal_size):
        return False
    deck = np.int64(0)
    for place in range(size(t.cards)):
        card = int(t.deck[place])
        if card < 0 or card >= 52 or not has(t.cards & ~deck, card):
            return False
        deck |= bit(card)
    dealt, played = np.int64(0), np.int64(0)
    for seat in range(MAX_SEATS):
        hand = t.hands[seat] | t.played[seat]
        if t.hands[seat] & t.played[seat] != 0 or hand & (dealt | ~t.cards) != 0:
            return False
        if size(hand) != (t.deal_size if seat < t.n_seats else 0):
            return False
        for suit in range(NO_TRUMP):
            if has(t.voids[seat], suit) and t.hands[seat] & SUIT_CARDS[t.deck_kind, suit] != 0:
                return False
        dealt |= hand
        played |= t.played[seat]
    if t.trump_cards != (SUIT_CARDS[t.deck_kind, t.trump] & t.cards if 0 <= t.trump < NO_TRUMP else 0):
        return False
    return played == t.cards_played and t.stock & (dealt | ~t.cards) == 0 and t.refused & ~t.stock == 0


@jit
def calls_are_sound(t):
    """Return whether the latest calls, their sum and the high bid follow from the recorded calls."""
    first, called, high_call, high_bidder, passes = eldest(t), 0, -1, -1, 0
    if t.n_calls < 0 or t.n_calls > MAX_CALLS:
        return False
    for turn in range(MAX_CALLS):
        call = get_byte(t.calls, turn) - 1
        seat = (first + turn) % t.n_seats
        if turn >= t.n_calls:
            if call != -1 or (turn < t.n_seats and t.call[seat] != -1):
                return False
            continue
        if call < 0 or call >= NUM_CALLS or (turn + t.n_seats >= t.n_calls and t.call[seat] != call):
            return False
        if CALL_ZERO <= call < CALL_MIS:
            called += call - CALL_ZERO
        if t.family == AUCTION:
            passes = passes + 1 if call == CALL_PASS else 0
            if call != CALL_PASS:
                high_call, high_bidder = call, seat
    if t.called != called or t.high_call != high_call or t.high_bidder != high_bidder or t.passes != passes:
        return False
    for seat in range(t.n_seats, MAX_SEATS):
        if t.call[seat] != -1:
            return False
    if t.phase != CALLING:
        return True
    is_over = auction_is_over(t) if t.family == AUCTION else t.n_calls >= t.n_seats
    return not is_over and t.n_calls < MAX_CALLS and t.seat == (first + t.n_calls) % t.n_seats


@jit
def tricks_are_sound(t):
    """Return whether the cards played, the seats that played them and the winners of the tricks agree."""
    n, n_tricks = t.n_seats, t.trick_number
    if n_tricks < 0 or t.n_table < 0 or t.n_table >= n or n_tricks * n + t.n_table > n * t.deal_size:
        return False
    played, seat = np.int64(0), 0
    for place in range(52):
        card = int(t.order[place])
        if place >= n_tricks * n + t.n_table:
            if card != -1:
                return False
            continue
        if card < 0 or card >= 52 or has(played, card) or get_byte(t.trick_of, card) != place // n + 1:
            return False
        while place == 0 and seat < n - 1 and not has(t.played[seat], card):
            seat += 1
        if place > 0:
            seat = int(t.trick_winners[place // n - 1]) if place % n == 0 else (seat + 1) % n
        if not has(t.played[seat], card):
            return False
        played |= bit(card)
        if place % n == n - 1 and not 0 <= t.trick_winners[place // n] < n:
            return False
    for card in range(56):
        if get_byte(t.trick_of, card) != 0 and not has(played, card):
            return False
    for trick in range(n_tricks, MAX_TRICKS + 1):
        if t.trick_winners[trick] != -1:
            return False
    for other in range(MAX_SEATS):
        n_won = 0
        for trick in range(n_tricks):
            if t.trick_winners[trick] == other:
                n_won += 1
        if t.tricks[other] != n_won:
            return False
    return played == t.cards_played and (played == 0 or t.phase >= PLAYING)


@jit
def trick_is_sound(t):
    """Return whether the current trick agrees with the cards played, and the seat to act is next."""
    n, start = t.n_seats, t.trick_number * t.n_seats
    best_card, best_seat = -1, -1
    if t.led_suit < -1 or t.led_suit >= NO_TRUMP:
        return False
    if t.led_cards != (SUIT_CARDS[t.deck_kind, t.led_suit] & t.cards if t.led_suit >= 0 else 0):
        return False
    for turn in range(n):
        seat = (max(int(t.leader), 0) + turn) % n
        card = int(t.order[start + turn]) if turn < t.n_table else -1
        if t.on_table[seat] != card or (card >= 0 and not has(t.played[seat], card)):
            return False
        if turn == 0 or (card >= 0 and beats(card, best_card, t.led_cards, t.trump_cards)):
            best_card, best_seat = card, seat if card >= 0 else -1
    if t.best_card != best_card or t.best_seat != best_seat:
        return False
    if t.n_table == 0:
        return t.led_suit == -1 and (t.phase != PLAYING or (t.leader == t.seat and t.trick_number < t.deal_size))
    suits = CARD_SUITS[t.deck_kind, int(t.order[start])]
    if t.phase == NAMING_SUIT:
        return t.n_table == 1 and t.led_suit == -1 and t.seat == t.leader and suits & (suits - 1) != 0
    return t.phase == PLAYING and t.led_suit >= 0 and has(suits, t.led_suit) and t.seat == (t.leader + t.n_table) % n


@jit
def legal_is_sound(t):
    """Return whether the legal actions match the position, and there is one unless the deal is scored."""
    cards, words = t.legal_cards, t.legal_words
    if t.phase == SCORED:
        return cards == 0 and words == 0
    find_legal(t)
    return cards == t.legal_cards and words == t.legal_words and cards | words != 0
