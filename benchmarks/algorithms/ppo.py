"""PPO with parameters shared by all seats, in the style of CleanRL: clipped objective, GAE, entropy bonus, shared body.

Schulman et al., Proximal Policy Optimization Algorithms, arXiv 1707.06347; Huang et al., CleanRL, JMLR 23 (274), 2022.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.distributions import Categorical

from noms_env import FeatureLayout
from noms_training.benchmark.learning import (
    Decisions,
    NetworkPlayer,
    Seen,
    SelfPlay,
    advantages,
    masked,
    network_of,
    save_network,
)
from noms_training.benchmark.task import Task

TABLES, MINIBATCH = 256, 256
LEARNING_RATE, GAE_LAMBDA, CLIP, ENTROPY, VALUE, MAX_NORM = 1e-3, 0.95, 0.2, 0.01, 0.5, 0.5
REWARD_SCALE = 0.1


class Agent(nn.Module):
    """Policy and value on one body; as a module it returns the logits of the actions."""

    def __init__(self, layout: FeatureLayout) -> None:
        super().__init__()
        *body, self.actor = network_of(layout, gain=0.01)
        self.body, self.critic = nn.Sequential(*body), network_of(layout, outputs=1)[-1]

    def forward(self, features: Tensor) -> Tensor:
        """Logits, shape (n, NUM_ACTIONS)."""
        return self.actor(self.body(features))

    def policy_and_value(self, features: Tensor, legal: Tensor) -> tuple[Categorical, Tensor]:
        """The distribution over the legal actions, and the values, shape (n,)."""
        hidden = self.body(features)
        return Categorical(logits=masked(self.actor(hidden), legal), validate_args=False), self.critic(hidden)[:, 0]


def train(task: Task) -> None:
    """Learn by self-play: a deal at each table, then one epoch on its decisions. The learning rate falls to 0."""
    torch.set_num_threads(1)
    torch.manual_seed(task.seed)
    play = SelfPlay(task, TABLES)
    agent = Agent(play.layout)
    optimizer = torch.optim.Adam(agent.parameters(), lr=LEARNING_RATE, eps=1e-5)
    while (share := task.log(play.decisions, lambda: NetworkPlayer(agent, task.game))) < 1:
        optimizer.param_groups[0]["lr"] = LEARNING_RATE * (1 - share)
        values, logprobs = list[Tensor](), list[Tensor]()

        def choose(seen: Seen, values: list[Tensor] = values, logprobs: list[Tensor] = logprobs) -> np.ndarray:
            with torch.no_grad():
                policy, value = agent.policy_and_value(seen.features, seen.legal)
                action = policy.sample()
            values.append(value)
            logprobs.append(policy.log_prob(action))
            return np.asarray(action.numpy())

        decisions = play.deals(choose)
        update(agent, optimizer, decisions, decisions.features * play.scale, torch.cat(values), torch.cat(logprobs))
    save_network(task, agent)


def update(
    agent: Agent, optimizer: torch.optim.Optimizer, decisions: Decisions, features: Tensor, value: Tensor, logprob: Tensor
) -> None:
    """Learn once from the decisions of an iteration; `value` and `logprob` were computed during play."""
    advantage = advantages(value, decisions, decisions.reward * REWARD_SCALE, GAE_LAMBDA)
    returns = advantage + value
    for rows in torch.randperm(len(decisions)).split(MINIBATCH):
        policy, new_value = agent.policy_and_value(features[rows], decisions.legal[rows])
        ratio = (policy.log_prob(decisions.action[rows]) - logprob[rows]).exp()
        gain = advantage[rows]
        gain = (gain - gain.mean()) / (gain.std(correction=0) + 1e-8)
        policy_loss = -torch.min(ratio * gain, ratio.clamp(1 - CLIP, 1 + CLIP) * gain).mean()
        value_loss = 0.5 * (new_value - returns[rows]).square().mean()
        loss = policy_loss - ENTROPY * policy.entropy().mean() + VALUE * value_loss
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(agent.parameters(), MAX_NORM)
        optimizer.step()


def player(folder: Path) -> NetworkPlayer:
    """The trained policy, which takes its most probable action."""
    return NetworkPlayer.load(folder, Agent)


def other_player(folder: Path) -> NetworkPlayer:
    """The same policy, which draws its actions."""
    return NetworkPlayer.load(folder, Agent, draws=True)
