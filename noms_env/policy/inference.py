"""The network of a policy without torch: float32 on one core, bit-identical for a row in any batch (`inference_kernels`).

    first layer (sum of the weights of the nonzero features) -> ReLU
    -> for each block: x + ReLU(W normalised(x) + b) -> W normalised(x) + b
    for a legal card to play also: + out . ReLU(card @ card and trick features + own + context)

`normalised` scales a row to mean 0 and variance 1; its scale and shift are folded into the next layer. The context comes from
the rows of the last W after those of the choices. About a tenth of the features are nonzero, so the first layer is a sum of few
rows of its weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from noms_env.core.actions import NOMINATE, NUM_ACTIONS
from noms_env.core.state import MAX_VARIANTS, NUM_CHOICES
from noms_env.observation.features import COPY, IDENTITY
from noms_env.observation.layout import OBSERVATION_SIZE
from noms_env.policy.encoding import CARDS, Encoding
from noms_env.policy.matmul import PANEL, as_panels, pad_columns, pad_width
from noms_env.policy.rules_lookup import CHOICES, SEATS, VARIANT


def shapes_of(encoding: Encoding, network: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
    """Return names and shapes of an actor's parameters, as in `noms_training.learn.network.Actor`.

    `network` has `width`, `blocks`, `card_width` and, if there is a scorer, `scorer_width`.
    """
    width, blocks, card_width = network["width"], network["blocks"], network["card_width"]
    shapes: dict[str, tuple[int, ...]] = {"trunk.first.weight": (width, encoding.n_features), "trunk.first.bias": (width,)}
    for block in range(blocks + 1):
        shapes |= {f"trunk.norms.{block}.weight": (width,), f"trunk.norms.{block}.bias": (width,)}
    for block in range(blocks):
        shapes |= {f"trunk.layers.{block}.weight": (width, width), f"trunk.layers.{block}.bias": (width,)}
    if units := network.get("scorer_width", 0):
        shapes |= {
            "scorer.card": (units, encoding.card_columns.shape[1]),
            "scorer.own": (CARDS, units),
            "scorer.context.weight": (units, width),
            "scorer.context.bias": (units,),
            "scorer.out": (units,),
        }
    return shapes | shapes_of_head(width, card_width)


def shapes_of_head(width: int, card_width: int) -> dict[str, tuple[int, ...]]:
    """Return names and shapes of the parameters of the last layer."""
    return {
        "head.cards": (CARDS, card_width),
        "head.play.weight": (card_width, width),
        "head.nominate.weight": (card_width, width),
        "head.words.weight": (NOMINATE - CARDS, width),
        "head.bias": (NUM_ACTIONS,),
    }


class Forward(NamedTuple):
    """A policy's parameters, folded and laid out for the compiled functions.

    `rules`, `actions` and `extended_size` are those of the encoding.

    Attributes:
        first: float32, shape (padded width / PANEL, n, PANEL): scaled weights of the copied features, then of the one-hot ones.
        first_bias: float32, shape (rule_sets, padded width): includes the features that are constant at a table; one row if a
            table may have any options.
        layers: float32, shape (blocks, padded width / PANEL, width, PANEL).
        head: float32, shape (padded outputs / PANEL, width, PANEL): the choices, then the scorer's context.
        biases: float32, shape (blocks, padded width): biases of the blocks.
        head_bias: float32, shape (padded outputs,).
        section_starts: int64, shape (k,): starts of the scorer's sections in an extended observation.
        card: float32, shape (k, units): scaled weights of the scorer.
        own: float32, shape (cards to play, units): the scorer's embedding of each card, with its bias.
        out: float32, shape (units,): last layer of the scorer; no units without a scorer.
        copies: int16, shape (24, bytes of an extended observation): per order of the suits, the feature that a byte is copied
            to, or -1.
        hot_columns: int16, shape (n_hot,): bytes with one-hot features.
        hot_rows: int16, shape (24, n_hot, 256): per order, byte and value, the feature, or -1.
    """

    rules: np.ndarray
    first: np.ndarray
    first_bias: np.ndarray
    layers: np.ndarray
    head: np.ndarray
    biases: np.ndarray
    head_bias: np.ndarray
    section_starts: np.ndarray
    card: np.ndarray
    own: np.ndarray
    out: np.ndarray
    copies: np.ndarray
    hot_columns: np.ndarray
    hot_rows: np.ndarray
    actions: np.ndarray
    extended_size: int

    @classmethod
    def folded(cls, encoding: Encoding, tensors: Mapping[str, np.ndarray]) -> Forward:
        """Fold parameters with the names of `shapes_of`, in float64."""
        exact = {name: np.asarray(tensor, np.float64) for name, tensor in tensors.items()}
        first, first_bias, blocks, weight, head_bias = folded_layers(encoding, exact)
        layers, biases = [as_panels(layer) for layer, _ in blocks], [bias for _, bias in blocks]
        width = len(first)
        known, of_rules = _find_constants(encoding)
        copied, hot = (np.flatnonzero(~known & chosen) for chosen in (encoding.value[0] == COPY, encoding.value[0] != COPY))
        return cls(
            encoding.rules,
            as_panels(first[:, np.concatenate([copied, hot])]),
            pad_columns(of_rules @ first[:, known].T + first_bias),
            np.stack(layers) if layers else np.zeros((0, pad_width(width) // PANEL, width, PANEL), np.float32),
            as_panels(weight),
            pad_columns(np.stack(biases) if biases else np.zeros((0, width))),
            pad_columns(head_bias[np.newaxis])[0],
            *scorer_parts(encoding, exact, head_bias[len(encoding.choices) :]),
            _map_copies(encoding.index[:, copied], encoding.extended_size or OBSERVATION_SIZE),
            *_map_one_hot(encoding.index[:, hot], encoding.value[:, hot], len(copied)),
            np.ascontiguousarray(encoding.actions),
            encoding.extended_size,
        )

    @property
    def parameters(self) -> tuple[Any, ...]:
        """All fields, as `infer_rows` takes them."""
        return tuple(self)


def scorer_parts(
    encoding: Encoding, exact: Mapping[str, np.ndarray], context_bias: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return `section_starts`, `card`, `own` and `out` of a `Forward`; they have no units without a scorer."""
    columns = encoding.card_columns
    starts = encoding.index[IDENTITY, columns[0]].astype(np.int64) - encoding.choices[0]
    if "scorer.out" not in exact:
        return starts[:0], *(np.zeros(shape, np.float32) for shape in ((0, 0), (len(columns), 0), (0,)))
    card = (exact["scorer.card"] * encoding.scale[columns[0]]).T
    own = exact["scorer.own"][encoding.choices[: len(columns)]] + context_bias
    return starts, *(np.ascontiguousarray(part, np.float32) for part in (card, own, exact["scorer.out"]))


