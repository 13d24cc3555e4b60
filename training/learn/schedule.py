"""What changes in the course of a run, by its progress: the share of the budget that is spent, 0 to 1."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import Enum

from .config import PPOConfig, TrainConfig

LEARNING_RATE_LEFT = 1 / 10
CALL_COEFS_LEFT, ENT_COEF_PLAY_LEFT = 1 / 5, 1 / 6


class Stage(Enum):
    """What is learnt, and what from."""

    IMITATION = "the policy learns from the decisions of an expert that plays in its place"
    CRITIC_WARMUP = "only the critic learns, and the policy stays as it is"
    SELF_PLAY = "the policy learns from its own play, by PPO"


@dataclass(frozen=True)
class Now:
    """What holds at a moment of a run: `ppo` has the learning rate and the coefficients of the moment."""

    stage: Stage
    ppo: PPOConfig
    distil_coef: float
    opponent_share: float


def at(progress: float, config: TrainConfig) -> Now:
    """What holds when a share of the budget is spent, 0 to 1."""
    current, curriculum, opponents = stage(progress, config), config.curriculum, config.opponents
    learns_recorded = curriculum.shards and current is Stage.SELF_PLAY
    has_opponents = progress >= opponents.start and current is not Stage.IMITATION
    return Now(
        stage=current,
        ppo=settings_at(progress, config.ppo, current),
        distil_coef=curriculum.distil_coef * max(0.0, 1 - progress) if learns_recorded else 0.0,
        opponent_share=opponents.share if has_opponents else 0.0,
    )


def stage(progress: float, config: TrainConfig) -> Stage:
    """What the policy learns from: an initial policy has learnt what imitation teaches, but has no critic yet."""
    if config.initial_policy and progress < config.curriculum.critic_warmup:
        return Stage.CRITIC_WARMUP
    if not config.initial_policy and config.curriculum.expert and progress < config.curriculum.imitation:
        return Stage.IMITATION
    return Stage.SELF_PLAY


def settings_at(progress: float, settings: PPOConfig, of: Stage) -> PPOConfig:
    """The settings with the learning rate, a cosine to a tenth, and the coefficients; 0 before self-play."""
    spent = min(1.0, progress)
    cosine = (1 + math.cos(math.pi * spent)) / 2

    def coefficient(start: float, left: float) -> float:
        if of is not Stage.SELF_PLAY:
            return 0.0
        if settings.coefs_left is not None:
            return start * math.pow(settings.coefs_left, spent)
        return start + (start * left - start) * spent

    return replace(
        settings,
        learning_rate=settings.learning_rate * (LEARNING_RATE_LEFT + (1 - LEARNING_RATE_LEFT) * cosine),
        ent_coef_call=coefficient(settings.ent_coef_call, CALL_COEFS_LEFT),
        ent_coef_play=coefficient(settings.ent_coef_play, ENT_COEF_PLAY_LEFT),
        uniform_kl_coef=coefficient(settings.uniform_kl_coef, CALL_COEFS_LEFT),
    )
