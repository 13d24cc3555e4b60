"""One seat as an environment, and players for the others, as the tests need them."""

from typing import Any, ClassVar

import numpy as np

from noms_env import SeatEnv
from tests.envs.play import Kind


def choose(mask: np.ndarray, step: int) -> int:
    """A legal action that depends on nothing but the mask and the number of the step."""
    legal = np.flatnonzero(mask)
    return int(legal[(step * 7919 + 13) % len(legal)])


def seat_env(kind: Kind, **arguments: Any) -> SeatEnv:
    return SeatEnv(kind.variant, seats=kind.seats, **{**kind.options, **arguments})


def play_episode(env: SeatEnv, **reset: Any) -> list[Any]:
    """An episode to its end: everything that the learner was given, from `reset` on."""
    given: list[Any] = [env.reset(**reset)]
    for step in range(20_000):
        given.append(env.step(choose(env.action_masks(), step)))
        if given[-1][2] or given[-1][3]:
            return given
    raise AssertionError("the episode does not end")


class Picker:
    """A player that draws as most people would write it, and notes where it sat."""

    wants_tables: ClassVar[bool] = True

    def __init__(self) -> None:
        self.seats: list[int] = []

    def act(self, observation: np.ndarray, mask: np.ndarray, seeds: np.ndarray, *, tables: np.recarray | None = None) -> Any:
        assert tables is not None
        self.seats += tables.seat.tolist()
        answers = self.answers(np.atleast_2d(mask), np.atleast_1d(seeds), tables)
        return answers[0] if mask.ndim == 1 else np.array(answers)

    def answers(self, mask: np.ndarray, seeds: np.ndarray, tables: np.recarray) -> list[int]:
        return [int(np.random.default_rng(seed).choice(np.flatnonzero(legal))) for legal, seed in zip(mask, seeds, strict=True)]
