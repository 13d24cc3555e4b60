"""PPO with parameters shared by all seats, in the way of CleanRL: clipped objective, GAE, entropy bonus, separate critic.

Schulman et al., Proximal Policy Optimization Algorithms, arXiv 1707.06347; Huang et al., CleanRL, JMLR 23 (274), 2022.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.distributions import Categorical

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

TABLES, EPOCHS, MINIBATCH = 512, 3, 1024
LEARNING_RATE, GAE_LAMBDA, CLIP, ENTROPY, VALUE, MAX_NORM = 1e-3, 0.95, 0.2, 0.01, 0.5, 0.5
REWARD_SCALE = 0.1


def train(task: Task) -> None:
    """Learn by self-play: a deal at each table, then some epochs on its decisions; the learning rate falls to 0."""
    torch.set_num_threads(1)
    torch.manual_seed(task.seed)
    play = SelfPlay(task, TABLES)
    actor, critic = network_of(play.layout, gain=0.01), network_of(play.layout, outputs=1)
    optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=LEARNING_RATE, eps=1e-5)

    def choose(seen: Seen) -> np.ndarray:
        with torch.no_grad():
            return np.asarray(policy(actor, seen.features, seen.legal).sample().numpy())

    while (share := task.log(play.decisions, lambda: NetworkPlayer(actor, task.game))) < 1:
        optimizer.param_groups[0]["lr"] = LEARNING_RATE * (1 - share)
        update(actor, critic, optimizer, play.deals(choose), play.scale)
    save_network(task, actor)


def policy(actor: nn.Module, features: Tensor, legal: Tensor) -> Categorical:
    """The distribution over actions; those that are not legal have probability 0."""
    return Categorical(logits=masked(actor(features), legal), validate_args=False)


def update(actor: nn.Module, critic: nn.Module, optimizer: torch.optim.Optimizer, decisions: Decisions, scale: Tensor) -> None:
    """Learn from the decisions of an iteration."""
    features = decisions.features * scale
    with torch.no_grad():
        value = critic(features)[:, 0]
        old_logprob = policy(actor, features, decisions.legal).log_prob(decisions.action)
    advantage = advantages(value, decisions, decisions.reward * REWARD_SCALE, GAE_LAMBDA)
    returns = advantage + value
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(decisions)).split(MINIBATCH):
            chosen = policy(actor, features[rows], decisions.legal[rows])
            ratio = (chosen.log_prob(decisions.action[rows]) - old_logprob[rows]).exp()
            gain = advantage[rows]
            gain = (gain - gain.mean()) / (gain.std(correction=0) + 1e-8)
            actor_loss = -torch.min(ratio * gain, ratio.clamp(1 - CLIP, 1 + CLIP) * gain).mean()
            critic_loss = 0.5 * (critic(features[rows])[:, 0] - returns[rows]).square().mean()
            loss = actor_loss - ENTROPY * chosen.entropy().mean() + VALUE * critic_loss
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_([*actor.parameters(), *critic.parameters()], MAX_NORM)
            optimizer.step()


def player(folder: Path) -> NetworkPlayer:
    """The trained policy, which takes its most probable action."""
    return NetworkPlayer.load(folder, network_of)


def other_player(folder: Path) -> NetworkPlayer:
    """The same policy, which draws its actions."""
    return NetworkPlayer.load(folder, network_of, draws=True)
