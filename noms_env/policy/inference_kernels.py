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
from noms_env.policy.matmul import PANEL, SIDE_BY_SIDE, multiply, multiply_sparse
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
        parameters: see `Forward.parameters`.
        out: written: verdicts, int64, shape (n,); actions, int64, shape (n,), or (0,) to skip them; probabilities, float32,
            zeros of shape (n, NUM_ACTIONS), or (0, NUM_ACTIONS) to skip them.
    """
    rules, first, first_bias, layers, head, biases, head_bias = parameters[:7]
    scorer = parameters[7:11]
    copies, hot_columns, hot_rows, actions, extended_size = parameters[11:]
    _, taken, probabilities = out
    room, width = min(len(observation), BLOCK), head.shape[1]
    x = np.zeros((room, first_bias.shape[1]), np.float32)
    level = np.zeros((room, first_bias.shape[1]), np.float32)
    y = np.zeros((room, max(first_bias.shape[1], len(head_bias))), np.float32)
    rows, rule_sets, order = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64)
    active = np.empty(room * (first.shape[1] + SIDE_BY_SIDE), np.uint16)
    amount = np.empty(len(active), np.float32)
    starts = np.zeros(room + 1, np.int64)
    options = np.empty(room * actions.shape[1] + 1, np.int16)
    at_cards = np.empty((len(options), len(scorer[0])), np.uint8)
    hidden = np.empty(len(scorer[3]), np.float32)
    ends = np.zeros(room + 1, np.int64)
    every, needed = np.full(room, -1), np.empty(room, np.int64)
    weights = np.empty(actions.shape[1], np.float64)
    extended = np.empty(extended_size, np.uint8)
    next_row = 0
    while next_row < len(observation):
        next_row, count = next_block(observation, mask, rules, actions, next_row, rows, rule_sets, out)
        suit_orders(observation, rows[:count], order[:count])
        for i in range(count):
            seen, names = observation[rows[i]], actions[order[i]]
            if extended_size > 0:
                extend(seen, extended)
                seen = extended
            found = find_active(seen, copies[order[i]], active, amount, starts[i])
            found = find_hot(seen, hot_columns, hot_rows[order[i]], active, amount, found)
            starts[i + 1] = fill_up(active, amount, starts[i], found)
            ends[i + 1], needed[i] = find_options(mask[rows[i]], names, options, ends[i])
            if len(scorer[3]) > 0:
                needed[i] |= note_counted(seen, names, options[ends[i] : ends[i + 1]], scorer, at_cards[ends[i] :])
        multiply_sparse(active, amount, starts, count, first, y)
        for i in range(count):
            x[i] = 0
            add_layer(y[i], first_bias[rule_sets[i]], width, x[i], level[i])
        run_layers(x, count, layers, head, biases, every, needed, level, y)
        for i in range(count):
            names, places = actions[order[i]], options[ends[i] : ends[i + 1]]
            score_cards(y[i], places, names, at_cards[ends[i] :], scorer, hidden)
            best = find_best(y[i], head_bias, places, names, weights)
            if len(probabilities) > 0:
                write_probabilities(weights, places, names, best, temperature, probabilities[rows[i]])
            else:
                taken[rows[i]] = draw(weights, places, names, best, temperature, seeds[rows[i]])


@jit
def next_block(observation, mask, rules, actions, start, rows, rule_sets, out):
    """Collect up to `BLOCK` rows for the network, with their rules. Return the row after them, and their number.

    Rows without a choice are answered at once; rows that the network was not trained for are left out.
    """
    verdict, taken, _ = out
    row, count = start, 0
    while row < len(observation) and count < len(rows):
        legal = mask[row]
        legal_count, last = count_legal(legal)
        rule_sets[count], verdict[row] = judge(observation[row], legal, legal_count, rules, actions)
        is_answered = len(taken) > 0 and legal_count < 2
        if is_answered:
            taken[row] = last
        if verdict[row] == FINE and not is_answered:
            rows[count] = row
            count += 1
        row += 1
    return row, count


@jit
def run_layers(x, rows, layers, head, biases, every, needed, level, y):
    """Run the blocks and the head, from the first layer's output in `x`, normalised in `level`, to logits in `y`.

    The logits lack their bias, and are written only in panels that are needed; `every` marks all panels as needed.
    """
    for block in range(len(layers)):
        multiply(level, rows, layers[block], every, y)
        for i in range(rows):
            add_layer(y[i], biases[block], head.shape[1], x[i], level[i])
    multiply(level, rows, head, needed, y)


@jit_inline
def count_legal(legal):
    """Return the number of legal actions, and the last of them, `NOBODY` for none."""
    count, last = 0, NOBODY
    for action in range(len(legal)):
        if legal[action] != 0:
            count, last = count + 1, action
    return count, last


@jit_inline
def judge(seen, legal, legal_count, rules, actions):
    """Return the index of a row's rules, and the verdict; a row in which nobody is to act is fine."""
    if legal_count == 0:
        return 0, FINE
    number = number_of_rules(seen, rules)
    if number == len(rules) and len(rules) > 0:
        return 0, OTHER_RULES
    known_count = 0
    for k in range(actions.shape[1]):
        known_count += legal[actions[0, k]] != 0
    return number, FINE if known_count == legal_count else STRANGE_ACTION


@jit_inline
def find_active(seen, copies, active, amount, start):
    """Write the copied features that are not 0, and their values, from `start` on. Return the end."""
    end = start
    for first in range(0, len(seen), CHUNK):
        inside = min(first, len(seen) - CHUNK)
        left = nonzero(seen, inside) >> (first - inside)
        while left != 0:
            byte = first + lowest(left)
            active[end] = copies[byte]
            amount[end] = seen[byte]
            end += copies[byte] >= 0
            left &= left - 1
    return end


