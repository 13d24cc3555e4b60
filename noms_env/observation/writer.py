"""The compiled writers of observations, action masks and hidden states; `layout` describes the bytes.

They fill arrays of 64-bit words, eight bytes at a time: byte k of a word is in bits 8 * k to 8 * k + 7, the little-endian
order of memory. The last byte of a word stays below 128, so that words are never negative.
"""

from __future__ import annotations

import math

import numpy as np

from noms_env._jit import copy, jit, jit_inline, size, spread
from noms_env.core.actions import CALL_MIS, CALL_MIS_A_VIS, CALL_MOST, CALL_NONE, CALL_ZERO, NOMINATING, NUM_CALLS, SCORED
from noms_env.core.bids import forbidden_number, half_up
from noms_env.core.cards import CARD_RANK, CARD_SUITS, EXCUSE, bit
from noms_env.core.partners import known_role, side_tricks
from noms_env.core.state import HELD, MAX_SEATS, eldest, get_byte, left_of, put_byte, steps_to
from noms_env.observation.layout import OBSERVATION_SIZE, PADDED_MASK_SIZE, START
from noms_env.variants.dispatch import excuse_is_shown

CARD_WORDS = 7
OBSERVATION_WORDS = OBSERVATION_SIZE // 8
MASK_WORDS = PADDED_MASK_SIZE // 8

EXPAND = np.array([sum(1 << (8 * k) for k in range(8) if byte >> k & 1) for byte in range(256)], np.int64)
"""Eight bits expanded to eight bytes of 0 or 1."""

CARD_BYTES = np.zeros((2, 64), np.int64)
"""[deck, card]: six bytes of suits, 1 + place of the rank, 1 + number; [deck, 63], which is card -1, is 0."""
for _deck in range(2):
    for _card in range(52):
        if CARD_RANK[_deck, _card] >= 0 or _card == 36:
            _suits = int(EXPAND[CARD_SUITS[_deck, _card]])
            CARD_BYTES[_deck, _card] = _suits | int(CARD_RANK[_deck, _card] + 1) << 48 | (_card + 1) << 56

CALL_BYTES = np.zeros(NUM_CALLS + 1, np.int64)
"""[1 + call]: called, passed, 1 + number, mis, mis_a_vis, none, some, most; no call is 0."""
for _call in range(NUM_CALLS):
    CALL_BYTES[_call + 1] = 1
    if CALL_ZERO <= _call < CALL_MIS:
        CALL_BYTES[_call + 1] |= _call << 16
    else:
        _place = 1 if _call == 0 else 3 + _call - CALL_MIS
        CALL_BYTES[_call + 1] |= 1 << (8 * _place)

