"""The losses, with numbers worked out by hand, and what the updates do."""

from __future__ import annotations

import copy
import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from training.config import NetworkConfig, PPOConfig
from training.learn.network import Actor, Critic, Guesses, masked
from training.learn.ppo import (
    MinibatchPlan,
    Sample,
    Student,
    clipped_surrogate,
    follow,
    guess_losses,
    log_policy_of,
    normalised_entropy,
    update_actor,
    update_critic,
)

FEATURES, HIDDEN, CHOICES = 12, 5, 7
SMALL = NetworkConfig(width=16, blocks=1, card_width=4)


def make_actor(seed: int = 0) -> Actor:
    torch.manual_seed(seed)
    return Actor(torch.ones(FEATURES), torch.arange(CHOICES), SMALL)


def make_critic(seed: int = 0) -> Critic:
    torch.manual_seed(seed)
    return Critic(torch.ones(FEATURES + HIDDEN), SMALL)


def make_sample(size: int = 64, actor: Actor | None = None) -> Sample:
    """Random decisions, with the probabilities of an actor."""
    generator = torch.Generator().manual_seed(5)
    everything = torch.randint(0, 2, (size, FEATURES + HIDDEN), dtype=torch.uint8, generator=generator)
    mask = torch.randint(0, 2, (size, CHOICES), dtype=torch.int8, generator=generator)
    mask[:, 2:4] = 1
    features = everything[:, :FEATURES]
    with torch.no_grad():
        policy = masked((actor or make_actor())(features), mask).log_softmax(-1)
    choice = policy.exp().multinomial(1, generator=generator).squeeze(1)
    return Sample(
        features,
        everything,
        mask,
        choice,
        policy.gather(1, choice[:, None]).squeeze(1),
        torch.randn(size, generator=generator),
        torch.randn(size, generator=generator),
        torch.full((size,), 0.01),
        everything[:, FEATURES:],
        torch.randint(0, 4, (size,), generator=generator),
        torch.zeros(size, CHOICES),
        torch.full((size,), -1),
        torch.zeros(size),
        torch.zeros(size, 0),
        torch.zeros(size, 0),
    )


def updated(
    settings: PPOConfig, sample: Sample | None = None, magnet: float = 0.0, **arguments: object
) -> tuple[Student, dict[str, float]]:
    """A student after an update, and the figures."""
    student = Student(make_actor())
    slow = copy.deepcopy(student.actor)
    sample = sample or make_sample()
    optimiser = torch.optim.Adam(student.parameters(), lr=0.01)
    figures = update_actor(student, slow, optimiser, sample, MinibatchPlan((len(sample),)), settings, magnet=magnet, seed=1)
    return student, figures


# -------------------------------------------------------------------------------------------------------- the numbers


def test_masked_distribution_gives_nothing_to_illegal_actions() -> None:
    logits = torch.tensor([[0.0, math.log(3.0), 50.0]])
    policy = masked(logits, torch.tensor([[1, 1, 0]], dtype=torch.int8)).softmax(-1)
    torch.testing.assert_close(policy, torch.tensor([[0.25, 0.75, 0.0]]))
    assert policy[0, 2] == 0


@pytest.mark.parametrize(
    ("ratio", "advantage", "expected"),
    [(1.1, 2.0, 2.2), (1.5, 2.0, 2.4), (0.5, 2.0, 1.0), (1.5, -2.0, -3.0), (0.5, -2.0, -1.6), (1.0, 5.0, 5.0)],
)
def test_clipped_surrogate(ratio: float, advantage: float, expected: float) -> None:
    found = clipped_surrogate(torch.tensor([math.log(ratio)]), torch.tensor([advantage]), 0.2)
    assert float(found) == pytest.approx(expected)


def test_entropy_is_one_for_a_uniform_choice_and_zero_without_alternative() -> None:
    mask = torch.tensor([[1, 1, 1, 0], [1, 1, 0, 0], [0, 1, 0, 0]], dtype=torch.int8)
    logits = masked(torch.tensor([[0.0] * 4, [math.log(3.0), 0, 0, 0], [5.0] * 4]), mask)
    found = normalised_entropy(logits.softmax(-1), logits.log_softmax(-1), mask)
    # Of 3/4 and 1/4: -(3/4 log2 3/4 + 1/4 log2 1/4) = 0.8112781.
    torch.testing.assert_close(found, torch.tensor([1.0, 0.8112781, 0.0]))


def test_magnet_is_the_kl_from_the_policy_to_the_slow_average() -> None:
    student, slow = Student(make_actor()), make_actor(seed=3)
    for actor in (student.actor, slow):
        torch.nn.init.normal_(actor.head.words.weight)
        torch.nn.init.normal_(actor.head.play.weight)
    sample = make_sample(8)
    sample = replace(sample, slow=log_policy_of(slow, sample.features, sample.mask, torch.float32, 3))
    settings = PPOConfig(epochs=1, minibatch=8, microbatch=8, average=0.0)
    before = copy.deepcopy(student.actor)
    optimiser = torch.optim.SGD(student.parameters(), lr=0.0)
    figures = update_actor(student, slow, optimiser, sample, MinibatchPlan((8,)), settings, magnet=0.5, seed=0)
    with torch.no_grad():
        mine = torch.distributions.Categorical(logits=masked(before(sample.features), sample.mask))
        slows = torch.distributions.Categorical(logits=masked(slow(sample.features), sample.mask))
    assert figures["magnet_kl"] == pytest.approx(float(torch.distributions.kl_divergence(mine, slows).mean()), rel=1e-3)
    assert figures["magnet_kl"] > 0.01


