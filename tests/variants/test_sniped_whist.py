"""Sniped whist (rules 1 and 8b), and the conventions of all games (rules 0)."""

import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest

from noms_env.table import IllegalActionError
from noms_env.variants import RulesError
from tests.begin import begin
from tests.variants.table_help import WatchedTable, hands_of, members, play_out, set_tricks_and_settle, table_with

pytestmark = pytest.mark.uncompiled

GAME = "sniped_whist"
FOUR_EACH: dict[str, Any] = {"ranks": 4}  # J Q K A of four suits: four cards each with four seats

# The golden deal. Dealer 3; all 16 cards are dealt, so the dealer's last card, KS, is turned up and spades are trumps.
GOLDEN_HANDS = ["AC KC JD QH", "QC AD JH JS", "JC KD QD AS", "KH AH QS KS"]
# 1: clubs led; seat 3 has none and ruffs with QS.                        3 wins
# 2: KH; seat 0 has one heart only, seat 2 none and throws QD.            3 wins
# 3: AH; 0 throws KC, 1 ruffs with JS, 2 overruffs with AS.               2 wins
# 4: KD; 3 ruffs with KS, the AD of seat 1 does not help.                 3 wins
GOLDEN_PLAY = "AC QC JC QS  KH QH JH QD  AH KC JS AS  KD KS JD AD"
# Tricks 0 0 1 3: seats 0 and 1 share +1, seat 3 is sniped.
GOLDEN_TRICKS = [0, 0, 1, 3]
GOLDEN_POINTS = [0.5, 0.5, 0, -1]


def golden(**options: Any) -> WatchedTable:
    return table_with(GAME, GOLDEN_HANDS, dealer=3, options={**FOUR_EACH, **options})


def deal_of(seats: int = 4, seed: int = 0, **options: Any) -> WatchedTable:
    return begin(WatchedTable(GAME, seats, options, seed=seed))


def points_of(tricks: Sequence[int], seed: int = 0, **options: Any) -> list[float]:
    return set_tricks_and_settle(deal_of(len(tricks), seed, hand_size=sum(tricks), **options), tricks)


def fractions(text: str) -> list[float]:
    return [float(Fraction(number)) for number in text.split(",")]


def test_1_golden_deal() -> None:
    table = golden()
    assert (table.trump_word(), table.word(table.row.turn_up)) == ("S", "KS")
    assert table.row.seat == 0
    table.play(GOLDEN_PLAY)
    assert [int(seat) for seat in table.row.trick_winners[:4]] == [3, 3, 2, 3]
    assert table.tricks == GOLDEN_TRICKS
    assert table.points == table.totals == GOLDEN_POINTS
    assert table.is_over
    assert (members(table.row.winners), members(table.row.sniped)) == ([0, 1], [3])
    reverse = golden(objective="most").play(GOLDEN_PLAY)
    assert (members(reverse.row.winners), members(reverse.row.sniped)) == ([3], [0, 1])
    assert not golden(n_hands=2).play(GOLDEN_PLAY).is_over


def test_1_golden_deal_without_trumps() -> None:
    table = golden(trump_mode="none")
    assert table.trump_word() == "NT"
    # AC and KC win the first two tricks now; then AD beats JD, and AS beats JS with hearts thrown.
    table.play("AC QC JC QS  KC JH QD KS  JD AD KD KH  JS AS AH QH")
    assert table.tricks == [2, 1, 1, 0]
    assert table.points == [-1, 0, 0, 1]


@pytest.mark.parametrize(
    ("trump", "cards", "winner"),
    [
        ("none", "2C 3C 4C 5C", 3),
        ("none", "5C 4C 3C 2C", 0),
        ("none", "2C AD AH AS", 0),  # other suits never win
        ("none", "2C AD 3C AS", 2),
        ("rotation", "AC 2H KC QC", 1),  # the lowest trump beats the ace led
        ("rotation", "AC 2H 3H KC", 2),  # the higher of two trumps
        ("rotation", "AC 3H 2H KC", 1),
        ("rotation", "KS 2H AS QS", 1),  # a ruff stands against the ace of the suit led
        ("rotation", "AH 2H KH AC", 0),  # trumps led
    ],
)
def test_0_who_wins_a_trick(trump: str, cards: str, winner: int) -> None:
    """One card each; the rotation of deal 0 makes hearts trumps."""
    table = table_with(GAME, cards.split(), dealer=3, options={"trump_mode": trump, "hand_size": 1}).play(cards)
    assert table.tricks == [int(seat == winner) for seat in range(4)]


