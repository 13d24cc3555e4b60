"""The parameters of a network with attention (`noms_env.policy.attention` says what it is, `attention_torch` runs it)."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from noms_env.policy.attention import LAYER, TABLES
from noms_env.policy.attention_torch import Attention
from noms_env.policy.encoding import Encoding
from noms_env.policy.tokens import Tokens

from .config import NetworkConfig
from .sparse import first_layer

ACTIVE = 64.0
"""Features that are not 0 in an observation, about."""


class Layer(nn.Module):
    """The parameters of a layer: attention, and what each token then does by itself."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm, self.norm_behind = nn.LayerNorm(width), nn.LayerNorm(width)
        for name, times in LAYER.items():
            inputs = LAYER["inner"] * width if name == "outer" else width
            self.add_module(name, nn.Linear(inputs, times * width))


class AttentionTrunk(nn.Module):
    """From bytes to the token of the deal, and to a number for each card.

    Args:
        encoding: of the bytes.
        config: the size.
        privileged: whether the hidden features are behind them.
    """

    scale: Tensor

    def __init__(self, encoding: Encoding, config: NetworkConfig, privileged: bool = False) -> None:
        super().__init__()
        width, tokens = config.token_width, Tokens.of(encoding, privileged)
        self.heads, self.tokens = config.heads, tokens
        hidden = torch.ones(encoding.n_hidden if privileged else 0)
        self.register_buffer("scale", torch.cat([torch.from_numpy(encoding.scale), hidden]), persistent=False)
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

    def folded(self, dtype: torch.dtype) -> Attention:
        """The network with the parameters that it has now."""
        parameters: dict[str, Any] = {f"trunk.{name}": part for name, part in self.named_parameters()}
        places = {name: self.get_buffer(f"at_{name}") for name in self.tokens.places}
        first = partial(first_layer, dtype=dtype)
        return Attention(self.tokens, parameters, self.scale, places, self.heads, dtype, first, not self.scale.is_cuda)
