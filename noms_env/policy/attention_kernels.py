"""The compiled forward pass of a policy with attention, and attention itself: forward, and backward for training.

`attention` says what the network is, and lays its parameters out.
"""

from __future__ import annotations

import math

import numpy as np

from noms_env._jit import jit, jit_allocating, jit_inline, jit_sums
from noms_env.policy.encoding import suit_order, write_row
from noms_env.policy.extra_features import extend
from noms_env.policy.inference_kernels import (
    BLOCK,
    draw,
    find_best,
    find_options,
    next_block,
    normalise,
    write_probabilities,
)
from noms_env.policy.matmul import multiply


@jit_allocating
def infer_with_attention(observation, mask, seeds, temperature, parameters, out):
    """Write actions or probabilities for some rows, one by one; the arguments are those of `inference_kernels.infer_rows`.

    `parameters` are those of `attention.AttentionForward`.
    """
    rules, actions, index, value, extended_size, tokens, layers, width, heads, last = parameters
    head, head_bias, score = last
    _, taken, probabilities = out
    most = 1 + len(tokens[2][0]) + len(tokens[3][0]) + len(tokens[4][0])
    room, columns = min(len(observation), BLOCK), len(tokens[1])
    rows, rule_sets = np.empty(room, np.int64), np.empty(room, np.int64)
    features, extended = np.empty(index.shape[1], np.uint8), np.empty(extended_size, np.uint8)
    options, weights = np.empty(actions.shape[1] + 1, np.int16), np.empty(actions.shape[1], np.float64)
    x, level, answer = np.zeros((3, most, columns), np.float32)
    wide = max(layers[1][0].shape[1] * layers[1][0].shape[3], layers[3][0].shape[1] * layers[3][0].shape[3])
    query, key_value = np.zeros((most, columns), np.float32), np.zeros((most, wide), np.float32)
    y = np.zeros((1, len(head) * head.shape[2]), np.float32)
    scratch = (
        x,
        level,
        query,
        key_value,
        answer,
        np.full(most, -1),
        np.empty((1, most), np.int64),
        np.empty((1, most), np.int64),
    )
    next_row = 0
    while next_row < len(observation):
        next_row, count = next_block(observation, mask, rules, actions, next_row, rows, rule_sets, out)
        for row in rows[:count]:
            seen, order = observation[row], suit_order(observation[row])
            if extended_size > 0:
                extend(seen, extended)
                seen = extended
            write_row(seen, index[order], value[order], features)
            names = actions[order]
            end, _ = find_options(mask[row], names, options, 0)
            places = options[:end]
            read, present = write_tokens(features, places, tokens, x)
            run_attention(read, present, layers, width, heads, scratch)
            for i in range(read):
                normalise(x[i], width, level[i])
            multiply(level, 1, head, scratch[5], y)
            for k in range(read - 1):
                y[0, places[k]] += along(level[1 + k], score, width)
            best = find_best(y[0], head_bias, places, names, weights)
            if len(probabilities) > 0:
                write_probabilities(weights, places, names, best, temperature, probabilities[row])
            else:
                taken[row] = draw(weights, places, names, best, temperature, seeds[row])


@jit_inline
def write_tokens(features, options, tokens, x):
    """Write the tokens of a row: that of the deal, of the legal cards to play, other cards, seats, calls.

    Returns:
        How many are read (the deal and the legal cards to play), and how many there are.
    """
    first, first_bias, of_cards, of_seats, of_calls, numbers = tokens
    at_cards, at_shown = of_cards[0], of_cards[1]
    at_seats, at_there, seat_weight, who = of_seats
    at_calls, at_place, call, position = of_calls
    for unit in range(len(first_bias)):
        x[0, unit] = first_bias[unit]
    for k in range(len(features)):
        if features[k] != 0:
            add_times(np.float32(features[k]), first[k], len(first_bias), x[0])
    present = 1
    for place in options:
        if place < len(at_cards):
            write_card(features, place, of_cards, numbers, x[present])
            present += 1
    read, next_option = present, 0
    for card in range(len(at_cards)):
        if next_option < len(options) and options[next_option] == card:
            next_option += 1
            continue
        is_shown = False
        for k in at_shown:
            is_shown |= features[at_cards[card, k]] != 0
        if is_shown:
            write_card(features, card, of_cards, numbers, x[present])
            present += 1
    for seat in range(len(at_seats)):
        if features[at_there[seat]] != 0:
            for unit in range(len(first_bias)):
                x[present, unit] = who[1 + seat, unit]
            add_features(features, at_seats[seat], seat_weight, x[present])
            present += 1
    own_place = 0
    for k in range(len(at_place)):
        if features[at_place[k]] != 0:
            own_place = k
    seats = max(np.int64(features[numbers[2]]), 1)
    for k in range(len(at_calls)):
        kind = features[at_calls[k]]
        if kind != 0:
            for unit in range(len(first_bias)):
                x[present, unit] = call[kind, unit] + position[k, unit] + who[(k - own_place) % seats, unit]
            present += 1
    return read, present


