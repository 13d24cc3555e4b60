"""Worlds drawn by how well they explain what the other seats did in this deal.

Each world of a pool is played again from the beginning of the deal (`replays`), and a model of the others says how probable it
finds what they did with the cards that they have there. Worlds are drawn from the pool in proportion to these likelihoods, to
the power of `EXPONENT`. Where few worlds have nearly all the weight, the pool is made larger; where all weights vanish, worlds
are drawn uniformly. The others go on as they are taken to have played so far: in each world that is drawn each of them is like
one of the models, drawn by how probable that model finds what the seat did there.

| model | of the others |
|---|---|
| `policy` | they play like the policy |
| `thumb` | they play by rules of thumb |
| `mixture` | each seat plays like one of the two, which one the seat's own actions tell |
| name of a policy | they play like that one |
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from noms_env._jit import jit
from noms_env.belief import new_sampling_workspace
from noms_env.core.actions import NUM_ACTIONS
from noms_env.core.chance import MAX_SEED
from noms_env.core.state import MAX_SEATS
from noms_env.engine.row_kernels import kernel_view
from noms_env.observation.layout import OBSERVATION_SIZE, PADDED_MASK_SIZE
from noms_env.players.rule_based.heuristics import new_workspaces
from noms_env.players.rule_based.player import thumb_action
from noms_env.policy.player import PolicyPlayer
from noms_env.policy.search.replays import ARRIVED, ask_others, begin_replays, compare_with_worlds, next_row, step_replays
from noms_env.policy.search.worlds import copy_rows, deal_worlds, draw_fractions
from noms_env.variants.table_record import new_tables

POOL = 2
"""Worlds that are weighed for each one that is drawn."""
MOST_POOLS = 4
"""So many times as many where few of them have nearly all the weight."""
LEAST_EFFECTIVE = 0.5
"""Effective number of worlds in a pool, for each one that is drawn, below which the pool is made larger."""
EXPONENT = 0.25
"""Of 0.25, 0.5 and 1 the one with which a mixture tells better than uniform worlds who holds which card in every game, whoever
plays: the policy, `thumb` or `pimc:100` (docs/search.md). A model is never quite right, so 1 is far too sure."""
FURTHER = 0x9E3779B97F4A7C15 >> 1
"""Between the seeds of a task's pools."""
SLIPS = 0.02
"""How often a policy is thought to do anything legal instead."""
THUMB_SLIPS = 0.3
"""The same for rules of thumb, which name one action."""

Chances = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray, int], np.ndarray]
"""Given replays, the rows to ask, what their seats to act see and may do, and an action: its probabilities, float64, (n,)."""


class Model(NamedTuple):
    """How others may play.

    Attributes:
        chances: how probable it finds what they did.
        policy: that plays like it; None where rules of thumb do.
    """

    chances: Chances
    policy: PolicyPlayer | None


def policy_model(policy: PolicyPlayer) -> Model:
    """Others play like a policy."""

    def chances(replays: np.ndarray, rows: np.ndarray, seen: np.ndarray, legal: np.ndarray, action: int) -> np.ndarray:
        found = policy.probabilities(seen, legal, temperature=1)[:, action].astype(np.float64)
        return np.asarray((1 - SLIPS) * found + SLIPS / legal.sum(axis=1))

    return Model(chances, policy)


def thumb_model() -> Model:
    """Others play by rules of thumb."""

    def chances(replays: np.ndarray, rows: np.ndarray, seen: np.ndarray, legal: np.ndarray, action: int) -> np.ndarray:
        agrees = np.empty(len(rows), np.bool_)
        note_thumb(replays, rows, action, new_workspaces(), agrees)
        return np.asarray((1 - THUMB_SLIPS) * agrees + THUMB_SLIPS / legal.sum(axis=1))

    return Model(chances, None)


@jit
def note_thumb(tables, rows, action, workspaces, agrees):
    """Note for some rows whether the player `thumb` would take an action."""
    for i in range(len(rows)):
        agrees[i] = thumb_action(tables[rows[i]], workspaces[0]) == action


