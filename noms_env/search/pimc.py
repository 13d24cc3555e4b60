"""The search itself: flat Monte Carlo, and perfect-information Monte Carlo with exact endings.

For the seat to act in a row, as many *worlds* as wanted are dealt from what it knows (`belief`). In each of them every
candidate action is tried, the same worlds for all. What a deal comes to is its points to the seat less the mean of the
others' points, not multiplied, as whole numbers (`position.units`): sums do not depend on their order.

* Flat Monte Carlo plays each world out by rules of thumb (`rollout`), the searcher's own seat too.
* Perfect-information Monte Carlo (M. Ginsberg, "GIB", 2001) solves each world exactly once few enough cards are left
  (`MOST_LEFT_TO_SOLVE`); until then it plays out by the same rules, up to an ending that is solved at once (`FEWER`). It
  takes for granted that everybody will know all cards, the reason why it neither hides nor probes (strategy fusion: I. Frank
  and D. Basin, 1998).

What is taken is the action of the player `thumb:1`, unless another one is clearly better: the one with the best mean among
those that gain more than one standard error over it, the differences being taken world by world (so that a gain in a single
world is none, and with one world in all `thumb` decides). That is one step of policy improvement (G. Tesauro and G. Galperin,
"On-line policy improvement using Monte-Carlo search", 1996) with caution: of many candidates the one that looks best in a few
worlds is often the luckiest, or one that would need the cards to lie open. `pimc:20` above `thumb`, in points per deal with
95 % intervals (four seats, 100 to 300 duplicate deals):

| standard errors | noms         | sniped_whist   | small_ships | nonesuch    | down_up     |
|-----------------|--------------|----------------|-------------|-------------|-------------|
| 0, best mean    | -0.08 ± 0.17 | +0.036 ± 0.018 | 0.39 ± 0.19 | 0.60 ± 0.17 | 0.28 ± 0.25 |
| 1               | +0.26 ± 0.13 | +0.073 ± 0.019 | 0.76 ± 0.19 | 0.68 ± 0.17 | 0.62 ± 0.22 |
| 2               | +0.12 ± 0.09 | +0.058 ± 0.017 |             |             |             |

With 100 worlds `pimc` is +0.34 ± 0.13 above it in noms, and +0.106 ± 0.019 in sniped whist.

Of what else was tried nothing gained more than it cost: sniped whist played out by `thumb` (+0.080 ± 0.019, in five times the
time), worlds of noms drawn by how well they fit the calls and announcements (+0.22 ± 0.12, in twice the time), and rollouts
to the end instead of solved endings (noms +0.12 ± 0.13, sniped whist +0.052 ± 0.019).

Equal means: the first of them. What is done with a single candidate is not thought about.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from noms_env._jit import jit
from noms_env.belief import new_sampling_workspace, sample_hidden_rows
from noms_env.core.actions import CALLING, NAMING_SUIT, NUM_ACTIONS, PLAYING, SCORED, UNSAID
from noms_env.core.cards import FRENCH
from noms_env.core.state import MAX_SEATS
from noms_env.engine.row_kernels import kernel_view
from noms_env.engine.step import step
from noms_env.players.protocol import NOBODY
from noms_env.players.registry import FIRST
from noms_env.players.rule_based.heuristics import new_workspaces
from noms_env.players.rule_based.player import thumb_action
from noms_env.search.candidates import place_among, write_candidates
from noms_env.search.endgame.moves import new_frames
from noms_env.search.endgame.position import ORDER, count_deal_as_last, fits, new_positions, value_to
from noms_env.search.endgame.solver import EVERY_SEAT, TWO_SIDES, action_value, position_value, prepare
from noms_env.search.simple_play import next_action
from noms_env.variants.dispatch import common_sides
from noms_env.variants.families import AUCTION
from noms_env.variants.table_record import new_tables

MOST_LEFT_TO_SOLVE = np.array([[0, 0, 8, 6, 5, 4, 4, 3], [0, 0, 9, 8, 6, 5, 4, 4]])
"""[kind, seats]: tricks to come, the one under way included, from which on worlds of the French deck are solved."""
MOST_LEFT_TO_SOLVE_DECKTET = np.array([0, 0, 0, 4, 4])
"""[seats]: likewise for the Decktet, whose leads have more choices."""
NOTHING, SHORT, LONG = range(3)
"""Which endings are solved: none, those that suit a thread of a GPU, or those that suit a processor.

