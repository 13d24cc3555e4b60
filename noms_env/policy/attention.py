"""The network of a policy with attention without torch: float32 on one core, the same bits for a row in any batch.

    tokens (`tokens`) -> layers times: x + merge(attention(query(x), key(x), value(x))); x + outer(ReLU(inner(x)))
    -> logits from the token of the deal; of a legal card to play also: + score . its token

where each first layer sees `normalised(x)`, whose scale and shift are folded into it. In the last of these only the deal and
the legal cards to play ask, since only they are read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from noms_env.core.actions import NUM_ACTIONS
from noms_env.policy.attention_kernels import infer_with_attention
from noms_env.policy.encoding import Encoding
from noms_env.policy.inference import behind_norm, layer_of_head, scorer_parts, shapes_of_head
from noms_env.policy.matmul import as_panels, padded_columns
from noms_env.policy.tokens import Tokens, shapes_of_tokens

WIDER = 2
"""Units between the two linear maps behind attention, for each number of a token."""
LAYER = {"query": 1, "key_value": 2, "merge": 1, "inner": WIDER, "outer": 1}
"""The linear maps of a layer, and how many outputs each has for each number of a token."""
NORM_BEFORE = {"query": "norm", "key_value": "norm", "inner": "norm_behind"}


def shapes_of(encoding: Encoding, network: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """Names and shapes of an actor's parameters, as `noms_training.learn.network.AttentionActor` names them.

    Args:
        encoding: what it sees.
        network: `token_width`, `layers`, `heads`, `card_width`.
    """
    width = network["token_width"]
    shapes = shapes_of_tokens(encoding, width)
    for layer in (f"trunk.layers.{number}" for number in range(network["layers"])):
        for name, times in LAYER.items():
            inputs = WIDER * width if name == "outer" else width
            shapes |= {f"{layer}.{name}.weight": (times * width, inputs), f"{layer}.{name}.bias": (times * width,)}
        for name in ("norm", "norm_behind"):
            shapes |= {f"{layer}.{name}.weight": (width,), f"{layer}.{name}.bias": (width,)}
    shapes |= {"trunk.norm.weight": (width,), "trunk.norm.bias": (width,), "score": (width,)}
    return shapes | shapes_of_head(width, network["card_width"])


@dataclass(frozen=True)
class AttentionLayers:
    """The layers, float64, with norms folded in.

    Attributes:
        maps: of each layer, weight and bias by the names of `LAYER`.
        head: shape (n_choices, width).
        head_bias: shape (n_choices,).
        score: shape (width,): of a token, what is added to the logit of its card.
        score_bias: a number: the same for all cards.
    """

    maps: list[dict[str, tuple[np.ndarray, np.ndarray]]]
    head: np.ndarray
    head_bias: np.ndarray
    score: np.ndarray
    score_bias: float

    @classmethod
    def folded(cls, encoding: Encoding, exact: Mapping[str, np.ndarray]) -> AttentionLayers:
        """From parameters as `shapes_of` lists them, in float64."""
        maps = []
        for number in range(sum(name.endswith(".merge.bias") for name in exact)):
            layer, parts = f"trunk.layers.{number}", {}
            for name in LAYER:
                parts[name] = exact[f"{layer}.{name}.weight"], exact[f"{layer}.{name}.bias"]
                if name in NORM_BEFORE:
                    parts[name] = behind_norm(exact, f"{layer}.{NORM_BEFORE[name]}", *parts[name])
            maps.append(parts)
        head, head_bias = behind_norm(exact, "trunk.norm", *layer_of_head(encoding, exact))
        score, shift = exact["score"] * exact["trunk.norm.weight"], float(exact["score"] @ exact["trunk.norm.bias"])
        return cls(maps, head, head_bias, score, shift)


@dataclass(frozen=True)
class AttentionForward:
    """A policy's parameters, folded and laid out for the compiled functions.

    Attributes:
        parameters: as `infer_with_attention` takes them.
        head_bias: float32, shape (padded n_choices,), of the logits.
        counted, card, own, out: those of `inference.Forward`; there is no scorer, so they have no units.
    """

    parameters: tuple[Any, ...] = field(repr=False)
    head_bias: np.ndarray = field(repr=False)
    counted: np.ndarray = field(repr=False)
    card: np.ndarray = field(repr=False)
    own: np.ndarray = field(repr=False)
    out: np.ndarray = field(repr=False)

    @classmethod
    def folded(cls, encoding: Encoding, tensors: Mapping[str, np.ndarray], heads: int) -> AttentionForward:
        """From parameters as `shapes_of` lists them; the folding is reckoned in float64."""
        exact = {name: np.asarray(tensor, np.float64) for name, tensor in tensors.items()}
        layers, tokens = AttentionLayers.folded(encoding, exact), Tokens.of(encoding)
        linear = tuple(
            (
                np.stack([as_panels(parts[name][0]) for parts in layers.maps]),
                padded_columns(np.stack([parts[name][1] for parts in layers.maps])),
            )
            for name in LAYER
        )
        bias = layers.head_bias.copy()
        bias[: len(tokens.cards)] += layers.score_bias
        head_bias = padded_columns(bias[np.newaxis])[0]
        last = as_panels(layers.head), head_bias, np.ascontiguousarray(layers.score, np.float32)
        of_tokens = token_parameters(encoding, exact, tokens)
        inputs = encoding.rules, np.ascontiguousarray(encoding.actions), encoding.index, encoding.value, encoding.extended_size
        parameters = (*inputs, of_tokens, linear, len(layers.score), heads, last)
        return cls(parameters, head_bias, *scorer_parts(encoding, exact, head_bias))

    def is_finite(self) -> bool:
        """Whether the folding kept all numbers finite."""
        return all(np.isfinite(part).all() for part in _arrays(self.parameters) if part.dtype == np.float32)

    def infer(
        self, observation: np.ndarray, mask: np.ndarray, seeds: np.ndarray, temperature: float, probabilities: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """See `inference.Forward.infer`."""
        n = len(observation)
        shares = np.zeros((n if probabilities else 0, NUM_ACTIONS), np.float32)
        verdict, actions = np.empty(n, np.int64), np.empty(0 if probabilities else n, np.int64)
        infer_with_attention(observation, mask, seeds, temperature, self.parameters, (verdict, actions, shares))
        return verdict, shares if probabilities else actions


def token_parameters(encoding: Encoding, exact: Mapping[str, np.ndarray], tokens: Tokens) -> tuple[Any, ...]:
    """What `write_tokens` takes, with scales folded in; numbers of a token are padded with zeros."""
    width = len(exact["trunk.first.bias"])
    scale, cards = encoding.scale, encoding.choices[: len(tokens.cards)]
    none = np.zeros((1, width))
    call, position = exact.get("trunk.call.weight", none), exact.get("trunk.position.weight", none)
    return (
        padded_columns((exact["trunk.first.weight"] * scale).T),
        padded_columns(exact["trunk.first.bias"][np.newaxis])[0],
        (
            tokens.cards,
            tokens.shown,
            padded_columns((exact["trunk.card.weight"] * scale[tokens.cards[0]]).T),
            padded_columns(exact["trunk.own.weight"][cards]),
            padded_columns(exact["trunk.age.weight"]),
        ),
        (
            tokens.seats,
            tokens.there,
            padded_columns((exact["trunk.seat.weight"] * scale[tokens.seats[0]]).T),
            padded_columns(exact["trunk.who.weight"]),
        ),
        (tokens.calls, tokens.place, padded_columns(call), padded_columns(position)),
        np.array([tokens.trick_of, tokens.tricks, tokens.n_seats], np.int64),
    )


def _arrays(parts: tuple[Any, ...]) -> list[np.ndarray]:
    found = []
    for part in parts:
        found += _arrays(part) if isinstance(part, tuple) else [part] if isinstance(part, np.ndarray) else []
    return found
