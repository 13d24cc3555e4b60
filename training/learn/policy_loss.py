"""The loss of the policy and its gradient in one pass over the legal actions, compiled: what `ppo.policy_losses` says.

Of some hundred actions about ten are legal, and torch's operations go through all of them two dozen times.

With p the policy, l = log p, c the choice, A its advantage, r = exp(l_c - l_c before), H = - sum p l, n the number of legal
actions, s the log probabilities of the slow average, a the choice of an adviser, and w, m, v the weights of entropy, magnet and
advice,

    loss = - min(r A, clip(r) A) - w H / log n + m sum p (l - s) - v l_a

and by the logit of action k

    d loss = - u ([k = c] - p_k) + (w / log n) p_k (l_k + H) + m p_k (l_k - s_k - sum p (l - s))
                       - v ([k = a] - p_k)

where u is r A, or 0 where the clipped term is the smaller one. In a lesson the first term of the loss is - l_c, and u is 1;
where the teacher tells the probabilities t, it is - sum t l, and its gradient p_k - t_k.
Where all actions were tried, with the worths q, it is - sum p (q - mean of q), and its gradient - p_k (q_k - sum p q).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from noms_env._jit import jit

FIGURES = 4
"""Sums that the loss comes with: of the first term, of the estimated KL, of the clipped rows, of the KL to the slow average."""


def compiled_losses(
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
    """See `ppo.policy_losses`; all tensors on the processor, `logits` float32."""
    losses, figures = _PolicyLoss.apply(
        *(logits, mask, choice, log_probability, advantage, entropy_weight, slow, advice, advice_weight, worth, told),
        *(clip, magnet, lesson),
    )
    return losses, figures


class _PolicyLoss(torch.autograd.Function):
    """The compiled pass; the gradient is found on the way forward."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, *given: Any) -> tuple[Tensor, Tensor]:
        """The losses and the figures."""
        *tensors, clip, magnet, lesson = given
        losses, gradient = torch.empty(len(logits)), torch.zeros_like(logits)
        figures = torch.zeros(FIGURES, dtype=torch.float64)
        read = [tensor.detach().numpy() for tensor in (logits, *tensors)]
        written = [tensor.numpy() for tensor in (losses, gradient, figures)]
        arguments: list[Any] = [*read, clip, magnet, lesson, *written]
        write_losses(*arguments)
        ctx.save_for_backward(gradient)
        ctx.mark_non_differentiable(figures)
        return losses, figures

    @staticmethod
    def backward(ctx: Any, *of_results: Tensor) -> tuple[Tensor | None, ...]:
        """The gradient of the logits."""
        (gradient,) = ctx.saved_tensors
        return gradient * of_results[0][:, None], *[None] * 13


@jit
def write_losses(
    logits,
    mask,
    choice,
    before,
    advantage,
    entropy_weight,
    slow,
    advice,
    advice_weight,
    worth,
    told,
    clip,
    magnet,
    lesson,
    losses,
    gradient,
    figures,
):
    """Write the loss of each decision, its gradient, and the sums of the figures.

    Args:
        logits: float32, shape (n, actions).
        mask: int8, shape (n, actions).
        choice: int64, shape (n,).
        before: float32, shape (n,): log probability of the choice.
        advantage: float32, shape (n,).
        entropy_weight: float32, shape (n,).
        slow: float32, shape (n, actions); any number of columns where `magnet` is 0.
        advice: int64, shape (n,): any number where there is no weight.
        advice_weight: float32, shape (n,).
        worth: float32, shape (n, actions); no columns where no actions were tried.
        told: float32, shape (n, actions): how probable the teacher finds them; no columns where none told it.
        clip: of the ratio.
        magnet: weight.
        lesson: see `ppo.update_actor`.
        losses: float32, shape (n,); is written.
        gradient: float32, shape (n, actions), zeros; is written where actions are legal.
        figures: float64, shape (FIGURES,); is added to.
    """
    is_tried = worth.shape[1] > 0
    is_told = lesson and told.shape[1] > 0
    for i in range(len(logits)):
        highest = -np.inf
        legal = 0
        for k in range(logits.shape[1]):
            if mask[i, k] != 0:
                highest = max(highest, np.float64(logits[i, k]))
                legal += 1
        total = 0.0
        for k in range(logits.shape[1]):
            if mask[i, k] != 0:
                gradient[i, k] = np.exp(logits[i, k] - highest)  # for a moment the policy, but for its total
                total += gradient[i, k]
        base = highest + np.log(total)
        entropy = 0.0
        to_slow = 0.0
        expected = 0.0
        average = 0.0
        agreed = 0.0
        for k in range(logits.shape[1]):
            if mask[i, k] != 0:
                probability = gradient[i, k] / total
                entropy -= probability * (logits[i, k] - base)
                if magnet > 0:
                    to_slow += probability * (logits[i, k] - base - slow[i, k])
                if is_tried:
                    expected += probability * worth[i, k]
                    average += worth[i, k] / legal
                if is_told:
                    agreed += told[i, k] * (logits[i, k] - base)
        taken = logits[i, choice[i]] - base
        log_ratio = 0.0 if lesson or is_tried else taken - before[i]
        ratio = np.exp(log_ratio)
        if is_tried:
            gain = expected - average
            pull = 0.0
        elif lesson:
            gain = agreed if is_told else taken
            pull = 1.0
        else:
            unclipped = ratio * advantage[i]
            clipped = min(max(ratio, 1 - clip), 1 + clip) * advantage[i]
            gain = min(unclipped, clipped)
            pull = unclipped if unclipped <= clipped else 0.0
        weight = entropy_weight[i] / np.log(max(legal, 2))
        losses[i] = -gain - weight * entropy + magnet * to_slow
        push = np.float64(advice_weight[i])
        if push > 0:
            losses[i] -= push * (logits[i, advice[i]] - base)
        for k in range(logits.shape[1]):
            if mask[i, k] != 0:
                probability = gradient[i, k] / total
                of_logit = (pull + push) * probability + weight * probability * (logits[i, k] - base + entropy)
                if magnet > 0:
                    of_logit += magnet * probability * (logits[i, k] - base - slow[i, k] - to_slow)
                if is_tried:
                    of_logit -= probability * (worth[i, k] - expected)
                if is_told:
                    of_logit -= told[i, k]
                gradient[i, k] = of_logit
        if not is_told:
            gradient[i, choice[i]] -= pull
        if push > 0:
            gradient[i, advice[i]] -= push
        figures[0] -= gain
        figures[1] += ratio - 1 - log_ratio
        figures[2] += 1.0 if abs(ratio - 1) > clip else 0.0
        figures[3] += to_slow