@jit_inline
def write_card(features, card, of_cards, numbers, out):
    """Write the token of a card."""
    at_cards, _, weight, own, ages = of_cards
    trick, age = np.int64(features[at_cards[card, numbers[0]]]), 0
    if trick > 0:
        age = min(max(2 + np.int64(features[numbers[1]]) - trick, 0), len(ages) - 1)
    for unit in range(len(out)):
        out[unit] = own[card, unit] + ages[age, unit]
    add_features(features, at_cards[card], weight, out)


@jit_inline
def add_features(features, places, weight, out):
    """Add features, each times its row of weights."""
    for k in range(len(places)):
        if features[places[k]] != 0:
            add_times(np.float32(features[places[k]]), weight[k], len(out), out)


@jit_inline
def run_attention(read, present, layers, width, heads, scratch):
    """All layers, from the tokens in `x` to those that are read."""
    queries, key_values, merges, inners, outers = layers
    x, level, query, key_value, answer, every, asking, asked = scratch
    for t in range(len(every)):
        asked[0, t] = t if t < present else -1
    for layer in range(len(queries[0])):
        asks = read if layer == len(queries[0]) - 1 else present
        for t in range(len(every)):
            asking[0, t] = t if t < asks else -1
        for i in range(present):
            normalise(x[i], width, level[i])
        run_linear(level, present, key_values[0][layer], key_values[1][layer], every, key_value)
        run_linear(level, asks, queries[0][layer], queries[1][layer], every, query)
        attend_rows(query, key_value, asking, asked, width, heads, answer)
        run_linear(answer, asks, merges[0][layer], merges[1][layer], every, query)
        for i in range(asks):
            add_times(np.float32(1), query[i], width, x[i])
            normalise(x[i], width, level[i])
        run_linear(level, asks, inners[0][layer], inners[1][layer], every, key_value)
        for i in range(asks):
            for k in range(key_value.shape[1]):
                key_value[i, k] = max(key_value[i, k], np.float32(0))
        run_linear(key_value, asks, outers[0][layer], outers[1][layer], every, query)
        for i in range(asks):
            add_times(np.float32(1), query[i], width, x[i])


@jit_inline
def run_linear(x, rows, panels, bias, every, y):
    """Write `x @ weight + bias` for the first rows."""
    multiply(x, rows, panels, every, y)
    for i in range(rows):
        for k in range(len(bias)):
            y[i, k] += bias[k]


@jit_allocating
def attend_rows(query, key_value, asking, asked, width, heads, out):
    """Write what tokens get from the tokens of their rows.

    Args:
        query: float32, shape (tokens that ask, at least width).
        key_value: float32, shape (tokens, at least 2 * width): keys, then values.
        asking: int64, shape (rows, m): the numbers of the tokens that ask in each row, then -1.
        asked: int64, shape (rows, k): likewise, of those that are asked.
        width: numbers of a token.
        heads: their number, a divisor of the width.
        out: float32, shape (tokens that ask, at least width): is written.
    """
    room = asked.shape[1]
    keys, values = np.empty((width, room), np.float32), np.empty((width, room), np.float32)
    share = np.empty(room, np.float32)
    for row in range(len(asked)):
        count = gather(key_value, asked[row], keys, values)
        for place in range(asking.shape[1]):
            token = asking[row, place]
            if token < 0:
                break
            for head in range(heads):
                first, last = head * width // heads, (head + 1) * width // heads
                write_shares(query[token], keys, first, last, count, share)
                for k in range(first, last):
                    out[token, k] = along(values[k], share, count)


