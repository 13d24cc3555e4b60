"""The attention network (`attention`) in torch: for training, and for policies on a GPU.

Every row has a token for each possible card, seat and call; absent ones are masked. So no size depends on the rows, nothing
waits for a GPU, and a CUDA graph can capture all of it. On a CPU that takes twice as long, so tokens are trimmed: rows with
about as many tokens form a chunk, without the absent ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor
from torch.nn import functional

from noms_env.policy.attention import Folded
from noms_env.policy.tokens import AGES, Tokens

CHUNK, GPU_CHUNK = 256, 1 << 13
"""Rows that pass through the layers together, on a CPU and on a GPU."""
GRAIN = 4
"""Tokens of a row are rounded up to a multiple of this on a CPU: oneDNN compiles the products of each new shape."""


class Attention:
    """An attention network with a copy of the present parameters.

    Args:
        tokens: tokens of its inputs.
        parameters: tensors, with the names of a trunk in `attention.shapes_of`.
        scale: float32, shape (n_features,).
        at: `Tokens.places` as tensors.
        heads: heads of each layer.
        dtype: dtype of its numbers.
        first: makes the first layer from weight and bias; a linear layer of torch if None.
        trims: drop absent tokens.
    """

    def __init__(
        self,
        tokens: Tokens,
        parameters: Mapping[str, Tensor],
        scale: Tensor,
        at: Mapping[str, Tensor],
        heads: int,
        dtype: torch.dtype,
        first: Callable[[Tensor, Tensor], Callable[[Tensor], Tensor]] | None = None,
        trims: bool = False,
    ) -> None:
        parts = Folded.of(parameters, scale, at)

        def copy(part: Tensor) -> Tensor:
            return part.to(dtype, copy=True)

        self.tokens, self.at, self.heads, self.dtype, self.trims = tokens, at, heads, dtype, trims
        if first is None:
            weight, bias = copy(parts.first), copy(parts.first_bias)
            self.first: Callable[[Tensor], Tensor] = lambda features: functional.linear(features.to(dtype), weight, bias)
        else:
            self.first = first(parts.first, parts.first_bias)
        self.card, self.seat = copy(parts.card), copy(parts.seat)
        self.tables = {name: copy(table) for name, table in parts.tables.items()}
        self.layers = [{name: (copy(weight), copy(bias)) for name, (weight, bias) in layer.items()} for layer in parts.layers]

    def __call__(self, features: Tensor, mask: Tensor | None = None, score: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Run the network on some rows.

        Args:
            features: shape (n, n_features).
            mask: int8, shape (n, at least cards): legal cards to play; read only if tokens are trimmed.
            score: shape (width,); None if no card scores are needed.

        Returns:
            The normalised token of the deal, shape (n, width), and the products of the cards' tokens and `score`, shape (n,
            cards), which mean nothing for illegal cards.
        """
        there = self.shown(features)
        if not self.trims:
            parts = (part.split(GPU_CHUNK) for part in (features, self.first(features), there))
            return _concatenate([self._read(self._tokens(*part[:2]), part[2], score) for part in zip(*parts, strict=True)])
        legal = torch.zeros_like(there)
        if mask is not None:
            legal[:, 1 : 1 + len(self.tokens.cards)] = mask[:, : len(self.tokens.cards)] != 0
        order = there.sum(1).argsort()
        features, there, legal = features[order], there[order], legal[order]
        deals = self.first(features).split(CHUNK)
        chunks = zip(features.split(CHUNK), deals, there.split(CHUNK), legal.split(CHUNK), strict=True)
        deal, scores = _concatenate([self._read_trimmed(*chunk, score) for chunk in chunks])
        back = order.argsort()
        return deal.index_select(0, back), scores.index_select(0, back)

    def shown(self, features: Tensor) -> Tensor:
        """Return which tokens are present: bool, shape (n, tokens)."""
        cards, shown = self.at["cards"], self.at["shown"]
        there = features.index_select(1, cards[:, shown].flatten()).view(len(features), len(cards), -1) != 0
        others = features.index_select(1, torch.cat([self.at["there"], self.at["calls"]])) != 0
        return torch.cat([torch.ones_like(others[:, :1]), there.any(2), others], 1)

    def _tokens(self, features: Tensor, deal: Tensor) -> Tensor:
        """Return the tokens of some rows, shape (n, tokens, width), from their features and the first layer's output."""
        n, at, tables, numbers = len(features), self.at, self.tables, self.tokens
        of_cards = features.index_select(1, at["cards"].flatten()).view(n, *at["cards"].shape)
        trick = of_cards[:, :, numbers.trick_of].long()
        age = (2 + features[:, numbers.tricks].long()[:, None] - trick).clamp(0, AGES - 1) * (trick > 0)
        of_seats = features.index_select(1, at["seats"].flatten()).view(n, *at["seats"].shape)
        parts = [
            deal[:, None],
            of_cards.to(self.dtype) @ self.card + tables["own"] + functional.embedding(age, tables["age"]),
            of_seats.to(self.dtype) @ self.seat + tables["who"][1 : 1 + len(numbers.seats)],
        ]
        if len(numbers.calls):
            kind, place = features.index_select(1, at["calls"]).long(), features.index_select(1, at["place"])
            turn = torch.arange(kind.shape[1], device=features.device) - place.argmax(1, keepdim=True)
            seat = turn % features[:, numbers.n_seats].long()[:, None].clamp(min=1)
            of_calls = functional.embedding(kind, tables["call"]) + tables["position"][: kind.shape[1]]
            parts.append(of_calls + functional.embedding(seat, tables["who"]))
        return torch.cat(parts, 1)

    def _read(self, x: Tensor, there: Tensor, score: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return the outputs of `__call__` from all tokens, the deal and the cards first."""
        x = self._run(x, there, 1 if score is None else 1 + len(self.tokens.cards))
        return x[:, 0], x[:, 1:] @ (x.new_zeros(x.shape[2]) if score is None else score)

    def _read_trimmed(
        self, features: Tensor, deal: Tensor, there: Tensor, legal: Tensor, score: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Return the outputs of `__call__` from the present tokens, those of legal cards to play first."""
        n, every = there.shape
        length, asking = -(-int(there.sum(1).max()) // GRAIN) * GRAIN, 1 + int(legal.sum(1).max())
        rank = there.to(torch.int8) + legal
        rank[:, 0] = 3
        order = rank.argsort(dim=1, descending=True, stable=True)[:, :length]
        places = (order + every * torch.arange(n)[:, None]).flatten()
        x = self._tokens(features, deal).flatten(0, 1).index_select(0, places).view(n, order.shape[1], -1)
        x = self._run(x, there.gather(1, order), asking)
        scores = x.new_zeros(n, every)
        if score is not None:
            scores = scores.scatter_add(1, order[:, 1:asking], x[:, 1:] @ score)
        return x[:, 0], scores[:, 1 : 1 + len(self.tokens.cards)]

    def _run(self, x: Tensor, there: Tensor, asking: int) -> Tensor:
        """Run all layers and a norm, from all tokens to the first `asking`; absent tokens are masked."""
        n, length, width = x.shape
        for layer in self.layers:
            asks = asking if layer is self.layers[-1] else length
            normal = functional.layer_norm(x, (width,))
            key_value = functional.linear(normal, *layer["key_value"]).view(n, length, 2, self.heads, -1)
            query = functional.linear(normal[:, :asks], *layer["query"]).view(n, asks, self.heads, -1)
            key, value = key_value[:, :, 0], key_value[:, :, 1]
            if not x.is_cuda:  # on a CPU attention in bfloat16 takes ten times as long
                query, key, value = query.float(), key.float(), value.float()
            q, k, v = query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2)
            answer = functional.scaled_dot_product_attention(q, k, v, there[:, None, None])
            answer = answer.transpose(1, 2).reshape(n, asks, width).to(self.dtype)
            x = x[:, :asks] + functional.linear(answer, *layer["merge"])
            inner = functional.linear(functional.layer_norm(x, (width,)), *layer["inner"]).relu()
            x = x + functional.linear(inner, *layer["outer"])
        return functional.layer_norm(x, (width,))


def _concatenate(results: list[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
    deals, scores = zip(*results, strict=True)
    return torch.cat(deals), torch.cat(scores)
