"""Masked PPO with a recurrent policy on one seat, with random players at the others: `python examples/recurrent_ppo.py`.

Needs torch (`pip install '.[train]'`) and takes about a minute on one core. An observation contains all information of its seat
in the deal, so good play needs no memory. The example shows how to train with one:

* Each table has a hidden state of the network. It is reset to zeros at the first decision of a deal, in rollouts and in
  training.
* Minibatches consist of whole sequences of tables. A sequence starts with the hidden state from the start of the rollout.
* The distribution over actions is masked: in sampling, in the loss and in the entropy.
* The only reward comes at the end of a deal, so the discount is 1. It is own points less the mean of the other seats: 0 is as
  good as the opponents.
"""

from __future__ import annotations

import math
import time

import numpy as np
import torch
from torch import Tensor, nn
from torch.distributions import Categorical

from noms_env import NUM_ACTIONS, SeatVectorEnv, feature_layout

GAME = "down_up"
TABLES, STEPS = 256, 16
"""Size of a rollout: tables, and steps at each."""
DECISIONS, DEALS = 80_000, 1000
"""Number of training decisions, and of evaluation deals."""
WIDTH, EPOCHS, MINIBATCHES = 128, 4, 4
REWARD_SCALE, GAE_LAMBDA, CLIP = 0.1, 0.95, 0.2
TRAINING_SEED, EVALUATION_SEED = 1, 1_000_000


def make_tables(tables: int) -> SeatVectorEnv:
    """Return tables at which the learner moves one seat on with each deal; `skip_forced` takes its forced moves for it."""
    return SeatVectorEnv(tables, GAME, seat="rotate", reward="relative", skip_forced=True, autoreset_mode="SameStep")


class Agent(nn.Module):
    """Policy and value on one recurrent layer."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(feature_layout(GAME, episode="deal").n_features, WIDTH), nn.ReLU())
        self.memory = nn.GRUCell(WIDTH, WIDTH)
        self.policy, self.value = nn.Linear(2 * WIDTH, NUM_ACTIONS), nn.Linear(2 * WIDTH, 1)
        nn.init.orthogonal_(self.policy.weight, 0.01)

    def forward(self, features: Tensor, legal: Tensor, starts: Tensor, state: Tensor) -> tuple[Categorical, Tensor, Tensor]:
        """Return policy and value for a sequence of steps at some tables.

        Args:
            features: float32, shape (steps, tables, n_features).
            legal: bool, shape (steps, tables, NUM_ACTIONS).
            starts: whether the step is the first of a deal, bool, shape (steps, tables).
            state: hidden state before the first step, float32, shape (tables, WIDTH).

        Returns:
            The distribution over actions; values, shape (steps, tables); the hidden state after the last step.
        """
        embedded, states = self.embed(features), []
        for step, is_first in zip(embedded, starts, strict=True):
            state = self.memory(step, state * ~is_first[:, None])
            states.append(state)
        hidden = torch.cat([embedded, torch.stack(states)], dim=2)
        logits = self.policy(hidden).masked_fill(~legal, torch.finfo(torch.float32).min)
        return Categorical(logits=logits, validate_args=False), self.value(hidden).squeeze(2), state


Inputs = tuple[Tensor, Tensor, Tensor, Tensor]
"""The arguments of `Agent` before a step: features, legal actions, starts and state, with a leading dimension of one step."""


def make_inputs(observations: dict[str, np.ndarray], starts: np.ndarray, state: Tensor) -> Inputs:
    """Return the arguments of `Agent` for the next step."""
    features, legal = torch.from_numpy(observations["observation"]), torch.from_numpy(observations["action_mask"]) != 0
    return features[None], legal[None], torch.from_numpy(starts)[None], state


def reset_tables(tables: SeatVectorEnv, seed: int) -> Inputs:
    """Reset the tables, and return the arguments of `Agent` for the first step."""
    observations, _ = tables.reset(seed=seed)
    assert isinstance(observations, dict)
    return make_inputs(observations, np.ones(tables.num_envs, np.bool_), torch.zeros(tables.num_envs, WIDTH))


@torch.no_grad()
def take_step(agent: Agent, tables: SeatVectorEnv, inputs: Inputs) -> tuple[Inputs, dict[str, Tensor]]:
    """Take a decision at each table; return the arguments of `Agent` for the next step, and this step's training data."""
    policy, value, state = agent(*inputs)
    action = policy.sample()
    observations, reward, terminated, truncated, _ = tables.step(action[0].numpy())
    assert isinstance(observations, dict)
    over = terminated | truncated
    step = dict(zip(("features", "legal", "starts"), inputs, strict=False))
    step |= {"action": action, "value": value, "logprob": policy.log_prob(action), "over": torch.from_numpy(over)[None]}
    step["reward"] = torch.from_numpy(reward * REWARD_SCALE).float()[None]
    return make_inputs(observations, over, state), step


