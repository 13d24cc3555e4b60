"""Proximal policy optimisation (Schulman et al., arXiv 1707.06347).

Actor and critic share no parameters, so `update_actor` and `update_critic` run in parallel. Each makes one or more passes over
the decisions of an iteration, in shuffled minibatches.

    actor:  - surrogate - ent_coef * entropy / log(legal actions) + uniform_kl_coef * KL(uniform || policy)
            + distil_coef * KL(recorded policy || policy), on recorded decisions
    critic: (value - target)^2 / 2

Imitation replaces the surrogate by the cross entropy to the expert. Decisions with all actions played out replace it by the
expected value and the KL to the old policy (`all_actions`). With several processes, DistributedDataParallel averages the
gradients, weighted by each process's share of the decisions.
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
from .network import GRAIN, Critic, masked, pad_rows
from .schedule import Now, Stage

CHUNK, GPU_CHUNK = 2048, 1 << 16  # rows per forward pass without gradients
ACTOR_COLUMNS = ("features", "mask", "choice", "log_prob", "phase", "advantage", "expert_probs", "values", "log_policy")
ACTOR_FIGURES = ("losses/policy_loss", "losses/approx_kl", "losses/clipfrac")


@dataclass(frozen=True)
class Shuffle:
    """Split of the decisions of an iteration into minibatches: the same number in each of `world` processes.

    `rows` are the decisions of this process, `total` those of all, as is the maximum, `minibatch_size`.
    """

    rows: int
    total: int
    minibatch_size: int
    seed: int
    world: int = 1
    device: str = "cpu"

    def minibatches(self, epoch: int) -> Iterator[Tensor]:
        """Yield rows in random order, int64; drops a few rows of a large batch, so that all minibatches have equal sizes."""
        generator = torch.Generator(self.device).manual_seed(self.seed + epoch)
        order = torch.randperm(self.rows, generator=generator, device=self.device)
        steps = max(1, math.ceil(self.total / self.minibatch_size))
        if self.rows >= 8 * GRAIN * steps:
            order = order[: self.rows // (GRAIN * steps) * GRAIN * steps]
        yield from order.tensor_split(steps)

    def loss(self, losses: Tensor) -> Tensor:
        """Return the mean loss, weighted so that the average over processes is the mean over all decisions."""
        return losses.sum() * (self.rows / max(1, self.total) * self.world / max(1, len(losses)))


@dataclass(frozen=True)
class Trainable:
    """A network with its optimizer and the dtype of its passes; `all_sum` sums a tensor over all processes."""

    module: nn.Module
    optimizer: torch.optim.Optimizer
    dtype: torch.dtype = torch.float32
    all_sum: Callable[[Tensor], Tensor] = lambda values: values

    def step(self, loss: Tensor, settings: PPOConfig) -> None:
        """Take an optimizer step on a loss, with clipped gradients."""
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.module.parameters(), settings.max_grad_norm)
        self.optimizer.step()


def check_optimizer_state(optimizer: torch.optim.Optimizer, state: dict[str, Any]) -> None:
    """Check that a state fits an optimizer: same settings except the learning rate, same tensor shapes; ValueError if not."""
    groups = optimizer.state_dict()["param_groups"], state["param_groups"]
    own, saved = ([group | {"lr": 0} for group in each] for each in groups)
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    tensors = [(parameters[i].shape, tensor) for i, moments in state["state"].items() for tensor in moments.values()]
    if own != saved or any(tensor.shape not in ((), shape) or tensor.dtype != torch.float32 for shape, tensor in tensors):
        raise ValueError("the optimizer state does not match")


def ppo_update(
    actor: Trainable,
    critic: Trainable,
    batch: Rollout,
    shuffle: Shuffle,
    now: Now,
    threads: ThreadPool,
    recorded: Iterator[Recorded] | None = None,
    actor_batch: tuple[Rollout, Shuffle] | None = None,
) -> dict[str, float]:
    """Update both networks in parallel; in the warm-up only the critic. Returns the figures of both, and the learning rate.

    `batch` has this process's decisions, with targets and standardised advantages. `recorded` are recorded decisions for each
    minibatch of the actor, for an auxiliary distillation loss. `actor_batch` replaces `batch` and `shuffle` for the actor.
    """
    for group in actor.optimizer.param_groups + critic.optimizer.param_groups:
        group["lr"] = now.ppo.learning_rate
    jobs = [partial(update_critic, critic, batch, shuffle, now.ppo)]
    if now.stage is not Stage.CRITIC_WARMUP:
        jobs.append(partial(update_actor, actor, *(actor_batch or (batch, shuffle)), now.ppo, recorded))
    metrics = {"charts/learning_rate": now.ppo.learning_rate}
    for figures in threads.all(jobs):
        metrics |= figures
    return metrics


def update_actor(
    actor: Trainable, batch: Rollout, shuffle: Shuffle, settings: PPOConfig, recorded: Iterator[Recorded] | None = None
) -> dict[str, float]:
    """Update the policy, with the settings of this iteration; other arguments as in `ppo_update`.

    Returns means over the decisions, `ACTOR_FIGURES`; `losses/minibatches`; and with recorded decisions
    `losses/distillation_kl`. During imitation the policy loss is the cross entropy.
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
        if settings.target_kl > 0 and figure_means(actor.all_sum(parts[-1]))["losses/approx_kl"] > settings.target_kl:
            break
    metrics = figure_means(actor.all_sum(torch.stack(parts).sum(0))) | {"losses/minibatches": float(len(parts))}
    return metrics | ({"losses/distillation_kl": float(torch.stack(distances).mean())} if distances else {})


