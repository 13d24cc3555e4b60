"""Behaviour cloning of `pimc:20`: a network imitates a search that plays against itself, with some random actions between.

Pomerleau, ALVINN, NIPS 1988; the random actions, which nobody imitates, lead to positions behind a mistake (Laskey et al.,
DART, CoRL 2017, arXiv 1703.09327). The search takes most of the time, so a budget in CPU-hours is what limits a run.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import nn

import noms_env
from noms_env.belief.determinize import sampled_tables
from noms_training.benchmark.learning import NetworkPlayer, Seen, SelfPlay, masked, network_of, save_network
from noms_training.benchmark.task import Task

DIVISION = "open"
EXPERT, TABLES, RANDOM = "pimc:20", 64, 0.05
MEMORY, MINIBATCH, EPOCHS, LEARNING_RATE = 500_000, 512, 2, 1e-3


def train(task: Task) -> None:
    """Let the expert play a deal at each table, and imitate what it did there and in former deals."""
    torch.set_num_threads(1)
    torch.manual_seed(task.seed)
    play, chance = SelfPlay(task, TABLES), np.random.default_rng(task.seed)
    suits, expert = noms_env.CanonicalSuits(play.layout), noms_env.load_player(EXPERT)
    network = network_of(play.layout, gain=0.01)
    optimizer = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE, weight_decay=1e-5)
    imitated, kept = list[np.ndarray](), list[tuple[torch.Tensor, ...]]()

    def choose(seen: Seen) -> np.ndarray:
        wanted = expert_actions(expert, suits, seen, chance)
        imitated.append(wanted)
        random_action = torch.multinomial(seen.legal.float(), 1)[:, 0].numpy()
        return np.where(chance.random(len(wanted)) < RANDOM, random_action, wanted)

    while (share := task.log(play.decisions, lambda: NetworkPlayer(network, task.game))) < 1:
        optimizer.param_groups[0]["lr"] = LEARNING_RATE * (1 - share)
        imitated.clear()
        decisions = play.deals(choose)
        kept.append((decisions.features, decisions.legal, torch.from_numpy(np.concatenate(imitated))))
        while sum(len(rows[0]) for rows in kept) > MEMORY:
            kept.pop(0)
        features, legal, action = (torch.cat(column) for column in zip(*kept, strict=True))
        for _ in range(EPOCHS * len(decisions) // MINIBATCH + 1):
            rows = torch.randint(len(action), (MINIBATCH,))
            logits = masked(network(features[rows] * play.scale), legal[rows])
            optimizer.zero_grad()
            nn.functional.cross_entropy(logits, action[rows]).backward()
            optimizer.step()
    save_network(task, network)


def expert_actions(
    expert: noms_env.players.Player, suits: noms_env.CanonicalSuits, seen: Seen, chance: np.random.Generator
) -> np.ndarray:
    """What the expert does, by the numbers of the suits in order."""
    tables = sampled_tables(seen.batch.tables, seen.table, chance)
    mask = seen.batch.mask[seen.table]
    actions = np.asarray(expert.act(np.empty((len(mask), noms_env.OBSERVATION_SIZE), np.uint8), mask, chance, tables=tables))
    return (suits.actions[seen.orders] == actions[:, None]).argmax(axis=1)


def player(folder: Path) -> NetworkPlayer:
    """The trained copy, which takes its most probable action."""
    return NetworkPlayer.load(folder, network_of)
