"""MaskablePPO of sb3-contrib on one seat, with random players at the others: `python examples/sb3_maskable_ppo.py`.

Needs `pip install '.[sb3]'`. MaskablePPO calls the method `action_masks` of an environment, so
`MaskablePPO("MlpPolicy", SeatEnv("down_up", mask_in="info"))` already works. `SeatVecEnv` plays many tables in parallel.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.vec_env import VecEnv, VecMonitor, VecNormalize

from noms_env import SeatVectorEnv, Table
from noms_env.interop.sb3 import SeatVecEnv

GAME = "down_up"
TABLES, DECISIONS, DEALS = 256, 200_000, 500
EVALUATION_SEED = 1_000_000
WAY: dict[str, Any] = {"opponents": "random", "observation": "features", "reward": "relative", "skip_forced": True}
"""Arguments of the tables. The reward is own points less the mean of the other seats, so 0 is as good as the opponents.
`skip_forced` takes the learner's forced moves for it."""


def make_tables(tables: int, seed: int) -> VecEnv:
    """Return the training tables; the learner moves one seat on with each deal.

    `VecMonitor` logs the mean reward of a deal, in points. `VecNormalize` then scales the rewards for learning. The discount is
    1, since the only reward comes at the end of the deal.
    """
    envs = SeatVecEnv(tables, GAME, seat="rotate", **WAY)
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


def measure(model: MaskablePPO, deals: int) -> tuple[float, float]:
    """Return the learner's mean reward on unseen deals, and half the width of its 95 % interval.

    Each deal is played once from every seat, with the same cards (duplicate). The plays of a deal are correlated, so the
    interval is computed from the means of the deals, which are independent.
    """
    seats = Table(GAME).seats
    envs = SeatVectorEnv(deals * seats, GAME, autoreset_mode="SameStep", **WAY)
    seeds, places = np.divmod(np.arange(envs.num_envs), seats)
    seen, _ = envs.reset(seed=(EVALUATION_SEED + seeds).tolist(), options={"seat": places})
    scores = np.full(envs.num_envs, np.nan)
    while np.isnan(scores).any():
        actions, _ = model.predict(seen["observation"], action_masks=seen["action_mask"] != 0)
        seen, rewards, terminated, _, _ = envs.step(actions)
        first = terminated & np.isnan(scores)  # only the first deal of each row counts
        scores[first] = rewards[first]
    means = scores.reshape(deals, seats).mean(axis=1)
    return float(means.mean()), float(1.96 * means.std(ddof=1) / math.sqrt(deals))


def main(tables: int = TABLES, decisions: int = DECISIONS, deals: int = DEALS, seed: int = 1) -> None:
    """Train, and print the learner's points before and after."""
    torch.set_num_threads(1)
    model = make_learner(make_tables(tables, seed), seed)
    print(f"{GAME}, points per deal against random players, 95 % interval over {deals} deals from all seats")
    print("before  {:+.2f} ± {:.2f}".format(*measure(model, deals)), flush=True)
    started = time.perf_counter()
    model.learn(decisions)
    seconds, learnt = time.perf_counter() - started, model.num_timesteps
    mean, margin = measure(model, deals)
    print(f"after   {mean:+.2f} ± {margin:.2f}, {learnt:,} decisions in {seconds:.0f} s: {learnt / seconds:,.0f} a second")
    print("It beats random players." if mean > margin else "It does not beat random players: learn for longer.")


if __name__ == "__main__":
    main()
