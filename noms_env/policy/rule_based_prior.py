"""The rule-based prior: what the player `thumb` would do, from an observation alone.

`thumb` acts on a table, of which it reads only what the seat to act sees. So a table is filled from an observation
(`write_seen_table`), with the looking seat as seat 0, and `thumb` is asked.

With it a network begins where `thumb` is, and learns only where to depart from it (residual policy learning: T. Silver et
al., arXiv 1812.06298).
"""

from __future__ import annotations

import numpy as np

from noms_env._jit import jit, jit_inline, nonzero, size
from noms_env.core.actions import CALL_MIS, CALL_MIS_A_VIS, CALL_ZERO, INDICATE, NOMINATE, NOMINATING, SCORED
from noms_env.core.cards import FRENCH
from noms_env.core.state import MAX_CALLS
from noms_env.core.tricks import name_led_suit, name_trump
from noms_env.observation.layout import CARD_BYTES, SEAT_BYTES, START
from noms_env.players.rule_based.player import thumb_action

_HAND, _PLAYED, _PLAYED_IN, _EXPOSED = (START[name] for name in ("hand", "played", "trick_of", "exposed"))
_ON_TABLE, _CALL_OF, _TRICKS, _SEATS, _CALLS = (START[name] for name in ("on_table", "call_of", "tricks", "seats", "calls"))
_NOMINATED, _TURN_UP, _PHASE, _TRUMP = (START[name] for name in ("nominated", "turn_up", "phase", "trump"))
_LED, _ROLE, _CONTRACT, _NUMBERS = (START[name] for name in ("led_suit", "role", "contract", "numbers"))
_RANK, _CARD = 6, 7  # in the eight bytes of a card
_TAKEN = 6  # in a row of `tricks`
_DEALER, _LEADER, _DECLARER, _REVEALED, _BEST = 3, 4, 5, 6, 7  # in a row of `seats`
_ALL_KNOW_ALONE = 5  # in `role`
_BROKEN, _IS_OPEN = 6, 7  # in `phase`
_FIRST_CALL_MARK = 3  # in a row of `call_of`: Mis, Mis a Vis, none, some and most have a byte each
_TO_FIT = 4  # `nonzero` reads 56 bytes, but only 52 are left from the nominations on, so it starts 4 bytes before them


@jit
def prior_action(seen, mask, t, m):
    """The action that `thumb` would take.

    Args:
        seen: the observation of the seat to act, uint8, shape (OBSERVATION_SIZE,) or longer.
        mask: its legal actions, int8, shape (NUM_ACTIONS,); at least one.
        t: a table of the rules of the observation (`rules_lookup.rules_tables`); all but its rules is overwritten.
        m: a row of `heuristics.new_workspaces`.
    """
    write_seen_table(seen, mask, t)
    return thumb_action(t, m)


@jit
def write_seen_table(seen, mask, t):
    """Fill a table with what an observation says, as far as `thumb` reads it.

    The other seats hold the right number of unknown cards, but for an open hand; only a revealed partner is one.
    """
    t.seat = 0
    write_cards(seen, t)
    for seat in range(t.n_seats):
        _write_seat(seen, seat, t)
    write_auction(seen, t)
    _write_trick(seen, t)
    _write_legal(mask, t)


@jit_inline
def write_cards(seen, t):
    """The cards: in the own hand, played, open; and the numbers of the deal."""
    t.phase = marked(seen, _PHASE, SCORED)
    t.deal_size = seen[_NUMBERS]
    t.trick_number = seen[_NUMBERS + 2]
    t.n_table = seen[_NUMBERS + 3]
    t.cards_played = nonzero(seen, _PLAYED_IN)
    t.turn_up = np.int64(seen[_TURN_UP + _CARD]) - 1
    t.broken = seen[_PHASE + _BROKEN]


