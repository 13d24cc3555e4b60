"""Compiled forward pass of a policy's network: from observations and masks to actions or probabilities.

`inference` defines the network and lays out its parameters.
"""

from __future__ import annotations

import math

import numpy as np

from noms_env._jit import jit, jit_allocating, jit_inline, jit_sums, lowest, nonzero
from noms_env.core.chance import philox
from noms_env.observation.suit_order import suit_orders
from noms_env.players.protocol import NOBODY
from noms_env.policy.extra_features import extend
from noms_env.policy.matmul import PANEL, UNROLL, multiply, multiply_sparse
from noms_env.policy.rules_lookup import number_of_rules

EPSILON = 1e-5
"""Added to the variance, as in torch's LayerNorm."""

CHUNK = 56
"""Bytes that `nonzero` reads."""

BLOCK = 192
"""Rows that pass through all layers together, so that their activations stay in the L2 cache."""

FINE, OTHER_RULES, STRANGE_ACTION = range(3)
"""Verdicts of `infer_rows` on a row: fine, rules unknown to the policy, a legal action unknown to the policy."""


@jit_allocating
def infer_rows(observation, mask, seeds, temperature, parameters, out):
    """Write actions or probabilities for some rows, block by block.

    Args:
        observation: uint8, shape (n, OBSERVATION_SIZE).
        mask: int8, shape (n, NUM_ACTIONS).
        seeds: int64, shape (n,): seed of each row's draw; not read at temperature 0.
        temperature: divisor of the logits; 0 takes the most probable action, the lowest of equals.
        parameters: the fields of `inference.Forward`.
        out: written: verdicts, int64, shape (n,); actions, int64, shape (n,), or (0,) to skip them; probabilities, float32,
            zeros of shape (n, NUM_ACTIONS), or (0, NUM_ACTIONS) to skip them.
    """
    rules, first, first_bias, layers, head, biases, head_bias = parameters[:7]
    scorer = parameters[7:11]
    copies, hot_columns, hot_rows, actions, extended_size = parameters[11:]
    _, out_actions, probabilities = out
    block_size, width = min(len(observation), BLOCK), head.shape[1]
    x = np.zeros((block_size, first_bias.shape[1]), np.float32)
    normed = np.zeros((block_size, first_bias.shape[1]), np.float32)
    y = np.zeros((block_size, max(first_bias.shape[1], len(head_bias))), np.float32)
    rows, rule_sets, order = np.empty(block_size, np.int64), np.empty(block_size, np.int64), np.empty(block_size, np.int64)
    active = np.empty(block_size * (first.shape[1] + UNROLL), np.uint16)
    amounts = np.empty(len(active), np.float32)
    starts = np.zeros(block_size + 1, np.int64)
    options = np.empty(block_size * actions.shape[1] + 1, np.int16)
    card_inputs = np.empty((len(options), len(scorer[0])), np.uint8)
    hidden = np.empty(len(scorer[3]), np.float32)
    ends = np.zeros(block_size + 1, np.int64)
    all_panels, panels = np.full(block_size, -1), np.empty(block_size, np.int64)
    weights = np.empty(actions.shape[1], np.float64)
    extended = np.empty(extended_size, np.uint8)
    next_row = 0
    while next_row < len(observation):
        next_row, count = next_block(observation, mask, rules, actions, next_row, rows, rule_sets, out)
        suit_orders(observation, rows[:count], order[:count])
        for i in range(count):
            row_bytes, names = observation[rows[i]], actions[order[i]]
            if extended_size > 0:
                extend(row_bytes, extended)
                row_bytes = extended
            end = find_active(row_bytes, copies[order[i]], active, amounts, starts[i])
            end = find_one_hot(row_bytes, hot_columns, hot_rows[order[i]], active, amounts, end)
            starts[i + 1] = pad_terms(active, amounts, starts[i], end)
            ends[i + 1], panels[i] = find_options(mask[rows[i]], names, options, ends[i])
            if len(scorer[3]) > 0:
                panels[i] |= write_card_inputs(row_bytes, names, options[ends[i] : ends[i + 1]], scorer, card_inputs[ends[i] :])
        multiply_sparse(active, amounts, starts, count, first, y)
        for i in range(count):
            x[i] = 0
            add_layer(y[i], first_bias[rule_sets[i]], width, x[i], normed[i])
        run_layers(x, count, layers, head, biases, all_panels, panels, normed, y)
        for i in range(count):
            names, places = actions[order[i]], options[ends[i] : ends[i + 1]]
            score_cards(y[i], places, names, card_inputs[ends[i] :], scorer, hidden)
            best = find_best(y[i], head_bias, places, names, weights)
            if len(probabilities) > 0:
                write_probabilities(weights, places, names, best, temperature, probabilities[rows[i]])
            else:
                out_actions[rows[i]] = draw(weights, places, names, best, temperature, seeds[rows[i]])


