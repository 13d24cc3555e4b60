"""What changes in the course of a run: functions of the share of the budget that is spent, 0 to 1."""

from __future__ import annotations

import math

from training.config import CurriculumConfig, LeagueConfig, PPOConfig

LEARNING_RATE_LEFT = 0.1
CALL_ENTROPY_LEFT, PLAY_ENTROPY_LEFT = 1 / 5, 1 / 6
CONTRACTS_UNTIL, CONTRACTS_LEFT = 1 / 3, 1 / 5


def learning_rate(progress: float, settings: PPOConfig) -> float:
    """A cosine from the whole rate to a tenth of it."""
    cosine = (1 + math.cos(math.pi * min(1.0, progress))) / 2
    return settings.learning_rate * (LEARNING_RATE_LEFT + (1 - LEARNING_RATE_LEFT) * cosine)


def entropy_weights(progress: float, settings: PPOConfig) -> tuple[float, float]:
    """Before the play, and in it: they fall in a straight line, and never to nothing."""
    before, after = settings.entropy_call, settings.entropy_play
    return falling(before, before * CALL_ENTROPY_LEFT, progress), falling(after, after * PLAY_ENTROPY_LEFT, progress)


def falling(start: float, end: float, progress: float) -> float:
    """A straight line."""
    return start + (end - start) * min(1.0, progress)


def magnet_weight(progress: float, settings: PPOConfig) -> float:
    """Nothing at first: the slow average of a policy that learns fast is too old."""
    return settings.magnet if progress >= settings.magnet_from else 0.0


def has_lesson(progress: float, settings: CurriculumConfig) -> bool:
    """Whether the teacher plays, and the policy imitates him."""
    return settings.teacher != "" and progress < settings.lessons


def has_tryouts(progress: float, settings: CurriculumConfig) -> bool:
    """Whether the policy learns from what every action comes to, behind the lessons."""
    return settings.lessons_end <= progress < settings.lessons_end + settings.tryouts


def advice_weight(progress: float, settings: CurriculumConfig) -> float:
    """Nothing in the lessons, then from the whole weight to nothing in a straight line."""
    if settings.teacher == "" or has_lesson(progress, settings) or progress >= settings.advice_until:
        return 0.0
    return settings.advice * (settings.advice_until - progress) / max(settings.advice_until - settings.lessons, 1e-9)


def learns_critic_only(progress: float, settings: CurriculumConfig) -> bool:
    """Whether the policy waits for the critic, in a run that begins with a policy."""
    return progress < settings.critic_first


def has_small_hands(progress: float, settings: CurriculumConfig) -> bool:
    """Whether hands are small."""
    return settings.teacher == "" and progress < settings.small_hands


def random_contract_share(progress: float, settings: CurriculumConfig) -> float:
    """Whole in the first third, then falling to a fifth."""
    if settings.teacher != "":
        return 0.0
    after = max(0.0, progress - CONTRACTS_UNTIL) / (1 - CONTRACTS_UNTIL)
    return falling(settings.random_contracts, settings.random_contracts * CONTRACTS_LEFT, after)


def league_share(progress: float, settings: LeagueConfig) -> float:
    """Nothing until the league begins."""
    return settings.share if progress >= settings.start else 0.0
