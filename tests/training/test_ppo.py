"""Losses, against slow references and numbers worked out by hand, and updates."""

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from noms_env.core.actions import PLAYING
from noms_training.learn.collect import Rollout
from noms_training.learn.config import ActorConfig, PPOConfig
from noms_training.learn.network import Actor, Critic, Trunk, masked
from noms_training.learn.ppo import ACTOR_FIGURES, Shuffle, Trainable, log_prob_of, policy_losses, update_actor, update_critic

FEATURES, HIDDEN, CHOICES = 12, 5, 7
SMALL = ActorConfig(width=16, blocks=1, card_width=4, scorer_width=4)


def make_actor(seed: int = 0) -> Actor:
    torch.manual_seed(seed)
    return Actor(torch.ones(FEATURES), torch.arange(CHOICES), torch.arange(2 * CHOICES).view(-1, 2) % FEATURES, SMALL)


def make_critic(seed: int = 0) -> Critic:
    torch.manual_seed(seed)
    return Critic(Trunk(torch.ones(FEATURES + HIDDEN), SMALL), SMALL.width)


def make_batch(size: int = 64) -> Rollout:
    """Random decisions in card play, with the probabilities of `make_actor()`."""
    generator = torch.Generator().manual_seed(5)
    seen = torch.randint(0, 2, (size, FEATURES + HIDDEN), dtype=torch.uint8, generator=generator)
    mask = torch.randint(0, 2, (size, CHOICES), dtype=torch.int8, generator=generator)
    mask[:, 2:4] = 1
    features = seen[:, :FEATURES]
    with torch.no_grad():
        policy = masked(make_actor()(features, mask), mask).log_softmax(-1)
    choice = policy.exp().multinomial(1, generator=generator).squeeze(1)
    return make_rollout(
        seen=seen,
        features=features,
        mask=mask,
        choice=choice,
        log_prob=log_prob_of(policy, choice),
        phase=torch.full((size,), PLAYING),
        advantage=torch.randn(size, generator=generator),
        target=torch.randn(size, generator=generator),
    )


def make_rollout(**columns: Any) -> Rollout:
    """A rollout whose columns are empty by default."""
    names = ("seen", "features", "mask", "choice", "log_prob", "table", "seat", "phase", "rule_set", "reward")
    return Rollout(**{name: torch.empty(0) for name in names} | columns)


def shuffle(size: int, minibatch_size: int, seed: int = 1) -> Shuffle:
    return Shuffle(size, size, minibatch_size, seed)


def update(settings: PPOConfig) -> tuple[Actor, dict[str, float]]:
    """An actor after an update, and the figures."""
    actor, batch = make_actor(), make_batch()
    optimizer = torch.optim.Adam(actor.parameters(), lr=0.01)
    order = shuffle(len(batch), settings.minibatch_size or 64)
    return actor, update_actor(Trainable(actor, optimizer), batch, order, settings)


ROWS, ACTIONS = 150, 12


def draw_decisions(*extras: str) -> tuple[Tensor, Rollout]:
    """Logits and decisions in float64: few and many legal actions, ratios within and beyond the clip on both sides."""
    torch.manual_seed(5)
    legal = torch.rand(ROWS, ACTIONS) < torch.linspace(0.05, 1, ROWS)[:, None]
    choice = torch.randint(ACTIONS, (ROWS,))
    legal[torch.arange(ROWS), choice] = True
    logits = 3 * torch.randn(ROWS, ACTIONS)
    policy = logits.masked_fill(~legal, -1e9).log_softmax(-1)
    values = {
        "expert_probs": (2 * torch.randn(ROWS, ACTIONS)).masked_fill(~legal, -torch.inf).softmax(-1),
        "values": torch.randn(ROWS, ACTIONS),
        "log_policy": (logits + torch.randn(ROWS, ACTIONS)).masked_fill(~legal, -1e9).log_softmax(-1),
    }
    batch = make_rollout(
        mask=legal.to(torch.int8),
        choice=choice,
        log_prob=(log_prob_of(policy, choice) + 0.3 * torch.randn(ROWS)).double(),
        advantage=torch.randn(ROWS).double(),
        phase=torch.randint(PLAYING + 1, (ROWS,)),
        **{name: value.double() for name, value in values.items() if name in extras},
    )
    return logits.double(), batch


def compute_reference(logits: list[float], row: dict[str, Any], settings: PPOConfig) -> tuple[float, list[float]]:
    """Loss and figures of one decision, action by action."""
    legal = [k for k, is_legal in enumerate(row["mask"]) if is_legal]
    total = sum(math.exp(logits[k]) for k in legal)
    policy = {k: math.exp(logits[k]) / total for k in legal}
    log_ratio = 0.0
    if "expert_probs" in row:
        gain = sum(row["expert_probs"][k] * math.log(policy[k]) for k in legal)
    elif "values" in row:
        kl = sum(policy[k] * (math.log(policy[k]) - row["log_policy"][k]) for k in legal)
        gain = sum(policy[k] * row["values"][k] for k in legal) - settings.kl_coef * kl
    else:
        log_ratio = math.log(policy[row["choice"]]) - row["log_prob"]
        ratio, clip = math.exp(log_ratio), settings.clip_coef
        gain = min(ratio * row["advantage"], min(max(ratio, 1 - clip), 1 + clip) * row["advantage"])
    entropy = -sum(p * math.log(p) for p in policy.values())
    is_call = row["phase"] < PLAYING
    loss = -gain - (settings.ent_coef_call if is_call else settings.ent_coef_play) * entropy / math.log(max(len(legal), 2))
    loss += settings.uniform_kl_coef * is_call * sum(math.log(1 / len(legal) / policy[k]) / len(legal) for k in legal)
    ratio = math.exp(log_ratio)
    return loss, [-gain, kl if "values" in row else ratio - 1 - log_ratio, float(abs(ratio - 1) > settings.clip_coef)]


