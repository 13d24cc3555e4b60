"""Big Ships, rules 2."""

from __future__ import annotations

import random
from typing import Any

import pytest

from noms_env.table import IllegalActionError, Table
from noms_env.variants import RulesError
from tests.variants.table_help import (
    dealt,
    legal,
    members,
    play,
    play_match,
    points,
    set_tricks_and_settle,
    table_with,
    totals,
    tricks,
)

pytestmark = pytest.mark.uncompiled

GAME = "big_ships"

# The golden deal: three seats, dealer 2, the eleventh deal (13, 12, ... so three cards), trump again hearts (10 mod 5 = 0).
GOLDEN_HANDS = ["AH 2S 5D", "KH 3C 9D", "2H 4S KD"]
GOLDEN_BIDS = "2 0 1"
# 1: 5D led, 9D and KD must follow.                                                  2 wins
# 2: 4S, 2S; seat 1 has no spade and need not ruff with KH: it throws 3C.            2 wins
# 3: 2H, AH, KH.                                                                     0 wins
GOLDEN_CARDS = "5D 9D KD  4S 2S 3C  2H AH KH"
GOLDEN_TRICKS = [1, 0, 2]
# Bid 2 took 1: 1 point. Bid 0 took 0: 10. Bid 1 took 2: 2, and ten more only where at least suffices.
GOLDEN_POINTS = {"exact": [1, 10, 2], "at_least": [1, 10, 12]}


def golden(**options: Any) -> Table:
    return table_with(GAME, GOLDEN_HANDS, dealer=2, deal=10, options=options)


def started(seats: int = 4, *, deal: int = 0, dealer: int = 0, **options: Any) -> Table:
    table = Table(GAME, seats, options)
    table.start(deal=deal, dealer=dealer)
    return table


@pytest.mark.parametrize("bonus", ["exact", "at_least"])
def test_2_golden_deal(bonus: str) -> None:
    table = golden(bonus=bonus)
    assert (table.phase, table.row.seat, table.trump_word()) == ("call", 0, "H")
    play(table, GOLDEN_BIDS)
    assert (table.phase, table.row.seat) == ("play", 0)  # eldest leads
    play(table, GOLDEN_CARDS)
    assert tricks(table) == GOLDEN_TRICKS
    assert points(table) == totals(table) == GOLDEN_POINTS[bonus]
    assert not table.is_over


@pytest.mark.parametrize(
    ("rotation", "winner"),
    [(["H"], 1), (["S"], 2), (["NT"], 0), (["C", "S"], 0), (["S", "C"], 2)],
)
def test_2_golden_hands_under_another_trump(rotation: list[str], winner: int) -> None:
    """5D led, a heart and a spade thrown on it by seats without diamonds; deal 10 is an even place."""
    table = table_with(GAME, ["AH 2S 5D", "KH 3C 9S", "2H 4S TS"], dealer=2, deal=10, options={"trump_rotation": rotation})
    play(table, "0 0 0  5D KH 4S")
    assert table.row.trick_winners[0] == winner


# ----------------------------------------------------------------------------------------------------- the whole game


@pytest.mark.parametrize(
    ("seats", "start", "deals", "decisions"),
    [(3, 13, 25, 618), (4, 13, 25, 824), (5, 10, 19, 640), (6, 8, 15, 516), (7, 7, 13, 476)],
)
def test_2_whole_game(seats: int, start: int, deals: int, decisions: int) -> None:
    table = started(seats, dealer=1)
    played = play_match(table, random.Random(seats))
    sizes = [*range(start, 0, -1), *range(2, start + 1)]
    assert [deal.hand_size for deal in played] == sizes
    assert len(played) == deals
    assert sum(deal.decisions for deal in played) == decisions
    assert [deal.dealer for deal in played] == [(1 + place) % seats for place in range(deals)]
    assert [deal.first for deal in played] == [(2 + place) % seats for place in range(deals)]
    assert [deal.trump for deal in played] == [("H", "C", "D", "S", "NT")[place % 5] for place in range(deals)]
    assert [sum(deal.tricks) for deal in played] == sizes
    sums = [sum(deal.points[seat] for deal in played) for seat in range(seats)]
    assert totals(table) == sums
    assert members(table.row.winners) == [seat for seat in range(seats) if sums[seat] == max(sums)]
    assert not table.row.truncated


