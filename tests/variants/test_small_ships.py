"""Small ships (rules 3 and 8b)."""

import random
from typing import Any

import numpy as np
import pytest

from noms_env.table import IllegalActionError
from tests.variants.table_help import WatchedTable, legal, new_deal, play_out, set_tricks_and_settle, table_with

pytestmark = pytest.mark.uncompiled

GAME = "small_ships"

# The golden deal with 52 cards. Dealer 3, so seat 0 is eldest and leads to the first trick.
GOLDEN_HANDS = [
    "AC 9C 8C 7C 9D 8D 7D 6D 5H 4H 3H 2H 2S",
    "KC 3C 2C AD KD AH KH KS QS JS TS 9S 8S",
    "QC JC TC QD JD TD QH JH TH 9H 7S 6S 5S",
    "6C 5C 4C 5D 4D 3D 2D 8H 7H 6H AS 4S 3S",
]
# Seat 1 comes back above seat 3 and declares 9 with spades; AS is with seat 3.
GOLDEN_AUCTION = "pass 7 pass 8  pass 9 pass pass pass"
GOLDEN_ANNOUNCED = "S AS"
#  1 AC from seat 0 holds.                                              0 wins
#  2 9C: seat 1 has KC.                                                 1 wins
#  3 KS: the partner, seat 3, holds up his ace with 3S.                 1 wins
#  4 QS: now AS, and all see who the partner is; seat 0 is void.        3 wins
#  5 6C: 8C, 3C, and QC of seat 2 is the best club left.                2 wins
#  6 QD: seat 1 has AD.                                                 1 wins
#  7 JS draws 7S and 4S.                                                1 wins
#  8-10 KD, AH, KH hold.                                                1 wins
# 11-13 only seat 1 has trumps left.                                    1 wins
GOLDEN_PLAY = """
AC 2C TC 4C  9C KC JC 5C  KS 5S 3S 2S  QS 6S AS 6D  6C 8C 3C QC  QD 2D 7D AD  JS 7S 4S 8D
KD TD 3D 9D  AH 9H 6H 2H  KH TH 7H 3H  TS JD 4D 7C  9S JH 5D 4H  8S QH 8H 5H
"""
GOLDEN_WINNERS = [0, 1, 1, 3, 2, 1, 1, 1, 1, 1, 1, 1, 1]
# Tricks 1, 10, 1, 1: the side took 11 and scores its 9, the others one for each trick of theirs.
GOLDEN_POINTS = [1, 9, 1, 9]

# The golden deal of a Misere. Three seats, A K Q J T of clubs, diamonds and hearts: five cards each, no stock. The lowest
# number is floor(10 / 3) + 1 = 4, Misere stands below it (max(4 - 1, 5 - 3) = 3) and counts max(1, 5 - 3) = 2.
SMALL: dict[str, Any] = {"ranks": 5, "suits": 3}
MISERE_HANDS = ["QC TC JD TD TH", "AC JC AD QD KH", "KC KD AH QH JH"]
# Dealer 2: seat 0 is eldest, declares Misere with hearts as trumps and nominates AC, which seat 1 holds. Seat 0 leads.
MISERE_DECLARED = "mis pass pass  H AC"
# TD loses to KD; KC wins as seat 1 ducks with JC; AH draws TH and KH; JH and QH take the last two tricks, and AC is
# thrown away on the last. The side took nothing: 2 x 2 for each.
MISERE_MADE = "TD QD KD  KC QC JC  AH TH KH  JH JD AD  QH TC AC"
# Seat 1 takes trick 2 with AC; his JC is ruffed with JH. One trick for the side: -(2 + 1) for each of it.
MISERE_FAILED = "TD QD KD  KC QC AC  JC JH TC  AH TH KH  QH JD AD"


def golden(words: str = "", **options: Any) -> WatchedTable:
    return table_with(GAME, GOLDEN_HANDS, dealer=3, options=options).play(words)


def points_of(
    taken: list[int], contract: str, declarer: int, partner: int = -1, indicated: int = -1, **options: Any
) -> list[float]:
    table = new_deal(GAME, len(taken), **options)
    return set_tricks_and_settle(table, taken, contract=contract, declarer=declarer, partner=partner, indicated=indicated)


def test_3_1_golden_deal_with_a_hidden_partner() -> None:
    table = golden(GOLDEN_AUCTION)
    assert (table.row.declarer, table.row.seat, table.phase) == (1, 1, "trump")
    table.play(GOLDEN_ANNOUNCED)
    assert (table.trump_word(), table.word(table.row.nominated), table.row.partner) == ("S", "AS", 3)
    table.play(GOLDEN_PLAY)
    assert [int(seat) for seat in table.row.trick_winners[:13]] == GOLDEN_WINNERS
    assert table.tricks == [1, 10, 1, 1]
    assert table.points == table.totals == GOLDEN_POINTS
    assert not table.is_over


