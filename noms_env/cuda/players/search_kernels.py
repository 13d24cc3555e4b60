"""The kernels of the search on a policy (`search`): each thread calls the CPU functions for rows, worlds or rollouts.

A *task* is a set of worlds of a row that are drawn together. `tasks` is int64, shape (len(TASK), n), with one column per task.
A *turn* is a round of one row of a piece. `turns` is int64, shape (len(TURN), n). A *lane* is the table of a replay or rollout.
The first `count[0]` numbers in `active` are the active lanes. Arrays of working memory have one element per thread; each thread
loops over several worlds or lanes.
"""

from __future__ import annotations

import numpy as np
from numba import cuda

from noms_env._jit import jit
from noms_env.belief.sampling import deal_hidden, plan
from noms_env.core.actions import SCORED
from noms_env.core.chance import MAX_SEED
from noms_env.core.state import MAX_SEATS
from noms_env.cuda.kernels import kernel
from noms_env.engine.batch_kernels import count_legal, nth_legal
from noms_env.players.protocol import NOBODY
from noms_env.search.candidates import write_policy_candidates
from noms_env.search.endgame.position import count_deal_as_last
from noms_env.search.opponent_models import (
    EXPONENT,
    MIN_EFFECTIVE_SHARE,
    accumulate,
    add_log_chance,
    advance_replay,
    clear_logs,
    draw_style,
    pick_world,
    seed_of_pool,
    write_weights,
)
from noms_env.search.replays import FAILED, rewind_deal
from noms_env.search.rollouts import end_value, play_on, seed_of_draw
from noms_env.search.seq_halving import (
    add_values,
    begin_round,
    choose,
    error_of,
    mean_value,
    reset_row,
    turn_into_weights,
    write_logits,
)
from noms_env.search.worlds import draw_of, fraction_of, is_sorted

TASK = ROW, OFFSET, SLOT, FIRST_SLOT, POOLS, FIRST_WORLD, COUNT, TASK_END = range(8)
"""Rows of `tasks`: row of the batch, offset of its seed, first slot of the next pool, first slot, number of pools so far, first
world, number of worlds, and cumulative number of worlds up to this task."""
TURN = PLACE, WORLD, WORLDS, TRIED, TURN_END = range(5)
"""Rows of `turns`: place among the statistics, first world, number of worlds, number of candidates, and cumulative number of
lanes up to this turn."""


@jit
def column_of(ends, k):
    """Return the first column with an end above k."""
    low, high = 0, len(ends) - 1
    while low < high:
        middle = (low + high) // 2
        if ends[middle] <= k:
            low = middle + 1
        else:
            high = middle
    return low


@jit
def task_of(tasks, k):
    """Return the task of the k-th world, and the world's number within the task."""
    j = column_of(tasks[TASK_END], k)
    return j, k - (tasks[TASK_END, j] - tasks[COUNT, j])


@jit
def seed_of_task(tasks, j, seeds):
    """Return the seed of all random choices in a task."""
    return (seeds[tasks[ROW, j]] + tasks[OFFSET, j]) & MAX_SEED


@kernel
def mark_choices(tables, where, some, fits, some_fit, places, numbers, actions):
    """Mark the selected rows that fit the policy and have a choice with 1; write the actions of all other selected rows."""
    row = np.int64(cuda.grid(1))
    if row < len(tables):
        places[row] = 0
        numbers[row] = row
        if not some or where[row]:
            t = tables[row]
            if t.phase == SCORED or (some_fit and not fits[row]):
                actions[row] = NOBODY
            elif count_legal(t) == 1:
                actions[row] = nth_legal(t, 0)
            else:
                places[row] = 1


@kernel
def list_marked(size, places, numbers, listed):
    """Write the marked ones of the first `size` numbers contiguously; `places` is the prefix sum of the marks."""
    i = np.int64(cuda.grid(1))
    if i < size and places[i] > (places[i - 1] if i > 0 else 0):
        listed[places[i] - 1] = numbers[i]


@kernel
def list_candidates(tables, rows, first, count, chances, budget, stats, sizes):
    """Write the candidates of some rows and their number; 0 if the policy acts without a search."""
    i = np.int64(cuda.grid(1))
    if i < count:
        row, f = rows[first + i], stats[i]
        f.count = write_policy_candidates(tables, row, chances[row], f.actions, f.weights, f.members)
        reset_row(stats, i, tables[row].n_seats, budget, False)
        sizes[i] = 0 if f.worlds_left == 0 or is_sorted(tables[row]) else f.count


@kernel
def list_slots(tasks, total, rows, slots):
    """Write the row of the batch and the slot of each world to deal."""
    k = np.int64(cuda.grid(1))
    if k < total:
        j, i = task_of(tasks, k)
        rows[k] = tasks[ROW, j]
        slots[k] = tasks[SLOT, j] + i


