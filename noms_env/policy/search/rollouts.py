"""Worlds, and deals played out in them by a policy: the compiled part of the search.

A *task* is one row and a number of worlds. The tables of all tasks that are worked on together lie behind one another: for each
task, for each of its worlds, one for each of its candidates. All of them go on side by side, decision by decision, so that the
network sees many rows at once. The candidates of a world meet the same cards, and the same random numbers at the same decision.
"""

from __future__ import annotations

import time as clock
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from noms_env._jit import jit, lowest
from noms_env.core.actions import INDICATE, NOMINATE, NOMINATING, NUM_ACTIONS, PLAYING, SCORED
from noms_env.core.cards import bit, has
from noms_env.engine.batch_kernels import count_legal, nth_legal
from noms_env.engine.row_kernels import kernel_view
from noms_env.engine.step import step
from noms_env.observation.layout import OBSERVATION_SIZE, PADDED_MASK_SIZE
from noms_env.observation.writer import write_mask, write_observation
from noms_env.players.search.candidates import cards_to_nominate, cards_to_play, is_like
from noms_env.players.search.position import value_to
from noms_env.policy.player import PolicyPlayer
from noms_env.policy.search.beliefs import Model, draw_worlds
from noms_env.policy.search.worlds import copy_rows
from noms_env.variants.table_record import new_tables

LEAST_NOMINATED = 0.005
"""Cards that the policy nominates with a smaller probability are tried only where `pimc` would try them."""
STRIDE = 0x9E3779B97F4A7C
"""Between the numbers that two decisions of a rollout are drawn with: 56 bits, so that a deal of them is below 2**62."""


class Task(NamedTuple):
    """Worlds in which the actions of a row are to be tried."""

    row: int
    seed: int
    """0 to 2**63 - 1: what all that is random in it follows from."""
    worlds: int
    actions: np.ndarray
    """int64, shape (candidates,)."""

    @property
    def rollouts(self) -> int:
        """Deals that are played out for it."""
        return self.worlds * len(self.actions)


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
    tables: np.ndarray, tasks: Sequence[Task], policy: PolicyPlayer, models: Sequence[Model], deadline: float
) -> list[np.ndarray] | None:
    """Play the deals of some tasks to their ends.

    Args:
        tables: as `kernel_view` makes them: what the seats to act know of them counts, and nothing else.
        tasks: at least one.
        policy: has all seats, as it was trained.
        models: of the others, by what they have done; see `beliefs`.
        deadline: by `time.perf_counter`.

    Returns:
        For each task what the deals came to for the seat to act, int64, shape (worlds, candidates), in `position.units`;
        None if the deadline came first.
    """
    n_worlds = sum(task.worlds for task in tasks)
    n = sum(task.rollouts for task in tasks)
    worlds, rollouts = kernel_view(new_tables(n_worlds)), kernel_view(new_tables(n))
    draws, world_of = np.empty(n_worlds, np.int64), np.empty(n, np.int64)
    seats, first_actions = np.empty(n, np.int64), np.empty(n, np.int64)
    world = start = 0
    for task in tasks:
        numbers, places = np.arange(world, world + task.worlds), np.s_[start : start + task.rollouts]
        draw_worlds(tables, task.row, task.seed, models, worlds[world : numbers[-1] + 1], draws[world : numbers[-1] + 1])
        world_of[places] = np.repeat(numbers, len(task.actions))
        seats[places] = int(tables[task.row]["seat"])
        first_actions[places] = np.tile(task.actions, task.worlds)
        world, start = world + task.worlds, start + task.rollouts
        if clock.perf_counter() > deadline:
            return None
    copy_rows(worlds, world_of, rollouts, np.arange(n))
    values = run(rollouts, seats, first_actions, draws[world_of], policy, deadline)
    if values is None:
        return None
    ends = np.cumsum([task.rollouts for task in tasks])[:-1]
    return [part.reshape(task.worlds, -1) for task, part in zip(tasks, np.split(values, ends), strict=True)]


def run(
    rollouts: np.ndarray, seats: np.ndarray, actions: np.ndarray, draws: np.ndarray, policy: PolicyPlayer, deadline: float
) -> np.ndarray | None:
    """Take an action in each table, and play on to the end; the values to some seats, int64, shape (n,), or None."""
    n = len(rollouts)
    active, values, seeds = np.arange(n), np.zeros(n, np.int64), np.empty(n, np.int64)
    observation = np.empty((n, OBSERVATION_SIZE // 8), np.int64)
    mask = np.empty((n, PADDED_MASK_SIZE // 8), np.int64)
    left, moment = n, 0
    while True:
        left = advance(rollouts, active, left, actions, seats, values, observation, mask, draws, moment, seeds)
        if left == 0:
            return values
        if clock.perf_counter() > deadline:
            return None
        legal = np.ascontiguousarray(mask[:left].view(np.int8)[:, :NUM_ACTIONS])
        actions = policy.drawn(observation[:left].view(np.uint8), legal, seeds[:left], 1.0)
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
def advance(rollouts, active, n, actions, seats, values, observation, mask, draws, moment, seeds):
    """Take an action in the first n active tables, and what has no alternative after it; note the deals that are over.

    What the seats to act of the others see is written into the first rows of `observation` and `mask`, and the number of their
    draw into `seeds`; they stay active. Returns their number.
    """
    left = 0
    for i in range(n):
        at = active[i]
        t = rollouts[at]
        step(t, actions[i])
        while t.phase != SCORED and has_no_choice(t):
            step(t, nth_legal(t, 0))
        if t.phase == SCORED:
            values[at] = value_to(t, seats[at])
            continue
        active[left] = at
        seeds[left] = draws[at] + moment * STRIDE
        write_observation(t, t.seat, observation[left])
        write_mask(t, t.seat, mask[left])
        left += 1
    return left


@jit
def has_no_choice(t):
    """True if one action is legal, or only cards of which each is like the others."""
    if count_legal(t) == 1:
        return True
    if t.phase != PLAYING or t.legal_words != 0:
        return False
    cards = cards_to_play(t)
    return (cards & (cards - 1)) == 0