def advantages(batch: dict[str, Tensor], next_value: Tensor) -> Tensor:
    """Return generalized advantage estimates (Schulman et al., arXiv 1506.02438), float32, shape (steps, tables).

    No value is carried over the end of a deal. `next_value` is the value after the last step, shape (tables,).
    """
    estimates, advantage = torch.zeros_like(batch["reward"]), torch.zeros_like(next_value)
    for step in reversed(range(len(estimates))):
        continues = ~batch["over"][step]
        error = batch["reward"][step] + next_value * continues - batch["value"][step]
        advantage = estimates[step] = error + GAE_LAMBDA * advantage * continues
        next_value = batch["value"][step]
    return estimates


def update(agent: Agent, optimizer: torch.optim.Optimizer, batch: dict[str, Tensor], state: Tensor, next_value: Tensor) -> None:
    """Update the agent from a rollout: arrays of shape (steps, tables, ...), and the hidden states before its first step."""
    advantage = advantages(batch, next_value)
    returns = advantage + batch["value"]
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(state)).chunk(MINIBATCHES):
            policy, value, _ = agent(*(batch[name][:, rows] for name in ("features", "legal", "starts")), state[rows])
            gain = advantage[:, rows]
            gain = (gain - gain.mean()) / (gain.std() + 1e-8)
            ratio = (policy.log_prob(batch["action"][:, rows]) - batch["logprob"][:, rows]).exp()
            policy_loss = -torch.min(ratio * gain, ratio.clamp(1 - CLIP, 1 + CLIP) * gain).mean()
            value_loss = (value - returns[:, rows]).square().mean()
            optimizer.zero_grad()
            (policy_loss + 0.5 * value_loss - 0.01 * policy.entropy().mean()).backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()


def train(agent: Agent, decisions: int, tables: int = TABLES, seed: int = TRAINING_SEED) -> None:
    """Train on at least `decisions` decisions."""
    envs = make_tables(tables)
    inputs, batches = reset_tables(envs, seed), math.ceil(decisions / (tables * STEPS))
    optimizer = torch.optim.Adam(agent.parameters(), 1e-3)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, batches)
    for _ in range(batches):
        initial_state, steps = inputs[-1], []
        for _ in range(STEPS):
            inputs, step = take_step(agent, envs, inputs)
            steps.append(step)
        with torch.no_grad():
            next_value = agent(*inputs)[1][0]
        batch = {name: torch.cat([step[name] for step in steps]) for name in steps[0]}
        update(agent, optimizer, batch, initial_state, next_value)
        scheduler.step()


def evaluate(agent: Agent, deals: int) -> tuple[float, float]:
    """Return the mean points of the first deals at some tables, less the others', and half the width of the 95 % interval."""
    tables = make_tables(deals)
    inputs, rewards = reset_tables(tables, EVALUATION_SEED), np.full(deals, np.nan)
    while np.isnan(rewards).any():
        inputs, step = take_step(agent, tables, inputs)
        first = step["over"][0].numpy() & np.isnan(rewards)
        rewards[first] = step["reward"][0].numpy()[first] / REWARD_SCALE
    return float(rewards.mean()), 1.96 * float(rewards.std()) / math.sqrt(deals)


def main(decisions: int = DECISIONS, deals: int = DEALS) -> None:
    """Train, and print the agent's points before and after."""
    torch.set_num_threads(1)  # the network is too small to gain from more threads
    torch.manual_seed(0)
    agent = Agent()
    print(f"{GAME}, points per deal against random players, 95 % interval over {deals} deals")
    print("before  {:+.2f} ± {:.2f}".format(*evaluate(agent, deals)), flush=True)
    started = time.perf_counter()
    train(agent, decisions)
    seconds = time.perf_counter() - started
    mean, margin = evaluate(agent, deals)
    print(f"after   {mean:+.2f} ± {margin:.2f}, {decisions:,} decisions in {seconds:.0f} s")
    print("It beats random players." if mean > margin else "It does not beat random players: learn for longer.")


if __name__ == "__main__":
    main()
