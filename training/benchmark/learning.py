"""Building blocks for algorithms of the benchmark: self-play data and a player for a network.

    play = SelfPlay(task, tables=512)
    decisions = play.deals(choose)    # one deal per table, with actions from choose(seen): tensors of all decisions
    save_network(task, network)       # weights as float16, with the name of the game
    player = NetworkPlayer.load(folder, make_network)

Features describe single deals (`noms_env.FeatureLayout`). Their suits are in canonical order (`noms_env.CanonicalSuits`),
since no rule distinguishes two side suits. The reward is a seat's points minus the mean of the others'.
An algorithm may use these or the public interfaces below them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import save
from torch import Tensor, nn

from noms_env import NUM_ACTIONS, BatchEnv, CanonicalSuits, FeatureLayout
from noms_env._files import write_atomically
from noms_env.core.state import MAX_SEATS
from noms_env.players import unit_draws

from ..agents.table_pool import choices_of, relative_points
from .generalist import layout_of, suits_of

if TYPE_CHECKING:
    from .task import Task

POLICY = "policy.safetensors"


@dataclass(frozen=True)
class Seen:
    """Observations at some tables of a batch, one row per table.

    Attributes:
        features: Scaled features with canonical suits, float32, shape (n, n_features).
        legal: Legal-action mask with canonical suits, bool, shape (n, NUM_ACTIONS).
        table, seat: Table and seat to act, int64, shape (n,).
        orders: Order of the suits in each row; `CanonicalSuits.meant` inverts it.
    """

    features: Tensor
    legal: Tensor
    table: np.ndarray
    seat: np.ndarray
    batch: BatchEnv
    orders: np.ndarray


@dataclass(frozen=True)
class Decisions:
    """All decisions of some deals, in order of play. Each step has one row for every unfinished table.

    Attributes:
        features: Unscaled features with canonical suits, uint8, shape (n, n_features).
        legal: Legal-action mask, bool, shape (n, NUM_ACTIONS).
        action: int64, shape (n,).
        table, seat: int64, shape (n,).
        reward: The seat's points in the deal minus the mean of the others', float32, shape (n,).
        following: Row of the seat's next decision in the deal, -1 after the last; int64, shape (n,).
        steps: Rows of each step.
    """

    features: Tensor
    legal: Tensor
    action: Tensor
    table: Tensor
    seat: Tensor
    reward: Tensor
    following: Tensor
    steps: list[slice]

    def __len__(self) -> int:
        return len(self.action)


Choose = Callable[[Seen], np.ndarray]
"""Returns the actions of the rows with canonical suits: integers, shape (n,)."""


class SelfPlay:
    """Self-play: tables of a task at which the learner plays all seats. A generalist draws new rules for each deal.

    `scale` are the factors that scale the features for a network, float32, shape (n_features,), and `decisions` is the number
    of decisions so far.
    """

    def __init__(self, task: Task, tables: int = 512) -> None:
        self._task, self._tables, self._batch = task, tables, task.make_batch(tables, check_actions=False)
        self.layout, self.decisions = task.layout, 0
        self.scale = torch.from_numpy(self.layout.scale)
        self._suits = task.suits

    def deals(self, choose: Choose) -> Decisions:
        """Play one deal to the end at each table, and return its decisions."""
        if self._task.draws_rules and self.decisions:
            self._batch = self._task.make_batch(self._tables, check_actions=False)
        parts, steps, done = list[tuple[Tensor, ...]](), list[slice](), 0

        def decide(batch: BatchEnv, table: np.ndarray) -> np.ndarray:
            nonlocal done
            seat = batch.seat[table].astype(np.int64)
            features, legal, orders = rename_suits(self._suits, batch.observation[table], batch.mask[table])
            action = np.asarray(choose(Seen(features * self.scale, legal, table, seat, batch, orders)), np.int64)
            parts.append((features, legal, *map(torch.from_numpy, (action, table, seat))))
            steps.append(slice(done, done + len(table)))
            done += len(table)
            return np.asarray(self._suits.meant(action, orders))

        batch = self._batch
        batch.reset()
        for actions in choices_of(batch, [decide], np.zeros((len(batch), MAX_SEATS), np.int64)):
            batch.step(actions)
        self.decisions += done
        features, legal, action_of, table_of, seat_of = (torch.cat(column) for column in zip(*parts, strict=True))
        rewards = torch.from_numpy(relative_points(batch.tables.points, batch.tables.n_seats.astype(np.int64)))
        following = torch.from_numpy(next_of_same(table_of.numpy() * MAX_SEATS + seat_of.numpy()))
        return Decisions(features, legal, action_of, table_of, seat_of, rewards[table_of, seat_of], following, steps)


def rename_suits(suits: CanonicalSuits, observation: np.ndarray, mask: np.ndarray) -> tuple[Tensor, Tensor, np.ndarray]:
    """Return features and legal-action mask (bool) with canonical suits, and the order of the suits in each row."""
    renamed, orders = suits.rename({"observation": observation, "action_mask": mask})
    return torch.from_numpy(renamed["observation"]), torch.from_numpy(renamed["action_mask"]) != 0, orders


def advantages(value: Tensor, decisions: Decisions, reward: Tensor, gae_lambda: float, bonus: Tensor | None = None) -> Tensor:
    """Return generalised advantage estimates without discount, float32, shape (n,) (Schulman et al., arXiv 1506.02438).

    Each seat gets its reward after its last decision of the deal. The bonus of a decision, such as a penalty, comes with that
    decision. `value`, `reward` (on the scale of `value`) and `bonus` are float32, shape (n,).
    """
    advantage = torch.zeros_like(value) if bonus is None else bonus.clone()
    for step in reversed(decisions.steps):
        after = decisions.following[step]
        is_last = after < 0
        next_value = torch.where(is_last, reward[step], value[after])
        next_advantage = torch.where(is_last, torch.zeros(()), advantage[after])
        advantage[step] += next_value - value[step] + gae_lambda * next_advantage
    return advantage


def next_of_same(keys: np.ndarray) -> np.ndarray:
    """Return for each index the next one with the same key, or -1: int64, shape (n,)."""
    order = np.argsort(keys, kind="stable")
    following = np.full(len(keys), -1)
    same = keys[order[1:]] == keys[order[:-1]]
    following[order[:-1][same]] = order[1:][same]
    return following


def network_of(layout: FeatureLayout, outputs: int = NUM_ACTIONS, gain: float = 1.0, more: int = 0) -> nn.Sequential:
    """Return the network of the baselines: two hidden layers of 128 units on the features and `more` inputs after them.

    Weights are orthogonal, with gain `gain` in the last layer; biases are 0.
    """
    layers = [nn.Linear(layout.n_features + more, 128), nn.Linear(128, 128), nn.Linear(128, outputs)]
    for layer, size in zip(layers, (math.sqrt(2), math.sqrt(2), gain), strict=True):
        nn.init.orthogonal_(layer.weight, size)
        nn.init.zeros_(layer.bias)
    return nn.Sequential(layers[0], nn.ReLU(), layers[1], nn.ReLU(), layers[2])


def masked(scores: Tensor, legal: Tensor) -> Tensor:
    """Return scores, shape (n, NUM_ACTIONS), with the lowest finite value for illegal actions."""
    return scores.masked_fill(~legal, torch.finfo(scores.dtype).min)


def drawn(logits: Tensor, legal: Tensor, chance: np.ndarray) -> np.ndarray:
    """Sample actions by logits, from one uniform number in [0, 1) per row: int64, shape (n,)."""
    sums = masked(logits, legal).double().softmax(dim=1).cumsum(dim=1)
    action = torch.searchsorted(sums, torch.from_numpy(chance)[:, None] * sums[:, -1:])[:, 0]
    last = legal.shape[1] - 1 - legal.int().flip(1).argmax(dim=1)  # rounding may lead past the last legal action
    return np.asarray(torch.minimum(action, last).numpy())


def save_network(task: Task, network: nn.Module, options: Sequence[str] | None = None) -> None:
    """Write the weights of a network to the folder of a task as float16, with the game and the options among its features.

    `options` are those of `task.layout` by default.
    """
    options = layout_of(task.game).options if options is None else options
    state = {name: tensor.detach().half().contiguous() for name, tensor in network.state_dict().items()}
    content = save(state, {"game": task.game, "options": " ".join(options)})
    write_atomically(task.folder / POLICY, content)


def read_network(folder: Path) -> tuple[str, tuple[str, ...] | None, dict[str, Tensor]]:
    """Read the file of `save_network`: the game, the options among the features (None in older files), float32 weights."""
    with safe_open(folder / POLICY, framework="pt") as opened:
        about = opened.metadata()
        state = {name: opened.get_tensor(name).float() for name in opened.keys()}  # noqa: SIM118 - not a dictionary
    return about["game"], tuple(about["options"].split()) if "options" in about else None, state


class NetworkPlayer:
    """Player (`noms_env.players.Player`) that scores actions by a network.

    The network maps features, float32 (n, n_features), to scores, float32 (n, NUM_ACTIONS): logits of sampled actions if it
    `draws`, otherwise the highest wins. `layout` is a feature layout, or the name of a game.
    """

    wants_tables: ClassVar[bool] = False

    def __init__(self, network: nn.Module, layout: FeatureLayout | str, draws: bool = False) -> None:
        self._network, self._draws = network, draws
        self.layout = layout_of(layout) if isinstance(layout, str) else layout
        self.suits = suits_of(self.layout)

    @classmethod
    def load(cls, folder: Path, make: Callable[[FeatureLayout], nn.Module], draws: bool = False) -> NetworkPlayer:
        """Load the player from the file of `save_network`; `make` builds the network of a layout."""
        game, options, state = read_network(folder)
        layout = layout_of(game, options)
        network = make(layout)
        network.load_state_dict(state)
        return cls(network, layout, draws)

    @torch.inference_mode()
    def act(
        self, observation: np.ndarray, mask: np.ndarray, seeds: np.ndarray, *, tables: np.recarray | None = None
    ) -> np.ndarray:
        features, legal, orders = rename_suits(self.suits, self.layout.encode(observation), mask)
        scores = self._network(features)
        actions = drawn(scores, legal, unit_draws(seeds)) if self._draws else masked(scores, legal).argmax(dim=1).numpy()
        return np.asarray(self.suits.meant(actions, orders))
