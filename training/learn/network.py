"""The networks: a residual MLP over bytes, or attention over tokens; actor and critic share no parameters.

    first layer (bytes in) -> ReLU -> `blocks` times x + ReLU(Linear(LayerNorm(x))) -> LayerNorm -> head

The actor sees the features of the seat to act. The critic sees the same, and a privileged critic also the hidden state (Baisero
and Amato, arXiv 2105.11674: in addition to the observation, not instead). The hidden state affects the actor through the
advantages only.

Features are bytes; their scale is folded into the first layer, so a batch is never scaled itself. Logits of cards to play and
cards to nominate are products with one table of card embeddings. A small network, shared by all cards, also scores each legal
card to play from the card's own features (`CardScorer`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from noms_env.core.actions import NOMINATE, NUM_ACTIONS
from noms_env.observation.features import differing_options
from noms_env.policy.attention import LAYER, TABLES
from noms_env.policy.attention_torch import Attention
from noms_env.policy.encoding import CARDS, Encoding, make_encoding
from noms_env.policy.file import MAX_RULES, read_info, read_policy
from noms_env.policy.player import policy_file_of
from noms_env.policy.tokens import Tokens
from noms_env.variants import Rules

from .config import ActorConfig, NetworkConfig, TrainConfig
from .draw_rules import BETWEEN_DEALS
from .layers import add_and_normalise, first_layer

WORDS = NOMINATE - CARDS  # number of actions between the cards to play and the cards to nominate
HEAD_GAIN = 0.01
"""Initial gain of the heads, so that the first policy is nearly uniform (Andrychowicz et al., arXiv 2006.05990, 3.2)."""
OWN_GAIN = 0.1  # initial scale of the scorer's card embeddings
ACTIVE = 64.0  # typical number of nonzero features, used as the fan-in of the first layer at initialisation
GRAIN = 64  # batches are padded to multiples of this: oneDNN compiles a kernel for each shape, and caches about a thousand
ILLEGAL = -1e9  # logit of an illegal action: finite, so that 0 * log 0 in entropy and KL is 0 and not NaN


class Trunk(nn.Module):
    """Residual MLP from bytes to a vector; `scale`, float32, shape (n_features,), multiplies the bytes."""

    scale: Tensor

    def __init__(self, scale: Tensor, config: NetworkConfig) -> None:
        super().__init__()
        self.register_buffer("scale", scale, persistent=False)
        self.first = nn.Linear(len(scale), config.width)
        nn.init.kaiming_uniform_(self.first.weight, nonlinearity="relu")
        with torch.no_grad():
            self.first.weight *= len(scale) ** 0.5 / ACTIVE**0.5
        self.norms = nn.ModuleList(nn.LayerNorm(config.width) for _ in range(config.blocks + 1))
        self.layers = nn.ModuleList(nn.Linear(config.width, config.width) for _ in range(config.blocks))

    @property
    def last_norm(self) -> nn.Module:
        """The last norm; the head applies its weight and bias."""
        return self.norms[-1]

    def forward(self, features: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
        """Map uint8, shape (n, n_features), to `dtype`, shape (n, width)."""
        return self.folded(dtype)(features)

    def folded(self, dtype: torch.dtype) -> Callable[[Tensor], Tensor]:
        """Return `forward` with the scale folded into the first layer, and the norms into the others."""
        first = first_layer(self.first.weight * self.scale, self.first.bias, dtype)
        layers: Any = self.layers
        blocks = [folded_norm(norm, layer.weight, layer.bias, dtype) for norm, layer in zip(self.norms, layers, strict=False)]

        def run(features: Tensor) -> Tensor:
            inputs = first(features)
            x, normal = add_and_normalise(torch.zeros_like(inputs), inputs)
            for weight, bias in blocks:
                x, normal = add_and_normalise(x, functional.linear(normal, weight, bias))
            return normal

        return run


def folded_norm(norm: Any, weight: Tensor, bias: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Fold the weight and bias of a norm into the next layer: a norm without them takes half the time."""
    return (weight * norm.weight).to(dtype), (bias + weight @ norm.bias).to(dtype)


def pad_rows(rows: Tensor) -> Tensor:
    """Append rows of zeros, up to a multiple of `GRAIN`."""
    missing = -len(rows) % GRAIN
    return functional.pad(rows, (0, 0, 0, missing)) if missing else rows


