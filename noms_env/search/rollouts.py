"""Rollouts: after an action, rules of thumb or policies play the deal to its end, or to an ending that is solved exactly.

*By rules of thumb* (`play_out`), which see only what the seat to act may see. `thumb:1` makes calls and announcements, and
plays the cards of most games. In variants with the trait `simple_rollout` simpler rules play the cards, ten times as fast and
about as well: a search gains more from more worlds.

1. A seat that wants tricks leads a card that no unseen card beats, else its lowest. It wins with its lowest card in the last
   place, or by a ruff, and else with its highest. If it cannot win it plays its lowest, a trump last of all.
2. A seat that does not want tricks leads its lowest card, and plays the highest one that loses. If all its cards win, it plays
   the highest in the last place, and else the lowest.
3. A seat wants tricks until it has as many as it called, and again if it has more. It always wants them if more do no harm, and
   without calls if the most win.

*By policies* (`play_tasks`). A *task* is a number of worlds of one row. The tables of all tasks are stored one after another:
for each task, for each of its worlds, one per candidate. They advance together, decision by decision, so that the network gets
large batches. The candidates of a world share its cards, and the random numbers of equal decisions.
"""

from __future__ import annotations

import time as clock
from collections.abc import Sequence

import numpy as np

from noms_env._jit import highest, jit, jit_inline, lowest
from noms_env._threads import RowThreads
from noms_env.core.actions import CALL_ZERO, NUM_ACTIONS, PLAYING, SCORED
from noms_env.core.cards import FRENCH, SUIT_CARDS, above, bit, suit_of
from noms_env.core.tricks import beaters
from noms_env.engine.row_kernels import kernel_view
from noms_env.engine.step import step
from noms_env.observation.layout import OBSERVATION_SIZE, PADDED_MASK_SIZE
from noms_env.observation.writer import write_mask, write_observation
from noms_env.players.registry import FIRST
from noms_env.players.rule_based.heuristics import by_rank, new_workspaces
from noms_env.players.rule_based.player import thumb_action
from noms_env.policy.player import PolicyPlayer
from noms_env.search.candidates import forced_action
from noms_env.search.endgame.moves import new_frames
from noms_env.search.endgame.position import new_positions, value_to
from noms_env.search.endgame.solver import NEVER, choose_kind, is_solvable, position_value
from noms_env.search.worlds import Worlds, copy_rows
from noms_env.variants.families import PLAIN
from noms_env.variants.families.exact_bid import AT_LEAST
from noms_env.variants.families.plain import LEAST
from noms_env.variants.table_record import new_tables

ROLLOUT_MARGIN = 3  # margin of `solver.is_solvable` after a policy's rollout; a smaller one would take longer
ENDING_COUNTS, ENDING_WORDS, ENDING_FRAMES = 56, 1024, 17
"""Memory for these endings (`position.position_type`, `moves.FRAME`): six tricks of two seats, or five of three, need most."""
STRIDE = 0x9E3779B97F4A7C
"""Step between the random numbers of two decisions of a rollout: 56 bits, so that those of a deal are below 2**62."""


@jit_inline
def is_over(t, margin):
    """Return whether a rollout is over: the deal is, or few enough cards are left to solve it (see `solver.is_solvable`)."""
    return t.phase == SCORED or (margin != NEVER and is_solvable(t, margin))


@jit_inline
def end_value(t, seat, margin, w, frames):
    """Return the value of the end of a rollout (`is_over`) to a seat, in `position.units`; overwrites the points of the table.

    `margin` is the argument of `solver.choose_kind`; `w` is a row of `position.new_positions`, and `frames` comes from
    `moves.new_frames`.
    """
    return value_to(t, seat) if t.phase == SCORED else position_value(w, frames, t, choose_kind(t, margin), seat)


@jit
def play_out(t, action, margin, m):
    """Take an action, and play by rules of thumb until the rollout `is_over`; `m` is a row of `heuristics.new_workspaces`."""
    step(t, action)
    while not is_over(t, margin):
        step(t, quick_action(t, m))


@jit_inline
def play_on(t, action, styles, by_thumb, m):
    """Take an action, and the actions after it that need no policy. Return False once the rollout `is_over`.

    `styles` holds the index of each seat's player, `by_thumb` which players are rules of thumb; `m` is a row of
    `heuristics.new_workspaces`.
    """
    while True:
        step(t, action)
        if is_over(t, ROLLOUT_MARGIN):
            return False
        action = forced_action(t)
        if action < 0:
            if not by_thumb[styles[t.seat]]:
                return True
            action = thumb_action(t, m)


@jit
def quick_action(t, m):
    """Return the action of the seat to act by rules of thumb."""
    if t.phase != PLAYING or t.simple_rollout == 0:
        return thumb_action(t, m)
    return card_to_lead(t) if t.n_table == 0 else card_to_follow(t)


@jit
def wants_trick(t):
    """3. Return whether the seat to act wants tricks."""
    if t.family == PLAIN:
        return t.objective != LEAST
    return t.bonus == AT_LEAST or t.tricks[t.seat] != t.call[t.seat] - CALL_ZERO


@jit
def card_to_lead(t):
    """1, 2. Return a lead."""
    if wants_trick(t):
        unseen = t.cards & ~t.cards_played & ~t.hands[t.seat]
        remaining = t.legal_cards
        while remaining != 0:
            card = highest(remaining)
            remaining &= ~bit(card)
            if above(unseen & SUIT_CARDS[FRENCH, suit_of(card)], card) == 0:
                return card
    return by_rank(t.legal_cards, -1)


