"""Opponent models: worlds are drawn by how well they explain the others' actions in this deal.

Each world of a pool is replayed from the beginning of the deal (`replays`). A model gives the probability of the others'
actions with the cards that they hold in that world. Worlds are drawn from the pool in proportion to these likelihoods, to the
power of `EXPONENT`. If few worlds have nearly all the weight, the pool grows; if all weights vanish, worlds are drawn
uniformly. In each drawn world every other seat plays on like one of the models, drawn by its likelihood of that seat's actions.

| name | the others |
|---|---|
| `uniform` | no model: worlds are uniform, and the others play like the policy |
| `policy` | they play like the policy |
| `thumb` | they play by the first rules of thumb, `thumb:1` |
| `mixture` | each seat plays like one of the two, weighted by its actions in this match |
| name of a policy | they play like that one |
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from noms_env._jit import jit
from noms_env._threads import ONE_THREAD, RowThreads
from noms_env.belief import new_sampling_workspace
from noms_env.core.actions import NUM_ACTIONS
from noms_env.core.chance import MAX_SEED
from noms_env.core.state import MAX_SEATS
from noms_env.engine.batch_kernels import count_legal
from noms_env.engine.legal import is_legal
from noms_env.engine.row_kernels import kernel_view
from noms_env.engine.step import step
from noms_env.observation.layout import OBSERVATION_SIZE, PADDED_MASK_SIZE
from noms_env.players.protocol import NOBODY
from noms_env.players.registry import FIRST, load_player
from noms_env.players.rule_based.heuristics import new_workspaces
from noms_env.players.rule_based.player import thumb_action
from noms_env.policy.player import PolicyPlayer
from noms_env.search.replays import (
    ARRIVED,
    FAILED,
    begin_replays,
    compare_with_worlds,
    is_like_its_world,
    list_others,
    next_public_action,
    next_row,
    step_replays,
    write_observations,
)
from noms_env.search.worlds import Worlds, copy_rows, deal_worlds, fraction_of, write_draws
from noms_env.variants.table_record import new_tables

UNIFORM, MIXTURE = "uniform", "mixture"
POOL = 1
"""Worlds in a pool per drawn world. 2 take 50 % more time, and gain nothing (docs/search.md)."""
MAX_POOLS = 4  # maximum number of pools, if few worlds have nearly all the weight
MIN_EFFECTIVE_SHARE = 0.2  # effective number of worlds in a pool, per drawn world, below which the pool grows
EXPONENT = 0.25
"""Chosen among 0.25, 0.5 and 1: only with 0.25 does a mixture predict the hidden cards better than uniform worlds in every
game, for every player measured: the policy, `thumb` and `pimc:100` (docs/search.md). No model is exact: 1 is overconfident."""
POOL_STRIDE = 0x9E3779B97F4A7C15 >> 1  # step between the seeds of a task's pools
SLIPS = 0.02  # assumed probability that a policy takes a random legal action instead
THUMB_SLIPS = 0.3  # the same for rules of thumb, which name one action

Model = PolicyPlayer | None  # model of an opponent: a policy, or None for rules of thumb


def load_models(opponents: str, policy: PolicyPlayer) -> list[Model]:
    """Return the models of a name in the table above; `policy` is the searching one.

    ValueError if the name is not in the table, nor a policy for the same games that draws its actions.
    """
    models: dict[str, list[Model]] = {UNIFORM: [], "policy": [policy], "thumb": [None], MIXTURE: [policy, None]}
    if opponents in models:
        return models[opponents]
    try:
        other = load_player(opponents)
    except ValueError as error:
        raise ValueError(f"opponents must be {', '.join(models)}, or a policy: {error}") from None
    if not isinstance(other, PolicyPlayer) or not all(rules in other.rule_sets for rules in policy.rule_sets):
        raise ValueError(f"opponents must be {', '.join(models)}, or a policy for the same games, which {opponents} is not")
    if other.temperature != 1:
        raise ValueError(f"opponents must draw their actions: {opponents.rpartition('@')[0]}, not {opponents}")
    return [other]


@jit
def allow_slips(chance, slips, legal):
    """Return a probability mixed with the uniform distribution over `legal` actions, whose weight is `slips`."""
    return (1 - slips) * chance + slips / legal


@jit
def write_thumb_chances(tables, rows, action, workspaces, chances):
    """Write the probability of an action by rules of thumb in some rows."""
    for i in range(len(rows)):
        chances[i] = thumb_chance(tables[rows[i]], action, workspaces[0])


@jit
def thumb_chance(t, action, m):
    """Return the probability of an action by rules of thumb at one table; `m` is a row of `heuristics.new_workspaces`."""
    return allow_slips(1.0 if thumb_action(t, m) == action else 0.0, THUMB_SLIPS, count_legal(t))


@jit
def advance_replay(t, r, action, models, logs, world, m):
    """Play a replay `r` of world `t` up to the next action of another seat whose probability a policy has to give.

    First take `action`, for which a policy has been asked, unless it is below 0. The probabilities by rules of thumb are added
    to `logs` (`log_likelihoods`) at index `world` at once. `models` holds the index of the model that is a policy, and of the
    rules of thumb, below 0 for none; `m` is a row of `heuristics.new_workspaces`. Returns the action to ask about, `ARRIVED`,
    or `FAILED`.
    """
    while True:
        if action >= 0:
            step(r, action)
        action = next_public_action(t, r)
        if action == ARRIVED:
            return np.int64(ARRIVED if is_like_its_world(t, r) else FAILED)
        if not is_legal(r, action):
            return np.int64(FAILED)
        if r.seat != t.seat and count_legal(r) > 1:
            if models[1] >= 0:
                logs[models[1], r.seat, world] += math.log(thumb_chance(r, action, m))
            if models[0] >= 0:
                return np.int64(action)


@jit
def add_log_chance(r, chance, model, logs, world):
    """Add a policy's probability of the action of the seat to act in a replay to the log-likelihoods."""
    logs[model, r.seat, world] += math.log(allow_slips(np.float64(chance), SLIPS, count_legal(r)))


