"""Speed of the usual alternative trainer on the same game: MaskablePPO of sb3-contrib.

Self-play follows PettingZoo's tutorial: one policy plays all seats in a single-agent environment. The environment plays forced
moves, which do not count, as in our trainer.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from typing import Any

import gymnasium
import numpy as np

from benchmarks.speed.clock import Case
from benchmarks.speed.ours import GAME
from benchmarks.speed.peers import peer_case
from noms_env import Table
from noms_env.core.actions import NUM_ACTIONS
from noms_env.engine.row_kernels import IS_SCORED
from noms_env.observation.layout import OBSERVATION_SIZE

MANY = 64
"""Number of environments; more gave no higher speed."""
TUNED = {"n_steps": 64, "batch_size": 1024, "n_epochs": 4}
THREE_EPOCHS = {"n_steps": 64, "batch_size": 2048, "n_epochs": 3}
WIDE = TUNED | {"policy_kwargs": {"net_arch": [256, 256]}}
SETTINGS: dict[str, tuple[int, dict[str, Any], str]] = {
    "defaults": (1, {}, "its defaults: 1 environment, 64 x 2, 10 epochs"),
    "many": (MANY, TUNED, f"{MANY} environments, 64 x 2, 4 epochs, minibatches of 1,024"),
    "three_epochs": (MANY, THREE_EPOCHS, f"{MANY} environments, 64 x 2, 3 epochs, minibatches of 2,048"),
    "wide": (MANY, WIDE, f"{MANY} environments, 256 x 2, 4 epochs, minibatches of 1,024"),
}
"""Number of environments, arguments and description, by name."""
QUICK = {"n_steps": 4, "batch_size": 4, "n_epochs": 1}
QUICK_NUMBER = 2


class SelfPlayEnv(gymnasium.Env[np.ndarray, int]):
    """Deals at one table with one agent on all seats; observations are float32, shape (OBSERVATION_SIZE,).

    The reward at the end of the deal is the points of the seat that decided last, minus the mean of the others'.
    """

    observation_space = gymnasium.spaces.Box(0, 255, (OBSERVATION_SIZE,), np.float32)
    action_space: Any = gymnasium.spaces.Discrete(NUM_ACTIONS)

    def __init__(self, seed: int) -> None:
        self.table = Table(GAME, seed=seed, episode="deal")

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        self.table.start()
        status = self._skip_forced(int(self.table.row.seat))
        if status & IS_SCORED:  # the deal had only forced moves
            return self.reset()
        return self._look(status), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        seat = int(self.table.row.seat)
        status = self._skip_forced(self.table.step(int(action)))
        if not status & IS_SCORED:
            return self._look(status), 0.0, False, False, {}
        points = self.table.row.points[: self.table.seats]
        return self._look(seat), float(points[seat] - np.delete(points, seat).mean()), True, False, {}

    def _skip_forced(self, status: int) -> int:
        while not status & IS_SCORED:
            self.legal = self.table.legal_actions()
            if len(self.legal) > 1:
                break
            status = self.table.step(self.legal[0])
        return status

    def _look(self, seat: int) -> np.ndarray:
        observation, _ = self.table.view(seat)
        return observation.astype(np.float32)

    def action_masks(self) -> np.ndarray:
        """Return the legal-action mask, bool, shape (NUM_ACTIONS,)."""
        mask = np.zeros(NUM_ACTIONS, bool)
        mask[self.legal] = True
        return mask


def maskable_ppo_cases(quick: bool) -> Iterator[Case]:
    """Yield MaskablePPO at its defaults and at faster settings, with one torch thread and with one for each core.

    Raises:
        ModuleNotFoundError: sb3-contrib is not installed.
    """
    model = import_module("sb3_contrib").MaskablePPO
    vector = import_module("stable_baselines3.common.vec_env").DummyVecEnv
    for name, (wanted, settings, text) in SETTINGS.items():
        number = min(wanted, QUICK_NUMBER) if quick else wanted
        tables = vector([partial(SelfPlayEnv, seed) for seed in range(number)])
        learner = model("MlpPolicy", tables, device="cpu", seed=0, **settings | (QUICK if quick else {}))
        for threads in sorted({1, os.cpu_count() or 1}):
            key, what = f"maskable_ppo/{name}/{threads}", f"{text}, {threads} thread(s)"
            yield peer_case(key, what, partial(learn, learner, threads), "train/fast", "train/small")


def learn(learner: Any, threads: int) -> int:
    """Run one iteration of collection and learning; return its number of steps."""
    steps = int(learner.n_steps * learner.n_envs)
    import_module("torch").set_num_threads(threads)
    learner.learn(steps, reset_num_timesteps=False)
    return steps


TRAINERS: dict[str, Callable[[bool], Iterator[Case]]] = {"sb3-contrib": maskable_ppo_cases}
"""Peers by name."""
