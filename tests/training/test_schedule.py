"""What changes in the course of a run, and what keeps it steady."""

from __future__ import annotations

import numpy as np
import pytest

from training.config import CurriculumConfig, LeagueConfig, PPOConfig
from training.learn import schedule
from training.learn.reward_norm import LARGEST_REWARD, PassOutGuard, RewardNorm

PPO = PPOConfig(learning_rate=1e-3, entropy_call=0.05, entropy_play=0.03, magnet=0.04, magnet_from=0.3)


def test_learning_rate_is_a_cosine_to_a_tenth() -> None:
    assert schedule.learning_rate(0, PPO) == pytest.approx(1e-3)
    assert schedule.learning_rate(0.5, PPO) == pytest.approx(0.55e-3)
    assert schedule.learning_rate(1, PPO) == schedule.learning_rate(2, PPO) == pytest.approx(1e-4)


def test_entropy_weights_fall_but_not_to_nothing() -> None:
    assert schedule.entropy_weights(0, PPO) == pytest.approx((0.05, 0.03))
    assert schedule.entropy_weights(0.5, PPO) == pytest.approx((0.03, 0.0175))
    assert schedule.entropy_weights(1, PPO) == pytest.approx((0.01, 0.005))


def test_magnet_and_league_begin_when_they_should() -> None:
    assert schedule.magnet_weight(0.29, PPO) == 0
    assert schedule.magnet_weight(0.3, PPO) == 0.04
    assert schedule.league_share(0.59, LeagueConfig(share=0.2, start=0.6)) == 0
    assert schedule.league_share(0.6, LeagueConfig(share=0.2, start=0.6)) == 0.2


def test_curriculum_ends() -> None:
    settings = CurriculumConfig(small_hands=0.1, random_contracts=0.25)
    assert schedule.has_small_hands(0.09, settings)
    assert not schedule.has_small_hands(0.1, settings)
    shares = [schedule.random_contract_share(progress, settings) for progress in (0, 1 / 3, 2 / 3, 1)]
    assert shares == pytest.approx([0.25, 0.25, 0.15, 0.05])


def test_lessons_come_first_and_take_the_place_of_easy_deals() -> None:
    taught = CurriculumConfig(teacher="thumb", lessons=0.2, small_hands=0.5, random_contracts=0.5)
    assert schedule.has_lesson(0.19, taught)
    assert not schedule.has_lesson(0.2, taught)
    assert not schedule.has_small_hands(0.1, taught)
    assert schedule.random_contract_share(0.3, taught) == 0
    assert not schedule.has_lesson(0, CurriculumConfig(lessons=0.2))


def test_advice_follows_the_lessons_and_falls_to_nothing() -> None:
    advised = CurriculumConfig(teacher="thumb", lessons=0.1, advice=0.4, advice_until=0.5)
    assert schedule.advice_weight(0.09, advised) == 0
    weights = [schedule.advice_weight(progress, advised) for progress in (0.1, 0.2, 0.4, 0.5, 0.9)]
    assert weights == pytest.approx([0.4, 0.3, 0.1, 0, 0])
    assert schedule.advice_weight(0.2, CurriculumConfig(advice=0.4)) == 0, "nobody teaches"
    assert schedule.advice_weight(0.2, CurriculumConfig(teacher="thumb", advice=0.4, lessons=0.3, advice_until=0.1)) == 0
    lasting = CurriculumConfig(teacher="thumb", lessons=0.0, advice=0.4, advice_until=2.0)
    assert [schedule.advice_weight(at, lasting) for at in (0.0, 0.5, 1.0)] == pytest.approx([0.4, 0.3, 0.2])


# ----------------------------------------------------------------------------------------------------- the reward scale


def test_rewards_are_divided_by_the_root_mean_square_of_their_kind() -> None:
    scale = RewardNorm(3)
    assert scale.scale.tolist() == [1, 1, 1]
    scale.update(np.array([40.0, 900.0, 0.0]), np.array([10.0, 100.0, 0.0]))
    assert scale.scale == pytest.approx([2, 3, 1])  # the first iteration counts in full
    rewards = np.array([[4.0, -4.0], [3.0, -30.0]], np.float32)
    assert scale.normalised(rewards, np.array([0, 1])).tolist() == [[2, -2], [1, -LARGEST_REWARD]]
    for _ in range(2000):
        scale.update(np.array([1000.0, 900.0, 0.0]), np.array([10.0, 100.0, 0.0]))
    assert scale.scale == pytest.approx([10, 3, 1])
    again = RewardNorm(3)
    again.restore(scale.state())
    assert again.scale.tolist() == scale.scale.tolist()


# -------------------------------------------------------------------------------------------------------- the pass_out_guard


def test_the_watchdog_barks_while_nearly_all_pass_and_until_few_do() -> None:
    dog = PassOutGuard()
    assert dog.factor == 1
    active = []
    for _ in range(12):
        dog.update(1000, 1000)
        active.append(dog.active)
    assert not any(active[:4]), "not before it has seen some thousand deals"
    assert active[-1]
    assert dog.factor == 10
    dog.update(500, 1000)
    assert dog.active
    for _ in range(12):
        dog.update(0, 1000)
    assert not dog.active
    assert dog.factor == 1


def test_the_watchdog_says_nothing_where_there_are_no_auctions_and_remembers() -> None:
    dog = PassOutGuard()
    dog.update(0, 0)
    assert (dog.active, dog.rate) == (False, 0)
    for _ in range(20):
        dog.update(1000, 1000)
    again = PassOutGuard()
    again.restore(dog.state())
    assert again.active
    assert again.rate == dog.rate
