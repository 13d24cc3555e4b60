"""Replays: a deal under way is replayed from its beginning, in worlds with different hidden cards.

A table keeps no list of actions; `next_public_action` infers them from public information. Some actions are ambiguous. The suit
named for a two-suited lead to an earlier trick follows from who won and who did not follow, or does not matter. A partner who
indicated is assumed to have done so with his first card. `is_like_its_world` detects replays that go wrong for these reasons.
It does not detect whether a card was nominated by rank or in full (if the trump was unsaid or is the card's suit), nor the
order of refused cards. The replay takes the full card, and the lowest refused card first.
"""

from __future__ import annotations

import numpy as np

from noms_env._jit import jit, lowest
from noms_env.core.actions import CALLING, INDICATE, NAMING_TRUMP, NOMINATE, NOMINATING, PASS, PLAYING, RANK, SUIT, UNSAID
from noms_env.core.cards import CARD_SUITS, NO_TRUMP, SUIT_CARDS, has
from noms_env.core.state import get_byte
from noms_env.core.tricks import beaters, name_trump
from noms_env.engine.batch_kernels import count_legal
from noms_env.engine.deal import hand_out
from noms_env.engine.legal import is_legal
from noms_env.engine.step import step
from noms_env.observation.writer import write_mask, write_observation
from noms_env.search.endgame.position import count_deal_as_last

ARRIVED, FAILED = -1, -2
"""Results of a replay instead of an action: it has reached the state of its world, or it failed."""


@jit
def begin_replays(worlds, replays):
    """Write into each replay the beginning of its world's deal."""
    for i in range(len(worlds)):
        replays[i] = worlds[i]
        rewind_deal(replays[i])


@jit
def rewind_deal(t):
    """Reset a world to the beginning of its deal."""
    trump = t.trump
    hand_out(t)
    if t.trump >= 0:  # fixed by a draw, or by the number of the deal, which are not those of the table
        name_trump(t, trump)
    count_deal_as_last(t)


@jit
def next_public_action(t, r):
    """Return the action that brings a replay `r` closer to its world `t`, or `ARRIVED`."""
    place = r.trick_number * r.n_seats + r.n_table
    has_arrived = r.n_calls == t.n_calls and r.phase == t.phase and place == t.trick_number * t.n_seats + t.n_table
    is_to_indicate = r.phase == PLAYING and t.indicated == r.seat and r.indicated < 0
    if has_arrived and not is_to_indicate and (r.phase != NOMINATING or r.refused == t.refused):
        return ARRIVED
    if r.phase == CALLING:
        return PASS + get_byte(t.calls, r.n_calls) - 1
    if r.phase == NAMING_TRUMP:
        return SUIT + (UNSAID if t.nominated_rank >= 0 else t.trump)
    if r.phase == NOMINATING:
        refused = t.refused & ~r.refused
        if refused != 0:
            return NOMINATE + lowest(refused)
        return RANK + t.nominated_rank if t.nominated_rank >= 0 else NOMINATE + t.nominated
    if r.phase == PLAYING:
        return INDICATE if is_to_indicate else int(t.order[place])
    return SUIT + find_named_suit(t, r.trick_number, place)


@jit
def find_named_suit(t, trick, place):
    """Return the suit that was named for a two-suited lead, the card before `place` in `order`."""
    if trick == t.trick_number:
        return int(t.led_suit)
    lead, best, max_voids = int(t.order[place - 1]), -1, -2
    for suit in range(NO_TRUMP):
        if has(CARD_SUITS[t.deck_kind, lead], suit):
            n_voids = count_voids(t, trick, lead, suit)
            if n_voids > max_voids:
                best, max_voids = suit, n_voids
    return best


@jit
def count_voids(t, trick, lead, suit):
    """Return how many seats did not follow to a trick if that suit was led; -1 if its winner or the hands rule that out."""
    led, best, n_voids = SUIT_CARDS[t.deck_kind, suit] & t.cards, lead, 0
    for place in range(trick * t.n_seats + 1, (trick + 1) * t.n_seats):
        card = int(t.order[place])
        if has(beaters(best, led, t.trump_cards), card):
            best = card
        for seat in range(t.n_seats):
            if has(t.played[seat], card) and not has(led, card):
                n_voids += 1
                if not has(t.voids[seat], suit) or plays_later(t, seat, led, place):
                    return -1
    return n_voids if has(t.played[t.trick_winners[trick]], best) else -1


@jit
def plays_later(t, seat, cards, place):
    """Return whether a seat has played one of some cards after a place in `order`."""
    for later in range(place + 1, t.trick_number * t.n_seats + t.n_table):
        card = int(t.order[later])
        if has(t.played[seat], card) and has(cards, card):
            return True
    return False


@jit
def next_row(worlds, replays, row):
    """Return the seat to act in a replay, and `next_public_action`."""
    return np.int64(replays[row].seat), np.int64(next_public_action(worlds[row], replays[row]))


@jit
def list_others(replays, valid, own_seat, action, rows, hands):
    """List the replays in which another seat than `own_seat` has a choice, with the hands. Return their number."""
    n = 0
    for i in range(len(replays)):
        r = replays[i]
        if valid[i] and r.seat != own_seat and is_legal(r, action) and count_legal(r) > 1:
            rows[n] = i
            hands[n] = r.hands[r.seat]
            n += 1
    return n


@jit
def write_observations(replays, rows, observation, mask):
    """Write the observations and masks of the seats to act in some replays."""
    for i in range(len(rows)):
        r = replays[rows[i]]
        write_observation(r, r.seat, observation[i])
        write_mask(r, r.seat, mask[i])


@jit
def step_replays(replays, action, valid):
    """Take an action in each replay; a replay in which it is illegal fails: `valid` becomes False."""
    for i in range(len(replays)):
        valid[i] = valid[i] and is_legal(replays[i], action)
        if valid[i]:
            step(replays[i], action)


@jit
def compare_with_worlds(worlds, replays, valid):
    """Mark the replays as failed that do not end in the state of their worlds."""
    for i in range(len(worlds)):
        valid[i] = valid[i] and is_like_its_world(worlds[i], replays[i])


@jit
def is_like_its_world(t, r):
    """Return whether a replay has reached the state of its world."""
    equal = t.seat == r.seat and t.phase == r.phase and t.n_table == r.n_table and t.trick_number == r.trick_number
    equal = equal and t.trump == r.trump and t.multiplier == r.multiplier
    for seat in range(t.n_seats):
        equal = equal and t.hands[seat] == r.hands[seat] and t.tricks[seat] == r.tricks[seat] and t.voids[seat] == r.voids[seat]
    return equal