@jit
def clear_logs(logs, world, number):
    """Write a number for all models and seats of a world."""
    for model in range(len(logs)):
        for seat in range(MAX_SEATS):
            logs[model, seat, world] = number


def log_likelihoods(worlds: np.ndarray, seat: int, models: Sequence[Model], row_threads: RowThreads = ONE_THREAD) -> np.ndarray:
    """Return the log-likelihood of each seat's actions under each model, float64, shape (models, MAX_SEATS, n).

    -inf in a world whose deal cannot be replayed. `worlds` (`kernel_view`) are as `seat` imagines them; it does not count.
    """
    logs = np.zeros((len(models), MAX_SEATS, len(worlds)))
    row_threads.run(
        len(worlds), lambda first, end, _part: add_log_likelihoods(worlds[first:end], seat, models, logs[:, :, first:end])
    )
    return logs


def add_log_likelihoods(worlds: np.ndarray, seat: int, models: Sequence[Model], logs: np.ndarray) -> None:
    """Add `log_likelihoods` to `logs`. Worlds in which the seat to act has the same hand are seen by the models once."""
    n = len(worlds)
    replays, valid, rows, hands = kernel_view(new_tables(n)), np.ones(n, np.bool_), np.empty(n, np.int64), np.empty(n, np.int64)
    observation, mask = np.empty((n, OBSERVATION_SIZE // 8), np.int64), np.empty((n, PADDED_MASK_SIZE // 8), np.int64)
    begin_replays(worlds, replays)
    while valid.any():
        actor, action = next_row(worlds, replays, int(valid.argmax()))
        if action == ARRIVED:
            break
        n_asked = list_others(replays, valid, seat, action, rows, hands)
        if n_asked > 0:
            _, firsts, places = np.unique(hands[:n_asked], return_index=True, return_inverse=True)
            distinct = rows[firsts]
            write_observations(replays, distinct, observation, mask)
            observations, masks = observation.view(np.uint8)[: len(distinct)], mask.view(np.int8)[: len(distinct), :NUM_ACTIONS]
            for model, log in zip(models, logs, strict=True):
                if model is None:
                    chances = np.empty(len(distinct))
                    write_thumb_chances(replays, distinct, action, new_workspaces(FIRST), chances)
                else:
                    probabilities = model.probabilities(observations, np.ascontiguousarray(masks), temperature=1)
                    chances = (1 - SLIPS) * probabilities[:, action].astype(np.float64) + SLIPS / masks.sum(axis=1)
                log[actor, rows[:n_asked]] += np.log(chances)[places]
        step_replays(replays, action, valid)
    compare_with_worlds(worlds, replays, valid)
    logs[:, :, ~valid] = -np.inf


def recall_styles(tables: np.ndarray, models: Sequence[Model]) -> np.ndarray:
    """Return the log-likelihoods of all seats in finished deals, float64, shape (models, MAX_SEATS, n), as `log_likelihoods`.

    0 for a deal that cannot be replayed. The tables are as `belief.determinize.copy_shown_tables` and then `kernel_view` make
    them.
    """
    logs = log_likelihoods(tables, NOBODY, models)
    logs[:, :, ~np.isfinite(logs).all(axis=(0, 1))] = 0
    return logs


@jit
def write_weights(logs, first, end, exponent, weights):
    """Write the probabilities of the worlds from `first` up to `end`, equal ones if all vanish. Return their effective number.

    `logs` comes from `log_likelihoods`, `weights` is float64. Each seat plays like one of the models; all are equally likely a
    priori, apart from earlier deals in `logs`.
    """
    max_log = -np.inf
    for world in range(first, end):
        total = 0.0
        for seat in range(MAX_SEATS):
            total += log_of_seat(logs, seat, world)
        weights[world] = total
        max_log = max(max_log, total)
    total_weight = squares = 0.0
    for world in range(first, end):
        weights[world] = math.exp(exponent * (weights[world] - max_log)) if max_log > -np.inf else 1.0
        total_weight += weights[world]
    for world in range(first, end):
        weights[world] /= total_weight
        squares += weights[world] * weights[world]
    return 1 / squares


@jit
def log_of_seat(logs, seat, world):
    """Return the log-likelihood of a seat's actions in a world, under all models together."""
    total = logs[0, seat, world]
    for model in range(1, len(logs)):
        low, high = min(total, logs[model, seat, world]), max(total, logs[model, seat, world])
        total = high + math.log1p(math.exp(low - high)) if high > -np.inf else high
    return total


@jit
def write_styles(logs, picks, seed, seat, styles):
    """Draw the model of each seat in some worlds into `styles`, int64, shape (n, MAX_SEATS), see `Worlds`.

    `picks` are the indices of the worlds in `logs` (`log_likelihoods`), int64, shape (n,); `seed` is their seed. `seat`
    searches, and plays like its policy.
    """
    for world in range(len(picks)):
        for other in range(MAX_SEATS):
            styles[world, other] = 1 + draw_style(logs, other, picks[world], fraction_of(seed, world, other))
        styles[world, seat] = 0


@jit
def draw_style(logs, seat, world, fraction):
    """Return the index of a seat's model in a world, by a random number from 0 to 1."""
    max_log, total, cumulative, style = -np.inf, 0.0, 0.0, 0
    for model in range(len(logs)):
        max_log = max(max_log, logs[model, seat, world])
    if max_log == -np.inf:
        return np.int64(fraction * len(logs))
    for model in range(len(logs)):
        total += math.exp(logs[model, seat, world] - max_log)
    for model in range(len(logs) - 1):
        cumulative += math.exp(logs[model, seat, world] - max_log)
        style += cumulative / total <= fraction
    return np.int64(style)


@jit
def seed_of_pool(seed, pool):
    """Return the seed of a pool of a task, by its number."""
    return (int(seed) + (1 + int(pool)) * POOL_STRIDE) & MAX_SEED


@jit
def pick_worlds(weights, start, picks):
    """Write ascending indices of worlds, in proportion to weights, which become cumulative; `start` is random, 0 to 1."""
    accumulate(weights, 0, len(weights))
    for k in range(len(picks)):
        picks[k] = pick_world(weights, 0, len(weights), (start + k) / len(picks))


@jit
def accumulate(weights, first, end):
    """Replace weights by their cumulative sums."""
    for world in range(first + 1, end):
        weights[world] += weights[world - 1]


@jit
def pick_world(sums, first, end, place):
    """Return the world at a number from 0 to 1; `sums` are the cumulative weights."""
    low, high = first, end - 1
    while low < high:
        middle = (low + high) // 2
        if sums[middle] <= place:
            low = middle + 1
        else:
            high = middle
    return np.int64(low)


def draw_worlds(
    tables: np.ndarray,
    row: int,
    seed: int,
    models: Sequence[Model],
    count: int,
    row_threads: RowThreads = ONE_THREAD,
    memory: np.ndarray | float = 0.0,
) -> Worlds:
    """Draw `count` worlds of a row in which a seat is to act, in no order, by models of the others.

    Without models they are uniform, and all seats play like the policy. The worlds do not depend on the threads. `tables` are
    as `kernel_view` makes them, and `memory`, shape (models, MAX_SEATS), is the sum of `recall_styles` of earlier deals.
    """
    sampling, draws, styles = new_sampling_workspace(), np.empty(count, np.int64), np.zeros((count, MAX_SEATS), np.int64)
    worlds = Worlds(kernel_view(new_tables(count)), draws, styles)
    write_draws(seed, draws)
    if not models:
        deal_worlds(tables, row, seed, worlds.tables, np.arange(count), sampling)
        return worlds
    seat, numbers, pools, log_parts = int(tables[row]["seat"]), np.arange(POOL * count), list[np.ndarray](), list[np.ndarray]()
    earlier = np.asarray(memory)[..., np.newaxis]
    while len(pools) < MAX_POOLS:
        pools.append(kernel_view(new_tables(len(numbers))))
        deal_worlds(tables, row, seed_of_pool(seed, len(log_parts)), pools[-1], numbers, sampling)
        log_parts.append(log_likelihoods(pools[-1], seat, models, row_threads) + earlier)
        logs = np.concatenate(log_parts, axis=2)
        weights = np.empty(logs.shape[2])
        if write_weights(logs, 0, len(weights), EXPONENT, weights) >= MIN_EFFECTIVE_SHARE * count:
            break
    picks = np.empty(count, np.int64)
    pick_worlds(weights, int(draws[0]) / 2.0**61, picks)
    picks = picks[np.argsort(draws)]
    for number, pool in enumerate(pools):
        places = np.flatnonzero(picks // len(numbers) == number)
        copy_rows(pool, picks[places] % len(numbers), worlds.tables, places)
    write_styles(logs, picks, seed, seat, styles)
    return worlds
