"""What algorithms of the benchmark can share, so that each is short: deals of self-play, and a network as a player.

    play = SelfPlay(task, tables=512)
    decisions = play.deals(choose)    # a deal at each table, decided by choose(seen): arrays of all decisions, with rewards
    save_network(task, network)       # the weights as float16, and for which game they are
    player = NetworkPlayer(folder, make_network, choose)

Features are those of single deals (`noms_env.FeatureLayout`), with the suits in one order (`noms_env.CanonicalSuits`), since
no rule tells one side suit from another. Rewards are points less the mean of the others' points. All of it is on the public
interfaces; an algorithm may do without.
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

from noms_env import NUM_ACTIONS, BatchEnv, FeatureLayout
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
    """What is seen at some tables, one row for each.

    Attributes:
        features: float32, shape (n, n_features): scaled, the suits in order.
        legal: bool, shape (n, NUM_ACTIONS): likewise.
        table, seat: int64, shape (n,).
        batch, orders: the tables, and the order of each row's suits (`CanonicalSuits.meant` leads back).
    """

    features: Tensor
    legal: Tensor
    table: np.ndarray
    seat: np.ndarray
    batch: BatchEnv
    orders: np.ndarray


@dataclass(frozen=True)
class Decisions:
    """All decisions of some deals, in the order of play: at each step one for each table that goes on.

    Attributes:
        features: uint8, shape (n, n_features): not scaled, the suits in order.
        legal: bool, shape (n, NUM_ACTIONS).
        action: int64, shape (n,).
        table, seat: int64, shape (n,).
        reward: float32, shape (n,): what the deal pays the seat, its points less the mean of the others'.
        following: int64, shape (n,): the row of the seat's next decision in the deal; -1 behind the last.
        steps: the rows of each step.
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
"""The actions of some rows, integers, shape (n,), by the numbers of the suits in order."""


class SelfPlay:
    """Tables of a task at which a learner has all seats; where the task draws its rules, they are drawn anew for each deal.

    Attributes:
        layout: of the features.
        scale: float32, shape (n_features,): features times this are for a network.
        decisions: how many were made so far.
    """

    def __init__(self, task: Task, tables: int = 512) -> None:
        self._task, self._tables, self._batch = task, tables, task.make_batch(tables, check_actions=False)
        self.layout, self.decisions = task.layout, 0
        self.scale = torch.from_numpy(self.layout.scale)
        self._suits = task.suits

    def deals(self, choose: Choose) -> Decisions:
        """Play the next deal at each table to its end."""
        if self._task.draws_rules and self.decisions:
            self._batch = self._task.make_batch(self._tables, check_actions=False)
        parts, steps, done = list[tuple[Tensor, ...]](), list[slice](), 0

        def decide(batch: BatchEnv, table: np.ndarray) -> np.ndarray:
            nonlocal done
            seat = batch.seat[table].astype(np.int64)
            seen = {"observation": batch.observation[table], "action_mask": batch.mask[table]}
            renamed, orders = self._suits.rename(seen)
            features = torch.from_numpy(renamed["observation"])
            legal = torch.from_numpy(renamed["action_mask"]) != 0
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
        paid = torch.from_numpy(relative_points(batch.tables.points, batch.tables.n_seats.astype(np.int64)))
        following = torch.from_numpy(next_of_same(table_of.numpy() * MAX_SEATS + seat_of.numpy()))
        return Decisions(features, legal, action_of, table_of, seat_of, paid[table_of, seat_of], following, steps)


def advantages(value: Tensor, decisions: Decisions, reward: Tensor, gae_lambda: float) -> Tensor:
    """Generalised advantage estimates (Schulman et al., arXiv 1506.02438); a deal pays behind each seat's last decision.

    Args:
        value: float32, shape (n,): what each decision is expected to pay.
        decisions: n.
        reward: float32, shape (n,): that of the decisions, on the scale of `value`.
        gae_lambda: weight of the later estimates.
    """
    advantage = torch.zeros_like(value)
    for step in reversed(decisions.steps):
        after = decisions.following[step]
        is_last = after < 0
        next_value = torch.where(is_last, reward[step], value[after])
        next_advantage = torch.where(is_last, torch.zeros(()), advantage[after])
        advantage[step] = next_value - value[step] + gae_lambda * next_advantage
    return advantage


def next_of_same(keys: np.ndarray) -> np.ndarray:
    """For each place the next one with the same key, -1 where there is none: int64, shape (n,)."""
    order = np.argsort(keys, kind="stable")
    following = np.full(len(keys), -1)
    same = keys[order[1:]] == keys[order[:-1]]
    following[order[:-1][same]] = order[1:][same]
    return following


