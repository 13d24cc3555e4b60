"""One action of the seat to act, and its consequences.

`step` trusts its caller: an illegal action leaves the table in an undefined state (check with `legal.is_legal`).
"""

from __future__ import annotations

from noms_env._jit import jit, lowest
from noms_env.core.actions import (
    CALLING,
    INDICATE,
    NAMING_SUIT,
    NAMING_TRUMP,
    NOMINATE,
    NOMINATING,
    PASS,
    PLAYING,
    RANK,
    SCORED,
    SUIT,
)
from noms_env.core.cards import CARD_SUITS, has
from noms_env.core.state import SINGLE_DEAL, left_of
from noms_env.core.tricks import lay, name_led_suit, take
from noms_env.engine.deal import next_deal, write_standings
from noms_env.engine.legal import find_legal
from noms_env.variants import dispatch


@jit
def step(t, action):
    """Take an action. After the last one, score the deal and judge the match; `continue_match` deals the next hand."""
    if t.phase == PLAYING:
        if action == INDICATE:
            dispatch.indicate(t)
        else:
            play(t, action)
    elif t.phase == CALLING:
        dispatch.make_call(t, action - PASS)
    elif t.phase == NAMING_TRUMP:
        dispatch.make_trump(t, action - SUIT)
    elif t.phase == NOMINATING:
        if action >= NOMINATE:
            dispatch.make_nomination(t, action - NOMINATE)
        else:
            dispatch.make_rank_nomination(t, action - RANK)
    else:
        name_led_suit(t, action - SUIT)
        t.phase = PLAYING
        pass_turn(t)
    if t.phase == SCORED:
        score(t)
    else:
        find_legal(t)


@jit
def continue_match(t):
    """Deal the next hand after a scored deal, unless the match is over."""
    if t.phase == SCORED and t.over == 0:
        next_deal(t)


@jit
def play(t, card):
    """Play a card to the trick."""
    seat = t.seat
    lay(t, seat, card)
    if t.n_table == 1:
        suits = CARD_SUITS[t.deck_kind, card]
        if (suits & (suits - 1)) != 0:
            t.phase = NAMING_SUIT
        else:
            name_led_suit(t, lowest(suits))
    dispatch.after_card(t, seat, card)
    if has(t.trump_cards, card):
        t.broken = 1
    if t.phase == PLAYING:
        pass_turn(t)


@jit
def pass_turn(t):
    """Pass the turn to the left, or give a complete trick to its winner, which may end the deal."""
    if t.n_table < t.n_seats:
        t.seat = left_of(t, t.seat)
        return
    take(t)
    t.seat = t.leader
    dispatch.after_trick(t)
    if t.trick_number == t.deal_size or dispatch.is_decided(t):
        t.phase = SCORED


@jit
def score(t):
    """Score the deal, add its points to the totals, and judge the match."""
    dispatch.settle(t)
    for seat in range(t.n_seats):
        t.totals[seat] += t.points[seat]
    write_standings(t)
    t.legal_cards = 0
    t.legal_words = 0
    judge(t)


@jit
def judge(t):
    """Decide whether the match is over, and find its winners; an episode of a single deal ends with the first deal played."""
    ended = t.passed_out == 0 if t.episode == SINGLE_DEAL else dispatch.has_ended(t)
    truncated = not ended and dispatch.has_run_out(t)
    if ended or truncated:
        t.over = 1
        t.truncated = 1 if truncated else 0
        t.winners = dispatch.find_winners(t)
