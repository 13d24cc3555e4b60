"""Rewards and their scale, advantages, and how well the critic predicts.

A deal pays once, at its end, and gamma is 1. So with V(i) the critic's value at a seat's i-th decision of a deal, R its reward
and lambda the weight (Schulman et al., arXiv 1506.02438, equation 16):

    delta(i) = V(i + 1) - V(i),   of the last decision R - V(last)
    A(i) = delta(i) + lambda * A(i + 1)

A seat's decisions are linked, however many others came between. The reward reaches every seat, also one whose last decision
lies long before the end of the deal.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

SCALE_MEMORY = 0.99
"""Of the running mean square of the rewards, for each iteration."""
LARGEST_REWARD = 20.0
"""In units of the scale; larger ones are clipped. Clipping is rare, since it biases the mean."""
DECILES = 10


def gae(table: Tensor, seat: Tensor, value: Tensor, reward: Tensor, gae_lambda: float) -> Tensor:
    """Generalised advantage estimates of decisions; those of a table stand in the order in which they were taken.

    Args:
        table: int64, shape (n,): row of the table at which each decision was taken.
        seat: int64, shape (n,): who took it.
        value: float32, shape (n,): what the critic said before it.
        reward: float32, shape (tables, seats): what the deal paid to each seat in the end.
        gae_lambda: 0 to 1; with 1 an advantage is reward - value.

    Returns:
        float32, shape (n,).
    """
    who = table * reward.shape[1] + seat
    order = torch.argsort(who, stable=True)  # a seat's decisions of a deal, one after another
    who, value = who[order], value[order].double()
    is_last = torch.ones_like(who, dtype=torch.bool)
    is_last[:-1] = who[1:] != who[:-1]
    next_value = torch.where(is_last, reward.flatten()[who].double(), value.roll(-1))
    delta = next_value - value
    last = is_last.nonzero().squeeze(1)
    following = last[is_last.cumsum(0) - is_last.long()] - torch.arange(len(who), device=who.device)
    advantage = delta.clone()
    for number in range(1, int(following.max()) + 1 if len(who) else 0):
        rows = (following == number).nonzero().squeeze(1)  # so many decisions of the seat follow
        advantage[rows] = delta[rows] + gae_lambda * advantage[rows + 1]
    return torch.empty_like(advantage, dtype=torch.float32).index_copy_(0, order, advantage.float())


class RewardScale:
    """Root mean square of the rewards under each of so many rules, over the iterations up to now."""

    def __init__(self, rule_sets: int, device: str = "cpu") -> None:
        self.mean_square = torch.zeros(rule_sets, dtype=torch.float64, device=device)
        self.weight = torch.zeros_like(self.mean_square)

    def update(self, reward: Tensor, rule_set: Tensor, seats: Tensor, summed: Callable[[Tensor], Tensor]) -> None:
        """Add the deals of an iteration; rules without any keep their scale.

        Args:
            reward: float32, shape (tables, MAX_SEATS); 0 for seats that are not there.
            rule_set: int64, shape (tables,): number of the rules.
            seats: int64, shape (tables,).
            summed: over all processes.
        """
        squares = torch.bincount(rule_set, reward.double().square().sum(1), len(self.weight))
        counts = torch.bincount(rule_set, seats.double(), len(self.weight))
        squares, counts = summed(torch.stack([squares, counts]))
        for running, new in ((self.mean_square, squares / counts), (self.weight, torch.ones_like(counts))):
            running[counts > 0] = (SCALE_MEMORY * running + (1 - SCALE_MEMORY) * new)[counts > 0]

    @property
    def scale(self) -> Tensor:
        """float64, shape (rule_sets,): divide by it; 1 where nothing is known."""
        square = torch.where(self.weight > 0, self.mean_square / self.weight.clamp(min=1e-12), 1.0)
        return square.clamp(min=1e-6).sqrt()

    def divide(self, reward: Tensor, rule_set: Tensor) -> Tensor:
        """Rewards in units of their scale, within `LARGEST_REWARD`; float32, shape (tables, MAX_SEATS)."""
        scaled = reward.double() / self.scale[rule_set][:, None]
        return scaled.clamp(-LARGEST_REWARD, LARGEST_REWARD).float()

    def state_dict(self) -> dict[str, list[float]]:
        return {"mean_square": self.mean_square.tolist(), "weight": self.weight.tolist()}

    def load_state_dict(self, state: dict[str, list[float]]) -> None:
        loaded = [torch.tensor(state[name], dtype=torch.float64) for name in ("mean_square", "weight")]
        if any(values.shape != self.weight.shape for values in loaded):
            raise ValueError("the scale of the rewards is of other rules")
        self.mean_square, self.weight = (values.to(self.weight.device) for values in loaded)


def standardise(advantage: Tensor, rule_set: Tensor, rule_sets: int, summed: Callable[[Tensor], Tensor]) -> Tensor:
    """Advantages with mean 0 and variance 1 under each of the rules, over all processes; float32, shape (n,)."""
    exact = advantage.double()
    sums = [torch.bincount(rule_set, exact**power, rule_sets) for power in range(3)]
    count, total, square = summed(torch.stack(sums))
    mean = total / count.clamp(min=1)
    deviation = (square / count.clamp(min=1) - mean**2).clamp(min=0).sqrt() + 1e-8
    normal: Tensor = (exact - mean[rule_set]) / deviation[rule_set]
    return normal.float()


# ------------------------------------------------------------------------------------------------- how well it predicts


def explained_variance(value: Tensor, reward: Tensor) -> float:
    """1 - Var(reward - value) / Var(reward): 1 for a perfect critic, 0 for a constant one."""
    variance = float(reward.var(correction=0)) if len(reward) else 0.0
    return 1 - float((reward - value).var(correction=0)) / variance if variance > 0 else math.nan


def critic_figures(value: Tensor, reward: Tensor) -> dict[str, float]:
    """Predicted against mean return, in ten groups of decisions from the lowest values to the highest.

    Args:
        value: float32, shape (n,): what the critic said before it had learnt from these deals.
        reward: float32, shape (n,): what the deals paid.

    Returns:
        `losses/explained_variance`; and from ten decisions on `losses/calibration/<decile>/value` and `.../return`, means of
        the groups 1 to 10, and `losses/calibration_error`: the root mean square of their differences, in reward scales.
    """
    figures = {"losses/explained_variance": explained_variance(value, reward)}
    if len(value) < DECILES:
        return figures
    order = torch.argsort(value, stable=True)
    values, returns = ([float(part.mean()) for part in column[order].tensor_split(DECILES)] for column in (value, reward))
    error = sum((said - paid) ** 2 for said, paid in zip(values, returns, strict=True)) / DECILES
    figures["losses/calibration_error"] = math.sqrt(error)
    for number, (said, paid) in enumerate(zip(values, returns, strict=True), 1):
        figures |= {f"losses/calibration/{number}/value": said, f"losses/calibration/{number}/return": paid}
    return figures
