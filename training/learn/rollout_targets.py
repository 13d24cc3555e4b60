"""Rollout targets: the value of every legal action of a decision, at the table as it is, and not only of the one taken.

Training knows all cards. So each action is taken in turn, and the deal is played out as the player `thumb` would, or solved
once few cards are left: what the player `pimc` does in sampled deals (`noms_env.players.search`), here in the real one.
Over many deals the hidden cards behind an observation occur as often as they should, given the others' calls and play. So a
policy that learns the mean of these values learns what a search over very many sampled deals would say: one step of policy
improvement over `thumb` (rollout policy iteration: M. Lagoudakis and R. Parr, 2003). All actions of a decision share its deal,
so their difference is known much better than from one deal for each (all-action policy gradients: C. Allen et al., arXiv
1709.00503).

A hidden card may decide what an action is worth, as it may decide the reward: only the loss sees either.
"""

from __future__ import annotations

import numpy as np

from noms_env import BatchEnv
from noms_env._jit import jit, lowest
from noms_env.core.actions import INDICATE, NOMINATE, NOMINATING, NUM_ACTIONS, PLAYING
from noms_env.engine.row_kernels import kernel_view, write_members
from noms_env.players.search.candidates import place_among, write_candidates
from noms_env.players.search.kernel import find_by_rollout, find_exact, is_solvable, new_work
from noms_env.players.search.position import count_deal_as_last, units
from noms_env.policy.encoding import Encoding

OPPONENT, OPPONENT_SHARE = "thumb", 0.9
"""Who takes some of the seats meanwhile, the player that plays the rollouts, and at what share of the tables."""
ENT_COEF = 0.02
"""Entropy coefficient meanwhile, where values are in units of the reward scale: much smaller differences are left open."""


class RolloutTargets:
    """Finds the values of actions; has working memory for one thread."""

    def __init__(self, encoding: Encoding) -> None:
        """Set up; `encoding` says which actions a network tells apart."""
        self.encoding = encoding
        self._work = new_work(1)

    def action_values(self, batch: BatchEnv, rows: np.ndarray, order: np.ndarray) -> np.ndarray:
        """The values of the actions of the seats to act.

        Args:
            batch: the tables; they are left as they are.
            rows: int64, shape (n,): which of them; somebody is to act there.
            order: int64, shape (n,): of the suits, from `Encoding.encode`.

        Returns:
            float32, shape (n, n_choices): points of the seat to act in the deal, less the mean of the others'; 0 for actions
            that are not legal.
        """
        values = np.zeros((len(rows), NUM_ACTIONS), np.float32)
        value_rows(kernel_view(batch.tables), rows, self._work, values)
        of_choices: np.ndarray = np.take_along_axis(values, self.encoding.actions[order].astype(np.int64), axis=1)
        return of_choices


@jit
def value_rows(tables, rows, work, values):
    """Write the value of each legal action.

    Args:
        tables: structured array, shape (tables,); they are left as they are.
        rows: int64, shape (n,): which of them.
        work: `search.kernel.new_work` of one world.
        values: float32, shape (n, NUM_ACTIONS), zeros: is written where an action is legal.
    """
    for i in range(len(rows)):
        t = tables[rows[i]]
        work.tables[0] = t
        count = write_tried(t, work.candidates)
        count_deal_as_last(work.tables[0])
        if is_solvable(work.tables[0], 0):
            find_exact(0, count, work)
        else:
            find_by_rollout(0, count, True, work)
        for k in range(count):
            values[i, work.candidates[k]] = work.values[k] * t.multiplier / units(t.n_seats)
        if t.phase == PLAYING:
            write_alike(t, work, count, values[i])


@jit
def write_tried(t, actions):
    """Write the actions to try, and return their number: those of a search, but every card that may be nominated."""
    if t.phase != NOMINATING:
        return write_candidates(t, actions)
    count = write_members(t.legal_words, INDICATE, actions, 0)
    return write_members(t.legal_cards, NOMINATE, actions, count)


@jit
def write_alike(t, work, count, values):
    """Give the cards that are like one that was tried its value."""
    left = t.legal_cards
    while left != 0:
        card = lowest(left)
        left &= left - 1
        values[card] = work.values[place_among(work.candidates, count, card)] * t.multiplier / units(t.n_seats)
