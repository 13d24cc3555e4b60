"""Advantages and returns, with numbers worked out by hand."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from noms_training.agents.table_pool import relative_points
from noms_training.learn.gae import gae


def estimate(decisions: list[tuple[int, int, float]], reward: list[list[float]], weight: float) -> np.ndarray:
    """Advantages of decisions (table, seat, value) in order."""
    table, seat, value = (torch.tensor(column) for column in zip(*decisions, strict=True))
    return gae(table, seat, value.float(), torch.tensor(reward), weight).numpy()


def test_the_decisions_of_a_seat_are_linked_across_those_of_others() -> None:
    # Seat 0 acts at once, seat 1 three times, seat 0 again: seat 0 gets 4 in the end, seat 1 gets -4.
    decisions = [(0, 0, 1.0), (0, 1, 0.5), (0, 1, -1.0), (0, 1, -3.0), (0, 0, 2.0)]
    # Seat 0: delta = 2 - 1 = 1, then 4 - 2 = 2.    A = 1 + 0.5 * 2 = 2, 2
    # Seat 1: delta = -1.5, -2, -4 - -3 = -1.       A = -1.5 + 0.5 * -2.5 = -2.75, -2 + 0.5 * -1 = -2.5, -1
    np.testing.assert_allclose(estimate(decisions, [[4.0, -4.0]], 0.5), [2.0, -2.75, -2.5, -1.0, 2.0])


def test_tables_are_separate() -> None:
    decisions = [(0, 0, 0.0), (1, 0, 10.0), (0, 0, 1.0), (1, 0, 20.0)]
    np.testing.assert_allclose(estimate(decisions, [[3.0], [30.0]], 1.0), [3.0, 20.0, 2.0, 10.0])
    np.testing.assert_allclose(estimate(decisions, [[3.0], [30.0]], 0.0), [1.0, 10.0, 2.0, 10.0])


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.floats(-9, 9, width=32)), min_size=1, max_size=40))
def test_with_weight_1_value_and_advantage_add_up_to_the_reward(decisions: list[tuple[int, int, float]]) -> None:
    reward = np.arange(12, dtype=np.float32).reshape(4, 3)
    for (table, seat, value), advantage in zip(decisions, estimate(decisions, reward.tolist(), 1.0), strict=True):
        assert advantage + value == pytest.approx(reward[table, seat], abs=1e-4)


def test_points_are_relative_to_the_mean_of_the_others() -> None:
    points = np.array([[10.0, 1.0, 4.0, 99.0], [6.0, 0.0, 0.0, 0.0]])
    # 10 - (1 + 4) / 2, 1 - (10 + 4) / 2, 4 - (10 + 1) / 2; 6 - 0, 0 - 6 / 3 three times. Table 0 has no seat 3.
    np.testing.assert_allclose(relative_points(points, np.array([3, 4])), [[7.5, -6.0, -1.5, 0.0], [6.0, -2.0, -2.0, -2.0]])


@given(st.lists(st.floats(-1e4, 1e4), min_size=2, max_size=7))
def test_relative_points_sum_to_zero_in_every_deal(points: list[float]) -> None:
    row = np.zeros((1, 7))
    row[0, : len(points)] = points
    assert relative_points(row, np.array([len(points)])).sum() == pytest.approx(0, abs=0.05)