class Layer(nn.Module):
    """Parameters of an attention layer (`noms_env.policy.attention`)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm, self.norm_behind = nn.LayerNorm(width), nn.LayerNorm(width)
        for name, times in LAYER.items():
            inputs = LAYER["inner"] * width if name == "outer" else width
            self.add_module(name, nn.Linear(inputs, times * width))


class AttentionTrunk(nn.Module):
    """Attention from the bytes of an encoding to the token of the deal and a score for each card."""

    scale: Tensor

    def __init__(self, encoding: Encoding, config: NetworkConfig, privileged: bool = False) -> None:
        super().__init__()
        width, tokens = config.token_width, Tokens.of(encoding, privileged)
        self.heads, self.tokens = config.heads, tokens
        self.register_buffer("scale", scale_of(encoding, privileged), persistent=False)
        for name, array in tokens.places.items():
            self.register_buffer(f"at_{name}", torch.from_numpy(array), persistent=False)
        self.first = nn.Linear(len(self.scale), width)
        nn.init.normal_(self.first.weight, std=ACTIVE**-0.5)
        self.card = nn.Linear(tokens.cards.shape[1], width, bias=False)
        self.seat = nn.Linear(tokens.seats.shape[1], width, bias=False)
        for name in tokens.tables:
            self.add_module(name, nn.Embedding(TABLES[name], width))
        for name in ("card", "seat", *tokens.tables):
            nn.init.normal_(self.get_parameter(f"{name}.weight"), std=0.5)
        self.layers = nn.ModuleList(Layer(width) for _ in range(config.layers))
        self.norm = nn.LayerNorm(width)

    @property
    def last_norm(self) -> nn.Module:
        return self.norm

    def forward(self, features: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
        """Map uint8, shape (n, n_features), to the token of the deal, `dtype`, shape (n, width)."""
        return self.folded(dtype)(features)[0]

    def folded(self, dtype: torch.dtype) -> Attention:
        """Return the network with its current parameters."""
        parameters: dict[str, Any] = {f"trunk.{name}": part for name, part in self.named_parameters()}
        places = {name: self.get_buffer(f"at_{name}") for name in self.tokens.places}
        first = partial(first_layer, dtype=dtype)
        return Attention(self.tokens, parameters, self.scale, places, self.heads, dtype, first, not self.scale.is_cuda)


def scale_of(encoding: Encoding, privileged: bool) -> Tensor:
    """Return the scale of each input byte, float32: features, then hidden ones if `privileged`."""
    hidden = torch.ones(encoding.n_hidden if privileged else 0)
    return torch.cat([torch.from_numpy(encoding.scale), hidden])


class CardHead(nn.Module):
    """Logits of actions: cards to play and to nominate by embeddings, words by a linear layer.

    `choices`: int64, shape (n_choices,): numbers of the actions among the outputs.
    """

    choices: Tensor

    def __init__(self, choices: Tensor, config: NetworkConfig) -> None:
        super().__init__()
        width = config.width if config.kind == "mlp" else config.token_width
        self.register_buffer("choices", choices, persistent=False)
        self.cards = nn.Parameter(torch.randn(CARDS, config.card_width) * config.card_width**-0.5)
        self.play = nn.Linear(width, config.card_width, bias=False)
        self.nominate = nn.Linear(width, config.card_width, bias=False)
        self.words = nn.Linear(width, WORDS, bias=False)
        self.bias = nn.Parameter(torch.zeros(NUM_ACTIONS))
        with torch.no_grad():
            for layer in (self.play, self.nominate, self.words):
                layer.weight *= HEAD_GAIN

    def folded(self) -> tuple[Tensor, Tensor]:
        """Return weight, shape (n_choices, width), and bias of the equivalent linear layer."""
        weight = torch.cat([self.cards @ self.play.weight, self.words.weight, self.cards @ self.nominate.weight])
        return weight[self.choices], self.bias[self.choices]


class CardScorer(nn.Module):
    """Score added to the logit of a card to play: out . ReLU(card @ features of the card + own of the card + context).

    All cards share the weights, so a lesson about one card applies to all. The context is a linear layer on the trunk.
    `columns`, int64, shape (cards to play, k), are the columns of each card's features (`Encoding.card_columns`); `scale` is as
    in `Trunk`; `cards`, int64, shape (cards to play,), are the numbers of the cards.
    """

    columns: Tensor
    scale: Tensor
    cards: Tensor

    def __init__(self, columns: Tensor, scale: Tensor, cards: Tensor, config: ActorConfig) -> None:
        super().__init__()
        self.register_buffer("columns", columns, persistent=False)
        self.register_buffer("cards", cards, persistent=False)
        self.register_buffer("scale", scale[columns[0]], persistent=False)
        units, counted = config.scorer_width, columns.shape[1]
        self.card = nn.Parameter(torch.randn(units, counted) * max(1, counted) ** -0.5)
        self.own = nn.Parameter(torch.randn(CARDS, units) * OWN_GAIN)
        self.context = nn.Linear(config.width, units)
        self.out = nn.Parameter(torch.randn(units) * HEAD_GAIN)

    def folded(self, scores_all: bool) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
        """Return a function that adds the scores with the current parameters.

        It takes outputs, float32, shape (n, n_choices + units): logits, then the context; features, uint8, shape
        (n, n_features); and a mask, int8, shape (n, n_choices), with the cards to play first. It returns logits, float32, shape
        (n, n_choices). `scores_all` also scores illegal cards, which avoids a synchronisation of the GPU.
        """
        weight, own, out = (self.card * self.scale).T, self.own[self.cards], self.out.clone()

        def score_legal(outputs: Tensor, features: Tensor, mask: Tensor) -> Tensor:
            choices = mask.shape[1]
            row, card = mask[:, : len(self.cards)].nonzero(as_tuple=True)  # each legal card to play
            counted = features.take(self.columns[card] + row[:, None] * features.shape[1]).float()
            hidden = counted @ weight + own.index_select(0, card)
            hidden = hidden + outputs[:, choices:].index_select(0, row)
            scores = functional.relu(hidden, inplace=True) @ out
            return outputs[:, :choices].flatten().index_add(0, row * choices + card, scores).view(-1, choices)

        def score_all(outputs: Tensor, features: Tensor, mask: Tensor) -> Tensor:
            choices = mask.shape[1]
            counted = features[:, self.columns.flatten()].view(len(features), *self.columns.shape).float()
            hidden = counted @ weight + own + outputs[:, None, choices:]
            scores = functional.relu(hidden) @ out
            return outputs[:, :choices] + functional.pad(scores, (0, choices - len(self.cards)))

        return score_all if scores_all else score_legal


class Actor(nn.Module):
    """The policy network: logits of all choices, from the features; for the arguments see its parts."""

    trunk: Any

    def __init__(self, scale: Tensor, choices: Tensor, columns: Tensor, config: ActorConfig) -> None:
        super().__init__()
        self.trunk = Trunk(scale, config)
        self.head = CardHead(choices, config)
        self.scorer = CardScorer(columns, scale, choices[: len(columns)], config) if config.scorer_width else None

    @classmethod
    def of(cls, encoding: Encoding, config: ActorConfig) -> Actor:
        """Make an actor for an encoding."""
        if config.kind == "attention":
            return AttentionActor(encoding, config)
        choices, columns = (torch.from_numpy(array.astype(np.int64)) for array in (encoding.choices, encoding.card_columns))
        return cls(torch.from_numpy(encoding.scale), choices, columns, config)

    def forward(self, features: Tensor, mask: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
        """Return logits, float32, shape (n, n_choices); ignore those of illegal actions."""
        return self.folded(dtype)(features, mask)

    @torch.no_grad()
    def frozen(self, dtype: torch.dtype = torch.float32) -> Callable[[Tensor, Tensor], Tensor]:
        """Return `forward` of the current policy, with weights prepared once for many small batches."""
        return torch.no_grad()(self.folded(dtype))

    def folded(self, dtype: torch.dtype) -> Callable[[Tensor, Tensor], Tensor]:
        """Return `forward` with the norms folded into the layers; the last layer has the choices, then the scorer's context."""
        (weight, bias), layers, add_scores = self.head.folded(), self.trunk.folded(dtype), None
        if self.scorer is not None:
            context, add_scores = self.scorer.context, self.scorer.folded(weight.is_cuda)
            weight, bias = torch.cat([weight, context.weight]), torch.cat([bias, context.bias])
        last = folded_norm(self.trunk.last_norm, weight, bias, dtype)

        def logits(features: Tensor, mask: Tensor) -> Tensor:
            rows = features if torch.is_grad_enabled() else pad_rows(features)
            outputs = functional.linear(layers(rows), *last)[: len(features)].float()
            return outputs if add_scores is None else add_scores(outputs, features, mask)

        return logits


