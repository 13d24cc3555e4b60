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
    rules, actions, index, value, extended_size, tokens, layers, width, heads, output_layer = parameters
    head, head_bias, score = output_layer
    _, out_actions, probabilities = out
    n_max = 1 + len(tokens[2][0]) + len(tokens[3][0]) + len(tokens[4][0])
    block_size, columns = min(len(observation), BLOCK), len(tokens[1])
    rows, rule_sets = np.empty(block_size, np.int64), np.empty(block_size, np.int64)
    features, extended = np.empty((block_size, index.shape[1]), np.uint8), np.empty(extended_size, np.uint8)
    order = np.empty(block_size, np.int64)
    options, weights = np.empty(actions.shape[1] + 1, np.int16), np.empty(actions.shape[1], np.float64)
    x, normed, context = np.zeros((3, n_max, columns), np.float32)
    max_width = max(layers[1][0].shape[1] * layers[1][0].shape[3], layers[3][0].shape[1] * layers[3][0].shape[3])
    query, key_value = np.zeros((n_max, columns), np.float32), np.zeros((n_max, max_width), np.float32)
    y = np.zeros((1, len(head) * head.shape[2]), np.float32)
    all_panels, head_scratch = np.full(n_max, -1), (np.empty((2 * width, n_max), np.float32), np.empty(n_max, np.float32))
    scratch = x, normed, query, key_value, context, all_panels, head_scratch
    next_row = 0
    while next_row < len(observation):
        next_row, count = next_block(observation, mask, rules, actions, next_row, rows, rule_sets, out)
        encode_rows(observation, rows[:count], index, value, extended, order, features)
        for i in range(count):
            row, names = rows[i], actions[order[i]]
            end, _ = find_options(mask[row], names, options, 0)
            places = options[:end]
            n_read, n_tokens = write_tokens(features[i], places, tokens, x)
            run_attention(n_read, n_tokens, layers, width, heads, scratch)
            for k in range(n_read):
                normalise(x[k], width, normed[k])
            multiply(normed, 1, head, all_panels, y)
            for k in range(n_read - 1):
                y[0, places[k]] += dot(normed[1 + k], score, width)
            best = find_best(y[0], head_bias, places, names, weights)
            if len(probabilities) > 0:
                write_probabilities(weights, places, names, best, temperature, probabilities[row])
            else:
                out_actions[row] = draw(weights, places, names, best, temperature, seeds[row])


@jit_inline
def write_tokens(features, options, tokens, x):
    """Write the tokens of a row: the deal, the legal cards to play, other cards, seats, calls.

    Returns:
        The number of tokens that the head reads (the deal and the legal cards to play), and the number of all tokens.
    """
    first, first_bias, card_parameters, seat_parameters, call_parameters, numbers = tokens
    card_columns, shown_sections = card_parameters[0], card_parameters[1]
    seat_columns, presence_columns, seat_weight, seat_embedding = seat_parameters
    call_columns, place_columns, call_embedding, position_embedding = call_parameters
    for unit in range(len(first_bias)):
        x[0, unit] = first_bias[unit]
    for k in range(len(features)):
        if features[k] != 0:
            add_scaled(np.float32(features[k]), first[k], len(first_bias), x[0])
    n_tokens = 1
    for place in options:
        if place < len(card_columns):
            write_card(features, place, card_parameters, numbers, x[n_tokens])
            n_tokens += 1
    n_read, next_option = n_tokens, 0
    for card in range(len(card_columns)):
        if next_option < len(options) and options[next_option] == card:
            next_option += 1
            continue
        is_shown = False
        for k in shown_sections:
            is_shown |= features[card_columns[card, k]] != 0
        if is_shown:
            write_card(features, card, card_parameters, numbers, x[n_tokens])
            n_tokens += 1
    for seat in range(len(seat_columns)):
        if features[presence_columns[seat]] != 0:
            for unit in range(len(first_bias)):
                x[n_tokens, unit] = seat_embedding[1 + seat, unit]
            add_features(features, seat_columns[seat], seat_weight, x[n_tokens])
            n_tokens += 1
    own_place = 0
    for k in range(len(place_columns)):
        if features[place_columns[k]] != 0:
            own_place = k
    seats = max(int(features[numbers[2]]), 1)
    for k in range(len(call_columns)):
        kind = features[call_columns[k]]
        if kind != 0:
            for unit in range(len(first_bias)):
                x[n_tokens, unit] = (
                    call_embedding[kind, unit] + position_embedding[k, unit] + seat_embedding[(k - own_place) % seats, unit]
                )
            n_tokens += 1
    return n_read, n_tokens