With the short ones at one seat of four, and the same random numbers, `pimc:100` gains in points per deal: noms +0.009 ± 0.040
(500 deals), sniped whist -0.005 ± 0.006 (1,000), small ships +0.003 ± 0.091 (100), nonesuch +0.031 ± 0.067 (100).
"""
FEWER = np.array([[0, 0], [1, 2], [0, 2]])
"""[endings, is_behind]: so many tricks fewer; `is_behind` is 1 for what is solved once for each action and world, at the end of
what was played out."""
FEWER_FOR_EVERY_SEAT = np.array([[0, 0], [1, 0], [0, 0]])
"""[endings, is_behind]: likewise for where a choice between the two kinds falls on each seat for itself, the slower one. With
two sides behind all rollouts of small ships `pimc:100` loses 0.36 ± 0.27 points a deal (50 deals)."""
_SEATS = range(2, MAX_SEATS + 1)
MOST_CARDS_SOLVED = [max(int(MOST_LEFT_TO_SOLVE[:, seats].max() - fewer) * seats for seats in _SEATS) for fewer in FEWER[:, 0]]
"""[endings]: cards in the hands at most; the Decktet has fewer."""


def most_counts(endings: int) -> int:
    """How many counts (`position`) there are at most where each seat is solved for itself."""
    alone, sides = MOST_LEFT_TO_SOLVE
    root = alone - FEWER[endings, 0]
    behind = np.minimum(sides - FEWER[endings, 1], alone - FEWER_FOR_EVERY_SEAT[endings, 1])
    return max(int(ORDER[max(root[seats], behind[seats]) + 1, seats]) for seats in _SEATS)


CALL_WORLDS = 4
"""A single round of calls is tried in so many times as many worlds: it is asked once a deal and decides most, and the bonus
for an exact call makes for wide differences between worlds."""


class Work(NamedTuple):
    """The working memory of one thread."""

    tables: np.ndarray  # structured, shape (CALL_WORLDS * worlds + 1,): the worlds, and a table to play on
    numbers: np.ndarray  # int64, shape (CALL_WORLDS * worlds,): 0, 1, ...
    sampling: np.ndarray  # `belief.new_sampling_workspace`
    positions: np.ndarray  # `position.new_positions`
    frames: np.ndarray  # `moves.new_frames`
    workspaces: np.ndarray  # `heuristics.new_workspaces`
    candidates: np.ndarray  # int64, shape (NUM_ACTIONS,): the actions that were tried last
    values: np.ndarray  # int64, shape (NUM_ACTIONS,): what each came to in the present world, in `position.units`
    sums: np.ndarray  # int64, shape (NUM_ACTIONS,): the same, over all worlds
    squares: np.ndarray  # float64, shape (NUM_ACTIONS,): what each gained over the favourite, squared, over all worlds


def new_work(worlds: int) -> Work:
    """Working memory for a search in so many worlds."""
    return Work(
        tables=kernel_view(new_tables(CALL_WORLDS * worlds + 1)),
        numbers=np.arange(CALL_WORLDS * worlds),
        sampling=new_sampling_workspace(),
        positions=new_positions(),
        frames=new_frames(),
        workspaces=new_workspaces(FIRST),
        candidates=np.zeros(NUM_ACTIONS, np.int64),
        values=np.zeros(NUM_ACTIONS, np.int64),
        sums=np.zeros(NUM_ACTIONS, np.int64),
        squares=np.zeros(NUM_ACTIONS),
    )


@jit
def search_rows(tables, first, last, seeds, endings, work, actions):
    """Choose an action in each row of a range.

    Args:
        tables: structured array, shape (tables,): as the seats to act imagine them; they are left as they are.
        first: first row.
        last: the row behind the last one.
        seeds: int64, shape (tables,): what all that is random in a row follows from.
        endings: which worlds are solved, `NOTHING`, `SHORT` or `LONG`.
        work: `new_work`.
        actions: int64, shape (tables,): is written; `NOBODY` where nobody is to act.
    """
    for row in range(first, last):
        actions[row] = NOBODY
        if tables[row].phase != SCORED:
            actions[row] = search(tables, row, seeds[row], endings, work)


@jit
def search(tables, row, seed, endings, work):
    """Choose an action for the seat to act; see `search_rows`."""
    count = write_candidates(tables[row], work.candidates)
    if count == 1:
        return work.candidates[0]
    favourite = thumb_action(tables[row], work.workspaces[0])
    place = place_among(work.candidates, count, favourite)
    worlds = worlds_for(tables[row], work)
    for world in range(worlds):
        work.tables[world] = tables[row]
    sample_hidden_rows(work.tables, work.numbers[:worlds], tables[row].seat, seed, work.sampling)
    work.sums[:count] = 0
    work.squares[:count] = 0.0
    for world in range(worlds):
        count_deal_as_last(work.tables[world])
        if endings != NOTHING and is_solvable(work.tables[world], FEWER[endings, 0]):
            w = work.positions[0]
            find_exact(work.tables[world], work.candidates, count, endings, w, work.frames, work.values)
        else:
            find_by_rollout(world, count, endings, work)
        add_up(work.values, work.sums, work.squares, count, place)
    best = best_of(work.sums, work.squares, count, place)
    return favourite if best == place else work.candidates[best]


@jit
def worlds_for(t, work):
    """In how many worlds the actions of the seat to act are tried."""
    return len(work.numbers) if is_single_round(t) else len(work.numbers) // CALL_WORLDS


@jit
def is_single_round(t):
    """True if the seat to act makes its one call of the deal."""
    return t.phase == CALLING and t.family != AUCTION


@jit
def find_exact(t, candidates, count, endings, w, frames, values):
    """Find what each candidate is worth in a world in which everybody plays best; the points of the world are overwritten."""
    kind = kind_to_solve(t, FEWER_FOR_EVERY_SEAT[endings, 0])
    prepare(w, t, kind)
    for k in range(count):
        values[k] = action_value(w, frames, t, kind, candidates[k], t.seat)


@jit
def find_by_rollout(world, count, endings, work):
    """Find what each candidate comes to in a world that is played out."""
    spare = len(work.numbers)
    seat = work.tables[world].seat
    for k in range(count):
        work.tables[spare] = work.tables[world]
        t = work.tables[spare]
        play_out(t, work.candidates[k], endings, work.workspaces[0])
        work.values[k] = (
            value_to(t, seat) if t.phase == SCORED else value_behind(t, seat, endings, work.positions[0], work.frames)
        )


@jit
def value_behind(t, seat, endings, w, frames):
    """What the ending behind a rollout (`play_out`) is worth to a seat; the points of the table are overwritten."""
    return position_value(w, frames, t, kind_to_solve(t, FEWER_FOR_EVERY_SEAT[endings, 1]), seat)


@jit
def play_out(t, action, endings, m):
    """Take an action, and play on by rules of thumb: to the end of the deal, or to an ending that is to be solved exactly."""
    step(t, action)
    while t.phase != SCORED and not (endings != NOTHING and is_solvable(t, FEWER[endings, 1])):
        step(t, next_action(t, m))


@jit
def add_up(values, sums, squares, count, favourite):
    """Add what the candidates came to in a world, `values`, to `sums` and `squares`; `favourite` is a place among them."""
    for k in range(count):
        sums[k] += values[k]
        gain = float(values[k] - values[favourite])
        squares[k] += gain * gain


@jit
def best_of(sums, squares, count, favourite):
    """The place of the candidate to take: the best of those that are clearly better than the favourite, if there are any.

    A mean is more than its standard error (by n - 1) just where the squared sum is more than the sum of squares.
    """
    best = favourite
    for k in range(count):
        gain = float(sums[k] - sums[favourite])
        if sums[k] > sums[best] and gain * gain > squares[k]:
            best = k
    return best


@jit
def is_solvable(t, fewer):
    """True if the cards are being played, and few enough are left."""
    if (t.phase != PLAYING and t.phase != NAMING_SUIT) or t.trump == UNSAID or not fits(t):
        return False
    if t.deck_kind == FRENCH:
        most = MOST_LEFT_TO_SOLVE[TWO_SIDES if common_sides(t) > 0 else EVERY_SEAT, t.n_seats]
    else:
        most = MOST_LEFT_TO_SOLVE_DECKTET[t.n_seats]
    return t.deal_size - t.trick_number <= most - fewer


@jit
def kind_to_solve(t, fewer):
    """How a world is solved: each seat for itself where that is affordable, unless two sides are exact."""
    if common_sides(t) == 0:
        return EVERY_SEAT
    most = MOST_LEFT_TO_SOLVE[EVERY_SEAT, t.n_seats] - fewer
    return TWO_SIDES if common_sides(t) == 2 or t.deal_size - t.trick_number > most else EVERY_SEAT
