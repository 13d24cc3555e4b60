"""The networks: a residual MLP over bytes, an actor and a critic that share no parameter.

    first layer (bytes in) -> ReLU -> `blocks` times x + ReLU(Linear(LayerNorm(x))) -> LayerNorm -> head

The actor sees the features of the seat to act. The critic sees the same, and with `oracle` also what nobody sees whole
(Baisero and Amato, arXiv 2105.11674: the privileged part must come on top of the observation, not instead of it). Since no
parameter is shared, nothing that the critic knows can reach the actor but through the advantages.

Features are bytes; their scale is folded into the first layer, so a batch is converted once and never scaled.
Logits of cards to play and cards to nominate are products with one table of card embeddings.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from noms_env.core.actions import NOMINATE, NUM_ACTIONS
from training.config import NetworkConfig
from training.learn.residual import add_and_normalise

CARDS = 52
WORDS = NOMINATE - CARDS
"""Actions between the cards to play and the cards to nominate."""
PRIOR_AT_START = 3.0
"""Is added to the logit of what `thumb` would do, at the start, which is two thirds of the probability of ten actions."""
HEAD_GAIN = 0.01
"""Of the heads at the start, so that the first policy is nearly uniform (Andrychowicz et al., arXiv 2006.05990, 3.2)."""


class Trunk(nn.Module):
    """From bytes to a vector.

    Args:
        scale: float32, shape (n_features,): a byte counts as `byte * scale`.
        config: the size.
    """

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

    def forward(self, features: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
        """From uint8, shape (n, n_features), to `dtype`, shape (n, width); the last norm's own scale and shift are left out."""
        return through(features, self.folded(dtype))

    def folded(self, dtype: torch.dtype) -> Layers:
        """The layers with all that can be folded into them: the scale into the first, norms into the others."""
        layers = [((self.first.weight * self.scale).to(dtype), self.first.bias.to(dtype, copy=True))]
        for norm, layer in zip(self.norms, self.layers, strict=False):
            assert isinstance(layer, nn.Linear)
            layers.append(folded_norm(norm, layer.weight, layer.bias, dtype))
        return layers


Layers = list[tuple[Tensor, Tensor]]
"""Weight, shape (out, in), and bias, shape (out,), of each layer."""


def through(features: Tensor, layers: Layers) -> Tensor:
    """First layer, residual blocks, and a norm without scale and shift, from uint8 (n, n_features) to shape (n, width)."""
    (weight, bias), *blocks = layers
    first = functional.linear(features.to(weight.dtype), weight, bias)
    x, normal = add_and_normalise(torch.zeros_like(first), first)
    for weight, bias in blocks:
        x, normal = add_and_normalise(x, functional.linear(normal, weight, bias))
    return normal