@jit_inline
def find_hot(seen, hot_columns, hot_rows, active, amount, end):
    """Append the one-hot features. Return the end."""
    for place in range(len(hot_columns)):
        feature = hot_rows[place, seen[hot_columns[place]]]
        active[end] = feature
        amount[end] = 1
        end += feature >= 0
    return end


@jit_inline
def fill_up(active, amount, start, end):
    """Pad with zeros to a multiple of `SIDE_BY_SIDE` since `start`, at least one multiple. Return the end."""
    while end == start or (end - start) % SIDE_BY_SIDE != 0:
        active[end] = 0
        amount[end] = 0
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
def note_counted(seen, names, options, scorer, at_cards):
    """Write the scorer's features of the legal cards to play. Return the panels of the context, 0 without such cards."""
    counted, _, own, out = scorer
    panels = np.int64(0)
    for k in range(len(options)):
        if options[k] < len(own):
            for section in range(len(counted)):
                at_cards[k, section] = seen[counted[section] + names[options[k]]]
            first, last = len(names) // PANEL, (len(names) + len(out) - 1) // PANEL
            panels |= (1 << (last + 1)) - (1 << first)
    return panels


@jit_inline
def score_cards(y, options, names, at_cards, scorer, hidden):
    """Add scores to the logits of the legal cards to play; the context follows the logits of all choices."""
    _, card, own, out = scorer
    for k in range(len(options)):
        place = options[k]
        if place < len(own):
            write_hidden(y[len(names) :], at_cards[k], card, own[place], hidden)
            y[place] += along_positive(hidden, out)


@jit_inline
def write_hidden(context, counted, card, own, hidden):
    """Write the scorer's hidden units for a card, before the ReLU."""
    for unit in range(len(own)):
        hidden[unit] = context[unit] + own[unit]
    for section in range(len(card)):
        number = np.float32(counted[section])
        if number != 0:
            for unit in range(len(own)):
                hidden[unit] += number * card[section, unit]


@jit_sums
def along_positive(hidden, out):
    """Return the sum of ReLU(hidden) * out."""
    result = np.float32(0)
    for unit in range(len(out)):
        result += max(hidden[unit], np.float32(0)) * out[unit]
    return result


@jit_inline
def add_layer(y, bias, width, x, level):
    """`x += ReLU(y + bias)`, and `level = normalised(x)`."""
    for j in range(len(x)):
        x[j] += max(y[j] + bias[j], np.float32(0))
    normalise(x, width, level)


@jit_inline
def normalise(x, width, out):
    """Write a row scaled to mean 0 and variance 1."""
    mean = total(x, width) / np.float32(width)
    variance = squares(x, width, mean) / np.float32(width)
    factor = np.float32(1) / np.sqrt(variance + np.float32(EPSILON))
    for j in range(width):
        out[j] = (x[j] - mean) * factor


@jit_sums
def total(x, width):
    """Return the sum of a row."""
    result = np.float32(0)
    for j in range(width):
        result += x[j]
    return result


@jit_sums
def squares(x, width, mean):
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
def weigh_options(seen, legal, names, y, bias, scorer, room):
    """Score the options of a row on a GPU, from the network's logits. Return their number, and the best as from `find_best`.

    Args:
        seen: bytes with the scorer's sections.
        legal: int8, shape (NUM_ACTIONS,).
        names: int16, shape (n_choices,): the action of each choice.
        y: float32, shape (outputs,): logits, to which scores are added, and the scorer's context.
        bias: float32, shape (at least n_choices,).
        scorer: `counted`, `card`, `own` and `out` of a `Forward`; no units without a scorer.
        room: written: options, int16, and weights, float64, shape (n_choices,); hidden units, float32, shape (units,); the
            scorer's features, uint8, shape (cards to play, sections).
    """
    options, weights, hidden, at_cards = room
    count, _ = find_options(legal, names, options, 0)
    if len(scorer[3]) > 0:
        note_counted(seen, names, options[:count], scorer, at_cards)
        score_cards(y, options[:count], names, at_cards, scorer, hidden)
    return count, find_best(y, bias, options[:count], names, weights)


@jit_inline
def weigh(weights, count, best, temperature):
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
        total = weigh(weights, len(options), best, temperature)
        for k in range(len(options)):
            out[names[options[k]]] = weights[k] / total


@jit_inline
def chance_of(weights, options, names, best, temperature, action):
    """Return the probability of one action, float32, as `write_probabilities` writes it."""
    if best < 0 or temperature == 0:
        return np.float32(1.0 if best >= 0 and names[options[best]] == action else 0.0)
    total, chance = weigh(weights, len(options), best, temperature), np.float32(0)
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
    chosen = best
    if number >= 0:
        left = number * total
        for k in range(len(logits)):
            if mask[k] != 0:
                chosen = k
                left -= math.exp(np.float64(logits[k] - logits[best]))
                if left < 0:
                    break
    return chosen, logits[chosen] - logits[best] - math.log(total)


@jit_inline
def draw(weights, options, names, best, temperature, seed):
    """Draw an action by the inverse of the distribution function, at a number from a seed: 53 bits of Philox."""
    if temperature == 0:
        return np.int64(names[options[best]])
    left = uniform(seed) * weigh(weights, len(options), best, temperature)
    chosen = best
    for k in range(len(options)):
        chosen = k
        left -= weights[k]
        if left < 0:
            break
    return np.int64(names[options[chosen]])