@jit_inline
def write_card(features, card, card_parameters, numbers, out):
    """Write the token of a card."""
    card_columns, _, weight, card_embedding, age_embedding = card_parameters
    trick, age = int(features[card_columns[card, numbers[0]]]), 0
    if trick > 0:
        age = min(max(2 + int(features[numbers[1]]) - trick, 0), len(age_embedding) - 1)
    for unit in range(len(out)):
        out[unit] = card_embedding[card, unit] + age_embedding[age, unit]
    add_features(features, card_columns[card], weight, out)


@jit_inline
def add_features(features, places, weight, out):
    """Add each feature times its row of weights."""
    for k in range(len(places)):
        if features[places[k]] != 0:
            add_scaled(np.float32(features[places[k]]), weight[k], len(out), out)


@jit_inline
def run_attention(n_read, n_tokens, layers, width, heads, scratch):
    """Run all layers on the tokens in `x`; the last layer updates only the tokens that the head reads."""
    queries, key_values, merges, inners, outers = layers
    x, normed, query, key_value, context, all_panels, head_scratch = scratch
    for layer in range(len(queries[0])):
        n_queries = n_read if layer == len(queries[0]) - 1 else n_tokens
        for i in range(n_tokens):
            normalise(x[i], width, normed[i])
        run_linear(normed, n_tokens, key_values[0][layer], key_values[1][layer], all_panels, key_value)
        run_linear(normed, n_queries, queries[0][layer], queries[1][layer], all_panels, query)
        attend(query, n_queries, key_value, n_tokens, width, heads, head_scratch, context)
        run_linear(context, n_queries, merges[0][layer], merges[1][layer], all_panels, query)
        for i in range(n_queries):
            add_scaled(np.float32(1), query[i], width, x[i])
            normalise(x[i], width, normed[i])
        run_linear(normed, n_queries, inners[0][layer], inners[1][layer], all_panels, key_value)
        for i in range(n_queries):
            for k in range(key_value.shape[1]):
                key_value[i, k] = max(key_value[i, k], np.float32(0))
        run_linear(key_value, n_queries, outers[0][layer], outers[1][layer], all_panels, query)
        for i in range(n_queries):
            add_scaled(np.float32(1), query[i], width, x[i])


@jit_inline
def run_linear(x, rows, panels, bias, all_panels, y):
    """Write `x @ weight + bias` for the first rows."""
    multiply(x, rows, panels, all_panels, y)
    for i in range(rows):
        for k in range(len(bias)):
            y[i, k] += bias[k]


@jit_inline
def attend(query, n_queries, key_value, n_tokens, width, heads, scratch, out):
    """Write the attention of the first `n_queries` tokens to all `n_tokens` tokens of a row.

    `query` and `out` are float32, shape (at least n_queries, at least width). `key_value`, float32, shape (at least n_tokens,
    at least 2 * width), holds keys, then values. The width is a multiple of `heads`. `scratch` holds keys and values, float32,
    shape (2 * width, at least n_tokens), and attention weights, float32, shape (at least n_tokens,).
    """
    columns, weights = scratch
    for t in range(n_tokens):
        for k in range(2 * width):
            columns[k, t] = key_value[t, k]
    for token in range(n_queries):
        for head in range(heads):
            first, last = head * width // heads, (head + 1) * width // heads
            write_attention_weights(query[token], columns, first, last, n_tokens, weights)
            for k in range(first, last):
                out[token, k] = dot(columns[width + k], weights, n_tokens)


@jit_inline
def write_attention_weights(query, keys, first, last, count, weights):
    """Write the attention weight of each key: the softmax of the dot products over the root of their length."""
    for t in range(count):
        weights[t] = 0
    for k in range(first, last):
        add_scaled(query[k], keys[k], count, weights)
    highest = weights[0]
    for t in range(count):
        highest = max(highest, weights[t])
    scale = np.float32(1 / math.sqrt(last - first))
    total = np.float32(0)
    for t in range(count):
        weights[t] = exp((weights[t] - highest) * scale)
        total += weights[t]
    scale = np.float32(1) / total
    for t in range(count):
        weights[t] *= scale


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
def dot(left, right, count):
    """Return the dot product of the first `count` numbers."""
    total = np.float32(0)
    for t in range(count):
        total += left[t] * right[t]
    return total


@jit_sums
def add_scaled(factor, numbers, count, out):
    """Add `factor * numbers` to `out`, for the first `count` numbers."""
    for t in range(count):
        out[t] += factor * numbers[t]
