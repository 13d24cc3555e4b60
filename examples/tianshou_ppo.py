"""Masked PPO with Tianshou on one seat, with random players at the others: `python examples/tianshou_ppo.py`.

Needs `pip install '.[tianshou]'` and takes about a minute on one core. Tianshou's `DummyVectorEnv` and `Collector` work with
`SeatEnv` like with any other Gymnasium environment. Notes:

* Tianshou's own networks support masks only in the DQN family. The actor here reads the whole observation with the mask, and
  sets the logits of illegal actions so low that their probabilities are 0.
* The only reward comes at the end of a deal, so the discount is 1. It is own points less the mean of the other seats: 0 is as
  good as the opponents.
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
from noms_training.interop.one_seat import before_and_after, two_layers

GAME = "down_up"
TABLE_ARGUMENTS: dict[str, Any] = {"observation": "features", "seat": "rotate", "reward": "relative", "skip_forced": True}
"""Arguments of the tables. The learner moves one seat on with each deal; `skip_forced` takes its forced moves for it."""
N_FEATURES = feature_layout(GAME, episode="deal").n_features
TABLES, STEPS = 64, 32
"""Size of a rollout: tables, and steps at each."""
DECISIONS, DEALS = 60_000, 500
"""Number of training decisions, and of evaluation deals."""
REWARD_SCALE = 0.1
ILLEGAL = torch.finfo(torch.float32).min
"""Logit of illegal actions. With minus infinity the entropy would be 0 times infinity, which is not a number."""


class ScaledSeat(SeatEnv):
    """A seat with rewards scaled to about 1, for the critic."""

    def step(self, action: Any) -> Any:
        seen, reward, terminated, truncated, info = super().step(action)
        return seen, reward * REWARD_SCALE, terminated, truncated, info


def make_tables(tables: int, seed: int) -> DummyVectorEnv:
    """Return the training tables."""
    envs = DummyVectorEnv([partial(ScaledSeat, GAME, **TABLE_ARGUMENTS)] * tables)
    envs.seed(seed)
    return envs


class Actor(ActionReprNetWithVectorOutput[Any]):
    """Network from features with masks to logits."""

    def __init__(self) -> None:
        super().__init__(NUM_ACTIONS)
        self.layers = two_layers(N_FEATURES, NUM_ACTIONS)

    def forward(self, obs: Batch, state: Any = None, info: Any = None) -> tuple[Tensor, Any]:
        """Return logits, shape (n, NUM_ACTIONS), and `state` unchanged, since the network is not recurrent."""
        legal = torch.as_tensor(obs.action_mask) != 0
        return self.layers(torch.as_tensor(obs.observation)).masked_fill(~legal, ILLEGAL), state


class Critic(ModuleWithVectorOutput):
    """Network from features to the expected reward."""

    def __init__(self) -> None:
        super().__init__(1)
        self.layers = two_layers(N_FEATURES, 1)

    def forward(self, obs: Batch, **_: Any) -> Tensor:
        """Return values, shape (n, 1)."""
        return self.layers(torch.as_tensor(obs.observation))


def make_learner() -> PPO:
    """Return PPO with separate actor and critic networks."""
    seat = SeatEnv(GAME, observation="features")
    policy = DiscreteActorPolicy(
        actor=Actor(), action_space=seat.action_space, observation_space=seat.observation_space, deterministic_eval=False
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
    """Train on at least `decisions` decisions."""
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


def main(tables: int = TABLES, decisions: int = DECISIONS, deals: int = DEALS, seed: int = 1) -> None:
    """Train, and print the learner's points before and after."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    np.random.seed(seed)  # Tianshou shuffles minibatches with it
    ppo = make_learner()
    envs = make_tables(tables, seed)

    @torch.no_grad()
    def choose(observation: np.ndarray, mask: np.ndarray) -> np.ndarray:
        seen = Batch(obs=Batch(observation=observation, action_mask=mask), info=Batch())
        return ppo.policy(seen).act.numpy()

    before_and_after(choose, lambda: train(ppo, envs, decisions), GAME, decisions=decisions, deals=deals)


if __name__ == "__main__":
    main()
