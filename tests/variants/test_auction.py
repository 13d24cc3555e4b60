"""Auctions of small_ships and noms (rules 0.3, 3, 4 and 8b)."""

from typing import Any

import pytest

from tests.variants.table_help import legal, new_deal

pytestmark = pytest.mark.uncompiled

SHIPS, NOMS = "small_ships", "noms"


@pytest.mark.parametrize(
    ("variant", "options", "calls", "seat", "expected"),
    [
        (SHIPS, {}, "", 0, "pass 7 8 9 10 mis 11 12 13"),
        (SHIPS, {}, "pass pass pass", 3, "7 8 9 10 11 12 13"),
        # A forced dealer has bid: the earlier passers get another turn, and Misere is open to all.
        (SHIPS, {}, "pass pass pass 7", 0, "pass 8 9 10 mis 11 12 13"),
        (SHIPS, {}, "pass pass pass 7 8 pass pass", 3, "pass 9 10 mis 11 12 13"),
        # The first seat may raise to 10 or more, the second may come back.
        (SHIPS, {}, "7 pass 8 9", 0, "pass 10 mis 11 12 13"),
        (SHIPS, {}, "mis", 1, "pass 11 12 13"),
        # Only the dealer is forced, only without a bid, and not to Misere; by option the forced bid closes the auction.
        (SHIPS, {}, "pass pass", 2, "pass 7 8 9 10 mis 11 12 13"),
        (SHIPS, {}, "pass pass 7", 3, "pass 8 9 10 mis 11 12 13"),
        (SHIPS, {"forced_bid_numeric_only": False}, "pass pass pass", 3, "7 8 9 10 mis 11 12 13"),
        (SHIPS, {"forced_bid_closes": True}, "pass 7 pass 8", 0, "pass 9 10 mis 11 12 13"),
        (NOMS, {}, "", 0, "pass 10 11 12 13 mis mis_a_vis"),
        (NOMS, {}, "mis", 1, "pass mis_a_vis"),
        (NOMS, {}, "pass pass pass", 3, "pass 10 11 12 13 mis mis_a_vis"),
        # A seat that passed may come back over any later bid.
        (NOMS, {}, "pass pass pass 10", 0, "pass 11 12 13 mis mis_a_vis"),
        (NOMS, {}, "10 pass 12 pass", 0, "pass 13 mis mis_a_vis"),
        # 4.4: a forced dealer may make any bid but not pass, unless another has bid.
        (NOMS, {"dealer_forced": True}, "pass pass pass", 3, "10 11 12 13 mis mis_a_vis"),
        (NOMS, {"dealer_forced": True, "forced_bid_closes": True}, "pass pass 10 11", 0, "pass 12 13 mis mis_a_vis"),
        (NOMS, {"dealer_forced": True}, "pass pass 10", 3, "pass 11 12 13 mis mis_a_vis"),
        (NOMS, {"min_bid": 7, "dealer_forced": False}, "pass pass pass", 3, "pass 7 8 9 10 11 12 13 mis mis_a_vis"),
        (NOMS, {"ranks": 4, "min_bid": 3}, "pass pass pass", 3, "3 4 mis mis_a_vis"),
    ],
)
def test_3_1_4_1_calls_that_are_legal(variant: str, options: dict[str, Any], calls: str, seat: int, expected: str) -> None:
    table = new_deal(variant, calls=calls, **options)
    assert (table.phase, table.row.seat) == ("call", seat)
    assert legal(table) == set(expected.split())


