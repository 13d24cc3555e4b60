"""The networks with attention: tokens, inputs and gradients."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from noms_env.observation.layout import OBSERVATION
from noms_env.policy import attention_torch
from noms_env.policy.encoding import CARDS, Encoding, make_encoding
from noms_env.variants import VARIANTS
from noms_training.learn.config import ActorConfig
from noms_training.learn.network import Actor, AttentionActor, AttentionTrunk, Critic
from tests.policy.test_player import ATTENTION, decisions, make_actor, rules_of

CONFIG = ActorConfig(**ATTENTION)


def encode(*variants: str, rows: int = 80) -> tuple[Encoding, np.ndarray, Tensor, Tensor]:
    """An encoding, observations, and their features and masks."""
    rules = rules_of(*variants)
    encoding, (observation, legal) = make_encoding(rules, card_features=True), decisions(rules, rows)
    features, mask, _ = encoding.encode(observation, legal)
    return encoding, observation, torch.from_numpy(features), torch.from_numpy(mask)


def trunk_of(network: Actor | Critic) -> AttentionTrunk:
    trunk = network.trunk
    assert isinstance(trunk, AttentionTrunk)
    return trunk


@pytest.mark.parametrize("variant", VARIANTS)
def test_each_visible_card_seat_and_call_has_a_token(variant: str) -> None:
    encoding, observation, features, mask = encode(variant)
    section = {section.name: observation[:, section.slice] for section in OBSERVATION}
    is_token = trunk_of(Actor.of(encoding, CONFIG)).folded(torch.float32).shown(features)
    cards = (section["hand"] != 0) | (section["trick_of"] != 0) | (section["exposed"] != 0)
    nominated = section["nominated"].reshape(len(observation), 8)[:, 7].astype(int) - 1
    for row in np.flatnonzero(nominated >= 0):
        cards[row, nominated[row]] = True
    seats = section["seats"].reshape(len(observation), -1, 8)[:, 1:, 2].sum(1)
    calls = (section["calls"][:, :24] != 0).sum(1) * (encoding.partners > 0)
    assert np.array_equal(is_token.sum(1).numpy(), 1 + cards.sum(1) + seats + calls)
    legal = mask[:, : sum(encoding.choices < CARDS)] != 0
    assert (is_token[:, 1 : 1 + legal.shape[1]] >= legal).all()


def test_the_caller_and_the_trick_of_a_card_matter() -> None:
    """The calls of two seats, and the tricks of two cards, are exchanged: their sums stay."""
    encoding, _, features, mask = encode("small_ships")
    actor = make_actor(encoding.rule_sets, ATTENTION, encoding=encoding)
    tokens = trunk_of(actor).tokens
    with torch.no_grad():
        before = actor(features, mask)
        for columns in (tokens.calls[:2], tokens.cards[[3, 20], tokens.trick_of]):
            changed = features.clone()
            changed[:, columns] = torch.tensor([3, 1], dtype=torch.uint8)
            other = features.clone()
            other[:, columns] = torch.tensor([1, 3], dtype=torch.uint8)
            assert (actor(changed, mask) - actor(other, mask)).abs().max(1).values.min() > 1e-4
        assert torch.equal(actor(features, mask), before)


def make_networks() -> Iterator[tuple[Actor | Critic, tuple[Any, ...]]]:
    """An actor and a critic, with inputs."""
    encoding, _, features, mask = encode("nonesuch", "small_ships", rows=60)
    hidden = torch.randint(0, 2, (len(features), encoding.n_hidden), dtype=torch.uint8)
    yield make_actor(encoding.rule_sets, ATTENTION, encoding=encoding), (features, mask)
    yield Critic.of(encoding, CONFIG, privileged=True), (torch.cat([features, hidden], 1),)


def test_trimmed_tokens_change_no_result_and_no_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A CPU trims tokens; on a GPU every row has all."""
    monkeypatch.setattr(attention_torch, "CHUNK", 16)
    for network, inputs in make_networks():
        trunk, results = trunk_of(network), []
        for trims in (True, False):
            folded = trunk.folded(torch.float32)
            folded.trims = trims
            with monkeypatch.context() as patch:
                patch.setattr(trunk, "folded", lambda dtype, folded=folded: folded)
                out = network(*inputs)
                out = out if len(inputs) == 1 else out.masked_fill(inputs[1] == 0, 0)
                results.append([out.detach(), *torch.autograd.grad(out.square().sum(), [*trunk.parameters()])])
        for trimmed, whole in zip(*results, strict=True):
            torch.testing.assert_close(trimmed, whole, rtol=1e-4, atol=1e-4)


def test_half_precision_and_frozen_policies_are_close_and_all_parameters_learn() -> None:
    for network, inputs in make_networks():
        exact = network(*inputs, torch.float32)
        rough = network(*inputs, torch.bfloat16)
        assert rough.dtype == torch.float32
        assert 0 < (rough - exact).abs().mean() < 0.05 * exact.abs().mean()
        exact.square().sum().backward()
        assert [name for name, part in network.named_parameters() if part.grad is None or not part.grad.any()] == []
        if isinstance(network, AttentionActor):
            frozen = network.frozen()
            with torch.no_grad():
                network.score.mul_(-3)
            torch.testing.assert_close(frozen(*inputs), exact.detach())


def test_only_a_privileged_critic_sees_hidden_cards() -> None:
    encoding, _, features, _ = encode("nonesuch")
    hidden = torch.zeros((len(features), encoding.n_hidden), dtype=torch.uint8)
    other = hidden.clone()
    other[:, 5] = 1
    critic = Critic.of(encoding, CONFIG, privileged=True)
    with torch.no_grad():
        assert (critic(torch.cat([features, hidden], 1)) != critic(torch.cat([features, other], 1))).all()
        assert Critic.of(encoding, CONFIG, privileged=False)(features).shape == (len(features),)


def test_heads_that_do_not_divide_a_token_are_refused() -> None:
    with pytest.raises(ValueError, match=r"heads .*token_width.* 64; 5"):
        ActorConfig(kind="attention", heads=5)
