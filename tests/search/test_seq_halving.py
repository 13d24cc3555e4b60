"""Statistics at the root of a search: the worlds of each round, and the updated policy."""

import numpy as np
import pytest

from noms_env.search.endgame.position import units
from noms_env.search.seq_halving import MIN_WEIGHT, RootStats

THREE = [0.6, 0.3, 0.1], [[0, 2, 1], [4, 5, 1], [1, 1, 1]]


def stats_of(weights: list[float], values: list[list[int]], temperature: float = 0.5, seed: int = 99) -> RootStats:
    """Return statistics of candidates with these probabilities and points in each world, at a table of three."""
    actions = np.arange(len(weights))
    stats = RootStats(0, seed, (actions, np.array(weights), actions + 10), 3, temperature, 10_000)
    for row in values:
        stats.add(np.array([row]) * units(3))
    return stats


def equal_candidates(candidates: int, worlds: int, is_timed: bool = False) -> RootStats:
    """Return statistics of equally probable candidates, at a table of four."""
    return RootStats(0, 1, (np.arange(candidates), np.ones(candidates), np.arange(candidates)), 4, 0.5, worlds, is_timed)


def test_the_policy_is_updated_by_gains_in_standard_errors() -> None:
    stats = stats_of(*THREE)
    assert stats.means == pytest.approx([5 / 3, 8 / 3, 1])
    gains, error = np.array([0, 1, -2 / 3]), np.sqrt(4 + 1 + 0) / 3
    errors = np.maximum(error, np.sqrt([0, 5, 1 + 9]) / 3)
    assert stats.errors == pytest.approx(np.std([[0, 0, 0], [2, 1, 0], [1, -3, 0]], axis=1, ddof=1) / np.sqrt(3))
    assert stats.logits() == pytest.approx(np.log([0.6, 0.3, 0.1]) + gains / (0.5 * errors))
    assert stats.choose(0.0) == 11
    assert stats_of(*THREE, temperature=1e9).choose(0.0) == 10
    actions = [stats_of(*THREE, seed=seed * 7919).choose(2.0) for seed in range(2000)]
    weights = np.exp(stats.logits() / 2)
    assert np.bincount(actions, minlength=13)[10:] / 2000 == pytest.approx(weights / weights.sum(), abs=0.04)


def test_a_single_world_has_no_standard_error() -> None:
    for values, error in (([], np.nan), ([[0, 3]], np.nan), ([[0, 3], [0, 3]], 0)):
        assert stats_of([0.6, 0.4], values).errors.tolist() == pytest.approx([0, error], nan_ok=True)


def test_many_worlds_overrule_the_policy_and_few_do_not() -> None:
    few, many = (stats_of([0.99, 0.01], [[0, 1], [0, 0]] * count) for count in (1, 100))
    assert (few.choose(0.0), many.choose(0.0)) == (10, 11)
    sure = stats_of([0.9, 0.1], [[0, 3]], 1.0)
    assert sure.logits() == pytest.approx(np.log([0.9, 0.1]) + np.array([0, 1]))
    assert stats_of([0.7, 0.3], []).choose(0.0) == 10
    assert stats_of([1.0, 0.0], [[0, 0]], 1.0).logits() == pytest.approx([0, np.log(MIN_WEIGHT)])
    assert stats_of([0.9, 0.1], [[0, 1], [0, 0]], 0.0).choose(0.0) == 11


def test_the_favourite_and_the_best_half_remain_after_each_round() -> None:
    """Gains are differences from the favourite in the same worlds."""
    weights, points = np.array([0.3, *[0.1] * 7]), np.array([0, 9, 1, 8, 2, 7, 3, 6])
    stats = RootStats(0, 1, (np.arange(8), weights, np.arange(8)), 4, 0.5, 24)
    rollouts, rounds, rng = 0, list[tuple[list[int], int]](), np.random.default_rng(0)
    while stats.worlds_left > 0:
        rounds.append((stats.remaining.tolist(), stats.worlds_left))
        rollouts += stats.worlds_left * len(stats.remaining)
        stats.add((points[stats.remaining] + rng.integers(-20, 20, (stats.worlds_left, 1))) * units(4))
    assert rounds == [([*range(8)], 8), ([0, 1, 3, 5], 16), ([0, 1], 32)]
    assert (rollouts, stats.worlds) == (24 * 8, 56)
    assert stats.counts.tolist() == [56, 56, 8, 24, 8, 24, 8, 8]
    assert stats.means - stats.means[0] == pytest.approx(points)
    assert stats.choose(0.0) == 1


@pytest.mark.parametrize("candidates", [2, 3, 5, 9, 60])
def test_all_rounds_have_the_worlds_of_the_budget(candidates: int) -> None:
    stats, rollouts = equal_candidates(candidates, 100), 0
    worlds = stats.total_left
    while stats.worlds_left > 0:
        rollouts += stats.worlds_left * len(stats.remaining)
        stats.add(np.zeros((stats.worlds_left, len(stats.remaining)), np.int64))
    assert 0.9 * 100 * candidates <= rollouts <= 100 * candidates
    assert (stats.total_left, stats.worlds, len(stats.remaining)) == (0, worlds, 2)


def test_each_timed_round_doubles_the_number_of_worlds() -> None:
    stats, rounds = equal_candidates(3, 50, is_timed=True), list[tuple[int, int]]()
    while stats.worlds_left > 0:
        rounds.append((len(stats.remaining), stats.worlds_left))
        stats.add(np.zeros((stats.worlds_left, len(stats.remaining)), np.int64))
    assert rounds == [(3, 8), (2, 8), (2, 16), (2, 18)]
