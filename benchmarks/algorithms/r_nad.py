"""Regularised Nash dynamics: a policy gradient on rewards less a penalty for leaving a policy that is replaced now and then.

Perolat et al., Mastering the game of Stratego with model-free multiagent reinforcement learning, Science 378, 2022, arXiv
2206.15378. There the opponent receives what a seat pays, which keeps the game zero-sum. Here nobody does: the theory covers two
players, and the payments of several others would add noise to a seat's returns. The penalty is the mean over the actions, a KL.
A policy gradient with a KL to the last policy replaces NeuRD, which learnt less from sampled actions.
"""

from __future__ import annotations

import copy
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
ETA, PERIOD, STEP = 0.03, 5, 0.5
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
    """Learn by self-play: a deal at each table, then one epoch on its decisions. The learning rate falls to 0."""
    torch.set_num_threads(1)
    torch.manual_seed(task.seed)
    play, chance, iteration = SelfPlay(task, TABLES), np.random.default_rng(task.seed), 0
    agent = Agent(play.layout)
    regular = copy.deepcopy(agent)
    optimizer = torch.optim.Adam(agent.parameters(), lr=LEARNING_RATE)
    while (share := task.log(play.decisions, lambda: NetworkPlayer(agent, task.game, draws=True))) < 1:
        optimizer.param_groups[0]["lr"] = LEARNING_RATE * (1 - share)
        if iteration % PERIOD == 0:
            regular.load_state_dict(agent.state_dict())
        iteration += 1
        policies, values = list[Tensor](), list[Tensor]()

        def choose(seen: Seen, policies: list[Tensor] = policies, values: list[Tensor] = values) -> np.ndarray:
            with torch.no_grad():
                log_policy, value = agent.policy_and_value(seen.features, seen.legal)
            policies.append(log_policy)
            values.append(value)
            return drawn(log_policy, seen.legal, chance.random(len(value)))

        decisions = play.deals(choose)
        features = decisions.features * play.scale
        with torch.no_grad():
            towards = masked(regular(features), decisions.legal).log_softmax(dim=1)
        update(agent, optimizer, decisions, features, torch.cat(policies), towards, torch.cat(values))
    save_network(task, agent)


def update(
    agent: Agent,
    optimizer: torch.optim.Optimizer,
    decisions: Decisions,
    features: Tensor,
    last: Tensor,
    towards: Tensor,
    value: Tensor,
) -> None:
    """Learn once from the decisions; `last` and `towards` are log-probabilities of the last and the regularising policy."""
    reward = decisions.reward * REWARD_SCALE
    eta = ETA * reward.std(correction=0)
    advantage = advantages(value, decisions, reward, GAE_LAMBDA, bonus=-eta * (last.exp() * (last - towards)).sum(dim=1))
    deviation = advantage.std(correction=0) + 1e-8
    returns, gain, magnet = advantage + value, advantage / deviation, eta / deviation
    for rows in torch.randperm(len(decisions)).split(MINIBATCH):
        log_policy, new_value = agent.policy_and_value(features[rows], decisions.legal[rows])
        probs, change = log_policy.exp(), log_policy - last[rows]
        ratio = change.gather(1, decisions.action[rows, None])[:, 0].exp()
        penalty = (probs * (log_policy - towards[rows])).sum(dim=1)
        from_last = (probs * change).sum(dim=1)
        policy_loss = (-ratio * gain[rows] + magnet * penalty + from_last / STEP).mean()
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
