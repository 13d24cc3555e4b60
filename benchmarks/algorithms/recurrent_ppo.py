"""PPO with a GRU over the tricks of the deal, in self-play; actor and critic have a memory each.

Ni et al., Recurrent Model-Free RL Can Be a Strong Baseline for Many POMDPs, ICML 2022, arXiv 2110.05038. A player is asked with
an observation alone and keeps nothing. So the memory is not carried from decision to decision: it is worked out each time from
the tricks that the observation shows, in their order.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.distributions import Categorical

from noms_env import NUM_ACTIONS, FeatureLayout
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

TABLES, EPOCHS, MINIBATCH, MEMORY = 512, 2, 1024, 64
LEARNING_RATE, GAE_LAMBDA, CLIP, ENTROPY, VALUE, MAX_NORM = 1e-3, 0.95, 0.2, 0.01, 0.5, 0.5
REWARD_SCALE = 0.1


class Recurrent(nn.Module):
    """A network on the features and on the state of a GRU that has read the tricks so far, one after another."""

    def __init__(self, layout: FeatureLayout, outputs: int = NUM_ACTIONS, gain: float = 1.0) -> None:
        super().__init__()
        parts = {part.name: part for part in layout.sections}
        self.played, self.trick_of = parts["played"].slice, parts["trick_of"].slice
        (self.seats, self.cards), self.scale = parts["played"].shape, parts["trick_of"].scale
        self.card = nn.Embedding(self.seats * self.cards, MEMORY)
        self.gru = nn.GRU(MEMORY, MEMORY, batch_first=True)
        self.network = network_of(layout, outputs, gain, more=MEMORY)

    def forward(self, features: Tensor) -> Tensor:
        """Scores of actions, float32, shape (n, outputs)."""
        row, place = features[:, self.played].nonzero(as_tuple=True)
        trick_of = (features[:, self.trick_of] / self.scale).round().long()  # the first is 1; 0 for cards that are not played
        trick, tricks = trick_of[row, place % self.cards], trick_of.amax(dim=1)
        most = int(tricks.max()) + 1
        read = torch.zeros(len(features) * most, MEMORY).index_add(0, row * most + trick, self.card(place))
        states, _ = self.gru(read.view(-1, most, MEMORY))
        return torch.as_tensor(self.network(torch.cat([features, states[torch.arange(len(features)), tricks]], dim=1)))


def train(task: Task) -> None:
    """Learn by self-play: a deal at each table, then some epochs on its decisions; the learning rate falls to 0."""
    torch.set_num_threads(1)
    torch.manual_seed(task.seed)
    play = SelfPlay(task, TABLES)
    actor, critic = Recurrent(play.layout, gain=0.01), Recurrent(play.layout, outputs=1)
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
    features, parts = decisions.features * scale, torch.arange(len(decisions)).split(MINIBATCH)
    with torch.no_grad():
        value = torch.cat([critic(features[rows])[:, 0] for rows in parts])
        chosen = [policy(actor, features[rows], decisions.legal[rows]).log_prob(decisions.action[rows]) for rows in parts]
    old_logprob = torch.cat(chosen)
    advantage = advantages(value, decisions, decisions.reward * REWARD_SCALE, GAE_LAMBDA)
    returns = advantage + value
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(decisions)).split(MINIBATCH):
            now = policy(actor, features[rows], decisions.legal[rows])
            ratio = (now.log_prob(decisions.action[rows]) - old_logprob[rows]).exp()
            gain = advantage[rows]
            gain = (gain - gain.mean()) / (gain.std(correction=0) + 1e-8)
            actor_loss = -torch.min(ratio * gain, ratio.clamp(1 - CLIP, 1 + CLIP) * gain).mean()
            critic_loss = 0.5 * (critic(features[rows])[:, 0] - returns[rows]).square().mean()
            loss = actor_loss - ENTROPY * now.entropy().mean() + VALUE * critic_loss
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_([*actor.parameters(), *critic.parameters()], MAX_NORM)
            optimizer.step()


def player(folder: Path) -> NetworkPlayer:
    """The trained policy, which takes its most probable action."""
    return NetworkPlayer.load(folder, Recurrent)


def other_player(folder: Path) -> NetworkPlayer:
    """The same policy, which draws its actions."""
    return NetworkPlayer.load(folder, Recurrent, draws=True)
