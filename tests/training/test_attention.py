"""The networks with attention: their tokens, the compiled attention, what they see."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from noms_env.observation.layout import OBSERVATION
from noms_env.policy.encoding import Encoding, make_encoding
from noms_env.variants import VARIANTS
from noms_training.learn import attention
from noms_training.learn.attention import AttentionTrunk, numbered
from noms_training.learn.config import ActorConfig
from noms_training.learn.network import Actor, Critic
from tests.policy.test_player import ATTENTION, decisions, make_actor, rules_of

SECTION = {section.name: section.slice for section in OBSERVATION}
CONFIG = ActorConfig(**ATTENTION)


def encoded(*variants: str, rows: int = 80) -> tuple[Encoding, np.ndarray, Tensor, Tensor]:
    """An encoding, observations, and what it makes of them: features and masks."""
    rules = rules_of(*variants)
    encoding, (seen, legal) = make_encoding(rules, card_features=True), decisions(rules, rows)
    features, mask, _ = encoding.encode(seen, legal)
    return encoding, seen, torch.from_numpy(features), torch.from_numpy(mask)


@pytest.mark.parametrize("variant", VARIANTS)
def test_there_is_a_token_for_each_card_seat_and_call_that_is_seen(variant: str) -> None:
    encoding, seen, features, mask = encoded(variant)
    trunk = Actor.of(encoding, CONFIG).trunk
    assert isinstance(trunk, AttentionTrunk)
    tokens = trunk.packed(features, mask, torch.float32)
    own = (seen[:, SECTION["hand"]] != 0) | (seen[:, SECTION["trick_of"]] != 0) | (seen[:, SECTION["exposed"]] != 0)
    nominated = seen[:, SECTION["nominated"]].reshape(len(seen), 8)[:, 7].astype(int) - 1
    for row in np.flatnonzero(nominated >= 0):
        own[row, nominated[row]] = True
    seats = seen[:, SECTION["seats"]].reshape(len(seen), -1, 8)[:, 1:, 2].sum(1)
    is_auction = encoding.partners > 0
    calls = (seen[:, SECTION["calls"]][:, :24] != 0).sum(1) * is_auction
    counts = torch.bincount(tokens.row, minlength=len(seen)).numpy()
    assert np.array_equal(counts, 1 + own.sum(1) + seats + calls)
    assert len(tokens.slot.unique()) == len(tokens.slot)
    assert torch.equal(tokens.slot // tokens.length, tokens.row)
    legal = mask[:, : len(trunk.numbers)].nonzero()
    assert torch.equal(torch.stack([tokens.row[len(seen) : tokens.read], tokens.card], 1), legal)


def test_who_called_what_and_when_a_card_was_played_matters() -> None:
    """Two rows of the same sums: the calls of two seats exchanged, and the tricks of two cards."""
    encoding, _, features, mask = encoded("small_ships")
    actor = make_actor(encoding.rule_sets, ATTENTION, encoding=encoding)
    tokens = actor.trunk.tokens
    with torch.no_grad():
        before = actor(features, mask)
        for columns in (tokens.calls[:2], tokens.cards[[3, 20], tokens.trick_of]):
            changed = features.clone()
            changed[:, columns] = torch.tensor([3, 1], dtype=torch.uint8)
            other = features.clone()
            other[:, columns] = torch.tensor([1, 3], dtype=torch.uint8)
            assert (actor(changed, mask) - actor(other, mask)).abs().max(1).values.min() > 1e-4
        assert torch.equal(actor(features, mask), before)


def rows_of_tokens() -> tuple[Tensor, Tensor, Tensor, int]:
    """Queries, keys with values, and the place of each token in 30 rows of at most 11."""
    torch.manual_seed(0)
    slot = torch.cat([11 * row + torch.arange(int(torch.randint(1, 12, ()))) for row in range(30)])
    slot = slot[torch.randperm(len(slot))]
    return torch.randn(len(slot), 20), torch.randn(len(slot), 40), slot, 11


@pytest.mark.parametrize("heads", [1, 4])
def test_attention_is_that_of_torch_and_its_gradients_too(monkeypatch: pytest.MonkeyPatch, heads: int) -> None:
    query, key_value, slot, length = rows_of_tokens()
    used = torch.from_numpy(numbered(slot, 30, length) >= 0).view(30, 1, 1, length)
    weight, results = torch.randn(len(slot), 20), []
    for compiled in (True, False):
        monkeypatch.setattr(attention, "COMPILED", compiled)
        inputs = query.clone().requires_grad_(), key_value.clone().requires_grad_()
        answer = attention.attention(*inputs, slot, length, slot, length, used, heads)
        results.append([answer.detach(), *torch.autograd.grad((answer * weight).sum(), inputs)])
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def networks() -> Iterator[tuple[nn.Module, tuple[Any, ...]]]:
    encoding, _, features, mask = encoded("nonesuch", "small_ships", rows=60)
    hidden = torch.randint(0, 2, (len(features), encoding.n_hidden), dtype=torch.uint8)
    yield make_actor(encoding.rule_sets, ATTENTION, encoding=encoding), (features, mask)
    yield Critic.of(encoding, CONFIG, privileged=True), (torch.cat([features, hidden], 1),)


def test_half_precision_and_a_frozen_policy_say_about_the_same_and_all_parameters_learn() -> None:
    for network, inputs in networks():
        exact = network(*inputs, torch.float32)
        rough = network(*inputs, torch.bfloat16)
        assert rough.dtype == torch.float32
        assert 0 < (rough - exact).abs().mean() < 0.05 * exact.abs().mean()
        exact.square().sum().backward()
        assert [name for name, part in network.named_parameters() if part.grad is None or not part.grad.any()] == []
        if isinstance(network, Actor):
            frozen = network.frozen()
            with torch.no_grad():
                network.score.mul_(-3)
            torch.testing.assert_close(frozen(*inputs), exact.detach())


def test_only_a_privileged_critic_sees_hidden_cards() -> None:
    encoding, _, features, _ = encoded("nonesuch")
    hidden = torch.zeros((len(features), encoding.n_hidden), dtype=torch.uint8)
    other = hidden.clone()
    other[:, 5] = 1
    critic = Critic.of(encoding, CONFIG, privileged=True)
    with torch.no_grad():
        assert (critic(torch.cat([features, hidden], 1)) != critic(torch.cat([features, other], 1))).all()
        assert Critic.of(encoding, CONFIG, privileged=False)(features).shape == (len(features),)


def test_heads_that_do_not_divide_a_token_are_refused() -> None:
    with pytest.raises(ValueError, match="heads must divide token_width, which is 64; 5 do not"):
        ActorConfig(kind="attention", heads=5)
    with pytest.raises(ValueError, match=r"kind must be .*, not 'lstm'"):
        ActorConfig(kind="lstm")  # type: ignore[arg-type]