@pytest.mark.parametrize(
    ("cards", "winners", "expected"), [(MISERE_MADE, [2, 2, 2, 2, 2], [4, 4, 5]), (MISERE_FAILED, [2, 1, 2, 2, 2], [-3, -3, 4])]
)
def test_3_1_golden_misere_with_a_partner(cards: str, winners: list[int], expected: list[float]) -> None:
    table = table_with(GAME, MISERE_HANDS, dealer=2, options=SMALL).play(MISERE_DECLARED)
    assert (table.row.partner, table.row.seat) == (1, 0)
    table.play(cards)
    assert [int(seat) for seat in table.row.trick_winners[:5]] == winners
    assert table.points == expected


OPEN: dict[str, Any] = {"open_partner": True}


@pytest.mark.parametrize(
    ("words", "options", "partner", "alone"),
    [
        ("10 S 2S", {}, -1, 0),
        ("10 S 2S", OPEN, -1, 1),
        ("10 S KH", {"stock_nomination": "illegal"}, 2, 0),
        ("10 S KH", {"stock_nomination": "illegal", **OPEN}, 2, 0),
        ("10 S 2S 3S KH", {"stock_nomination": "redraw"}, 2, 0),
        ("10 S 2S KH", {"stock_nomination": "redraw", **OPEN}, 2, 0),
    ],
)
def test_3_3_nominations_of_cards_in_the_stock(words: str, options: dict[str, Any], partner: int, alone: int) -> None:
    hands = ["AC KC", "AD KD", "AH KH", "AS KS", "QC QD"]
    table = table_with(GAME, hands, dealer=4, stock="3S 2S", options=options).play(words)
    assert (table.phase, table.row.partner, table.row.alone) == ("play", partner, alone)
    for seat in range(5) if "open_partner" in options else ():
        twin = table.sample_hidden(seat, np.random.default_rng(seat))
        assert (twin.row.stock >> table.row.nominated & 1, twin.row.partner) == (alone, partner), (
            "all know the place of the card"
        )
    play_out(table, random.Random(1))
    table.next_deal()
    assert (table.row.revealed, table.row.alone) == (-1, 0)


def test_3_3_refused_nominations_are_legal_in_the_next_deal() -> None:
    """One card each of a deck of six; KD is in the stock."""
    options = {"ranks": 2, "suits": 3, "hand_size": 1, "stock_nomination": "redraw"}
    table = table_with(GAME, ["AC", "KC", "AD"], dealer=2, options=options).play("1 C KD AC AC KC AD")
    assert table.is_scored
    table.next_deal()
    table.play("1 C")
    assert len(legal(table)) == 6


CLUBS_0 = {"AC", "9C", "8C", "7C"}
HAND_0 = set(GOLDEN_HANDS[0].split())


@pytest.mark.parametrize(
    ("reading", "nominated", "barred"),
    [
        ("suit", "KC", CLUBS_0),
        ("suit", "AC", CLUBS_0),  # the same ban for his own card, or his lead would show it
        ("suit", "AS", {"2S"}),
        ("card", "KC", set()),
        ("card", "AC", {"AC"}),
        ("off", "AC", set()),
    ],
)
@pytest.mark.parametrize("bid", ["13", "mis"])
def test_3_1_the_declarer_may_not_lead_the_nominated_suit(bid: str, reading: str, nominated: str, barred: set[str]) -> None:
    calls = bid if bid == "13" else "mis pass pass pass"
    table = golden(f"{calls} NT {nominated}", first_trick_restriction=reading)
    assert (table.row.seat, table.row.declarer) == (0, 0)
    assert legal(table) == HAND_0 - barred


def test_3_1_the_restriction_binds_only_the_first_lead_of_the_declarer() -> None:
    # Another seat leads: nothing is barred to it, nor to the declarer who follows.
    table = golden("pass 13 NT KC")
    assert legal(table) == HAND_0
    table.play("9C")
    assert legal(table) == {"KC", "3C", "2C"}
    # The declarer leads for the first time to trick 3, after AC has taken trick 2.
    own_lead = golden("13 S 4C  9D AD QD 5D  2C TC 6C AC")
    assert (own_lead.row.seat, own_lead.row.trick_number) == (0, 2)
    assert {"9C", "8C", "7C"} <= legal(own_lead)


@pytest.mark.parametrize(
    ("reading", "hands", "size"), [("suit", ["AC KC QC", "AD KD QD", "AH KH QH"], 3), ("card", ["AC", "KC", "AD"], 1)]
)
def test_3_1_the_restriction_never_bars_a_whole_hand(reading: str, hands: list[str], size: int) -> None:
    options: dict[str, Any] = {"ranks": 4, "suits": 3, **dict.fromkeys(("hand_size", "min_bid", "misere_above"), size)}
    options["first_trick_restriction"] = reading
    table = table_with(GAME, hands, dealer=2, options=options).play("mis NT AC")
    assert legal(table) == set(hands[0].split())