def network_of(layout: FeatureLayout, outputs: int = NUM_ACTIONS, gain: float = 1.0, more: int = 0) -> nn.Sequential:
    """The network of the baselines: two hidden layers of 128 units on the features, and on `more` inputs behind them.

    Weights are orthogonal, those of the last layer scaled by `gain`, and biases 0.
    """
    layers = [nn.Linear(layout.n_features + more, 128), nn.Linear(128, 128), nn.Linear(128, outputs)]
    for layer, size in zip(layers, (math.sqrt(2), math.sqrt(2), gain), strict=True):
        nn.init.orthogonal_(layer.weight, size)
        nn.init.zeros_(layer.bias)
    return nn.Sequential(layers[0], nn.ReLU(), layers[1], nn.ReLU(), layers[2])


def masked(scores: Tensor, legal: Tensor) -> Tensor:
    """Scores, shape (n, NUM_ACTIONS), in which actions that are not legal are never the best and have no probability."""
    return scores.masked_fill(~legal, torch.finfo(scores.dtype).min)


def drawn(logits: Tensor, legal: Tensor, chance: np.ndarray) -> np.ndarray:
    """Actions with the probabilities of logits, from one number from 0 to 1 for each row: int64, shape (n,)."""
    sums = masked(logits, legal).double().softmax(dim=1).cumsum(dim=1)
    action = torch.searchsorted(sums, torch.from_numpy(chance)[:, None] * sums[:, -1:])[:, 0]
    last = legal.shape[1] - 1 - legal.int().flip(1).argmax(dim=1)  # where rounding leads behind the last that is legal
    return np.asarray(torch.minimum(action, last).numpy())


def save_network(task: Task, network: nn.Module, options: Sequence[str] | None = None) -> None:
    """Keep the weights of a network in the folder of a task as float16, with the game and the options that it sees.

    Args:
        task: whose network it is.
        network: the network.
        options: among its features; None for those of `task.layout`.
    """
    options = layout_of(task.game).options if options is None else options
    state = {name: tensor.detach().half().contiguous() for name, tensor in network.state_dict().items()}
    content = save(state, {"game": task.game, "options": " ".join(options)})
    write_atomically(task.folder / POLICY, content)


def read_network(folder: Path) -> tuple[str, tuple[str, ...] | None, dict[str, Tensor]]:
    """What `save_network` has kept: the game, the options among its features (None in older files), the weights as float32."""
    with safe_open(folder / POLICY, framework="pt") as opened:
        about = opened.metadata()
        state = {name: opened.get_tensor(name).float() for name in opened.keys()}  # noqa: SIM118 - not a dictionary
    return about["game"], tuple(about["options"].split()) if "options" in about else None, state


class NetworkPlayer:
    """A network at the tables (`noms_env.players.Player`): it scores actions by features.

    Args:
        network: from features, float32 (n, n_features), to scores of actions, float32 (n, NUM_ACTIONS).
        layout: of the features, of a game by its name.
        draws: scores are logits, and actions are drawn; otherwise the best is taken.
    """

    wants_tables: ClassVar[bool] = False

    def __init__(self, network: nn.Module, layout: FeatureLayout | str, draws: bool = False) -> None:
        self._network, self._draws = network, draws
        self.layout = layout_of(layout) if isinstance(layout, str) else layout
        self.suits = suits_of(self.layout)

    @classmethod
    def load(cls, folder: Path, make: Callable[[FeatureLayout], nn.Module], draws: bool = False) -> NetworkPlayer:
        """The player of weights that `save_network` has kept; `make` makes the network."""
        game, options, state = read_network(folder)
        layout = layout_of(game, options)
        network = make(layout)
        network.load_state_dict(state)
        return cls(network, layout, draws)

    @torch.inference_mode()
    def act(
        self, observation: np.ndarray, mask: np.ndarray, seeds: np.ndarray, *, tables: np.recarray | None = None
    ) -> np.ndarray:
        """See `noms_env.players.Player.act`."""
        seen = {"observation": self.layout.encode(observation), "action_mask": mask}
        renamed, orders = self.suits.rename(seen)
        legal = torch.from_numpy(renamed["action_mask"]) != 0
        scores = self._network(torch.from_numpy(renamed["observation"]))
        if self._draws:
            actions = drawn(scores, legal, unit_draws(seeds))
        else:
            actions = masked(scores, legal).argmax(dim=1).numpy()
        return np.asarray(self.suits.meant(actions, orders))
