"""Estimates from independent deals: intervals, power, control variates, several tests at once.

A deal is the unit: the games of a deal depend on each other, and are a block that is resampled whole.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

LEAST = 10
"""Matches for an interval of their wins."""
FEW = 30
"""With fewer deals than these a 95 % interval of skewed values may hold the mean in as few as 88 % of cases (10 deals)."""
NORMAL_95 = 1.959964
"""The 97.5 % point of the normal distribution."""
NOTHING = 1e-9
"""Standard errors below come from rounding: nothing varies."""
POWER = 2.8
"""Standard errors of a difference that is found with a probability of 80 % at the 5 % level: 1.960 + 0.842."""
FOLDS = 10
"""Parts of the deals; the coefficients of a control variate for one come from the others."""
WORTHWHILE = 0.98
"""A control variate is reported if the variance falls to this part or below; a smaller gain may be chance."""


@dataclass(frozen=True)
class Estimate:
    """A mean over deals.

    Attributes:
        mean: the estimate.
        standard_error: of it.
        low, high: its 95 % interval.
        deals: how many.
        method: how the interval was found: `t`, or `exact` for a share of 0 or 1; in older results `bootstrap` or `normal`.
    """

    mean: float
    standard_error: float
    low: float
    high: float
    deals: int
    method: str = "t"

    def __neg__(self) -> Estimate:
        """The same from the other player's point of view."""
        return Estimate(-self.mean, self.standard_error, -self.high, -self.low, self.deals, self.method)

    @property
    def p_value(self) -> float:
        """Two-sided, of a mean of 0, by Student's distribution; 1 where nothing varies and the mean is 0."""
        if self.standard_error == 0:
            return 1.0 if abs(self.mean) < NOTHING else 0.0
        from scipy.special import stdtr  # here, since it takes a while to import

        return float(2 * stdtr(self.deals - 1, -abs(self.mean / self.standard_error)))


def plus_minus(points: Estimate, digits: int = 3) -> str:
    """`+0.123 ±0.045`."""
    return f"{points.mean:+z.{digits}f} ±{(points.high - points.low) / 2:.{digits}f}"


def percent(share: Estimate) -> str:
    """`31.2 % ±1.4`, and `0.0 % (0.0 to 16.8)` where one end is nearer than the other.

    With fewer values than `LEAST` only an exact interval is printed: another would reach below 0 % or above 100 %.
    """
    if abs(share.low + share.high - 2 * share.mean) > NOTHING:
        return f"{100 * share.mean:.1f} % ({100 * share.low:.1f} to {100 * share.high:.1f})"
    if share.deals < LEAST:
        return f"{100 * share.mean:.1f} %"
    return f"{100 * share.mean:.1f} % ±{50 * (share.high - share.low):.1f}"


def too_few(deals: int) -> str:
    """The warning about fewer deals than `FEW`."""
    return f"{deals} deals are few: the interval may be too narrow."


def estimate(values: np.ndarray) -> Estimate:
    """The mean of independent values, float64, shape (n,), n at least 2, with the interval of `t_estimate`."""
    return t_estimate(float(values.mean()), float(values.std(ddof=1)) / math.sqrt(len(values)), len(values))


def t_estimate(mean: float, error: float, deals: int) -> Estimate:
    """An estimate from a standard error over so many deals, at least 2, with Student's interval.

    With few deals resampling is no better: it holds the mean of 10 deals in 82 to 91 % of cases, Student's in 88 to 95 %.
    """
    from scipy.special import stdtrit

    error = error if error > NOTHING else 0.0
    margin = float(stdtrit(deals - 1, 0.975)) * error
    return Estimate(mean, error, mean - margin, mean + margin, deals)


