"""Ends of matches: targets, last deals, ties, truncation (rules 3.1, 4.1, 5.2, 8b)."""

import random
from typing import Any

import pytest

from noms_env.variants.match import leaders
from tests import referee
from tests.begin import begin
from tests.variants import test_noms, test_nonesuch, test_small_ships
from tests.variants.table_help import WatchedTable, members, play_out

pytestmark = pytest.mark.uncompiled

SHIPS, NOMS, NONESUCH = "small_ships", "noms", "nonesuch"
GOLDEN_ENDS: dict[str, tuple[Any, list[int]]] = {
    SHIPS: (test_small_ships.golden_end, [4, 4, 5]),
    NOMS: (test_noms.golden_end, test_noms.GOLDEN_POINTS),
    NONESUCH: (test_nonesuch.golden_end, test_nonesuch.GOLDEN_POINTS),
}
"""The end of a golden deal, and its points."""
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
        (NONESUCH, [0, 0, 21, 0], 99, {}, "over", [2]),  # not truncated either
        (NONESUCH, [0, 0, 0, 0], 2, {"max_hands": 3}, "truncated", [2]),
    ],
)
def test_a_match_ends_at_its_target_or_with_its_last_deal(
    variant: str, before: list[float], deal: int, options: dict[str, Any], end: str, winners: list[int]
) -> None:
    golden_end, gains = GOLDEN_ENDS[variant]
    table = golden_end(before, deal, options)
    assert table.totals == [start + gain for start, gain in zip(before, gains, strict=True)]
    assert (table.is_over, bool(table.row.truncated)) == (end != "", end == "truncated")
    assert members(table.row.winners) == winners


@pytest.mark.parametrize("doublings", [0, 19, 20, 40, 199])
@pytest.mark.parametrize("tie", ["joint", "play_on"])
def test_4_3_points_after_many_doublings_still_have_winners(doublings: int, tie: str) -> None:
    """From 2**24 points on a tolerance of 1e-9 is lost, but the best total still wins and equal ones still tie."""
    options = {"double_repeat": "quadruple", "tie": tie, "target": 1}
    table = begin(WatchedTable("noms", options=options, seed=2), multiplier=2**doublings)
    bidder = int(table.row.seat)
    table.play("mis_a_vis")
    play_out(table, random.Random(1))
    others = [seat for seat in range(4) if seat != bidder]
    assert table.tricks[bidder] > 0, "it failed"
    assert table.totals == [26 * 2**doublings if seat in others else 0 for seat in range(4)]
    assert table.is_over == (tie == "joint")
    assert members(table.row.winners) == (others if tie == "joint" else [])
    assert referee.leaders([int(total) for total in table.totals]) == others


def test_1_fractions_of_a_point_tie_despite_rounding() -> None:
    table = begin(WatchedTable("sniped_whist", 3, {"n_hands": 2}), totals=[0.1 + 0.2, 0.3, 0.29])
    assert table.row.totals[0] != table.row.totals[1]
    assert members(leaders(table.row, table.row.totals)) == [0, 1]
