"""MaskablePPO of sb3-contrib on one seat, with `thumb` on all others: a best response to a fixed field.

Huang and Ontanon, A Closer Look at Invalid Action Masking in Policy Gradient Algorithms, FLAIRS 2022, arXiv 2006.14171; Raffin
et al., Stable-Baselines3, JMLR 22 (268), 2021. Needs `pip install '.[sb3]'`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecEnv, VecNormalize
from torch import nn

from noms_env import NUM_ACTIONS, FeatureLayout
from noms_env.interop.sb3 import SeatVecEnv
from noms_env.players import unit_draws
from noms_training.benchmark.generalist import layout_of
from noms_training.benchmark.learning import drawn, masked, read_network, save_network
from noms_training.benchmark.task import Task

DIVISION = "best-response"
TABLES, OPPONENTS, UNITS, LEARNING_RATE = 256, "thumb", 128, 1e-3
SAME_RULES = 500_000
"""Decisions until a generalist's rules are drawn anew."""


class Curve(BaseCallback):
    """Tells the task how far the run is, and ends it."""

    def __init__(self, task: Task) -> None:
        super().__init__()
        self.task, self.share = task, 0.0

    def _on_step(self) -> bool:
        assert isinstance(self.model, MaskablePPO)
        network = actor_of(self.model)
        self.share = self.task.log(self.num_timesteps, lambda: ModelPlayer(network, self.task.layout))
        return self.share < 1


class SideBySide(VecEnv):
    """Tables of several rules as one vector environment."""

    def __init__(self, parts: Sequence[SeatVecEnv]) -> None:
        self.parts, self.ends = parts, np.cumsum([part.num_envs for part in parts])
        super().__init__(int(self.ends[-1]), parts[0].observation_space, parts[0].action_space)

    def reset(self) -> np.ndarray:
        return np.concatenate([part.reset() for part in self.parts])

    def step_async(self, actions: np.ndarray) -> None:
        for part, own in zip(self.parts, np.split(actions, self.ends[:-1]), strict=True):
            part.step_async(own)

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        seen, rewards, dones, infos = zip(*(part.step_wait() for part in self.parts), strict=True)
        return np.concatenate(seen), np.concatenate(rewards), np.concatenate(dones), [info for part in infos for info in part]

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list[Any]:
        rows = [row for part in self.parts for row in part.env_method(method_name, *method_args, **method_kwargs)]
        return [rows[row] for row in self._get_indices(indices)]

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        return [getattr(self.parts[0].envs, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        raise AttributeError(f"{attr_name} cannot be set")

    def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> list[bool]:
        return [False for _ in self._get_indices(indices)]

    def close(self) -> None:
        """There is nothing to close."""


def tables_of(task: Task, seed: int) -> VecNormalize:
    """Tables at which the learner's seat changes from deal to deal."""
    common: dict[str, Any] = {"observation": task.layout, "opponents": OPPONENTS, "reward": "relative", "seat": "rotate"}
    groups, parts = task.groups(TABLES), list[SeatVecEnv]()
    for name, seats, options, _ in groups:
        part = SeatVecEnv(TABLES // len(groups), name, seats=seats, skip_forced=True, **common, **options or {})
        part.seed(seed + TABLES * len(parts))
        parts.append(part)
    return VecNormalize(SideBySide(parts), norm_obs=False, gamma=1.0)


def train(task: Task) -> None:
    """Learn on one seat."""
    torch.set_num_threads(1)
    curve, chance = Curve(task), np.random.default_rng(task.seed)
    model = MaskablePPO(
        "MlpPolicy",
        tables_of(task, int(chance.integers(2**31))),
        n_steps=32,
        batch_size=1024,
        n_epochs=3,
        gamma=1.0,
        ent_coef=0.01,
        learning_rate=lambda _: LEARNING_RATE * (1 - curve.share),
        policy_kwargs={"net_arch": [UNITS, UNITS]},
        seed=task.seed,
        device="cpu",
    )
    task.log(0, lambda: ModelPlayer(actor_of(model), task.layout))
    while curve.share < 1:
        model.learn(SAME_RULES, callback=curve, reset_num_timesteps=False)
        if task.draws_rules:
            model.set_env(tables_of(task, int(chance.integers(2**31))))
    save_network(task, actor_of(model))


def actor_of(model: MaskablePPO) -> nn.Sequential:
    """The part of a model that plays."""
    return nn.Sequential(*model.policy.mlp_extractor.policy_net, model.policy.action_net)


class ModelPlayer:
    """The actor of a model at the tables (`noms_env.players.Player`); suits keep their names."""

    wants_tables: ClassVar[bool] = False

    def __init__(self, network: nn.Module, layout: FeatureLayout, draws: bool = False) -> None:
        self._network, self._layout, self._draws = network, layout, draws

    @torch.inference_mode()
    def act(
        self, observation: np.ndarray, mask: np.ndarray, seeds: np.ndarray, *, tables: np.recarray | None = None
    ) -> np.ndarray:
        """See `noms_env.players.Player.act`."""
        scores, legal = self._network(torch.from_numpy(self._layout.encode(observation))), torch.from_numpy(mask != 0)
        return drawn(scores, legal, unit_draws(seeds)) if self._draws else masked(scores, legal).argmax(dim=1).numpy()


def player(folder: Path, draws: bool = False) -> ModelPlayer:
    """The trained actor, which takes its most probable action."""
    game, options, state = read_network(folder)
    layout = layout_of(game, options)
    layers = [nn.Linear(layout.n_features, UNITS), nn.Tanh(), nn.Linear(UNITS, UNITS), nn.Tanh(), nn.Linear(UNITS, NUM_ACTIONS)]
    network = nn.Sequential(*layers)
    network.load_state_dict(state)
    return ModelPlayer(network, layout, draws)


def other_player(folder: Path) -> ModelPlayer:
    """The same actor, which draws its actions."""
    return player(folder, draws=True)
