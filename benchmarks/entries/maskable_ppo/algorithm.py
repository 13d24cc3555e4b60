"""MaskablePPO of sb3-contrib on one seat, with `thumb` on all others: a best response to a fixed field.

Huang and Ontanon, A Closer Look at Invalid Action Masking in Policy Gradient Algorithms, FLAIRS 2022, arXiv 2006.14171; Raffin
et al., Stable-Baselines3, JMLR 22 (268), 2021. Needs `pip install '.[sb3]'`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecNormalize

from noms_env import feature_layout
from noms_env.interop.sb3 import SeatVecEnv
from noms_training.benchmark.protocol import GAMES
from noms_training.benchmark.task import Task

TRACK = "best-response"
TABLES, OPPONENTS = 256, "thumb"
MODEL = "model-{game}.zip"
MOST = 10**12
"""Decisions of a run whose budget is in CPU-hours only."""


class Curve(BaseCallback):
    """Tells the task how far the run is, and ends it."""

    def __init__(self, task: Task) -> None:
        super().__init__()
        self.task = task

    def _on_step(self) -> bool:
        assert isinstance(self.model, MaskablePPO)
        model = self.model
        return self.task.log(self.num_timesteps, lambda: ModelPlayer(model, self.task.game)) < 1


def train(task: Task) -> None:
    """Learn on a seat that changes from deal to deal."""
    torch.set_num_threads(1)
    way: dict[str, Any] = {"seat": "rotate", "observation": "features", "reward": "relative", "skip_forced": True}
    tables = SeatVecEnv(TABLES, task.game, seats=task.seats, opponents=OPPONENTS, **way)
    tables.seed(task.seed)
    model = MaskablePPO(
        "MlpPolicy",
        VecNormalize(tables, norm_obs=False, gamma=1.0),
        n_steps=32,
        batch_size=1024,
        n_epochs=3,
        gamma=1.0,
        ent_coef=0.01,
        learning_rate=lambda left: 1e-3 * left,
        policy_kwargs={"net_arch": [128, 128]},
        seed=task.seed,
        device="cpu",
    )
    task.log(0, lambda: ModelPlayer(model, task.game))
    model.learn(task.budget.decisions or MOST, callback=Curve(task))
    model.save(task.folder / MODEL.format(game=task.game))


class ModelPlayer:
    """A model of sb3-contrib at the tables (`noms_env.players.Player`); takes its most probable action."""

    wants_tables: ClassVar[bool] = False

    def __init__(self, model: MaskablePPO, game: str) -> None:
        self._model, self._layout = model, feature_layout(game, GAMES[game], episode="deal")

    def act(
        self, observation: np.ndarray, mask: np.ndarray, rng: np.random.Generator, *, tables: np.recarray | None = None
    ) -> np.ndarray:
        """See `noms_env.players.Player.act`."""
        actions, _ = self._model.predict(self._layout.encode(observation), action_masks=mask != 0, deterministic=True)
        return np.asarray(actions)


def player(folder: Path) -> ModelPlayer:
    """The trained model."""
    (path,) = folder.glob(MODEL.format(game="*"))
    return ModelPlayer(MaskablePPO.load(path, device="cpu"), path.stem.partition("-")[2])