@kernel
def plan_pools(pool, tasks, first, end, plans, layouts, ways):
    """Plan the redeals of some tasks, for the information of the seat to act."""
    thread = np.int64(cuda.grid(1))
    if thread < len(layouts):
        for j in range(first + thread, end, len(layouts)):
            t = pool[tasks[SLOT, j]]
            plan(t, t.seat, plans[j - first], layouts[thread], ways[j - first])


@kernel
def deal_pools(pool, tasks, first, begin_world, end_world, seeds, number, plans, layouts, ways):
    """Deal the worlds of some tasks: pool `number`, or uniform worlds if it is below 0."""
    thread = np.int64(cuda.grid(1))
    if thread < len(layouts):
        for k in range(begin_world + thread, end_world, len(layouts)):
            j, i = task_of(tasks, k)
            t, seed = pool[tasks[SLOT, j] + i], seed_of_task(tasks, j, seeds)
            if number >= 0:
                seed = seed_of_pool(seed, number)
            deal_hidden(t, t.seat, seed, i, plans[j - first], layouts[thread], ways[j - first])
            count_deal_as_last(t)


@kernel
def open_replays(total, lanes, sources, logs, active, actions, count, moment):
    """Rewind the worlds in the lanes to the beginning of their deals, and activate all lanes."""
    lane = np.int64(cuda.grid(1))
    if lane < total:
        rewind_deal(lanes[lane])
        clear_logs(logs, sources[lane], 0.0)
        active[lane] = lane
        actions[lane] = NOBODY
        if lane == 0:
            count[0] = total
            moment[0] = 0


@kernel
def advance_replays(
    size, threads, count, active, lanes, sources, pool, logs, by_policy, by_thumb, workspaces, actions, chances, places
):
    """Advance each active replay to the next action whose probability the policy must give; mark lanes with such an action."""
    thread = np.int64(cuda.grid(1))
    if thread < threads:
        m = workspaces[thread % len(workspaces)]
        for i in range(thread, size, threads):
            places[i] = 0
            if i < count[0]:
                lane = active[i]
                world, r = sources[lane], lanes[lane]
                if actions[lane] >= 0:
                    add_log_chance(r, chances[lane], by_policy, logs, world)
                actions[lane] = advance_replay(pool[world], r, actions[lane], (by_policy, by_thumb), logs, world, m)
                if actions[lane] == FAILED:
                    clear_logs(logs, world, -np.inf)
                places[i] = 1 if actions[lane] >= 0 else 0


@kernel
def take_active(size, places, listed, active, count, moment, sources, seeds, draws, is_drawn):
    """Make the listed lanes the active ones, and write their seeds for the policy's next decision."""
    i = np.int64(cuda.grid(1))
    if i < size:
        n_active = places[size - 1]
        active[i] = listed[i] if i < n_active else -1
        if is_drawn and i < n_active:
            seeds[listed[i]] = seed_of_draw(draws[sources[listed[i]]], moment[0])
        if i == 0:
            count[0] = n_active


@kernel
def count_moment(moment):
    """Count a decision."""
    if cuda.grid(1) == 0:
        moment[0] += 1


@kernel
def weigh_pools(tasks, logs, weights, is_enough):
    """Weigh the worlds in the pools of some tasks, and write whether the effective sample size suffices."""
    j = np.int64(cuda.grid(1))
    if j < tasks.shape[1]:
        first = tasks[FIRST_SLOT, j]
        effective = write_weights(logs, first, first + tasks[POOLS, j] * tasks[COUNT, j], EXPONENT, weights)
        is_enough[j] = 1 if effective >= MIN_EFFECTIVE_SHARE * tasks[COUNT, j] else 0


@kernel
def add_weights(tasks, weights):
    """Replace the weights of each task by their cumulative sums."""
    j = np.int64(cuda.grid(1))
    if j < tasks.shape[1]:
        first = tasks[FIRST_SLOT, j]
        accumulate(weights, first, first + tasks[POOLS, j] * tasks[COUNT, j])


@kernel
def draw_numbers(tasks, total, seeds, draws, picks, styles):
    """Write the seed of each world's rollouts, and the slot and styles of a uniform world."""
    k = np.int64(cuda.grid(1))
    if k < total:
        j, i = task_of(tasks, k)
        world = tasks[FIRST_WORLD, j] + i
        draws[world] = draw_of(seed_of_task(tasks, j, seeds), i)
        picks[world] = tasks[FIRST_SLOT, j] + i
        for seat in range(MAX_SEATS):
            styles[world, seat] = 0


@kernel
def pick_worlds(tasks, total, draws, weights, picks):
    """Draw the slot of each world from the pools of its task, by cumulative weights."""
    k = np.int64(cuda.grid(1))
    if k < total:
        j, i = task_of(tasks, k)
        world, worlds, pools = tasks[FIRST_WORLD, j], tasks[COUNT, j], tasks[FIRST_SLOT, j]
        rank = np.int64(0)
        for other in range(world, world + worlds):
            rank += draws[other] < draws[world + i]
        place = (draws[world] / 2.0**61 + i) / worlds
        picks[world + rank] = pick_world(weights, pools, pools + tasks[POOLS, j] * worlds, place)


