"""The networks: a residual MLP over bytes, or attention over tokens; actor and critic share no parameter.

    first layer (bytes in) -> ReLU -> `blocks` times x + ReLU(Linear(LayerNorm(x))) -> LayerNorm -> head

The actor sees the features of the seat to act. The critic sees the same, and a privileged one also the hidden state (Baisero
and Amato, arXiv 2105.11674: on top of the observation, not instead of it). Since they share no parameter, what the critic
knows reaches the actor through the advantages only.

Features are bytes; their scale is folded into the first layer, so a batch is converted once and never scaled.
Logits of cards to play and cards to nominate are products with one table of card embeddings. Each legal card to play is also
scored by one small network, the same for all cards, from what is counted at the card (`CardScorer`).
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
from noms_env.policy.file import read_info, read_policy
from noms_env.policy.player import policy_file_of
from noms_env.policy.tokens import Tokens
from noms_env.variants import Rules

from .config import ActorConfig, NetworkConfig, TrainConfig
from .draw_rules import BETWEEN_DEALS
from .layers import add_and_normalise, first_layer

WORDS = NOMINATE - CARDS
"""Actions between the cards to play and the cards to nominate."""
HEAD_GAIN = 0.01
"""Initial gain of the heads, so that the first policy is nearly uniform (Andrychowicz et al., arXiv 2006.05990, 3.2)."""
OWN_GAIN = 0.1
"""Initial size of what the scorer knows of each card by itself."""
ACTIVE = 64.0
"""Features that are not 0 in an observation, about: the first layer is scaled as if it had so many inputs."""
GRAIN = 64
"""Rows of a batch come to a multiple of this: oneDNN compiles the products of each new shape, and keeps about a thousand."""
ILLEGAL = -1e9
"""Logit of an action that is not legal: finite, so that 0 * log 0 in entropy and KL is 0 and not NaN."""


class Trunk(nn.Module):
    """From bytes to a vector; `scale`, float32, shape (n_features,): a byte counts as `byte * scale`."""

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
    def last_norm(self) -> nn.LayerNorm:
        """Whose scale and shift the trunk leaves to the head."""
        norm = self.norms[-1]
        assert isinstance(norm, nn.LayerNorm)
        return norm

    def forward(self, features: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
        """From uint8, shape (n, n_features), to `dtype`, shape (n, width)."""
        return self.folded(dtype)(features)

    def folded(self, dtype: torch.dtype) -> Callable[[Tensor], Tensor]:
        """`forward` with all that can be folded into the layers: the scale into the first, norms into the others."""
        first = first_layer(self.first.weight * self.scale, self.first.bias, dtype)
        pairs: Any = zip(self.norms, self.layers, strict=False)
        blocks = [folded_norm(norm, layer.weight, layer.bias, dtype) for norm, layer in pairs]

        def run(features: Tensor) -> Tensor:
            inputs = first(features)
            x, normal = add_and_normalise(torch.zeros_like(inputs), inputs)
            for weight, bias in blocks:
                x, normal = add_and_normalise(x, functional.linear(normal, weight, bias))
            return normal

        return run


def folded_norm(norm: nn.LayerNorm, weight: Tensor, bias: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """A layer that does what the weight and bias of a norm and then a layer do: a norm without them takes half the time."""
    return (weight * norm.weight).to(dtype), (bias + weight @ norm.bias).to(dtype)


def padded(rows: Tensor) -> Tensor:
    """Rows, shape (n, width), with rows of zeros behind them up to a multiple of `GRAIN`."""
    missing = -len(rows) % GRAIN
    return functional.pad(rows, (0, 0, 0, missing)) if missing else rows


class Layer(nn.Module):
    """The parameters of a layer with attention (`noms_env.policy.attention`)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm, self.norm_behind = nn.LayerNorm(width), nn.LayerNorm(width)
        for name, times in LAYER.items():
            inputs = LAYER["inner"] * width if name == "outer" else width
            self.add_module(name, nn.Linear(inputs, times * width))