def test_0_an_illegal_card_is_refused() -> None:
    table = golden().play("AC")
    with pytest.raises(IllegalActionError, match=r"seat 1 .*AD.* must follow C.*QC"):
        table.act("AD")
    table.play("QC JC QS")
    with pytest.raises(IllegalActionError, match=r"does not hold QS"):
        table.act("QS")


@pytest.mark.parametrize(
    ("hands", "seats", "stock", "options", "trump"),
    [
        (["", "", "2C 3C 4C 5C 6C 7C 8C 9C TC JC QC KC 9D"], 4, "", {}, "D"),  # all dealt: the dealer's last card
        *(([""], seats, "7S", {}, "S") for seats in (3, 5, 6, 7)),  # the next undealt card
        (["2C"], 4, "7H 8S", {"hand_size": 12}, "H"),
    ],
)
def test_1_the_turn_up_shows_the_trump(hands: list[str], seats: int, stock: str, options: dict[str, Any], trump: str) -> None:
    table = table_with(GAME, hands, seats=seats, dealer=2, stock=stock, options=options)
    assert table.trump_word() == trump
    assert table.word(table.row.turn_up) == (stock.split() or ["9D"])[0]
    assert stock or "9D" in hands_of(table)[2], "the dealer keeps it"


@pytest.mark.parametrize(
    ("options", "trump"), [(FOUR_EACH, "D"), ({"suits": 3, "ranks": 4}, "NT"), ({"ranks": 5, "suits": 3}, "C")]
)
def test_1_the_dealer_names_the_trump(options: dict[str, Any], trump: str) -> None:
    table = deal_of(2 if "suits" in options else 4, trump_mode="dealer", **options)
    assert (table.phase, table.row.seat) == ("trump", table.row.dealer)
    play_out(table.play(trump), random.Random(1))
    assert table.trump_word() == trump


@pytest.mark.parametrize("suits", [4, 3])
def test_1_random_trump_is_a_suit_of_the_deck(suits: int) -> None:
    trumps = [deal_of(3, seed, trump_mode="random", suits=suits).trump_word() for seed in range(60)]
    assert set(trumps) == set("CDHS"[:suits])
    assert all(trumps.count(suit) >= 8 for suit in "CDHS"[:suits])
    assert deal_of(3, trump_mode="random", suits=suits).row.turn_up == -1


@pytest.mark.parametrize(
    ("taken", "expected"),
    [
        ([2, 5, 3, 3], "1,-1,0,0"),
        ([1, 1, 6, 5], "1/2,1/2,-1,0"),
        ([0, 6, 6, 1], "1,-1/2,-1/2,0"),
        ([4, 4, 4, 1], "-1/3,-1/3,-1/3,1"),
        ([13, 0, 0, 0], "-1,1/3,1/3,1/3"),
        ([6, 6, 5], "-1/2,-1/2,1"),
        ([2, 2, 2, 2, 2], "0,0,0,0,0"),
        ([0, 0, 0, 0, 4, 4], "1/4,1/4,1/4,1/4,-1/2,-1/2"),
    ],
)
def test_1_place_scoring(taken: list[int], expected: str) -> None:
    assert points_of(taken) == pytest.approx(fractions(expected), abs=1e-15)
    # objective="most" exchanges winners and sniped.
    assert points_of(taken, objective="most") == pytest.approx([-x for x in fractions(expected)], abs=1e-15)


PLACE: dict[str, Any] = {"scoring": "place"}
TRICKS: dict[str, Any] = {"scoring": "tricks"}


