"""The kernels of network inputs and outputs: one thread or block per row calls the functions of `noms_env.policy`.

Common arguments: the kernels use `count` rows of working memory. If `some` is True, row i is for table `rows[first + i]`, or
for no table if that is below 0; otherwise it is for table `first + i`. `extra` are the bytes after the observations
(`extra_features`). No array may be empty.
"""

from __future__ import annotations

import numpy as np
from numba import cuda

from noms_env._jit import narrow
from noms_env.core.actions import SCORED
from noms_env.cuda.kernels import kernel
from noms_env.engine.batch_kernels import write
from noms_env.observation.layout import OBSERVATION_SIZE
from noms_env.observation.suit_order import suit_order
from noms_env.players.protocol import NOBODY
from noms_env.policy.encoding import feature_of
from noms_env.policy.extra_features import write_extra
from noms_env.policy.inference_kernels import chance_of, draw, draw_choice, uniform, weigh_options, write_probabilities


@kernel
def see_tables(tables, rows, some, first, count, observation, mask, hidden, outputs):
    """Write the arrays in `outputs` (`batch_kernels`) for the seats to act, as int64 words."""
    i = np.int64(cuda.grid(1))
    if i < count:
        row = rows[first + i] if some else first + i
        if row >= 0:
            write(tables[row], i, observation, mask, hidden, outputs, None, i)


@kernel
def order_suits(observation, count, order, extra, wants_extra):
    """Write the suit order of each row, and the bytes after its observation."""
    i = np.int64(cuda.grid(1))
    if i < count:
        order[i] = suit_order(observation[i])
        if wants_extra:
            write_extra(observation[i], extra[i])


@kernel
def write_bytes(observation, extra, order, index, value, out):
    """Write the features of each row as `encoding.write_row` does, with one block per row."""
    i = np.int64(cuda.blockIdx.x)
    number = order[i]
    for k in range(cuda.threadIdx.x, index.shape[1], cuda.blockDim.x):
        column = np.int64(index[number, k])
        byte = observation[i, column] if column < OBSERVATION_SIZE else extra[i, column - OBSERVATION_SIZE]
        out[i, k] = feature_of(byte, value[number, k])


@kernel
def write_numbers(observation, extra, order, index, value, out):
    """Like `write_bytes`, as float32 numbers or as the bits of bfloat16 numbers."""
    i = np.int64(cuda.blockIdx.x)
    number = order[i]
    for k in range(cuda.threadIdx.x, index.shape[1], cuda.blockDim.x):
        column = np.int64(index[number, k])
        byte = observation[i, column] if column < OBSERVATION_SIZE else extra[i, column - OBSERVATION_SIZE]
        out[i, k] = narrow(np.float32(feature_of(byte, value[number, k])), out[i, k])


@kernel
def mark_asked(where, fits, places, rows, actions):
    """Mark the rows of `where` that fit with 1 in `places`, fill `rows` with -1, and write `NOBODY` for those that do not."""
    row = np.int64(cuda.grid(1))
    if row < len(where):
        places[row] = 1 if where[row] and fits[row] else 0
        rows[row] = -1
        if where[row] and not fits[row]:
            actions[row] = NOBODY


@kernel
def list_rows(places, rows):
    """Write the numbers of the marked rows contiguously; `places` is the prefix sum of the marks."""
    row = np.int64(cuda.grid(1))
    if row < len(places) and places[row] > (places[row - 1] if row > 0 else 0):
        rows[places[row] - 1] = row


