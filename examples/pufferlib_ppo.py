"""Masked PPO in PufferLib's emulation, on one seat with random players at the others: `python examples/pufferlib_ppo.py`.

Needs `pip install '.[pufferlib]'` and takes about a minute on one core. PufferLib's emulation wraps `SeatEnv` like any other
Gymnasium environment. Notes:

* The extra installs `pufferlib-core`: emulation and vectorization without the trainer, which needs an old NumPy or a GPU. The
  learner here is a short PPO loop.
* `backend=pufferlib.vector.Multiprocessing, num_workers=2` uses two processes. Their seeds differ by only 1, so some tables
  have the same deals.
* Emulation packs observation and mask into one row of bytes; `emulated_observation_dtype` is its layout.
* The step after the end of a deal starts the next deal and ignores the action, so training skips it.
* The only reward comes at the end of a deal, so the discount is 1. It is own points less the mean of the other seats: 0 is as
  good as the opponents.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pufferlib.emulation
import pufferlib.vector
import torch
from torch import Tensor, nn
from torch.distributions import Categorical

from noms_env import NUM_ACTIONS, SeatEnv, feature_layout
from noms_training.interop.one_seat import before_and_after, two_layers

GAME = "down_up"
TABLE_ARGUMENTS: dict[str, Any] = {"observation": "features", "seat": "rotate", "reward": "relative", "skip_forced": True}
"""Arguments of the tables. The learner moves one seat on with each deal; `skip_forced` takes its forced moves for it."""
TABLES, STEPS = 128, 32
"""Size of a rollout: tables, and steps at each."""
DECISIONS, DEALS = 150_000, 500
"""Number of training decisions, and of evaluation deals."""
REWARD_SCALE = 0.1


def make_seat(buf: Any = None, seed: int = 0) -> pufferlib.emulation.GymnasiumPufferEnv:
    """Return a seat in PufferLib's wrapper; `buf` is its part of the vector environment's arrays."""
    return pufferlib.emulation.GymnasiumPufferEnv(env_creator=partial(SeatEnv, GAME, **TABLE_ARGUMENTS), buf=buf, seed=seed)


def make_tables(tables: int) -> pufferlib.vector.Serial:
    """Return the training tables; `reset(seed)` gives table i the seed `seed + i`."""
    return pufferlib.vector.make(make_seat, num_envs=tables, backend=pufferlib.vector.Serial)


def unpack(rows: np.ndarray, form: np.dtype[Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return observations and masks as views of PufferLib's rows, shape (n, bytes of a row), in the layout `form`."""
    fields = rows.view(np.uint8).view(form)[:, 0]
    return fields["observation"], fields["action_mask"]


class Agent(nn.Module):
    """Separate actor and critic networks."""

    def __init__(self) -> None:
        super().__init__()
        inputs = feature_layout(GAME, episode="deal").n_features
        self.actor, self.critic = two_layers(inputs, NUM_ACTIONS), two_layers(inputs, 1)

    def policy(self, observation: Tensor, mask: Tensor) -> Categorical:
        """Return the distribution over actions; illegal actions have probability 0."""
        logits = self.actor(observation)
        return Categorical(logits=logits.masked_fill(mask == 0, torch.finfo(logits.dtype).min))


def advantages(batch: dict[str, Tensor], last: Tensor) -> Tensor:
    """Return generalized advantage estimates (Schulman et al., arXiv 1506.02438); `last`: values after the last step."""
    estimates, advantage, next_value = torch.zeros_like(batch["value"]), torch.zeros_like(last), last
    for step in reversed(range(len(estimates))):
        future = (next_value + 0.95 * advantage) * ~batch["is_over"][step]
        advantage = estimates[step] = batch["reward"][step] + future - batch["value"][step]
        next_value = batch["value"][step]
    return estimates


def train(agent: Agent, envs: pufferlib.vector.Serial, decisions: int, seed: int) -> None:
    """Train on at least `decisions` steps."""
    form = envs.emulated["emulated_observation_dtype"]
    optimizer = torch.optim.Adam(agent.parameters(), 1e-3, eps=1e-5)
    rows, _ = envs.reset(seed)
    is_over = torch.zeros(len(rows), dtype=torch.bool)
    iterations = -(-decisions // (STEPS * len(rows)))
    for iteration in range(iterations):
        optimizer.param_groups[0]["lr"] = 1e-3 * (1 - iteration / iterations)
        steps = []
        with torch.no_grad():
            for _ in range(STEPS):
                observation, mask = map(torch.from_numpy, unpack(rows.copy(), form))
                policy = agent.policy(observation, mask)
                action = policy.sample()
                step = {"observation": observation, "mask": mask, "action": action, "logprob": policy.log_prob(action)}
                step |= {"value": agent.critic(observation)[:, 0], "is_decision": ~is_over}
                rows, rewards, terminals, truncations, _ = envs.step(action.numpy().astype(np.int32))
                is_over = torch.from_numpy(terminals | truncations)
                steps.append(step | {"reward": torch.from_numpy(rewards) * REWARD_SCALE, "is_over": is_over})
            last = agent.critic(torch.from_numpy(unpack(rows, form)[0]))[:, 0]
        update(agent, optimizer, {name: torch.stack([step[name] for step in steps]) for name in steps[0]}, last)


def update(agent: Agent, optimizer: torch.optim.Optimizer, batch: dict[str, Tensor], last: Tensor) -> None:
    """Update the agent from a rollout, arrays of shape (steps, tables, ...), in four epochs."""
    batch["advantage"] = advantages(batch, last)
    batch["return"] = batch["advantage"] + batch["value"]
    decisions = {name: array[batch["is_decision"]] for name, array in batch.items()}
    for _ in range(4):
        for rows in torch.randperm(len(decisions["action"])).split(512):
            now = {name: array[rows] for name, array in decisions.items()}
            policy = agent.policy(now["observation"], now["mask"])
            ratio, gain = (policy.log_prob(now["action"]) - now["logprob"]).exp(), now["advantage"]
            gain = (gain - gain.mean()) / (gain.std(correction=0) + 1e-8)
            loss = -torch.min(ratio * gain, ratio.clamp(0.8, 1.2) * gain).mean()
            loss += 0.5 * (agent.critic(now["observation"])[:, 0] - now["return"]).square().mean()
            loss -= 0.01 * policy.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()


def main(tables: int = TABLES, decisions: int = DECISIONS, deals: int = DEALS, seed: int = 1) -> None:
    """Train, and print the learner's points before and after."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    agent = Agent()
    envs = make_tables(tables)

    @torch.no_grad()
    def choose(observation: np.ndarray, mask: np.ndarray) -> np.ndarray:
        return agent.policy(torch.from_numpy(observation), torch.from_numpy(mask)).sample().numpy()

    before_and_after(choose, lambda: train(agent, envs, decisions, seed), GAME, decisions=decisions, deals=deals)


if __name__ == "__main__":
    main()