def figure_means(sums: Tensor) -> dict[str, float]:
    """Return `ACTOR_FIGURES` as means; `sums` are their sums, then the number of decisions."""
    *totals, count = sums.tolist()
    return {name: total / max(1.0, count) for name, total in zip(ACTOR_FIGURES, totals, strict=True)}


def policy_losses(logits: Tensor, batch: Rollout, settings: PPOConfig) -> tuple[Tensor, Tensor]:
    """Return the loss of each decision, float32, shape (n,), and the sums of `ACTOR_FIGURES`, float64.

    `logits`: unmasked, float32, shape (n, n_choices).
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
    """Select the log-probabilities of the choices, shape (n,), from `log_policy`, shape (n, n_choices)."""
    return log_policy.gather(1, choice[:, None]).squeeze(1)


def clipped_surrogate(log_ratio: Tensor, advantage: Tensor, clip_coef: float) -> Tensor:
    """Return min(r A, clip(r, 1 - clip_coef, 1 + clip_coef) A) for each decision: equation 7 of the paper."""
    ratio = log_ratio.exp()
    return torch.minimum(ratio * advantage, ratio.clamp(1 - clip_coef, 1 + clip_coef) * advantage)


def normalised_entropy(policy: Tensor, log_policy: Tensor, mask: Tensor) -> Tensor:
    """Return the entropy divided by the logarithm of the number of legal actions: 0 to 1; 0 for a single action."""
    legal = mask.sum(-1, dtype=torch.float32)
    return -(policy * log_policy).sum(-1) / legal.clamp(min=2).log()


def uniform_kl(log_policy: Tensor, mask: Tensor) -> Tensor:
    """Return KL(uniform over legal actions || policy), whose gradient does not vanish for improbable actions."""
    legal = mask.sum(-1, dtype=torch.float32)
    return -(log_policy * mask).sum(-1) / legal - legal.log()


def update_critic(critic: Trainable, batch: Rollout, shuffle: Shuffle, settings: PPOConfig) -> dict[str, float]:
    """Fit the values to their targets; return `losses/value_loss`, the mean over the last epoch."""
    for epoch in range(settings.update_epochs):
        total = torch.zeros(2, dtype=torch.float64, device=batch.choice.device)
        for rows in shuffle.minibatches(epoch):
            part = batch.select(rows, "seen", "target")
            error = critic.module(part.seen, critic.dtype) - part.target
            losses = error.square() / 2  # its minimum is the mean, also of skewed returns
            critic.step(shuffle.loss(losses), settings)
            total += torch.stack([losses.detach().double().sum(), total.new_tensor(len(rows))])
    loss, count = critic.all_sum(total).tolist()
    return {"losses/value_loss": loss / max(1.0, count)}


def critic_values(critic: Critic, seen: Tensor, dtype: torch.dtype, threads: ThreadPool) -> Tensor:
    """Return the critic's values of its inputs `seen`, float32, shape (n,)."""
    return torch.cat(threads.all([partial(_values, critic, part, dtype) for part in seen.tensor_split(threads.threads)]))


@torch.no_grad()
def _values(critic: Critic, seen: Tensor, dtype: torch.dtype) -> Tensor:
    if len(seen) == 0:
        return torch.zeros(0, device=seen.device)
    chunk = CHUNK if seen.device.type == "cpu" else GPU_CHUNK
    return torch.cat([critic.forward(pad_rows(part), dtype)[: len(part)] for part in seen.split(chunk)])
