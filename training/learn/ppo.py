"""Proximal policy optimisation (Schulman et al., arXiv 1707.06347).

Actor and critic share no parameter, so `update_actor` and `update_critic` are independent of each other and run side by side.
Each goes through the decisions of an iteration several times, in minibatches.

    actor:  - surrogate - ent_coef * entropy / log(legal actions) + uniform_kl_coef * KL(uniform || policy)
            + distil_coef * KL(recorded policy || policy), of recorded decisions
    critic: (value - target)^2 / 2

While an expert is imitated, the cross entropy to it takes the place of the surrogate. With several processes
DistributedDataParallel averages the gradients; losses are weighted so that the result is the gradient of the mean over all
decisions of the minibatch, wherever they lie.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..config import PPOConfig
from .network import GRAIN, Critic, masked, padded

CHUNK = 2048
"""Rows that go through a network at once where no gradients are needed."""


# ------------------------------------------------------------------------------------------------------- the records


@dataclass(frozen=True)
class ActorBatch:
    """Decisions that the actor learns from.

    Attributes:
        features: uint8, shape (n, n_features).
        mask: int8, shape (n, n_choices): 1 for legal choices.
        choice: int64, shape (n,): the output of the network that was taken.
        log_prob: float32, shape (n,): its log probability when it was taken.
        advantage: float32, shape (n,): normalised.
        ent_coef: float32, shape (n,).
        uniform_kl_coef: float32, shape (n,).
        expert_probs: float32, shape (n, n_choices): the policy of the expert to imitate; None if nobody is imitated.
    """

    features: Tensor
    mask: Tensor
    choice: Tensor
    log_prob: Tensor
    advantage: Tensor
    ent_coef: Tensor
    uniform_kl_coef: Tensor
    expert_probs: Tensor | None = None


@dataclass(frozen=True)
class DistilledBatch:
    """Recorded decisions of another player, whose policy is learnt beside.

    Attributes:
        features: uint8, shape (n, n_features).
        mask: int8, shape (n, n_choices): 1 for legal choices.
        probs: float32, shape (n, n_choices): the policy of that player.
        coef: of the loss.
    """

    features: Tensor
    mask: Tensor
    probs: Tensor
    coef: float


@dataclass(frozen=True)
class CriticBatch:
    """Decisions that the critic learns from.

    Attributes:
        features: uint8, shape (n, columns): what the critic sees.
        target: float32, shape (n,): what its value should have been.
    """

    features: Tensor
    target: Tensor


Batch = TypeVar("Batch", ActorBatch, CriticBatch)


def select(batch: Batch, rows: Tensor) -> Batch:
    """Some of the decisions; `rows`: int64, shape (k,)."""
    columns = {part.name: getattr(batch, part.name) for part in fields(batch)}
    return replace(batch, **{name: column.index_select(0, rows) for name, column in columns.items() if column is not None})


@dataclass(frozen=True)
class MinibatchPlan:
    """The minibatches of an update, such that all processes take as many steps.

    Attributes:
        sizes: decisions of each process.
        minibatch_size: decisions of all processes in a minibatch, at most.
        seed: of the order of the decisions.
        rank: of this process.
        group: of processes, for torch.distributed; actor and critic are updated side by side, so each needs its own.
    """

    sizes: tuple[int, ...]
    minibatch_size: int
    seed: int
    rank: int = 0
    group: Any = None

    def minibatches(self, epoch: int) -> Iterator[tuple[Tensor, float]]:
        """This process's decisions in random order; a few that would make the minibatches uneven are left out.

        Yields:
            rows, int64, and the weight of a row in the loss: the average over the processes is then the mean over all rows.
        """
        order = torch.randperm(self.sizes[self.rank], generator=torch.Generator().manual_seed(self.seed + epoch))
        lengths = self._lengths()
        for rows, *together in zip(order[: sum(lengths[self.rank])].split(lengths[self.rank]), *lengths, strict=True):
            yield rows, len(self.sizes) / max(1, sum(together))

    @property
    def size(self) -> int:
        """Decisions of all processes in an epoch."""
        return sum(map(sum, self._lengths()))

    def _lengths(self) -> list[list[int]]:
        """Rows of each minibatch, for each process."""
        steps = max(1, math.ceil(sum(self.sizes) / self.minibatch_size))
        return [_part_sizes(size, steps) for size in self.sizes]

    def summed(self, values: Tensor) -> Tensor:
        """The sum over all processes."""
        if len(self.sizes) > 1:
            values = values.clone()
            torch.distributed.all_reduce(values, group=self.group)
        return values


def _part_sizes(size: int, parts: int) -> list[int]:
    """Rows of each of so many parts: equal and a multiple of `GRAIN`, or, where they are small, as equal as possible."""
    if size >= 8 * GRAIN * parts:
        return [size // parts // GRAIN * GRAIN] * parts
    return [size // parts + (place < size % parts) for place in range(parts)]


# --------------------------------------------------------------------------------------------------------- the actor

ACTOR_FIGURES = ("policy_loss", "approx_kl", "clipfrac")


def update_actor(
    actor: nn.Module,
    optimizer: torch.optim.Optimizer,
    batch: ActorBatch,
    plan: MinibatchPlan,
    settings: PPOConfig,
    dtype: torch.dtype = torch.float32,
    distilled: Iterator[DistilledBatch] | None = None,
) -> dict[str, float]:
    """Improve the policy.

    Args:
        actor: an `Actor`, or one in DistributedDataParallel.
        optimizer: of the actor's parameters.
        batch: this process's decisions.
        plan: of the minibatches.
        settings: with the coefficients of this iteration (`schedule.settings_at`).
        dtype: precision of the passes.
        distilled: recorded decisions for each minibatch; None for none.

    Returns:
        Means over the decisions: `ACTOR_FIGURES`, `epochs`, and with recorded decisions `distillation_kl`. The policy loss is
        the cross entropy while an expert is imitated; nothing is clipped then.
    """
    total = torch.zeros(len(ACTOR_FIGURES), dtype=torch.float64, device=batch.features.device)
    distances = list[Tensor]()
    for epoch in range(settings.update_epochs):
        of_epoch = torch.zeros_like(total)
        for rows, weight in plan.minibatches(epoch):
            part = select(batch, rows.to(batch.features.device))
            others = next(distilled) if distilled else None
            seen, legal = part.features, part.mask
            if others is not None:
                seen, legal = torch.cat([seen, others.features]), torch.cat([legal, others.mask])
            logits = actor(seen, legal, dtype)
            losses, figures = policy_losses(logits[: len(rows)], part, settings)
            loss = losses.sum() * weight
            if others is not None:
                distance = distance_from(others, logits[len(rows) :])
                distances.append(distance.detach())
                loss = loss + others.coef * distance
            take_step(optimizer, actor, loss, settings)
            of_epoch += figures
        of_epoch = plan.summed(of_epoch)
        total += of_epoch
        approx_kl = float(of_epoch[ACTOR_FIGURES.index("approx_kl")]) / plan.size
        if approx_kl > settings.target_kl > 0:
            break
    means = total / (plan.size * (epoch + 1))
    figures_of_all = dict(zip(ACTOR_FIGURES, means.tolist(), strict=True)) | {"epochs": epoch + 1.0}
    return figures_of_all | ({"distillation_kl": float(torch.stack(distances).mean())} if distances else {})


def distance_from(recorded: DistilledBatch, logits: Tensor) -> Tensor:
    """The mean KL(recorded policy || policy), from logits, shape (n, n_choices), not masked."""
    log_policy = functional.log_softmax(masked(logits, recorded.mask), -1)
    return (torch.xlogy(recorded.probs, recorded.probs) - recorded.probs * log_policy).sum(-1).mean()


def policy_losses(logits: Tensor, batch: ActorBatch, settings: PPOConfig) -> tuple[Tensor, Tensor]:
    """The loss of each decision.

    Args:
        logits: float32, shape (n, n_choices), not masked.
        batch: as many decisions.
        settings: coefficients.

    Returns:
        float32, shape (n,), and the sums of `ACTOR_FIGURES`, float64.
    """
    logits = masked(logits, batch.mask)
    log_policy, policy = functional.log_softmax(logits, -1), functional.softmax(logits, -1)
    log_ratio = torch.zeros_like(batch.log_prob)
    if batch.expert_probs is not None:
        gain = (batch.expert_probs * log_policy).sum(-1)
    else:
        log_ratio = log_prob_of(log_policy, batch.choice) - batch.log_prob
        gain = clipped_surrogate(log_ratio, batch.advantage, settings.clip_coef)
    losses = -gain - batch.ent_coef * normalised_entropy(policy, log_policy, batch.mask)
    losses = losses + batch.uniform_kl_coef * uniform_kl(log_policy, batch.mask)
    with torch.no_grad():
        ratio = log_ratio.exp()
        approx_kl = ratio - 1 - log_ratio  # never negative (Schulman 2020, "Approximating KL Divergence", k3)
        clipped = ((ratio - 1).abs() > settings.clip_coef).float()
        figures = torch.stack([-gain, approx_kl, clipped]).double().sum(1)
    return losses, figures


def log_prob_of(log_policy: Tensor, choice: Tensor) -> Tensor:
    """Log probabilities of choices, shape (n,), from those of all, shape (n, n_choices)."""
    return log_policy.gather(1, choice[:, None]).squeeze(1)


def clipped_surrogate(log_ratio: Tensor, advantage: Tensor, clip_coef: float) -> Tensor:
    """Equation 7 of the paper for each decision: min(r A, clip(r, 1 - clip_coef, 1 + clip_coef) A)."""
    ratio = log_ratio.exp()
    return torch.minimum(ratio * advantage, ratio.clamp(1 - clip_coef, 1 + clip_coef) * advantage)


def normalised_entropy(policy: Tensor, log_policy: Tensor, mask: Tensor) -> Tensor:
    """Entropy over the logarithm of the number of legal actions: 0 to 1 in all phases; 0 where there is one action."""
    legal = mask.sum(-1, dtype=torch.float32)
    return -(policy * log_policy).sum(-1) / legal.clamp(min=2).log()


def uniform_kl(log_policy: Tensor, mask: Tensor) -> Tensor:
    """KL(uniform over the legal actions || policy): its gradient does not vanish where an action has become improbable."""
    legal = mask.sum(-1, dtype=torch.float32)
    return -(log_policy * mask).sum(-1) / legal - legal.log()


# -------------------------------------------------------------------------------------------------------- the critic


def update_critic(
    critic: nn.Module,
    optimizer: torch.optim.Optimizer,
    batch: CriticBatch,
    plan: MinibatchPlan,
    settings: PPOConfig,
    dtype: torch.dtype = torch.float32,
) -> dict[str, float]:
    """Bring the values nearer to their targets; the arguments are as in `update_actor`.

    Returns:
        `value_loss`: the mean over the decisions of the last epoch.
    """
    for epoch in range(settings.update_epochs):
        total = torch.zeros(1, dtype=torch.float64, device=batch.features.device)
        for rows, weight in plan.minibatches(epoch):
            part = select(batch, rows.to(batch.features.device))
            losses = (critic(part.features, dtype) - part.target).square() / 2  # whose minimum is the mean, however skewed
            take_step(optimizer, critic, losses.sum() * weight, settings)
            total += losses.detach().double().sum()
        total = plan.summed(total)
    return {"value_loss": float(total) / plan.size}


def take_step(optimizer: torch.optim.Optimizer, module: nn.Module, loss: Tensor, settings: PPOConfig) -> None:
    """Move the parameters of a module against the gradient of a loss, which is clipped."""
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(module.parameters(), settings.max_grad_norm)
    optimizer.step()


@torch.inference_mode()
def values_of(critic: Critic, features: Tensor, dtype: torch.dtype) -> Tensor:
    """The critic's values, float32, shape (n,)."""
    if len(features) == 0:
        return torch.zeros(0)
    return torch.cat([critic(padded(part), dtype)[: len(part)] for part in features.split(CHUNK)])
