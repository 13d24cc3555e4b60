"""The network of a policy with attention in torch, on a GPU: `noms_env.policy.attention` says what it is.

Every row has a token for each card, seat and call that there could be, and those that are not there are not asked: so no size
depends on the rows, nothing waits for the GPU, and all of it can be captured as a CUDA graph.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional
from torch.utils.dlpack import from_dlpack

from noms_env.cuda.players.encoding import PolicyRows
from noms_env.policy.attention import AttentionLayers, token_parameters
from noms_env.policy.encoding import Encoding
from noms_env.policy.tokens import Tokens


class AttentionNetwork:
    """From `PolicyRows.inputs` to its `logits`, without the bias of the last layer."""

    def __init__(
        self, encoding: Encoding, exact: Mapping[str, np.ndarray], heads: int, dtype: torch.dtype, device: torch.device
    ) -> None:
        """Bring parameters as `attention.shapes_of` lists them, in float64, to a device, as numbers of a type."""
        layers, tokens = AttentionLayers.folded(encoding, exact), Tokens.of(encoding)
        width = len(layers.score)

        def on_device(array: np.ndarray) -> Tensor:
            is_index = array.dtype == np.int64
            return torch.from_numpy(array).to(device=device, dtype=torch.int64 if is_index else dtype)

        first, first_bias, of_cards, of_seats, of_calls, numbers = token_parameters(encoding, exact, tokens)
        self.dtype, self.heads = dtype, heads
        self.trick_of, self.tricks, self.n_seats = numbers.tolist()
        self.first, self.first_bias = on_device(first[:, :width].T.copy()), on_device(first_bias[:width])
        self.at_cards, self.shown, *rest = map(on_device, of_cards)
        self.card, self.own, self.age = (part[:, :width] for part in rest)
        self.at_seats, self.there, *rest = map(on_device, of_seats)
        self.seat, self.who = (part[:, :width] for part in rest)
        self.calls, self.place, *rest = map(on_device, of_calls)
        self.call, self.position = (part[:, :width] for part in rest)
        self.layers = [{name: tuple(map(on_device, part)) for name, part in parts.items()} for parts in layers.maps]
        self.head, self.score = on_device(layers.head), on_device(layers.score)
        self._views: tuple[PolicyRows | None, Tensor, Tensor] = (None, self.head, self.head)

    @torch.inference_mode()
    def __call__(self, room: PolicyRows, count: int) -> None:
        """Write the logits of the first so many rows."""
        if self._views[0] is not room:
            self._views = (room, from_dlpack(room.inputs).view(self.dtype), from_dlpack(room.logits))
        inputs, logits = self._views[1][:count], self._views[2]
        x, there = self._tokens(inputs)
        cards = len(self.at_cards)
        for layer in self.layers:
            x = self._run(layer, x, x if layer is not self.layers[-1] else x[:, : 1 + cards], there)
        normal = functional.layer_norm(x, x.shape[-1:])
        found = functional.linear(normal[:, 0], self.head).float()
        found[:, :cards] += (normal[:, 1:] @ self.score).float()
        logits[:count] = found

    def _tokens(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Shape (n, tokens, width), and which of them are there: bool, shape (n, 1, 1, tokens)."""
        n = len(inputs)
        of_cards = inputs[:, self.at_cards]
        shown = (of_cards[:, :, self.shown] != 0).any(2)
        trick = of_cards[:, :, self.trick_of].long()
        age = (2 + inputs[:, self.tricks].long()[:, None] - trick).clamp(0, len(self.age) - 1) * (trick > 0)
        deal = functional.linear(inputs, self.first, self.first_bias)[:, None]
        cards = of_cards @ self.card + self.own + self.age[age]
        seats = inputs[:, self.at_seats] @ self.seat + self.who[1 : 1 + len(self.there)]
        kind = inputs[:, self.calls].long()
        place = inputs[:, self.place].argmax(1, keepdim=True)
        seat = (torch.arange(kind.shape[1], device=inputs.device) - place) % inputs[:, self.n_seats].long()[:, None].clamp(
            min=1
        )
        calls = self.call[kind] + self.position[: kind.shape[1]] + self.who[seat]
        there = [torch.ones_like(shown[:, :1]), shown, inputs[:, self.there] != 0, kind != 0]
        return torch.cat([deal, cards, seats, calls], 1), torch.cat(there, 1).view(n, 1, 1, -1)

    def _run(self, layer: dict[str, Any], x: Tensor, asking: Tensor, there: Tensor) -> Tensor:
        n, width = len(x), x.shape[-1:]
        normal = functional.layer_norm(x, width)
        key_value = functional.linear(normal, *layer["key_value"]).view(n, x.shape[1], 2, self.heads, -1)
        key, value = key_value[:, :, 0].transpose(1, 2), key_value[:, :, 1].transpose(1, 2)
        query = functional.linear(normal[:, : asking.shape[1]], *layer["query"]).view(n, asking.shape[1], self.heads, -1)
        answer = functional.scaled_dot_product_attention(query.transpose(1, 2), key, value, attn_mask=there)
        x = asking + functional.linear(answer.transpose(1, 2).reshape(asking.shape), *layer["merge"])
        inner = functional.linear(functional.layer_norm(x, width), *layer["inner"]).relu()
        return x + functional.linear(inner, *layer["outer"])
