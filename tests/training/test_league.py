"""Seats of learners and opponents, and the past selves that stay."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noms_training.learn.collect import draw_seating
from noms_training.learn.loop import thin_out


@given(st.integers(0, 1000), st.integers(2, 7))
def test_the_learner_and_the_opponent_both_have_a_seat(seed: int, seats: int) -> None:
    seating = draw_seating(np.full(40, seats), 1.0, np.random.default_rng(seed))
    assert (seating[:, :seats] == 0).any(1).all()
    assert (seating[:, :seats] == 1).any(1).all()
    assert not seating[:, seats:].any()
    assert set(seating.ravel()) == {0, 1}


def test_a_learner_that_sits_alone_has_each_seat_equally_often() -> None:
    seats = np.where(np.arange(9_000) % 2 == 0, 4, 3)
    seating = draw_seating(seats, 1.0, np.random.default_rng(1), alone=True)
    assert ((seating == 1).sum(1) == seats - 1).all()
    for number in (3, 4):
        own = (seating[seats == number, :number] == 0).mean(0)
        np.testing.assert_allclose(own, 1 / number, atol=0.03)


def test_opponents_have_their_share_of_tables_and_all_seats_equally_often() -> None:
    seats = np.where(np.arange(20_000) % 2 == 0, 4, 3)
    assert not draw_seating(seats, 0.0, np.random.default_rng(0)).any()
    seating = draw_seating(seats, 0.25, np.random.default_rng(1))
    is_opponent = seating > 0
    assert is_opponent.any(1).mean() == pytest.approx(0.25, abs=0.01)
    four = is_opponent[seats == 4]
    counts = np.bincount(four.sum(1), minlength=5)[1:4] / four.any(1).sum()
    np.testing.assert_allclose(counts, 1 / 3, atol=0.03)
    by_seat = four[four.any(1)][:, :4].mean(0)
    np.testing.assert_allclose(by_seat, 0.5, atol=0.03)  # two of four on average


def test_the_gaps_between_past_selves_grow_with_their_age() -> None:
    names: list[int] = []
    for now in range(1, 200):
        names.append(now)
        names = [names[place] for place in thin_out([now - name for name in names], 8)]
    ages = [199 - name for name in names]
    assert len(ages) == 8
    assert ages[0] == 198  # the first policy of all
    assert ages[-1] == 0
    ratios = [(a + 1) / (b + 1) for a, b in pairwise(ages)]
    assert max(ratios) < 5  # evenly spread they would be 199 ** (1 / 7) = 2.1


@given(st.lists(st.integers(0, 10**9), max_size=30), st.integers(0, 12))
def test_thinning_out_keeps_the_order_and_the_limit(ages: list[int], most: int) -> None:
    places = thin_out(sorted(ages, reverse=True), most)
    assert len(places) == min(most, len(ages))
    assert places == sorted(set(places))