@pytest.mark.parametrize("extras", [(), ("expert_probs",), ("values", "log_policy")])
def test_losses_equal_a_slow_reference_and_ignore_illegal_actions(extras: tuple[str, ...]) -> None:
    logits, batch = draw_decisions(*extras)
    settings = PPOConfig(clip_coef=0.2)
    losses, figures = policy_losses(logits.requires_grad_(), batch, settings)
    (gradient,) = torch.autograd.grad(losses.sum(), logits)
    assert (gradient[batch.mask == 0] == 0).all()
    assert (gradient[batch.mask.sum(1) > 1].abs().sum(1) > 0).double().mean() > 0.8
    columns = {name: value.tolist() for name, value in vars(batch).items() if value is not None and len(value) == ROWS}
    rows = [{name: column[i] for name, column in columns.items()} for i in range(ROWS)]
    expected = [compute_reference(logits[i].tolist(), row, settings) for i, row in enumerate(rows)]
    torch.testing.assert_close(losses.detach(), torch.tensor([loss for loss, _ in expected]).double(), rtol=1e-5, atol=1e-6)
    sums = [sum(column) for column in zip(*(row_figures for _, row_figures in expected), strict=True)]
    assert figures.tolist() == pytest.approx(sums, rel=1e-5)
    clipped = figures[ACTOR_FIGURES.index("losses/clipfrac")]
    assert clipped == 0 if extras else ROWS / 10 < clipped < ROWS


def test_the_ratio_is_one_before_the_first_step() -> None:
    _, figures = update(PPOConfig(update_epochs=1, minibatch_size=64))
    assert figures["losses/approx_kl"] == pytest.approx(0, abs=1e-9)
    assert figures["losses/clipfrac"] == 0
    assert figures["losses/policy_loss"] == pytest.approx(-float(make_batch().advantage.mean()), abs=1e-6)


def test_an_update_ends_at_the_target_kl() -> None:
    free, figures = update(PPOConfig(update_epochs=6, minibatch_size=16, target_kl=0))
    assert figures["losses/minibatches"] == 24
    stopped, figures = update(PPOConfig(update_epochs=6, minibatch_size=16, target_kl=1e-4))
    assert 1 < figures["losses/minibatches"] < 4, "within the first epoch"
    assert any(not torch.equal(a, b) for a, b in zip(free.parameters(), stopped.parameters(), strict=True))


def test_the_critic_learns_the_mean_of_skewed_returns() -> None:
    """One deal in ten pays 9 and the others -1, or the reverse: the means are 0, the medians -1 and 1."""
    batch = make_batch(1024)
    side = (batch.seen[:, -1].float() > 0).float() * 2 - 1
    batch.seen[:, :-1] = 0
    target = torch.where(torch.arange(1024) % 10 == 0, 9.0, -1.0) * side
    means = [float(target[side == sign].mean()) for sign in (-1, 1)]
    critic = make_critic()
    update_critic(
        Trainable(critic, torch.optim.Adam(critic.parameters(), lr=0.01)),
        replace(batch, target=target),
        shuffle(1024, 1024),
        PPOConfig(update_epochs=100, max_grad_norm=10.0),
    )
    with torch.no_grad():
        values = critic(batch.seen)
    assert [float(values[side == sign].mean()) for sign in (-1, 1)] == pytest.approx(means, abs=0.1)


def test_each_epoch_has_each_decision_once_in_a_new_order() -> None:
    first, second = (list(shuffle(100, 30).minibatches(epoch)) for epoch in (0, 1))
    assert sorted(torch.cat(first).tolist()) == list(range(100))
    assert [len(rows) for rows in first] == [25] * 4
    assert any(not torch.equal(rows, other) for rows, other in zip(first, second, strict=True))


def test_large_minibatches_have_few_lengths() -> None:
    lengths = set()
    for size in range(15_500, 17_500, 7):
        own, other = (list(Shuffle(rows, size + 900, 2048, 7, 2).minibatches(0)) for rows in (size, 900))
        lengths |= {len(rows) for rows in own}
        assert len(own) == len(other)
        assert sum(len(rows) for rows in own + other) > 0.95 * (size + 900)
        assert len(set(torch.cat(own).tolist())) == sum(len(rows) for rows in own)
    assert max(lengths) <= 2048
    assert len(lengths) <= 8


def test_processes_take_the_same_number_of_steps_and_weigh_all_rows_equally() -> None:
    sizes = 100, 37
    shuffles = [Shuffle(size, sum(sizes), 30, 7, 2) for size in sizes]
    assert [len(list(order.minibatches(0))) for order in shuffles] == [5, 5]
    rows = [len(next(order.minibatches(0))) for order in shuffles]
    for losses in (torch.arange(20.0), torch.ones(20)):
        scaled = [order.loss(losses[:count]) for order, count in zip(shuffles, rows, strict=True)]
        # The average over the processes is the mean of each, weighted by its share of the decisions.
        means = [losses[:count].mean() * size / sum(sizes) for count, size in zip(rows, sizes, strict=True)]
        assert float(sum(scaled) / 2) == pytest.approx(float(sum(means)))
    assert float(shuffle(20, 20).loss(torch.arange(20.0))) == pytest.approx(9.5)
