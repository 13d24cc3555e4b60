"""Who sits where, and which past selves stay."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from training.league import OPPONENTS_AT_ONCE, draw_opponents, draw_seating, thinned


def test_without_opponents_everybody_is_the_learner() -> None:
    assert not draw_seating(np.full(50, 4), 0, 1.0, np.random.default_rng(0)).any()
    assert not draw_seating(np.full(50, 4), 2, 0.0, np.random.default_rng(0)).any()


@given(st.integers(0, 1000), st.integers(2, 7), st.integers(1, 3))
def test_the_learner_has_a_seat_everywhere_and_a_table_has_one_opponent(seed: int, seats: int, opponents: int) -> None:
    seating = draw_seating(np.full(40, seats), opponents, 1.0, np.random.default_rng(seed))
    assert (seating[:, :seats] == 0).any(1).all()
    assert (seating[:, :seats] > 0).any(1).all()
    assert not seating[:, seats:].any()
    for row in seating:
        assert len(set(row[row > 0])) == 1
    assert set(seating[seating > 0]) <= set(range(1, opponents + 1))


def test_opponents_get_their_share_of_the_tables_all_seats_and_all_numbers_of_seats() -> None:
    seats = np.where(np.arange(20_000) % 2 == 0, 4, 3)
    seating = draw_seating(seats, 2, 0.25, np.random.default_rng(1))
    taken = seating > 0
    assert taken.any(1).mean() == pytest.approx(0.25, abs=0.01)
    four = taken[seats == 4]
    counts = np.bincount(four.sum(1), minlength=5)[1:4] / four.any(1).sum()
    np.testing.assert_allclose(counts, 1 / 3, atol=0.03)
    by_seat = four[four.any(1)][:, :4].mean(0)
    np.testing.assert_allclose(by_seat, 0.5, atol=0.03)  # two of four on the average
    assert (seating == 1).any(1).mean() == pytest.approx(0.125, abs=0.01)


def test_opponents_are_drawn_without_repetition() -> None:
    rng = np.random.default_rng(0)
    pool = [str(k) for k in range(6)]
    drawn = [draw_opponents(pool, rng) for _ in range(300)]
    assert all(len(set(names)) == OPPONENTS_AT_ONCE for names in drawn)
    assert {name for names in drawn for name in names} == set(pool)
    assert draw_opponents([], rng) == []
    assert draw_opponents(["one"], rng) == ["one"]


def test_past_selves_are_kept_at_distances_that_grow_with_their_age() -> None:
    names: list[int] = []
    for now in range(1, 200):
        names.append(now)
        names = [names[place] for place in thinned([now - name for name in names], 8)]
    ages = [199 - name for name in names]
    assert len(ages) == 8
    assert ages[0] == 198  # the first policy of all
    assert ages[-1] == 0
    ratios = [(a + 1) / (b + 1) for a, b in pairwise(ages)]
    assert max(ratios) < 5  # evenly spread they would be 199 ** (1 / 7) = 2.1


@given(st.lists(st.integers(0, 10**9), max_size=30), st.integers(0, 12))
def test_never_more_than_asked_for_and_in_order(ages: list[int], most: int) -> None:
    kept = thinned(sorted(ages, reverse=True), most)
    assert len(kept) == min(most, len(ages))
    assert kept == sorted(set(kept))
