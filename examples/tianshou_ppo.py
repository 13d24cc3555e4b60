"""Masked PPO with Tianshou on one seat, random players on the others: `python examples/tianshou_ppo.py`.

Needs `pip install '.[tianshou]'` and takes about a minute on one core. `SeatEnv` is a Gymnasium environment, so Tianshou's
`DummyVectorEnv` and `Collector` take it as it is. Notes:

* Tianshou's own networks support masks in the DQN family only. The actor here gets the whole observation with the mask, and
  sets the logits of illegal actions so low that their probabilities are 0.
* A deal pays once, at its end, so gamma is 1. The reward is own points less the mean of the others', so that 0 is as good as
  they are.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch
from tianshou.algorithm import PPO
from tianshou.algorithm.modelfree.reinforce import DiscreteActorPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Batch, Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OnPolicyTrainerParams
from tianshou.utils.net.common import ActionReprNetWithVectorOutput, ModuleWithVectorOutput
from torch import Tensor

from noms_env import NUM_ACTIONS, SeatEnv, feature_layout
from noms_training.interop.one_seat import Choose, before_and_after, two_layers

GAME = "down_up"
WAY: dict[str, Any] = {"observation": "features", "seat": "rotate", "reward": "relative", "skip_forced": True}
"""The learner moves one seat on with each deal, and forced moves are taken for it."""
N_FEATURES = feature_layout(GAME, episode="deal").n_features
TABLES, STEPS = 64, 32
"""A batch: decisions at each of so many tables."""
DECISIONS, DEALS = 60_000, 500
"""To learn from, and to measure on."""
REWARD_SCALE = 0.1
ILLEGAL = torch.finfo(torch.float32).min
"""A logit. Minus infinity would make the entropy 0 times infinity."""


class Points(SeatEnv):
    """A seat whose rewards are near 1, as the critic likes them."""

    def step(self, action: Any) -> Any:
        seen, reward, terminated, truncated, info = super().step(action)
        return seen, reward * REWARD_SCALE, terminated, truncated, info


def make_tables(tables: int, seed: int) -> DummyVectorEnv:
    """Tables to learn at."""
    envs = DummyVectorEnv([partial(Points, GAME, **WAY)] * tables)
    envs.seed(seed)
    return envs


class Actor(ActionReprNetWithVectorOutput[Any]):
    """From features with masks to logits."""

    def __init__(self) -> None:
        """Make the layers."""
        super().__init__(NUM_ACTIONS)
        self.layers = two_layers(N_FEATURES, NUM_ACTIONS)

    def forward(self, obs: Batch, state: Any = None, info: Any = None) -> tuple[Tensor, Any]:
        """Logits, shape (n, NUM_ACTIONS), and the state as it was: this network has none."""
        legal = torch.as_tensor(obs.action_mask) != 0
        return self.layers(torch.as_tensor(obs.observation)).masked_fill(~legal, ILLEGAL), state


class Critic(ModuleWithVectorOutput):
    """From features to the expected reward."""

    def __init__(self) -> None:
        """Make the layers."""
        super().__init__(1)
        self.layers = two_layers(N_FEATURES, 1)

    def forward(self, obs: Batch, **_: Any) -> Tensor:
        """Values, shape (n, 1)."""
        return self.layers(torch.as_tensor(obs.observation))


def make_learner() -> PPO:
    """Actor and critic, which share nothing."""
    space = SeatEnv(GAME, observation="features")
    policy = DiscreteActorPolicy(
        actor=Actor(), action_space=space.action_space, observation_space=space.observation_space, deterministic_eval=False
    )
    return PPO(
        policy=policy,
        critic=Critic(),
        optim=AdamOptimizerFactory(lr=1e-3),
        gamma=1.0,
        gae_lambda=0.95,
        ent_coef=0.01,
        max_grad_norm=0.5,
        max_batchsize=TABLES * STEPS,
    )


def train(ppo: PPO, tables: DummyVectorEnv, decisions: int) -> None:
    """Learn from at least so many decisions."""
    frames = len(tables) * STEPS
    collector = Collector(ppo, tables, VectorReplayBuffer(frames, len(tables)))
    collector.reset()
    ppo.run_training(
        OnPolicyTrainerParams(
            training_collector=collector,
            max_epochs=1,
            epoch_num_steps=-(-decisions // frames) * frames,
            collection_step_num_env_steps=frames,
            batch_size=512,
            update_step_num_repetitions=4,
        )
    )


def choose_by(ppo: PPO) -> Choose:
    """The policy outside of Tianshou: from features and masks to actions."""

    @torch.no_grad()
    def choose(observation: np.ndarray, mask: np.ndarray) -> np.ndarray:
        seen = Batch(obs=Batch(observation=observation, action_mask=mask), info=Batch())
        return ppo.policy(seen).act.numpy()

    return choose


def main(tables: int = TABLES, decisions: int = DECISIONS, deals: int = DEALS, seed: int = 1) -> None:
    """Train, and print the strength of the learner before and after."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    np.random.seed(seed)  # Tianshou shuffles by it
    ppo = make_learner()
    before_and_after(
        choose_by(ppo), lambda: train(ppo, make_tables(tables, seed), decisions), GAME, decisions=decisions, deals=deals
    )


if __name__ == "__main__":
    main()
