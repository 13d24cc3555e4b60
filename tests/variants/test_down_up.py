"""Nomination whist, ten down and up: rules 6, and the hook of 0.2."""

from __future__ import annotations

import random
from typing import Any

import pytest

from noms_env.table import IllegalActionError, PositionError, Table
from noms_env.variants import RulesError
from tests.variants.table_help import (
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

GAME = "down_up"

# The golden deal: dealer 1, so seat 2 is the lead player. Deal 7 (10, 9, ... so three cards), trump clubs (7 mod 5 = 2).
GOLDEN_HANDS = ["3S AH 9D", "TS 8H AC", "AS 7H QC", "KS 4H 2C"]
# Seats 2, 3, 0 bid 2, 0, 1: three tricks, so the dealer may not bid 0; it bids 1.
GOLDEN_BIDS = "2 0 1 1"
# 1: AS KS 3S TS.                                                       2 wins
# 2: 7H 4H AH 8H.                                                       0 wins
# 3: 9D led; AC, QC, 2C are all the others have, and the ace is best.   1 wins
GOLDEN_CARDS = "AS KS 3S TS  7H 4H AH 8H  9D AC QC 2C"
GOLDEN_TRICKS = [1, 1, 1, 0]
GOLDEN_POINTS = [11, 11, 1, 10]


def started(seats: int = 4, *, deal: int = 0, dealer: int = 0, **options: Any) -> Table:
    table = Table(GAME, seats, options)
    table.start(deal=deal, dealer=dealer)
    return table


def last_bids(deal: int, earlier: str, **options: Any) -> set[int]:
    """What the last seat may bid after these bids."""
    table = play(started(deal=deal, **options), earlier)
    assert table.row.seat == table.row.dealer
    return {int(word) for word in table.legal_words()}


def test_6_golden_deal() -> None:
    table = table_with(GAME, GOLDEN_HANDS, dealer=1, deal=7)
    assert (table.trump_word(), table.phase, table.row.seat) == ("C", "call", 2)
    play(table, "2 0 1")
    assert legal(table) == {"1", "2", "3"}
    play(table, "1")
    assert (table.phase, table.row.seat) == ("play", 2)
    play(table, GOLDEN_CARDS)
    assert tricks(table) == GOLDEN_TRICKS
    assert points(table) == totals(table) == GOLDEN_POINTS


def test_6_golden_deal_with_other_trumps() -> None:
    """No trump in this deal: 9D of seat 0 holds the last trick, since no diamond is left elsewhere."""
    table = table_with(GAME, GOLDEN_HANDS, dealer=1, deal=7, options={"trump_rotation": ["NT"]})
    play(table, GOLDEN_BIDS + " " + GOLDEN_CARDS)
    assert tricks(table) == [2, 0, 1, 0]
    assert points(table) == [2, 0, 1, 10]


# ---------------------------------------------------------------------------------------------------------- 0.2 hook


def test_0_2_hook_seed_example() -> None:
    assert last_bids(0, "3 0 3") == {0, 1, 2, 3, 5, 6, 7, 8, 9, 10}


def test_0_2_hook_others_already_over() -> None:
    assert last_bids(0, "6 5 2") == set(range(11))


def test_0_2_hook_exactly_full() -> None:
    assert last_bids(0, "4 3 3") == set(range(1, 11))


def test_0_2_hook_everyone_bid_zero() -> None:
    assert last_bids(0, "0 0 0") == set(range(10))


def test_0_2_hook_one_card_all_zero() -> None:
    assert last_bids(9, "0 0 0") == {0}


def test_0_2_hook_one_card_one_bid() -> None:
    assert last_bids(9, "1 0 0") == {1}


def test_0_2_hook_one_card_two_bids() -> None:
    assert last_bids(9, "1 1 0") == {0, 1}


@pytest.mark.parametrize("deal", range(19))
def test_6_hook_in_every_hand_and_for_the_last_seat_only(deal: int) -> None:
    size = abs(9 - deal) + 1
    table = started(3, deal=deal)
    for _ in range(2):
        assert legal(table) == {str(number) for number in range(size + 1)}
        table.act("0")
    assert legal(table) == {str(number) for number in range(size)}


def test_0_2_hook_refuses_with_a_sentence() -> None:
    table = play(started(), "3 0 3")
    with pytest.raises(IllegalActionError, match=r"seat 0 may not take action 79 \(4\): .*Legal .* are 0, 1, 2, 3, 5"):
        table.act("4")
    assert play(table, "5").phase == "play"


@pytest.mark.parametrize(
    ("options", "deal", "allowed"),
    [
        ({"hook": False}, 7, {0, 1, 2, 3}),
        ({"hook_min_cards": 4}, 7, {0, 1, 2, 3}),
        ({"hook_min_cards": 3}, 7, {0, 1, 2}),
        ({"hook_min_cards": 4}, 6, {0, 1, 2, 3}),
        ({"hook_min_cards": 17}, 0, set(range(11))),
    ],
)
def test_0_2_hook_options(options: dict[str, Any], deal: int, allowed: set[int]) -> None:
    """After three bids of zero; deal 7 has three cards, deal 6 four."""
    assert last_bids(deal, "0 0 0", **options) == allowed


# ----------------------------------------------------------------------------------------------------- the whole game


@pytest.mark.parametrize(
    ("seats", "top", "deals", "taken", "decisions"),
    [(3, 10, 19, 109, 384), (4, 10, 19, 109, 512), (5, 10, 19, 109, 640), (6, 8, 15, 71, 516)],
)
def test_6_whole_game(seats: int, top: int, deals: int, taken: int, decisions: int) -> None:
    table = started(seats, dealer=2)
    played = play_match(table, random.Random(seats))
    assert [deal.hand_size for deal in played] == [*range(top, 0, -1), *range(2, top + 1)]
    assert len(played) == deals
    assert sum(sum(deal.tricks) for deal in played) == taken
    assert sum(deal.decisions for deal in played) == decisions
    assert [deal.trump for deal in played] == [("S", "H", "C", "D", "NT")[place % 5] for place in range(deals)]
    assert [deal.first for deal in played] == [(3 + place) % seats for place in range(deals)]
    sums = [sum(deal.points[seat] for deal in played) for seat in range(seats)]
    assert totals(table) == sums
    assert members(table.row.winners) == [seat for seat in range(seats) if sums[seat] == max(sums)]
    assert not table.row.truncated


def test_6_ties_win_together() -> None:
    """The last deal of five seats on the shortest deck: one card each, and two seats end level."""
    options: dict[str, Any] = {"ranks": 2, "suits": 4}
    table = table_with(GAME, ["KC", "AC", "KD", "KH", "KS"], dealer=4, options=options, totals=[5, 4, 15, 1, 14])
    play(table, "0 0 0 0 0  KC AC KD KH KS")  # spades are trumps in deal 0: KS wins
    assert totals(table) == [15, 14, 25, 11, 15]
    assert table.is_over
    assert members(table.row.winners) == [2]
    table = table_with(GAME, ["KC", "AC", "KD", "KH", "KS"], dealer=4, options=options, totals=[15, 4, 15, 1, 24])
    play(table, "0 0 0 0 0  KC AC KD KH KS")
    assert members(table.row.winners) == [0, 2, 4]


def test_6_four_seats_is_the_default() -> None:
    assert Table(GAME).seats == 4


@pytest.mark.parametrize("seats", [2, 7])
def test_6_seats_refused(seats: int) -> None:
    with pytest.raises(RulesError, match="down_up is played with 3 to 6 seats"):
        Table(GAME, seats)


def test_6_there_is_no_twentieth_deal() -> None:
    with pytest.raises(PositionError, match="deal must be an integer from 0 to 18, not 19"):
        started(4, deal=19)


# ----------------------------------------------------------------------------------------------------------- scoring


@pytest.mark.parametrize(
    ("bid", "taken", "expected"),
    [(1, 2, 2), (3, 3, 13), (0, 0, 10), (0, 1, 1), (10, 10, 20), (4, 3, 3), (2, 6, 6), (5, 0, 0)],
)
def test_6_scoring(bid: int, taken: int, expected: int) -> None:
    """Seat 1 of three is looked at, with ten cards; seat 2 takes the other tricks."""
    assert set_tricks_and_settle(started(3), [0, taken, 10 - taken], ["0", str(bid), "0"])[1] == expected


# ----------------------------------------------------------------------------------------------------------- options


def test_6_trump_rotation() -> None:
    played = play_match(started(3, ranks=3, suits=4, trump_rotation=["D", "NT"]), random.Random(0))
    assert [deal.trump for deal in played] == ["D", "NT", "D", "NT", "D", "NT", "D"]


def test_6_trump_rotation_of_a_deck_without_spades() -> None:
    played = play_match(started(2, ranks=3, suits=3), random.Random(0))
    assert [deal.trump for deal in played] == ["H", "C", "D", "NT", "H", "C", "D"]
    assert [deal.hand_size for deal in played] == [4, 3, 2, 1, 2, 3, 4]


@pytest.mark.parametrize(("seats", "ranks", "top"), [(5, 13, 10), (6, 13, 8), (2, 12, 10), (6, 12, 8), (5, 12, 9), (2, 2, 4)])
def test_6_top_with_shortened_decks(seats: int, ranks: int, top: int) -> None:
    assert started(seats, ranks=ranks).row.hand_size == top


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"hook": None}, "hook must be True or False, not None"),
        ({"hook_min_cards": 0}, "hook_min_cards must be an integer from 1 to 17, not 0"),
        ({"hook_min_cards": True}, "hook_min_cards must be an integer from 1 to 17, not True"),
        ({"trump_rotation": ["S", "T"]}, "trump_rotation must be a list of 1 to 10 of C, D, H, S and NT"),
        ({"trump_rotation": ["D"], "suits": 1}, "trump_rotation names D, .* 1 suits; allowed are C, NT"),
        ({"start_cards": 10}, "down_up has no option 'start_cards'"),
        ({"hooks": True}, "down_up has no option 'hooks'. Did you mean 'hook'"),
        ({"ranks": 14}, "ranks must be an integer from 2 to 13, not 14"),
        ({"ranks": 3, "suits": 1}, "a deck of 3 cards is too small for 4 seats"),
    ],
)
def test_6_refusals(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(RulesError, match=sentence):
        Table(GAME, 4, options)
