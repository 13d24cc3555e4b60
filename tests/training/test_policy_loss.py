"""The compiled loss of the policy, against torch's operations and their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from training.learn import policy_loss
from training.learn.policy_loss import compiled_losses
from training.learn.ppo import policy_losses

ROWS, ACTIONS = 300, 12


def some(slow_columns: int = ACTIONS, worth_columns: int = 0, told_columns: int = 0) -> dict[str, Tensor]:
    """Decisions of all rule_sets: few and many legal actions, ratios within and beyond the clip on both sides."""
    torch.manual_seed(5)
    legal = torch.rand(ROWS, ACTIONS) < torch.linspace(0.05, 1, ROWS)[:, None]
    choice = torch.randint(ACTIONS, (ROWS,))
    legal[torch.arange(ROWS), choice] = True
    logits = 3 * torch.randn(ROWS, ACTIONS)
    policy = logits.masked_fill(~legal, -1e9).log_softmax(-1)
    return {
        "logits": logits,
        "mask": legal.to(torch.int8),
        "choice": choice,
        "log_probability": policy[torch.arange(ROWS), choice] + 0.3 * torch.randn(ROWS),
        "advantage": torch.randn(ROWS),
        "entropy_weight": 0.1 * torch.rand(ROWS),
        "slow": torch.randn(ROWS, ACTIONS).log_softmax(-1)[:, :slow_columns],
        "advice": torch.where(torch.arange(ROWS) % 3 > 0, legal.float().multinomial(1)[:, 0], -1),
        "advice_weight": 0.5 * (torch.arange(ROWS) % 3 > 0),
        "worth": torch.randn(ROWS, ACTIONS)[:, :worth_columns],
        "told": (2 * torch.randn(ROWS, ACTIONS)).masked_fill(~legal, -torch.inf).softmax(-1)[:, :told_columns],
    }


@pytest.mark.parametrize(
    ("lesson", "tried", "told"),
    [(False, False, False), (True, False, False), (False, True, False), (True, False, True)],
    ids=["play", "lesson", "tryouts", "lesson of a policy"],
)
@pytest.mark.parametrize("magnet", [0.0, 0.3])
def test_losses_figures_and_gradients_are_those_of_the_plain_operations(
    magnet: float, lesson: bool, tried: bool, told: bool
) -> None:
    sample = some(ACTIONS if magnet else 0, ACTIONS if tried else 0, ACTIONS if told else 0)
    weight = torch.rand(ROWS)
    settings = {"clip": 0.2, "magnet": magnet, "lesson": lesson}
    results = []
    for function in (compiled_losses, policy_losses):
        logits = sample["logits"].clone().requires_grad_()
        given: dict[str, Any] = sample | {"logits": logits} | settings
        losses, figures = function(**given)
        (gradient,) = torch.autograd.grad((losses * weight).sum(), logits)
        results.append((losses.detach(), figures, gradient))
    for one, other in zip(*results, strict=True):
        assert one.dtype == other.dtype
        torch.testing.assert_close(one, other, rtol=2e-4, atol=2e-5)
    clipped = results[0][1][2]
    assert clipped == 0 if lesson or tried else ROWS / 10 < clipped < ROWS
    assert (results[0][2][sample["mask"] == 0] == 0).all(), "nothing pulls at what is not legal"


def test_a_teacher_that_tells_one_action_only_is_learnt_from_as_one_that_tells_none() -> None:
    plain: dict[str, Any] = some(0) | {"clip": 0.2, "magnet": 0.0, "lesson": True}
    certain = plain | {"told": torch.nn.functional.one_hot(plain["choice"], ACTIONS).float()}
    for function in (compiled_losses, policy_losses):
        torch.testing.assert_close(function(**certain), function(**plain))


@pytest.mark.parametrize(("worth_columns", "told_columns"), [(0, 0), (ACTIONS, 0), (0, ACTIONS)])
def test_the_gradient_is_the_slope_of_the_loss(worth_columns: int, told_columns: int) -> None:
    """By differences in float64, where torch is not asked."""
    row = slice(250, 251)  # one with many legal actions
    one = {name: tensor[row].numpy() for name, tensor in some(ACTIONS, worth_columns, told_columns).items()}
    one = {name: array.astype(np.float64) if array.dtype == np.float32 else array for name, array in one.items()}
    write: Any = policy_loss.write_losses

    def loss(logits: np.ndarray) -> tuple[float, np.ndarray]:
        losses, gradient, figures = np.zeros(1), np.zeros_like(logits), np.zeros(policy_loss.FIGURES)
        write(logits, *list(one.values())[1:], 0.2, 0.3, told_columns > 0, losses, gradient, figures)
        return float(losses[0]), gradient[0]

    _, slope = loss(one["logits"])
    for action in range(ACTIONS):
        step = np.zeros((1, ACTIONS))
        step[0, action] = 1e-6
        difference = (loss(one["logits"] + step)[0] - loss(one["logits"] - step)[0]) / 2e-6
        assert slope[action] == pytest.approx(difference, abs=1e-6)