@jit
def card_to_follow(t):
    """1, 2. Return a card to a trick."""
    cards = t.legal_cards
    if (cards & (cards - 1)) == 0:
        return lowest(cards)
    winners = cards & beaters(t.best_card, t.led_cards, t.trump_cards)
    is_last = t.n_table == t.n_seats - 1
    if not wants_trick(t):
        if winners != cards:
            return by_rank(cards & ~winners, 1)
        return by_rank(winners, 1 if is_last else -1)
    plain = cards & ~t.trump_cards
    if winners == 0:
        return by_rank(plain if plain != 0 else cards, -1)
    plain &= winners
    if plain == 0 or is_last:
        return by_rank(plain if plain != 0 else winners, -1)
    return by_rank(plain, 1)


def play_tasks(
    tasks: Sequence[tuple[Worlds, np.ndarray]],
    policies: Sequence[PolicyPlayer | None],
    deadline: float,
    row_threads: RowThreads,
) -> list[np.ndarray] | None:
    """Play the deals of some tasks, at least one, to their ends; the values do not depend on the threads.

    A task has worlds of a row, and the actions to try in them, int64, shape (A,). `policies` are the searching policy, which
    plays at temperature 1, and the models; None for rules of thumb. Returns for each task the values to the seat to act, int64,
    shape (worlds, A), in `position.units`; None if the deadline, by `time.perf_counter`, came first.
    """
    tables, draws, styles = (np.concatenate(arrays) for arrays in zip(*(worlds for worlds, _ in tasks), strict=True))
    styles = np.array([policies.index(policy) for policy in policies])[styles]  # so that equal policies are asked once
    shapes = [(len(worlds.draws), len(actions)) for worlds, actions in tasks]
    world_of = np.repeat(np.arange(len(draws)), np.concatenate([np.full(*shape) for shape in shapes]))
    actions = np.concatenate([np.tile(actions, len(worlds.draws)) for worlds, actions in tasks])
    values = np.empty(len(actions), np.int64)

    def play(first: int, end: int, _part: int) -> None:
        world_ids = world_of[first:end]
        rollouts = kernel_view(new_tables(len(world_ids)))
        copy_rows(tables, world_ids, rollouts, np.arange(len(world_ids)))
        run_rollouts(rollouts, actions[first:end], draws[world_ids], styles[world_ids], policies, deadline, values[first:end])

    row_threads.run(len(actions), play)
    if clock.perf_counter() > deadline:
        return None
    parts = np.split(values, np.cumsum([worlds * n_actions for worlds, n_actions in shapes])[:-1])
    return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]


def run_rollouts(
    rollouts: np.ndarray,
    actions: np.ndarray,
    draws: np.ndarray,
    styles: np.ndarray,
    policies: Sequence[PolicyPlayer | None],
    deadline: float,
    values: np.ndarray,
) -> None:
    """Take an action in each of n tables, and play on until the rollouts are ended, or until the deadline (`play_tasks`).

    `draws` are the source of each rollout's random numbers; `styles`, int64, shape (n, MAX_SEATS), the index of each seat's
    policy. The values to the seats that take the actions are written into `values`. All others are int64, shape (n,).
    """
    n = len(actions)
    by_thumb, seats = np.array([policy is None for policy in policies]), rollouts.view(np.recarray).seat[:n].copy()
    work = (new_positions(), new_frames(), new_workspaces(FIRST))
    active, seeds, policy_numbers = np.arange(n), np.empty(n, np.int64), np.empty(n, np.int64)
    observation = np.empty((n, OBSERVATION_SIZE // 8), np.int64)
    mask = np.empty((n, PADDED_MASK_SIZE // 8), np.int64)
    n_active, decision = n, 0
    while clock.perf_counter() <= deadline:
        outputs = (observation, mask, seeds, policy_numbers)
        n_active = advance(rollouts, active, n_active, actions, seats, values, outputs, draws, decision, styles, by_thumb, work)
        if n_active == 0:
            return
        legal = np.ascontiguousarray(mask[:n_active].view(np.int8)[:, :NUM_ACTIONS])
        actions = np.empty(n_active, np.int64)
        for number, policy in enumerate(policies):
            rows = np.flatnonzero(policy_numbers[:n_active] == number)
            if policy is not None and len(rows) == n_active:
                actions = policy.drawn(observation[:n_active].view(np.uint8), legal, seeds[:n_active], 1.0)
            elif policy is not None and len(rows) > 0:
                actions[rows] = policy.drawn(observation[rows].view(np.uint8), legal[rows], seeds[rows], 1.0)
        decision += 1


@jit
def advance(rollouts, active, n, actions, seats, values, outputs, draws, decision, styles, by_thumb, work):
    """Take an action in the first n active tables, and play them on; write the values of those that end.

    The others stay active. For each of them, the observation, the mask, the seed of the decision and the index of the policy
    are written into the first rows of `outputs`. Returns their number.
    """
    observation, mask, seeds, policy_numbers = outputs
    positions, frames, workspaces = work
    n_active = 0
    for i in range(n):
        row = active[i]
        t = rollouts[row]
        if play_on(t, actions[i], styles[row], by_thumb, workspaces[0]):
            active[n_active] = row
            seeds[n_active] = seed_of_draw(draws[row], decision)
            policy_numbers[n_active] = styles[row, t.seat]
            write_observation(t, t.seat, observation[n_active])
            write_mask(t, t.seat, mask[n_active])
            n_active += 1
        else:
            values[row] = end_value(t, seats[row], 0, positions[0], frames)
    return n_active


@jit
def seed_of_draw(draw, decision):
    """Return the seed of a decision of a rollout, by the random number of its world and the number of decisions before."""
    return draw + decision * STRIDE
