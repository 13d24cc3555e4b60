"""Proximal policy optimisation (Schulman et al., arXiv 1707.06347).

Actor and critic share no parameter, so `update_actor` and `update_critic` are independent of each other and run side by side.
Each goes through the decisions of an iteration in shuffled minibatches, once or several times.

    actor:  - surrogate - ent_coef * entropy / log(legal actions) + uniform_kl_coef * KL(uniform || policy)
            + distil_coef * KL(recorded policy || policy), of recorded decisions
    critic: (value - target)^2 / 2

While an expert is imitated, the cross entropy to it takes the place of the surrogate; where all actions are played out, their
values and the KL to the policy before do (`all_actions`). With several processes DistributedDataParallel averages the
gradients, each process by its share of the decisions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from noms_env.core.actions import PLAYING

from ..thread_pool import ThreadPool
from .collect import Rollout
from .config import PPOConfig
from .imitation import Recorded, distance_from
from .network import GRAIN, Critic, masked, padded
from .schedule import Now, Stage

CHUNK, GPU_CHUNK = 2048, 1 << 16
"""Rows that go through a network at once where no gradients are needed."""
ACTOR_COLUMNS = ("features", "mask", "choice", "log_prob", "phase", "advantage", "expert_probs", "values", "log_policy")
ACTOR_FIGURES = ("losses/policy_loss", "losses/approx_kl", "losses/clipfrac")


@dataclass(frozen=True)
class Shuffle:
    """How the decisions of an iteration are cut into minibatches: in all processes into as many.

    Attributes:
        rows: decisions of this process.
        total: decisions of all processes.
        minibatch_size: decisions of all processes in a minibatch, at most.
        seed: of the order.
        world: number of processes.
        device: where the order is drawn.
    """

    rows: int
    total: int
    minibatch_size: int
    seed: int
    world: int = 1
    device: str = "cpu"

    def minibatches(self, epoch: int) -> Iterator[Tensor]:
        """Rows in random order, int64; a few that would make large minibatches uneven are left out."""
        generator = torch.Generator(self.device).manual_seed(self.seed + epoch)
        order = torch.randperm(self.rows, generator=generator, device=self.device)
        steps = max(1, math.ceil(self.total / self.minibatch_size))
        if self.rows >= 8 * GRAIN * steps:
            order = order[: self.rows // (GRAIN * steps) * GRAIN * steps]
        yield from order.tensor_split(steps)

    def loss(self, losses: Tensor) -> Tensor:
        """The mean, weighted so that the average over the processes is the mean over the decisions of all of them."""
        return losses.sum() * (self.rows / max(1, self.total) * self.world / max(1, len(losses)))


@dataclass(frozen=True)
class Trainable:
    """A network that learns, in DistributedDataParallel where there are several processes.

    Its passes are of a dtype; `summed` is the sum of a tensor over the processes. Actor and critic learn side by side, so each
    has a group of its own.
    """

    module: nn.Module
    optimizer: torch.optim.Optimizer
    dtype: torch.dtype = torch.float32
    summed: Callable[[Tensor], Tensor] = lambda values: values

    def step(self, loss: Tensor, settings: PPOConfig) -> None:
        """Move the parameters against the gradient of a loss, which is clipped."""
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.module.parameters(), settings.max_grad_norm)
        self.optimizer.step()


def check_optimizer_state(optimizer: torch.optim.Optimizer, state: dict[str, Any]) -> None:
    """ValueError if a state cannot be that of an optimizer: its settings, but for the learning rate, or its tensors differ."""
    groups = optimizer.state_dict()["param_groups"], state["param_groups"]
    now, then = ([group | {"lr": 0} for group in each] for each in groups)
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    tensors = [(parameters[place].shape, tensor) for place, kept in state["state"].items() for tensor in kept.values()]
    if now != then or any(tensor.shape not in ((), shape) or tensor.dtype != torch.float32 for shape, tensor in tensors):
        raise ValueError("the optimizer state does not match")


def ppo_update(
    actor: Trainable,
    critic: Trainable,
    batch: Rollout,
    shuffle: Shuffle,
    now: Now,
    threads: ThreadPool,
    recorded: Iterator[Recorded] | None = None,
    lessons: tuple[Rollout, Shuffle] | None = None,
) -> dict[str, float]:
    """Update both networks, side by side; only the critic in its warm-up.

    Args:
        actor: the policy.
        critic: the values.
        batch: this process's decisions, with targets, and with advantages of mean 0 and variance 1.
        shuffle: of the minibatches.
        now: stage and coefficients of the iteration.
        threads: that do it.
        recorded: for each minibatch of the actor decisions of another player, from which it learns too; None for none.
        lessons: the decisions that the actor learns from, and their minibatches; None for those of the critic.

    Returns:
        The figures of `update_actor` and `update_critic`, and `charts/learning_rate`.
    """
    for network in (actor, critic):
        for group in network.optimizer.param_groups:
            group["lr"] = now.ppo.learning_rate
    jobs = [partial(update_critic, critic, batch, shuffle, now.ppo)]
    if now.stage is not Stage.CRITIC_WARMUP:
        jobs.append(partial(update_actor, actor, *(lessons or (batch, shuffle)), now.ppo, recorded))
    metrics = {"charts/learning_rate": now.ppo.learning_rate}
    for figures in threads.all(jobs):
        metrics |= figures
    return metrics


# --------------------------------------------------------------------------------------------------------- the actor


def update_actor(
    actor: Trainable,
    batch: Rollout,
    shuffle: Shuffle,
    settings: PPOConfig,
    recorded: Iterator[Recorded] | None = None,
) -> dict[str, float]:
    """Improve the policy; arguments as in `ppo_update`, with the coefficients of this iteration.

    Returns:
        Means over the decisions: `ACTOR_FIGURES`, and with recorded decisions `losses/distillation_kl`; and how many
        `losses/minibatches` there were. The policy loss is the cross entropy while an expert is imitated.
    """
    parts, distances = list[Tensor](), list[Tensor]()
    for rows in (rows for epoch in range(settings.update_epochs) for rows in shuffle.minibatches(epoch)):
        part = batch.select(rows, *ACTOR_COLUMNS)
        others = next(recorded) if recorded else None
        seen, legal = part.features, part.mask
        if others is not None:
            seen, legal = torch.cat([seen, others.features]), torch.cat([legal, others.mask])
        logits = actor.module(seen, legal, actor.dtype)
        losses, figures = policy_losses(logits[: len(rows)], part, settings)
        loss = shuffle.loss(losses)
        if others is not None:
            distance = distance_from(others, logits[len(rows) :])
            distances.append(distance.detach())
            loss = loss + others.coef * distance
        actor.step(loss, settings)
        parts.append(torch.cat([figures, figures.new_tensor([len(rows)])]))
        if settings.target_kl > 0 and figure_means(actor.summed(parts[-1]))["losses/approx_kl"] > settings.target_kl:
            break
    metrics = figure_means(actor.summed(torch.stack(parts).sum(0))) | {"losses/minibatches": float(len(parts))}
    return metrics | ({"losses/distillation_kl": float(torch.stack(distances).mean())} if distances else {})


def figure_means(sums: Tensor) -> dict[str, float]:
    """`ACTOR_FIGURES` as means, from their sums and, behind them, the number of decisions."""
    *totals, count = sums.tolist()
    return {name: total / max(1.0, count) for name, total in zip(ACTOR_FIGURES, totals, strict=True)}


def policy_losses(logits: Tensor, batch: Rollout, settings: PPOConfig) -> tuple[Tensor, Tensor]:
    """The loss of each decision, float32, shape (n,), and the sums of `ACTOR_FIGURES`, float64.

    `logits`: float32, shape (n, n_choices), not masked.
    """
    logits = masked(logits, batch.mask)
    log_policy, policy = functional.log_softmax(logits, -1), functional.softmax(logits, -1)
    log_ratio, all_actions_kl = torch.zeros_like(batch.log_prob), None
    if batch.expert_probs is not None:
        gain = (batch.expert_probs * log_policy).sum(-1)
    elif batch.values is not None and batch.log_policy is not None:
        all_actions_kl = (policy * (log_policy - batch.log_policy)).sum(-1)
        gain = (policy * batch.values).sum(-1) - settings.kl_coef * all_actions_kl
    else:
        log_ratio = log_prob_of(log_policy, batch.choice) - batch.log_prob
        gain = clipped_surrogate(log_ratio, batch.advantage, settings.clip_coef)
    is_call = batch.phase < PLAYING
    ent_coef = torch.where(is_call, settings.ent_coef_call, settings.ent_coef_play)
    losses = -gain - ent_coef * normalised_entropy(policy, log_policy, batch.mask)
    losses = losses + settings.uniform_kl_coef * is_call * uniform_kl(log_policy, batch.mask)
    with torch.no_grad():
        ratio = log_ratio.exp()
        # never negative (Schulman 2020, "Approximating KL Divergence", k3)
        approx_kl = ratio - 1 - log_ratio if all_actions_kl is None else all_actions_kl
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


def update_critic(critic: Trainable, batch: Rollout, shuffle: Shuffle, settings: PPOConfig) -> dict[str, float]:
    """Bring the values nearer to their targets; `losses/value_loss` is the mean over the decisions of the last epoch."""
    for epoch in range(settings.update_epochs):
        total = torch.zeros(2, dtype=torch.float64, device=batch.choice.device)
        for rows in shuffle.minibatches(epoch):
            part = batch.select(rows, "seen", "target")
            error = critic.module(part.seen, critic.dtype) - part.target
            losses = error.square() / 2  # whose minimum is the mean, however skewed
            critic.step(shuffle.loss(losses), settings)
            total += torch.stack([losses.detach().double().sum(), total.new_tensor(len(rows))])
    loss, count = critic.summed(total).tolist()
    return {"losses/value_loss": loss / max(1.0, count)}


def critic_values(critic: Critic, seen: Tensor, dtype: torch.dtype, threads: ThreadPool) -> Tensor:
    """The critic's values of what it sees, float32, shape (n,)."""
    return torch.cat(threads.all([partial(_values, critic, part, dtype) for part in seen.tensor_split(threads.threads)]))


@torch.no_grad()
def _values(critic: Critic, seen: Tensor, dtype: torch.dtype) -> Tensor:
    if len(seen) == 0:
        return torch.zeros(0, device=seen.device)
    chunk = CHUNK if seen.device.type == "cpu" else GPU_CHUNK
    return torch.cat([critic.forward(padded(part), dtype)[: len(part)] for part in seen.split(chunk)])