_HAND, _PLAYED, _TRICK_OF = (START[name] // 8 for name in ("hand", "played", "trick_of"))
_EXPOSED, _PREVIOUS = (START[name] // 8 for name in ("exposed", "previous_deal"))
_ON_TABLE, _CALL_OF, _TRICKS, _SEATS = (START[name] // 8 for name in ("on_table", "call_of", "tricks", "seats"))
_CALLS, _NOMINATED, _TURN_UP, _PHASE = (START[name] // 8 for name in ("calls", "nominated", "turn_up", "phase"))
_TRUMP, _LED_SUIT, _ROLE, _CONTRACT = (START[name] // 8 for name in ("trump", "led_suit", "role", "contract"))
_NUMBERS, _VARIANT, _CHOICES = (START[name] // 8 for name in ("numbers", "variant", "choices"))
_HANDS, _STOCK, _PARTNER, _EXCUSE = (START[name] // 8 for name in ("hands", "stock", "partner", "excuse"))


@jit_inline
def write_mask(t, seat, out):
    """Write the legal-action mask of a seat, zeros unless it is to act: int64, shape (19,): 150 bytes of 0 or 1, two zeros."""
    if seat != t.seat or t.phase == SCORED:
        out[:] = 0
        return
    cards = t.legal_cards
    words = t.legal_words
    if t.phase == NOMINATING:
        _expand(words << 52, out, 0)
        _expand((words >> 12) | ((cards & 0x3FFFFFFF) << 34), out, 8)
        last_cards = cards >> 30
    else:
        _expand(cards | (words << 52), out, 0)
        _expand(words >> 12, out, 8)
        last_cards = np.int64(0)
    for k in range(3):
        out[16 + k] = EXPAND[(last_cards >> (8 * k)) & 255]


@jit_inline
def _expand(bits, out, start):
    """Write eight words: a byte of 0 or 1 for each of 64 bits."""
    spread(out, start, bits)
    out[start + 7] = EXPAND[(bits >> 56) & 255]


@jit_inline
def write_observation(t, seat, out):
    """Write the observation of a seat (`layout.OBSERVATION`), int64, shape (OBSERVATION_SIZE // 8,)."""
    spread(out, _HAND, t.hands[seat])
    copy(out, _TRICK_OF, t.trick_of)
    spread(out, _EXPOSED, exposed_cards(t))
    if t.observe_previous_hand != 0:
        write_previous(t, seat, out)
    else:
        spread(out, _PREVIOUS, np.int64(0))
    row_seat = seat
    for relative in range(MAX_SEATS):
        if relative < t.n_seats:
            write_seat(t, seat, row_seat, relative, out)
            row_seat = left_of(t, row_seat)
        else:
            spread(out, _PLAYED + CARD_WORDS * relative, np.int64(0))
            out[_ON_TABLE + relative] = out[_CALL_OF + relative] = out[_TRICKS + relative] = out[_SEATS + relative] = 0
    copy(out, _CALLS, t.calls)
    if t.nominated < 0 and t.nominated_rank >= 0:
        out[_NOMINATED] = np.int64(t.nominated_rank + 1) << 48
    else:
        out[_NOMINATED] = CARD_BYTES[t.deck_kind, t.nominated & 63]
    out[_TURN_UP] = CARD_BYTES[t.deck_kind, t.turn_up & 63]
    out[_PHASE] = phase_word(t, seat)
    out[_TRUMP] = EXPAND[1 << t.trump] if t.trump >= 0 else 0
    out[_LED_SUIT] = EXPAND[1 << t.led_suit] if t.led_suit >= 0 else 0
    out[_ROLE] = role_word(t, seat)
    bids = bid_bytes(t.contract) | (bid_bytes(t.high_call) << 32)
    out[_CONTRACT] = bids | (multiplier_byte(t) << 24) | (np.int64(t.passes) << 56)
    out[_NUMBERS] = deal_numbers(t, seat)
    out[_NUMBERS + 1] = call_numbers(t, seat)
    out[_VARIANT] = EXPAND[(1 << t.variant) & 255]
    out[_VARIANT + 1] = EXPAND[(1 << t.variant) >> 8]
    copy(out, _CHOICES, t.choices)


@jit
def multiplier_byte(t):
    """Return the multiplier up to 64; above that 58 + the number of doublings, 255 at most."""
    if t.multiplier <= 64:
        return np.int64(t.multiplier)
    return min(np.int64(58 + math.log2(t.multiplier)), np.int64(255))


@jit_inline
def write_seat(t, observer, seat, relative, out):
    """Write a seat's row of the sections with one row per seat."""
    spread(out, _PLAYED + CARD_WORDS * relative, t.played[seat])
    out[_ON_TABLE + relative] = CARD_BYTES[t.deck_kind, t.on_table[seat] & 63]
    out[_CALL_OF + relative] = CALL_BYTES[t.call[seat] + 1]
    need = tricks_wanted(t, observer, seat)
    out[_TRICKS + relative] = EXPAND[t.voids[seat]] | (np.int64(t.tricks[seat]) << 48) | (np.int64(need) << 56)
    out[_SEATS + relative] = seat_word(t, seat)


@jit
def exposed_cards(t):
    """Return the unplayed cards in a public place: an open hand, and nominations refused because they are in the stock."""
    return t.refused | t.hands[t.exposed] if t.exposed >= 0 else t.refused


@jit
def write_previous(t, seat, out):
    """Write the previous deal (rules 4.3): the cards played, and the cards that the seat itself held to the end."""
    for card in range(52):
        mark = get_byte(t.previous, card)
        if card % 8 == 0:
            out[_PREVIOUS + card // 8] = 0
        if 0 < mark < HELD:
            relative = ((mark - 1) % 4 - seat) % t.n_seats
            put_byte(out[_PREVIOUS : _PREVIOUS + CARD_WORDS], card, 1 + (mark - 1) // 4 * 4 + relative)
        elif mark == HELD + seat:
            put_byte(out[_PREVIOUS : _PREVIOUS + CARD_WORDS], card, HELD)


@jit
def tricks_wanted(t, observer, seat):
    """Return 64 + the tricks that a seat still needs for its call or contract, as known to the observer; 0 without one."""
    if t.declarer >= 0:
        bid_tricks = t.contract - CALL_ZERO if t.contract < CALL_MIS else 0
        on_side = seat == t.declarer or seat == t.revealed or (seat == observer and seat == t.partner)
        return 64 + bid_tricks - known_side_tricks(t, observer) if on_side else 0
    call = t.call[seat]
    if CALL_ZERO <= call < CALL_MIS and t.high_call < 0:
        return 64 + call - CALL_ZERO - t.tricks[seat]
    if call == CALL_MOST:
        return 64 + half_up(t) - t.tricks[seat]
    return 64 - t.tricks[seat] if call == CALL_NONE else 0


@jit
def known_side_tricks(t, observer):
    """Return the tricks of the declarer's side, as known to the observer."""
    partner_is_known = t.partner >= 0 and (t.revealed == t.partner or t.partner == observer)
    return side_tricks(t) if partner_is_known else t.tricks[t.declarer]


@jit
def seat_word(t, seat):
    """Return the totals and public marks of a seat as a word."""
    word = t.standings[seat]
    if seat == t.dealer:
        word |= 1 << 24
    if seat == t.leader:
        word |= 1 << 32
    if seat == t.declarer:
        word |= 1 << 40
    if seat == t.revealed or (seat == t.excuse and excuse_is_shown(t)):
        word |= 1 << 48
    if seat == t.best_seat:
        word |= 1 << 56
    return word


@jit
def phase_word(t, seat):
    """Return the phase and three marks of the play as a word."""
    word = EXPAND[1 << t.phase] if t.phase != SCORED else np.int64(0)
    if seat == t.seat and t.phase != SCORED:
        word |= np.int64(1) << 40
    if t.broken != 0:
        word |= np.int64(1) << 48
    if t.exposed >= 0:
        word |= np.int64(1) << 56
    return word


@jit
def role_word(t, seat):
    """Return the seat's own role and the public marks on roles as a word."""
    word = EXPAND[1 << known_role(t, seat)]
    if t.alone != 0 or (t.declarer >= 0 and t.revealed == t.declarer):
        word |= np.int64(1) << 40
    if t.revealed >= 0:
        word |= np.int64(1) << 48
    return word


@jit
def bid_bytes(call):
    """Return 1 + number, mis, mis_a_vis as three bytes; no bid is 0."""
    if call < CALL_ZERO:
        return np.int64(0)
    if call == CALL_MIS:
        return np.int64(1) << 8
    if call == CALL_MIS_A_VIS:
        return np.int64(1) << 16
    return np.int64(call)


@jit_inline
def pack_bytes(a, b, c, d, e, f, g, h):
    """Pack eight numbers into the bytes of a word."""
    low = np.int64(a) | (np.int64(b) << 8) | (np.int64(c) << 16) | (np.int64(d) << 24)
    return low | (np.int64(e) << 32) | (np.int64(f) << 40) | (np.int64(g) << 48) | (np.int64(h) << 56)


@jit
def deal_numbers(t, seat):
    """Return the first word of the section `numbers`."""
    n_left = t.n_deals - t.deal if t.n_deals > 0 else 0
    place = steps_to(t, eldest(t), seat)
    n_held = size(t.hands[seat])
    return pack_bytes(t.deal_size, n_held, t.trick_number, t.n_table, min(t.deal + 1, 255), min(n_left, 255), t.n_seats, place)


@jit
def call_numbers(t, seat):
    """Return the second word of the section `numbers`."""
    called, forbidden, gap = 0, 0, 0
    if t.sizes[0] > 0:
        called = int(t.called)
        forbidden = forbidden_number(t) + 1
        gap = 64 + called - t.deal_size
    excuse_holder = 1 + steps_to(t, seat, t.excuse) if excuse_is_shown(t) else 0
    return pack_bytes(forbidden, called, gap, size(t.stock), size(unseen_cards(t, seat)), excuse_holder, t.episode, 0)


@jit
def unseen_cards(t, seat):
    """Return the cards that a seat has not seen in this deal."""
    seen = t.hands[seat] | exposed_cards(t) | t.cards_played
    if t.turn_up >= 0:
        seen |= bit(t.turn_up)
    if excuse_is_shown(t):
        seen |= bit(EXCUSE)
    return t.cards & ~seen


@jit_inline
def write_hidden(t, seat, out):
    """Write the hidden state (`layout.HIDDEN`), with seats relative to `seat`: int64, shape (HIDDEN_SIZE // 8,)."""
    row_seat = seat
    for relative in range(MAX_SEATS):
        exists = relative < t.n_seats
        spread(out, _HANDS + CARD_WORDS * relative, t.hands[row_seat] if exists else np.int64(0))
        if exists:
            row_seat = left_of(t, row_seat)
    spread(out, _STOCK, t.stock)
    out[_PARTNER] = one_hot_seat(t, t.partner, seat)
    out[_EXCUSE] = one_hot_seat(t, t.excuse, seat)


@jit
def one_hot_seat(t, seat, observer):
    """Return a one-hot seat as seven bytes, relative to the observer; 0 for no seat."""
    return EXPAND[1 << steps_to(t, observer, seat)] if seat >= 0 else 0
