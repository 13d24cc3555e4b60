"""Reconstruction of a history that leads to a given table."""

from __future__ import annotations

import numpy as np

from noms_env.core.actions import (
    CALLING,
    INDICATE,
    NAMING_SUIT,
    NAMING_TRUMP,
    NOMINATE,
    NOMINATING,
    PASS,
    RANK,
    SUIT,
    UNSAID_ACTION,
)
from noms_env.core.cards import CARD_SUITS, cards_in
from noms_env.core.state import get_byte
from noms_env.micro.deal_setup import DealSetup, Layout
from noms_env.micro.explicit_chance import PLAYING, ExplicitChanceDeal, replay_history

PUBLIC_FIELDS = (
    *("calls", "trump", "nominated", "nominated_rank", "revealed", "indicated", "refused", "order", "trick_winners"),
    *("alone", "tricks", "voids", "n_table", "led_suit", "phase", "seat"),
)
"""The fields of a record that can differ between two histories with the same cards."""


def reconstruct_history(setup: DealSetup, row: np.record) -> ExplicitChanceDeal:
    """Return a deal whose history leads to a given table, with the same information for every seat.

    A table does not store three things: the suit named for a two-suited lead to an earlier trick (nonesuch), the moment at
    which the partner indicated (small ships), and the order of refused nominations. The history has any consistent choice.

    Args:
        setup: of the deal.
        row: the table (a `table_record.TABLE` record).

    Raises:
        ValueError: no history leads to this table.
    """
    deal = replay_history(setup, Layout.of(setup, row).outcomes(setup), ())
    history = _play_to_table(deal, row)
    if history is None:
        raise ValueError(f"no history of {setup.rules.variant.name} with these cards leads to this table")
    return history


def _play_to_table(deal: ExplicitChanceDeal, row: np.record) -> ExplicitChanceDeal | None:
    """Play until the deal's table matches; None if it never does. If several actions fit, search depth first."""
    while deal.stage == PLAYING:
        legal = deal.dealt_table.legal_actions()
        fitting = [action for action in _next_actions(deal.dealt_table.row, row) if action in legal]
        if len(fitting) != 1:
            history = next((history for action in fitting if (history := _try_action(deal, action, row)) is not None), None)
            return deal if history is None and _matches(deal.dealt_table.row, row) else history
        deal.apply_action(fitting[0])
    return deal if _matches(deal.dealt_table.row, row) else None


def _try_action(deal: ExplicitChanceDeal, action: int, row: np.record) -> ExplicitChanceDeal | None:
    """Call `_play_to_table` with a copy of the deal after one more action."""
    twin = deal.copy()
    twin.apply_action(action)
    return _play_to_table(twin, row)


def _matches(table: np.record, other: np.record) -> bool:
    """Return whether two tables with the same cards have the same history, in all fields that tables store."""
    return all(np.array_equal(table[name], other[name]) for name in PUBLIC_FIELDS)


def _next_actions(t: np.record, row: np.record) -> list[int]:
    """Return the actions that may lead from table `t` towards table `row`; empty at the end or if none does."""
    if t.phase == CALLING:
        return [PASS - 1 + get_byte(row.calls, t.n_calls)] if t.n_calls < row.n_calls else []
    if t.phase == NAMING_TRUMP:
        unsaid = row.nominated_rank >= 0
        return [UNSAID_ACTION] if unsaid else [SUIT + int(row.trump)] if row.trump >= 0 else []
    if t.phase == NOMINATING:
        return _next_nominations(t, row)
    if t.phase == NAMING_SUIT:
        return _next_suits(t, row)
    card = int(row.order[t.trick_number * t.n_seats + t.n_table])
    indicates = row.indicated == t.seat and t.indicated < 0
    return [*([INDICATE] if indicates else []), *([card] if card >= 0 else [])]


def _next_nominations(t: np.record, row: np.record) -> list[int]:
    """Return the next nominations: first the refused ones, by card number."""
    refused = cards_in(row.refused & ~t.refused)
    if refused:
        return [NOMINATE + refused[0]]
    if row.nominated_rank >= 0:
        return [RANK + int(row.nominated_rank)]
    return [NOMINATE + int(row.nominated)] if row.nominated >= 0 else []


def _next_suits(t: np.record, row: np.record) -> list[int]:
    """Return the next suits of a two-suited lead: the named suit in the current trick, either suit in an earlier one."""
    if t.trick_number == row.trick_number and row.n_table > 0:
        return [SUIT + int(row.led_suit)] if row.led_suit >= 0 else []
    return [SUIT + suit for suit in cards_in(CARD_SUITS[t.deck_kind, t.best_card])]
