"""Small Ships, rules 3 (with the auction of 0.3 and the short decks of 8b)."""

import random
from typing import Any

import numpy as np
import pytest

from noms_env.table import IllegalActionError, Table
from tests.variants.table_help import (
    legal,
    play,
    play_out,
    points,
    set_tricks_and_settle,
    table_with,
    totals,
    tricks,
)
from tests.variants.table_help import started as started_game

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
#  3 KS: the partner, seat 3, may hold up his ace and plays 3S.         1 wins
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

# The golden deal of a Misere. Three seats, A K Q J T of clubs, diamonds and hearts: five cards each, nothing in the stock.
# The lowest number is floor(10 / 3) + 1 = 4, Misere stands below it (max(4 - 1, 5 - 3) = 3) and counts max(1, 5 - 3) = 2.
SMALL: dict[str, Any] = {"ranks": 5, "suits": 3}
MISERE_HANDS = ["QC TC JD TD TH", "AC JC AD QD KH", "KC KD AH QH JH"]
# Dealer 2: seat 0 is eldest, declares Misere with hearts as trumps and nominates AC, which seat 1 holds. Seat 0 leads.
MISERE_DECLARED = "mis pass pass  H AC"
# TD loses to KD; KC loses to nothing when seat 1 ducks with JC; AH draws TH and KH; JH and QH take the last two, and
# AC is thrown away on the last trick. The side took nothing: 2 x 2 for each.
MISERE_MADE = "TD QD KD  KC QC JC  AH TH KH  JH JD AD  QH TC AC"
# Seat 1 takes trick 2 with AC; his JC is ruffed with JH. One trick for the side: -(2 + 1) for each of it.
MISERE_FAILED = "TD QD KD  KC QC AC  JC JH TC  AH TH KH  QH JD AD"


def started(seats: int = 4, calls: str = "", **start: Any) -> Table:
    return started_game(GAME, seats, calls, **start)


def golden(words: str = "", **options: Any) -> Table:
    return play(table_with(GAME, GOLDEN_HANDS, dealer=3, options=options), words)


def misere(words: str = "", **options: Any) -> Table:
    return play(table_with(GAME, MISERE_HANDS, dealer=2, options={**SMALL, **options}), words)


def settled(
    taken: list[int], contract: str, declarer: int, partner: int = -1, indicated: int = -1, **options: Any
) -> list[float]:
    table = started(len(taken), **options)
    return set_tricks_and_settle(table, taken, contract=contract, declarer=declarer, partner=partner, indicated=indicated)


def test_3_1_golden_deal_a_bid_made_with_a_hidden_partner() -> None:
    table = golden(GOLDEN_AUCTION)
    assert (table.row.declarer, table.row.seat, table.phase) == (1, 1, "trump")
    play(table, GOLDEN_ANNOUNCED)
    assert (table.trump_word(), table.word(table.row.nominated), table.row.partner) == ("S", "AS", 3)
    play(table, GOLDEN_PLAY)
    assert [int(seat) for seat in table.row.trick_winners[:13]] == GOLDEN_WINNERS
    assert tricks(table) == [1, 10, 1, 1]
    assert points(table) == totals(table) == GOLDEN_POINTS
    assert not table.is_over


@pytest.mark.parametrize(
    ("cards", "winners", "expected"), [(MISERE_MADE, [2, 2, 2, 2, 2], [4, 4, 5]), (MISERE_FAILED, [2, 1, 2, 2, 2], [-3, -3, 4])]
)
def test_3_1_golden_deal_a_misere_with_a_partner(cards: str, winners: list[int], expected: list[float]) -> None:
    table = misere(MISERE_DECLARED)
    assert (table.row.partner, table.row.seat) == (1, 0)
    play(table, cards)
    assert [int(seat) for seat in table.row.trick_winners[:5]] == winners
    assert points(table) == expected


STOCK_HANDS = ["AC KC", "AD KD", "AH KH", "AS KS", "QC QD"]


def with_stock(words: str = "", **options: Any) -> Table:
    """Five seats with ten cards each; two spades lie in the stock."""
    return play(table_with(GAME, STOCK_HANDS, dealer=4, stock="3S 2S", options=options), words)


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
def test_3_3_cards_in_the_stock(words: str, options: dict[str, Any], partner: int, alone: int) -> None:
    table = with_stock(words, **options)
    assert (table.phase, table.row.partner, table.row.alone) == ("play", partner, alone)
    for seat in range(5) if "open_partner" in options else ():
        twin = table.sample_hidden(seat, np.random.default_rng(seat))
        assert (twin.row.stock >> table.row.nominated & 1, twin.row.partner) == (alone, partner), "all know where it is"
    play_out(table, random.Random(1))
    table.next_deal()
    assert (table.row.revealed, table.row.alone) == (-1, 0)


