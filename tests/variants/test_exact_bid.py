"""The exact-bid games (rules 2, 6 and 7) and their hook (rules 0.2)."""

import random
from typing import Any, NamedTuple

import pytest

from noms_env.table import PositionError
from noms_env.variants import game, make_rules
from tests.variants.table_help import (
    WatchedTable,
    deck_for,
    legal,
    members,
    new_deal,
    set_tricks_and_settle,
    table_with,
    trumps_of_match,
)

pytestmark = pytest.mark.uncompiled

BIG, DOWN, UP = GAMES = ("big_ships", "down_up", "up_down")
Options = dict[str, Any]
Points = list[float]


class Golden(NamedTuple):
    """A deal worked out by hand; `last`: the legal bids of the last seat."""

    variant: str
    hands: list[str]
    dealer: int
    deal: int
    trump: str
    bids: str
    last: str
    cards: str
    tricks: list[int]
    points: Points
    options: Options


# Three seats, dealer 2, the eleventh deal (13, 12, ... so three cards), trump again hearts (10 mod 5 = 0).
# 1: 5D led, 9D and KD must follow.                                                  2 wins
# 2: 4S, 2S; seat 1 has no spade and need not ruff with KH: it throws 3C.            2 wins
# 3: 2H, AH, KH.                                                                     0 wins
# Bid 2 took 1: 1 point. Bid 0 took 0: 10. Bid 1 took 2: 2, and ten more only where at least suffices.
BIG_HANDS, BIG_CARDS = ["AH 2S 5D", "KH 3C 9D", "2H 4S KD"], "5D 9D KD  4S 2S 3C  2H AH KH"

# Dealer 1, so seat 2 is the lead player. Deal 7 (10, 9, ... so three cards), trump clubs (7 mod 5 = 2).
# Seats 2, 3, 0 bid 2, 0, 1: three tricks, so the dealer may not bid 0; it bids 1.
# 1: AS KS 3S TS.                                                       2 wins
# 2: 7H 4H AH 8H.                                                       0 wins
# 3: 9D led; AC, QC, 2C are all the others have, and the ace is best.   1 wins; without trumps 9D holds, and 0 wins
DOWN_HANDS, DOWN_CARDS = ["3S AH 9D", "TS 8H AC", "AS 7H QC", "KS 4H 2C"], "AS KS 3S TS  7H 4H AH 8H  9D AC QC 2C"

# Dealer 0, so seat 1 is eldest. Deal 3 has four cards, trump clubs (the fourth of S H D C NT).
# Seats 1, 2, 3 bid 1, 0, 2: the dealer may bid 0, 2, 3, 4 but not 1, and bids 2.
# 1: 3S 6S 8S AS.                                                   0 wins
# 2: AD 2D 5D QD.                                                   0 wins
# 3: 9H KH 7H AH.                                                   3 wins
# 4: KC 2C AC 4H: trumps, and a heart that counts for nothing.      1 wins
UP_HANDS = ["9H AD AS 2C", "AC KH 2D 3S", "4H 5D 6S 7H", "AH QD KC 8S"]
UP_CARDS = "3S 6S 8S AS  AD 2D 5D QD  9H KH 7H AH  KC 2C AC 4H"

NO_TRUMP: Options = {"trump_rotation": ["NT"]}
GOLDEN = [
    Golden(BIG, BIG_HANDS, 2, 10, "H", "2 0 1", "0 1 2 3", BIG_CARDS, [1, 0, 2], [1, 10, 2], {}),
    Golden(BIG, BIG_HANDS, 2, 10, "H", "2 0 1", "0 1 2 3", BIG_CARDS, [1, 0, 2], [1, 10, 12], {"bonus": "at_least"}),
    Golden(DOWN, DOWN_HANDS, 1, 7, "C", "2 0 1 1", "1 2 3", DOWN_CARDS, [1, 1, 1, 0], [11, 11, 1, 10], {}),
    Golden(DOWN, DOWN_HANDS, 1, 7, "NT", "2 0 1 1", "1 2 3", DOWN_CARDS, [2, 0, 1, 0], [2, 0, 1, 10], NO_TRUMP),
    Golden(UP, UP_HANDS, 0, 3, "C", "1 0 2 2", "0 2 3 4", UP_CARDS, [2, 1, 0, 1], [12, 11, 10, 1], {}),
]


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda golden: f"{golden.variant} {golden.options}")
def test_2_6_7_a_golden_deal(golden: Golden) -> None:
    table = table_with(golden.variant, golden.hands, dealer=golden.dealer, deal=golden.deal, options=golden.options)
    eldest = (golden.dealer + 1) % len(golden.hands)
    assert (table.trump_word(), table.phase, table.row.seat) == (golden.trump, "call", eldest)
    *bids, last = golden.bids.split()
    table.play(bids)
    assert legal(table) == set(golden.last.split())
    table.play(last)
    assert (table.phase, table.row.seat) == ("play", eldest)
    table.play(golden.cards)
    assert table.tricks == golden.tricks
    assert table.points == table.totals == golden.points
    assert not table.is_over


SHORTEST: Options = {"ranks": 2}