def _map_copies(index: np.ndarray, size: int) -> np.ndarray:
    """Return `copies` of a `Forward` for `size` bytes; `index` are the copied bytes, int16, shape (24, n_copied)."""
    copies = np.full((len(index), size), -1, np.int16)
    np.put_along_axis(copies, index.astype(np.int64), np.arange(index.shape[1], dtype=np.int16)[np.newaxis], axis=1)
    assert (copies >= 0).sum() == index.size, "a byte is copied twice"
    return copies


def _find_constants(encoding: Encoding) -> tuple[np.ndarray, np.ndarray]:
    """Return the constant features of a table, bool, shape (n_features,), and their values, shape (rule_sets, constants)."""
    rules = encoding.rules
    if len(rules) == 0:
        return np.zeros(encoding.n_features, np.bool_), np.zeros((1, 0))
    seen = np.zeros((len(rules), OBSERVATION_SIZE), np.uint8)
    seen[:, CHOICES : CHOICES + NUM_CHOICES] = rules[:, :NUM_CHOICES]
    seen[:, SEATS] = rules[:, NUM_CHOICES]
    seen[np.arange(len(rules)), VARIANT + rules[:, NUM_CHOICES + 1].astype(np.int64)] = 1
    index, value = encoding.index[0], encoding.value[0]
    known = (index >= CHOICES) & (index < CHOICES + NUM_CHOICES) | (index == SEATS)
    known |= (index >= VARIANT) & (index < VARIANT + MAX_VARIANTS)
    shown = seen[:, index[known]]
    return known, np.where(value[known] == COPY, shown, shown == value[known])


def _map_one_hot(index: np.ndarray, value: np.ndarray, before: int) -> tuple[np.ndarray, np.ndarray]:
    """Return `hot_columns` and `hot_rows` of a `Forward`; its features are numbered from `before` on."""
    columns = np.unique(index[0])
    rows = np.full((len(index), len(columns), 256), -1, np.int16)
    for of_order, places, values in zip(rows, index, value, strict=True):
        of_order[np.searchsorted(columns, places), values] = before + np.arange(len(places))
    assert (rows >= 0).sum() == index.size, "a value of a byte stands twice"
    return columns, rows


class Layers(NamedTuple):
    """The layers of a network in float64, with scales folded into the first and norms into the others.

    Attributes:
        first: shape (width, n_features).
        first_bias: shape (width,).
        blocks: weight, shape (width, width), and bias, shape (width,), of each block.
        head: shape (outputs, width): the choices, then the scorer's context.
        head_bias: shape (outputs,).
    """

    first: np.ndarray
    first_bias: np.ndarray
    blocks: list[tuple[np.ndarray, np.ndarray]]
    head: np.ndarray
    head_bias: np.ndarray


def folded_layers(encoding: Encoding, exact: Mapping[str, np.ndarray]) -> Layers:
    """Fold parameters with the names of `shapes_of`, in float64."""
    count = sum(name.startswith("trunk.layers.") for name in exact) // 2
    of_blocks = [(exact[f"trunk.layers.{block}.weight"], exact[f"trunk.layers.{block}.bias"]) for block in range(count)]
    last, last_bias = layer_of_head(encoding, exact)
    if "scorer.out" in exact:
        last = np.concatenate([last, exact["scorer.context.weight"]])
        last_bias = np.concatenate([last_bias, exact["scorer.context.bias"]])
    return Layers(
        exact["trunk.first.weight"] * encoding.scale,
        exact["trunk.first.bias"],
        [behind_norm(exact, f"trunk.norms.{block}", *layer) for block, layer in enumerate(of_blocks)],
        *behind_norm(exact, f"trunk.norms.{count}", last, last_bias),
    )


def layer_of_head(encoding: Encoding, exact: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return the last layer as one linear layer: weight, shape (n_choices, width), and bias."""
    cards = exact["head.cards"]
    head = [cards @ exact["head.play.weight"], exact["head.words.weight"], cards @ exact["head.nominate.weight"]]
    return np.concatenate(head)[encoding.choices], exact["head.bias"][encoding.choices]


def behind_norm(
    exact: Mapping[str, np.ndarray], norm: str, weight: np.ndarray, bias: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return a layer with the scale and shift of the preceding norm folded in."""
    scaled: np.ndarray = weight * exact[f"{norm}.weight"]
    shifted: np.ndarray = bias + weight @ exact[f"{norm}.bias"]
    return scaled, shifted
