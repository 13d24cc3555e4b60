"""Monte Carlo by rules of thumb: `flat_mc`, and `pimc`, perfect-information Monte Carlo with exact endings.

For the seat to act in a row, *worlds* are dealt from its knowledge (`worlds`). In each of them every candidate is tried. The
value of a deal is its points to the seat less the mean of the others' points, not multiplied, as a whole number
(`position.units`), so sums do not depend on their order.

* Flat Monte Carlo plays each world out by rules of thumb (`rollouts.play_out`), the searcher's own seat too.
* Perfect-information Monte Carlo (M. Ginsberg, "GIB", 2001) solves each world exactly once few enough cards are left. Until
  then it plays out by the same rules, up to an ending that is solved exactly (`MARGIN`). It assumes that everybody will know
  all cards, so it neither hides nor seeks information (strategy fusion: I. Frank and D. Basin, 1998).

The search takes the action of `thumb:1`, unless others gain more than one standard error over it, in paired differences over
worlds. Then it takes the one with the best mean, the first of equals. (A gain in a single world does not count, so with one
world `thumb` decides.) This is a cautious step of policy improvement (G. Tesauro and G. Galperin, "On-line policy improvement
using Monte-Carlo search", 1996): among many candidates, the best in a few worlds is often a lucky one, or one that would need
open cards. docs/search.md compares other thresholds. A single candidate is taken without a search.
"""

from __future__ import annotations

from collections import deque
from typing import Any, ClassVar, NamedTuple

import numpy as np

from noms_env._jit import jit
from noms_env._threads import RowThreads
from noms_env.belief import new_sampling_workspace
from noms_env.core.actions import CALLING, NUM_ACTIONS, SCORED, is_integer
from noms_env.engine.row_kernels import kernel_view
from noms_env.players.protocol import NOBODY, RowsPlayer
from noms_env.players.registry import FIRST
from noms_env.players.rule_based.heuristics import new_workspaces
from noms_env.players.rule_based.player import thumb_action
from noms_env.search.candidates import candidate_index, write_candidates
from noms_env.search.endgame.moves import new_frames
from noms_env.search.endgame.position import new_positions
from noms_env.search.endgame.solver import NEVER, action_value, choose_kind, is_solvable, prepare
from noms_env.search.rollouts import end_value, play_out
from noms_env.search.worlds import deal_worlds
from noms_env.variants.families import AUCTION
from noms_env.variants.table_record import new_tables

MAX_WORLDS = 10_000
NO_ENDINGS, SHORT, LONG = range(3)
"""Which endings are solved: none, those for a thread of a GPU, or those for a CPU.

With the short ones at one seat of four, and the same random numbers, `pimc:100` gains in points per deal: noms +0.009 ± 0.040
(500 deals), sniped whist -0.005 ± 0.006 (1,000), small ships +0.003 ± 0.091 (100), nonesuch +0.031 ± 0.067 (100).
"""
MARGIN = np.array([[NEVER, NEVER], [1, 2], [0, 2]])
"""[endings, after_rollout]: an ending is solved that many tricks later than `solver.MAX_TRICKS_TO_SOLVE` allows. After rollouts
(1) the solver runs once for each action and world."""
EVERY_SEAT_MARGIN = np.array([[0, 0], [1, 0], [0, 0]])
"""[endings, after_rollout]: the margin of `solver.choose_kind`, for each seat for itself, the slower kind. With two sides after
all rollouts of small ships `pimc:100` loses 0.36 ± 0.27 points a deal (50 deals)."""
CALL_WORLDS = 4
"""Factor on the number of worlds for a single round of calls. It comes once a deal and decides most, and the bonus for an exact
call makes for wide differences between worlds."""


class Work(NamedTuple):
    """Working memory of one thread."""

    tables: np.ndarray  # structured, shape (CALL_WORLDS * worlds + 1,): the worlds, and a table to play on
    numbers: np.ndarray  # int64, shape (CALL_WORLDS * worlds,): 0, 1, ...
    sampling: np.ndarray  # `belief.new_sampling_workspace`
    positions: np.ndarray  # `position.new_positions`
    frames: np.ndarray  # `moves.new_frames`
    workspaces: np.ndarray  # `heuristics.new_workspaces`
    candidates: np.ndarray  # int64, shape (NUM_ACTIONS,): the candidates of the last search
    values: np.ndarray  # int64, shape (NUM_ACTIONS,): their values in the present world, in `position.units`
    sums: np.ndarray  # int64, shape (NUM_ACTIONS,): the same, over all worlds
    squares: np.ndarray  # float64, shape (NUM_ACTIONS,): of the gains over the favourite, over all worlds


def new_work(worlds: int) -> Work:
    """Return working memory for a search in `worlds` worlds."""
    tables, numbers = kernel_view(new_tables(CALL_WORLDS * worlds + 1)), np.arange(CALL_WORLDS * worlds)
    memory = new_sampling_workspace(), new_positions(), new_frames(), new_workspaces(FIRST)
    candidates, values, sums = np.zeros((3, NUM_ACTIONS), np.int64)
    return Work(tables, numbers, *memory, candidates, values, sums, np.zeros(NUM_ACTIONS))


