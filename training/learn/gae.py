"""Advantages and returns of a deal, and how true the critic's values are.

Advantages are linked per table and seat: a seat's next decision, however many others came between.

A deal pays once, at its end, and gamma is 1. So with V(i) the critic's value at a seat's i-th decision of a deal, R its reward
and lambda the weight (Schulman et al., arXiv 1506.02438, equation 16):

    delta(i) = V(i + 1) - V(i),   of the last decision R - V(last)
    A(i) = delta(i) + lambda * A(i + 1)

The reward reaches every seat, also one whose last decision lies long before the end of the deal.
"""

from __future__ import annotations

import math

import numpy as np

from noms_env._jit import jit


def advantages(table: np.ndarray, seat: np.ndarray, value: np.ndarray, reward: np.ndarray, weight: float) -> np.ndarray:
    """Generalised advantage estimates of decisions in the order in which they were taken.

    Args:
        table: int64, shape (n,): row of the table at which each decision was taken.
        seat: int64, shape (n,): who took it.
        value: float32, shape (n,): what the critic said before it.
        reward: float32, shape (tables, seats): what the deal paid to each seat in the end.
        weight: lambda, 0 to 1.

    Returns:
        float32, shape (n,). With lambda 1 it is reward - value.
    """
    advantage = np.empty(len(table), np.float32)
    _link_backwards(table, seat, value, reward, weight, np.full(reward.shape, np.nan), np.zeros(reward.shape), advantage)
    return advantage


@jit
def _link_backwards(table, seat, value, reward, weight, next_value, next_advantage, advantage):
    """Write `advantage`, from the last decision to the first, with each seat's next one at hand.

    `next_value`, NaN where a seat's next decision is not known, so that the deal pays, and `next_advantage`, zeros, are float64
    of the shape of `reward`; the others are as in `advantages`.
    """
    for i in range(len(table) - 1, -1, -1):
        row, who = table[i], seat[i]
        after = next_value[row, who]
        if np.isnan(after):
            after = reward[row, who]
        estimate = after - value[i] + weight * next_advantage[row, who]
        advantage[i] = estimate
        next_value[row, who] = value[i]
        next_advantage[row, who] = estimate


def explained_variance(value: np.ndarray, reward: np.ndarray) -> float:
    """1 - Var(reward - value) / Var(reward): 1 for a perfect critic, 0 for a constant one."""
    variance = float(np.var(reward)) if len(reward) else 0.0
    return 1 - float(np.var(reward - value)) / variance if variance > 0 else math.nan


DECILES = 10


def calibration(value: np.ndarray, reward: np.ndarray) -> dict[str, float]:
    """Predicted against mean return, in ten groups of decisions from the lowest values to the highest.

    Args:
        value: float32, shape (n,): what the critic said before it had learnt from these deals.
        reward: float32, shape (n,): what the deals paid.

    Returns:
        `calibration/<decile>/value` and `.../return`, means of the groups 1 to 10, and `calibration_error`: the root mean
        square of their differences, in units of the reward scale. Nothing with fewer than ten decisions.
    """
    if len(value) < DECILES:
        return {}
    order = np.argsort(value, kind="stable")
    groups = [(float(value[part].mean()), float(reward[part].mean())) for part in np.array_split(order, DECILES)]
    found = {"calibration_error": math.sqrt(np.mean([(said - paid) ** 2 for said, paid in groups]))}
    for number, (said, paid) in enumerate(groups, 1):
        found |= {f"calibration/{number}/value": said, f"calibration/{number}/return": paid}
    return found
