"""Worlds drawn by how well they explain what the other seats did in this deal.

Each world of a pool is played again from the beginning of the deal (`replays`), and a model of the others says how probable it
finds what they did with the cards that they have there. Worlds are drawn from the pool in proportion to these likelihoods, to
the power of `EXPONENT`. Where few worlds have nearly all the weight, the pool is made larger; where all weights vanish, worlds
are drawn uniformly. The others go on as they are taken to have played so far: in each world that is drawn each of them is like
one of the models, drawn by how probable that model finds what the seat did there.

| model | of the others |
|---|---|
| `policy` | they play like the policy |
| `thumb` | they play by the first rules of thumb, `thumb:1` |
| `mixture` | each seat plays like one of the two, which one its actions in this match tell |
| name of a policy | they play like that one |
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from noms_env._jit import jit
from noms_env._threads import ONE_THREAD, RowThreads
from noms_env.belief import new_sampling_workspace
from noms_env.core.actions import NUM_ACTIONS
from noms_env.core.chance import MAX_SEED
from noms_env.core.state import MAX_SEATS
from noms_env.engine.row_kernels import kernel_view
from noms_env.observation.layout import OBSERVATION_SIZE, PADDED_MASK_SIZE
from noms_env.players.protocol import NOBODY
from noms_env.players.registry import FIRST
from noms_env.players.rule_based.heuristics import new_workspaces
from noms_env.players.rule_based.player import thumb_action
from noms_env.policy.player import PolicyPlayer
from noms_env.policy.search.replays import (
    ARRIVED,
    begin_replays,
    compare_with_worlds,
    list_others,
    next_row,
    step_replays,
    write_seen,
)
from noms_env.policy.search.worlds import Worlds, copy_rows, deal_worlds, draw_fractions
from noms_env.variants.table_record import new_tables

POOL = 1
"""Worlds that are weighed for each one that is drawn. 2 take half as much time again, and gain nothing (docs/search.md)."""
MOST_POOLS = 4
"""So many times as many where few of them have nearly all the weight."""
LEAST_EFFECTIVE = 0.2
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
        note_thumb(replays, rows, action, new_workspaces(FIRST), agrees)
        return np.asarray((1 - THUMB_SLIPS) * agrees + THUMB_SLIPS / legal.sum(axis=1))

    return Model(chances, None)


@jit
def note_thumb(tables, rows, action, workspaces, agrees):
    """Note for some rows whether the player `thumb` would take an action."""
    for i in range(len(rows)):
        agrees[i] = thumb_action(tables[rows[i]], workspaces[0]) == action


def log_likelihoods(worlds: np.ndarray, seat: int, models: Sequence[Model], row_threads: RowThreads = ONE_THREAD) -> np.ndarray:
    """Of what each seat did if it is like each model, float64, shape (models, MAX_SEATS, n).

    -inf in a world in which it cannot be played again.

    Args:
        worlds: tables as a seat may imagine them, shape (n,), as `kernel_view` makes them.
        seat: the seat, whose own actions do not count.
        models: of the others.
        row_threads: that share the worlds.
    """
    logs = np.zeros((len(models), MAX_SEATS, len(worlds)))
    row_threads.run(
        len(worlds), lambda first, end, _part: add_log_likelihoods(worlds[first:end], seat, models, logs[:, :, first:end])
    )
    return logs


def add_log_likelihoods(worlds: np.ndarray, seat: int, models: Sequence[Model], logs: np.ndarray) -> None:
    """Add to `logs` what `log_likelihoods` returns.

    All has been public but the hands. So a seat that holds the same in several worlds saw the same, and is asked once.
    """
    n = len(worlds)
    replays, fine, rows, hands = kernel_view(new_tables(n)), np.ones(n, np.bool_), np.empty(n, np.int64), np.empty(n, np.int64)
    observation, mask = np.empty((n, OBSERVATION_SIZE // 8), np.int64), np.empty((n, PADDED_MASK_SIZE // 8), np.int64)
    begin_replays(worlds, replays)
    while fine.any():
        actor, action = next_row(worlds, replays, int(fine.argmax()))
        if action == ARRIVED:
            break
        asked = list_others(replays, fine, seat, action, rows, hands)
        if asked > 0:
            _, firsts, places = np.unique(hands[:asked], return_index=True, return_inverse=True)
            alike = rows[firsts]
            write_seen(replays, alike, observation, mask)
            seen, legal = observation.view(np.uint8)[: len(alike)], mask.view(np.int8)[: len(alike), :NUM_ACTIONS]
            for model, log in zip(models, logs, strict=True):
                found = np.log(model.chances(replays, alike, seen, np.ascontiguousarray(legal), action))
                log[actor, rows[:asked]] += found[places]
        step_replays(replays, action, fine)
    compare_with_worlds(worlds, replays, fine)
    logs[:, :, ~fine] = -np.inf


def styles_shown(tables: np.ndarray, models: Sequence[Model]) -> np.ndarray:
    """What deals that are over tell of the seats, float64, shape (models, MAX_SEATS, n): as `log_likelihoods`, of all seats.

    0 for a deal that cannot be played again.

    Args:
        tables: as `belief.determinize.shown_tables` and then `kernel_view` make them.
        models: of the seats.
    """
    logs = log_likelihoods(tables, NOBODY, models)
    logs[:, :, ~np.isfinite(logs).all(axis=(0, 1))] = 0
    return logs


def weights_of(logs: np.ndarray, exponent: float = EXPONENT) -> np.ndarray:
    """Probabilities of worlds, float64, shape (n,), from `log_likelihoods`; equal ones if all vanish.

    Each seat is like one of the models, all equally likely but for what `logs` contain of earlier deals.
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
    tables: np.ndarray,
    row: int,
    seed: int,
    models: Sequence[Model],
    count: int,
    row_threads: RowThreads = ONE_THREAD,
    shown: np.ndarray | float = 0.0,
) -> Worlds:
    """So many worlds of a row, in any order; without models uniform ones, in which all seats play like the policy.

    Args:
        tables: as `kernel_view` makes them.
        row: where somebody is to act.
        seed: 0 to 2**63 - 1: all that is random follows from it.
        models: of the others.
        count: how many.
        row_threads: that share the work; the worlds do not depend on them.
        shown: sum of `styles_shown` of earlier deals, shape (models, MAX_SEATS).
    """
    sampling = new_sampling_workspace()
    worlds = Worlds(kernel_view(new_tables(count)), np.empty(count, np.int64), np.zeros((count, MAX_SEATS), np.int64))
    deal_worlds(tables, row, seed, worlds.tables, np.arange(count), worlds.draws, sampling)
    if not models:
        return worlds
    seat, rows, pools, parts = int(tables[row]["seat"]), np.arange(POOL * count), list[np.ndarray](), list[np.ndarray]()
    weights, earlier = np.empty(0), np.asarray(shown)[..., np.newaxis]
    while len(pools) < MOST_POOLS:
        pool = kernel_view(new_tables(len(rows)))
        further = (seed + (1 + len(pools)) * FURTHER) & MAX_SEED
        deal_worlds(tables, row, further, pool, rows, np.empty(len(rows), np.int64), sampling)
        pools.append(pool)
        parts.append(log_likelihoods(pool, seat, models, row_threads) + earlier)
        weights = weights_of(np.concatenate(parts, axis=2))
        if 1 / (weights**2).sum() >= LEAST_EFFECTIVE * count:
            break
    picks = resampled(weights, count, int(worlds.draws[0]) / 2.0**61)[np.argsort(worlds.draws)]
    for number, pool in enumerate(pools):
        places = np.flatnonzero(picks // len(rows) == number)
        copy_rows(pool, picks[places] % len(rows), worlds.tables, places)
    drawn = np.empty((count, MAX_SEATS))
    draw_fractions(seed, drawn)
    worlds.styles[:] = 1 + draw_styles(np.concatenate(parts, axis=2)[:, :, picks], drawn)
    worlds.styles[:, seat] = 0
    return worlds
