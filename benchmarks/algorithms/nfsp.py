"""Neural fictitious self-play: each seat plays a best response (DQN) or the average of all its past ones, which it imitates.

Heinrich and Silver, Deep Reinforcement Learning from Self-Play in Imperfect-Information Games, arXiv 1603.01121.
"""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from noms_training.benchmark.learning import Decisions, NetworkPlayer, Seen, SelfPlay, drawn, masked, network_of, save_network
from noms_training.benchmark.task import Task

PLAYS = "sampled"
TABLES, MINIBATCH, LEARNING_RATE, AVERAGE_RATE = 256, 512, 5e-4, 5e-4
MEMORY, RESERVOIR, UPDATES_PER_DECISION, TARGET_RATE = 200_000, 400_000, 1 / 256, 0.01
BEST_RESPONSE, EXPLORE, EXPLORE_LAST = 0.1, 0.2, 0.02
REWARD_SCALE = 0.1


class Rows:
    """Rows of several columns; the newest are kept, or a sample of all that ever came, each as probable as any (reservoir)."""

    def __init__(self, size: int, reservoir: bool) -> None:
        self.size, self.reservoir, self.columns, self.seen = size, reservoir, list[Tensor](), 0

    def add(self, *columns: Tensor) -> None:
        """Add rows."""
        if not self.columns:
            self.columns = [torch.zeros((self.size, *column.shape[1:]), dtype=column.dtype) for column in columns]
        number = torch.arange(self.seen, self.seen + len(columns[0]))
        places = number % self.size
        if self.reservoir:
            drawn_place = (torch.rand(len(number), dtype=torch.float64) * (number + 1)).long()
            places = torch.where(number < self.size, number, drawn_place)
        kept = places < self.size
        for own, column in zip(self.columns, columns, strict=True):
            own[places[kept]] = column[kept]
        self.seen += len(number)

    def sample(self, number: int) -> list[Tensor]:
        """Rows drawn at random."""
        rows = torch.randint(min(self.seen, self.size), (number,))
        return [column[rows] for column in self.columns]


class Learner:
    """The best response, by double DQN, and the average policy, by imitation."""

    def __init__(self, play: SelfPlay) -> None:
        self.scale = play.scale
        self.values, self.average = network_of(play.layout, gain=0.01), network_of(play.layout, gain=0.01)
        self.target = deepcopy(self.values)
        self.memory, self.reservoir = Rows(MEMORY, reservoir=False), Rows(RESERVOIR, reservoir=True)
        self._optimizer = torch.optim.Adam(self.values.parameters(), lr=LEARNING_RATE)
        self._average_optimizer = torch.optim.Adam(self.average.parameters(), lr=AVERAGE_RATE)

    def remember(self, decisions: Decisions, plays_best: Tensor) -> None:
        """Keep all decisions for the best response, and its own, bool, shape (n,), for the average."""
        is_last = decisions.following < 0
        reward = torch.where(is_last, decisions.reward * REWARD_SCALE, torch.zeros(()))
        after = decisions.features[decisions.following], decisions.legal[decisions.following]
        self.memory.add(decisions.features, decisions.action, reward, is_last, *after)
        self.reservoir.add(decisions.features[plays_best], decisions.legal[plays_best], decisions.action[plays_best])

    def update(self) -> None:
        """A step of each network."""
        features, action, reward, is_last, next_features, next_legal = self.memory.sample(MINIBATCH)
        with torch.no_grad():
            after = next_features * self.scale
            best = masked(self.values(after), next_legal).argmax(dim=1, keepdim=True)
            goal = torch.where(is_last, reward, self.target(after).gather(1, best)[:, 0])
        predicted = self.values(features * self.scale).gather(1, action[:, None])[:, 0]
        step(self.values, self._optimizer, nn.functional.smooth_l1_loss(predicted, goal))
        with torch.no_grad():
            for slow, fast in zip(self.target.parameters(), self.values.parameters(), strict=True):
                slow.lerp_(fast, TARGET_RATE)
        if self.reservoir.seen:
            features, legal, action = self.reservoir.sample(MINIBATCH)
            logits = masked(self.average(features * self.scale), legal)
            step(self.average, self._average_optimizer, nn.functional.cross_entropy(logits, action))


def step(network: nn.Module, optimizer: torch.optim.Optimizer, loss: Tensor) -> None:
    """A step down the loss."""
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(network.parameters(), 1.0)
    optimizer.step()


def train(task: Task) -> None:
    """In each deal each seat plays its best response with probability 0.1, and the average otherwise."""
    torch.set_num_threads(1)
    torch.manual_seed(task.seed)
    play, chance = SelfPlay(task, TABLES), np.random.default_rng(task.seed)
    learner, share = Learner(play), 0.0
    plays_best = torch.zeros((TABLES, task.seats), dtype=torch.bool)

    def choose(seen: Seen) -> np.ndarray:
        with torch.no_grad():
            best = masked(learner.values(seen.features), seen.legal).argmax(dim=1)
            average = torch.from_numpy(drawn(learner.average(seen.features), seen.legal, chance.random(len(best))))
        explores = torch.rand(len(best)) < EXPLORE + (EXPLORE_LAST - EXPLORE) * share
        best = torch.where(explores, torch.multinomial(seen.legal.float(), 1)[:, 0], best)
        return np.asarray(torch.where(plays_best[seen.table, seen.seat], best, average).numpy())

    while (share := task.log(play.decisions, lambda: NetworkPlayer(learner.average, task.game, draws=True))) < 1:
        plays_best = torch.rand(plays_best.shape) < BEST_RESPONSE
        decisions = play.deals(choose)
        learner.remember(decisions, plays_best[decisions.table, decisions.seat])
        for _ in range(max(1, round(UPDATES_PER_DECISION * len(decisions)))):
            learner.update()
    save_network(task, learner.average)


def player(folder: Path) -> NetworkPlayer:
    """The average policy, which draws its actions."""
    return NetworkPlayer.load(folder, network_of, draws=True)


def other_player(folder: Path) -> NetworkPlayer:
    """The same policy, which takes its most probable action."""
    return NetworkPlayer.load(folder, network_of)
