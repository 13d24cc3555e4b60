"""The chosen deal (`chosen_deal`) of which a table may be the present moment, from what the table keeps."""

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
from noms_env.interop.open_spiel.explicit_chance import PLAYING, DealKind, ExplicitChanceDeal, Layout, played

SEEN_FIELDS = (
    *("calls", "trump", "nominated", "nominated_rank", "revealed", "indicated", "refused", "order", "trick_winners", "tricks"),
    *("voids", "n_table", "led_suit", "phase", "seat"),
)
"""The fields of a table by which two courses of a deal are told apart."""


def reconstruct_history(kind: DealKind, row: np.record) -> ExplicitChanceDeal:
    """A deal of which a table (`state.TABLE`) may be the present moment; all that the seats have seen is the same.

    Three things a table does not keep: the suits that were named of two-suited leads to earlier tricks (nonesuch), when the
    partner has indicated (small ships), and the order of refused nominations. What fits the rest is put in their place.

    Raises:
        ValueError: there is no such deal.
    """
    deal = played(kind, kind.outcomes_of(Layout.of(kind, row)), ())
    found = _completed(deal, row)
    if found is None:
        raise ValueError(f"no deal of {kind.rules.variant.name} that begins with these cards comes to such a table")
    return found


def _completed(deal: ExplicitChanceDeal, row: np.record) -> ExplicitChanceDeal | None:
    """The deal, played on until its table is like another one; None if it cannot come there."""
    while deal.stage == PLAYING:
        legal = deal.begun.legal_actions()
        fitting = [action for action in _next_actions(deal.begun.row, row) if action in legal]
        if len(fitting) != 1:
            tried = (_after(deal, action, row) for action in fitting)
            return next((found for found in tried if found is not None), deal if _alike(deal.begun.row, row) else None)
        deal.decide(fitting[0])
    return deal if _alike(deal.begun.row, row) else None


def _after(deal: ExplicitChanceDeal, action: int, row: np.record) -> ExplicitChanceDeal | None:
    """The same after one of several actions that fit."""
    twin = deal.copy()
    twin.decide(action)
    return _completed(twin, row)


def _alike(one: np.record, other: np.record) -> bool:
    """Whether two tables with the same cards have seen the same."""
    return all(np.array_equal(one[name], other[name]) for name in SEEN_FIELDS)


def _next_actions(t: np.record, row: np.record) -> list[int]:
    """What may have been done at a table on its way to another; nothing if it is there, or on a wrong way."""
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
    """The same for a nomination: refused ones first, in any order."""
    refused = cards_in(row.refused & ~t.refused)
    if refused:
        return [NOMINATE + refused[0]]
    if row.nominated_rank >= 0:
        return [RANK + int(row.nominated_rank)]
    return [NOMINATE + int(row.nominated)] if row.nominated >= 0 else []


def _next_suits(t: np.record, row: np.record) -> list[int]:
    """The same for the suit of a two-suited lead: known in the present trick, either one in those before."""
    if t.trick_number == row.trick_number and row.n_table > 0:
        return [SUIT + int(row.led_suit)] if row.led_suit >= 0 else []
    return [SUIT + suit for suit in cards_in(CARD_SUITS[t.deck_kind, t.best_card])]