class FlatMC(RowsPlayer):
    """Flat Monte Carlo: tries every action in sampled worlds, played out by rules of thumb."""

    endings: ClassVar[int] = NO_ENDINGS
    reward: ClassVar[str] = "relative"  # points less the mean of the others'

    def __init__(self, worlds: int = 20, threads: int = 1) -> None:
        """Set up the player; ValueError for a number that is not whole, or not from 1 to 10000 (threads: 64).

        `worlds` are layouts of the unseen cards in which each action is tried; with only one, `thumb` plays the cards.
        `threads` share the rows of a batch; the actions do not depend on them.
        """
        self.worlds = check_number("worlds", worlds, MAX_WORLDS)
        self.threads = check_number("threads", threads, 64)
        self._spare = deque[Any]()  # working memory that no search is using; several threads may call the player at once
        self._row_threads = RowThreads(self.threads)

    def write_actions(self, mask: np.ndarray, seeds: np.ndarray, tables: Any, actions: np.ndarray) -> None:
        def search_part(first: int, end: int, _part: int) -> None:
            try:
                work = self._spare.pop()
            except IndexError:
                work = new_work(self.worlds)
            search_rows(tables, first, end, seeds, self.endings, work, actions)
            self._spare.append(work)

        self._row_threads.run(len(tables), search_part)


class PIMC(FlatMC):
    """Perfect-information Monte Carlo: solves the worlds exactly once few cards are left."""

    endings: ClassVar[int] = LONG


def check_number(name: str, number: Any, maximum: int) -> int:
    """Return a whole number from 1 to `maximum`; ValueError for any other value."""
    if not is_integer(number) or not 1 <= number <= maximum:
        raise ValueError(f"{name} must be a whole number from 1 to {maximum}, not {number!r}")
    return int(number)


@jit
def search_rows(tables, first, last, seeds, endings, work, actions):
    """Choose an action in the rows from `first` up to `last`; `NOBODY` if nobody is to act.

    `tables`, shape (tables,), are as the seats to act imagine them, and not changed. `seeds`, int64, shape (tables,), are the
    source of all randomness in each row, and `endings` is `NO_ENDINGS`, `SHORT` or `LONG`. `actions`, int64, is written.
    """
    for row in range(first, last):
        actions[row] = NOBODY
        if tables[row].phase != SCORED:
            actions[row] = search(tables, row, seeds[row], endings, work)


@jit
def search(tables, row, seed, endings, work):
    """Choose an action for the seat to act; see `search_rows`."""
    count = write_candidates(tables[row], np.int64(0), work.candidates)
    if count == 1:
        return work.candidates[0]
    favourite = thumb_action(tables[row], work.workspaces[0])
    place = candidate_index(work.candidates, count, favourite)
    worlds = len(work.numbers) if is_single_round(tables[row]) else len(work.numbers) // CALL_WORLDS
    deal_worlds(tables, row, seed, work.tables, work.numbers[:worlds], work.sampling)
    work.sums[:count] = 0
    work.squares[:count] = 0.0
    for world in range(worlds):
        if is_solvable(work.tables[world], MARGIN[endings, 0]):
            w = work.positions[0]
            write_exact_values(work.tables[world], work.candidates, count, endings, w, work.frames, work.values)
        else:
            write_rollout_values(world, count, endings, work)
        add_up(work.values, work.sums, work.squares, count, place)
    best = choose_best(work.sums, work.squares, count, place)
    return favourite if best == place else work.candidates[best]


@jit
def is_single_round(t):
    """Return whether the seat to act makes its only call of the deal."""
    return t.phase == CALLING and t.family != AUCTION


@jit
def write_exact_values(t, candidates, count, endings, w, frames, values):
    """Write the value of each candidate in a world with best play by all; overwrites the points of the world."""
    kind = choose_kind(t, EVERY_SEAT_MARGIN[endings, 0])
    prepare(w, t, kind)
    for k in range(count):
        values[k] = action_value(w, frames, t, kind, candidates[k], t.seat)


@jit
def write_rollout_values(world, count, endings, work):
    """Write the value of each candidate in a world that is played out."""
    scratch, seat, margin = len(work.numbers), work.tables[world].seat, EVERY_SEAT_MARGIN[endings, 1]
    for k in range(count):
        work.tables[scratch] = work.tables[world]
        t = work.tables[scratch]
        play_out(t, work.candidates[k], MARGIN[endings, 1], work.workspaces[0])
        work.values[k] = end_value(t, seat, margin, work.positions[0], work.frames)


@jit
def add_up(values, sums, squares, count, favourite):
    """Add the values of the candidates in a world to `sums` and `squares`; `favourite` is an index."""
    for k in range(count):
        sums[k] += values[k]
        gain = float(values[k] - values[favourite])
        squares[k] += gain * gain


@jit
def choose_best(sums, squares, count, favourite):
    """Return the index of the candidate to take: the best of those clearly better than the favourite, or the favourite.

    A mean is more than its standard error (by n - 1) exactly if the squared sum is more than the sum of squares.
    """
    best = favourite
    for k in range(count):
        gain = float(sums[k] - sums[favourite])
        if sums[k] > sums[best] and gain * gain > squares[k]:
            best = k
    return best
