"""Worlds, and deals played out in them by a policy: the compiled part of the search.

A *task* is a number of worlds of one row. The tables of all tasks that are worked on together lie behind one another: for each
task, for each of its worlds, one for each of its candidates. All of them go on side by side, decision by decision, so that the
network sees many rows at once. The candidates of a world meet the same cards, and the same random numbers at the same decision.
Once few enough cards are left, the rest is solved with all cards open, as by the player `pimc`.
"""

from __future__ import annotations

import time as clock
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from noms_env._jit import jit, jit_inline, lowest
from noms_env._threads import RowThreads
from noms_env.core.actions import INDICATE, NOMINATE, NOMINATING, NUM_ACTIONS, PLAYING, SCORED
from noms_env.core.cards import bit, has
from noms_env.engine.batch_kernels import count_legal, nth_legal
from noms_env.engine.row_kernels import kernel_view
from noms_env.engine.step import step
from noms_env.observation.layout import OBSERVATION_SIZE, PADDED_MASK_SIZE
from noms_env.observation.writer import write_mask, write_observation
from noms_env.players.registry import FIRST
from noms_env.players.rule_based.heuristics import new_workspaces
from noms_env.players.rule_based.player import thumb_action
from noms_env.policy.player import PolicyPlayer
from noms_env.search.candidates import cards_to_nominate, cards_to_play, is_like
from noms_env.search.endgame.moves import new_frames
from noms_env.search.endgame.position import new_positions, value_to
from noms_env.search.endgame.solver import position_value
from noms_env.search.pimc import is_solvable, kind_to_solve
from noms_env.search.worlds import Worlds, copy_rows
from noms_env.variants.table_record import new_tables

LEAST_NOMINATED = 0.005
"""Cards that the policy nominates with a smaller probability are tried only where `pimc` would try them."""
FEWER_SOLVED = 3
"""So many tricks fewer than `pimc` solves at the root are solved behind a rollout: more take longer than the policy does."""
ENDING_COUNTS, ENDING_WORDS, ENDING_FRAMES = 56, 1024, 17
"""Room that these take (`position.position_type`, `moves.FRAME`): six tricks of two seats, or five of three, are the most."""
STRIDE = 0x9E3779B97F4A7C
"""Between the numbers that two decisions of a rollout are drawn with: 56 bits, so that a deal of them is below 2**62."""


class Task(NamedTuple):
    """Worlds of a row in which its actions are to be tried."""

    worlds: Worlds
    actions: np.ndarray
    """int64, shape (candidates,)."""

    @property
    def rollouts(self) -> int:
        """Deals that are played out for it."""
        return len(self.worlds.draws) * len(self.actions)


