"""The attention network of a policy, and its forward pass without torch: float32, bit-identical for a row in any batch.

    tokens (`tokens`) -> for each layer: x + merge(attention(query(x), key(x), value(x))); x + outer(ReLU(inner(x)))
    -> logits from the token of the deal; for a card to play also: + score . its token

Query, key, value, inner and the logits read `normalised(x)`, whose scale and shift are folded into them. In the last layer only
the deal and the cards to play have queries, since only they are read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from noms_env.core.state import MAX_SEATS
from noms_env.observation.features import AUCTION_CALLS
from noms_env.policy.encoding import CARDS, Encoding
from noms_env.policy.inference import behind_norm, layer_of_head, scorer_parts, shapes_of_head
from noms_env.policy.matmul import as_panels, pad_columns
from noms_env.policy.tokens import AGES, CALL_KINDS, Tokens

LAYER = {"query": 1, "key_value": 2, "merge": 1, "inner": 2, "outer": 1}
"""The linear maps of a layer, and the outputs of each as a multiple of the token width."""
NORM_BEFORE = {"query": "norm", "key_value": "norm", "inner": "norm_behind"}
TABLES = {"own": CARDS, "age": AGES, "who": MAX_SEATS, "call": CALL_KINDS, "position": AUCTION_CALLS}
"""Embeddings that are added to tokens (card, age, seat, call and its position), and the rows of each."""


def shapes_of(encoding: Encoding, network: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """Return names and shapes of an actor's parameters; `network` has `token_width`, `layers`, `heads` and `card_width`."""
    width, tokens = network["token_width"], Tokens.of(encoding)
    shapes: dict[str, tuple[int, ...]] = {
        "trunk.first.weight": (width, encoding.n_features),
        "trunk.card.weight": (width, tokens.cards.shape[1]),
        "trunk.seat.weight": (width, tokens.seats.shape[1]),
    }
    shapes |= {f"trunk.{name}.weight": (TABLES[name], width) for name in tokens.tables}
    for layer in (f"trunk.layers.{number}" for number in range(network["layers"])):
        for name, times in LAYER.items():
            inputs = LAYER["inner"] * width if name == "outer" else width
            shapes |= {f"{layer}.{name}.weight": (times * width, inputs), f"{layer}.{name}.bias": (times * width,)}
        shapes |= {f"{layer}.{norm}.{part}": (width,) for norm in ("norm", "norm_behind") for part in ("weight", "bias")}
    shapes |= dict.fromkeys(("trunk.first.bias", "trunk.norm.weight", "trunk.norm.bias", "score"), (width,))
    return shapes | shapes_of_head(width, network["card_width"])


class Folded(NamedTuple):
    """The parameters of a trunk with scales and norms folded in, as arrays or torch tensors.

    Attributes:
        first: shape (width, n_features).
        first_bias: shape (width,).
        card: shape (k, width).
        seat: shape (m, width).
        tables: the embeddings of `TABLES`, shape (number, width); `own` holds those of the cards to play.
        layers: weight and bias of the maps of each layer, by the names of `LAYER`.
    """

    first: Any
    first_bias: Any
    card: Any
    seat: Any
    tables: dict[str, Any]
    layers: list[dict[str, tuple[Any, Any]]]

    @classmethod
    def of(cls, parameters: Mapping[str, Any], scale: Any, at: Mapping[str, Any]) -> Folded:
        """Fold parameters with the names of `shapes_of`; `at` is `Tokens.places`, as arrays of the same kind."""

        def folded_layer(layer: str, name: str) -> tuple[Any, Any]:
            parts = parameters[f"{layer}.{name}.weight"], parameters[f"{layer}.{name}.bias"]
            return behind_norm(parameters, f"{layer}.{NORM_BEFORE[name]}", *parts) if name in NORM_BEFORE else parts

        tables = {name: parameters[key] for name in TABLES if (key := f"trunk.{name}.weight") in parameters}
        layers = [f"trunk.layers.{number}" for number in range(sum(name.endswith(".merge.bias") for name in parameters))]
        return cls(
            parameters["trunk.first.weight"] * scale,
            parameters["trunk.first.bias"],
            (parameters["trunk.card.weight"] * scale[at["cards"][0]]).T,
            (parameters["trunk.seat.weight"] * scale[at["seats"][0]]).T,
            tables | {"own": tables["own"][at["numbers"]]},
            [{name: folded_layer(layer, name) for name in LAYER} for layer in layers],
        )


class AttentionForward(NamedTuple):
    """A policy's parameters, folded and laid out for the compiled functions.

    Attributes:
        parameters: arguments of `infer_with_attention`.
        head_bias: float32, shape (padded n_choices,): bias of the logits.
        section_starts, card, own, out: as in `inference.Forward`, without units, since there is no scorer.
    """

    parameters: tuple[Any, ...]
    head_bias: np.ndarray
    section_starts: np.ndarray
    card: np.ndarray
    own: np.ndarray
    out: np.ndarray

    @classmethod
    def folded(cls, encoding: Encoding, tensors: Mapping[str, np.ndarray], heads: int) -> AttentionForward:
        """Fold parameters with the names of `shapes_of`, in float64."""
        exact = {name: np.asarray(tensor, np.float64) for name, tensor in tensors.items()}
        tokens = Tokens.of(encoding)
        parts = Folded.of(exact, encoding.scale, tokens.places)
        head, bias = behind_norm(exact, "trunk.norm", *layer_of_head(encoding, exact))
        head_bias, width = pad_columns(bias[np.newaxis])[0], len(parts.first)
        linear = tuple(
            (
                np.stack([as_panels(layer[name][0]) for layer in parts.layers]),
                pad_columns(np.stack([layer[name][1] for layer in parts.layers])),
            )
            for name in LAYER
        )
        own, age, who, call, position = (pad_columns(parts.tables.get(name, np.zeros((1, width)))) for name in TABLES)
        of_tokens = (
            pad_columns(parts.first.T),
            pad_columns(parts.first_bias[np.newaxis])[0],
            (tokens.cards, tokens.shown, pad_columns(parts.card), own, age),
            (tokens.seats, tokens.there, pad_columns(parts.seat), who),
            (tokens.calls, tokens.place, call, position),
            np.array([tokens.trick_of, tokens.tricks, tokens.n_seats], np.int64),
        )
        inputs = encoding.rules, np.ascontiguousarray(encoding.actions), encoding.index, encoding.value, encoding.extended_size
        last = as_panels(head), head_bias, np.ascontiguousarray(exact["score"], np.float32)
        parameters = (*inputs, of_tokens, linear, width, heads, last)
        return cls(parameters, head_bias, *scorer_parts(encoding, exact, head_bias))