@pytest.mark.parametrize(
    ("variant", "options", "calls", "declarer", "contract", "phase"),
    [
        (SHIPS, {"forced_bid_closes": True}, "pass pass pass 7", 3, "7", "trump"),
        (NOMS, {"min_bid": 7, "forced_bid_closes": True}, "pass pass pass 8", 3, "8", "trump"),
        (SHIPS, {}, "pass pass pass 7 pass pass pass", 3, "7", "trump"),
        (SHIPS, {}, "7 pass 8 9 pass 10 pass pass pass", 1, "10", "trump"),
        (SHIPS, {}, "7 mis pass pass pass", 1, "mis", "trump"),
        (SHIPS, {}, "13", 0, "13", "trump"),
        (NOMS, {}, "pass pass pass 10 pass pass pass", 3, "10", "trump"),
        (NOMS, {}, "pass 10 pass pass 11 pass pass pass", 0, "11", "trump"),
        (NOMS, {}, "13 mis pass pass pass", 1, "mis", "play"),
        (NOMS, {}, "mis_a_vis", 0, "mis_a_vis", "play"),
    ],
)
def test_0_3_the_end_of_an_auction(
    variant: str, options: dict[str, Any], calls: str, declarer: int, contract: str, phase: str
) -> None:
    *earlier, last = calls.split()
    table = new_deal(variant, calls=" ".join(earlier), **options)
    assert table.phase == "call", "before the last call"
    table.play(last)
    assert (table.phase, table.row.seat, table.row.declarer) == (phase, declarer, declarer)
    assert table.word(74 + int(table.row.contract)) == contract


MIS = "mis mis_a_vis"


@pytest.mark.parametrize(
    ("variant", "seats", "options", "ladder"),
    [
        (SHIPS, 3, {}, "12 13 14 mis 15 16 17"),
        (SHIPS, 4, {}, "7 8 9 10 mis 11 12 13"),
        (SHIPS, 5, {}, "5 6 7 mis 8 9 10"),
        (SHIPS, 6, {}, "3 4 5 mis 6 7 8"),
        # Options: a lower minimum, and Misere at both ends and between.
        (SHIPS, 4, {"min_bid": 9}, "9 10 mis 11 12 13"),
        (SHIPS, 4, {"min_bid": 12}, "mis 12 13"),
        (SHIPS, 4, {"misere_above": 6}, "mis 7 8 9 10 11 12 13"),
        (SHIPS, 4, {"min_bid": 1, "misere_above": 0}, "mis 1 2 3 4 5 6 7 8 9 10 11 12 13"),
        # Short decks (8b): everything follows the hand size, and bids above it vanish.
        (SHIPS, 3, {"ranks": 5, "suits": 3}, "mis 4 5"),
        (SHIPS, 2, {"ranks": 7, "suits": 3, "min_bid": 4}, "4 5 6 7 mis 8 9 10"),
        (SHIPS, 5, {"ranks": 11, "suits": 3, "hand_size": 5}, "mis 3 4 5"),
        (SHIPS, 3, {"hand_size": 1}, "mis 1"),
        (NOMS, 4, {}, f"10 11 12 13 {MIS}"),
        (NOMS, 4, {"min_bid": 7}, f"7 8 9 10 11 12 13 {MIS}"),
        (NOMS, 4, {"mis_value": 10}, "10 mis 11 12 13"),
        (NOMS, 4, {"min_bid": 7, "mis_value": 10}, "7 8 9 10 mis 11 12 13"),
        (NOMS, 4, {"min_bid": 7, "mis_value": 10, "keep_mis_a_vis": True}, "7 8 9 10 mis 11 12 13 mis_a_vis"),
        # Short decks: the minimum is ten thirteenths of the hand, rounded up, and at most 10.
        (NOMS, 4, {"ranks": 4}, f"4 {MIS}"),
        (NOMS, 2, {"ranks": 6, "suits": 1, "min_bid": 1}, f"1 2 3 {MIS}"),
        (NOMS, 4, {"ranks": 11, "mis_value": 10}, "9 10 mis 11"),
        (NOMS, 2, {"suits": 3, "hand_size": 17}, f"10 11 12 13 14 15 16 17 {MIS}"),
    ],
)
def test_3_3_4_4_the_ladder_of_bids(variant: str, seats: int, options: dict[str, Any], ladder: str) -> None:
    bids = ladder.split()
    assert legal(new_deal(variant, seats, **options)) == {*bids, "pass"}
    for place, bid in enumerate(bids[:-1]):
        assert legal(new_deal(variant, seats, bid, **options)) == {*bids[place + 1 :], "pass"}
    assert new_deal(variant, seats, bids[-1], **options).phase in ("trump", "play"), "the top bid ends the auction"
