"""Compiled forward pass of an attention policy.

`attention` defines the network and lays out its parameters.
"""

from __future__ import annotations

import math

import numpy as np

from noms_env._jit import jit_allocating, jit_inline, jit_sums
from noms_env.policy.encoding import encode_rows
from noms_env.policy.inference_kernels import BLOCK, draw, find_best, find_options, next_block, normalise, write_probabilities
from noms_env.policy.matmul import multiply


@jit_allocating
def infer_with_attention(observation, mask, seeds, temperature, parameters, out):
    """Write actions or probabilities, row by row; other arguments as in `inference_kernels.infer_rows`.

    `parameters` are those of `attention.AttentionForward`.
    """
    rules, actions, index, value, extended_size, tokens, layers, width, heads, last = parameters
    head, head_bias, score = last
    _, taken, probabilities = out
    most = 1 + len(tokens[2][0]) + len(tokens[3][0]) + len(tokens[4][0])
    room, columns = min(len(observation), BLOCK), len(tokens[1])
    rows, rule_sets = np.empty(room, np.int64), np.empty(room, np.int64)
    features, extended = np.empty((room, index.shape[1]), np.uint8), np.empty(extended_size, np.uint8)
    order = np.empty(room, np.int64)
    options, weights = np.empty(actions.shape[1] + 1, np.int16), np.empty(actions.shape[1], np.float64)
    x, level, answer = np.zeros((3, most, columns), np.float32)
    wide = max(layers[1][0].shape[1] * layers[1][0].shape[3], layers[3][0].shape[1] * layers[3][0].shape[3])
    query, key_value = np.zeros((most, columns), np.float32), np.zeros((most, wide), np.float32)
    y = np.zeros((1, len(head) * head.shape[2]), np.float32)
    every, room_of_heads = np.full(most, -1), (np.empty((2 * width, most), np.float32), np.empty(most, np.float32))
    scratch = x, level, query, key_value, answer, every, room_of_heads
    next_row = 0
    while next_row < len(observation):
        next_row, count = next_block(observation, mask, rules, actions, next_row, rows, rule_sets, out)
        encode_rows(observation, rows[:count], index, value, extended, order, features)
        for i in range(count):
            row, names = rows[i], actions[order[i]]
            end, _ = find_options(mask[row], names, options, 0)
            places = options[:end]
            read, present = write_tokens(features[i], places, tokens, x)
            run_attention(read, present, layers, width, heads, scratch)
            for k in range(read):
                normalise(x[k], width, level[k])
            multiply(level, 1, head, every, y)
            for k in range(read - 1):
                y[0, places[k]] += along(level[1 + k], score, width)
            best = find_best(y[0], head_bias, places, names, weights)
            if len(probabilities) > 0:
                write_probabilities(weights, places, names, best, temperature, probabilities[row])
            else:
                taken[row] = draw(weights, places, names, best, temperature, seeds[row])


@jit_inline
def write_tokens(features, options, tokens, x):
    """Write the tokens of a row: the deal, the legal cards to play, other cards, seats, calls.

    Returns:
        The number of tokens that are read (the deal and the legal cards to play), and the number of all.
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
    seats = max(int(features[numbers[2]]), 1)
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
    trick, age = int(features[at_cards[card, numbers[0]]]), 0
    if trick > 0:
        age = min(max(2 + int(features[numbers[1]]) - trick, 0), len(ages) - 1)
    for unit in range(len(out)):
        out[unit] = own[card, unit] + ages[age, unit]
    add_features(features, at_cards[card], weight, out)


@jit_inline
def add_features(features, places, weight, out):
    """Add each feature times its row of weights."""
    for k in range(len(places)):
        if features[places[k]] != 0:
            add_times(np.float32(features[places[k]]), weight[k], len(out), out)


@jit_inline
def run_attention(read, present, layers, width, heads, scratch):
    """Run all layers on the tokens in `x`; the last layer updates only the tokens that are read."""
    queries, key_values, merges, inners, outers = layers
    x, level, query, key_value, answer, every, room = scratch
    for layer in range(len(queries[0])):
        asks = read if layer == len(queries[0]) - 1 else present
        for i in range(present):
            normalise(x[i], width, level[i])
        run_linear(level, present, key_values[0][layer], key_values[1][layer], every, key_value)
        run_linear(level, asks, queries[0][layer], queries[1][layer], every, query)
        attend(query, asks, key_value, present, width, heads, room, answer)
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


@jit_inline
def attend(query, asks, key_value, present, width, heads, room, out):
    """Write the attention of the first `asks` tokens to all `present` tokens of a row.

    `query` and `out` are float32, shape (at least asks, at least width); `key_value`, float32, shape (at least present, at
    least 2 * width), holds keys, then values. The width is a multiple of `heads`. `room` is scratch: keys and values, float32,
    shape (2 * width, at least present), and attention weights, float32, shape (at least present,).
    """
    columns, share = room
    for t in range(present):
        for k in range(2 * width):
            columns[k, t] = key_value[t, k]
    for token in range(asks):
        for head in range(heads):
            first, last = head * width // heads, (head + 1) * width // heads
            write_shares(query[token], columns, first, last, present, share)
            for k in range(first, last):
                out[token, k] = along(columns[width + k], share, present)


@jit_inline
def write_shares(query, keys, first, last, count, share):
    """Write the attention weight of each key: the softmax of the dot products over the root of their length."""
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
    """Return e**x for x of at most 0, to a relative error of 2e-7, without a call: 2^n times a polynomial."""
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
    """Return the dot product of the first `count` numbers."""
    total = np.float32(0)
    for t in range(count):
        total += left[t] * right[t]
    return total


@jit_sums
def add_times(factor, numbers, count, out):
    """Add `factor * numbers` to `out`, for the first `count` numbers."""
    for t in range(count):
        out[t] += factor * numbers[t]
