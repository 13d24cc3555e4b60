"""The network of a policy without torch: compiled float32 arithmetic on one core, the same bits for a row in any batch.

    first layer (sum of the weights of the features that are not 0) -> ReLU
    -> blocks times x + ReLU(W normalised(x) + b) -> W normalised(x) + b

where `normalised` brings a row to mean 0 and variance 1; its scale and shift are folded into the layer behind it.

About a tenth of the features of an observation are not 0, so the first layer is a sum of few rows of its weights. The other
products are those of `products`. A row's logits thus depend on nothing but the row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property

import numpy as np

from noms_env._jit import jit, jit_allocating, jit_inline, jit_sums
from noms_env.actions import NOMINATE, NUM_ACTIONS
from noms_env.chance import philox
from noms_env.engine.layout import OBSERVATION
from noms_env.players.encoding import Encoding, suit_orders
from noms_env.players.features import COPY
from noms_env.players.products import PANEL, as_panels, multiply, padded, padded_columns
from noms_env.players.protocol import NOBODY
from noms_env.rules import Rules
from noms_env.rules.rulebook import choice_bytes
from noms_env.state import MAX_TRICKS, NUM_CHOICES

CARDS = 52
EPSILON = 1e-5
"""Added to the variance, as torch's LayerNorm does."""

BLOCK = 96
"""Rows that go through all layers together: their activations stay in the second-level cache."""

_VARIANT, _NUMBERS, _CHOICES = (
    next(section.start for section in OBSERVATION if section.name == name) for name in ("variant", "numbers", "choices")
)
_SEATS = _NUMBERS + 6
_DEALT = _NUMBERS
SIZES = NUM_CHOICES + 2
RULES_BYTES = SIZES + MAX_TRICKS + 1
FINE, OTHER_RULES, STRANGE_ACTION = range(3)
"""What `decide_rows` says of a row."""