def one_card_deal(nominations: str = "AC", **options: Any) -> Table:
    """One card each of a deck of six: KD, AH and KH are in the stock; seat 0 leads and wins with AC."""
    options = {"ranks": 2, "suits": 3, "hand_size": 1, **options}
    return play(table_with(GAME, ["AC", "KC", "AD"], dealer=2, options=options), f"1 C {nominations} AC KC AD")


def test_3_3_refused_nominations_are_forgotten_in_the_next_deal() -> None:
    table = one_card_deal("KD AC", stock_nomination="redraw")
    assert table.is_scored
    table.next_deal()
    play(table, "1 C")
    assert len(legal(table)) == 6


CLUBS_0 = {"AC", "9C", "8C", "7C"}
HAND_0 = set(GOLDEN_HANDS[0].split())


@pytest.mark.parametrize(
    ("reading", "nominated", "barred"),
    [
        ("suit", "KC", CLUBS_0),
        ("suit", "AC", CLUBS_0),  # his own card: the same ban, or his lead would tell
        ("suit", "AS", {"2S"}),
        ("card", "KC", set()),
        ("card", "AC", {"AC"}),
        ("off", "AC", set()),
    ],
)
@pytest.mark.parametrize("bid", ["13", "mis"])
def test_3_1_first_trick_restriction_in_its_readings(bid: str, reading: str, nominated: str, barred: set[str]) -> None:
    calls = bid if bid == "13" else "mis pass pass pass"
    table = golden(f"{calls} NT {nominated}", first_trick_restriction=reading)
    assert (table.row.seat, table.row.declarer) == (0, 0)
    assert legal(table) == HAND_0 - barred


def test_3_1_first_trick_restriction_binds_nobody_else_and_no_other_trick() -> None:
    # The declarer is not on lead: nothing is barred to the leader, nor to the declarer who follows.
    table = golden("pass 13 NT KC")
    assert legal(table) == HAND_0
    play(table, "9C")
    assert legal(table) == {"KC", "3C", "2C"}
    # The declarer leads for the first time to trick 3, after AC has taken trick 2.
    own_lead = golden("13 S 4C  9D AD QD 5D  2C TC 6C AC")
    assert (own_lead.row.seat, own_lead.row.trick_number) == (0, 2)
    assert {"9C", "8C", "7C"} <= legal(own_lead)


@pytest.mark.parametrize(
    ("reading", "hands", "size"), [("suit", ["AC KC QC", "AD KD QD", "AH KH QH"], 3), ("card", ["AC", "KC", "AD"], 1)]
)
def test_3_1_first_trick_restriction_leaves_everything_if_it_would_leave_nothing(
    reading: str, hands: list[str], size: int
) -> None:
    options = {
        "ranks": 4,
        "suits": 3,
        "hand_size": size,
        "min_bid": size,
        "first_trick_restriction": reading,
        "misere_above": size,
    }
    table = play(table_with(GAME, hands, dealer=2, options=options), "mis NT AC")
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
    assert settled(taken, contract, declarer, partner, indicated, **options) == expected


def test_3_4_the_holder_may_indicate_once_before_his_card() -> None:
    table = golden(f"{GOLDEN_AUCTION} {GOLDEN_ANNOUNCED}", indication=True)
    for card in ("AC", "2C", "TC"):
        assert "indicate" not in legal(table), f"seat {table.row.seat} does not hold the card"
        table.act(card)
    assert legal(table) == {"6C", "5C", "4C", "indicate"}
    play(table, "indicate")
    assert (table.row.seat, table.row.revealed, table.row.n_table) == (3, 3, 3), "the same seat then plays"
    assert legal(table) == {"6C", "5C", "4C"}
    for card in GOLDEN_PLAY.split()[3:]:
        assert "indicate" not in legal(table)
        table.act(card)
    assert points(table) == [1, 9, 1, 9 - 18]


def ended(**start: Any) -> Table:
    """The Misere that both made, 4, 4 and 5 points, in a match that stands so."""
    options = {**SMALL, **start.pop("options", {})}
    table = table_with(GAME, MISERE_HANDS, dealer=2, options=options, **start)
    return play(table, f"{MISERE_DECLARED} {MISERE_MADE}")


def test_3_1_a_match_that_is_over_stays_so() -> None:
    table = ended(deal=19)
    state = table.get_state()
    table.next_deal()
    assert table.get_state() == state
    with pytest.raises(IllegalActionError, match="comes after the match is over; nobody is to act"):
        table.step(0)