@pytest.mark.parametrize(
    ("variant", "deal", "options", "hands", "words", "before", "after", "winners"),
    [
        # The last of a game that counts down, trump diamonds (12 mod 5 = 2): the ruff wins.
        (BIG, 12, {"direction": "down"}, "2C 3C 4D", "0 0 0  2C 3C 4D", [0, 100, 111], [10, 110, 112], [2]),
        (BIG, 12, {"direction": "down"}, "2C 3C 4D", "0 0 0  2C 3C 4D", [0, 102, 111], [10, 112, 112], [1, 2]),
        # The only deal of five seats on the shortest deck, trump spades.
        (DOWN, 0, SHORTEST, "KC AC KD KH KS", "0 0 0 0 0  KC AC KD KH KS", [5, 4, 15, 1, 14], [15, 14, 25, 11, 15], [2]),
        (DOWN, 0, SHORTEST, "KC AC KD KH KS", "0 0 0 0 0  KC AC KD KH KS", [15, 4, 15, 1, 24], [25, 14, 25, 11, 25], [0, 2, 4]),
        # Deal 24: no trump (24 mod 5 = 4), no hook. The 2 led beats every ace of another suit.
        (UP, 24, {}, "AS 2H AC KD", "1 0 0 0  2H AC KD AS", [9, 3, 7, 15], [19, 14, 17, 25], [3]),
        (UP, 24, {}, "AS 2H AC KD", "1 0 0 0  2H AC KD AS", [9, 8, 7, 9], [19, 19, 17, 19], [0, 1, 3]),
    ],
)
def test_2_6_7_the_best_total_wins_and_ties_win_together(
    variant: str, deal: int, options: Options, hands: str, words: str, before: Points, after: Points, winners: list[int]
) -> None:
    dealer = 0 if variant == UP else len(hands.split()) - 1
    table = table_with(variant, hands.split(), dealer=dealer, deal=deal, options=options, totals=before).play(words)
    assert table.totals == after
    assert table.is_over
    assert members(table.row.winners) == winners


DOWN_UP_OF = {top: [*range(top, 0, -1), *range(2, top + 1)] for top in (4, 7, 8, 10, 13, 17)}


@pytest.mark.parametrize(
    ("variant", "seats", "options", "sizes"),
    [
        *((BIG, seats, {}, DOWN_UP_OF[top]) for seats, top in ((3, 13), (4, 13), (5, 10), (6, 8), (7, 7))),
        *((DOWN, seats, {}, DOWN_UP_OF[top]) for seats, top in ((4, 10), (6, 8))),
        (UP, 4, {}, [*range(1, 14), *range(12, 0, -1)]),
        (BIG, 3, {"start_cards": 17}, DOWN_UP_OF[17]),
        (BIG, 4, {"start_cards": 3, "repeat_one": True}, [3, 2, 1, 1, 2, 3]),
        (BIG, 4, {"start_cards": 3, "direction": "down"}, [3, 2, 1]),
        (BIG, 4, {"start_cards": 3, "direction": "up_down"}, [1, 2, 3, 2, 1]),
        (BIG, 4, {"start_cards": 1, "repeat_one": True}, [1, 1]),
        (BIG, 2, {"ranks": 3, "suits": 3}, DOWN_UP_OF[4]),
        (BIG, 2, {"start_cards": 17, "direction": "down"}, [*range(17, 0, -1)]),
        *((DOWN, seats, {"ranks": ranks}, DOWN_UP_OF[top]) for seats, ranks, top in ((5, 13, 10), (6, 12, 8), (2, 2, 4))),
        (UP, 4, {"schedule": "up"}, [*range(1, 14)]),
        (UP, 4, {"schedule": "up_down_repeat_top"}, [*range(1, 14), *range(13, 0, -1)]),
        (UP, 4, {"schedule": "up_up"}, [*range(1, 14), *range(1, 14)]),
        (UP, 2, {"ranks": 3}, [1, 2, 3, 4, 5, 6, 5, 4, 3, 2, 1]),
    ],
)
def test_2_6_7_the_schedule_of_hand_sizes(variant: str, seats: int, options: Options, sizes: list[int]) -> None:
    assert list(make_rules(game(variant), seats, options).schedule) == sizes


@pytest.mark.parametrize(
    ("variant", "seats", "options", "trumps"),
    [
        (BIG, 3, {"start_cards": 3, "trump_rotation": ["NT", "S", "S"]}, "NT S S NT S"),
        (BIG, 3, {"start_cards": 3}, "H C D S NT"),
        (UP, 2, {"ranks": 2, "schedule": "up_up"}, "S H D C NT S H D"),
        (DOWN, 2, {"ranks": 3, "suits": 3}, "H C D NT H C D"),
        (UP, 4, {"ranks": 2, "trump_rotation": ["NT", "D"]}, "NT D NT"),
        (UP, 4, {"ranks": 3, "trump_mode": "none"}, "NT NT NT NT NT"),
    ],
)
def test_2_6_7_trumps_rotate(variant: str, seats: int, options: Options, trumps: str) -> None:
    assert trumps_of_match(new_deal(variant, seats, deal=0, **options), random.Random(0)) == trumps.split()