@jit
def next_block(observation, mask, rules, actions, start, rows, rule_sets, out):
    """Collect up to `BLOCK` rows for the network, with their rules. Return the row after them, and their number.

    Rows without a choice are answered at once; rows that the network was not trained for are left out.
    """
    verdict, out_actions, _ = out
    row, count = start, 0
    while row < len(observation) and count < len(rows):
        legal = mask[row]
        legal_count, last = count_legal(legal)
        rule_sets[count], verdict[row] = judge(observation[row], legal, legal_count, rules, actions)
        is_answered = len(out_actions) > 0 and legal_count < 2
        if is_answered:
            out_actions[row] = last
        if verdict[row] == FINE and not is_answered:
            rows[count] = row
            count += 1
        row += 1
    return row, count


@jit
def run_layers(x, rows, layers, head, biases, all_panels, panels, normed, y):
    """Run the blocks and the head, from the first layer's output in `x`, normalised in `normed`, to logits in `y`.

    The logits lack their bias. Each row gets those of its `panels`; `all_panels` is the set of all panels for each row.
    """
    for block in range(len(layers)):
        multiply(normed, rows, layers[block], all_panels, y)
        for i in range(rows):
            add_layer(y[i], biases[block], head.shape[1], x[i], normed[i])
    multiply(normed, rows, head, panels, y)


@jit_inline
def count_legal(legal):
    """Return the number of legal actions, and the last of them, `NOBODY` for none."""
    count, last = 0, NOBODY
    for action in range(len(legal)):
        if legal[action] != 0:
            count, last = count + 1, action
    return count, last


@jit_inline
def judge(observation, legal, legal_count, rules, actions):
    """Return the index of a row's rules, and the verdict; a row in which nobody is to act is fine."""
    if legal_count == 0:
        return 0, FINE
    number = number_of_rules(observation, rules)
    if number == len(rules) and len(rules) > 0:
        return 0, OTHER_RULES
    known_count = 0
    for k in range(actions.shape[1]):
        known_count += legal[actions[0, k]] != 0
    return number, FINE if known_count == legal_count else STRANGE_ACTION


@jit_inline
def find_active(row_bytes, copies, active, amounts, start):
    """Write the copied features that are not 0, and their values, from `start` on. Return the end."""
    end = start
    for first in range(0, len(row_bytes), CHUNK):
        inside = min(first, len(row_bytes) - CHUNK)
        remaining = nonzero(row_bytes, inside) >> (first - inside)
        while remaining != 0:
            byte = first + lowest(remaining)
            active[end] = copies[byte]
            amounts[end] = row_bytes[byte]
            end += copies[byte] >= 0
            remaining &= remaining - 1
    return end


@jit_inline
def find_one_hot(row_bytes, hot_columns, hot_rows, active, amounts, end):
    """Append the one-hot features. Return the end."""
    for place in range(len(hot_columns)):
        feature = hot_rows[place, row_bytes[hot_columns[place]]]
        active[end] = feature
        amounts[end] = 1
        end += feature >= 0
    return end


