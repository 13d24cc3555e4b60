"""The rule-of-thumb player: which family answers for a table."""

from __future__ import annotations

from typing import Any

import numpy as np

from noms_env._jit import jit, lowest
from noms_env.core.actions import CALLING, NAMING_SUIT, NAMING_TRUMP, NOMINATING, PLAYING, SCORED, SUIT, is_integer
from noms_env.players.protocol import NOBODY, RowsPlayer
from noms_env.players.registry import FIRST, NEWEST
from noms_env.players.rule_based import auction, exact_bid, plain, shares
from noms_env.players.rule_based.heuristics import best_trump, find_unseen, new_workspaces
from noms_env.variants.families import AUCTION, PLAIN, SHARES
from noms_env.variants.families.auction import is_misere
from noms_env.variants.families.plain import LEAST


class ThumbPlayer(RowsPlayer):
    """Plays by the rules of thumb at the top of the modules of `noms_env.players.rule_based`; deterministic."""

    def __init__(self, version: int = NEWEST) -> None:
        """Set up the player; with an earlier version of the rules, results stay comparable. ValueError for no such version."""
        if not is_integer(version) or not FIRST <= version <= NEWEST:
            raise ValueError(f"thumb has the versions {FIRST} to {NEWEST}, not {version!r}")
        self.version = int(version)

    def write_actions(self, mask: np.ndarray, seeds: np.ndarray, tables: Any, actions: np.ndarray) -> None:
        thumb_rows(tables, new_workspaces(self.version), actions)


@jit
def thumb_rows(tables, workspaces, actions):
    """Write an action for each row into `actions`, int64, shape (n,), `NOBODY` if nobody is to act.

    Of the hands in `tables`, a structured array, shape (n,), only that of the seat to act is read. While a call or trump is
    chosen, other trumps are assumed, and then reset. `workspaces` comes from `heuristics.new_workspaces`.
    """
    m = workspaces[0]
    for row in range(len(tables)):
        actions[row] = NOBODY if tables[row].phase == SCORED else thumb_action(tables[row], m)


@jit
def thumb_action(t, m):
    """Return the action of the seat to act; `m` is a row of `heuristics.new_workspaces`."""
    if t.phase == PLAYING and t.legal_cards & (t.legal_cards - 1) == 0:
        return lowest(t.legal_cards)
    find_unseen(t, m)
    if t.phase == NOMINATING:
        return auction.nominate(t)
    if t.phase == NAMING_SUIT:
        return shares.name_suit(t, m)
    if t.family == SHARES:
        if t.phase == PLAYING:
            return shares.play(t, m)
        return shares.call(t, m) if t.phase == CALLING else shares.name_trump(t, m)
    if t.phase == NAMING_TRUMP:
        trump, _ = best_trump(t, t.objective == LEAST if t.family == PLAIN else is_misere(t.contract), m)
        return SUIT + trump
    if t.family == AUCTION:
        return auction.call(t, m) if t.phase == CALLING else auction.play(t, m)
    if t.family == PLAIN:
        return plain.play(t, m)
    return exact_bid.call(t, m) if t.phase == CALLING else exact_bid.play(t, m)