@kernel
def draw_actions(
    rows,
    some,
    first,
    count,
    extra,
    mask,
    order,
    names,
    logits,
    bias,
    section_starts,
    card,
    own,
    out,
    units,
    options,
    weights,
    hidden,
    card_inputs,
    temperature,
    seeds,
    actions,
):
    """Draw the action of each row from the logits as on the CPU; `NOBODY` if no seat is to act.

    `names` is `Encoding.actions`. `section_starts` to `units` are the scorer; `units` is 0 without one. `options` to
    `card_inputs` are working memory.
    """
    i = np.int64(cuda.grid(1))
    if i < count:
        row = rows[first + i] if some else first + i
        if row >= 0:
            scorer, scratch = (section_starts, card, own, out[:units]), (options[i], weights[i], hidden[i], card_inputs[i])
            legal, names_here = mask[i], names[order[i]]
            n_options, best = weigh_options(extra[i], legal, names_here, logits[i], bias, scorer, scratch)
            actions[row] = NOBODY
            if best >= 0:
                actions[row] = draw(weights[i], options[i, :n_options], names_here, best, temperature, seeds[row])


@kernel
def draw_choices(
    tables,
    rows,
    some,
    first,
    count,
    logits,
    legal,
    order,
    names,
    seeds,
    greedy,
    choice,
    log_prob,
    seat,
    phase,
    actions,
):
    """Draw the choice of a network for each table; write choice, log-probability, seat, phase and action.

    `legal` are masks of choices, int8. With `greedy` the most probable choice is taken. The action is `NOBODY` after a deal.
    """
    i = np.int64(cuda.grid(1))
    if i < count:
        row = rows[first + i] if some else first + i
        if row >= 0:
            t = tables[row]
            seat[i], phase[i] = t.seat, t.phase
            actions[row] = NOBODY
            if t.phase != SCORED:
                taken, log = draw_choice(logits[i], legal[i], -1.0 if greedy else uniform(seeds[row]))
                choice[i], log_prob[i] = taken, log
                actions[row] = names[order[i], taken]


@kernel
def clear_chances(chances):
    """Fill with zeros."""
    row = np.int64(cuda.grid(1))
    if row < len(chances):
        for action in range(chances.shape[1]):
            chances[row, action] = 0


@kernel
def write_chances(
    rows,
    some,
    first,
    count,
    extra,
    mask,
    order,
    names,
    logits,
    bias,
    section_starts,
    card,
    own,
    out,
    units,
    options,
    weights,
    hidden,
    card_inputs,
    temperature,
    chances,
):
    """Write the action probabilities of each row into zeros; arguments as in `draw_actions`."""
    i = np.int64(cuda.grid(1))
    if i < count:
        row = rows[first + i] if some else first + i
        if row >= 0:
            scorer, scratch = (section_starts, card, own, out[:units]), (options[i], weights[i], hidden[i], card_inputs[i])
            legal, names_here = mask[i], names[order[i]]
            n_options, best = weigh_options(extra[i], legal, names_here, logits[i], bias, scorer, scratch)
            write_probabilities(weights[i], options[i, :n_options], names_here, best, temperature, chances[row])


@kernel
def write_chances_of(
    rows,
    some,
    first,
    count,
    extra,
    mask,
    order,
    names,
    logits,
    bias,
    section_starts,
    card,
    own,
    out,
    units,
    options,
    weights,
    hidden,
    card_inputs,
    temperature,
    actions,
    chances,
):
    """Write the probability of one action of each row; arguments as in `draw_actions`."""
    i = np.int64(cuda.grid(1))
    if i < count:
        row = rows[first + i] if some else first + i
        if row >= 0:
            scorer, scratch = (section_starts, card, own, out[:units]), (options[i], weights[i], hidden[i], card_inputs[i])
            legal, names_here = mask[i], names[order[i]]
            n_options, best = weigh_options(extra[i], legal, names_here, logits[i], bias, scorer, scratch)
            chances[row] = chance_of(weights[i], options[i, :n_options], names_here, best, temperature, actions[row])


ALL = (
    *(see_tables, order_suits, write_bytes, write_numbers),
    *(mark_asked, list_rows, draw_actions, draw_choices, clear_chances, write_chances, write_chances_of),
)
"""All kernels."""
