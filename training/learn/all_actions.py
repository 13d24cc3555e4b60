"""Values of all actions: every legal action of a decision is played out with the current policy in the true deal.

These are the vine estimates of Schulman et al., arXiv 1502.05477, section 5.2. The copies of a decision use common random
numbers in each ply, which reduces the variance. With A(a) = value(a) - sum pi_old(b) value(b), in units of the reward scale,
the actor's loss is (`ppo.policy_losses`)

    - sum pi(a) A(a) + kl_coef * KL(pi || pi_old) - ent_coef * entropy / log(legal actions)

PPO learns only from the action taken. Values of all actions are valid off-policy, so a share of the actions may be random: the
policy then also learns in states that it would not reach. The critic learns as in PPO.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import ceil

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from noms_env import BatchEnv
from noms_env.envs.processor_rows import ProcessorRows

from ..agents.table_pool import relative_points
from ..thread_pool import ThreadPool
from .collect import ActorPlayer, PolicyLearner, Rollout, Step
from .config import PPOConfig
from .gae import RewardScale
from .network import Actor, masked
from .ppo import ACTOR_COLUMNS, CHUNK

COPIES = 8192  # approximate number of tables played out at once


class AllActionsLearner(PolicyLearner):
    """The policy in training, with the values of all actions at some of its decisions, for which `values_rng` draws."""

    def __init__(
        self,
        player: ActorPlayer,
        rng: np.random.Generator,
        privileged: bool,
        settings: PPOConfig,
        values_rng: np.random.Generator,
    ) -> None:
        super().__init__(player, rng, privileged)
        self.settings, self.values_rng = settings, values_rng
        self._saved: list[tuple[np.ndarray, ...]] = []

    def choose(self, batch: BatchEnv, rows: np.ndarray) -> np.ndarray:
        """Choose actions; if an action is replaced by a random one, the step still has the policy's choice."""
        actions = super().choose(batch, rows)
        if self.settings.exploration > 0:
            random = np.flatnonzero(self.values_rng.random(len(rows)) < self.settings.exploration)
            legal = batch.mask[rows[random]]
            actions[random] = (legal * self.values_rng.random(legal.shape)).argmax(1)
        return actions

    def decide(self, batch: BatchEnv, rows: np.ndarray, features: np.ndarray, mask: np.ndarray, order: np.ndarray) -> Step:
        drawn = np.flatnonzero(self.values_rng.random(len(rows)) < self.settings.played_out)
        self._saved.append((drawn, batch.save(rows[drawn]), mask[drawn], order[drawn]))
        return super().decide(batch, rows, features, mask, order)

    def finish(self) -> None:
        """Add the column `values` to the steps (see `Rollout`)."""
        tables, mask, order = (np.concatenate(arrays) for arrays in list(zip(*self._saved, strict=True))[1:])
        values = action_values(self.player, tables, mask, order, self.values_rng)
        ends = np.cumsum([len(drawn) for drawn, *_ in self._saved])
        for step, (drawn, *_), part in zip(self.steps, self._saved, np.split(values, ends[:-1]), strict=True):
            step["values"] = np.full(step["mask"].shape, np.nan, np.float32)
            step["values"][drawn] = part


def action_values(
    player: ActorPlayer, tables: np.ndarray, mask: np.ndarray, order: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Estimate the value of each legal choice: relative points of the seat to act after one playout by `player`.

    `tables` are records, shape (n,); `mask` and `order` are from `Encoding.encode`. Returns float32, shape (n, n_choices); 0
    for illegal choices.
    """
    values = np.zeros(mask.shape, np.float32)
    parts = max(1, ceil(int((mask != 0).sum()) / COPIES))
    for rows in np.array_split(np.arange(len(tables)), parts):
        source, choice = np.nonzero(mask[rows])
        actions = player.encoding.actions[order[rows[source]], choice].astype(np.int64)
        points = play_out(player, tables[rows[source]], actions, source, rng)
        values[rows[source], choice] = points[np.arange(len(source)), tables["seat"][rows[source]]]
    return values


def play_out(
    player: ActorPlayer, tables: np.ndarray, actions: np.ndarray, source: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Take an action at each table, and play the deal to its end, with `player` at all seats.

    `tables` are records, shape (n,). Tables of one `source`, int64, shape (n,), ascending from 0, share the random number of
    each ply. Returns float32, shape (n, seats): points of each seat less the mean of the others'.
    """
    n, encoding = len(tables), player.encoding
    if n == 0:
        return np.zeros((0, 1), np.float32)
    widest = tables[[int(tables["n_seats"].argmax())]].view(np.recarray)
    copies = ProcessorRows(widest, [n], None, False, 1)
    copies.put(np.arange(n), tables, True)
    actions = actions.copy()
    while True:
        copies.step(actions, False, True, False)
        rows = np.flatnonzero(~(copies.scored | copies.over))
        if len(rows) == 0:
            return relative_points(copies.points, tables["n_seats"])
        copies.observe(rows)
        draws = rng.random(int(source[-1]) + 1)
        legal = copies.mask[rows]
        actions[rows] = legal.argmax(1)
        rows = rows[legal.sum(1) > 1]
        features, mask, order = encoding.encode(copies.observation, copies.mask, rows)
        choice, _ = player.draw(features, mask, draws[source[rows]])
        actions[rows] = encoding.actions[order, choice]


def decisions_with_values(batch: Rollout, actor: Actor, dtype: torch.dtype, scale: RewardScale, threads: ThreadPool) -> Rollout:
    """Return the decisions with values, as advantages in units of the scale, and with the policy before the update."""
    assert batch.values is not None
    part = batch.select((~batch.values.isnan().any(1)).nonzero().squeeze(1), *ACTOR_COLUMNS, "rule_set")
    assert part.values is not None
    pieces = zip(*(column.tensor_split(threads.threads) for column in (part.features, part.mask)), strict=True)
    part.log_policy = torch.cat(threads.all([partial(_log_policy, actor.frozen(dtype), *piece) for piece in pieces]))
    values = scale.divide(part.values, part.rule_set)
    part.values = (values - (part.log_policy.exp() * values).sum(1, keepdim=True)) * part.mask
    return part


@torch.no_grad()
def _log_policy(logits: Callable[[Tensor, Tensor], Tensor], features: Tensor, mask: Tensor) -> Tensor:
    parts = zip(features.split(CHUNK), mask.split(CHUNK), strict=True)
    return torch.cat([functional.log_softmax(masked(logits(*part), part[1]), -1) for part in parts])