@pytest.mark.parametrize(
    ("contract", "declarer", "partner", "taken", "expected", "options"),
    [
        # The examples of 3.1, in its order.
        ("7", 0, 2, [4, 3, 3, 3], [7, 3, 7, 3], {}),
        ("7", 0, 2, [6, 1, 5, 1], [7, 1, 7, 1], {}),
        ("9", 1, 3, [3, 5, 2, 3], [3, 0, 2, 0], {}),
        ("8", 2, -1, [1, 2, 8, 2], [1, 2, 8, 2], {}),
        ("8", 2, -1, [3, 1, 7, 2], [3, 1, 0, 2], {}),
        ("mis", 0, -1, [0, 5, 4, 4], [10, 5, 4, 4], {}),
        ("mis", 0, 1, [0, 0, 7, 6], [20, 20, 7, 6], {}),
        ("mis", 0, -1, [2, 5, 3, 3], [-12, 5, 3, 3], {}),
        ("mis", 0, 1, [1, 2, 6, 4], [-13, -13, 6, 4], {}),
        ("mis", 0, 1, [0, 3, 6, 4], [-13, -13, 6, 4], {}),
        ("13", 3, 1, [0, 4, 0, 9], [0, 13, 0, 13], {}),
        ("13", 3, 1, [1, 4, 0, 8], [1, 0, 0, 0], {}),
        # The examples of 3.3: three, five and six seats.
        ("6", 0, -1, [5, 2, 1, 1, 1], [0, 2, 1, 1, 1], {}),
        ("12", 0, 2, [7, 4, 6], [12, 4, 12], {}),
        ("mis", 4, -1, [3, 3, 2, 2, 0], [3, 3, 2, 2, 7], {}),
        ("mis", 4, 2, [2, 2, 0, 2, 0, 2], [2, 2, 10, 2, 10, 2], {}),
        ("mis", 1, 2, [14, 1, 2], [14, -17, -17], {}),
        # The options of 3.3.
        ("mis", 0, 1, [1, 2, 6, 4], [-11, -12, 6, 4], {"misere_penalty": "own"}),
        ("mis", 0, 1, [1, 2, 6, 4], [-13, -13, 0, 0], {"misere_opponents_score": False}),
        ("mis", 0, -1, [0, 5, 4, 4], [10, 0, 0, 0], {"misere_opponents_score": False}),
        ("mis", 0, 1, [0, 0, 7, 6], [28, 28, 7, 6], {"misere_value": 14}),
        # 3.4: an indication costs twice the contract.
        ("8", 0, 2, [5, 3, 4, 1], [8, 3, -8, 1], {"indication": True}),  # the example of 3.4: the side takes 9
        ("8", 0, 2, [4, 3, 3, 3], [0, 3, -16, 3], {"indication": True}),
        ("mis", 0, 2, [3, 3, 0, 2, 2], [-10, 3, -24, 2, 2], {"indication": True}),  # five seats: Misere counts 7
    ],
)
def test_3_scoring_examples(
    contract: str, declarer: int, partner: int, taken: list[int], expected: list[float], options: dict[str, Any]
) -> None:
    indicated = partner if options.get("indication") else -1
    assert points_of(taken, contract, declarer, partner, indicated, **options) == expected


def test_3_4_the_holder_may_indicate_once_before_he_plays() -> None:
    table = golden(f"{GOLDEN_AUCTION} {GOLDEN_ANNOUNCED}", indication=True)
    for card in ("AC", "2C", "TC"):
        assert "indicate" not in legal(table), f"seat {table.row.seat} does not hold the card"
        table.act(card)
    assert legal(table) == {"6C", "5C", "4C", "indicate"}
    table.play("indicate")
    assert (table.row.seat, table.row.revealed, table.row.n_table) == (3, 3, 3), "the same seat then plays"
    assert legal(table) == {"6C", "5C", "4C"}
    for card in GOLDEN_PLAY.split()[3:]:
        assert "indicate" not in legal(table)
        table.act(card)
    assert table.points == [1, 9, 1, 9 - 18]


def golden_end(before: list[float] | None = None, deal: int = 0, options: dict[str, Any] | None = None) -> WatchedTable:
    """Return the end of the Misere that succeeded, 4, 4 and 5 points, after these totals."""
    table = table_with(GAME, MISERE_HANDS, dealer=2, options={**SMALL, **(options or {})}, totals=before, deal=deal)
    return table.play(f"{MISERE_DECLARED} {MISERE_MADE}")


def test_3_1_nothing_follows_the_end_of_a_match() -> None:
    table = golden_end(deal=19)
    state = table.get_state()
    table.next_deal()
    assert table.get_state() == state
    with pytest.raises(IllegalActionError, match="after the match is over"):
        table.step(0)
