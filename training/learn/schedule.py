"""What changes in the course of a run, by its progress: the share of the budget that is spent, 0 to 1."""

from __future__ import annotations

import math
from dataclasses import replace
from enum import Enum

from ..config import CurriculumConfig, OpponentsConfig, PPOConfig, TrainConfig

LEARNING_RATE_LEFT = 1 / 10
CALL_COEFS_LEFT, ENT_COEF_PLAY_LEFT = 1 / 5, 1 / 6


class Stage(Enum):
    """What is learnt, and what from."""

    IMITATION = "the policy learns from the decisions of an expert that plays in its place"
    CRITIC_WARMUP = "only the critic learns, and the policy stays as it is"
    SELF_PLAY = "the policy learns from its own play, by PPO"


def curriculum_of(config: TrainConfig) -> CurriculumConfig:
    """The curriculum of a run: an initial policy has learnt what imitation teaches, but has no critic yet."""
    if config.initial_policy:
        return replace(config.curriculum, imitation=0.0)
    return replace(config.curriculum, critic_warmup=0.0)


def stage(progress: float, settings: CurriculumConfig) -> Stage:
    """What the policy learns from at a moment."""
    if progress < settings.critic_warmup:
        return Stage.CRITIC_WARMUP
    if progress < settings.imitation_end:
        return Stage.IMITATION
    return Stage.SELF_PLAY


def settings_at(progress: float, settings: PPOConfig, of: Stage) -> PPOConfig:
    """The settings with the learning rate and the coefficients that they have at a moment."""
    cosine = (1 + math.cos(math.pi * min(1.0, progress))) / 2
    ent_coef_call = _linear(settings.ent_coef_call, settings.ent_coef_call * CALL_COEFS_LEFT, progress)
    ent_coef_play = _linear(settings.ent_coef_play, settings.ent_coef_play * ENT_COEF_PLAY_LEFT, progress)
    uniform_kl_coef = _linear(settings.uniform_kl_coef, settings.uniform_kl_coef * CALL_COEFS_LEFT, progress)
    if of is not Stage.SELF_PLAY:
        ent_coef_call = ent_coef_play = uniform_kl_coef = 0.0
    return replace(
        settings,
        learning_rate=settings.learning_rate * (LEARNING_RATE_LEFT + (1 - LEARNING_RATE_LEFT) * cosine),
        ent_coef_call=ent_coef_call,
        ent_coef_play=ent_coef_play,
        uniform_kl_coef=uniform_kl_coef,
    )


def distil_coef(progress: float, settings: CurriculumConfig, of: Stage) -> float:
    """A straight line from the whole coefficient to 0, in self-play."""
    return settings.distil_coef * max(0.0, 1 - progress) if settings.shards and of is Stage.SELF_PLAY else 0.0


def opponent_share(progress: float, settings: OpponentsConfig, of: Stage) -> float:
    """Share of the tables at which opponents sit."""
    if of is Stage.IMITATION:
        return 0.0
    return settings.share if progress >= settings.start else 0.0


def _linear(start: float, end: float, progress: float) -> float:
    return start + (end - start) * min(1.0, progress)