def test_2_four_seats_is_the_default() -> None:
    assert Table(GAME).seats == 4


@pytest.mark.parametrize("seats", [2, 8])
def test_2_seats_refused(seats: int) -> None:
    with pytest.raises(RulesError, match="big_ships is played with 3 to 7 seats"):
        Table(GAME, seats)


def test_2_spare_cards_are_out_of_play() -> None:
    table = started(5)
    stock = set(table.card_words(table.row.stock))
    assert len(stock) == 2
    assert not stock & set().union(*dealt(table))
    assert table.row.turn_up == -1


def test_2_ties_win_together() -> None:
    """One card each in the last deal of a game that counts down; seat 1 catches up with seat 2."""
    table = table_with(GAME, ["2C", "3C", "4D"], dealer=2, deal=12, options={"direction": "down"}, totals=[0, 100, 111.0])
    assert table.trump_word() == "D"  # the thirteenth trump: 12 mod 5 = 2
    play(table, "0 0 0  2C 3C 4D")  # the ruff wins: bids 0 0 0, tricks 0 0 1
    assert points(table) == [10, 10, 1]
    assert members(table.row.winners) == [2]
    table = table_with(GAME, ["2C", "3C", "4D"], dealer=2, deal=12, options={"direction": "down"}, totals=[0, 102, 111.0])
    play(table, "0 0 0  2C 3C 4D")
    assert totals(table) == [10, 112, 112]
    assert table.is_over
    assert members(table.row.winners) == [1, 2]


# -------------------------------------------------------------------------------------------------------------- bids


@pytest.mark.parametrize("deal", [0, 3, 12])
def test_2_one_bid_each_from_zero_to_the_hand_size(deal: int) -> None:
    table = started(4, deal=deal, dealer=1)
    size = 13 - deal
    for seat in (2, 3, 0, 1):
        assert (table.phase, table.row.seat) == ("call", seat)
        assert legal(table) == {str(number) for number in range(size + 1)}  # no pass, and no hook for the last
        table.act(str(size))
    assert table.phase == "play"


def test_2_a_bid_may_be_repeated() -> None:
    assert play(started(4), "3 3 3 3").phase == "play"


def test_2_no_pass() -> None:
    with pytest.raises(IllegalActionError, match="pass"):
        started(4).act("pass")


def test_2_no_hook_by_default() -> None:
    assert legal(play(started(4, deal=10), "1 0 2")) == {"0", "1", "2", "3"}


@pytest.mark.parametrize(
    ("options", "deal", "bids", "allowed"),
    [
        ({"hook": True}, 10, "1 0 1", "0 2 3"),
        ({"hook": True}, 10, "1 0 2", "1 2 3"),
        ({"hook": True}, 10, "1 3 0", "0 1 2 3"),
        ({"hook": True}, 12, "0 0 0", "0"),
        ({"hook": True, "hook_min_cards": 4}, 10, "1 0 1", "0 1 2 3"),
        ({"hook": True, "hook_min_cards": 3}, 10, "1 0 1", "0 2 3"),
        ({"hook": True, "hook_min_cards": 4}, 9, "1 0 2", "0 2 3 4"),
        ({"hook": False, "hook_min_cards": 1}, 10, "1 0 1", "0 1 2 3"),
    ],
)
def test_0_2_hook_is_an_option_here(options: dict[str, Any], deal: int, bids: str, allowed: str) -> None:
    assert legal(play(started(4, deal=deal, **options), bids)) == set(allowed.split())


# ----------------------------------------------------------------------------------------------------------- scoring


