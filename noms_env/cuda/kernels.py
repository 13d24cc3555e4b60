"""The kernels of a batch: one thread per row calls the CPU engine's function for one table, or copies a row.

`engine.batch_kernels` documents the arguments. No array may be empty.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba import cuda

from noms_env import _jit
from noms_env.belief.sampling import deal_hidden, plan
from noms_env.cuda.arrays import SIMULATED
from noms_env.engine.batch_kernels import (
    deal_next,
    is_refused,
    random_legal,
    settle,
    start,
    start_next,
    step_randomly,
    step_table,
    write,
    write_turn,
)
from noms_env.observation.suit_order import order_of, translate_action


def kernel(function: Any) -> Any:
    """Return a kernel, compiled on its first launch for each argument signature and cached with the compiled CPU code."""
    if SIMULATED:
        return cuda.jit(function)
    configs = [numba.config, getattr(getattr(cuda, "core", None), "config", numba.config)]
    before = [config.CACHE_DIR for config in configs]
    try:
        for config in configs:
            config.CACHE_DIR = _jit.CACHE_FOLDER or config.CACHE_DIR
        return cuda.jit(function, cache=bool(_jit.CACHE_FOLDER), lto=False)  # one module per kernel: nothing to link
    finally:
        for config, folder in zip(configs, before, strict=True):
            config.CACHE_DIR = folder


@kernel
def observe(tables, rows, count, observation, mask, hidden, outputs):
    """Write the observations of the first `count` of `rows`, or of all tables if `count` is below 0."""
    i = np.int64(cuda.grid(1))
    if i < (len(tables) if count < 0 else count):
        row = i if count < 0 else rows[i]
        write(tables[row], row, observation, mask, hidden, outputs, None, row)


@kernel
def observe_features(tables, rows, count, observation, mask, hidden, outputs, features, moves, words):
    """Like `observe`, with features."""
    i = np.int64(cuda.grid(1))
    if i < (len(tables) if count < 0 else count):
        row = i if count < 0 else rows[i]
        write(tables[row], row, observation, mask, hidden, outputs, (features, moves, words), row)


@kernel
def step(tables, actions, skip_forced, pause, points, scored, seat, over, observation, mask, hidden, outputs):
    """See `batch_kernels.step_rows`."""
    row = np.int64(cuda.grid(1))
    if row < len(tables):
        t = tables[row]
        step_table(t, row, actions[row], skip_forced, pause, points, scored, seat, over)
        write(t, row, observation, mask, hidden, outputs, None, row)


@kernel
def step_features(
    tables,
    actions,
    skip_forced,
    pause,
    points,
    scored,
    seat,
    over,
    observation,
    mask,
    hidden,
    outputs,
    features,
    moves,
    words,
):
    """Like `step`, with features."""
    row = np.int64(cuda.grid(1))
    if row < len(tables):
        t = tables[row]
        step_table(t, row, actions[row], skip_forced, pause, points, scored, seat, over)
        write(t, row, observation, mask, hidden, outputs, (features, moves, words), row)


@kernel
def find_refused(tables, actions, first):
    """Lower `first[0]` to the first row with an illegal action."""
    row = np.int64(cuda.grid(1))
    if row < len(tables) and is_refused(tables[row], actions[row]):
        cuda.atomic.min(first, 0, row)


@kernel
def next_deal(tables, points, scored, seat, over):
    """See `batch_kernels.next_deal_rows`."""
    row = np.int64(cuda.grid(1))
    if row < len(tables):
        deal_next(tables[row], row, points, scored)
        write_turn(tables[row], row, seat, over)


@kernel
def start_some(tables, rows, dealers, pause, points, scored, seat, over):
    """See `batch_kernels.start_rows`."""
    i = np.int64(cuda.grid(1))
    if i < len(rows):
        row = rows[i]
        start(tables[row], dealers[i])
        settle(tables[row], row, pause, points, scored)
        write_turn(tables[row], row, seat, over)


@kernel
def start_next_where(tables, where, pause, points, scored, seat, over):
    """Start the next match in the rows of a mask."""
    row = np.int64(cuda.grid(1))
    if row < len(tables) and where[row]:
        start_next(tables[row])
        settle(tables[row], row, pause, points, scored)
        write_turn(tables[row], row, seat, over)


@kernel
def settle_some(tables, rows, pause, points, scored, seat, over):
    """See `batch_kernels.settle_rows`."""
    i = np.int64(cuda.grid(1))
    if i < len(rows):
        settle(tables[rows[i]], rows[i], pause, points, scored)
        write_turn(tables[rows[i]], rows[i], seat, over)


@kernel
def choose_randomly(tables, streams, actions):
    """See `batch_kernels.random_rows`."""
    row = np.int64(cuda.grid(1))
    if row < len(tables):
        actions[row] = random_legal(tables[row], streams, row)


@kernel
def play_randomly(tables, steps, streams, observation, mask, hidden, outputs):
    """See `batch_kernels.play_random`; also writes observations and masks after each decision."""
    row = np.int64(cuda.grid(1))
    if row < len(tables):
        t = tables[row]
        for _ in range(steps):
            step_randomly(t, row, streams)
            write(t, row, observation, mask, hidden, outputs, None, row)


@kernel
def copy_rows(source, sources, target, targets):
    """Copy rows of words, in any number of threads, from one source row per target or from one for all."""
    words = source.shape[1]
    for k in range(np.int64(cuda.grid(1)), len(targets) * words, np.int64(cuda.gridsize(1))):
        i = k // words
        target[targets[i], k % words] = source[sources[i] if len(sources) > 1 else sources[0], k % words]


@kernel
def gather(source, order, index, out):
    """Write `out[i, k] = source[i, index[order[i], k]]`, with one block per row."""
    i = np.int64(cuda.blockIdx.x)
    number = order[i]
    for k in range(cuda.threadIdx.x, index.shape[1], cuda.blockDim.x):
        out[i, k] = source[i, index[number, k]]


@kernel
def order_features(features, places, orders):
    """Write the suit order of each row (`suit_order.orders_of_features`)."""
    row = np.int64(cuda.grid(1))
    if row < len(features):
        orders[row] = order_of(features[row], places)


@kernel
def name_actions(actions, orders, names, out):
    """Write the tables' actions for canonical actions."""
    row = np.int64(cuda.grid(1))
    if row < len(actions):
        out[row] = translate_action(names[orders[row]], actions[row])


