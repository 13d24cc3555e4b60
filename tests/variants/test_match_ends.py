"""Ends of matches: targets, deals that are the last, ties, truncation (rules 3.1, 4.1, 5.2, 8b)."""

import random
from typing import Any

import pytest

from noms_env.table import Table
from noms_env.variants.match import leaders
from tests import referee
from tests.variants import test_noms, test_nonesuch, test_small_ships
from tests.variants.table_help import members, play, play_out, totals, tricks

pytestmark = pytest.mark.uncompiled

SHIPS, NOMS, NONESUCH = "small_ships", "noms", "nonesuch"
FINISHED: dict[str, tuple[Any, list[float]]] = {
    SHIPS: (lambda before, deal, options: test_small_ships.ended(totals=before, deal=deal, options=options), [4, 4, 5]),
    NOMS: (lambda before, deal, options: test_noms.finished(before, **options), [0, 12, 0, 12]),
    NONESUCH: (lambda before, deal, options: test_nonesuch.finished(before, deal, **options), [1, 9, 10, 3]),
}
"""A golden deal in a match that stands so, and its points."""
PLAY_ON, ONE, NO_TARGET = {"tie": "play_on"}, {"max_deals": 1}, {"target": None}


@pytest.mark.parametrize(
    ("variant", "before", "deal", "options", "end", "winners"),
    [
        (SHIPS, [95, 0, 0], 3, {}, "", []),
        (SHIPS, [96, 0, 0], 3, {}, "over", [0]),
        (SHIPS, [95, 95, 95], 3, {}, "over", [2]),
        (SHIPS, [96, 0, 95], 3, {}, "over", [0, 2]),  # 100 each: joint winners
        # The last deal of small_ships is no truncation.
        (SHIPS, [0, 0, 0], 19, {}, "over", [2]),
        (SHIPS, [-40, -30, -31], 19, {}, "over", [1, 2]),
        (SHIPS, [0, 0, 0], 2, {"max_hands": 3}, "over", [2]),
        (SHIPS, [0, 0, 0], 19, {"max_hands": None}, "", []),
        (NOMS, [0, 88, 0, 0], 0, {}, "", []),
        (NOMS, [0, 89, 0, 90], 0, {}, "over", [3]),
        (NOMS, [100, 89, 100, 0], 0, {}, "over", [1]),
        (NOMS, [0, 89, 0, 89], 0, {}, "over", [1, 3]),
        (NOMS, [0, 89, 0, 89], 0, PLAY_ON, "", []),
        (NOMS, [0, 90, 0, 89], 0, PLAY_ON, "over", [1]),
        (NOMS, [0, 0, 0, 0], 0, {"target": 12}, "over", [1, 3]),
        (NOMS, [0, 5000, 0, 0], 0, NO_TARGET, "", []),
        (NOMS, [0, 0, 0, 0], 0, ONE, "truncated", [1, 3]),
        (NOMS, [0, 0, 0, 0], 0, {**ONE, "target": 12}, "over", [1, 3]),  # reached in the last deal: not truncated
        (NOMS, [0, 0, 0, 0], 0, {**ONE, **PLAY_ON, "target": 12}, "truncated", [1, 3]),
        (NONESUCH, [0, 0, 0, 0], 0, {}, "", []),
        (NONESUCH, [30, 22, 0, 30], 0, {}, "over", [3]),
        (NONESUCH, [0, 0, 0, 0], 0, {"target": 10}, "over", [2]),
        (NONESUCH, [0, 0, 90, 0], 0, NO_TARGET, "", []),
        (NONESUCH, [0, 2, 0, 0], 99, {}, "truncated", [1]),
        (NONESUCH, [-9, -40, -12, -40], 99, {}, "truncated", [2]),
        (NONESUCH, [0, 0, 21, 0], 99, {}, "over", [2]),  # likewise
        (NONESUCH, [0, 0, 0, 0], 2, {"max_hands": 3}, "truncated", [2]),
    ],
)
def test_ends_of_matches(
    variant: str, before: list[float], deal: int, options: dict[str, Any], end: str, winners: list[int]
) -> None:
    finish, gains = FINISHED[variant]
    table = finish(before, deal, options)
    assert totals(table) == [start + gain for start, gain in zip(before, gains, strict=True)]
    assert (table.is_over, bool(table.row.truncated)) == (end != "", end == "truncated")
    assert members(table.row.winners) == winners


@pytest.mark.parametrize("doublings", [0, 19, 20, 40, 199])
@pytest.mark.parametrize("tie", ["joint", "play_on"])
def test_4_3_points_that_were_doubled_often_have_winners_too(doublings: int, tie: str) -> None:
    """From 2**24 points on a total less 1e-9 is the same number: the best is still the best, and equal ones still tie."""
    table = Table("noms", options={"double_repeat": "quadruple", "tie": tie, "target": 1}, seed=2)
    table.start(multiplier=2**doublings)
    bidder = int(table.row.seat)
    play(table, "mis_a_vis")
    play_out(table, random.Random(1))
    others = [seat for seat in range(4) if seat != bidder]
    assert tricks(table)[bidder] > 0, "it failed"
    assert totals(table) == [26 * 2**doublings if seat in others else 0 for seat in range(4)]
    assert table.is_over == (tie == "joint")
    assert members(table.row.winners) == (others if tie == "joint" else [])
    assert referee.leaders([int(total) for total in totals(table)]) == others


def test_1_fractions_of_a_point_tie_that_differ_by_rounding() -> None:
    table = Table("sniped_whist", 3, {"n_hands": 2})
    table.start(totals=[0.1 + 0.2, 0.3, 0.29])
    assert table.row.totals[0] != table.row.totals[1]
    assert members(leaders(table.row, table.row.totals)) == [0, 1]
