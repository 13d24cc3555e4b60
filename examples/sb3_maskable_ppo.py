"""MaskablePPO of sb3-contrib on one seat, with random players at the others: `python examples/sb3_maskable_ppo.py`.

Needs `pip install '.[sb3]'`. MaskablePPO calls the method `action_masks` of an environment, so
`MaskablePPO("MlpPolicy", SeatEnv("down_up", mask_in="info"))` already works. `SeatVecEnv` plays many tables in parallel.
"""

from __future__ import annotations

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.vec_env import VecEnv, VecMonitor, VecNormalize

from noms_env.interop.sb3 import SeatVecEnv
from noms_training.interop.one_seat import before_and_after

GAME = "down_up"
TABLES, DECISIONS, DEALS = 256, 200_000, 500
"""Number of tables, training decisions and evaluation deals."""


def make_tables(tables: int, seed: int) -> VecEnv:
    """Return the training tables; the learner moves one seat on with each deal.

    The reward is own points less the mean of the other seats, so 0 is as good as the opponents. It comes at the end of a deal,
    so the discount is 1. `skip_forced` takes the learner's forced moves for it. `VecMonitor` logs the mean reward of a deal, in
    points; `VecNormalize` then scales the rewards for learning.
    """
    envs = SeatVecEnv(tables, GAME, opponents="random", seat="rotate", reward="relative", skip_forced=True)
    envs.seed(seed)
    return VecNormalize(VecMonitor(envs), norm_obs=False, gamma=1.0)


def make_learner(envs: VecEnv, seed: int) -> MaskablePPO:
    """Return a learner with sb3's default network, two hidden layers of 64 units."""
    return MaskablePPO(
        "MlpPolicy",
        envs,
        n_steps=16,
        batch_size=512,
        n_epochs=4,
        gamma=1.0,
        ent_coef=0.01,
        learning_rate=1e-3,
        seed=seed,
        device="cpu",
    )


def main(tables: int = TABLES, decisions: int = DECISIONS, deals: int = DEALS, seed: int = 1) -> None:
    """Train, and print the learner's points before and after."""
    torch.set_num_threads(1)
    model = make_learner(make_tables(tables, seed), seed)

    def choose(features: np.ndarray, mask: np.ndarray) -> np.ndarray:
        return model.predict(features, action_masks=mask != 0)[0]

    before_and_after(choose, lambda: model.learn(decisions), GAME, decisions=decisions, deals=deals)


if __name__ == "__main__":
    main()