class AttentionTrunk(nn.Module):
    """From the bytes of an encoding to the token of the deal, and to a number for each card, with attention."""

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
    def last_norm(self) -> nn.LayerNorm:
        """See `Trunk`."""
        return self.norm

    def forward(self, features: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
        """The token of the deal: from uint8, shape (n, n_features), to `dtype`, shape (n, width)."""
        return self.folded(dtype)(features)[0]

    def folded(self, dtype: torch.dtype) -> Attention:
        """The network with the parameters that it has now."""
        parameters: dict[str, Any] = {f"trunk.{name}": part for name, part in self.named_parameters()}
        places = {name: self.get_buffer(f"at_{name}") for name in self.tokens.places}
        first = partial(first_layer, dtype=dtype)
        return Attention(self.tokens, parameters, self.scale, places, self.heads, dtype, first, not self.scale.is_cuda)


def scale_of(encoding: Encoding, privileged: bool) -> Tensor:
    """What each byte counts, float32: of the features, and if `privileged` of the hidden ones behind them."""
    hidden = torch.ones(encoding.n_hidden if privileged else 0)
    return torch.cat([torch.from_numpy(encoding.scale), hidden])


class CardHead(nn.Module):
    """Logits of actions: cards to play and to nominate by their embeddings, words by a plain layer.

    `choices`: int64, shape (n_choices,): the numbers of the actions that the network tells apart.
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
        """Weight, shape (n_choices, width), and bias of the one linear layer that this is."""
        weight = torch.cat([self.cards @ self.play.weight, self.words.weight, self.cards @ self.nominate.weight])
        return weight[self.choices], self.bias[self.choices]


class CardScorer(nn.Module):
    """What is added to the logit of a card to play: out . ReLU(card @ what is counted at it + own of the card + context).

    The same weights for all cards let the network learn once what it would else have to learn for each. The context is a layer
    on the output of the trunk.

    Args:
        columns: int64, shape (cards to play, k): where the features of each card stand (`Encoding.card_columns`).
        scale: float32, shape (n_features,), as in `Trunk`.
        cards: int64, shape (cards to play,): their numbers.
        config: the size.
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
        """Adds the scores, with the parameters that there are now; `scores_all`: also of illegal cards, so that no GPU waits.

        It takes outputs, float32, shape (n, n_choices + units): logits, then the context; features, uint8, shape
        (n, n_features); and a mask, int8, shape (n, n_choices), in which the cards to play come first. It returns logits with
        the scores of the legal cards to play, float32, shape (n, n_choices).
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
    """The policy: logits of all actions that can be legal, from what the seat sees; the arguments are as in its parts."""

    trunk: Any

    def __init__(self, scale: Tensor, choices: Tensor, columns: Tensor, config: ActorConfig) -> None:
        super().__init__()
        self.trunk = Trunk(scale, config)
        self.head = CardHead(choices, config)
        self.scorer = CardScorer(columns, scale, choices[: len(columns)], config) if config.scorer_width else None

    @classmethod
    def of(cls, encoding: Encoding, config: ActorConfig) -> Actor:
        """An actor that sees what an encoding gives."""
        if config.kind == "attention":
            return AttentionActor(encoding, config)
        choices, columns = (torch.from_numpy(array.astype(np.int64)) for array in (encoding.choices, encoding.card_columns))
        return cls(torch.from_numpy(encoding.scale), choices, columns, config)

    def forward(self, features: Tensor, mask: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
        """Logits float32, shape (n, n_choices); those of actions that are not legal mean nothing."""
        return self.folded(dtype)(features, mask)

    @torch.no_grad()
    def frozen(self, dtype: torch.dtype = torch.float32) -> Callable[[Tensor, Tensor], Tensor]:
        """`forward` of the policy as it is now, with the weights prepared once for many small batches."""
        return torch.no_grad()(self.folded(dtype))

    def folded(self, dtype: torch.dtype) -> Callable[[Tensor, Tensor], Tensor]:
        """`forward` with the norms folded into the layers; the last one gives the choices, then the scorer's context."""
        (weight, bias), layers = self.head.folded(), self.trunk.folded(dtype)
        if self.scorer is not None:
            context = self.scorer.context
            weight, bias = torch.cat([weight, context.weight]), torch.cat([bias, context.bias])
        last = folded_norm(self.trunk.last_norm, weight, bias, dtype)
        add_scores = None if self.scorer is None else self.scorer.folded(weight.is_cuda)

        def logits(features: Tensor, mask: Tensor) -> Tensor:
            rows = features if torch.is_grad_enabled() else padded(features)
            outputs = functional.linear(layers(rows), *last)[: len(features)].float()
            return outputs if add_scores is None else add_scores(outputs, features, mask)

        return logits


class AttentionActor(Actor):
    """The policy with attention; the legal cards to play are scored by their own tokens."""

    def __init__(self, encoding: Encoding, config: ActorConfig) -> None:
        nn.Module.__init__(self)
        self.trunk = AttentionTrunk(encoding, config)
        self.head = CardHead(torch.from_numpy(encoding.choices.astype(np.int64)), config)
        self.score = nn.Parameter(torch.randn(config.token_width) * HEAD_GAIN)

    def folded(self, dtype: torch.dtype) -> Callable[[Tensor, Tensor], Tensor]:
        """See `Actor`."""
        network, score = self.trunk.folded(dtype), self.score.to(dtype, copy=True)
        last = folded_norm(self.trunk.last_norm, *self.head.folded(), dtype)

        def logits(features: Tensor, mask: Tensor) -> Tensor:
            deal, scores = network(features, mask, score)
            others = mask.shape[1] - scores.shape[1]
            return functional.linear(deal, *last).float() + functional.pad(scores.float(), (0, others))

        return logits


class Critic(nn.Module):
    """The value of the deal for the seat to act, in normalised points, from what a trunk of that width gives."""

    def __init__(self, trunk: Trunk | AttentionTrunk, width: int) -> None:
        super().__init__()
        self.trunk = trunk
        self.value = nn.Linear(width, 1)
        with torch.no_grad():
            self.value.weight *= HEAD_GAIN

    @classmethod
    def of(cls, encoding: Encoding, config: NetworkConfig, privileged: bool) -> Critic:
        """A critic of what an encoding gives; a privileged one sees the hidden features behind it."""
        if config.kind == "attention":
            return cls(AttentionTrunk(encoding, config, privileged), config.token_width)
        return cls(Trunk(scale_of(encoding, privileged), config), config.width)

    def forward(self, features: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
        """Values float32, shape (n,)."""
        head = folded_norm(self.trunk.last_norm, self.value.weight, self.value.bias, dtype)
        return functional.linear(self.trunk(features, dtype), *head).float().squeeze(-1)


def masked(logits: Tensor, mask: Tensor) -> Tensor:
    """Logits, float32, in which actions that are not legal (mask, int8, 0) have no probability; both of shape (n, actions)."""
    return torch.where(mask.view(torch.bool), logits, ILLEGAL)


def encoding_of(config: TrainConfig, rule_sets: Sequence[Rules], drawn: Sequence[Rules] = ()) -> Encoding:
    """What the networks of a run see: the features of all tables that it, or its initial policy, is for.

    `rule_sets` are of the tables of the run, and further ones were drawn at random.

    Raises:
        PolicyFileError: there is no such initial policy, or the file holds none that can be used here.
        ValueError: the initial policy does not know all these games.
    """
    kinds = {"card_features": config.card_features, "trick_features": config.trick_features}
    if not config.initial_policy:
        return make_encoding(rule_sets, options=seen_options(rule_sets, drawn), drawn=drawn, **kinds)
    info = read_info(policy_file_of(config.initial_policy))
    known = info.rule_sets
    if not {rules.variant for rules in rule_sets} <= {rules.variant for rules in known}:
        games = ", ".join(sorted({rules.variant.name for rules in known}))
        raise ValueError(f"an initial policy must be for the games of the run; {config.initial_policy} was trained for {games}")
    own = list(dict.fromkeys([*known, *rule_sets]))
    drawn = list(dict.fromkeys([*info.drawn, *drawn]))
    return make_encoding(own, options=seen_options(own, drawn), drawn=drawn, **kinds)


def seen_options(own: Sequence[Rules], drawn: Sequence[Rules]) -> list[str]:
    """The options that a network sees: those in which the tables differ, but where some are drawn none between deals."""
    options = differing_options([*own, *drawn])
    return [name for name in options if not drawn or name not in BETWEEN_DEALS]


def initial_parameters(name: str, encoding: Encoding, actor: Actor) -> dict[str, Tensor]:
    """The parameters of the policy that a run starts from, by file, folder or name, for an actor of the run's shape.

    Features that the policy did not see get weight 0.

    Raises:
        PolicyFileError: there is no such policy, or it holds none that can be used here.
        ValueError: it sees what the run does not, or is of another size.
    """
    _, of_policy, tensors = read_policy(policy_file_of(name))
    try:
        places = encoding.places_of(of_policy)
    except ValueError as error:
        raise ValueError(f"a run must see all that its initial policy sees; of {name}, {error}") from error
    columns: dict[str, tuple[Sequence[int] | np.ndarray, int]] = {"trunk.first.weight": (places, encoding.n_features)}
    if "scorer.card" in tensors:
        sections = encoding.card_sections
        columns["scorer.card"] = [sections.index(section) for section in of_policy.card_sections], len(sections)
    if "trunk.card.weight" in tensors:
        known, seen = Tokens.of(of_policy), Tokens.of(encoding)
        columns["trunk.card.weight"] = [seen.card_keys.index(key) for key in known.card_keys], len(seen.card_keys)
        columns["trunk.seat.weight"] = [seen.seat_keys.index(key) for key in known.seat_keys], len(seen.seat_keys)
    for key, (where, number) in columns.items():
        old = tensors[key]
        tensors[key] = np.zeros((len(old), number), np.float32)
        tensors[key][:, where] = old
    state = actor.state_dict()
    if any(tensor.shape != state[key].shape for key, tensor in tensors.items() if key in state) or len(state) != len(tensors):
        raise ValueError(f"an initial policy must have the run's kind and size of network; {name} has layers of other sizes")
    return {key: torch.from_numpy(tensor) for key, tensor in tensors.items()}
