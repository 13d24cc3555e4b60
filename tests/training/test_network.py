"""The networks: that what is folded into their layers counts as it would by itself."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from training.config import NetworkConfig
from training.learn.network import Actor, Critic, Trunk

FEATURES, CHOICES = 40, 30


def random_parameters(network: nn.Module) -> None:
    """Parameters none of which is without effect."""
    for parameter in network.parameters():
        nn.init.normal_(parameter, std=0.5)


def actor_and_bytes(blocks: int = 2) -> tuple[Actor, Tensor]:
    torch.manual_seed(1)
    actor = Actor(torch.rand(FEATURES), torch.randperm(150)[:CHOICES], NetworkConfig(16, blocks, 8))
    random_parameters(actor)
    return actor, torch.randint(0, 9, (50, FEATURES), dtype=torch.uint8)


def plain(trunk: Trunk, features: Tensor) -> Tensor:
    """The trunk, layer by layer."""
    x = trunk.first(features.float() * trunk.scale).relu()
    for norm, layer in zip(trunk.norms, trunk.layers, strict=False):
        x = x + layer(norm(x)).relu()
    result: Tensor = trunk.norms[-1](x)
    return result


def whole(trunk: Trunk, features: Tensor) -> Tensor:
    """The folded layers, with what is left to the head."""
    norm = trunk.norms[-1]
    assert isinstance(norm, nn.LayerNorm)
    result: Tensor = trunk(features) * norm.weight + norm.bias
    return result


@pytest.mark.parametrize("blocks", [0, 1, 3])
def test_the_folded_layers_are_the_plain_ones(blocks: int) -> None:
    actor, features = actor_and_bytes(blocks)
    torch.testing.assert_close(whole(actor.trunk, features), plain(actor.trunk, features), rtol=1e-4, atol=1e-4)


def test_their_gradients_are_those_of_the_plain_ones() -> None:
    actor, features = actor_and_bytes()
    weight = torch.randn(50, 16)
    parameters = list(actor.trunk.parameters())
    folded = torch.autograd.grad((whole(actor.trunk, features) * weight).sum(), parameters)
    for one, other in zip(folded, torch.autograd.grad((plain(actor.trunk, features) * weight).sum(), parameters), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-3)


def test_a_frozen_policy_says_the_same_and_stays_as_it_was() -> None:
    actor, features = actor_and_bytes()
    with torch.no_grad():
        logits = actor(features)
        policy = actor.frozen()
        torch.testing.assert_close(policy(features), logits, rtol=1e-4, atol=1e-4)
        random_parameters(actor)
        torch.testing.assert_close(policy(features), logits, rtol=1e-4, atol=1e-4)
        assert (actor(features) - logits).abs().max() > 0.1
    assert policy(features).shape == (50, CHOICES)


def test_in_half_precision_the_results_are_float32_and_about_the_same() -> None:
    actor, features = actor_and_bytes()
    torch.manual_seed(2)
    critic = Critic(actor.trunk.scale, NetworkConfig(16, 2, 8))
    random_parameters(critic)
    passes: list[Callable[[torch.dtype], Tensor]] = [
        lambda dtype: actor(features, dtype),
        lambda dtype: critic(features, dtype),
        lambda dtype: actor.frozen(dtype)(features),
    ]
    for one in passes:
        exact, rough = one(torch.float32).detach(), one(torch.bfloat16).detach()
        assert rough.dtype == torch.float32
        assert 0 < (rough - exact).abs().mean() < 0.05 * exact.abs().mean()
