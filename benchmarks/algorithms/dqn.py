"""Double DQN with masks and a replay memory, in self-play: targets and choices look at legal actions only.

Mnih et al., Human-level control through deep reinforcement learning, Nature 518, 2015; van Hasselt et al., Deep
Reinforcement Learning with Double Q-learning, AAAI 2016, arXiv 1509.06461.
"""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from noms_training.benchmark.learning import Decisions, NetworkPlayer, Seen, SelfPlay, masked, network_of, save_network
from noms_training.benchmark.task import Task

TABLES, MINIBATCH, LEARNING_RATE = 256, 512, 5e-4
MEMORY, UPDATES_PER_DECISION, TARGET_RATE = 200_000, 1 / 256, 0.01
EXPLORE, EXPLORE_LAST, EXPLORE_UNTIL = 1.0, 0.05, 0.3
REWARD_SCALE = 0.1


class Memory:
    """The newest decisions, each with what its seat saw at its next one; older ones are written over."""

    def __init__(self, size: int) -> None:
        self.size, self.columns, self.written = size, dict[str, Tensor](), 0

    def add(self, decisions: Decisions) -> None:
        """Keep the decisions of some deals."""
        is_last = decisions.following < 0
        rows = {
            "features": decisions.features,
            "action": decisions.action,
            "reward": torch.where(is_last, decisions.reward * REWARD_SCALE, torch.zeros(())),
            "is_last": is_last,
            "next_features": decisions.features[decisions.following],
            "next_legal": decisions.legal[decisions.following],
        }
        places = torch.arange(self.written, self.written + len(decisions)) % self.size
        for name, column in rows.items():
            if name not in self.columns:
                self.columns[name] = torch.zeros((self.size, *column.shape[1:]), dtype=column.dtype)
            self.columns[name][places] = column
        self.written += len(decisions)

    def sample(self, number: int) -> dict[str, Tensor]:
        """Decisions drawn at random."""
        rows = torch.randint(min(self.written, self.size), (number,))
        return {name: column[rows] for name, column in self.columns.items()}


def q_loss(values: nn.Module, target: nn.Module, sample: dict[str, Tensor], scale: Tensor) -> Tensor:
    """The squared error to the reward, or to the target network's value of the best next action."""
    after = sample["next_features"] * scale
    with torch.no_grad():
        best = masked(values(after), sample["next_legal"]).argmax(dim=1, keepdim=True)
        next_value = target(after).gather(1, best)[:, 0]
        goal = torch.where(sample["is_last"], sample["reward"], next_value)
    predicted = values(sample["features"] * scale).gather(1, sample["action"][:, None])[:, 0]
    return nn.functional.smooth_l1_loss(predicted, goal)


def train(task: Task) -> None:
    """Play, remember, and learn from what is drawn from the memory."""
    torch.set_num_threads(1)
    torch.manual_seed(task.seed)
    play, memory = SelfPlay(task, TABLES), Memory(MEMORY)
    values = network_of(play.layout, gain=0.01)
    target = deepcopy(values)
    optimizer = torch.optim.Adam(values.parameters(), lr=LEARNING_RATE)
    share = 0.0

    def choose(seen: Seen) -> np.ndarray:
        with torch.no_grad():
            best = masked(values(seen.features), seen.legal).argmax(dim=1)
        explores = torch.rand(len(best)) < max(EXPLORE_LAST, EXPLORE - (EXPLORE - EXPLORE_LAST) * share / EXPLORE_UNTIL)
        if explores.any():
            best[explores] = torch.multinomial(seen.legal[explores].float(), 1)[:, 0]
        return np.asarray(best.numpy())

    while (share := task.log(play.decisions, lambda: NetworkPlayer(values, task.game))) < 1:
        decisions = play.deals(choose)
        memory.add(decisions)
        for _ in range(max(1, round(UPDATES_PER_DECISION * len(decisions)))):
            optimizer.zero_grad()
            q_loss(values, target, memory.sample(MINIBATCH), play.scale).backward()
            nn.utils.clip_grad_norm_(values.parameters(), 1.0)
            optimizer.step()
            with torch.no_grad():
                for slow, fast in zip(target.parameters(), values.parameters(), strict=True):
                    slow.lerp_(fast, TARGET_RATE)
    save_network(task, values)


def player(folder: Path) -> NetworkPlayer:
    """The trained player, which takes the action of the highest value."""
    return NetworkPlayer.load(folder, network_of)
