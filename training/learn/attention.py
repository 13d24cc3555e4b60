"""The trunk of a network with attention: tokens of the deal, the cards, the seats and the calls (`noms_env.policy.tokens`).

    tokens -> `layers` times x + Attention(LayerNorm(x)), x + ReLU(Linear(LayerNorm(x))) @ ... -> LayerNorm

In the last layer only the tokens that are read ask the others: that of the deal, and those of the legal cards to play. The
layers see the tokens of all rows one behind the other, without gaps; only attention itself needs them in rows of equal length.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from noms_env._jit import COMPILED
from noms_env.core.state import MAX_SEATS
from noms_env.observation.features import AUCTION_CALLS
from noms_env.policy.attention_kernels import attend_back, attend_rows
from noms_env.policy.encoding import CARDS
from noms_env.policy.tokens import AGES, CALL_KINDS, Tokens

from .config import NetworkConfig
from .sparse import first_layer

WIDER = 2
"""Units between the two linear maps behind attention, for each number of a token."""
ACTIVE = 64.0
"""Features that are not 0 in an observation, about."""
GRAIN = 512
"""The number of tokens comes to a multiple of this: oneDNN compiles the products of each new shape."""


class Layer(nn.Module):
    """The parameters of a layer: attention, and what each token then does by itself."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm, self.norm_behind = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query, self.key_value = nn.Linear(width, width), nn.Linear(width, 2 * width)
        self.merge, self.inner, self.outer = (
            nn.Linear(width, width),
            nn.Linear(width, WIDER * width),
            nn.Linear(WIDER * width, width),
        )


@dataclass(frozen=True)
class Packed:
    """The tokens of some rows, and where they stand in rows of equal length.

    Attributes:
        x: shape (tokens, width); those that are read come first.
        row: int64, shape (tokens,).
        slot: int64, shape (tokens,): `row * length + place in the row`.
        length: tokens of the longest row.
        read: how many are read: one of each row, and then the legal cards to play.
        read_slot: int64, shape (read,), in rows of `read_length`.
        card: int64, shape (read - rows,): which of the cards to play.
    """

    x: Tensor
    row: Tensor
    slot: Tensor
    length: int
    read: int
    read_slot: Tensor
    read_length: int
    card: Tensor


