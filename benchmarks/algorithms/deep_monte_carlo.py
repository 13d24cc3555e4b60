"""Deep Monte Carlo: a network predicts what the deal pays for each action, and learns from what it paid; epsilon-greedy.

Zha et al., DouZero: Mastering DouDizhu with Self-Play Deep Reinforcement Learning, ICML 2021, arXiv 2106.06135.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import nn

from noms_training.benchmark.learning import NetworkPlayer, Seen, SelfPlay, masked, network_of, save_network
from noms_training.benchmark.task import Task

TABLES, MINIBATCH, LEARNING_RATE = 512, 1024, 1e-3
EXPLORE, EXPLORE_LAST = 0.2, 0.02
REWARD_SCALE = 0.1


def train(task: Task) -> None:
    """Play a deal at each table with a little exploration, and learn once from each decision."""
    torch.set_num_threads(1)
    torch.manual_seed(task.seed)
    play = SelfPlay(task, TABLES)
    values = network_of(play.layout, gain=0.01)
    optimizer = torch.optim.Adam(values.parameters(), lr=LEARNING_RATE)
    share = 0.0

    def choose(seen: Seen) -> np.ndarray:
        with torch.no_grad():
            best = masked(values(seen.features), seen.legal).argmax(dim=1)
        random_action = torch.multinomial(seen.legal.float(), 1)[:, 0]
        explores = torch.rand(len(best)) < EXPLORE + (EXPLORE_LAST - EXPLORE) * share
        return np.asarray(torch.where(explores, random_action, best).numpy())

    while (share := task.log(play.decisions, lambda: NetworkPlayer(values, task.game))) < 1:
        optimizer.param_groups[0]["lr"] = LEARNING_RATE * (1 - 0.9 * share)
        decisions = play.deals(choose)
        for rows in torch.randperm(len(decisions)).split(MINIBATCH):
            predicted = values(decisions.features[rows] * play.scale).gather(1, decisions.action[rows, None])[:, 0]
            loss = nn.functional.mse_loss(predicted, decisions.reward[rows] * REWARD_SCALE)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(values.parameters(), 1.0)
            optimizer.step()
    save_network(task, values)


def player(folder: Path) -> NetworkPlayer:
    """The trained player, which takes the action of the highest value."""
    return NetworkPlayer.load(folder, network_of)