def shapes_of(n_features: int, network: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
    """Names and shapes of an actor's parameters, as `training.network.Actor` names them.

    Args:
        n_features: inputs.
        network: `width`, `blocks` and `card_width`.
    """
    width, blocks, card_width = network["width"], network["blocks"], network["card_width"]
    shapes: dict[str, tuple[int, ...]] = {"trunk.first.weight": (width, n_features), "trunk.first.bias": (width,)}
    for block in range(blocks + 1):
        shapes |= {f"trunk.norms.{block}.weight": (width,), f"trunk.norms.{block}.bias": (width,)}
    for block in range(blocks):
        shapes |= {f"trunk.layers.{block}.weight": (width, width), f"trunk.layers.{block}.bias": (width,)}
    return shapes | {
        "head.cards": (CARDS, card_width),
        "head.play.weight": (card_width, width),
        "head.nominate.weight": (card_width, width),
        "head.words.weight": (NOMINATE - CARDS, width),
        "head.bias": (NUM_ACTIONS,),
    }


def rules_rows(kinds: Sequence[Rules]) -> np.ndarray:
    """What an observation shows of some rules, uint8, shape (kinds, RULES_BYTES)."""
    rows = np.zeros((len(kinds), RULES_BYTES), np.uint8)
    for row, kind in zip(rows, kinds, strict=True):
        row[:SIZES] = [*choice_bytes(kind), kind.seats, kind.variant.number]
        row[[SIZES + size for size in hand_sizes(kind)]] = 1
    return rows


def hand_sizes(kind: Rules) -> set[int]:
    """The numbers of cards that the seats may be dealt."""
    return set(kind.schedule) or {kind.options.get("hand_size") or len(kind.deck) // kind.seats}


@dataclass(frozen=True)
class Forward:
    """A policy's parameters, folded and laid out for the compiled functions.

    Attributes:
        rules: uint8, shape (kinds, RULES_BYTES): options as an observation shows them, seats, number of the variant, and 1
            for each number of cards that a hand may have.
        first: float32, shape (n_features, padded width): weights by feature, scales folded in; first those of bytes that
            are copied, then those of values that bytes may have.
        layers: float32, shape (blocks, padded width / PANEL, width, PANEL): weights of the blocks in panels.
        head: float32, shape (padded choices / PANEL, width, PANEL).
        biases: float32, shape (blocks + 1, padded width): of the first layer and the blocks.
        head_bias: float32, shape (padded choices,).
        copied: int16, shape (24, n_copied): per order of the suits, the bytes that are copied (`Encoding.index`).
        hot_columns: int16, shape (n_hot,): the bytes of which the value counts.
        hot_rows: int16, shape (24, n_hot, 256): per order, byte and value, the row of `first`, or -1.
        actions: see `Encoding`.
    """

    rules: np.ndarray = field(repr=False)
    first: np.ndarray = field(repr=False)
    layers: np.ndarray = field(repr=False)
    head: np.ndarray = field(repr=False)
    biases: np.ndarray = field(repr=False)
    head_bias: np.ndarray = field(repr=False)
    copied: np.ndarray = field(repr=False)
    hot_columns: np.ndarray = field(repr=False)
    hot_rows: np.ndarray = field(repr=False)
    actions: np.ndarray = field(repr=False)

    @classmethod
    def folded(cls, encoding: Encoding, tensors: Mapping[str, np.ndarray]) -> Forward:
        """From parameters as `shapes_of` lists them; the folding is reckoned in float64."""
        exact = {name: np.asarray(tensor, np.float64) for name, tensor in tensors.items()}
        blocks = sum(name.startswith("trunk.layers.") for name in exact) // 2
        first = exact["trunk.first.weight"] * encoding.scale
        biases = [exact["trunk.first.bias"]]
        layers = []
        for block in range(blocks):
            name = f"trunk.layers.{block}"
            weight, bias = _behind_norm(exact, block, exact[f"{name}.weight"], exact[f"{name}.bias"])
            layers.append(as_panels(weight))
            biases.append(bias)
        head, head_bias = _behind_norm(exact, blocks, *_head(exact, encoding))
        width = len(first)
        empty = np.zeros((0, padded(width) // PANEL, width, PANEL), np.float32)
        return cls(
            rules_rows(encoding.kinds),
            padded_columns(first.T[np.argsort(encoding.value[0] != COPY, kind="stable")]),
            np.stack(layers) if layers else empty,
            as_panels(head),
            padded_columns(np.stack(biases)),
            padded_columns(head_bias[np.newaxis])[0],
            np.ascontiguousarray(encoding.index[:, encoding.value[0] == COPY]),
            *_hot(encoding),
            np.ascontiguousarray(encoding.actions),
        )

    def is_finite(self) -> bool:
        """Whether the folding kept all numbers finite."""
        return all(np.isfinite(part).all() for part in (self.first, self.layers, self.head, self.biases, self.head_bias))

    @cached_property
    def parameters(self) -> tuple[np.ndarray, ...]:
        """All of it, as the compiled functions take it."""
        return tuple(getattr(self, part.name) for part in fields(self))

    def decide(self, observation: np.ndarray, mask: np.ndarray, seeds: np.ndarray, temperature: float, out: Out) -> None:
        """Fill `out`; see `decide_rows`."""
        decide_rows(observation, mask, seeds, temperature, self.parameters, (out.verdict, out.actions, out.probabilities))


@dataclass(frozen=True)
class Out:
    """What is asked of a `Forward`, for n rows.

    Attributes:
        verdict: int64, shape (n,): `FINE`, or what is wrong with a row.
        actions: int64, shape (n,); shape (0,) where no actions are asked for.
        probabilities: float32, shape (n, NUM_ACTIONS); shape (0, NUM_ACTIONS) where none are asked for.
    """

    verdict: np.ndarray
    actions: np.ndarray
    probabilities: np.ndarray

    @classmethod
    def of(cls, rows: int, *, probabilities: bool) -> Out:
        """Room for actions, or for probabilities."""
        asked = (0, rows) if probabilities else (rows, 0)
        return cls(np.empty(rows, np.int64), np.empty(asked[0], np.int64), np.zeros((asked[1], NUM_ACTIONS), np.float32))


def _hot(encoding: Encoding) -> tuple[np.ndarray, np.ndarray]:
    """`hot_columns` and `hot_rows` of a `Forward`."""
    hot = np.flatnonzero(encoding.value[0] != COPY)
    columns = np.unique(encoding.index[0, hot])
    rows = np.full((len(encoding.index), len(columns), 256), -1, np.int16)
    for order, (index, value) in enumerate(zip(encoding.index[:, hot], encoding.value[:, hot], strict=True)):
        rows[order, np.searchsorted(columns, index), value] = np.arange(len(hot)) + encoding.n_features - len(hot)
    assert (rows >= 0).sum() == rows.shape[0] * len(hot), "a value of a byte stands twice"
    return columns, rows


def _head(exact: Mapping[str, np.ndarray], encoding: Encoding) -> tuple[np.ndarray, np.ndarray]:
    """The head as one layer: weight, shape (n_choices, width), and bias."""
    cards = exact["head.cards"]
    parts = [cards @ exact["head.play.weight"], exact["head.words.weight"], cards @ exact["head.nominate.weight"]]
    weight: np.ndarray = np.concatenate(parts)[encoding.choices]
    bias: np.ndarray = exact["head.bias"][encoding.choices]
    return weight, bias


def _behind_norm(
    exact: Mapping[str, np.ndarray], norm: int, weight: np.ndarray, bias: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """A layer with the scale and shift of the norm before it folded in."""
    scaled: np.ndarray = weight * exact[f"trunk.norms.{norm}.weight"]
    shifted: np.ndarray = bias + weight @ exact[f"trunk.norms.{norm}.bias"]
    return scaled, shifted


# ----------------------------------------------------------------------------------------------------- the network


@jit_allocating
def decide_rows(observation, mask, seeds, temperature, parameters, out):
    """Actions or probabilities for some rows, block by block.

    Args:
        observation: uint8, shape (n, OBSERVATION_SIZE).
        mask: int8, shape (n, NUM_ACTIONS).
        seeds: int64, shape (n,): what the draw of each row follows from; not looked at where nothing is drawn.
        temperature: the logits are divided by it; 0 for the most probable action, the lowest of equals.
        parameters: see `Forward.parameters`.
        out: the arrays of an `Out`; are written.
    """
    rules, first, layers, head, biases, head_bias, copied, hot_columns, hot_rows, actions = parameters
    _, taken, probabilities = out
    room = min(len(observation), BLOCK)
    x = np.zeros((room, first.shape[1]), np.float32)
    level = np.zeros((room, first.shape[1]), np.float32)
    y = np.zeros((room, max(first.shape[1], len(head_bias))), np.float32)
    rows = np.empty(room, np.int64)
    order = np.empty(room, np.int64)
    active = np.empty(len(first) + 1, np.int64)
    amount = np.empty(len(first) + 1, np.float32)
    weights = np.empty(actions.shape[1], np.float64)
    next_row = 0
    while next_row < len(observation):
        next_row, count = next_block(observation, mask, rules, actions, next_row, rows, out)
        suit_orders(observation, rows[:count], order[:count])
        for i in range(count):
            found = find_active(observation[rows[i]], copied[order[i]], hot_columns, hot_rows[order[i]], active, amount)
            first_layer(first, biases[0], active, amount, found, x[i])
        run_layers(x, count, layers, head, biases, level, y)
        for i in range(count):
            names, legal = actions[order[i]], mask[rows[i]]
            best = find_best(y[i], head_bias, legal, names, weights)
            if len(probabilities) > 0:
                write_probabilities(weights, legal, names, best, temperature, probabilities[rows[i]])
            else:
                taken[rows[i]] = draw(weights, legal, names, best, temperature, seeds[rows[i]])


@jit
def next_block(observation, mask, rules, actions, start, rows, out):
    """Note up to `BLOCK` rows that the network has to look at: the row after them, and their number.

    Rows without a choice are answered, and rows that the network was not made for are left out.
    """
    verdict, taken, _ = out
    row, count = start, 0
    while row < len(observation) and count < len(rows):
        verdict[row] = judge(observation[row], mask[row], rules, actions)
        is_answered = len(taken) > 0 and take_forced(mask[row], row, taken)
        if verdict[row] == FINE and not is_answered:
            rows[count] = row
            count += 1
        row += 1
    return row, count


@jit
def run_layers(x, rows, layers, head, biases, level, y):
    """The blocks and the head: from the first layer's output in `x` to logits without their bias in `y`."""
    width = layers.shape[2]
    for block in range(len(layers)):
        for i in range(rows):
            normalise(x[i], width, level[i])
        multiply(level, rows, layers[block], y)
        for i in range(rows):
            add_block(y[i], biases[block + 1], x[i])
    for i in range(rows):
        normalise(x[i], width, level[i])
    multiply(level, rows, head, y)


@jit_inline
def judge(seen, legal, rules, actions):
    """Whether the network was made for this row: the rules are known to it, and so are the legal actions.

    A row in which nobody is to act is fine.
    """
    legal_count = 0
    for action in range(len(legal)):
        legal_count += legal[action] != 0
    if legal_count == 0:
        return FINE
    known = False
    for kind in range(len(rules)):
        different = 0
        for place in range(NUM_CHOICES):
            different |= seen[_CHOICES + place] ^ rules[kind, place]
        different |= seen[_SEATS] ^ rules[kind, NUM_CHOICES]
        size, variant = np.int64(seen[_DEALT]), np.int64(rules[kind, NUM_CHOICES + 1])
        is_dealt = size <= MAX_TRICKS and rules[kind, SIZES + size] != 0
        if different == 0 and is_dealt and seen[_VARIANT + variant] != 0:
            known = True
            break
    if not known:
        return OTHER_RULES
    for k in range(actions.shape[1]):
        legal_count -= legal[actions[0, k]] != 0
    return FINE if legal_count == 0 else STRANGE_ACTION


@jit_inline
def take_forced(legal, row, taken):
    """Take the only legal action, or `NOBODY` where there is none; False where there are several."""
    count = 0
    only = NOBODY
    for action in range(len(legal)):
        if legal[action] != 0:
            count += 1
            only = action
    taken[row] = only
    return count < 2


@jit_inline
def find_active(seen, copied, hot_columns, hot_rows, active, amount):
    """Write rows of `first` and what they are multiplied with, for the features that are not 0; their number."""
    count = 0
    for k in range(len(copied)):
        active[count] = k
        count += seen[copied[k]] != 0
    for k in range(count):
        amount[k] = seen[copied[active[k]]]
    for place in range(len(hot_columns)):
        active[count] = hot_rows[place, seen[hot_columns[place]]]
        amount[count] = 1
        count += active[count] >= 0
    return count


@jit_inline
def first_layer(first, bias, active, amount, count, x):
    """Write the first layer's ReLU."""
    for j in range(len(x)):
        x[j] = bias[j]
    whole = count // 4 * 4
    for k in range(0, whole, 4):
        w0, w1, w2, w3 = first[active[k]], first[active[k + 1]], first[active[k + 2]], first[active[k + 3]]
        a0, a1, a2, a3 = amount[k], amount[k + 1], amount[k + 2], amount[k + 3]
        for j in range(len(x)):
            x[j] = x[j] + a0 * w0[j] + a1 * w1[j] + a2 * w2[j] + a3 * w3[j]
    for k in range(whole, count):
        weight, times = first[active[k]], amount[k]
        for j in range(len(x)):
            x[j] += times * weight[j]
    for j in range(len(x)):
        x[j] = max(x[j], np.float32(0))


@jit_inline
def add_block(y, bias, x):
    """`x += ReLU(y + bias)`."""
    for j in range(len(x)):
        x[j] += max(y[j] + bias[j], np.float32(0))


@jit_inline
def normalise(x, width, out):
    """Write a row with mean 0 and variance 1."""
    mean = total(x, width) / np.float32(width)
    variance = squares(x, width, mean) / np.float32(width)
    factor = np.float32(1) / np.sqrt(variance + np.float32(EPSILON))
    for j in range(width):
        out[j] = (x[j] - mean) * factor


@jit_sums
def total(x, width):
    """The sum of a row."""
    result = np.float32(0)
    for j in range(width):
        result += x[j]
    return result


@jit_sums
def squares(x, width, mean):
    """The sum of the squared distances from the mean."""
    result = np.float32(0)
    for j in range(width):
        result += (x[j] - mean) * (x[j] - mean)
    return result


@jit_inline
def find_best(y, bias, legal, names, weights):
    """Write the logits to `weights`; the place of the highest legal one, the lowest action of equals; -1 for none."""
    best = -1
    for k in range(len(names)):
        weights[k] = np.float64(y[k]) + np.float64(bias[k])
        if legal[names[k]] != 0 and (best < 0 or is_better(weights, names, k, best)):
            best = k
    return best


@jit_inline
def is_better(weights, names, k, best):
    """Whether a place has the higher logit, or of equal ones the lower action."""
    return weights[k] > weights[best] or (weights[k] == weights[best] and names[k] < names[best])


@jit_inline
def weigh(weights, legal, names, best, temperature):
    """Turn logits into weights of the legal actions, and return their sum."""
    highest = weights[best]
    total = 0.0
    for k in range(len(names)):
        if legal[names[k]] != 0:
            weights[k] = np.exp((weights[k] - highest) / temperature)
            total += weights[k]
    return total


@jit_inline
def write_probabilities(weights, legal, names, best, temperature, out):
    """Write the probabilities of a row; nothing where nothing is legal."""
    if best >= 0 and temperature == 0:
        out[names[best]] = 1
    elif best >= 0:
        total = weigh(weights, legal, names, best, temperature)
        for k in range(len(names)):
            if legal[names[k]] != 0:
                out[names[k]] = weights[k] / total


@jit_inline
def draw(weights, legal, names, best, temperature, seed):
    """An action by the inverse of the distribution function, at a number that follows from a seed."""
    if temperature == 0:
        return np.int64(names[best])
    left = uniform(seed) * weigh(weights, legal, names, best, temperature)
    chosen = best
    for k in range(len(names)):
        if legal[names[k]] != 0:
            chosen = k
            left -= weights[k]
            if left < 0:
                break
    return np.int64(names[chosen])


@jit_inline
def uniform(seed):
    """A number from 0 to below 1 that follows from a seed: 53 bits of Philox."""
    number = int(seed)
    words = philox(0, 0, 0, 0, number & 0xFFFFFFFF, number >> 32)
    return ((words[0] << 21) | (words[1] >> 11)) / 2.0**53