@jit_allocating
def attend_back(query, key_value, asking, asked, width, heads, gradient, of_query, of_key_value):
    """Write the gradients of what `attend_rows` does; `gradient` is that of `out`, others are shaped like what they are of."""
    room = asked.shape[1]
    keys, values = np.empty((width, room), np.float32), np.empty((width, room), np.float32)
    of_keys, of_values = np.empty((width, room), np.float32), np.empty((width, room), np.float32)
    share, of_share = np.empty(room, np.float32), np.empty(room, np.float32)
    scale = np.float32(1 / math.sqrt(width // heads))
    for row in range(len(asked)):
        count = gather(key_value, asked[row], keys, values)
        of_keys[:] = 0
        of_values[:] = 0
        for place in range(asking.shape[1]):
            token = asking[row, place]
            if token < 0:
                break
            for head in range(heads):
                first, last = head * width // heads, (head + 1) * width // heads
                write_shares(query[token], keys, first, last, count, share)
                of_share[:count] = 0
                for k in range(first, last):
                    add_twice(gradient[token, k], values[k], share, count, of_share, of_values[k])
                mean = along(of_share, share, count)
                for t in range(count):
                    of_share[t] = share[t] * (of_share[t] - mean) * scale
                for k in range(first, last):
                    of_query[token, k] = along(of_share, keys[k], count)
                    add_times(query[token, k], of_share, count, of_keys[k])
        for t in range(count):
            token = asked[row, t]
            for k in range(width):
                of_key_value[token, k] = of_keys[k, t]
                of_key_value[token, width + k] = of_values[k, t]


@jit
def gather(key_value, tokens, keys, values):
    """Write keys and values of a row's tokens, shape (width, tokens); returns how many there are."""
    count = 0
    while count < len(tokens) and tokens[count] >= 0:
        count += 1
    width = len(keys)
    for t in range(count):
        token = tokens[t]
        for k in range(width):
            keys[k, t] = key_value[token, k]
            values[k, t] = key_value[token, width + k]
    return count


@jit_inline
def write_shares(query, keys, first, last, count, share):
    """Write the share of each key in what a token gets: the softmax of the products over the root of their length."""
    for t in range(count):
        share[t] = 0
    for k in range(first, last):
        add_times(query[k], keys[k], count, share)
    highest = share[0]
    for t in range(count):
        highest = max(highest, share[t])
    scale = np.float32(1 / math.sqrt(last - first))
    total = np.float32(0)
    for t in range(count):
        share[t] = exp((share[t] - highest) * scale)
        total += share[t]
    scale = np.float32(1) / total
    for t in range(count):
        share[t] *= scale


@jit_inline
def exp(x):
    """E to the power of a number of at most 0, to a relative error of 2e-7, without a call: 2^n times a polynomial."""
    x = max(x, np.float32(-80))
    n = np.floor(x * np.float32(1.44269504) + np.float32(0.5))
    r = x - n * np.float32(0.693145751953125) - n * np.float32(1.42860677e-06)
    y = np.float32(1.9875691500e-4)
    y = y * r + np.float32(1.3981999507e-3)
    y = y * r + np.float32(8.3334519073e-3)
    y = y * r + np.float32(4.1665795894e-2)
    y = y * r + np.float32(1.6666665459e-1)
    y = y * r + np.float32(5.0000001201e-1)
    y = y * r * r + r + np.float32(1)
    return y * np.int32((np.int32(n) + np.int32(127)) << np.int32(23)).view(np.float32)


@jit_sums
def along(left, right, count):
    """The sum of the products of the first numbers."""
    total = np.float32(0)
    for t in range(count):
        total += left[t] * right[t]
    return total


@jit_sums
def add_times(factor, numbers, count, out):
    """`out += factor * numbers`, of the first numbers."""
    for t in range(count):
        out[t] += factor * numbers[t]


@jit_sums
def add_twice(factor, values, share, count, of_share, of_values):
    """`of_share += factor * values` and `of_values += factor * share`, of the first numbers."""
    for t in range(count):
        of_share[t] += factor * values[t]
        of_values[t] += factor * share[t]