def deals_needed(deviation: float, difference: float) -> int:
    """Deals, at least 2, with which a difference above 0 is found with a probability of 80 %, at the 5 % level.

    `deviation` is the standard deviation of the values of the deals.
    """
    return max(2, math.ceil((POWER * deviation / difference) ** 2))


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values of tests made together (Holm 1979): below 0.05, no more than 5 % of such panels err anywhere."""
    order = np.argsort(p_values, kind="stable")
    adjusted = np.minimum(1.0, np.arange(len(order), 0, -1) * np.array(p_values)[order])
    unsorted: list[float] = np.maximum.accumulate(adjusted)[np.argsort(order)].tolist()
    return unsorted


@dataclass(frozen=True)
class Controls:
    """What is known of deals besides the result.

    Attributes:
        known: float64, shape (deals, k): features less their exact expectations.
        measured: float64, shape (deals, m): features whose expectations are not known.
        others: float64, shape (others, m): the same features of other deals of the same kind, which give the expectations;
            with fewer than two of them the measured features are not used.
    """

    known: np.ndarray
    measured: np.ndarray
    others: np.ndarray


def with_controls(values: np.ndarray, controls: Controls) -> Estimate | None:
    """The mean of values less what the features explain of them.

    The coefficients are those of least squares. Those for one part of the deals come from the other parts (cross-fitting),
    so that they are independent of the values which they correct, and the estimate stays without bias. The variance of the
    expectations that come from other deals is part of the standard error.

    Args:
        values: float64, shape (deals,).
        controls: of the same deals.

    Returns:
        The estimate, or None where there is nothing to regress on, too few deals, or no gain.
    """
    n = len(values)
    measured = controls.measured - controls.others.mean(axis=0) if len(controls.others) > 1 else np.empty((n, 0))
    features = np.hstack([controls.known, measured])
    if features.shape[1] == 0 or n < 2 * FOLDS * (1 + features.shape[1]):
        return None
    corrected = np.empty(n)
    coefficients = np.zeros(features.shape[1])
    for fold in range(FOLDS):
        here = np.arange(n) % FOLDS == fold
        centred = features[~here] - features[~here].mean(axis=0)  # a feature that never varies gets a slope of 0
        slope = np.linalg.lstsq(centred, values[~here] - values[~here].mean(), rcond=None)[0]
        corrected[here] = values[here] - features[here] @ slope
        coefficients += slope / FOLDS
    variance = float(corrected.var(ddof=1)) / n
    if measured.shape[1] > 0:
        own = coefficients[controls.known.shape[1] :]
        spread = np.atleast_2d(np.cov(controls.others, rowvar=False))
        variance += float(own @ spread @ own) / len(controls.others)
    if variance > WORTHWHILE * float(values.var(ddof=1)) / n:
        return None
    return t_estimate(float(corrected.mean()), math.sqrt(variance), n)


class Groups:
    """Means of games that belong together (those of the declarer, those with hands of seven cards), over deals.

    They add up over blocks of deals. A mean is the sum of the values over the number of games; its standard error that of a
    ratio whose parts are summed by deal (Cochran, Sampling Techniques, 1977, 6.4), over the deals that have such games.
    """

    def __init__(self, sums: Mapping[tuple[str, str], np.ndarray] | None = None) -> None:
        self.sums: dict[tuple[str, str], np.ndarray] = dict(sums or {})  # float64, shape (6,)

    def add(self, grouping: str, group: str, values: np.ndarray, member: np.ndarray) -> None:
        """Count the games of some deals.

        Args:
            grouping: such as `role`.
            group: such as `declarer`.
            values: float64, shape (deals, games).
            member: bool, shape (deals, games): which games belong to the group.
        """
        games, total = member.sum(axis=1, dtype=np.float64), np.where(member, values, 0.0).sum(axis=1)
        squares = (total * total).sum(), (total * games).sum(), (games * games).sum()
        key = (grouping, group)
        self.sums[key] = self.sums.get(key, np.zeros(6)) + np.array([games.sum(), total.sum(), *squares, (games > 0).sum()])

    def __add__(self, other: Groups) -> Groups:
        return Groups(self.sums | {key: self.sums.get(key, 0) + sums for key, sums in other.sums.items()})

    def games(self, grouping: str, group: str) -> int:
        """Games of a group."""
        return int(self.sums.get((grouping, group), np.zeros(6))[0])

    def estimate(self, grouping: str, group: str) -> Estimate | None:
        """The mean of a group, and its deals; None where fewer than two deals have such games."""
        games, total, squares, products, counts, deals = self.sums.get((grouping, group), np.zeros(6))
        if deals < 2:
            return None
        mean = total / games
        variance = max(0.0, squares - 2 * mean * products + mean * mean * counts) * deals / (deals - 1)
        return t_estimate(float(mean), math.sqrt(variance) / games, int(deals))

    def names(self) -> dict[str, list[str]]:
        """The groups that have games, by grouping."""
        names: dict[str, list[str]] = {}
        for grouping, group in self.sums:
            if self.games(grouping, group) > 0:
                names.setdefault(grouping, []).append(group)
        return names
