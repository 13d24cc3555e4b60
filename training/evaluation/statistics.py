"""Estimates from independent deals: intervals, power, control variates, multiple tests.

A deal is the unit: its games depend on each other, and are one block of the statistics.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

LEAST = 10
"""Smallest number of matches with an interval of their wins."""
FEW = 30
"""Smallest number of deals without a warning: with 10 deals, intervals of skewed values may cover the mean in only 88 %."""
NORMAL_95 = 1.959964
"""The 97.5 % point of the normal distribution."""
NOTHING = 1e-9
"""Standard errors below this come from rounding: nothing varies."""
POWER = 2.8
"""Difference that is detected with 80 % power at the 5 % level, in standard errors: 1.960 + 0.842."""
FOLDS = 10
"""Folds of cross-fitting; the control variate's coefficients for one fold come from the others."""
WORTHWHILE = 0.98
"""Largest variance ratio at which a control variate is reported; a smaller gain may be chance."""


@dataclass(frozen=True)
class Estimate:
    """A mean over deals.

    `low` and `high` are the ends of its 95 % interval. `method` is that of the interval: `t`, or `exact` for a share of 0 or 1;
    in older results `bootstrap` or `normal`.
    """

    mean: float
    standard_error: float
    low: float
    high: float
    deals: int
    method: str = "t"

    def __neg__(self) -> Estimate:
        """Return the estimate from the other player's point of view."""
        return Estimate(-self.mean, self.standard_error, -self.high, -self.low, self.deals, self.method)

    @property
    def p_value(self) -> float:
        """Two-sided p-value of a mean of 0, by Student's distribution; 1 if nothing varies and the mean is 0."""
        if self.standard_error == 0:
            return 1.0 if abs(self.mean) < NOTHING else 0.0
        from scipy.special import stdtr  # here, since the import is slow

        return float(2 * stdtr(self.deals - 1, -abs(self.mean / self.standard_error)))


def plus_minus(points: Estimate, digits: int = 3) -> str:
    """Return `+0.123 ±0.045`."""
    return f"{points.mean:+z.{digits}f} ±{(points.high - points.low) / 2:.{digits}f}"


def percent(share: Estimate) -> str:
    """Return `31.2 % ±1.4`, or `0.0 % (0.0 to 16.8)` for an asymmetric interval.

    With fewer values than `LEAST`, only exact intervals are printed: others would exceed 0 % or 100 %.
    """
    if abs(share.low + share.high - 2 * share.mean) > NOTHING:
        return f"{100 * share.mean:.1f} % ({100 * share.low:.1f} to {100 * share.high:.1f})"
    if share.deals < LEAST:
        return f"{100 * share.mean:.1f} %"
    return f"{100 * share.mean:.1f} % ±{50 * (share.high - share.low):.1f}"


def too_few(deals: int) -> str:
    """Return the warning about fewer deals than `FEW`."""
    return f"{deals} deals are few: the interval may be too narrow."


def estimate(values: np.ndarray) -> Estimate:
    """Return the mean of independent values, float64, shape (n,), n at least 2, with the interval of `t_estimate`."""
    return t_estimate(float(values.mean()), float(values.std(ddof=1)) / math.sqrt(len(values)), len(values))


def t_estimate(mean: float, error: float, deals: int) -> Estimate:
    """Return an estimate with Student's interval, from the standard error over at least 2 deals.

    With few deals resampling is no better: with 10 deals it covers the mean in 82 to 91 % of cases, Student's in 88 to 95 %.
    """
    from scipy.special import stdtrit

    error = error if error > NOTHING else 0.0
    margin = float(stdtrit(deals - 1, 0.975)) * error
    return Estimate(mean, error, mean - margin, mean + margin, deals)


