"""The networks: that what is folded into their layers counts as it would by itself."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from noms_training.learn.config import ActorConfig, NetworkConfig
from noms_training.learn.network import Actor, Critic, Trunk

FEATURES, CHOICES, CARDS = 140, 30, 13


def random_parameters(network: nn.Module) -> None:
    """Parameters none of which is without effect."""
    for parameter in network.parameters():
        nn.init.normal_(parameter, std=0.5)


def actor_and_bytes(blocks: int = 2) -> tuple[Actor, Tensor]:
    torch.manual_seed(1)
    choices = torch.cat([torch.randperm(52)[:CARDS], 52 + torch.randperm(98)[: CHOICES - CARDS]])
    columns = torch.randint(FEATURES - 3, (CARDS, 1)) + torch.arange(3)
    scale = torch.rand(FEATURES)
    scale[columns] = 0.5  # that of all cards is one
    actor = Actor(scale, choices, columns, ActorConfig(16, blocks, 8, scorer_width=6))
    random_parameters(actor)
    return actor, some_bytes()


def some_bytes(rows: int = 50, features: int = FEATURES) -> Tensor:
    """Bytes as in observations: most are 0."""
    return torch.randint(1, 9, (rows, features), dtype=torch.uint8) * (torch.rand(rows, features) < 0.3)


def some_legal(rows: int = 50) -> Tensor:
    """A mask with cards in most rows, and none in some."""
    legal = torch.rand(rows, CHOICES) < 0.3
    legal[::7, :CARDS] = False
    legal[:, -1] = True
    return legal.to(torch.int8)


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
    mask = some_legal()
    with torch.no_grad():
        logits = actor(features, mask)
        policy = actor.frozen()
        torch.testing.assert_close(policy(features, mask), logits, rtol=1e-4, atol=1e-4)
        random_parameters(actor)
        torch.testing.assert_close(policy(features, mask), logits, rtol=1e-4, atol=1e-4)
        assert (actor(features, mask) - logits).abs().max() > 0.1
    assert policy(features, mask).shape == (50, CHOICES)


def test_the_scorer_adds_to_each_legal_card_what_it_says_of_it() -> None:
    actor, features = actor_and_bytes()
    mask, scorer = some_legal(), actor.scorer
    assert scorer is not None
    with torch.no_grad():
        found = actor(features, mask)
        seen = whole(actor.trunk, features)
        weight, bias = actor.head.folded()
        expected = seen @ weight.T + bias
        context = scorer.context(seen)
        for row, card in mask[:, :CARDS].nonzero().tolist():
            counted = features[row, scorer.columns[card]] * actor.trunk.scale[scorer.columns[card]]
            hidden = scorer.card @ counted + scorer.own[actor.head.choices[card]] + context[row]
            expected[row, card] += scorer.out @ hidden.relu()
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


def test_without_a_scorer_or_without_card_features_there_is_an_actor_too() -> None:
    columns, choices = torch.empty((CARDS, 0), dtype=torch.int64), torch.arange(CHOICES)
    features, mask = some_bytes(), some_legal()
    for units in (0, 5):
        actor = Actor(torch.rand(FEATURES), choices, columns, ActorConfig(16, 1, 8, scorer_width=units))
        assert (actor.scorer is None) == (units == 0)
        assert actor(features, mask).shape == (50, CHOICES)


def test_in_half_precision_the_results_are_float32_and_about_the_same() -> None:
    actor, features = actor_and_bytes()
    torch.manual_seed(2)
    mask = some_legal()
    critic = Critic(Trunk(actor.trunk.scale, NetworkConfig(16, 2, 8)), 16)
    random_parameters(critic)
    passes: list[Callable[[torch.dtype], Tensor]] = [
        lambda dtype: actor(features, mask, dtype),
        lambda dtype: critic(features, dtype),
        lambda dtype: actor.frozen(dtype)(features, mask),
    ]
    for one in passes:
        exact, rough = one(torch.float32).detach(), one(torch.bfloat16).detach()
        assert rough.dtype == torch.float32
        assert 0 < (rough - exact).abs().mean() < 0.05 * exact.abs().mean()