def folded_norm(norm: nn.Module, weight: Tensor, bias: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """A layer that does what the weight and bias of a norm and then a layer do: a norm without them takes half the time."""
    assert isinstance(norm, nn.LayerNorm)
    return (weight * norm.weight).to(dtype), (bias + weight @ norm.bias).to(dtype)


GRAIN = 64
"""Rows of a batch come to a multiple of this: oneDNN compiles the products of each new shape, and keeps about a thousand."""


def padded(rows: Tensor) -> Tensor:
    """Rows, shape (n, width), with rows of zeros behind them up to a multiple of `GRAIN`."""
    missing = -len(rows) % GRAIN
    return functional.pad(rows, (0, 0, 0, missing)) if missing else rows


ACTIVE = 64.0
"""Features that are not 0 in an observation, about: the first layer is scaled as if it had so many inputs."""


def linear(layer: nn.Module, x: Tensor) -> Tensor:
    """A linear layer in the precision of its input; its own parameters stay float32."""
    assert isinstance(layer, nn.Linear)
    return functional.linear(x, layer.weight.to(x.dtype), layer.bias.to(x.dtype))


class CardHead(nn.Module):
    """Logits of actions: cards to play and to nominate by their embeddings, words by a plain layer.

    Args:
        choices: int64, shape (n_choices,): the numbers of the actions that the network tells apart.
        config: the size.
        rule_based_prior: whether the last features say what `thumb` would do, and something is added to its logit.
    """

    choices: Tensor

    def __init__(self, choices: Tensor, config: NetworkConfig, rule_based_prior: bool = False) -> None:
        super().__init__()
        self.register_buffer("choices", choices, persistent=False)
        self.cards = nn.Parameter(torch.randn(CARDS, config.card_width) * config.card_width**-0.5)
        self.play = nn.Linear(config.width, config.card_width, bias=False)
        self.nominate = nn.Linear(config.width, config.card_width, bias=False)
        self.words = nn.Linear(config.width, WORDS, bias=False)
        self.bias = nn.Parameter(torch.zeros(NUM_ACTIONS))
        self.prior = nn.Parameter(torch.full((NUM_ACTIONS,), PRIOR_AT_START)) if rule_based_prior else None
        with torch.no_grad():
            for layer in (self.play, self.nominate, self.words):
                layer.weight *= HEAD_GAIN

    def folded(self) -> tuple[Tensor, Tensor]:
        """Weight, shape (n_choices, width), and bias of the one linear layer that this is."""
        weight = torch.cat([self.cards @ self.play.weight, self.words.weight, self.cards @ self.nominate.weight])
        return weight[self.choices], self.bias[self.choices]

    def of_prior(self) -> Tensor | None:
        """What the logit of each choice gets where `thumb` would take it, float32, shape (n_choices,); None without a prior."""
        return None if self.prior is None else self.prior[self.choices]


def with_prior(logits: Tensor, features: Tensor, prior: Tensor | None) -> Tensor:
    """Logits, float32, shape (n, n_choices), plus `prior` (`CardHead.of_prior`) where the last features say so."""
    return logits if prior is None else logits + features[:, -len(prior) :].float() * prior


class Actor(nn.Module):
    """The policy: logits of all actions that can be legal, from what the seat sees."""

    def __init__(self, scale: Tensor, choices: Tensor, config: NetworkConfig, rule_based_prior: bool = False) -> None:
        super().__init__()
        self.trunk = Trunk(scale, config)
        self.head = CardHead(choices, config, rule_based_prior)

    def forward(self, features: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
        """Logits float32, shape (n, n_choices), not masked."""
        return self.logits(self.trunk(features, dtype), features)

    def logits(self, normal: Tensor, features: Tensor) -> Tensor:
        """From what the trunk gives, and the features that it had, to logits float32, shape (n, n_choices)."""
        return with_prior(functional.linear(normal, *self._head(normal.dtype)).float(), features, self.head.of_prior())

    def _head(self, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """Weight and bias of the last layer, the last norm's folded in."""
        return folded_norm(self.trunk.norms[-1], *self.head.folded(), dtype)

    @torch.no_grad()
    def frozen(self, dtype: torch.dtype = torch.float32) -> Callable[[Tensor], Tensor]:
        """The policy as it is now: the same logits, with the weights prepared once for many small batches."""
        layers, head, prior = self.trunk.folded(dtype), self._head(dtype), self.head.of_prior()

        def logits(features: Tensor) -> Tensor:
            plain = functional.linear(through(padded(features), layers), *head)[: len(features)].float()
            return with_prior(plain, features, prior)

        return logits


class Critic(nn.Module):
    """The value of the deal for the seat to act, in normalised points."""

    def __init__(self, scale: Tensor, config: NetworkConfig) -> None:
        super().__init__()
        self.trunk = Trunk(scale, config)
        self.value = nn.Linear(config.width, 1)
        with torch.no_grad():
            self.value.weight *= HEAD_GAIN

    def forward(self, features: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
        """Values float32, shape (n,)."""
        head = folded_norm(self.trunk.norms[-1], self.value.weight, self.value.bias, dtype)
        return functional.linear(self.trunk(features, dtype), *head).float().squeeze(-1)


class Guesses(nn.Module):
    """Auxiliary heads on the actor's trunk: who holds each hidden card, who is the partner, how many tricks the seat will take.

    Args:
        width: of the trunk.
        holders: where a hidden card may be (other seats, undealt).
        cards: cards of the deck.
        partners: seats.
        tricks: largest number of tricks.
    """

    def __init__(self, width: int, holders: int, cards: int, partners: int, tricks: int) -> None:
        super().__init__()
        self.shape = (holders, cards)
        self.holder = nn.Linear(width, holders * cards)
        self.partner = nn.Linear(width, partners)
        self.tricks = nn.Linear(width, tricks + 1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Logits float32: holders, shape (n, holders, cards); partners, (n, partners); tricks, (n, tricks + 1)."""
        holders = linear(self.holder, x).float().unflatten(-1, self.shape)
        return holders, linear(self.partner, x).float(), linear(self.tricks, x).float()


def masked(logits: Tensor, mask: Tensor) -> Tensor:
    """Logits in which actions that are not legal have no probability.

    Args:
        logits: float32, shape (n, actions).
        mask: int8, shape (n, actions): 1 for each legal action, 0 for the others; at least one in each row.
    """
    return torch.where(mask.view(torch.bool), logits, ILLEGAL)


ILLEGAL = -1e9
"""Finite, so that 0 * log 0 in entropy and KL is 0 and not NaN."""
