"""Reward scale, generalised advantage estimates, and critic calibration.

A deal has one reward, at its end, and gamma is 1. With V(i) the critic's value at a seat's i-th decision of a deal, and R the
reward (Schulman et al., arXiv 1506.02438, equation 16):

    delta(i) = V(i + 1) - V(i),   for the last decision R - V(last)
    A(i) = delta(i) + lambda * A(i + 1)

The decisions of a seat form a chain, whatever the other seats do in between. Every seat gets its reward, also if its last
decision is long before the end of the deal.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

SCALE_MEMORY = 0.99  # decay per iteration of the running mean square of the rewards
LARGEST_REWARD = 20.0  # clipping limit, in units of the scale. Clipping is rare, since it biases the mean
DECILES = 10


def gae(table: Tensor, seat: Tensor, value: Tensor, reward: Tensor, gae_lambda: float) -> Tensor:
    """Compute generalised advantage estimates, float32, shape (n,).

    Args:
        table: int64, shape (n,): table of each decision; the decisions of a table must be in order of time.
        seat: int64, shape (n,): seat that took it.
        value: float32, shape (n,): the critic's values.
        reward: float32, shape (tables, seats): reward of each seat for the deal.
        gae_lambda: 0 to 1; with 1 an advantage is reward - value.
    """
    chain = table * reward.shape[1] + seat
    order = torch.argsort(chain, stable=True)
    chain, value = chain[order], value[order].double()
    is_last = torch.ones_like(chain, dtype=torch.bool)
    is_last[:-1] = chain[1:] != chain[:-1]
    delta = torch.where(is_last, reward.flatten()[chain].double(), value.roll(-1)) - value
    last = is_last.nonzero().squeeze(1)
    following = last[is_last.cumsum(0) - is_last.long()] - torch.arange(len(chain), device=chain.device)
    advantage = delta.clone()
    for number in range(1, int(following.max()) + 1 if len(chain) else 0):
        rows = (following == number).nonzero().squeeze(1)  # decisions with `number` later ones in their chain
        advantage[rows] = delta[rows] + gae_lambda * advantage[rows + 1]
    return torch.empty_like(advantage, dtype=torch.float32).index_copy_(0, order, advantage.float())


class RewardScale:
    """Running root mean square of the rewards, for each rule set."""

    def __init__(self, rule_sets: int, device: str = "cpu") -> None:
        self.mean_square = torch.zeros(rule_sets, dtype=torch.float64, device=device)
        self.weight = torch.zeros_like(self.mean_square)

    def update(self, reward: Tensor, rule_set: Tensor, seats: Tensor, all_sum: Callable[[Tensor], Tensor]) -> None:
        """Add the deals of an iteration; rule sets without deals keep their scale.

        `reward` is float32, shape (tables, MAX_SEATS), 0 for absent seats; `rule_set` (its number) and `seats` are int64,
        shape (tables,); `all_sum` sums a tensor over all processes.
        """
        squares = torch.bincount(rule_set, reward.double().square().sum(1), len(self.weight))
        counts = torch.bincount(rule_set, seats.double(), len(self.weight))
        squares, counts = all_sum(torch.stack([squares, counts]))
        for running, new in ((self.mean_square, squares / counts), (self.weight, torch.ones_like(counts))):
            running[counts > 0] = (SCALE_MEMORY * running + (1 - SCALE_MEMORY) * new)[counts > 0]

    @property
    def scale(self) -> Tensor:
        """The divisor of the rewards, float64, shape (rule_sets,); 1 before the first deal."""
        square = torch.where(self.weight > 0, self.mean_square / self.weight.clamp(min=1e-12), 1.0)
        return square.clamp(min=1e-6).sqrt()

    def divide(self, reward: Tensor, rule_set: Tensor) -> Tensor:
        """Divide rewards, shape (n, any), by their scale and clip them to `LARGEST_REWARD`; float32."""
        scaled = reward.double() / self.scale[rule_set][:, None]
        return scaled.clamp(-LARGEST_REWARD, LARGEST_REWARD).float()

    def state_dict(self) -> dict[str, list[float]]:
        return {"mean_square": self.mean_square.tolist(), "weight": self.weight.tolist()}

    def load_state_dict(self, state: dict[str, list[float]]) -> None:
        loaded = [torch.tensor(state[name], dtype=torch.float64) for name in ("mean_square", "weight")]
        if any(values.shape != self.weight.shape for values in loaded):
            raise ValueError("the reward scale is of other rules")
        self.mean_square, self.weight = (values.to(self.weight.device) for values in loaded)


def standardise(advantage: Tensor, rule_set: Tensor, rule_sets: int, all_sum: Callable[[Tensor], Tensor]) -> Tensor:
    """Scale advantages to mean 0 and variance 1 per rule set, over all processes; float32, shape (n,)."""
    exact = advantage.double()
    sums = [torch.bincount(rule_set, exact**power, rule_sets) for power in range(3)]
    count, total, square = all_sum(torch.stack(sums))
    mean = total / count.clamp(min=1)
    deviation = (square / count.clamp(min=1) - mean**2).clamp(min=0).sqrt() + 1e-8
    normal: Tensor = (exact - mean[rule_set]) / deviation[rule_set]
    return normal.float()


def explained_variance(value: Tensor, reward: Tensor) -> float:
    """Return 1 - Var(reward - value) / Var(reward): 1 for a perfect critic, 0 for a constant one."""
    variance = float(reward.var(correction=0)) if len(reward) else 0.0
    return 1 - float((reward - value).var(correction=0)) / variance if variance > 0 else math.nan


def critic_figures(value: Tensor, reward: Tensor) -> dict[str, float]:
    """Compare the critic's values with the returns, both float32, shape (n,).

    Returns `losses/explained_variance`; and from ten decisions on `losses/calibration/<decile>/value` and `.../return`, means
    of the deciles 1 to 10 of the values, and `losses/calibration_error`: the root mean square of their differences.
    """
    figures = {"losses/explained_variance": explained_variance(value, reward)}
    if len(value) < DECILES:
        return figures
    order = torch.argsort(value, stable=True)
    deciles = zip(value[order].tensor_split(DECILES), reward[order].tensor_split(DECILES), strict=True)
    means = [(float(values.mean()), float(returns.mean())) for values, returns in deciles]
    figures["losses/calibration_error"] = math.sqrt(sum((a - b) ** 2 for a, b in means) / DECILES)
    for number, (mean_value, mean_return) in enumerate(means, 1):
        figures |= {f"losses/calibration/{number}/value": mean_value, f"losses/calibration/{number}/return": mean_return}
    return figures
