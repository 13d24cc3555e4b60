"""Masked PPO with TorchRL on one seat, with random players at the others: `python examples/torchrl_ppo.py`.

Needs `pip install '.[torchrl]'` and takes about a minute on one core. TorchRL's `GymWrapper` works with `SeatVectorEnv` like
with any other Gymnasium vector environment, so one call steps all tables. Notes:

* `autoreset_mode="Disabled"`: TorchRL itself resets the tables whose deal is over, and stores their last observations.
* The mask comes with the observation. `ActionMask` applies it to random rollouts, `MaskedCategorical` to the policy.
* The only reward comes at the end of a deal, so the discount is 1. It is own points less the mean of the other seats: 0 is as
  good as the opponents.
"""

from __future__ import annotations

import numpy as np
import torch
from tensordict import TensorDict
from tensordict.nn import TensorDictModule
from torch import nn
from torchrl.collectors import Collector
from torchrl.data import LazyTensorStorage, SamplerWithoutReplacement, TensorDictReplayBuffer
from torchrl.envs import ActionMask, Compose, DTypeCastTransform, EnvBase, GymWrapper, RewardScaling, TransformedEnv
from torchrl.envs.utils import ExplorationType, set_exploration_type
from torchrl.modules import MaskedCategorical, ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

from noms_env import NUM_ACTIONS, SeatVectorEnv, feature_layout
from noms_training.interop.one_seat import before_and_after, two_layers

GAME = "down_up"
TABLES, STEPS = 256, 16
"""Size of a rollout: tables, and steps at each."""
DECISIONS, DEALS = 60_000, 500
"""Number of training decisions, and of evaluation deals."""


def make_env(tables: int, seed: int) -> EnvBase:
    """Return the training tables. The learner moves one seat on with each deal; `skip_forced` takes its forced moves for it."""
    seats = SeatVectorEnv(tables, GAME, seat="rotate", reward="relative", skip_forced=True, autoreset_mode="Disabled")
    mask_type = DTypeCastTransform(torch.int8, torch.bool, in_keys=["action_mask"])
    env = TransformedEnv(
        GymWrapper(seats, categorical_action_encoding=True),
        Compose(mask_type, ActionMask(), RewardScaling(loc=0.0, scale=0.1)),
    )
    env.set_seed(seed)
    return env


def make_policy() -> tuple[ProbabilisticActor, ValueOperator]:
    """Return separate actor and critic networks."""
    inputs = feature_layout(GAME, episode="deal").n_features
    actor = ProbabilisticActor(
        TensorDictModule(two_layers(inputs, NUM_ACTIONS), in_keys=["observation"], out_keys=["logits"]),
        in_keys={"logits": "logits", "mask": "action_mask"},
        distribution_class=MaskedCategorical,
        return_log_prob=True,
    )
    return actor, ValueOperator(two_layers(inputs, 1), in_keys=["observation"])


def train(env: EnvBase, actor: ProbabilisticActor, critic: ValueOperator, decisions: int) -> None:
    """Train on at least `decisions` decisions."""
    frames = env.numel() * STEPS
    batches = -(-decisions // frames)
    advantages = GAE(gamma=1.0, lmbda=0.95, value_network=critic)
    ppo = ClipPPOLoss(actor, critic, entropy_coeff=0.01, critic_coeff=0.5, loss_critic_type="l2", normalize_advantage=True)
    optimizer = torch.optim.Adam(ppo.parameters(), 1e-3)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, batches)
    memory = TensorDictReplayBuffer(storage=LazyTensorStorage(frames), sampler=SamplerWithoutReplacement(), batch_size=512)
    for batch in Collector(
        env, actor, frames_per_batch=frames, total_frames=batches * frames, auto_register_policy_transforms=True
    ):
        with torch.no_grad():
            advantages(batch)
        memory.extend(batch.exclude("next").flatten())
        for _ in range(4):
            for minibatch in memory:
                losses = ppo(minibatch)
                optimizer.zero_grad()
                sum(losses[part] for part in ("loss_objective", "loss_critic", "loss_entropy")).backward()
                nn.utils.clip_grad_norm_(ppo.parameters(), 0.5)
                optimizer.step()
        scheduler.step()


def main(tables: int = TABLES, decisions: int = DECISIONS, deals: int = DEALS, seed: int = 1) -> None:
    """Train, and print the learner's points before and after."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    (actor, critic), env = make_policy(), make_env(tables, seed)

    @torch.no_grad()
    def choose(observation: np.ndarray, mask: np.ndarray) -> np.ndarray:
        seen = {"observation": torch.from_numpy(observation), "action_mask": torch.from_numpy(mask) != 0}
        with set_exploration_type(ExplorationType.RANDOM):  # sample; the default is the most probable action
            return actor(TensorDict(seen, len(mask)))["action"].numpy()

    before_and_after(choose, lambda: train(env, actor, critic, decisions), GAME, decisions=decisions, deals=deals)


if __name__ == "__main__":
    main()
