"""Schedules of the stage, learning rate, coefficients and opponents, by progress: the share of the budget spent, 0 to 1."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import Enum

from .config import PPOConfig, TrainConfig

LEARNING_RATE_LEFT = 1 / 10
CALL_COEFS_LEFT, ENT_COEF_PLAY_LEFT = 1 / 5, 1 / 6


class Stage(Enum):
    """Stage of a run."""

    IMITATION = "the policy learns from the decisions of an expert that plays in its place"
    CRITIC_WARMUP = "only the critic learns, and the policy stays as it is"
    SELF_PLAY = "the policy learns from its own play, by PPO"


@dataclass(frozen=True)
class Now:
    """Scheduled values at a moment of a run; `ppo` has the current learning rate and coefficients."""

    stage: Stage
    ppo: PPOConfig
    distil_coef: float
    opponent_share: float


def at(progress: float, config: TrainConfig) -> Now:
    """Return the scheduled values at a progress of 0 to 1."""
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
    """Return the stage. A run from an initial policy skips imitation and warms up its new critic instead."""
    if config.initial_policy and progress < config.curriculum.critic_warmup:
        return Stage.CRITIC_WARMUP
    if not config.initial_policy and config.curriculum.expert and progress < config.curriculum.imitation:
        return Stage.IMITATION
    return Stage.SELF_PLAY


def settings_at(progress: float, settings: PPOConfig, of: Stage) -> PPOConfig:
    """Apply the schedules to the learning rate (cosine to a tenth) and the coefficients, which are 0 before self-play."""
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
