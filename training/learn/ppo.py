"""Proximal policy optimisation (Schulman et al., arXiv 1707.06347): arrays in, numbers out.

The actor and the critic share nothing, so the two updates are independent of each other and run side by side. Each goes
`epochs` times through the decisions, in minibatches; a minibatch is taken in microbatches whose gradients add up.

    loss of the actor = - surrogate - entropy weight * entropy / log(legal actions) + magnet weight * KL(policy || slow average)
                        - advice weight * log policy(advice) + auxiliary weight * (cross entropies of the guesses)
        (in tryouts the surrogate is the mean worth of the actions under the policy)
    loss of the critic = Huber(value - target)

Over several processes the gradients are averaged by DistributedDataParallel; losses are weighted so that the result is the
gradient of the mean over all decisions of the minibatch, wherever they lie.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from noms_env._jit import COMPILED
from training.config import PPOConfig
from training.learn.network import GRAIN, Actor, Critic, Guesses, masked, padded
from training.learn.policy_loss import compiled_losses


@dataclass(frozen=True)
class Sample:
    """Decisions to learn from, as tensors with a row for each.

    Attributes:
        features: uint8, shape (n, n_features): what the actor sees.
        everything: uint8, shape (n, n_features + n_hidden): what the critic sees.
        mask: int8, shape (n, n_choices).
        choice: int64, shape (n,).
        log_probability: float32, shape (n,): of the choice, when it was taken.
        advantage: float32, shape (n,): normalised.
        target: float32, shape (n,): what the critic should have said.
        entropy_weight: float32, shape (n,).
        hidden: uint8, shape (n, n_hidden): what the guesses are about.
        tricks: int64, shape (n,): taken by the seat at the end of the deal, for the guesses.
        slow: float32, shape (n, n_choices): log probabilities of the slow average, for the magnet; no columns without it.
        advice: int64, shape (n,): what an adviser would have chosen; any number where there is no weight.
        advice_weight: float32, shape (n,).
        worth: float32, shape (n, n_choices): what each action would have come to, normalised; no columns where none was tried.
        told: float32, shape (n, n_choices): how probable a teacher finds each action; no columns where none told it.
    """

    features: Tensor
    everything: Tensor
    mask: Tensor
    choice: Tensor
    log_probability: Tensor
    advantage: Tensor
    target: Tensor
    entropy_weight: Tensor
    hidden: Tensor
    tricks: Tensor
    slow: Tensor
    advice: Tensor
    advice_weight: Tensor
    worth: Tensor
    told: Tensor

    def __len__(self) -> int:
        """Number of decisions."""
        return len(self.choice)


class Student(nn.Module):
    """The actor, with its auxiliary heads where they are wanted: what the actor's optimiser changes."""

    def __init__(self, actor: Actor, guesses: Guesses | None = None) -> None:
        super().__init__()
        self.actor = actor
        self.guesses = guesses

    def forward(self, features: Tensor, dtype: torch.dtype) -> tuple[Tensor, tuple[Tensor, Tensor, Tensor] | None]:
        """Logits, and what the auxiliary heads say."""
        x = self.actor.trunk(features, dtype)
        return self.actor.logits(x, features), None if self.guesses is None else self.guesses(x)


@dataclass(frozen=True)
class MinibatchPlan:
    """How many decisions each process has, so that all take the same number of steps.

    Attributes:
        sizes: decisions of each process.
        rank: which of them this is.
        group: of processes, for torch.distributed; the actor's and the critic's updates run side by side, so each needs one.
    """

    sizes: tuple[int, ...]
    rank: int = 0
    group: Any = None

    def minibatches(self, settings: PPOConfig, seed: int) -> Iterator[tuple[Tensor, float]]:
        """One pass over this process's decisions in random order; a few that would make the parts uneven are left out.

        Yields:
            rows, int64, and the weight of a row in the loss, such that the average over the processes is the mean over all
            rows of the minibatch.
        """
        order = torch.randperm(self.sizes[self.rank], generator=torch.Generator().manual_seed(seed))
        lengths = [_part_sizes(size, self._steps(settings)) for size in self.sizes]
        for rows, *together in zip(order[: sum(lengths[self.rank])].split(lengths[self.rank]), *lengths, strict=True):
            yield rows, len(self.sizes) / max(1, sum(together))

    def learnt(self, settings: PPOConfig) -> int:
        """Decisions of all processes that a pass learns from."""
        return sum(sum(_part_sizes(size, self._steps(settings))) for size in self.sizes)

    def _steps(self, settings: PPOConfig) -> int:
        """Minibatches of a pass."""
        return max(1, math.ceil(sum(self.sizes) / settings.minibatch))