class AttentionTrunk(nn.Module):
    """From bytes to the token of the deal, and those of the legal cards to play.

    Args:
        scale: float32, shape (n_features,): a byte counts as `byte * scale`.
        tokens: where their features stand.
        cards: int64, shape (cards,): the numbers of the cards.
        config: the size.
    """

    scale: Tensor

    def __init__(self, scale: Tensor, tokens: Tokens, cards: Tensor, config: NetworkConfig) -> None:
        super().__init__()
        width = config.token_width
        self.heads, self.tokens = config.heads, tokens
        self.register_buffer("scale", scale, persistent=False)
        for name in ("cards", "shown", "seats", "there", "calls", "place"):
            self.register_buffer(f"at_{name}", torch.from_numpy(getattr(tokens, name)), persistent=False)
        self.register_buffer("numbers", cards, persistent=False)
        self.first = nn.Linear(len(scale), width)
        nn.init.normal_(self.first.weight, std=ACTIVE**-0.5)
        self.card = nn.Linear(tokens.cards.shape[1], width, bias=False)
        self.seat = nn.Linear(tokens.seats.shape[1], width, bias=False)
        self.own, self.age, self.who = (nn.Embedding(rows, width) for rows in (CARDS, AGES, MAX_SEATS))
        tables = [self.own, self.age, self.who]
        if len(tokens.calls):
            self.call, self.position = nn.Embedding(CALL_KINDS, width), nn.Embedding(AUCTION_CALLS, width)
            tables += [self.call, self.position]
        for part in (self.card, self.seat, *tables):
            nn.init.normal_(part.weight, std=0.5)
        self.layers = nn.ModuleList(Layer(width) for _ in range(config.layers))
        self.norm = nn.LayerNorm(width)

    def packed(self, features: Tensor, mask: Tensor | None, dtype: torch.dtype) -> Packed:
        """The tokens of some rows; `features`: uint8, shape (n, n_features), `mask`: int8, shape (n, at least cards)."""
        n, device = len(features), features.device
        n_cards, k = self.at_cards.shape
        of_cards = features.index_select(1, self.at_cards.flatten()).view(n, n_cards, k)
        shown = of_cards.index_select(2, self.at_shown).sum(2, dtype=torch.int32) != 0
        legal = torch.zeros_like(shown) if mask is None else mask[:, :n_cards] != 0
        there = [legal, shown & ~legal, features.index_select(1, self.at_there) != 0]
        if len(self.at_calls):
            of_calls = features.index_select(1, self.at_calls)
            there.append(of_calls != 0)
        places = torch.cat([torch.ones(n, 1, dtype=torch.bool, device=device), *there], 1).cumsum(1)
        length, read_length = int(places[:, -1].max()), 1 + int(legal.sum(1).max())
        rows, slots, parts = [torch.arange(n, device=device)], [torch.arange(n, device=device) * length], []
        found, at = [], 1
        for part in there:
            row, column = part.nonzero(as_tuple=True)
            found.append((row, column))
            rows.append(row)
            slots.append(row * length + places[row, at + column] - 1)
            at += part.shape[1]
        parts.append(first_layer(self.first.weight * self.scale, self.first.bias, dtype)(features))
        row, column = (torch.cat(both) for both in zip(*found[:2], strict=True))
        parts.append(self._cards(features, of_cards[row, column], row, column, dtype))
        row, column = found[2]
        seat = (self.seat.weight * self.scale[self.at_seats[0]]).to(dtype)
        of_seats = features.take(self.at_seats[column] + row[:, None] * features.shape[1]).to(dtype)
        parts.append(functional.linear(of_seats, seat) + self.who.weight.to(dtype)[1 + column])
        if len(self.at_calls):
            row, column = found[3]
            parts.append(self._calls(features, of_calls[row, column], row, column, dtype))
        read_row, card = found[0]
        read = n + len(read_row)
        starts = legal.sum(1).cumsum(0) - legal.sum(1)
        read_place = 1 + torch.arange(len(read_row), device=device) - starts[read_row]
        read_slot = torch.cat([torch.arange(n, device=device) * read_length, read_row * read_length + read_place])
        x, slot = torch.cat(parts), torch.cat(slots)
        return Packed(x, torch.cat(rows), slot, length, read, read_slot, read_length, card)

    def _cards(self, features: Tensor, seen: Tensor, row: Tensor, column: Tensor, dtype: torch.dtype) -> Tensor:
        """Tokens of cards, from what is seen of them, uint8, shape (tokens, k)."""
        weight = (self.card.weight * self.scale[self.at_cards[0]]).to(dtype)
        trick = seen[:, self.tokens.trick_of].long()
        age = torch.where(trick > 0, (2 + features[:, self.tokens.tricks].long()[row] - trick).clamp(0, AGES - 1), 0)
        tables = self.own.weight.to(dtype)[self.numbers[column]] + self.age.weight.to(dtype)[age]
        return functional.linear(seen.to(dtype), weight) + tables

    def _calls(self, features: Tensor, kind: Tensor, row: Tensor, column: Tensor, dtype: torch.dtype) -> Tensor:
        """Tokens of calls, of kinds uint8, shape (tokens,)."""
        place = features.index_select(1, self.at_place).argmax(1)[row]
        seat = (column - place) % features[:, self.tokens.n_seats].long()[row].clamp(min=1)
        tables = (self.call.weight[kind.long()], self.position.weight[column], self.who.weight[seat])
        return (tables[0] + tables[1] + tables[2]).to(dtype)

    def forward(self, features: Tensor, mask: Tensor | None, dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
        """The norm's scale and shift are left out.

        Returns:
            Shape (n + m, width): of the n rows, then of the m legal cards to play; int64, shape (m,): rows and cards of these.
        """
        tokens = self.packed(features, mask, dtype)
        n, x = len(features), tokens.x
        missing = -len(x) % GRAIN
        x = functional.pad(x, (0, 0, 0, missing))
        count = len(tokens.slot)
        used = torch.zeros(n * tokens.length, dtype=torch.bool, device=x.device).index_fill_(0, tokens.slot, True)
        used = used.view(n, 1, 1, tokens.length)
        for number, layer in enumerate(self.layers):
            is_last = number == len(self.layers) - 1
            x = self._layer(layer, x, count, tokens, used, is_last, dtype)
        normal = functional.layer_norm(x[: tokens.read], x.shape[-1:])
        return normal, tokens.row[n : tokens.read], tokens.card

    def _layer(
        self, layer: Any, x: Tensor, count: int, tokens: Packed, used: Tensor, is_last: bool, dtype: torch.dtype
    ) -> Tensor:
        width = x.shape[1]
        normal = functional.layer_norm(x, (width,))
        key_value = functional.linear(normal, *folded(layer.norm, layer.key_value, dtype))[:count]
        read = min(-(-tokens.read // GRAIN) * GRAIN, len(x)) if is_last else len(x)
        x, asking = x[:read], tokens.read if is_last else count
        slot, length = (tokens.read_slot, tokens.read_length) if is_last else (tokens.slot, tokens.length)
        query = functional.linear(normal[:read], *folded(layer.norm, layer.query, dtype))[:asking]
        answer = attention(query, key_value, slot, length, tokens.slot, tokens.length, used, self.heads)
        answer = functional.pad(answer, (0, 0, 0, read - asking))
        x = x + functional.linear(answer, layer.merge.weight.to(dtype), layer.merge.bias.to(dtype))
        inner = functional.linear(functional.layer_norm(x, (width,)), *folded(layer.norm_behind, layer.inner, dtype)).relu()
        return x + functional.linear(inner, layer.outer.weight.to(dtype), layer.outer.bias.to(dtype))


def folded(norm: Any, layer: Any, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Weight and bias of a layer with the scale and shift of the norm before it."""
    return (layer.weight * norm.weight).to(dtype), (layer.bias + layer.weight @ norm.bias).to(dtype)


def attention(
    query: Tensor, key_value: Tensor, slot: Tensor, length: int, key_slot: Tensor, key_length: int, used: Tensor, heads: int
) -> Tensor:
    """What the tokens that ask get from those of their row, shape (asking, width).

    `slot` and `key_slot` say where the tokens stand in rows of `length` and `key_length`; `used`: bool, shape
    (n, 1, 1, key_length).
    """
    n, width = len(used), query.shape[1]
    if COMPILED and query.device.type == "cpu":
        return Compiled.apply(query, key_value, numbered(slot, n, length), numbered(key_slot, n, key_length), heads)
    q = Spread.apply(query, slot, n * length).view(n, length, heads, -1).transpose(1, 2)
    both = Spread.apply(key_value, key_slot, n * key_length).view(n, key_length, 2, heads, -1)
    k, v = both[:, :, 0].transpose(1, 2), both[:, :, 1].transpose(1, 2)
    answer = functional.scaled_dot_product_attention(q, k, v, attn_mask=used)
    return Picked.apply(answer.transpose(1, 2).reshape(n * length, width), slot)


def numbered(slot: Tensor, n: int, length: int) -> np.ndarray:
    """The number of the token in each place of n rows of a length, -1 behind the last; int64."""
    numbers = np.full(n * length, -1)
    numbers[slot.numpy()] = np.arange(len(slot))
    return numbers.reshape(n, length)


class Compiled(torch.autograd.Function):
    """`attention` on a processor, where torch takes several times as long for so few tokens (and ten times in bfloat16)."""

    @staticmethod
    def forward(ctx: Any, query: Tensor, key_value: Tensor, asking: np.ndarray, asked: np.ndarray, heads: int) -> Tensor:
        numbers = [part.float().contiguous().numpy() for part in (query, key_value)]
        ctx.inputs, ctx.dtype, out = (
            (*numbers, asking, asked, query.shape[1], heads),
            query.dtype,
            np.empty(query.shape, np.float32),
        )
        attend_rows(*ctx.inputs, out)
        return torch.from_numpy(out).to(query.dtype)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        of_query, of_key_value = np.empty_like(ctx.inputs[0]), np.empty_like(ctx.inputs[1])
        attend_back(*ctx.inputs, gradients[0].float().contiguous().numpy(), of_query, of_key_value)
        return *(torch.from_numpy(part).to(ctx.dtype) for part in (of_query, of_key_value)), None, None, None


class Spread(torch.autograd.Function):
    """Rows put to their places, each to one of its own, among zeros."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, slot: Tensor, total: int) -> Tensor:
        ctx.save_for_backward(slot)
        return rows.new_zeros(total, rows.shape[1]).index_copy_(0, slot, rows)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        return gradients[0].index_select(0, *ctx.saved_tensors), None, None


class Picked(torch.autograd.Function):
    """Rows from their places, each from one of its own."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, slot: Tensor) -> Tensor:
        ctx.save_for_backward(slot)
        ctx.total = len(rows)
        return rows.index_select(0, slot)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        gradient = gradients[0]
        (slot,) = ctx.saved_tensors
        return gradient.new_zeros(ctx.total, gradient.shape[1]).index_copy_(0, slot, gradient), None
