"""Rollout targets: what every legal action of a decision comes to, at the table as it is, and not only the one that is taken.

Training knows all cards. So from a decision each action can be taken in turn, and the deal played out by rule of thumb, or,
once few cards are left, solved: what the player `pimc` does in worlds that it imagines (`noms_env.players.search`), here in the
one world that is true. Over many deals the true worlds of an observation are drawn as they should be, calls and play of the
others included, so that a policy which learns the means of these worths learns what a search of very many worlds would say,
as one step of policy improvement over `thumb` (rollout policy iteration: M. Lagoudakis and R. Parr, 2003). All actions of a
decision share its deal, and the difference between them is known much better than from one deal for each (all-action policy
gradients: C. Allen et al., arXiv 1709.00503).

A hidden card may decide what an action is worth, as it may decide the reward: both are seen by the loss alone.
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

OTHERS = "thumb"
"""Who takes some of the seats meanwhile: the one that plays the rollouts."""
SHARE = 0.9
"""Of the tables at which he does."""
ENTROPY = 0.02
"""Weight of the entropy meanwhile, where a worth of 1 is the scale of the rewards: differences far below it are left open."""


class RolloutTargets:
    """Tries actions out; has working memory for one thread."""

    def __init__(self, encoding: Encoding) -> None:
        """Set up; `encoding` says which actions a network tells apart."""
        self.encoding = encoding
        self._work = new_work(1)

    def worths(self, batch: BatchEnv, rows: np.ndarray, order: np.ndarray) -> np.ndarray:
        """What the actions of the seats to act come to.

        Args:
            batch: the tables; they are left as they are.
            rows: int64, shape (n,): which of them; somebody is to act there.
            order: int64, shape (n,): of the suits, from `Encoding.encode_rows`.

        Returns:
            float32, shape (n, n_choices): points of the seat to act in the deal, less the mean of the others'; 0 for actions
            that are not legal.
        """
        worths = np.zeros((len(rows), NUM_ACTIONS), np.float32)
        try_rows(kernel_view(batch.tables), rows, self._work, worths)
        of_choices: np.ndarray = np.take_along_axis(worths, self.encoding.actions[order].astype(np.int64), axis=1)
        return of_choices


@jit
def try_rows(tables, rows, work, worths):
    """Write what each legal action comes to.

    Args:
        tables: structured array, shape (tables,); they are left as they are.
        rows: int64, shape (n,): which of them.
        work: `search.kernel.new_work` of one world.
        worths: float32, shape (n, NUM_ACTIONS), zeros: is written where an action is legal.
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
            worths[i, work.candidates[k]] = work.worths[k] / units(t.n_seats)
        if t.phase == PLAYING:
            write_alike(t, work, count, worths[i])


@jit
def write_tried(t, actions):
    """Write the actions to try, and return their number: those of a search, but every card that may be nominated."""
    if t.phase != NOMINATING:
        return write_candidates(t, actions)
    count = write_members(t.legal_words, INDICATE, actions, 0)
    return write_members(t.legal_cards, NOMINATE, actions, count)


@jit
def write_alike(t, work, count, worths):
    """Let the cards that are like one that was tried be worth as much."""
    left = t.legal_cards
    while left != 0:
        card = lowest(left)
        left &= left - 1
        worths[card] = work.worths[place_among(work.candidates, count, card)] / units(t.n_seats)
