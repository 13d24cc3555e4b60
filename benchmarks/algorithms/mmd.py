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
TABLES, EPOCHS, MINIBATCH, LEARNING_RATE = 512, 3, 1024, 1e-3
MAGNET, MAGNET_LAST = 0.05, 0.01
STEP, STEP_LAST = 0.5, 0.1
GAE_LAMBDA, VALUE, MAX_NORM, REWARD_SCALE = 0.95, 0.5, 0.5, 0.1


def train(task: Task) -> None:
    """Learn by self-play: a deal at each table, then a step of mirror descent on its decisions."""
    torch.set_num_threads(1)
    torch.manual_seed(task.seed)
    play, chance = SelfPlay(task, TABLES), np.random.default_rng(task.seed)
    actor, critic = network_of(play.layout, gain=0.01), network_of(play.layout, outputs=1)
    optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=LEARNING_RATE)

    def choose(seen: Seen) -> np.ndarray:
        with torch.no_grad():
            return drawn(actor(seen.features), seen.legal, chance.random(len(seen.table)))

    while (share := task.log(play.decisions, lambda: NetworkPlayer(actor, task.game, draws=True))) < 1:
        optimizer.param_groups[0]["lr"] = LEARNING_RATE * (1 - share)
        magnet, step = (fallen(first, last, share) for first, last in ((MAGNET, MAGNET_LAST), (STEP, STEP_LAST)))
        update(actor, critic, optimizer, play.deals(choose), play.scale, magnet, step)
    save_network(task, actor)


def fallen(first: float, last: float, share: float) -> float:
    """From the first value towards the last, as 1 / sqrt(1 + k share)."""
    return first / math.sqrt(1 + ((first / last) ** 2 - 1) * share)


def update(
    actor: nn.Module,
    critic: nn.Module,
    optimizer: torch.optim.Optimizer,
    decisions: Decisions,
    scale: Tensor,
    magnet: float,
    step: float,
) -> None:
    """Minimise -E[Q] + magnet * KL(policy, uniform) + KL(policy, last policy) / step, with sampled advantages for Q."""
    features = decisions.features * scale
    with torch.no_grad():
        value = critic(features)[:, 0]
        last = masked(actor(features), decisions.legal).log_softmax(dim=1)
    advantage = advantages(value, decisions, decisions.reward * REWARD_SCALE, GAE_LAMBDA)
    returns, gain = advantage + value, advantage / (advantage.std(correction=0) + 1e-8)
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(decisions)).split(MINIBATCH):
            log_policy = masked(actor(features[rows]), decisions.legal[rows]).log_softmax(dim=1)
            probs = log_policy.exp()
            taken = (log_policy - last[rows]).gather(1, decisions.action[rows, None])[:, 0]
            negative_entropy = (probs * log_policy).sum(dim=1)  # the KL to the uniform policy, but for a constant
            from_last = (probs * (log_policy - last[rows])).sum(dim=1)
            actor_loss = (-taken.exp() * gain[rows] + magnet * negative_entropy + from_last / step).mean()
            critic_loss = 0.5 * (critic(features[rows])[:, 0] - returns[rows]).square().mean()
            optimizer.zero_grad()
            (actor_loss + VALUE * critic_loss).backward()
            nn.utils.clip_grad_norm_([*actor.parameters(), *critic.parameters()], MAX_NORM)
            optimizer.step()


def player(folder: Path) -> NetworkPlayer:
    """The trained policy, which draws its actions."""
    return NetworkPlayer.load(folder, network_of, draws=True)


def other_player(folder: Path) -> NetworkPlayer:
    """The same policy, which takes its most probable action."""
    return NetworkPlayer.load(folder, network_of)