@pytest.mark.parametrize(
    ("bid", "taken", "exact", "at_least"),
    [(3, 3, 13, 13), (3, 2, 2, 2), (3, 5, 5, 15), (0, 0, 10, 10), (0, 1, 1, 11), (1, 2, 2, 12), (13, 13, 23, 23), (5, 0, 0, 0)],
)
def test_2_scoring(bid: int, taken: int, exact: int, at_least: int) -> None:
    """Seat 2 of four is looked at; seat 0 takes the other tricks."""
    calls = ["0", "0", str(bid), "0"]
    for bonus, expected in (("exact", exact), ("at_least", at_least)):
        table = started(4, bonus=bonus)
        assert set_tricks_and_settle(table, [13 - taken, 0, taken, 0], calls)[2] == expected


# ----------------------------------------------------------------------------------------------------------- options


@pytest.mark.parametrize(
    ("seats", "options", "sizes"),
    [
        (4, {"start_cards": 10}, [*range(10, 0, -1), *range(2, 11)]),
        (3, {"start_cards": 17}, [*range(17, 0, -1), *range(2, 18)]),
        (4, {"start_cards": 1}, [1]),
        (4, {"start_cards": 3, "repeat_one": True}, [3, 2, 1, 1, 2, 3]),
        (4, {"start_cards": 3, "direction": "down"}, [3, 2, 1]),
        (4, {"start_cards": 3, "direction": "up_down"}, [1, 2, 3, 2, 1]),
        (4, {"start_cards": 3, "direction": "down", "repeat_one": True}, [3, 2, 1]),
        (4, {"start_cards": 3, "direction": "up_down", "repeat_one": True}, [1, 2, 3, 2, 1]),
        (4, {"start_cards": 1, "repeat_one": True}, [1, 1]),
        (7, {"ranks": 3, "suits": 3}, [1]),
        (2, {"ranks": 3, "suits": 3}, [4, 3, 2, 1, 2, 3, 4]),
    ],
)
def test_2_schedules(seats: int, options: dict[str, Any], sizes: list[int]) -> None:
    played = play_match(started(seats, **options), random.Random(0))
    assert [deal.hand_size for deal in played] == sizes


def test_2_trump_rotation() -> None:
    played = play_match(started(3, start_cards=3, trump_rotation=["NT", "S", "S"]), random.Random(0))
    assert [deal.trump for deal in played] == ["NT", "S", "S", "NT", "S"]


def test_2_trump_rotation_of_a_deck_without_spades() -> None:
    played = play_match(started(3, start_cards=3, suits=3), random.Random(0))
    assert [deal.trump for deal in played] == ["H", "C", "D", "NT", "H"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"start_cards": 14}, "start_cards must be an integer from 1 to 13 with 52 cards and 4 seats, not 14"),
        ({"start_cards": 0}, "start_cards must be an integer from 1 to 13 with 52 cards and 4 seats, not 0"),
        ({"start_cards": 18}, "start_cards must be an integer from 1 to 13 with 52 cards and 4 seats, not 18"),
        ({"start_cards": 4, "ranks": 3}, "start_cards must be an integer from 1 to 3 with 12 cards and 4 seats, not 4"),
        ({"hook": 1}, "hook must be True or False, not 1"),
        ({"hook_min_cards": 0}, "hook_min_cards must be an integer from 1 to 17, not 0"),
        ({"hook_min_cards": 18}, "hook_min_cards must be an integer from 1 to 17, not 18"),
        ({"bonus": "more"}, "bonus must be 'exact' or 'at_least', not 'more'"),
        ({"repeat_one": "yes"}, "repeat_one must be True or False"),
        ({"direction": "up"}, "direction must be 'down_up' or 'down' or 'up_down', not 'up'"),
        ({"trump_rotation": ["S"], "suits": 3}, "trump_rotation names S, .* allowed are C, D, H, NT"),
        ({"trump_mode": "none"}, "big_ships has no option 'trump_mode'"),
        ({"hand_size": 5}, "big_ships has no option 'hand_size'"),
        ({"ranks": 3, "suits": 1}, "a deck of 3 cards is too small for 4 seats"),
    ],
)
def test_2_refusals(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(RulesError, match=sentence):
        Table(GAME, 4, options)