def test_advice_is_taken_where_it_has_weight_and_nowhere_else() -> None:
    sample = make_sample(128)
    plain = replace(sample, advantage=torch.zeros(128), entropy_weight=torch.zeros(128))
    asked = torch.arange(128) % 2 == 0
    advised = replace(plain, advice=torch.where(asked, 2 + torch.arange(128) // 2 % 2, -1), advice_weight=0.5 * asked)
    settings = PPOConfig(epochs=8, minibatch=32, microbatch=32, target_kl=0)

    def chances(sample: Sample) -> Tensor:
        student, _ = updated(settings, sample)
        with torch.no_grad():
            policy = masked(student.actor(sample.features), sample.mask).softmax(-1)
        return policy.gather(1, advised.advice.clamp(min=0)[:, None])[asked, 0]

    assert chances(advised).mean() > chances(plain).mean() + 0.1
    torch.testing.assert_close(chances(replace(advised, advice_weight=torch.zeros(128))), chances(plain))


def test_kl_and_clip_fraction_are_those_of_the_decisions() -> None:
    sample = make_sample(4)
    shifted = replace(sample, log_probability=sample.log_probability - torch.tensor([0.0, 0.1, -0.1, 0.5]))
    settings = PPOConfig(epochs=1, minibatch=4, microbatch=4)
    student = Student(make_actor())
    optimiser = torch.optim.SGD(student.parameters(), lr=0.0)
    figures = update_actor(student, make_actor(), optimiser, shifted, MinibatchPlan((4,)), settings, magnet=0, seed=0)
    moved = [math.exp(d) - 1 - d for d in (0.0, 0.1, -0.1, 0.5)]
    assert figures["kl"] == pytest.approx(sum(moved) / 4, rel=1e-4)
    assert figures["clip_fraction"] == pytest.approx(1 / 4)  # only exp(0.5) is further than 0.2 from 1


def test_guesses_by_hand() -> None:
    # Two cards, three holders: the first card is held by holder 2, the second is in the own hand (held by none of them).
    holders = torch.zeros(1, 3, 2)
    holders[0, 2, 0] = math.log(2.0)
    partners, tricks = torch.zeros(1, 2), torch.zeros(1, 4)
    hidden = torch.tensor([[0, 0, 0, 0, 1, 0, 0, 1]], dtype=torch.uint8)  # holders x cards, then the partner is seat 1
    # Card: -log(2 / 4) / log 3. Partner: log 2 / log 2 = 1. Tricks: log 4 / log 4 = 1.
    found = guess_losses((holders, partners, tricks), hidden, torch.tensor([3]))
    assert float(found) == pytest.approx(math.log(2) / math.log(3) + 2)


def test_slow_average_moves_by_its_share() -> None:
    slow, fast = make_actor(0), make_actor(1)
    expected = [0.75 * a + 0.25 * b for a, b in zip(slow.parameters(), fast.parameters(), strict=True)]
    follow(slow, fast, 0.25)
    for found, wanted in zip(slow.parameters(), expected, strict=True):
        torch.testing.assert_close(found, wanted)


# -------------------------------------------------------------------------------------------------------- the updates


def test_the_ratio_is_one_before_the_first_step() -> None:
    _, figures = updated(PPOConfig(epochs=1, minibatch=64, microbatch=64))
    assert figures["kl"] == pytest.approx(0, abs=1e-9)
    assert figures["clip_fraction"] == 0
    assert figures["policy_loss"] == pytest.approx(-float(make_sample().advantage.mean()), abs=1e-6)


@pytest.mark.parametrize("microbatch", [5, 16, 1000])
def test_microbatches_make_no_difference(microbatch: int) -> None:
    whole, _ = updated(PPOConfig(epochs=2, minibatch=32, microbatch=32, target_kl=0))
    parts, _ = updated(PPOConfig(epochs=2, minibatch=32, microbatch=microbatch, target_kl=0))
    for one, other in zip(whole.parameters(), parts.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_the_policy_moves_towards_what_paid() -> None:
    actor = make_actor()
    sample = make_sample(256, actor)
    paid = (sample.choice == 2).float() * 2 - 1
    student, _ = updated(PPOConfig(epochs=4, minibatch=64, microbatch=64, target_kl=0), replace(sample, advantage=paid))
    before = masked(actor(sample.features), sample.mask).softmax(-1)[:, 2].mean()
    after = masked(student.actor(sample.features), sample.mask).softmax(-1)[:, 2].mean()
    assert after > before + 0.1


def test_epochs_end_once_the_policy_has_moved_far_enough() -> None:
    free, figures = updated(PPOConfig(epochs=6, minibatch=16, microbatch=16, target_kl=0))
    assert figures["epochs"] == 6
    held, figures = updated(PPOConfig(epochs=6, minibatch=16, microbatch=16, target_kl=1e-4))
    assert figures["epochs"] < 6
    assert any(not torch.equal(a, b) for a, b in zip(free.parameters(), held.parameters(), strict=True))


def test_entropy_weight_flattens_the_policy() -> None:
    sample = make_sample(128)
    still = replace(sample, advantage=torch.zeros(128), entropy_weight=torch.zeros(128))
    start = Student(make_actor())
    for parameter in start.parameters():
        torch.nn.init.normal_(parameter, std=0.5, generator=torch.Generator().manual_seed(2))
    entropy: dict[str, float] = {}
    for name, weight in (("without", 0.0), ("with", 1.0)):
        student = copy.deepcopy(start)
        optimiser = torch.optim.Adam(student.parameters(), lr=0.01)
        weighted = replace(still, entropy_weight=torch.full((128,), weight))
        settings = PPOConfig(epochs=5, minibatch=64, microbatch=64, target_kl=0)
        update_actor(
            student, copy.deepcopy(student.actor), optimiser, weighted, MinibatchPlan((128,)), settings, magnet=0, seed=0
        )
        with torch.no_grad():
            logits = masked(student.actor(sample.features), sample.mask)
        entropy[name] = float(normalised_entropy(logits.softmax(-1), logits.log_softmax(-1), sample.mask).mean())
    assert entropy["with"] > entropy["without"] + 0.05


def test_auxiliary_heads_learn_and_do_nothing_where_they_are_not() -> None:
    sample = make_sample(128)
    guesses = Guesses(SMALL.width, 1, 3, 2, 3)
    settings = PPOConfig(epochs=8, minibatch=64, microbatch=64, target_kl=0, auxiliary=1.0)
    student = Student(make_actor(), guesses)
    optimiser = torch.optim.Adam(student.parameters(), lr=0.01)
    losses = [
        update_actor(student, make_actor(), optimiser, sample, MinibatchPlan((128,)), settings, magnet=0, seed=k)["auxiliary"]
        for k in range(4)
    ]
    assert losses[-1] < losses[0] - 0.1
    assert updated(settings)[1]["auxiliary"] == 0


def test_critic_learns_its_targets_from_what_only_it_can_see() -> None:
    sample = make_sample(512)
    target = sample.everything[:, -1].float() * 2 - 1
    critic = make_critic()
    optimiser = torch.optim.Adam(critic.parameters(), lr=0.01)
    settings = PPOConfig(epochs=20, minibatch=128, microbatch=128)
    figures = update_critic(critic, optimiser, replace(sample, target=target), MinibatchPlan((512,)), settings, seed=0)
    assert figures["value_loss"] < 0.02
    with torch.no_grad():
        assert float((critic(sample.everything) - target).abs().mean()) < 0.2


def test_actor_and_critic_share_no_parameter() -> None:
    actor, critic = make_actor(), make_critic()
    sample = make_sample()
    critic(sample.everything).sum().backward()
    assert all(parameter.grad is None for parameter in actor.parameters())
    assert all(parameter.grad is not None for parameter in critic.parameters())


# ------------------------------------------------------------------------------------------------------ the minibatches


def rows_of(shares: MinibatchPlan, settings: PPOConfig) -> list[tuple[Tensor, float]]:
    return list(shares.minibatches(settings, 7))


def test_each_decision_is_seen_once_in_a_pass() -> None:
    parts = rows_of(MinibatchPlan((100,)), PPOConfig(minibatch=30))
    assert sorted(torch.cat([rows for rows, _ in parts]).tolist()) == list(range(100))
    assert [len(rows) for rows, _ in parts] == [25] * 4
    assert all(weight == 1 / len(rows) for rows, weight in parts)


def test_large_minibatches_are_of_few_lengths() -> None:
    lengths = set()
    for size in range(15_500, 17_500, 7):
        shares, settings = MinibatchPlan((size, 900), 0), PPOConfig(minibatch=2048)
        parts = rows_of(shares, settings)
        lengths |= {len(rows) for rows, _ in parts}
        other = rows_of(MinibatchPlan((size, 900), 1), settings)
        assert sum(len(rows) for rows, _ in parts + other) == shares.learnt(settings) > 0.95 * (size + 900)
        assert len(set(torch.cat([rows for rows, _ in parts]).tolist())) == sum(len(rows) for rows, _ in parts)
    assert max(lengths) <= 2048
    assert len(lengths) <= 8


def test_processes_take_the_same_number_of_steps_and_weigh_all_rows_alike() -> None:
    settings = PPOConfig(minibatch=30)
    both = [rows_of(MinibatchPlan((100, 37), rank), settings) for rank in range(2)]
    assert len(both[0]) == len(both[1])
    for (one, weight), (other, same) in zip(*both, strict=True):
        # The average of the two sums, with this weight, is the mean over the rows of both.
        assert weight == same == pytest.approx(2 / (len(one) + len(other)))