def deals_needed(deviation: float, difference: float) -> int:
    """Return how many deals, at least 2, detect a difference with 80 % power, from the standard deviation of their values."""
    return max(2, math.ceil((POWER * deviation / difference) ** 2))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted for multiple tests (Holm 1979); below 0.05, at most 5 % of such families have any error."""
    order = np.argsort(p_values, kind="stable")
    adjusted = np.minimum(1.0, np.arange(len(order), 0, -1) * np.array(p_values)[order])
    unsorted: list[float] = np.maximum.accumulate(adjusted)[np.argsort(order)].tolist()
    return unsorted


def with_controls(values: np.ndarray, known: np.ndarray, measured: np.ndarray, others: np.ndarray) -> Estimate | None:
    """Return the mean of values, corrected by least-squares regression on features of their deals (control variates).

    The coefficients for one fold of deals come from the other folds (cross-fitting). So they are independent of the values that
    they correct, and the estimate is unbiased. The standard error includes the variance of the estimated expectations. The
    result is None without features, with too few deals, or without a gain.

    Args:
        values: float64, shape (deals,).
        known: float64, shape (deals, k): features less their exact expectations.
        measured: float64, shape (deals, m): features with unknown expectations.
        others: float64, shape (others, m): the same features of other deals, to estimate the expectations; with fewer than two
            such deals the measured features are ignored.
    """
    n = len(values)
    measured = measured - others.mean(axis=0) if len(others) > 1 else np.empty((n, 0))
    features = np.hstack([known, measured])
    if features.shape[1] == 0 or n < 2 * FOLDS * (1 + features.shape[1]):
        return None
    corrected = np.empty(n)
    coefficients = np.zeros(features.shape[1])
    for fold in range(FOLDS):
        held_out = np.arange(n) % FOLDS == fold
        centred = features[~held_out] - features[~held_out].mean(axis=0)  # a constant feature gets a slope of 0
        slope = np.linalg.lstsq(centred, values[~held_out] - values[~held_out].mean(), rcond=None)[0]
        corrected[held_out] = values[held_out] - features[held_out] @ slope
        coefficients += slope / FOLDS
    variance = float(corrected.var(ddof=1)) / n
    if measured.shape[1] > 0:
        slopes = coefficients[known.shape[1] :]
        spread = np.atleast_2d(np.cov(others, rowvar=False))
        variance += float(slopes @ spread @ slopes) / len(others)
    if variance > WORTHWHILE * float(values.var(ddof=1)) / n:
        return None
    return t_estimate(float(corrected.mean()), math.sqrt(variance), n)


class Groups:
    """Means over groups of games (the declarer's, hands of seven cards); they add up over blocks of deals.

    A mean is the sum of the values over the number of games. Its standard error is that of a ratio of sums by deal (Cochran,
    Sampling Techniques, 1977, 6.4), over the deals that have such games.
    """

    def __init__(self, sums: Mapping[tuple[str, str], np.ndarray] | None = None) -> None:
        self.sums: dict[tuple[str, str], np.ndarray] = dict(sums or {})  # float64, shape (6,)

    def add(self, grouping: str, group: str, values: np.ndarray, member: np.ndarray) -> None:
        """Add games of some deals to a group; `values`, float64, and `member`, bool, have shape (deals, games)."""
        games, total = member.sum(axis=1, dtype=np.float64), np.where(member, values, 0.0).sum(axis=1)
        squares = (total * total).sum(), (total * games).sum(), (games * games).sum()
        key = (grouping, group)
        self.sums[key] = self.sums.get(key, np.zeros(6)) + np.array([games.sum(), total.sum(), *squares, (games > 0).sum()])

    def __add__(self, other: Groups) -> Groups:
        return Groups(self.sums | {key: self.sums.get(key, 0) + sums for key, sums in other.sums.items()})

    def games(self, grouping: str, group: str) -> int:
        return int(self.sums.get((grouping, group), np.zeros(6))[0])

    def estimate(self, grouping: str, group: str) -> Estimate | None:
        """Return the mean of a group over its deals; None for fewer than two deals."""
        games, total, squares, products, counts, deals = self.sums.get((grouping, group), np.zeros(6))
        if deals < 2:
            return None
        mean = total / games
        variance = max(0.0, squares - 2 * mean * products + mean * mean * counts) * deals / (deals - 1)
        return t_estimate(float(mean), math.sqrt(variance) / games, int(deals))

    def names(self) -> dict[str, list[str]]:
        """Return the non-empty groups by grouping."""
        names: dict[str, list[str]] = {}
        for grouping, group in self.sums:
            if self.games(grouping, group) > 0:
                names.setdefault(grouping, []).append(group)
        return names
