"""Intervals, power, control variates and multiple tests: figures by hand, and small simulations."""

import math

import numpy as np
import pytest

from noms_training.evaluation.statistics import FOLDS, Estimate, Groups, deals_needed, estimate, holm, with_controls


def test_an_estimate_by_hand() -> None:
    few = estimate(np.array([2.0, 2.0, 5.0]))
    assert few.mean == 3
    assert few.standard_error == pytest.approx(1.0)  # deviation sqrt(3), over sqrt(3)
    assert (few.deals, few.method) == (3, "t")
    assert (few.low, few.high) == pytest.approx((3 - 4.302653, 3 + 4.302653))  # Student's with two degrees of freedom
    many = estimate(np.tile([2.0, 2.0, 5.0], 10_000))
    assert many.high - many.low == pytest.approx(2 * 1.959964 * many.standard_error, rel=1e-4)


def test_rounding_errors_are_no_difference() -> None:
    rounded = estimate(np.array([0.0, 3e-16, 3e-16]))
    assert (rounded.standard_error, rounded.p_value) == (0.0, 1.0)


@pytest.mark.parametrize("deals", [10, 30, 80])
def test_95_percent_of_the_intervals_contain_the_mean(deals: int) -> None:
    """Values as in duplicate deals: a third is 0, the others are normal."""
    rng = np.random.default_rng(5)
    values = rng.normal(0.0, 1.0, (2000, deals)) * (rng.random((2000, deals)) > 1 / 3)
    share = sum(interval.low <= 0 <= interval.high for interval in map(estimate, values)) / 2000
    assert 0.94 < share < 0.975  # 0.95, with four standard errors


@pytest.mark.parametrize(
    ("mean", "error", "p_value"),
    [(2.306004, 1.0, 0.05), (-3.355387, 1.0, 0.01), (0.0, 1.0, 1.0), (0.0, 0.0, 1.0), (1.0, 0.0, 0.0)],
)
def test_p_values_are_two_sided(mean: float, error: float, p_value: float) -> None:
    assert Estimate(mean, error, 0, 0, 9).p_value == pytest.approx(p_value, abs=1e-6)


def test_power_by_hand() -> None:
    assert deals_needed(10.0, 0.28) == 10_000  # (2.8 * 10 / 0.28) ** 2
    assert deals_needed(10.0, 0.14) == 40_000
    assert deals_needed(0.0, 1.0) == 2


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])  # 3 * .01, 2 * .03, and no less for .04
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


def draw(rng: np.random.Generator, deals: int, slope: float) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Draw values with mean 1, and two features that explain a part: a skewed one with mean 3, and a known one with mean 0."""
    measured, known = 3 * rng.exponential(1.0, (deals, 1)), rng.integers(2, size=(deals, 1)) - 0.5
    values = 1 + slope * (measured[:, 0] - 3) + 2 * slope * known[:, 0] + rng.normal(0, 1, deals)
    return values, (known, measured, 3 * rng.exponential(1.0, (4 * deals, 1)))


def controlled(values: np.ndarray, known: np.ndarray, measured: np.ndarray, others: np.ndarray) -> Estimate:
    estimate = with_controls(values, known, measured, others)
    assert estimate is not None
    return estimate


def test_the_control_variate_is_unbiased_and_its_error_is_right() -> None:
    rng = np.random.default_rng(2)
    estimates, plain = [], []
    for _ in range(300):
        values, controls = draw(rng, 100, 0.7)
        estimates.append(controlled(values, *controls))
        plain.append(values.mean())
    means = np.array([each.mean for each in estimates])
    error = float(np.mean([each.standard_error for each in estimates]))
    assert means.mean() == pytest.approx(1.0, abs=3.5 * means.std() / math.sqrt(300))
    assert means.std(ddof=1) == pytest.approx(error, rel=0.13)
    assert means.std() < 0.7 * np.std(plain)


def test_coefficients_come_from_other_deals() -> None:
    rng = np.random.default_rng(0)
    n = 10 * FOLDS
    feature = rng.normal(size=(n, 1))
    values = feature[:, 0] + rng.normal(0, 0.5, n)
    estimate = controlled(values, feature, np.empty((n, 0)), np.empty((0, 0)))
    corrected = np.empty(n)
    for fold in range(FOLDS):
        chosen = np.arange(n) % FOLDS == fold
        slope = np.polyfit(feature[~chosen, 0], values[~chosen], 1)[0]
        corrected[chosen] = values[chosen] - slope * feature[chosen, 0]
    assert estimate.mean == pytest.approx(corrected.mean(), abs=1e-12)
    assert estimate.standard_error == pytest.approx(corrected.std(ddof=1) / math.sqrt(n))


def test_a_useless_control_variate_is_not_reported() -> None:
    values, controls = draw(np.random.default_rng(1), 400, 0.0)
    assert with_controls(values, *controls) is None
    assert with_controls(values, np.empty((400, 0)), np.empty((0, 2)), np.empty((0, 2))) is None
    few, controls = draw(np.random.default_rng(1), 40, 5.0)
    assert with_controls(few, *controls) is None


def test_the_error_of_measured_expectations_counts() -> None:
    values, controls = draw(np.random.default_rng(4), 400, 0.7)
    known, measured, others = controls
    assert (
        controlled(values, known, measured, others[:800]).standard_error > 1.15 * controlled(values, *controls).standard_error
    )


def test_means_of_groups_by_hand() -> None:
    values = np.array([[1.0, 3.0], [5.0, 9.0], [2.0, 2.0]])
    member = np.array([[True, True], [True, False], [False, False]])
    groups = Groups()
    groups.add("role", "declarer", values, member)
    declarer = groups.estimate("role", "declarer")
    assert declarer is not None
    assert (declarer.mean, declarer.deals) == (3.0, 2)
    # residuals of the two deals with such games: 4 - 2 * 3 = -2, 5 - 1 * 3 = 2; sqrt(2 / 1 * 8) / 3
    assert declarer.standard_error == pytest.approx(4 / 3)
    assert declarer.high - declarer.low == pytest.approx(2 * 12.7062 * 4 / 3, rel=1e-4)  # one degree of freedom
    groups.add("role", "defender", values[:1], member[:1])
    assert groups.estimate("role", "defender") is None, "a single deal has no spread"
    assert groups.estimate("role", "partner") is None
    assert groups.games("role", "partner") == 0


def test_groups_add_up_over_blocks() -> None:
    rng = np.random.default_rng(0)
    values, member = rng.normal(size=(10, 4)), rng.random((10, 4)) < 0.5
    whole, first, second = Groups(), Groups(), Groups()
    whole.add("cards", "7", values, member)
    first.add("cards", "7", values[:3], member[:3])
    second.add("cards", "7", values[3:], member[3:])
    second.add("cards", "8", values[3:], member[3:])
    total = first + second
    assert total.games("cards", "7") == whole.games("cards", "7") == member.sum()
    estimates = [groups.estimate("cards", "7") for groups in (total, whole)]
    first_figures, second_figures = ((each.mean, each.standard_error) for each in estimates if each is not None)
    assert first_figures == pytest.approx(second_figures)
    assert total.names() == {"cards": ["7", "8"]}
