"""The networks: layers with folded scales and norms equal plain ones."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from noms_training.learn.config import ActorConfig, NetworkConfig
from noms_training.learn.network import Actor, Critic, Trunk

FEATURES, CHOICES, CARDS = 140, 30, 13


def randomise(network: nn.Module) -> None:
    """Set all parameters to values that have an effect."""
    for parameter in network.parameters():
        nn.init.normal_(parameter, std=0.5)


def make_actor(blocks: int = 2) -> tuple[Actor, Tensor]:
    torch.manual_seed(1)
    choices = torch.cat([torch.randperm(52)[:CARDS], 52 + torch.randperm(98)[: CHOICES - CARDS]])
    columns = torch.randint(FEATURES - 3, (CARDS, 1)) + torch.arange(3)
    scale = torch.rand(FEATURES)
    scale[columns] = 0.5  # all cards have the same
    actor = Actor(scale, choices, columns, ActorConfig(16, blocks, 8, scorer_width=6))
    randomise(actor)
    return actor, draw_bytes()


def draw_bytes(rows: int = 50, features: int = FEATURES) -> Tensor:
    """Features, most of them 0."""
    return torch.randint(1, 9, (rows, features), dtype=torch.uint8) * (torch.rand(rows, features) < 0.3)


def draw_masks(rows: int = 50) -> Tensor:
    """Masks with cards in most rows, and none in some."""
    legal = torch.rand(rows, CHOICES) < 0.3
    legal[::7, :CARDS] = False
    legal[:, -1] = True
    return legal.to(torch.int8)


def run_plainly(trunk: Trunk, features: Tensor) -> Tensor:
    """Run the trunk layer by layer."""
    x = trunk.first(features.float() * trunk.scale).relu()
    for norm, layer in zip(trunk.norms, trunk.layers, strict=False):
        x = x + layer(norm(x)).relu()
    result: Tensor = trunk.norms[-1](x)
    return result


def run_folded(trunk: Trunk, features: Tensor) -> Tensor:
    """Run the folded layers, and the last norm, which is folded into the head."""
    norm = trunk.norms[-1]
    assert isinstance(norm, nn.LayerNorm)
    result: Tensor = trunk(features) * norm.weight + norm.bias
    return result


@pytest.mark.parametrize("blocks", [0, 1, 3])
def test_folded_layers_equal_plain_ones(blocks: int) -> None:
    actor, features = make_actor(blocks)
    weight, parameters = torch.randn(50, 16), list(actor.trunk.parameters())
    results = run_folded(actor.trunk, features), run_plainly(actor.trunk, features)
    torch.testing.assert_close(*results, rtol=1e-4, atol=1e-4)
    gradients = [torch.autograd.grad((result * weight).sum(), parameters) for result in results]
    for gradient, expected in zip(*gradients, strict=True):
        torch.testing.assert_close(gradient, expected, rtol=1e-3, atol=1e-3)


def test_a_frozen_policy_equals_the_actor_and_stays() -> None:
    actor, features = make_actor()
    mask = draw_masks()
    with torch.no_grad():
        logits = actor(features, mask)
        policy = actor.frozen()
        torch.testing.assert_close(policy(features, mask), logits, rtol=1e-4, atol=1e-4)
        randomise(actor)
        torch.testing.assert_close(policy(features, mask), logits, rtol=1e-4, atol=1e-4)
        assert (actor(features, mask) - logits).abs().max() > 0.1
    assert policy(features, mask).shape == (50, CHOICES)


def test_the_scorer_adds_a_score_to_each_legal_card() -> None:
    actor, features = make_actor()
    mask, scorer = draw_masks(), actor.scorer
    assert scorer is not None
    with torch.no_grad():
        logits = actor(features, mask)
        trunk = run_folded(actor.trunk, features)
        weight, bias = actor.head.folded()
        expected = trunk @ weight.T + bias
        context = scorer.context(trunk)
        for row, card in mask[:, :CARDS].nonzero().tolist():
            scaled = features[row, scorer.columns[card]] * actor.trunk.scale[scorer.columns[card]]
            hidden = scorer.card @ scaled + scorer.own[actor.head.choices[card]] + context[row]
            expected[row, card] += scorer.out @ hidden.relu()
    torch.testing.assert_close(logits, expected, rtol=1e-4, atol=1e-4)


def test_an_actor_needs_no_scorer_and_no_card_features() -> None:
    columns, choices = torch.empty((CARDS, 0), dtype=torch.int64), torch.arange(CHOICES)
    features, mask = draw_bytes(), draw_masks()
    for units in (0, 5):
        actor = Actor(torch.rand(FEATURES), choices, columns, ActorConfig(16, 1, 8, scorer_width=units))
        assert (actor.scorer is None) == (units == 0)
        assert actor(features, mask).shape == (50, CHOICES)


def test_half_precision_gives_close_float32_results() -> None:
    actor, features = make_actor()
    torch.manual_seed(2)
    mask = draw_masks()
    critic = Critic(Trunk(actor.trunk.scale, NetworkConfig(16, 2, 8)), 16)
    randomise(critic)
    passes: list[Callable[[torch.dtype], Tensor]] = [
        lambda dtype: actor(features, mask, dtype),
        lambda dtype: critic(features, dtype),
        lambda dtype: actor.frozen(dtype)(features, mask),
    ]
    for run in passes:
        exact, rough = run(torch.float32).detach(), run(torch.bfloat16).detach()
        assert rough.dtype == torch.float32
        assert 0 < (rough - exact).abs().mean() < 0.05 * exact.abs().mean()
