"""What changes in the course of a run, and what keeps it steady."""

from dataclasses import replace

import numpy as np
import pytest

from training.config import CurriculumConfig, OpponentsConfig, PPOConfig, TrainConfig
from training.learn import schedule
from training.learn.reward_norm import LARGEST_REWARD, RewardNorm
from training.learn.schedule import Stage

PPO = PPOConfig(learning_rate=1e-3, ent_coef_call=0.05, ent_coef_play=0.03, uniform_kl_coef=0.1)
PLAY, IMITATION, WARMUP = Stage.SELF_PLAY, Stage.IMITATION, Stage.CRITIC_WARMUP


def test_the_learning_rate_is_a_cosine_to_a_tenth() -> None:
    rates = [schedule.settings_at(progress, PPO, PLAY).learning_rate for progress in (0, 0.5, 1, 2)]
    assert rates == pytest.approx([1e-3, 0.55e-3, 1e-4, 1e-4])


def test_entropy_coefficients_fall_but_not_to_nothing() -> None:
    found = [schedule.settings_at(progress, PPO, PLAY) for progress in (0, 0.5, 1)]
    assert [now.ent_coef_call for now in found] == pytest.approx([0.05, 0.03, 0.01])
    assert [now.ent_coef_play for now in found] == pytest.approx([0.03, 0.0175, 0.005])
    assert [now.uniform_kl_coef for now in found] == pytest.approx([0.1, 0.06, 0.02])
    assert [schedule.settings_at(0, PPO, stage).uniform_kl_coef for stage in (IMITATION, WARMUP)] == [0, 0]
    assert [schedule.settings_at(0, PPO, stage).ent_coef_call for stage in (IMITATION, WARMUP)] == [0, 0]


def test_the_opponents_come_when_they_should() -> None:
    opponents = OpponentsConfig(share=0.2, start=0.6)
    assert [schedule.opponent_share(at, opponents, PLAY) for at in (0.59, 0.6)] == [0, 0.2]
    assert schedule.opponent_share(0.6, opponents, IMITATION) == 0


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (CurriculumConfig(critic_warmup=0.0), [PLAY] * 5),
        (CurriculumConfig(imitation=0.2, critic_warmup=0.0), [PLAY] * 5),  # nobody to imitate
        (CurriculumConfig(expert="thumb", imitation=0.2, critic_warmup=0.0), [IMITATION, IMITATION, PLAY, PLAY, PLAY]),
        (CurriculumConfig(critic_warmup=0.15), [WARMUP, WARMUP, PLAY, PLAY, PLAY]),
    ],
)
def test_the_stages_of_a_run(settings: CurriculumConfig, expected: list[Stage]) -> None:
    assert [schedule.stage(progress, settings) for progress in (0.0, 0.1, 0.2, 0.3, 0.4)] == expected


def test_an_initial_policy_is_not_taught_what_it_knows_but_waits_for_its_critic() -> None:
    settings = CurriculumConfig(expert="thumb", imitation=0.2, critic_warmup=0.1)
    config = TrainConfig(("noms",), curriculum=settings)
    assert schedule.stage(0.0, schedule.curriculum_of(config)) is IMITATION
    started = replace(config, initial_policy="noms")
    assert [schedule.stage(at, schedule.curriculum_of(started)) for at in (0.0, 0.1)] == [WARMUP, PLAY]


def test_rewards_are_divided_by_the_root_mean_square_of_their_kind() -> None:
    scale = RewardNorm(3)
    assert scale.scale.tolist() == [1, 1, 1]
    scale.update(np.array([40.0, 900.0, 0.0]), np.array([10.0, 100.0, 0.0]))
    assert scale.scale == pytest.approx([2, 3, 1])  # the first iteration counts in full
    rewards = np.array([[4.0, -4.0], [3.0, -300.0]], np.float32)
    assert scale.normalised(rewards, np.array([0, 1])).tolist() == [[2, -2], [1, -LARGEST_REWARD]]
    for _ in range(2000):
        scale.update(np.array([1000.0, 900.0, 0.0]), np.array([10.0, 100.0, 0.0]))
    assert scale.scale == pytest.approx([10, 3, 1])
    again = RewardNorm(3)
    again.load_state_dict(scale.state_dict())
    assert again.scale.tolist() == scale.scale.tolist()