@pytest.mark.parametrize(
    ("taken", "options", "expected"),
    [
        ([2, 5, 3, 3], TRICKS, [-2, -5, -3, -3]),
        ([2, 5, 3, 3], {**TRICKS, "snip_penalty": 4}, [-2, -9, -3, -3]),
        ([0, 6, 6, 1], {**TRICKS, "snip_penalty": 4}, [0, -10, -10, -1]),
        ([0, 6, 6, 1], {**TRICKS, "snip_penalty": 4, "tie": "none"}, [0, -6, -6, -1]),
        ([1, 6, 5, 1], {**TRICKS, "snip_penalty": 4, "tie": "none"}, [-1, -10, -5, -1]),
        ([2, 5, 3, 3], {**TRICKS, "snip_penalty": 4, "objective": "most"}, [-2, 5, 3, 3]),
        ([3, 3, 3, 4], {**TRICKS, "snip_penalty": 100, "objective": "most"}, [-97, -97, -97, 4]),
        ([2] * 5, {**TRICKS, "snip_penalty": 3}, [-5] * 5),
        ([2] * 5, {**TRICKS, "snip_penalty": 3, "tie": "none"}, [-2] * 5),
        # 8b: ties for most.
        ([0, 6, 6, 1], {**PLACE, "tie": "share"}, [1, -0.5, -0.5, 0]),
        ([0, 6, 6, 1], {**PLACE, "tie": "none"}, [1, 0, 0, 0]),
        ([2, 5, 3, 3], {**PLACE, "tie": "none"}, [1, -1, 0, 0]),
        ([2, 5, 3, 3], {**PLACE, "tie": "cut"}, [1, -1, 0, 0]),
        # All equal: no points by place.
        *(([2] * 5, {**PLACE, "tie": tie}, [0] * 5) for tie in ("share", "none", "cut")),
    ],
)
def test_1_scoring_options(taken: list[int], options: dict[str, Any], expected: list[float]) -> None:
    assert points_of(taken, **options) == expected


@pytest.mark.parametrize("scoring", ["place", "tricks"])
def test_8b_a_cut_draws_one_of_the_tied_seats(scoring: str) -> None:
    options: dict[str, Any] = {"tie": "cut", "scoring": scoring, "snip_penalty": 10 * (scoring == "tricks")}
    results = [tuple(points_of([1, 4, 4, 4], seed, **options)) for seed in range(90)]
    plain, price = ([1, 0, 0, 0], 1) if scoring == "place" else ([-1, -4, -4, -4], 10)
    expected = [tuple(number - price * (seat == cut) for seat, number in enumerate(plain)) for cut in (1, 2, 3)]
    assert set(results) == set(expected)
    assert min(results.count(result) for result in expected) >= 15


def test_8b_several_deals_are_won_by_the_best_total() -> None:
    table = table_with(GAME, GOLDEN_HANDS, dealer=3, options={**FOUR_EACH, "n_hands": 2}, deal=1, totals=[-1, -1, 0, 2])
    table.play(GOLDEN_PLAY)
    assert table.totals == [-0.5, -0.5, 0, 1]
    assert members(table.row.winners) == [3]


def test_8b_accumulated_tricks_are_scored_in_the_last_deal() -> None:
    table = golden(n_hands=2, accumulate=True).play(GOLDEN_PLAY)
    assert table.points == table.totals == [0] * 4
    assert members(table.row.sniped) == []
    assert not table.is_over
    table.next_deal()
    assert table.row.dealer == 0
    play_out(table, random.Random(3))
    sums = [a + b for a, b in zip(GOLDEN_TRICKS, table.tricks, strict=True)]
    fewest, most = sums.count(min(sums)), sums.count(max(sums))
    expected = [(n == min(sums)) / fewest - (n == max(sums)) / most for n in sums]
    assert table.points == table.totals == pytest.approx(expected)
    assert table.points != pytest.approx(points_of(table.tricks))  # the last deal alone would score otherwise
    assert table.is_over


def test_8b_accumulate_is_refused_for_single_deals() -> None:
    with pytest.raises(RulesError, match=r"accumulate .* episode='deal' .* False"):
        WatchedTable(GAME, 4, {"accumulate": True, "n_hands": 2}, episode="deal")