class AttentionActor(Actor):
    """The policy network with attention; each legal card to play is scored from its own token."""

    def __init__(self, encoding: Encoding, config: ActorConfig) -> None:
        nn.Module.__init__(self)
        self.trunk = AttentionTrunk(encoding, config)
        self.head = CardHead(torch.from_numpy(encoding.choices.astype(np.int64)), config)
        self.score = nn.Parameter(torch.randn(config.token_width) * HEAD_GAIN)

    def folded(self, dtype: torch.dtype) -> Callable[[Tensor, Tensor], Tensor]:
        network, score = self.trunk.folded(dtype), self.score.to(dtype, copy=True)
        last = folded_norm(self.trunk.last_norm, *self.head.folded(), dtype)

        def logits(features: Tensor, mask: Tensor) -> Tensor:
            deal, scores = network(features, mask, score)
            others = mask.shape[1] - scores.shape[1]
            return functional.linear(deal, *last).float() + functional.pad(scores.float(), (0, others))

        return logits


class Critic(nn.Module):
    """The value network: value of the deal for the seat to act, in units of the reward scale; `width` is the trunk's."""

    def __init__(self, trunk: Trunk | AttentionTrunk, width: int) -> None:
        super().__init__()
        self.trunk = trunk
        self.value = nn.Linear(width, 1)
        with torch.no_grad():
            self.value.weight *= HEAD_GAIN

    @classmethod
    def of(cls, encoding: Encoding, config: NetworkConfig, privileged: bool) -> Critic:
        """Make a critic for an encoding; a privileged one has the hidden features as further inputs."""
        if config.kind == "attention":
            return cls(AttentionTrunk(encoding, config, privileged), config.token_width)
        return cls(Trunk(scale_of(encoding, privileged), config), config.width)

    def forward(self, features: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
        """Return values, float32, shape (n,)."""
        head = folded_norm(self.trunk.last_norm, self.value.weight, self.value.bias, dtype)
        return functional.linear(self.trunk(features, dtype), *head).float().squeeze(-1)


def masked(logits: Tensor, mask: Tensor) -> Tensor:
    """Replace the logits of illegal actions (mask 0, int8) by `ILLEGAL`; both of shape (n, actions)."""
    return torch.where(mask.view(torch.bool), logits, ILLEGAL)


def encoding_of(config: TrainConfig, rule_sets: Sequence[Rules], drawn: Sequence[Rules] = ()) -> Encoding:
    """Return the encoding of a run, with the features of its own and drawn rules and those of its initial policy.

    PolicyFileError if the initial policy is missing or unusable, ValueError if it was not trained for all games of the run, or
    if a policy file has no room for all rules.
    """
    if config.initial_policy:
        info = read_info(policy_file_of(config.initial_policy))
        games = {rules.variant.name for rules in info.rule_sets}
        if not {rules.variant.name for rules in rule_sets} <= games:
            known = f"{config.initial_policy} was trained for {', '.join(sorted(games))}"
            raise ValueError(f"an initial policy must be for the games of the run; {known}")
        rule_sets = list(dict.fromkeys([*info.rule_sets, *rule_sets]))
        drawn = list(dict.fromkeys([*info.drawn, *drawn]))
    if max(len(rule_sets), len(drawn)) > MAX_RULES:
        own = f"with those of {config.initial_policy} the run has" if config.initial_policy else "the run has"
        raise ValueError(f"{own} {len(drawn):,} drawn rules, and a policy file at most {MAX_RULES:,}: draw fewer")
    features = {"card_features": config.card_features, "trick_features": config.trick_features}
    return make_encoding(rule_sets, options=seen_options(rule_sets, drawn), drawn=drawn, **features)


def seen_options(own: Sequence[Rules], drawn: Sequence[Rules]) -> list[str]:
    """Return the options among the features: those that differ between tables, with drawn rules only those within a deal."""
    options = differing_options([*own, *drawn])
    return [name for name in options if not drawn or name not in BETWEEN_DEALS]


def initial_parameters(name: str, encoding: Encoding, actor: Actor) -> dict[str, Tensor]:
    """Load the parameters of an initial policy for an actor of the run; features that the policy lacks get weight 0.

    PolicyFileError if the policy is missing or unusable, ValueError if the run lacks some of its features, or its size differs.
    """
    _, of_policy, tensors = read_policy(policy_file_of(name))
    try:
        places = encoding.places_of(of_policy)
    except ValueError as error:
        raise ValueError(f"a run must have all features of its initial policy; of {name}, {error}") from error
    columns: dict[str, tuple[Sequence[Any], Sequence[Any]]] = {"trunk.first.weight": ([*places], range(encoding.n_features))}
    if "scorer.card" in tensors:
        columns["scorer.card"] = of_policy.card_sections, encoding.card_sections
    if "trunk.card.weight" in tensors:
        known, seen = Tokens.of(of_policy), Tokens.of(encoding)
        columns |= {
            "trunk.card.weight": (known.card_keys, seen.card_keys),
            "trunk.seat.weight": (known.seat_keys, seen.seat_keys),
        }
    for key, (old_columns, new_columns) in columns.items():
        old = tensors[key]
        tensors[key] = np.zeros((len(old), len(new_columns)), np.float32)
        tensors[key][:, [new_columns.index(column) for column in old_columns]] = old
    state = actor.state_dict()
    if any(tensor.shape != state[key].shape for key, tensor in tensors.items() if key in state) or len(state) != len(tensors):
        raise ValueError(f"an initial policy must have the run's kind and size of network; {name} has layers of other sizes")
    return {key: torch.from_numpy(tensor) for key, tensor in tensors.items()}