def _part_sizes(size: int, parts: int) -> list[int]:
    """Rows of each of so many parts: equal and a multiple of `GRAIN`, or where they are small as equal as they can be."""
    if size >= 8 * GRAIN * parts:
        return [size // parts // GRAIN * GRAIN] * parts
    return [size // parts + (place < size % parts) for place in range(parts)]


# -------------------------------------------------------------------------------------------------------- the actor


ACTOR_FIGURES = ("policy_loss", "kl", "clip_fraction", "magnet_kl", "auxiliary")


def update_actor(
    student: nn.Module,
    slow: Actor,
    optimiser: torch.optim.Optimizer,
    sample: Sample,
    shares: MinibatchPlan,
    settings: PPOConfig,
    *,
    magnet: float,
    seed: int,
    lesson: bool = False,
    dtype: torch.dtype = torch.float32,
) -> dict[str, float]:
    """Improve the policy.

    Args:
        student: a `Student`, or one in DistributedDataParallel.
        slow: the slow average of the policy; moves a little with each step.
        optimiser: of the student's parameters.
        sample: this process's decisions.
        shares: how many each process has.
        settings: how to learn.
        magnet: weight of the KL to the slow average, as it was before the update (`Sample.slow`).
        seed: of the order of the decisions.
        lesson: the decisions are a teacher's: make them more probable, whatever came of them.
        dtype: precision of the passes.

    Returns:
        Means over the decisions: `ACTOR_FIGURES`, `epochs`. In a lesson the loss is the cross entropy, in tryouts what is lost
        on the mean legal action; nothing is clipped in them.
    """
    bare = bare_module(student)
    assert isinstance(bare, Student)
    total = torch.zeros(len(ACTOR_FIGURES), dtype=torch.float64, device=sample.features.device)
    epochs, learnt = 0, shares.learnt(settings)
    for epoch in range(settings.epochs):
        of_epoch = torch.zeros_like(total)
        for rows, weight in shares.minibatches(settings, seed + epoch):
            optimiser.zero_grad(set_to_none=True)
            for part, last in _microbatches(rows, settings.microbatch):
                with _without_sync(student, last):
                    losses, figures = actor_losses(
                        student, sample, part.to(sample.features.device), settings, magnet, lesson, dtype
                    )
                    (losses.sum() * weight).backward()
                of_epoch += figures
            nn.utils.clip_grad_norm_(student.parameters(), settings.gradient_norm)
            optimiser.step()
            follow(slow, bare.actor, settings.average)
        together = all_summed(of_epoch, shares)
        total += together
        epochs += 1
        if float(together[ACTOR_FIGURES.index("kl")]) / learnt > settings.target_kl > 0:
            break
    means = total / (learnt * epochs)
    return dict(zip(ACTOR_FIGURES, means.tolist(), strict=True)) | {"epochs": float(epochs)}


def actor_losses(
    student: nn.Module,
    sample: Sample,
    rows: Tensor,
    settings: PPOConfig,
    magnet: float,
    lesson: bool,
    dtype: torch.dtype,
) -> tuple[Tensor, Tensor]:
    """The loss of each decision, float32, shape (rows,), and the sums of `ACTOR_FIGURES`, float64."""
    features, mask = sample.features.index_select(0, rows), sample.mask.index_select(0, rows)
    logits, guesses = student(features, dtype)
    compute = compiled_losses if COMPILED and logits.device.type == "cpu" else policy_losses
    losses, figures = compute(
        logits,
        mask,
        sample.choice[rows],
        sample.log_probability[rows],
        sample.advantage[rows],
        sample.entropy_weight[rows],
        sample.slow.index_select(0, rows) if magnet > 0 else sample.slow,
        sample.advice[rows],
        sample.advice_weight[rows],
        sample.worth.index_select(0, rows),
        sample.told.index_select(0, rows),
        settings.clip,
        magnet,
        lesson,
    )
    guess_loss = losses.new_zeros(len(rows))
    if guesses is not None:
        guess_loss = guess_losses(guesses, sample.hidden.index_select(0, rows), sample.tricks[rows])
        losses = losses + settings.auxiliary * guess_loss
    return losses, torch.cat([figures, guess_loss.detach().double().sum()[None]])


def policy_losses(
    logits: Tensor,
    mask: Tensor,
    choice: Tensor,
    log_probability: Tensor,
    advantage: Tensor,
    entropy_weight: Tensor,
    slow: Tensor,
    advice: Tensor,
    advice_weight: Tensor,
    worth: Tensor,
    told: Tensor,
    clip: float,
    magnet: float,
    lesson: bool,
) -> tuple[Tensor, Tensor]:
    """The loss of each decision but for the guesses, by operations of torch; `policy_loss` has the same compiled.

    Args:
        logits: float32, shape (n, n_choices), not masked.
        mask: int8, shape (n, n_choices).
        choice: int64, shape (n,).
        log_probability: float32, shape (n,): of the choice, when it was taken.
        advantage: float32, shape (n,).
        entropy_weight: float32, shape (n,).
        slow: float32, shape (n, n_choices): log probabilities of the slow average; not looked at where the magnet is off.
        advice: int64, shape (n,): what an adviser would have chosen; not looked at where there is no weight.
        advice_weight: float32, shape (n,).
        worth: float32, shape (n, n_choices): of the actions; no columns where none was tried.
        told: float32, shape (n, n_choices): how probable the teacher finds the actions; no columns where none told it.
        clip: of the ratio.
        magnet: weight of the KL to the slow average.
        lesson: the choice is a teacher's.

    Returns:
        float32, shape (n,), and the sums of `ACTOR_FIGURES` but the last, float64.
    """
    logits = masked(logits, mask)
    log_policy, policy = functional.log_softmax(logits, -1), functional.softmax(logits, -1)
    taken = log_policy.gather(1, choice[:, None]).squeeze(1)
    is_tried = worth.shape[1] > 0
    log_ratio = torch.zeros_like(taken) if lesson or is_tried else taken - log_probability
    if is_tried:
        surrogate = (policy * worth).sum(-1) - (worth * mask).sum(-1) / mask.sum(-1)
    else:
        of_lesson = (told * log_policy).sum(-1) if told.shape[1] > 0 else taken
        surrogate = of_lesson if lesson else clipped_surrogate(log_ratio, advantage, clip)
    advised = log_policy.gather(1, advice.clamp(min=0)[:, None]).squeeze(1)
    losses = -surrogate - entropy_weight * normalised_entropy(policy, log_policy, mask)
    losses = losses - torch.where(advice_weight > 0, advice_weight * advised, 0.0)
    to_slow = losses.new_zeros(len(losses))
    if magnet > 0:
        to_slow = (policy * (log_policy - slow)).sum(-1)
        losses = losses + magnet * to_slow
    with torch.no_grad():
        ratio = log_ratio.exp()
        moved = ratio - 1 - log_ratio  # an estimate of the KL that is never negative (Schulman 2020, "Approximating KL", k3)
        clipped = ((ratio - 1).abs() > clip).float()
        figures = torch.stack([-surrogate, moved, clipped, to_slow]).double().sum(1)
    return losses, figures


def clipped_surrogate(log_ratio: Tensor, advantage: Tensor, clip: float) -> Tensor:
    """Equation 7 of the paper for each decision: min(r A, clip(r, 1 - clip, 1 + clip) A)."""
    ratio = log_ratio.exp()
    return torch.minimum(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage)


def normalised_entropy(policy: Tensor, log_policy: Tensor, mask: Tensor) -> Tensor:
    """Entropy over the logarithm of the number of legal actions: 0 to 1, whatever the phase; 0 where there is one action."""
    legal = mask.sum(-1, dtype=torch.float32)
    return -(policy * log_policy).sum(-1) / legal.clamp(min=2).log()


def guess_losses(guesses: tuple[Tensor, Tensor, Tensor], hidden: Tensor, tricks: Tensor) -> Tensor:
    """Cross entropies of the auxiliary heads, each divided by the logarithm of its number of answers, added up.

    Args:
        guesses: logits: holders (n, holders, cards), partners (n, partners), tricks (n, most + 1).
        hidden: uint8, shape (n, holders * cards + partners + ...): who holds what, then who is the partner.
        tricks: int64, shape (n,).

    Returns:
        float32, shape (n,).
    """
    holders, partners, counts = guesses
    n_held = holders.shape[1] * holders.shape[2]
    held: Tensor = hidden[:, :n_held].float().unflatten(-1, holders.shape[1:])
    by_card = -(functional.log_softmax(holders, 1) * held).sum((1, 2)) / held.sum((1, 2)).clamp(min=1)
    loss: Tensor = by_card / math.log(max(2, holders.shape[1]))
    if partners.shape[1] > 0:
        partner = hidden[:, n_held : n_held + partners.shape[1]].float()
        loss = loss - (functional.log_softmax(partners, 1) * partner).sum(1) / math.log(max(2, partners.shape[1]))
    of_tricks: Tensor = functional.cross_entropy(counts, tricks, reduction="none") / math.log(counts.shape[1])
    return loss + of_tricks


@torch.no_grad()
def follow(slow: nn.Module, fast: nn.Module, share: float) -> None:
    """Move the slow average a share of the way to the present parameters."""
    torch._foreach_lerp_(list(slow.parameters()), list(fast.parameters()), share)


# ------------------------------------------------------------------------------------------------------- the critic


def update_critic(
    critic: nn.Module,
    optimiser: torch.optim.Optimizer,
    sample: Sample,
    shares: MinibatchPlan,
    settings: PPOConfig,
    *,
    seed: int,
    dtype: torch.dtype = torch.float32,
) -> dict[str, float]:
    """Bring the values nearer to the targets; the arguments are those of `update_actor`.

    Returns:
        `value_loss`: the mean over the decisions of the last epoch.
    """
    mean = 0.0
    for epoch in range(settings.epochs):
        total = torch.zeros(1, dtype=torch.float64, device=sample.features.device)
        for rows, weight in shares.minibatches(settings, seed + epoch):
            optimiser.zero_grad(set_to_none=True)
            for part, last in _microbatches(rows, settings.microbatch):
                here = part.to(sample.features.device)
                with _without_sync(critic, last):
                    values = critic(sample.everything.index_select(0, here), dtype)
                    losses = functional.huber_loss(values, sample.target[here], reduction="none")
                    (losses.sum() * weight).backward()
                total += losses.detach().double().sum()
            nn.utils.clip_grad_norm_(critic.parameters(), settings.gradient_norm)
            optimiser.step()
        mean = float(all_summed(total, shares)) / shares.learnt(settings)
    return {"value_loss": mean}


@torch.inference_mode()
def log_policy_of(actor: Actor, features: Tensor, mask: Tensor, dtype: torch.dtype, microbatch: int) -> Tensor:
    """Log probabilities of an actor, float32, shape (n, n_choices)."""
    logits = actor.frozen(dtype)
    parts = zip(features.split(microbatch), mask.split(microbatch), strict=True)
    found = [functional.log_softmax(masked(logits(seen), legal), -1) for seen, legal in parts]
    return torch.cat(found) if found else torch.zeros(mask.shape)


@torch.inference_mode()
def values_of(critic: Critic, everything: Tensor, dtype: torch.dtype, microbatch: int) -> Tensor:
    """What the critic says, float32, shape (n,)."""
    if len(everything) == 0:
        return torch.zeros(0)
    return torch.cat([critic(padded(part), dtype)[: len(part)] for part in everything.split(microbatch)])


# -------------------------------------------------------------------------------------------------- several processes


def _microbatches(rows: Tensor, size: int) -> Iterator[tuple[Tensor, bool]]:
    """Rows in parts, and whether a part is the last; there is always one, so that all processes take part in each step."""
    parts: Sequence[Tensor] = rows.split(size) if len(rows) > 0 else (rows,)
    for place, part in enumerate(parts):
        yield part, place == len(parts) - 1


def _without_sync(module: nn.Module, last: bool) -> AbstractContextManager[None]:
    """Gradients of several processes are averaged with the last microbatch only."""
    if isinstance(module, nn.parallel.DistributedDataParallel) and not last:
        return module.no_sync()
    return nullcontext()


def bare_module(module: nn.Module) -> nn.Module:
    """A module without DistributedDataParallel."""
    return module.module if isinstance(module, nn.parallel.DistributedDataParallel) else module


def all_summed(values: Tensor, shares: MinibatchPlan) -> Tensor:
    """The sum over all processes."""
    if len(shares.sizes) > 1:
        values = values.clone()
        torch.distributed.all_reduce(values, group=shares.group)
    return values