@jit_inline
def pad_terms(active, amounts, start, end):
    """Pad with zeros to a multiple of `UNROLL` since `start`, at least one multiple. Return the end."""
    while end == start or (end - start) % UNROLL != 0:
        active[end] = 0
        amounts[end] = 0
        end += 1
    return end


@jit_inline
def find_options(legal, names, options, start):
    """Write the choices that are legal from `start` on. Return the end, and the set of their panels."""
    end, panels = start, np.int64(0)
    for k in range(len(names)):
        options[end] = k
        end += legal[names[k]] != 0
    for place in range(start, end):
        panels |= 1 << (np.int64(options[place]) // PANEL)
    return end, panels


@jit_inline
def write_card_inputs(row_bytes, names, options, scorer, card_inputs):
    """Write the scorer's features of the legal cards to play. Return the panels of the context, 0 without such cards."""
    section_starts, _, own, out = scorer
    panels = np.int64(0)
    for k in range(len(options)):
        if options[k] < len(own):
            for section in range(len(section_starts)):
                card_inputs[k, section] = row_bytes[section_starts[section] + names[options[k]]]
            first, last = len(names) // PANEL, (len(names) + len(out) - 1) // PANEL
            panels |= (1 << (last + 1)) - (1 << first)
    return panels


@jit_inline
def score_cards(y, options, names, card_inputs, scorer, hidden):
    """Add scores to the logits of the legal cards to play; the context follows the logits of all choices."""
    _, card, own, out = scorer
    for k in range(len(options)):
        place = options[k]
        if place < len(own):
            write_hidden_units(y[len(names) :], card_inputs[k], card, own[place], hidden)
            y[place] += dot_relu(hidden, out)


@jit_inline
def write_hidden_units(context, inputs, card, own, hidden):
    """Write the scorer's hidden units for a card, before the ReLU."""
    for unit in range(len(own)):
        hidden[unit] = context[unit] + own[unit]
    for section in range(len(card)):
        number = np.float32(inputs[section])
        if number != 0:
            for unit in range(len(own)):
                hidden[unit] += number * card[section, unit]


@jit_sums
def dot_relu(hidden, out):
    """Return the sum of ReLU(hidden) * out."""
    result = np.float32(0)
    for unit in range(len(out)):
        result += max(hidden[unit], np.float32(0)) * out[unit]
    return result


@jit_inline
def add_layer(y, bias, width, x, normed):
    """Add `ReLU(y + bias)` to `x`, and write `x`, normalised, into `normed`."""
    for j in range(len(x)):
        x[j] += max(y[j] + bias[j], np.float32(0))
    normalise(x, width, normed)


@jit_inline
def normalise(x, width, out):
    """Write a row scaled to mean 0 and variance 1."""
    mean = sum_row(x, width) / np.float32(width)
    variance = sum_squares(x, width, mean) / np.float32(width)
    factor = np.float32(1) / np.sqrt(variance + np.float32(EPSILON))
    for j in range(width):
        out[j] = (x[j] - mean) * factor


@jit_sums
def sum_row(x, width):
    """Return the sum of a row."""
    result = np.float32(0)
    for j in range(width):
        result += x[j]
    return result


@jit_sums
def sum_squares(x, width, mean):
    """Return the sum of squared differences from the mean."""
    result = np.float32(0)
    for j in range(width):
        result += (x[j] - mean) * (x[j] - mean)
    return result


@jit_inline
def find_best(y, bias, options, names, weights):
    """Write the legal actions' logits. Return the index of the highest, on a tie that of the lowest action; -1 for none."""
    best = -1
    for k in range(len(options)):
        weights[k] = np.float64(y[options[k]]) + np.float64(bias[options[k]])
        is_lower = best >= 0 and names[options[k]] < names[options[best]]
        if best < 0 or weights[k] > weights[best] or (weights[k] == weights[best] and is_lower):
            best = k
    return best


@jit
def weigh_options(row_bytes, legal, names, y, bias, scorer, scratch):
    """Score the options of a row on a GPU, from the network's logits. Return their number, and the best as from `find_best`.

    Args:
        row_bytes: bytes with the scorer's sections.
        legal: int8, shape (NUM_ACTIONS,).
        names: int16, shape (n_choices,): the action of each choice.
        y: float32, shape (outputs,): logits, to which scores are added, and the scorer's context.
        bias: float32, shape (at least n_choices,).
        scorer: `counted`, `card`, `own` and `out` of a `Forward`; no units without a scorer.
        scratch: written: options, int16, and weights, float64, shape (n_choices,); hidden units, float32, shape (units,); the
            scorer's features, uint8, shape (cards to play, sections).
    """
    options, weights, hidden, card_inputs = scratch
    count, _ = find_options(legal, names, options, 0)
    if len(scorer[3]) > 0:
        write_card_inputs(row_bytes, names, options[:count], scorer, card_inputs)
        score_cards(y, options[:count], names, card_inputs, scorer, hidden)
    return count, find_best(y, bias, options[:count], names, weights)


@jit_inline
def write_softmax_weights(weights, count, best, temperature):
    """Turn logits into weights in place. Return their sum."""
    highest = weights[best]
    total = 0.0
    for k in range(count):
        weights[k] = math.exp((weights[k] - highest) / temperature)
        total += weights[k]
    return total


@jit_inline
def write_probabilities(weights, options, names, best, temperature, out):
    """Write the probabilities of a row; nothing if no action is legal."""
    if best >= 0 and temperature == 0:
        out[names[options[best]]] = 1
    elif best >= 0:
        total = write_softmax_weights(weights, len(options), best, temperature)
        for k in range(len(options)):
            out[names[options[k]]] = weights[k] / total


@jit_inline
def chance_of(weights, options, names, best, temperature, action):
    """Return the probability of one action, float32, as `write_probabilities` writes it."""
    if best < 0 or temperature == 0:
        return np.float32(1.0 if best >= 0 and names[options[best]] == action else 0.0)
    total, chance = write_softmax_weights(weights, len(options), best, temperature), np.float32(0)
    for k in range(len(options)):
        if names[options[k]] == action:
            chance = np.float32(weights[k] / total)
    return chance


@jit_inline
def uniform(seed):
    """Return a number in [0, 1) from a seed."""
    number = int(seed)
    words = philox(0, 0, 0, 0, number & 0xFFFFFFFF, number >> 32)
    return ((words[0] << 21) | (words[1] >> 11)) / 2.0**53


@jit_inline
def draw_choice(logits, mask, number):
    """Draw from the softmax of the legal logits, by the inverse of its distribution function.

    Args:
        logits: float32, shape (choices,).
        mask: int8, shape (choices,): at least one is legal.
        number: uniform in [0, 1); below 0 takes the most probable choice, the first of equals.

    Returns:
        The choice, and its log-probability, float64.
    """
    best = -1
    for k in range(len(logits)):
        if mask[k] != 0 and (best < 0 or logits[k] > logits[best]):
            best = k
    total = 0.0
    for k in range(len(logits)):
        if mask[k] != 0:
            total += math.exp(np.float64(logits[k] - logits[best]))
    choice = best
    if number >= 0:
        remaining = number * total
        for k in range(len(logits)):
            if mask[k] != 0:
                choice = k
                remaining -= math.exp(np.float64(logits[k] - logits[best]))
                if remaining < 0:
                    break
    return choice, logits[choice] - logits[best] - math.log(total)


@jit_inline
def draw(weights, options, names, best, temperature, seed):
    """Draw an action by the inverse of the distribution function, at a number from a seed: 53 bits of Philox."""
    if temperature == 0:
        return np.int64(names[options[best]])
    remaining = uniform(seed) * write_softmax_weights(weights, len(options), best, temperature)
    choice = best
    for k in range(len(options)):
        choice = k
        remaining -= weights[k]
        if remaining < 0:
            break
    return np.int64(names[options[choice]])
