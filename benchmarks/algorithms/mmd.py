"""Magnetic mirror descent: a policy gradient kept near the last policy and near the uniform one, both by a KL; no clipping.

Sokota et al., A Unified Approach to Reinforcement Learning, Quantal Response Equilibria, and Two-Player Zero-Sum Games, ICLR
2023, arXiv 2206.05825. The magnet is the uniform policy; its weight and the step fall with the square root of time.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from noms_env import FeatureLayout
from noms_training.benchmark.learning import (
    Decisions,
    NetworkPlayer,
    Seen,
    SelfPlay,
    advantages,
    drawn,
    masked,
    network_of,
    save_network,
)
from noms_training.benchmark.task import Task

PLAYS = "sampled"
TABLES, MINIBATCH, LEARNING_RATE = 256, 256, 1e-3
MAGNET, MAGNET_LAST = 0.05, 0.01
STEP, STEP_LAST = 0.5, 0.1
GAE_LAMBDA, VALUE, MAX_NORM, REWARD_SCALE = 0.95, 0.5, 0.5, 0.1


class Agent(nn.Module):
    """Policy and value on one body; as a module it returns the logits of the actions."""

    def __init__(self, layout: FeatureLayout) -> None:
        super().__init__()
        *body, self.actor = network_of(layout, gain=0.01)
        self.body, self.critic = nn.Sequential(*body), network_of(layout, outputs=1)[-1]

    def forward(self, features: Tensor) -> Tensor:
        """Logits, shape (n, NUM_ACTIONS)."""
        return self.actor(self.body(features))

    def policy_and_value(self, features: Tensor, legal: Tensor) -> tuple[Tensor, Tensor]:
        """Log-probabilities, shape (n, NUM_ACTIONS), and values, shape (n,)."""
        hidden = self.body(features)
        return masked(self.actor(hidden), legal).log_softmax(dim=1), self.critic(hidden)[:, 0]


def train(task: Task) -> None:
    """Learn by self-play: a deal at each table, then a step of mirror descent on its decisions."""
    torch.set_num_threads(1)
    torch.manual_seed(task.seed)
    play, chance = SelfPlay(task, TABLES), np.random.default_rng(task.seed)
    agent = Agent(play.layout)
    optimizer = torch.optim.Adam(agent.parameters(), lr=LEARNING_RATE)
    while (share := task.log(play.decisions, lambda: NetworkPlayer(agent, task.game, draws=True))) < 1:
        optimizer.param_groups[0]["lr"] = LEARNING_RATE * (1 - share)
        magnet, step = (decayed(first, last, share) for first, last in ((MAGNET, MAGNET_LAST), (STEP, STEP_LAST)))
        policies, values = list[Tensor](), list[Tensor]()

        def choose(seen: Seen, policies: list[Tensor] = policies, values: list[Tensor] = values) -> np.ndarray:
            with torch.no_grad():
                log_policy, value = agent.policy_and_value(seen.features, seen.legal)
            policies.append(log_policy)
            values.append(value)
            return drawn(log_policy, seen.legal, chance.random(len(value)))

        decisions = play.deals(choose)
        features, last = decisions.features * play.scale, torch.cat(policies)
        update(agent, optimizer, decisions, features, last, torch.cat(values), magnet, step)
    save_network(task, agent)


def decayed(first: float, last: float, share: float) -> float:
    """From the first value towards the last, as 1 / sqrt(1 + k share)."""
    return first / math.sqrt(1 + ((first / last) ** 2 - 1) * share)


def update(
    agent: Agent,
    optimizer: torch.optim.Optimizer,
    decisions: Decisions,
    features: Tensor,
    last: Tensor,
    value: Tensor,
    magnet: float,
    step: float,
) -> None:
    """Minimise -E[Q] + magnet * KL(policy, uniform) + KL(policy, last policy) / step, with sampled advantages for Q."""
    advantage = advantages(value, decisions, decisions.reward * REWARD_SCALE, GAE_LAMBDA)
    returns, gain = advantage + value, advantage / (advantage.std(correction=0) + 1e-8)
    for rows in torch.randperm(len(decisions)).split(MINIBATCH):
        log_policy, new_value = agent.policy_and_value(features[rows], decisions.legal[rows])
        probs, change = log_policy.exp(), log_policy - last[rows]
        ratio = change.gather(1, decisions.action[rows, None])[:, 0].exp()
        negative_entropy = (probs * log_policy).sum(dim=1)  # the KL to the uniform policy, but for a constant
        from_last = (probs * change).sum(dim=1)
        policy_loss = (-ratio * gain[rows] + magnet * negative_entropy + from_last / step).mean()
        value_loss = 0.5 * (new_value - returns[rows]).square().mean()
        optimizer.zero_grad()
        (policy_loss + VALUE * value_loss).backward()
        nn.utils.clip_grad_norm_(agent.parameters(), MAX_NORM)
        optimizer.step()


def player(folder: Path) -> NetworkPlayer:
    """The trained policy, which draws its actions."""
    return NetworkPlayer.load(folder, Agent, draws=True)


def other_player(folder: Path) -> NetworkPlayer:
    """The same policy, which takes its most probable action."""
    return NetworkPlayer.load(folder, Agent)
