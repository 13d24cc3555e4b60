"""The rule-of-thumb player: which family answers for a table."""

from __future__ import annotations

import numpy as np

from noms_env._jit import jit
from noms_env.core.actions import CALLING, NAMING_SUIT, NAMING_TRUMP, NOMINATING, SCORED
from noms_env.engine.row_kernels import kernel_view
from noms_env.players.protocol import NOBODY, RowsPlayer
from noms_env.players.rule_based import auction, exact_bid, plain, shares
from noms_env.players.rule_based.heuristics import new_workspaces
from noms_env.variants.families import AUCTION, PLAIN, SHARES


class ThumbPlayer(RowsPlayer):
    """Plays by the rules of thumb that the files of `noms_env.players.rule_based` open with; leaves nothing to chance."""

    def write_actions(
        self, mask: np.ndarray, rng: np.random.Generator, tables: np.recarray | None, actions: np.ndarray
    ) -> None:
        """See `RowsPlayer.write_actions`. The tables are left as they are."""
        assert tables is not None  # `as_batch` sees to it
        thumb_rows(kernel_view(tables), new_workspaces(), actions)


@jit
def thumb_rows(tables, workspaces, actions):
    """Write an action for each row, `NOBODY` where nobody is to act.

    Args:
        tables: structured array, shape (n,); of the hands only that of the seat to act is looked at. While a call or a
            trump is chosen other trumps are supposed, and taken back.
        workspaces: `heuristics.new_workspaces`.
        actions: int64, shape (n,): is written.
    """
    m = workspaces[0]
    for row in range(len(tables)):
        actions[row] = NOBODY if tables[row].phase == SCORED else thumb_action(tables[row], m)


@jit
def thumb_action(t, m):
    """What the seat to act does; `m` is a row of `heuristics.new_workspaces`."""
    if t.family == PLAIN:
        return plain.name_trump(t, m) if t.phase == NAMING_TRUMP else plain.play(t, m)
    if t.family == SHARES:
        return shares_action(t, m)
    if t.family == AUCTION:
        return auction_action(t, m)
    return exact_bid.call(t, m) if t.phase == CALLING else exact_bid.play(t, m)


@jit
def shares_action(t, m):
    """The same where seats bid for a share of the tricks."""
    if t.phase == CALLING:
        return shares.call(t, m)
    if t.phase == NAMING_TRUMP:
        return shares.name_trump(t, m)
    return shares.name_suit(t, m) if t.phase == NAMING_SUIT else shares.play(t, m)


@jit
def auction_action(t, m):
    """The same in the auction games."""
    if t.phase == CALLING:
        return auction.call(t, m)
    if t.phase == NAMING_TRUMP:
        return auction.name_trump(t, m)
    return auction.nominate(t) if t.phase == NOMINATING else auction.play(t, m)
