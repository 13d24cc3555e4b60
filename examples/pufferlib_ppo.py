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


class Rollout:
    """The steps between two updates: arrays of shape (steps, tables), float32 unless stated."""

    def __init__(self, tables: int, row: np.ndarray) -> None:
        """Allocate the arrays; `row` is a sample of PufferLib's rows."""
        self.rows = np.zeros((STEPS, tables, *row.shape), row.dtype)
        self.actions = torch.zeros((STEPS, tables), dtype=torch.int64)
        self.logprobs, self.values, self.rewards, self.ends = torch.zeros((4, STEPS, tables))
        self.counts = torch.zeros((STEPS, tables), dtype=torch.bool)
        """Bool: the steps that are decisions, not starts of deals."""

    def advantages(self, last: Tensor) -> Tensor:
        """Return generalized advantage estimates (Schulman et al., arXiv 1506.02438); `last`: values after the last step."""
        estimates, advantage, next_value = torch.zeros_like(self.values), torch.zeros_like(last), last
        for step in reversed(range(STEPS)):
            continues = 1 - self.ends[step]
            advantage = self.rewards[step] + continues * (next_value + 0.95 * advantage) - self.values[step]
            estimates[step], next_value = advantage, self.values[step]
        return estimates


def train(agent: Agent, envs: pufferlib.vector.Serial, decisions: int, seed: int) -> None:
    """Train on at least `decisions` steps."""
    form = envs.emulated["emulated_observation_dtype"]
    optimizer = torch.optim.Adam(agent.parameters(), 1e-3, eps=1e-5)
    rows, _ = envs.reset(seed)
    rollout = Rollout(len(rows), rows[0])
    is_over = torch.zeros(len(rows), dtype=torch.bool)
    iterations = -(-decisions // (STEPS * len(rows)))
    for iteration in range(iterations):
        optimizer.param_groups[0]["lr"] = 1e-3 * (1 - iteration / iterations)
        with torch.no_grad():
            for step in range(STEPS):
                observation, mask = map(torch.from_numpy, unpack(rows, form))
                policy = agent.policy(observation, mask)
                action = policy.sample()
                rollout.rows[step], rollout.actions[step], rollout.counts[step] = rows, action, ~is_over
                rollout.logprobs[step], rollout.values[step] = policy.log_prob(action), agent.critic(observation)[:, 0]
                rows, rewards, terminals, truncations, _ = envs.step(action.numpy().astype(np.int32))
                rollout.rewards[step] = torch.from_numpy(rewards) * REWARD_SCALE
                is_over = torch.from_numpy(terminals | truncations)
                rollout.ends[step] = is_over.float()
            last = agent.critic(torch.from_numpy(unpack(rows, form)[0]))[:, 0]
        update(agent, optimizer, rollout, rollout.advantages(last), form)


def update(agent: Agent, optimizer: torch.optim.Optimizer, rollout: Rollout, advantages: Tensor, form: np.dtype[Any]) -> None:
    """Update the agent from a rollout, in four epochs."""
    is_decision = rollout.counts.flatten()
    rows = rollout.rows.reshape(len(is_decision), -1)
    observation, mask = (torch.from_numpy(array)[is_decision] for array in unpack(rows, form))
    action, logprob, value, advantage = (
        array.flatten()[is_decision] for array in (rollout.actions, rollout.logprobs, rollout.values, advantages)
    )
    returns = advantage + value
    for _ in range(4):
        for batch in torch.randperm(len(action)).split(512):
            policy = agent.policy(observation[batch], mask[batch])
            ratio, gain = (policy.log_prob(action[batch]) - logprob[batch]).exp(), advantage[batch]
            gain = (gain - gain.mean()) / (gain.std(correction=0) + 1e-8)
            loss = -torch.min(ratio * gain, ratio.clamp(0.8, 1.2) * gain).mean()
            loss += 0.5 * (agent.critic(observation[batch])[:, 0] - returns[batch]).square().mean()
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
