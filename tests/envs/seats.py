"""One seat as an environment, and players for the other seats."""

from typing import Any, ClassVar

import numpy as np

from noms_env import SeatEnv
from tests.envs.play import Kind, choose_in_rows


def choose(mask: np.ndarray, step: int) -> int:
    """Choose a legal action by the mask and the number of the step alone."""
    return int(choose_in_rows(mask[None], step)[0])


def seat_env(kind: Kind, **arguments: Any) -> SeatEnv:
    return SeatEnv(kind.variant, seats=kind.seats, **{**kind.options, **arguments})


def play_episode(env: SeatEnv, **reset: Any) -> list[Any]:
    """Play an episode to its end; return what `reset` and each `step` returned."""
    results: list[Any] = [env.reset(**reset)]
    for step in range(20_000):
        results.append(env.step(choose(env.action_masks(), step)))
        if results[-1][2] or results[-1][3]:
            return results
    raise AssertionError("the episode does not end")


class NumpyPlayer:
    """Draws a random legal action with numpy, and lists the seats where it sat."""

    wants_tables: ClassVar[bool] = True

    def __init__(self) -> None:
        self.seats: list[int] = []

    def act(self, observation: np.ndarray, mask: np.ndarray, seeds: np.ndarray, *, tables: np.recarray | None = None) -> Any:
        assert tables is not None
        self.seats += tables.seat.tolist()
        actions = self.choose_actions(np.atleast_2d(mask), np.atleast_1d(seeds), tables)
        return actions[0] if mask.ndim == 1 else np.array(actions)

    def choose_actions(self, mask: np.ndarray, seeds: np.ndarray, tables: np.recarray) -> list[int]:
        return [int(np.random.default_rng(seed).choice(np.flatnonzero(legal))) for legal, seed in zip(mask, seeds, strict=True)]
