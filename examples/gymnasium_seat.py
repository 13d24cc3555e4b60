"""A random agent on one seat, with players at the other seats: `python examples/gymnasium_seat.py`.

It plays first at one table, then at 1,024 tables in parallel. The reward is `relative`: own points less the mean of the other
seats, so 0 is as good as the opponents. Once the engine is compiled, this takes a few seconds.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

import gymnasium
import numpy as np

GAME = "noms_env:noms/down_up-v0"
OPPONENTS = ("random", "thumb")
DEALS, TABLES, STEPS = 200, 1024, 60


def one_table(opponents: str, rng: np.random.Generator) -> list[float]:
    """Return the rewards of `DEALS` deals at one table."""
    env = gymnasium.make(GAME, opponents=opponents, reward="relative", seat="rotate")
    rewards: list[float] = []
    observation, _ = env.reset(seed=1)
    while len(rewards) < DEALS:
        action = rng.choice(np.flatnonzero(observation["action_mask"]))
        observation, reward, terminated, truncated, _ = env.step(int(action))
        if terminated or truncated:
            rewards.append(float(reward))
            observation, _ = env.reset()
    return rewards


def many_tables(opponents: str, rng: np.random.Generator) -> list[float]:
    """Return the rewards of all deals that end within `STEPS` steps at many tables; episodes restart automatically."""
    envs = gymnasium.make_vec(
        GAME, num_envs=TABLES, opponents=opponents, reward="relative", seat="rotate", autoreset_mode="SameStep"
    )
    rewards: list[float] = []
    observations, _ = envs.reset(seed=1)
    for _ in range(STEPS):
        legal = observations["action_mask"] != 0
        drawn = rng.random(legal.shape) * legal  # the argmax is a uniformly random legal action
        observations, reward, terminated, truncated, _ = envs.step(drawn.argmax(axis=1))
        rewards += reward[terminated | truncated].tolist()
    envs.close()
    return rewards


def report(where: str, opponents: str, rewards: Sequence[float], seconds: float) -> None:
    """Print the mean reward with its standard error."""
    error = np.std(rewards) / math.sqrt(len(rewards))
    print(
        f"{where:12}  against {opponents:6}  {np.mean(rewards):+6.2f} ± {error:.2f} in {len(rewards):5} deals, {seconds:.1f} s"
    )


def main() -> None:
    """Play at one table and at many, and print the results."""
    for where, play in (("one table", one_table), (f"{TABLES} tables", many_tables)):
        for opponents in OPPONENTS:
            started = time.perf_counter()
            rewards = play(opponents, np.random.default_rng(0))
            report(where, opponents, rewards, time.perf_counter() - started)


if __name__ == "__main__":
    main()