def log_likelihoods(worlds: np.ndarray, seat: int, models: Sequence[Model]) -> np.ndarray:
    """Of what each seat did if it is like each model, float64, shape (models, MAX_SEATS, n).

    -inf in a world in which it cannot be played again.

    Args:
        worlds: tables as a seat may imagine them, shape (n,), as `kernel_view` makes them.
        seat: the seat, whose own actions do not count.
        models: of the others.
    """
    n = len(worlds)
    replays, fine, rows = kernel_view(new_tables(n)), np.ones(n, np.bool_), np.empty(n, np.int64)
    observation, mask = np.empty((n, OBSERVATION_SIZE // 8), np.int64), np.empty((n, PADDED_MASK_SIZE // 8), np.int64)
    logs = np.zeros((len(models), MAX_SEATS, n))
    begin_replays(worlds, replays)
    while fine.any():
        actor, action = next_row(worlds, replays, int(fine.argmax()))
        if action == ARRIVED:
            break
        asked = ask_others(replays, fine, seat, action, rows, observation, mask)
        if asked > 0:
            seen, legal = observation[:asked].view(np.uint8), mask[:asked].view(np.int8)[:, :NUM_ACTIONS]
            for model, log in zip(models, logs, strict=True):
                log[actor, rows[:asked]] += np.log(
                    model.chances(replays, rows[:asked], seen, np.ascontiguousarray(legal), action)
                )
        step_replays(replays, action, fine)
    compare_with_worlds(worlds, replays, fine)
    return np.where(fine, logs, -np.inf)


def weights_of(logs: np.ndarray, exponent: float = EXPONENT) -> np.ndarray:
    """Probabilities of worlds, float64, shape (n,), from `log_likelihoods`; equal ones if all vanish.

    Each seat is like one of the models, all equally likely.
    """
    total = np.logaddexp.reduce(logs, axis=0).sum(axis=0)
    if not np.isfinite(total).any():
        return np.full(len(total), 1 / len(total))
    weights = np.exp(exponent * (total - total.max()))
    return np.asarray(weights / weights.sum())


def draw_styles(logs: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """Numbers of the models that seats are like in some worlds, int64, shape (n, MAX_SEATS).

    Args:
        logs: `log_likelihoods` of these worlds.
        drawn: random numbers from 0 to 1, float64, shape (n, MAX_SEATS).
    """
    gone = ~np.isfinite(logs)
    chances = np.exp(np.where(gone, 0, logs - np.where(gone, 0, logs).max(axis=0)))
    below = (np.cumsum(chances, axis=0) / chances.sum(axis=0))[:-1]
    return np.asarray((below.transpose(0, 2, 1) <= drawn).sum(axis=0))


def resampled(weights: np.ndarray, count: int, start: float) -> np.ndarray:
    """Numbers of so many worlds, each about as often as it should come, int64, ascending; `start` is random, from 0 to 1."""
    places = (start + np.arange(count)) / count
    return np.minimum(np.searchsorted(np.cumsum(weights), places, side="right"), len(weights) - 1)


def draw_worlds(
    tables: np.ndarray, row: int, seed: int, models: Sequence[Model], worlds: np.ndarray, draws: np.ndarray, styles: np.ndarray
) -> None:
    """Write worlds of a row, the numbers that they are played out with, as `deal_worlds`, and how the seats play in them.

    `styles` is int64, shape (n, MAX_SEATS): 0 for the own policy, else 1 + the number of the model that a seat is like. Without
    models the worlds are uniform, and all seats play like the policy.
    """
    count, sampling = len(worlds), new_sampling_workspace()
    deal_worlds(tables, row, seed, worlds, np.arange(count), draws, sampling)
    styles[:] = 0
    if not models:
        return
    seat, rows, pools, parts = int(tables[row]["seat"]), np.arange(POOL * count), list[np.ndarray](), list[np.ndarray]()
    weights = np.empty(0)
    while len(pools) < MOST_POOLS:
        pool = kernel_view(new_tables(len(rows)))
        further = (seed + (1 + len(pools)) * FURTHER) & MAX_SEED
        deal_worlds(tables, row, further, pool, rows, np.empty(len(rows), np.int64), sampling)
        pools.append(pool)
        parts.append(log_likelihoods(pool, seat, models))
        weights = weights_of(np.concatenate(parts, axis=2))
        if 1 / (weights**2).sum() >= LEAST_EFFECTIVE * count:
            break
    picks = resampled(weights, count, int(draws[0]) / 2.0**61)
    for number, pool in enumerate(pools):
        places = np.flatnonzero(picks // len(rows) == number)
        copy_rows(pool, picks[places] % len(rows), worlds, places)
    drawn = np.empty((count, MAX_SEATS))
    draw_fractions(seed, drawn)
    styles[:] = 1 + draw_styles(np.concatenate(parts, axis=2)[:, :, picks], drawn)
    styles[:, seat] = 0
