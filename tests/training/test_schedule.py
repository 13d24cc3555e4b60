"""Schedules of a run, and the scale of its rewards."""

from dataclasses import replace

import pytest
import torch

from noms_training.learn import schedule
from noms_training.learn.config import CurriculumConfig, OpponentsConfig, PPOConfig, TrainConfig
from noms_training.learn.gae import LARGEST_REWARD, RewardScale
from noms_training.learn.schedule import Stage

PPO = PPOConfig(learning_rate=1e-3, ent_coef_call=0.05, ent_coef_play=0.03, uniform_kl_coef=0.1)
PLAY, IMITATION, WARMUP = Stage.SELF_PLAY, Stage.IMITATION, Stage.CRITIC_WARMUP


def test_the_learning_rate_falls_by_a_cosine_to_a_tenth() -> None:
    rates = [schedule.settings_at(progress, PPO, PLAY).learning_rate for progress in (0, 0.5, 1, 2)]
    assert rates == pytest.approx([1e-3, 0.55e-3, 1e-4, 1e-4])


def test_coefficients_fall_to_a_default_share() -> None:
    steps = [schedule.settings_at(progress, PPO, PLAY) for progress in (0, 0.5, 1)]
    assert [now.ent_coef_call for now in steps] == pytest.approx([0.05, 0.03, 0.01])
    assert [now.ent_coef_play for now in steps] == pytest.approx([0.03, 0.0175, 0.005])
    assert [now.uniform_kl_coef for now in steps] == pytest.approx([0.1, 0.06, 0.02])
    for stage in (IMITATION, WARMUP):
        now = schedule.settings_at(0, PPO, stage)
        assert now.uniform_kl_coef == now.ent_coef_call == 0


def test_coefficients_fall_to_the_configured_share() -> None:
    settings = replace(PPO, coefs_left=0.01)
    steps = [schedule.settings_at(progress, settings, PLAY) for progress in (0, 0.5, 1, 2)]
    assert [now.ent_coef_call for now in steps] == pytest.approx([0.05, 0.005, 0.0005, 0.0005])
    assert [now.uniform_kl_coef for now in steps] == pytest.approx([0.1, 0.01, 0.001, 0.001])
    assert schedule.settings_at(1, settings, WARMUP).ent_coef_play == 0


def test_opponents_come_at_their_start_and_after_imitation() -> None:
    config = TrainConfig(("noms",), opponents=OpponentsConfig(share=0.2, start=0.6))
    assert [schedule.at(progress, config).opponent_share for progress in (0.59, 0.6)] == [0, 0.2]
    imitating = replace(config, curriculum=CurriculumConfig(expert=("thumb",), imitation=0.7))
    assert [schedule.at(progress, imitating).opponent_share for progress in (0.6, 0.7)] == [0, 0.2]


@pytest.mark.parametrize(
    ("settings", "initial_policy", "expected"),
    [
        (CurriculumConfig(imitation=0.2, critic_warmup=0.15), "", [PLAY] * 5),  # without an expert
        (CurriculumConfig(expert=("thumb",), imitation=0.2), "", [IMITATION, IMITATION, PLAY, PLAY, PLAY]),
        (CurriculumConfig(critic_warmup=0.15), "noms", [WARMUP, WARMUP, PLAY, PLAY, PLAY]),
        (CurriculumConfig(expert=("thumb",), imitation=0.2, critic_warmup=0.1), "noms", [WARMUP, *[PLAY] * 4]),
        (CurriculumConfig(critic_warmup=0.0), "noms", [PLAY] * 5),
    ],
)
def test_the_stages_of_a_run(settings: CurriculumConfig, initial_policy: str, expected: list[Stage]) -> None:
    config = TrainConfig(("noms",), curriculum=settings, initial_policy=initial_policy)
    assert [schedule.at(progress, config).stage for progress in (0.0, 0.1, 0.2, 0.3, 0.4)] == expected


def test_rewards_are_divided_by_the_root_mean_square_of_their_game() -> None:
    def update(reward: float) -> None:
        """Two seats win or lose this reward in the first game; three seats 3 in the second."""
        rewards = torch.tensor([[reward, -reward, 0.0], [3.0, -3.0, 3.0]])
        scale.update(rewards, torch.tensor([0, 1]), torch.tensor([2, 3]), lambda values: values)

    scale = RewardScale(3)
    assert scale.scale.tolist() == [1, 1, 1]
    update(2.0)
    assert scale.scale.tolist() == pytest.approx([2, 3, 1])  # the first iteration counts in full
    rewards = torch.tensor([[4.0, -4.0], [3.0, -300.0]])
    assert scale.divide(rewards, torch.tensor([0, 1])).tolist() == [[2, -2], [1, -LARGEST_REWARD]]
    for _ in range(2000):
        update(10.0)
    assert scale.scale.tolist() == pytest.approx([10, 3, 1])
    again = RewardScale(3)
    again.load_state_dict(scale.state_dict())
    assert again.scale.tolist() == scale.scale.tolist()