@kernel
def fill_groups(words, models, ends, number):
    """Copy to each row the model of its group, and write the row's number to word `number`."""
    for k in range(np.int64(cuda.grid(1)), words.size, np.int64(cuda.gridsize(1))):
        row, word = k // words.shape[1], k % words.shape[1]
        group = 0
        while ends[group] <= row:
            group += 1
        words[row, word] = row if word == number else models[group, word]


@kernel
def clear(words):
    """Fill with zeros, in any number of threads."""
    for k in range(np.int64(cuda.grid(1)), words.size, np.int64(cuda.gridsize(1))):
        words[k // words.shape[1], k % words.shape[1]] = 0


@kernel
def plan_hidden(tables, rows, seat, plans, layouts, ways):
    """Plan the redeals of a table for a seat's information, in one thread; all rows are copies of the table."""
    if cuda.grid(1) == 0:
        plan(tables[rows[0]], seat, plans[0], layouts[0], ways)


@kernel
def deal_hidden_rows(tables, rows, seat, seed, plans, layouts, ways):
    """Deal the hidden cards anew by the plan of `plan_hidden`; see `belief.sample_hidden_rows`."""
    thread = np.int64(cuda.grid(1))
    if thread < len(layouts):
        for i in range(thread, len(rows), len(layouts)):
            deal_hidden(tables[rows[i]], seat, seed, i, plans[0], layouts[thread], ways)


@kernel
def get_word(words, rows, place, out):
    """Read a word of some rows."""
    i = np.int64(cuda.grid(1))
    if i < len(rows):
        out[i] = words[rows[i], place]


@kernel
def set_word(words, rows, place, values):
    """Write a word of some rows."""
    i = np.int64(cuda.grid(1))
    if i < len(rows):
        words[rows[i], place] = values[i]


@kernel
def widen(numbers, out):
    """Copy strided integers of any type, or booleans, into a contiguous array."""
    i = np.int64(cuda.grid(1))
    if i < len(numbers):
        out[i] = numbers[i]


ALL = (
    *(observe, observe_features, step, step_features, find_refused, next_deal, start_some, start_next_where, settle_some),
    *(choose_randomly, play_randomly, copy_rows, fill_groups, clear, plan_hidden, deal_hidden_rows, get_word, set_word, widen),
    *(gather, order_features, name_actions),
)
"""All kernels."""