def test_6_there_is_no_twentieth_deal() -> None:
    with pytest.raises(PositionError, match="0 to 18, not 19"):
        new_deal(DOWN, deal=19)


HOOK: Options = {"hook": True}


@pytest.mark.parametrize(
    ("variant", "options", "deal", "bids", "legal_bids"),
    [
        # The examples of 0.2.
        (DOWN, {}, 0, "3 0 3", "0 1 2 3 5 6 7 8 9 10"),
        (DOWN, {}, 0, "6 5 2", "0 1 2 3 4 5 6 7 8 9 10"),
        (DOWN, {}, 0, "4 3 3", "1 2 3 4 5 6 7 8 9 10"),
        (DOWN, {}, 0, "0 0 0", "0 1 2 3 4 5 6 7 8 9"),
        (DOWN, {}, 9, "0 0 0", "0"),
        (DOWN, {}, 9, "1 0 0", "1"),
        (DOWN, {}, 9, "1 1 0", "0 1"),
        # Options: deal 7 has three cards, deal 6 four.
        (DOWN, {"hook": False}, 7, "0 0 0", "0 1 2 3"),
        (DOWN, {"hook_min_cards": 4}, 7, "0 0 0", "0 1 2 3"),
        (DOWN, {"hook_min_cards": 3}, 7, "0 0 0", "0 1 2"),
        # Rules 2: an option. Deal 10 has three cards.
        (BIG, {}, 10, "1 0 2", "0 1 2 3"),
        (BIG, HOOK, 10, "1 0 1", "0 2 3"),
        (BIG, HOOK, 10, "1 0 2", "1 2 3"),
        (BIG, {**HOOK, "hook_min_cards": 4}, 10, "1 0 1", "0 1 2 3"),
        # Rules 7: from four cards on; with three the total may equal 3.
        (UP, {}, 2, "1 0 2", "0 1 2 3"),
        (UP, {}, 3, "1 0 2", "0 2 3 4"),
        (UP, {"hook_min_cards": 3}, 2, "1 0 2", "1 2 3"),
    ],
)
def test_0_2_the_hook_bars_a_bid_of_the_dealer(variant: str, options: Options, deal: int, bids: str, legal_bids: str) -> None:
    table = new_deal(variant, calls=bids, deal=deal, **options)
    assert table.row.seat == table.row.dealer
    assert legal(table) == set(legal_bids.split())


@pytest.mark.parametrize("variant", GAMES)
def test_2_6_7_scoring(variant: str) -> None:
    """Of bid and tricks of seat 2; seat 0 takes the other tricks."""
    rows = [(3, 3, 13, 13), (3, 2, 2, 2), (3, 5, 5, 15), (0, 0, 10, 10), (0, 1, 1, 11), (1, 2, 2, 12), (0, 3, 3, 13)]
    rows += [(5, 0, 0, 0), (10, 10, 20, 20), (4, 3, 3, 3), (2, 6, 6, 16), (1, 1, 11, 11), (4, 5, 5, 15)]
    rows += [(13, 13, 23, 23), (13, 12, 12, 12)] * (variant != DOWN)
    for bid, number, *expected in rows:
        for bonus, value in zip(("exact", "at_least") if variant == BIG else ("",), expected, strict=False):
            options: Options = {"bonus": bonus} if bonus else {}
            table = new_deal(variant, deal=12 if variant == UP else 0, **options)
            rest = int(table.row.deal_size) - number
            assert set_tricks_and_settle(table, [rest, 0, number, 0], ["0", "0", str(bid), "0"])[2] == value


@pytest.mark.parametrize(("choice", "trump", "turn_up"), [("none", "NT", None), ("dealer_last", "S", "5S")])
def test_7_the_turn_up_of_a_deal_without_a_stock(choice: str, trump: str, turn_up: str | None) -> None:
    options: Options = {"trump_mode": "turnup", "turnup_full_deal": choice}
    table = WatchedTable(UP, 4, options)
    table.start(deck=deck_for(UP, 4, ["", "2C 3C 4C 5C 6C 7C 8C 9C TC JC QC KC 5S"], 1, deal=12), dealer=1, deal=12)
    assert table.trump_word() == trump
    assert (table.word(table.row.turn_up) if table.row.turn_up >= 0 else None) == turn_up
    fewer = new_deal(UP, deal=11, **options).row
    assert fewer.turn_up == fewer.deck[48], "the option has an effect only without a stock"


@pytest.mark.parametrize("suits", [4, 3])
def test_7_each_deal_draws_a_random_suit_of_the_deck_as_trump(suits: int) -> None:
    options: Options = {"suits": suits, "ranks": 9, "trump_mode": "random"}
    deals = [new_deal(UP, 2, deal=0, seed=seed, **options) for seed in range(4)]
    trumps = [trump for deal in deals for trump in trumps_of_match(deal, random.Random(0))]
    assert set(trumps) == set("CDHS"[:suits])
    assert all(trumps.count(suit) >= len(trumps) // suits // 2 for suit in "CDHS"[:suits])