def candidates_of(tables: np.ndarray, row: int, chances: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What is to be tried in a row: one action for all that come to the same.

    Args:
        tables: as `kernel_view` makes them.
        row: where somebody is to act.
        chances: of all actions by the policy, float32, shape (NUM_ACTIONS,).

    Returns:
        Three arrays of shape (candidates,): the actions, int64; the probabilities of all that are like them, float64; and the
        most probable of these, int64.
    """
    actions, members, shares = np.empty(NUM_ACTIONS, np.int64), np.empty(NUM_ACTIONS, np.int64), np.empty(NUM_ACTIONS)
    count = write_groups(tables, row, chances, actions, shares, members)
    return actions[:count], shares[:count], members[:count]


def play_out(
    tasks: Sequence[Task], policies: Sequence[PolicyPlayer | None], deadline: float, row_threads: RowThreads
) -> list[np.ndarray] | None:
    """Play the deals of some tasks to their ends.

    Args:
        tasks: at least one.
        policies: the own one, which plays as it was trained, and those of the models; None for rules of thumb.
        deadline: by `time.perf_counter`.
        row_threads: that share the work; what is found does not depend on them.

    Returns:
        For each task what the deals came to for the seat to act, int64, shape (worlds, candidates), in `position.units`;
        None if the deadline came first.
    """
    tables, draws, styles = (np.concatenate(arrays) for arrays in zip(*(task.worlds for task in tasks), strict=True))
    styles = np.array([policies.index(policy) for policy in policies])[styles]  # so that the same policy is asked once
    candidates = np.concatenate([np.full(len(task.worlds.draws), len(task.actions)) for task in tasks])
    world_of = np.repeat(np.arange(len(draws)), candidates)
    actions = np.concatenate([np.tile(task.actions, len(task.worlds.draws)) for task in tasks])
    values = np.empty(len(actions), np.int64)

    def play(first: int, end: int, _part: int) -> None:
        here = world_of[first:end]
        rollouts = kernel_view(new_tables(len(here)))
        copy_rows(tables, here, rollouts, np.arange(len(here)))
        run(rollouts, actions[first:end], draws[here], styles[here], policies, deadline, values[first:end])

    row_threads.run(len(actions), play)
    if clock.perf_counter() > deadline:
        return None
    ends = np.cumsum([task.rollouts for task in tasks])[:-1]
    return [part.reshape(-1, len(task.actions)) for task, part in zip(tasks, np.split(values, ends), strict=True)]


def run(
    rollouts: np.ndarray,
    actions: np.ndarray,
    draws: np.ndarray,
    styles: np.ndarray,
    policies: Sequence[PolicyPlayer | None],
    deadline: float,
    values: np.ndarray,
) -> None:
    """Take an action in each of n tables, and play on to the end, or until the deadline.

    Args:
        rollouts: n tables.
        actions: int64, shape (n,).
        draws: int64, shape (n,): what is drawn follows from them.
        styles: int64, shape (n, MAX_SEATS): number of the policy of each seat.
        policies: None for rules of thumb.
        deadline: by `time.perf_counter`.
        values: int64, shape (n,): is written, to the seats that take the actions.
    """
    n = len(actions)
    by_thumb, seats = np.array([policy is None for policy in policies]), rollouts.view(np.recarray).seat[:n].copy()
    work = (new_positions(), new_frames(), new_workspaces(FIRST))
    active, seeds, asked = np.arange(n), np.empty(n, np.int64), np.empty(n, np.int64)
    observation = np.empty((n, OBSERVATION_SIZE // 8), np.int64)
    mask = np.empty((n, PADDED_MASK_SIZE // 8), np.int64)
    left, moment = n, 0
    while clock.perf_counter() <= deadline:
        seen = (observation, mask, seeds, asked)
        left = advance(rollouts, active, left, actions, seats, values, seen, draws, moment, styles, by_thumb, work)
        if left == 0:
            return
        legal = np.ascontiguousarray(mask[:left].view(np.int8)[:, :NUM_ACTIONS])
        actions = np.empty(left, np.int64)
        for number, policy in enumerate(policies):
            rows = np.flatnonzero(asked[:left] == number)
            if policy is not None and len(rows) == left:
                actions = policy.drawn(observation[:left].view(np.uint8), legal, seeds[:left], 1.0)
            elif policy is not None and len(rows) > 0:
                actions[rows] = policy.drawn(observation[rows].view(np.uint8), legal[rows], seeds[rows], 1.0)
        moment += 1


@jit
def write_groups(tables, row, chances, actions, shares, members):
    """See `candidates_of`; returns the number of candidates."""
    t = tables[row]
    count = 0
    if t.phase == PLAYING:
        present = t.cards & ~t.cards_played
        if t.n_table > 0:
            present |= bit(t.best_card)
        left, before = t.legal_cards, np.int64(-1)
        while left != 0:
            card = lowest(left)
            left &= left - 1
            if before < 0 or not is_like(t, present, before, card):
                count = add_candidate(card, chances, actions, shares, members, count)
            else:
                shares[count - 1] += chances[card]
                if chances[card] > chances[members[count - 1]]:
                    members[count - 1] = card
            before = card
    words = t.legal_words
    while words != 0:
        count = add_candidate(INDICATE + lowest(words), chances, actions, shares, members, count)
        words &= words - 1
    if t.phase == NOMINATING:
        usual, left = cards_to_nominate(t), t.legal_cards
        while left != 0:
            card = lowest(left)
            left &= left - 1
            if has(usual, card) or chances[NOMINATE + card] >= LEAST_NOMINATED:
                count = add_candidate(NOMINATE + card, chances, actions, shares, members, count)
    return count


@jit
def add_candidate(action, chances, actions, shares, members, count):
    """Append an action; the new count."""
    actions[count] = action
    members[count] = action
    shares[count] = chances[action]
    return count + 1


@jit
def advance(rollouts, active, n, actions, seats, values, seen, draws, moment, styles, by_thumb, work):
    """Take an action in the first n active tables, and all after it that no policy is asked for; note the deals that are over.

    What the seats to act of the others see is written into the first rows of `seen` (observations, masks), with the number of
    their draw and of their policy; they stay active. Returns their number.
    """
    observation, mask, seeds, asked = seen
    positions, frames, workspaces = work
    left = 0
    for i in range(n):
        at = active[i]
        t = rollouts[at]
        if play_on(t, actions[i], styles[at], by_thumb, workspaces[0]):
            active[left] = at
            seeds[left] = seed_of_draw(draws[at], moment)
            asked[left] = styles[at, t.seat]
            write_observation(t, t.seat, observation[left])
            write_mask(t, t.seat, mask[left])
            left += 1
        else:
            values[at] = end_value(t, seats[at], positions[0], frames)
    return left


@jit_inline
def play_on(t, action, styles, by_thumb, m):
    """Take an action, and all after it that no policy is asked for; False once the deal is over, or is to be solved.

    `styles` and `by_thumb` say for each seat who plays it; `m` is a row of `heuristics.new_workspaces`.
    """
    while True:
        step(t, action)
        if t.phase == SCORED or is_solvable(t, FEWER_SOLVED):
            return False
        if has_no_choice(t):
            action = nth_legal(t, 0)
        elif by_thumb[styles[t.seat]]:
            action = thumb_action(t, m)
        else:
            return True


@jit_inline
def end_value(t, seat, w, frames):
    """What a deal that is over, or is to be solved, comes to for a seat; the points of the table are overwritten.

    `w` is a row of `position.new_positions`, and `frames` are `moves.new_frames`.
    """
    return value_to(t, seat) if t.phase == SCORED else position_value(w, frames, t, kind_to_solve(t, 0), seat)


@jit
def seed_of_draw(draw, moment):
    """The seed of a decision of a rollout, by the number of its world and how many decisions of the policy came before."""
    return draw + moment * STRIDE


@jit
def has_no_choice(t):
    """True if one action is legal, or only cards of which each is like the others."""
    if count_legal(t) == 1:
        return True
    if t.phase != PLAYING or t.legal_words != 0:
        return False
    cards = cards_to_play(t)
    return (cards & (cards - 1)) == 0