@kernel
def draw_styles(tasks, total, seeds, pool, logs, picks, styles):
    """Draw the model of each seat in each world, by the likelihood of its actions."""
    k = np.int64(cuda.grid(1))
    if k < total:
        j, i = task_of(tasks, k)
        world = tasks[FIRST_WORLD, j] + i
        slot, seed = picks[world], seed_of_task(tasks, j, seeds)
        for seat in range(MAX_SEATS):
            styles[world, seat] = 1 + draw_style(logs, seat, slot, fraction_of(seed, i, seat))
        styles[world, pool[slot].seat] = 0


@kernel
def open_rollouts(turns, total, stats, picks, sources, slots, active, actions, count, moment):
    """Write the world, slot and first action of each lane, and activate all lanes."""
    lane = np.int64(cuda.grid(1))
    if lane < total:
        j = column_of(turns[TURN_END], lane)
        n_remaining, f = turns[TRIED, j], stats[turns[PLACE, j]]
        i = lane - (turns[TURN_END, j] - n_remaining * turns[WORLDS, j])
        sources[lane] = turns[WORLD, j] + i // n_remaining
        slots[lane] = picks[sources[lane]]
        active[lane] = lane
        actions[lane] = f.actions[f.remaining[i % n_remaining]]
        if lane == 0:
            count[0] = total
            moment[0] = 0


@kernel
def advance_rollouts(size, threads, count, active, lanes, sources, styles, by_thumb, workspaces, actions, places):
    """Take the action of each active lane, and all later ones that need no policy; mark lanes whose deal is not over."""
    thread = np.int64(cuda.grid(1))
    if thread < threads:
        m = workspaces[thread % len(workspaces)]
        for i in range(thread, size, threads):
            places[i] = 0
            if i < count[0]:
                lane = active[i]
                goes_on = play_on(lanes[lane], actions[lane], styles[sources[lane]], by_thumb, m)
                places[i] = 1 if goes_on else 0


@kernel
def value_lanes(total, lanes, sources, picks, pool, positions, frames, values):
    """Write the value of each rollout."""
    thread = np.int64(cuda.grid(1))
    if thread < len(positions):
        for lane in range(thread, total, len(positions)):
            seat = pool[picks[sources[lane]]].seat
            values[lane] = end_value(lanes[lane], seat, 0, positions[thread], frames[thread])


@kernel
def add_round(turns, stats, values, budget, temperature):
    """Add the values of a round to the statistics of each row, and begin its next round."""
    j = np.int64(cuda.grid(1))
    if j < turns.shape[1]:
        worlds = turns[WORLDS, j]
        add_values(stats, turns[PLACE, j], values, turns[TURN_END, j] - worlds * turns[TRIED, j], worlds)
        begin_round(stats, turns[PLACE, j], budget, False, temperature)


@kernel
def choose_actions(rows, first, count, stats, seeds, temperature, heat, actions):
    """Write the action of each row from its statistics."""
    i = np.int64(cuda.grid(1))
    if i < count:
        row = rows[first + i]
        write_logits(stats, i, temperature)
        actions[row] = choose(stats, i, seeds[row], heat)


@kernel
def clear_output(tables, where, some, policy, value, means, errors, counts):
    """Write the output of rows without a search: NaN and 0, with probability 1 for an only legal action."""
    row = np.int64(cuda.grid(1))
    if row < len(tables) and (not some or where[row]):
        t = tables[row]
        value[row] = np.nan
        for action in range(means.shape[1]):
            policy[row, action] = 0
            counts[row, action] = 0
            means[row, action] = np.nan
            errors[row, action] = np.nan
        if t.phase != SCORED and count_legal(t) == 1:
            policy[row, nth_legal(t, 0)] = 1


@kernel
def write_output(rows, first, count, stats, policy, value, means, errors, counts):
    """Write the output of each searched row, after `choose_actions` has written its logits."""
    i = np.int64(cuda.grid(1))
    if i < count:
        row, f, expected = rows[first + i], stats[i], 0.0
        turn_into_weights(stats, i)
        for k in range(f.count):
            action = np.int64(f.members[k])
            policy[row, action] = f.logits[k]
            if f.counts[f.favourite] > 0:
                counts[row, action] = f.counts[k]
                means[row, action] = mean_value(stats, i, k)
                errors[row, action] = error_of(stats, i, k)
                expected += f.logits[k] * mean_value(stats, i, k)
        if f.counts[f.favourite] > 0:
            value[row] = expected


ALL = (
    *(mark_choices, list_marked, list_candidates, list_slots, plan_pools, deal_pools, open_replays, advance_replays),
    *(take_active, count_moment, weigh_pools, add_weights, draw_numbers, pick_worlds, draw_styles, open_rollouts),
    *(advance_rollouts, value_lanes, add_round, choose_actions, clear_output, write_output),
)
"""All kernels."""