@jit_inline
def _write_seat(seen, seat, t):
    row = seat * SEAT_BYTES
    t.played[seat] = nonzero(seen, _PLAYED + seat * CARD_BYTES)
    held = np.int64(t.deal_size) - size(t.played[seat])
    t.hands[seat] = nonzero(seen, _HAND) if seat == 0 else (np.int64(1) << held) - 1
    t.on_table[seat] = np.int64(seen[_ON_TABLE + row + _CARD]) - 1
    t.call[seat] = call_at(seen, _CALL_OF + row)
    t.voids[seat] = nonzero(seen, _TRICKS + row) & 0x3F
    t.tricks[seat] = seen[_TRICKS + row + _TAKEN]


@jit_inline
def write_auction(seen, t):
    """Calls, contract and trump, and who is known to be what."""
    t.dealer = seat_with(seen, _DEALER, t.n_seats)
    t.declarer = seat_with(seen, _DECLARER, t.n_seats)
    t.revealed = seat_with(seen, _REVEALED, t.n_seats) if t.deck_kind == FRENCH else -1  # else a mark of the Excuse
    t.alone = 1 if seen[_ROLE + _ALL_KNOW_ALONE] != 0 and (t.revealed < 0 or t.revealed != t.declarer) else 0
    t.n_calls = size(nonzero(seen, _CALLS) & ((1 << MAX_CALLS) - 1))
    t.called = seen[_NUMBERS + SEAT_BYTES + 1]
    t.contract = bid_at(seen, _CONTRACT)
    t.high_call = bid_at(seen, _CONTRACT + 4)
    t.nominated = np.int64(seen[_NOMINATED + _CARD]) - 1
    t.nominated_rank = np.int64(seen[_NOMINATED + _RANK]) - 1
    t.exposed = t.declarer if seen[_PHASE + _IS_OPEN] != 0 else -1
    t.refused = 0
    if t.exposed > 0:
        t.hands[t.exposed] = nonzero(seen, _EXPOSED)
    elif t.exposed < 0:
        t.refused = nonzero(seen, _EXPOSED)
    name_trump(t, marked(seen, _TRUMP, -1))
    if t.trump < 0:
        t.trump_cards = 0


@jit_inline
def _write_trick(seen, t):
    t.leader = seat_with(seen, _LEADER, t.n_seats)
    t.best_seat = seat_with(seen, _BEST, t.n_seats)
    t.best_card = t.on_table[t.best_seat] if t.best_seat >= 0 else -1
    suit = marked(seen, _LED, -1)
    t.led_suit = -1
    t.led_cards = 0
    if suit >= 0:
        name_led_suit(t, suit)


@jit_inline
def _write_legal(mask, t):
    words = nonzero(mask, INDICATE) & ((np.int64(1) << (NOMINATE - INDICATE)) - 1)
    t.legal_words = words
    if t.phase == NOMINATING:
        t.legal_cards = nonzero(mask, NOMINATE - _TO_FIT) >> _TO_FIT
    else:
        t.legal_cards = nonzero(mask, 0) & ((np.int64(1) << INDICATE) - 1)


@jit_inline
def marked(seen, start, none):
    """The place of the first mark in eight bytes, or `none`; of a phase only the first five places are marks of that kind."""
    for place in range(5 if start == _PHASE else SEAT_BYTES):
        if seen[start + place] != 0:
            return place
    return none


@jit_inline
def seat_with(seen, place, seats):
    """The seat that bears a mark, -1 for none."""
    for seat in range(seats):
        if seen[_SEATS + seat * SEAT_BYTES + place] != 0:
            return seat
    return -1


@jit_inline
def call_at(seen, start):
    """The latest call of a seat as tables count it: -1 for none, 0 for a pass."""
    if seen[start] == 0:
        return -1
    if seen[start + 2] != 0:
        return np.int64(seen[start + 2])
    for place in range(_FIRST_CALL_MARK, SEAT_BYTES):
        if seen[start + place] != 0:
            return CALL_MIS + place - _FIRST_CALL_MARK
    return 0


@jit_inline
def bid_at(seen, start):
    """A bid of three bytes as tables count it, -1 for none."""
    if seen[start] >= CALL_ZERO:
        return np.int64(seen[start])
    if seen[start + 1] != 0:
        return CALL_MIS
    return CALL_MIS_A_VIS if seen[start + 2] != 0 else -1
