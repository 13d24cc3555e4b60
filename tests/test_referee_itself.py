"""The worked examples of the rulebook, checked against the referee; and its checker, on whole and broken records."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import pytest

from tests import referee as ref
from tests.referee import complete_options

# ---------------------------------------------------------------------------------------------------------------------
# Helpers


def numbers(text: str) -> list[float]:
    """Reads "1/2,-1" as [0.5, -1.0]."""
    return [float(a) / float(b or 1) for a, _, b in (part.partition("/") for part in text.split(","))]


def counts(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def stack_deck(hands: Sequence[str], dealer: int, stock: str = "") -> list[str]:
    """A deck that deals these hands (eldest's first), one card at a time, and leaves this stock."""
    columns = [hand.split() for hand in hands]
    return [card for row in zip(*columns, strict=True) for card in row] + stock.split()


def table(variant: str, hands: Sequence[str], *, dealer: int = 3, stock: str = "", deal: int = 0, **given: Any) -> ref.Deal:
    """A deal of these hands; hands[0] is eldest's. `ranks` and `suits` make the deck as small as the hands."""
    options = complete_options(variant, len(hands), given)
    deck = stack_deck(hands, dealer, stock)
    return ref.Deal(variant, len(hands), options, deal=deal, dealer=dealer, deck=deck)


def act(deal: ref.Deal, words: str) -> ref.Deal:
    for word in words.split():
        deal.act(word)
    return deal


def play_out(deal: ref.Deal, rng: random.Random) -> ref.Deal:
    while not deal.over:
        deal.act(rng.choice(deal.legal()))
    return deal


SIXTEEN: dict[str, Any] = {"ranks": 4}  # J Q K A of four suits: four cards a seat with four seats


# ---------------------------------------------------------------------------------------------------------------------
# Cards, schedules, options


def test_decktet_counts() -> None:
    deck = ref.decktet()
    assert len(deck) == len(set(deck)) == 37
    for suit in ref.DECKTET_SUITS:
        assert sorted(card[0] for card in deck if suit in ref.suits_of(card)) == sorted(ref.DECKTET_RANKS)
    absent = {"MY", "SL", "WK"}
    assert not absent & {card[1:] for card in deck}


@pytest.mark.parametrize(
    ("variant", "seats", "given", "deals", "tricks"),
    [
        ("big_ships", 4, {}, 25, 181),
        ("big_ships", 4, {"repeat_one": True}, 26, 182),
        ("big_ships", 4, {"direction": "down", "repeat_one": True}, 13, 91),
        ("big_ships", 4, {"direction": "up_down", "repeat_one": True}, 25, 169),
        ("big_ships", 4, {"start_cards": 1}, 1, 1),
        *[("down_up", n, {}, 19, 109) for n in (3, 4, 5)],
        ("down_up", 6, {}, 15, 71),
        ("up_down", 4, {}, 25, 169),
        ("up_down", 4, {"schedule": "up"}, 13, 91),
        ("up_down", 4, {"schedule": "up_down_repeat_top"}, 26, 182),
    ],
)
def test_schedules(variant: str, seats: int, given: dict[str, Any], deals: int, tricks: int) -> None:
    sizes = ref.schedule(variant, seats, complete_options(variant, seats, given))
    assert (len(sizes), sum(sizes)) == (deals, tricks)


@pytest.mark.parametrize(
    ("variant", "decisions"),
    [
        ("big_ships", {3: 618, 4: 824, 5: 640, 6: 516, 7: 476}),
        ("down_up", {3: 384, 4: 512, 5: 640, 6: 516}),
        ("up_down", {4: 776}),
    ],
)
def test_decisions_of_a_whole_match(variant: str, decisions: dict[int, int]) -> None:
    for seats, expected in decisions.items():
        records = ref.random_match(variant, seats, {}, random.Random(0))
        assert sum(len(record["steps"]) for record in records) == expected


@pytest.mark.parametrize(
    ("seats", "hand", "stock", "ladder", "value"),
    [
        (3, 17, 1, "12 13 14 mis 15 16 17", 14),
        (4, 13, 0, "7 8 9 10 mis 11 12 13", 10),
        (5, 10, 2, "5 6 7 mis 8 9 10", 7),
        (6, 8, 4, "3 4 5 mis 6 7 8", 5),
    ],
)
def test_small_ships_tables(seats: int, hand: int, stock: int, ladder: str, value: int) -> None:
    options = complete_options("small_ships", seats, {})
    assert (options["hand_size"], 52 - seats * hand, options["misere_value"]) == (hand, stock, value)
    assert ref.auction_ladder("small_ships", options) == ladder.split()


@pytest.mark.parametrize(
    ("given", "ladder"),
    [
        ({}, "10 11 12 13 mis mis_a_vis"),
        ({"min_bid": 7}, "7 8 9 10 11 12 13 mis mis_a_vis"),
        ({"mis_value": 10}, "10 mis 11 12 13"),
        ({"min_bid": 7, "mis_value": 10}, "7 8 9 10 mis 11 12 13"),
        ({"hand_size": 5}, "4 5 mis mis_a_vis"),
    ],
)
def test_noms_ladders(given: dict[str, Any], ladder: str) -> None:
    assert ref.auction_ladder("noms", complete_options("noms", 4, given)) == ladder.split()


@pytest.mark.parametrize(
    ("variant", "seats", "given"),
    [
        ("whist", 4, {}),
        ("noms", 3, {}),
        ("noms", 4, {"min_bid": 6}),
        ("noms", 4, {"mis_value": 12}),
        ("noms", 4, {"ranks": 12, "deal_mode": "packets"}),
        ("noms", 4, {"tie": "share"}),
        ("small_ships", 2, {"ranks": 12}),
        ("small_ships", 4, {"target": None, "max_hands": None}),
        ("small_ships", 4, {"indication": 1}),
        ("small_ships", 4, {"max_hands": True}),
        ("sniped_whist", 2, {}),
        ("sniped_whist", 4, {"hand_size": 14}),
        ("big_ships", 4, {"suits": 3, "trump_rotation": ["S"]}),
        ("nonesuch", 4, {"ranks": 12}),
        ("up_down", 3, {}),
    ],
)
def test_refused_tables(variant: str, seats: int, given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"allow|there is no|has no|must be"):
        complete_options(variant, seats, given)


def test_defaults_that_depend_on_the_table() -> None:
    assert complete_options("noms", 4, {})["dealer_forced"] is False
    assert complete_options("noms", 4, {"min_bid": 7})["dealer_forced"] is True
    assert complete_options("noms", 4, {})["deal_mode"] == "packets"
    assert complete_options("noms", 4, {"ranks": 12})["deal_mode"] == "single_shuffled"
    assert complete_options("noms", 4, {})["mis_value"] == 13
    assert complete_options("down_up", 4, {"suits": 2})["trump_rotation"] == ["C", "D", "NT"]
    assert [complete_options("sniped_whist", n, {})["hand_size"] for n in range(3, 8)] == [17, 13, 10, 8, 7]


# ---------------------------------------------------------------------------------------------------------------------
# Bidding


@pytest.mark.parametrize(
    ("variant", "hand_size", "earlier", "legal"),
    [
        ("down_up", 10, "3,0,3", {*range(11)} - {4}),
        ("down_up", 10, "6,5,2", {*range(11)}),
        ("down_up", 10, "4,3,3", {*range(1, 11)}),
        ("down_up", 10, "0,0,0", {*range(10)}),
        ("down_up", 1, "0,0,0", {0}),
        ("down_up", 1, "1,0,0", {1}),
        ("down_up", 1, "1,1,0", {0, 1}),
        ("down_up", 10, "3,0", {*range(11)}),
        ("up_down", 3, "1,0,2", {0, 1, 2, 3}),
        ("up_down", 4, "1,0,2", {0, 2, 3, 4}),
        ("big_ships", 10, "3,0,3", {*range(11)}),
    ],
)
def test_hook(variant: str, hand_size: int, earlier: str, legal: set[int]) -> None:
    words = ref.exact_bids(hand_size, counts(earlier), 4, complete_options(variant, 4, {}))
    assert sorted(map(int, words)) == sorted(legal)


@pytest.mark.parametrize(
    ("variant", "given", "calls", "legal"),
    [
        ("small_ships", {}, "", "pass 7 8 9 10 mis 11 12 13"),
        ("small_ships", {}, "pass pass pass", "7 8 9 10 11 12 13"),
        ("small_ships", {"forced_bid_numeric_only": False}, "pass pass pass", "7 8 9 10 mis 11 12 13"),
        ("small_ships", {}, "pass pass pass 7", "pass 8 9 10 mis 11 12 13"),
        ("small_ships", {"forced_bid_closes": True}, "pass pass pass 7", ""),
        ("small_ships", {"forced_bid_closes": True}, "pass pass 7", "pass 8 9 10 mis 11 12 13"),
        ("small_ships", {}, "pass pass pass 7 pass pass pass", ""),
        ("small_ships", {}, "pass pass pass 7 8 pass pass", "pass 9 10 mis 11 12 13"),
        ("small_ships", {}, "7 pass 8 9", "pass 10 mis 11 12 13"),
        ("small_ships", {}, "7 pass 8 9 pass", "pass 10 mis 11 12 13"),
        ("small_ships", {}, "10", "pass mis 11 12 13"),
        ("small_ships", {}, "mis", "pass 11 12 13"),
        ("small_ships", {}, "7 pass pass pass", ""),
        ("small_ships", {}, "13", ""),
        ("small_ships", {"misere_above": 13}, "mis", ""),
        ("small_ships", {"misere_above": 6}, "pass", "pass mis 7 8 9 10 11 12 13"),
        ("noms", {}, "10", "pass 11 12 13 mis mis_a_vis"),
        ("noms", {}, "13", "pass mis mis_a_vis"),
        ("noms", {}, "mis", "pass mis_a_vis"),
        ("noms", {}, "mis_a_vis", ""),
        ("noms", {}, "pass pass pass", "pass 10 11 12 13 mis mis_a_vis"),
        ("noms", {}, "pass pass pass pass", ""),
        ("noms", {}, "pass pass pass 10 pass pass pass", ""),
        ("noms", {}, "pass pass pass 10", "pass 11 12 13 mis mis_a_vis"),
        ("noms", {"min_bid": 7}, "pass pass pass", "7 8 9 10 11 12 13 mis mis_a_vis"),
        ("noms", {"min_bid": 7, "dealer_forced": False}, "pass pass pass", "pass 7 8 9 10 11 12 13 mis mis_a_vis"),
        ("noms", {"mis_value": 10}, "10", "pass mis 11 12 13"),
        ("noms", {"mis_value": 10}, "13", ""),
    ],
)
def test_auction(variant: str, given: dict[str, Any], calls: str, legal: str) -> None:
    auction = ref.Auction(variant, 4, complete_options(variant, 4, given), calls.split())
    assert sorted(auction.legal()) == sorted(legal.split())
    assert auction.over == (not legal)


@pytest.mark.parametrize(
    ("variant", "seats", "given", "turns"),
    [
        *[("small_ships", n, {}, turns) for n, turns in ((4, 25), (3, 15), (5, 29), (6, 36))],
        ("noms", 4, {}, 19),
        ("noms", 4, {"min_bid": 7}, 28),
    ],
)
def test_longest_auction(variant: str, seats: int, given: dict[str, Any], turns: int) -> None:
    options = complete_options(variant, seats, given)
    calls: list[str] = []
    while legal := ref.Auction(variant, seats, options, calls).legal():
        keeps_open = "pass" in legal and not ref.Auction(variant, seats, options, [*calls, "pass"]).over
        calls.append("pass" if keeps_open else next(word for word in legal if word != "pass"))
    assert len(calls) == turns


# ---------------------------------------------------------------------------------------------------------------------
# Settlement


@pytest.mark.parametrize(
    ("tricks", "points", "given"),
    [
        ("2,5,3,3", "1,-1,0,0", {}),
        ("1,1,6,5", "1/2,1/2,-1,0", {}),
        ("0,6,6,1", "1,-1/2,-1/2,0", {}),
        ("4,4,4,1", "-1/3,-1/3,-1/3,1", {}),
        ("13,0,0,0", "-1,1/3,1/3,1/3", {}),
        ("6,6,5", "-1/2,-1/2,1", {}),
        ("2,2,2,2,2", "0,0,0,0,0", {}),
        ("2,2,2,2,2", "0,0,0,0,0", {"tie": "none"}),
        ("0,0,0,0,4,4", "1/4,1/4,1/4,1/4,-1/2,-1/2", {}),
        ("2,5,3,3", "-2,-5,-3,-3", {"scoring": "tricks"}),
        ("2,5,3,3", "-2,-9,-3,-3", {"scoring": "tricks", "snip_penalty": 4}),
        ("2,5,3,3", "-2,5,3,3", {"scoring": "tricks", "snip_penalty": 4, "objective": "most"}),
        ("2,5,3,3", "-1,1,0,0", {"objective": "most"}),
        ("0,6,6,1", "1,0,0,0", {"tie": "none"}),
        ("0,6,6,1", "1,0,-1,0", {"tie": "cut"}),
        ("0,6,6,1", "0,-6,-8,-1", {"tie": "cut", "scoring": "tricks", "snip_penalty": 2}),
        ("0,6,6,1", "0,-8,-8,-1", {"scoring": "tricks", "snip_penalty": 2}),
        ("0,6,6,1", "0,-6,-6,-1", {"tie": "none", "scoring": "tricks", "snip_penalty": 2}),
    ],
)
def test_sniped_whist_points(tricks: str, points: str, given: dict[str, Any]) -> None:
    taken = counts(tricks)
    options = complete_options("sniped_whist", len(taken), given)
    assert ref.settle_sniped_whist(options, taken, drawn=2) == pytest.approx(numbers(points))


@pytest.mark.parametrize(
    ("bid", "tricks", "points", "bonus"),
    [
        *[(3, 3, 13, "exact"), (3, 2, 2, "exact"), (3, 5, 5, "exact"), (3, 5, 15, "at_least"), (0, 0, 10, "exact")],
        *[(0, 1, 1, "exact"), (1, 2, 2, "exact"), (13, 13, 23, "exact"), (5, 0, 0, "exact"), (10, 10, 20, "exact")],
        *[(4, 3, 3, "exact"), (2, 6, 6, "exact"), (1, 1, 11, "exact"), (13, 12, 12, "exact"), (0, 3, 3, "exact")],
    ],
)
def test_exact_bid_points(bid: int, tricks: int, points: int, bonus: str) -> None:
    assert ref.settle_exact_bid([bid], [tricks], bonus) == [points]


@pytest.mark.parametrize(
    ("contract", "declarer", "partner", "tricks", "points", "given"),
    [
        ("7", 0, 2, "4,3,3,3", "7,3,7,3", {}),
        ("7", 0, 2, "6,1,5,1", "7,1,7,1", {}),
        ("9", 1, 3, "3,5,2,3", "3,0,2,0", {}),
        ("8", 2, None, "1,2,8,2", "1,2,8,2", {}),
        ("8", 2, None, "3,1,7,2", "3,1,0,2", {}),
        ("mis", 0, None, "0,5,4,4", "10,5,4,4", {}),
        ("mis", 0, None, "0,5,4,4", "10,0,0,0", {"misere_opponents_score": False}),
        ("mis", 0, 1, "0,0,7,6", "20,20,7,6", {}),
        ("mis", 0, None, "2,5,3,3", "-12,5,3,3", {}),
        ("mis", 0, 1, "1,2,6,4", "-13,-13,6,4", {}),
        ("mis", 0, 1, "1,2,6,4", "-11,-12,6,4", {"misere_penalty": "own"}),
        ("mis", 0, 1, "0,3,6,4", "-13,-13,6,4", {}),
        ("13", 3, 1, "0,4,0,9", "0,13,0,13", {}),
        ("13", 3, 1, "1,4,0,8", "1,0,0,0", {}),
        ("6", 0, None, "5,2,1,1,1", "0,2,1,1,1", {}),
        ("12", 0, 2, "7,4,6", "12,4,12", {}),
        ("mis", 4, None, "3,3,2,2,0", "3,3,2,2,7", {}),
        ("mis", 4, 2, "2,2,0,2,0,2", "2,2,10,2,10,2", {}),
        ("3", 5, 0, "1,2,1,1,1,2", "3,2,1,1,1,3", {}),
    ],
)
def test_small_ships_points(
    contract: str, declarer: int, partner: int | None, tricks: str, points: str, given: dict[str, Any]
) -> None:
    options = complete_options("small_ships", len(counts(tricks)), given)
    assert ref.settle_small_ships(options, contract, declarer, partner, counts(tricks)) == counts(points)


@pytest.mark.parametrize(
    ("contract", "tricks", "points"),
    [("8", "5,3,4,1", "8,3,-8,1"), ("mis", "0,3,0,10", "20,3,0,10"), ("mis", "1,3,0,9", "-11,3,-31,9")],
)
def test_indication_points(contract: str, tricks: str, points: str) -> None:
    options = complete_options("small_ships", 4, {"indication": True})
    assert ref.settle_small_ships(options, contract, 0, 2, counts(tricks), indicated=2) == counts(points)


SLAM, MIS_10, LOW = {"unbid_slam_loses": True}, {"mis_value": 10}, {"min_bid": 7}


@pytest.mark.parametrize(
    ("contract", "declarer", "partner", "tricks", "multiplier", "points", "given"),
    [
        ("10", 0, 2, "6,1,5,1", 1, "10,0,10,0", {}),
        ("10", 0, 2, "5,2,4,2", 1, "0,10,0,10", {}),
        ("12", 1, None, "0,12,1,0", 1, "0,12,0,0", {}),
        ("12", 1, None, "1,11,1,0", 1, "12,0,12,12", {}),
        ("13", 3, 0, "5,0,0,8", 1, "13,0,0,13", {}),
        ("mis", 2, None, "4,5,0,4", 1, "0,0,13,0", {}),
        ("mis", 2, None, "4,5,1,3", 1, "13,13,0,13", {}),
        ("mis_a_vis", 2, None, "4,5,0,4", 1, "0,0,26,0", {}),
        ("mis_a_vis", 2, None, "4,4,3,2", 1, "26,26,0,26", {}),
        ("11", 0, 3, "7,1,0,5", 2, "22,0,0,22", {}),
        ("mis_a_vis", 0, None, "1,4,4,4", 2, "0,52,52,52", {}),
        ("10", 0, 2, "7,0,6,0", 1, "0,26,0,26", SLAM),
        ("10", 0, 2, "7,0,6,0", 1, "10,0,10,0", {}),
        ("11", 0, None, "13,0,0,0", 2, "0,52,52,52", SLAM),
        ("13", 0, 2, "7,0,6,0", 1, "13,0,13,0", SLAM),
        ("mis", 1, None, "5,0,4,4", 1, "0,10,0,0", MIS_10),
        ("mis", 1, None, "4,3,3,3", 1, "0,-13,0,0", MIS_10),
        ("mis", 1, None, "4,3,3,3", 2, "0,-26,0,0", MIS_10),
        ("7", 0, 2, "4,3,3,3", 1, "7,0,7,0", LOW),
    ],
)
def test_noms_points(
    contract: str, declarer: int, partner: int | None, tricks: str, multiplier: int, points: str, given: dict[str, Any]
) -> None:
    options = complete_options("noms", 4, given)
    assert ref.settle_noms(options, contract, declarer, partner, counts(tricks), multiplier) == counts(points)


@pytest.mark.parametrize(
    ("contract", "partner", "tricks", "decided", "given"),
    [
        ("10", 2, "5,1,5,0", True, {}),
        ("10", 2, "5,1,4,0", False, {}),
        ("10", 2, "5,0,5,0", False, SLAM),
        ("10", 2, "5,1,5,0", True, SLAM),
        ("13", 2, "7,0,5,0", False, SLAM),
        ("10", 2, "0,2,0,2", True, {}),
        ("10", 2, "0,2,0,1", False, {}),
        ("mis", None, "1,0,0,0", True, {}),
        ("mis", None, "1,0,0,0", False, MIS_10),
        ("mis_a_vis", None, "0,5,5,0", False, {}),
    ],
)
def test_noms_early_stop(contract: str, partner: int | None, tricks: str, decided: bool, given: dict[str, Any]) -> None:
    assert ref.noms_is_decided(complete_options("noms", 4, given), contract, 0, partner, counts(tricks)) is decided


@pytest.mark.parametrize(
    ("total", "bid", "tricks", "points", "half"),
    [
        *[
            (12, "some", 4, 4, "ceil"),
            (12, "some", 0, 0, "ceil"),
            (12, "most", 6, 12, "ceil"),
            (12, "most", 8, 16, "ceil"),
        ],
        *[
            (12, "most", 5, -1, "ceil"),
            (12, "most", 4, -2, "ceil"),
            (12, "most", 0, -6, "ceil"),
            (12, "none", 0, 12, "ceil"),
        ],
        *[
            (12, "none", 1, -1, "ceil"),
            (12, "none", 5, -5, "ceil"),
            (9, "most", 5, 10, "ceil"),
            (9, "most", 9, 18, "ceil"),
        ],
        *[
            (9, "most", 4, -1, "ceil"),
            (9, "most", 3, -2, "ceil"),
            (9, "most", 0, -5, "ceil"),
            (9, "none", 0, 9, "ceil"),
        ],
        *[
            (9, "none", 3, -3, "ceil"),
            (9, "some", 2, 2, "ceil"),
            (9, "most", 4, -0.5, "exact"),
            (9, "most", 4, 0, "floor"),
        ],
        *[
            (9, "most", 5, 10, "exact"),
            (9, "most", 3, -1, "floor"),
            (12, "most", 5, -1, "exact"),
            (12, "most", 5, -1, "floor"),
        ],
    ],
)
def test_nonesuch_points(total: int, bid: str, tricks: int, points: float, half: str) -> None:
    assert ref.nonesuch_points(complete_options("nonesuch", 3, {"half": half}), bid, tricks, total) == points


# ---------------------------------------------------------------------------------------------------------------------
# Play


@pytest.mark.parametrize(
    ("cards", "led", "trump", "winner"),
    [
        ("8WL 6LK CL", "L", "K", "6LK"),
        ("CW 9WY 2MK", "W", "K", "2MK"),
        ("9MS CS CM", "S", "NT", "CS"),
        ("AW 2WL", "W", "NT", "2WL"),
        ("8WL CL CW", "L", "W", "CW"),
        ("4YK CK 9LK", "Y", "K", "CK"),
    ],
)
def test_nonesuch_tricks(cards: str, led: str, trump: str, winner: str) -> None:
    plays = list(enumerate(cards.split()))
    assert cards.split()[ref.trick_winner("nonesuch", plays, led, trump)] == winner


@pytest.mark.parametrize(
    ("hand", "broken", "legal"),
    [("2MK 3SK CW", False, "CW"), ("2MK 3SK", False, "2MK 3SK"), ("2MK 3SK CW", True, "2MK 3SK CW")],
)
def test_nonesuch_lead_restriction(hand: str, broken: bool, legal: str) -> None:
    assert ref.cards_to_lead_with_trump_ban(hand.split(), "K", broken) == legal.split()


@pytest.mark.parametrize(
    ("cards", "led", "trump", "winner"),
    [("TH JH 2S AH", "H", "NT", "AH"), ("TH JH 2S AH", "H", "S", "2S"), ("TH AS AD AC", "H", "NT", "TH")],
)
def test_french_tricks(cards: str, led: str, trump: str, winner: str) -> None:
    assert cards.split()[ref.trick_winner("noms", list(enumerate(cards.split())), led, trump)] == winner


def nonesuch_deal(seed: int, up_card: Callable[[str], bool]) -> ref.Deal:
    rng = random.Random(seed)
    deck = rng.sample(ref.decktet(), 37)
    up = next(card for card in deck if up_card(card))
    deck.remove(up)
    return ref.Deal("nonesuch", 3, complete_options("nonesuch", 3, {}), deal=0, dealer=2, deck=[*deck, up])


def test_nonesuch_excuse_is_swapped_for_the_up_card() -> None:
    deal = nonesuch_deal(1, lambda card: len(ref.suits_of(card)) == 2)
    holder = deal.holder("EX")
    act(deal, "none some most")
    assert (deal.phase, deal.seat, sorted(deal.legal())) == ("trump", holder, sorted(ref.suits_of(deal.turn_up or "")))
    deal.act(deal.legal()[0])
    assert holder is not None
    assert deal.turn_up in deal.hands[holder]
    assert "EX" not in deal.hands[holder]
    assert "EX" in deal.initial_hands[holder]
    assert deal.stock == [deal.turn_up]
    assert (deal.phase, deal.seat) == ("play", 0)

    crown = nonesuch_deal(2, lambda card: card == "CL")
    act(crown, "none some most")
    assert (crown.phase, crown.trump) == ("play", "L")
    assert all("EX" not in hand for hand in crown.hands)

    excuse = nonesuch_deal(3, lambda card: card == "EX")
    act(excuse, "none some most")
    assert (excuse.phase, excuse.trump) == ("play", "NT")
    assert sorted(excuse.legal()) == sorted(excuse.hands[0])


def test_nonesuch_leader_names_a_suit() -> None:
    deal = act(nonesuch_deal(3, lambda card: card == "EX"), "none some most")
    card = next(card for card in deal.hands[0] if len(ref.suits_of(card)) == 2)
    deal.act(card)
    assert (deal.phase, deal.seat, deal.legal()) == ("suit", 0, list(ref.suits_of(card)))
    deal.act(ref.suits_of(card)[1])
    assert (deal.phase, deal.seat, deal.led) == ("play", 1, ref.suits_of(card)[1])


def test_sniped_whist_turn_up() -> None:
    rng = random.Random(0)
    deck = rng.sample(ref.french_deck(), 52)
    four = ref.Deal("sniped_whist", 4, complete_options("sniped_whist", 4, {}), deal=0, dealer=1, deck=deck)
    assert four.turn_up == deck[51] == four.hands[1][-1]
    assert four.trump == deck[51][1]
    five = ref.Deal("sniped_whist", 5, complete_options("sniped_whist", 5, {}), deal=0, dealer=1, deck=deck)
    assert five.turn_up == deck[50] == five.stock[0]
    assert five.trump == deck[50][1]
    chosen = complete_options("sniped_whist", 4, {"trump_mode": "dealer"})
    deal = ref.Deal("sniped_whist", 4, chosen, deal=0, dealer=1, deck=deck)
    assert (deal.phase, deal.seat, sorted(deal.legal())) == ("trump", 1, ["C", "D", "H", "NT", "S"])
    deal.act("NT")
    assert (deal.phase, deal.seat, deal.trump) == ("play", 2, "NT")


HANDS = ("AC KC QC AS", "JC AD KD QD", "JD AH KH QH", "JH KS QS JS")  # seats 0 to 3, dealt by seat 3


@pytest.mark.parametrize(
    ("given", "nominated", "legal"),
    [
        ({}, "JC", "AS"),
        ({}, "AC", "AS"),  # his own card
        ({}, "AH", "AC KC QC AS"),
        ({"first_trick_restriction": "card"}, "JC", "AC KC QC AS"),
        ({"first_trick_restriction": "card"}, "AC", "KC QC AS"),
        ({"first_trick_restriction": "off"}, "JC", "AC KC QC AS"),
    ],
)
def test_first_trick_restriction(given: dict[str, Any], nominated: str, legal: str) -> None:
    deal = act(table("small_ships", HANDS, **SIXTEEN, **given), f"4 H {nominated}")
    assert deal.seat == 0
    assert sorted(deal.legal()) == sorted(legal.split())


def test_first_trick_restriction_binds_only_the_declarer_on_lead() -> None:
    deal = act(table("small_ships", HANDS, **SIXTEEN), "pass 4 NT AC")
    assert (deal.declarer, deal.partner, deal.seat) == (1, 0, 0)
    assert sorted(deal.legal()) == sorted(HANDS[0].split())


def test_indication() -> None:
    deal = act(table("small_ships", HANDS, **SIXTEEN, indication=True), "4 NT AD AS")
    assert deal.partner == 1
    assert deal.seat == 1
    assert sorted(deal.legal()) == sorted([*HANDS[1].split(), "indicate"])
    deal.act("indicate")
    assert deal.seat == 1
    assert sorted(deal.legal()) == sorted(HANDS[1].split())
    play_out(deal, random.Random(0))
    assert deal.points is not None
    assert deal.points[1] - (4 if sum(deal.tricks[:2]) >= 4 else 0) == -8


def test_indication_ends_with_the_card() -> None:
    deal = act(table("small_ships", HANDS, **SIXTEEN, indication=True), "4 NT AD AS AD JD JS AC")
    assert deal.seat == 1
    assert "indicate" not in deal.legal()


@pytest.mark.parametrize(("mode", "steps"), [("alone", "JC"), ("redraw", "JC AD"), ("illegal", "AD")])
def test_card_in_the_stock(mode: str, steps: str) -> None:
    hands = ("AC KC QC", "KD QD JD", "AD AH KH", "QH JH AS")
    deal = table("small_ships", hands, stock="JC KS QS JS", hand_size=3, stock_nomination=mode, **SIXTEEN)
    act(deal, "3 NT")
    assert ("JC" in deal.legal()) == (mode != "illegal")
    for word in steps.split():
        assert deal.phase == "nominate"
        deal.act(word)
        assert word not in deal.legal()
    assert deal.phase == "play"
    assert (deal.nominated, deal.partner) == (("JC", None) if mode == "alone" else ("AD", 2))


@pytest.mark.parametrize(
    ("given", "words", "phase", "trump"),
    [
        ({}, "mis", "trump", None),
        ({"misere_trump": "none"}, "mis", "nominate", "NT"),
        ({"misere_nominates": False}, "mis S", "play", "S"),
        ({"misere_trump": "none", "misere_nominates": False}, "mis", "play", "NT"),
    ],
)
def test_misere_announcements(given: dict[str, Any], words: str, phase: str, trump: str | None) -> None:
    deal = act(table("small_ships", HANDS, min_bid=1, misere_above=4, **SIXTEEN, **given), words)
    assert (deal.phase, deal.trump) == (phase, trump)


@pytest.mark.parametrize(
    ("words", "trump", "nominated", "partner"),
    [
        ("4 pass pass pass H A AC", "H", "AH", 2),
        ("4 pass pass pass unsaid J AC", "C", "JC", 1),
        ("4 pass pass pass unsaid A AC", "C", "AC", None),
        ("4 pass pass pass unsaid KS AC", "C", "KS", 3),
        ("4 pass pass pass NT KS AC", "NT", "KS", 3),
        ("mis_a_vis AC", "NT", None, None),
    ],
)
def test_implicit_announcements(words: str, trump: str, nominated: str | None, partner: int | None) -> None:
    deal = act(table("noms", HANDS, **SIXTEEN, implicit_announcements=True), words)
    assert (deal.trump, deal.nominated, deal.partner) == (trump, nominated, partner)


def test_implicit_announcements_are_masked() -> None:
    deal = act(table("noms", HANDS, **SIXTEEN, implicit_announcements=True), "4 pass pass pass")
    assert "unsaid" in deal.legal()
    deal.act("NT")
    assert sorted(deal.legal()) == sorted(ref.french_deck(4))
    other = table("noms", HANDS, **SIXTEEN, implicit_announcements=True, first_lead="left_of_dealer")
    assert "unsaid" not in act(other, "pass 4 pass pass pass").legal()
    act(other, "S K")
    assert (other.declarer, other.seat, other.nominated) == (1, 0, "KS")


def test_noms_bidder_leads_and_small_ships_eldest() -> None:
    assert act(table("noms", HANDS, **SIXTEEN), "pass 4 pass pass pass S KS").seat == 1
    assert act(table("small_ships", HANDS, **SIXTEEN), "pass 4 S KS").seat == 0


# ---------------------------------------------------------------------------------------------------------------------
# Packets, gathering, passing out


def places(text: str) -> list[str]:
    return [str(place) for part in text.split() for place in range(int(part.split("-")[0]), int(part.split("-")[-1]) + 1)]


def test_packet_deal_fixture() -> None:
    hands = ref.deal_packets(ref.cut_deck([str(place) for place in range(52)], 17), dealer=3)
    assert hands[0] == places("17-20 30-32 43-45 4-6")
    assert hands[1] == places("21-23 33-36 46-48 7-9")
    assert hands[2] == places("24-26 37-39 49-51 0 10-12")
    assert hands[3] == places("27-29 40-42 1-3 13-16")


WINNERS = (0, 2, 2, 1, 3, 0, 0, 2, 1, 1, 3, 2, 0)
TRICKS = [ref.Trick(seat, [f"{place}{card}" for card in "abcd"]) for place, seat in enumerate(WINNERS, start=1)]


@pytest.mark.parametrize(
    ("given", "order"),
    [
        ({}, "12 8 3 2 11 5 13 7 6 1 10 9 4"),
        ({"trick_stack": "underneath"}, "2 3 8 12 5 11 1 6 7 13 4 9 10"),
        ({"pile_order": "right_first"}, "13 7 6 1 11 5 12 8 3 2 10 9 4"),
    ],
)
@pytest.mark.parametrize(("trick_order", "cards"), [("play", "abcd"), ("reverse", "dcba")])
def test_gathering_fixture(given: dict[str, Any], order: str, trick_order: str, cards: str) -> None:
    options = complete_options("noms", 4, {**given, "trick_order": trick_order})
    deck = ref.gather_played(options, TRICKS, 1, random.Random(0))
    assert deck == [place + card for place in order.split() for card in cards]
    assert ref.could_be_gathered(options, TRICKS, 1, deck)
    assert not ref.could_be_gathered(options, TRICKS, 1, ref.cut_deck(deck, 1))


@pytest.mark.parametrize("given", [{"trick_order": "random"}, {"pile_order": "random"}])
def test_random_gathering(given: dict[str, Any]) -> None:
    options = complete_options("noms", 4, given)
    decks = [ref.gather_played(options, TRICKS, 1, random.Random(seed)) for seed in range(50)]
    assert all(ref.could_be_gathered(options, TRICKS, 1, deck) for deck in decks)
    assert len({tuple(deck) for deck in decks}) >= 20
    foreign = [*decks[0][1:4], decks[0][50], *decks[0][4:50], decks[0][0], decks[0][51]]
    assert not ref.could_be_gathered(options, TRICKS, 1, foreign)


PASSED = (
    "QH 8H 4H AC TC 6C 2C JD 7D 3D KS 9S 5S",
    "JH 7H 3H KC 9C 5C AD TD 6D 2D QS 8S 4S",
    "AH TH 6H 2H QC 8C 4C KD 9D 5D JS 7S 3S",
    "KH 9H 5H JC 7C 3C QD 8D 4D AS TS 6S 2S",
)
REDEALT = (
    "8H 6H 5H 4H 3H 2H AC KC QC JC TC 9C 7C",
    "8C 6C 5C 4C 3C 2C AD KD QD JD TD 8D 7D",
    "9D 6D 5D 4D 3D 2D AS KS QS JS TS 9S 8S",
    "AH KH QH JH TH 9H 7H 7S 6S 5S 4S 3S 2S",
)


def test_pass_out_fixture() -> None:
    shuffled = [random.Random(seat).sample(hand.split(), 13) for seat, hand in enumerate(PASSED)]
    gathered = ref.gather_passed(shuffled, passed_dealer=3)
    assert gathered == [card for hand in PASSED for card in hand.split()]
    hands = ref.deal_packets(ref.cut_deck(gathered, 5), dealer=0)
    assert [ref.sort_passed_hand(hand) for hand in hands] == [hand.split() for hand in REDEALT]


@pytest.mark.parametrize(
    ("repeat", "multipliers"), [("double", [1, 2, 2, 2]), ("quadruple", [1, 2, 4, 8]), ("single", [1, 2, 1, 2])]
)
def test_double_hands(repeat: str, multipliers: list[int]) -> None:
    options = complete_options("noms", 4, {"double_repeat": repeat, "cut": 5})
    match = ref.Match("noms", 4, options, dealer=3)
    rng = random.Random(0)
    found = []
    for number in range(4):
        assert (match.deal, match.dealer) == (number, (3 + number) % 4)
        found.append(match.multiplier)
        deck = match.draw_next_deck(rng)
        assert match.possible_next_deck(deck)
        if number:
            assert not match.possible_next_deck(ref.cut_deck(deck, 1))
        deal = act(match.start(deck), "pass pass pass pass")
        assert deal.points == [0, 0, 0, 0]
        assert deal.trump is None
        match.finish(deal)
    assert found == multipliers


# ---------------------------------------------------------------------------------------------------------------------
# Match ends


@pytest.mark.parametrize(
    ("variant", "given", "totals", "over", "truncated"),
    [
        ("noms", {}, [100, 50, 0, 0], False, False),
        ("noms", {}, [101, 50, 0, 0], True, False),
        ("noms", {"tie": "play_on"}, [101, 101, 0, 0], False, False),
        ("noms", {"tie": "play_on"}, [102, 101, 0, 0], True, False),
        ("noms", {"max_deals": 1}, [0, 0, 0, 0], True, True),
        ("noms", {"max_deals": 1}, [101, 0, 0, 0], True, False),
        ("noms", {"max_deals": 1, "tie": "play_on"}, [101, 101, 0, 0], True, True),
        ("noms", {"target": None}, [999, 0, 0, 0], False, False),
    ],
)
def test_noms_ends(variant: str, given: dict[str, Any], totals: list[int], over: bool, truncated: bool) -> None:
    match = ref.Match(variant, 4, complete_options(variant, 4, given), dealer=0, totals=totals)
    match.finish(act(match.start(match.draw_next_deck(random.Random(0))), "pass pass pass pass"))
    assert (match.over, match.truncated) == (over, truncated)
    assert match.winners == (ref.leaders(totals) if over else [])


def test_single_deals() -> None:
    for variant in ref.VARIANTS:
        rng = random.Random(7)
        for _ in range(10):
            seats, given = ref.random_options(variant, rng)
            records = ref.random_match(variant, seats, given, rng, single_deal=True)
            assert ref.check_match(records, single_deal=True) == []
            assert records[-1]["over"]
            assert records[-1]["before"] == [0] * seats
            assert all(record["declarer"] is None for record in records[:-1])
            two = [*records, *ref.random_match(variant, seats, given, rng, match=1, single_deal=True)]
            assert ref.check_match(two, single_deal=True) == []


def test_accumulated_tricks_are_scored_once() -> None:
    rng = random.Random(3)
    records = ref.random_match("sniped_whist", 4, {"n_hands": 3, "accumulate": True}, rng)
    assert [record["points"] for record in records[:2]] == [[0] * 4] * 2
    sums = [sum(record["tricks"][seat] for record in records) for seat in range(4)]
    assert records[2]["points"] == ref.settle_sniped_whist(records[2]["options"], sums)


# ---------------------------------------------------------------------------------------------------------------------
# The checker


def through_json(records: list[ref.Record]) -> list[ref.Record]:
    loaded: list[ref.Record] = json.loads(json.dumps(records))
    return loaded


@pytest.mark.parametrize("variant", ref.VARIANTS)
def test_random_matches_pass(variant: str) -> None:
    rng = random.Random(variant)
    for number in range(40):
        seats, given = ref.random_options(variant, rng)
        records = through_json(ref.random_match(variant, seats, given, rng, match=number))
        assert ref.check_match(records) == [], (seats, given)
        if variant != "sniped_whist":  # a match may be looked at from any deal on
            later = records[len(records) // 2 :]
            assert not later or not [line for line in ref.check_match(later) if "deck" not in line], (seats, given)


@pytest.mark.parametrize("variant", ref.VARIANTS)
def test_random_options_reach_everything(variant: str) -> None:
    rng = random.Random(variant)
    drawn = [ref.random_options(variant, rng) for _ in range(4000)]
    lowest = 3 if variant == "nonesuch" else 2
    assert {seats for seats, _ in drawn} == set(range(lowest, ref.SEATS[variant][1] + 1))
    for name, option in ref.OPTIONS[variant].items():
        found = [given[name] for _, given in drawn if name in given]
        if all(value is None or isinstance(value, str | bool) for value in option.drawn):
            assert set(found) == set(option.drawn), name
        else:
            assert (None in found) == (None in option.drawn), name
            assert len(set(map(str, found))) > 1 or len(option.drawn) == 1, name
    for seats, given in drawn[:200]:
        options = complete_options(variant, seats, given)
        assert complete_options(variant, seats, options) == options
        assert set(options) == set(ref.OPTIONS[variant])


SHORT_MATCHES: dict[str, dict[str, Any]] = {
    "sniped_whist": {"n_hands": 4},
    "big_ships": {"start_cards": 3},
    "small_ships": {"max_hands": 4},
    "noms": {"target": 40},
    "nonesuch": {"max_hands": 4},
    "down_up": {"ranks": 4},
    "up_down": {"ranks": 4},
}


@cache
def some_match(variant: str) -> list[ref.Record]:
    records = through_json(ref.random_match(variant, 4, SHORT_MATCHES[variant], random.Random(0), match=5))
    assert len(records) > 2
    assert ref.check_match(records) == []
    return records


def swap_dealt_cards(records: list[ref.Record]) -> None:
    hands = records[1]["hands"]
    hands[0][0], hands[1][0] = hands[1][0], hands[0][0]


def swap_deck(records: list[ref.Record]) -> None:
    deck = records[1]["deck"]
    deck[0], deck[1] = deck[1], deck[0]


def double_a_card(records: list[ref.Record]) -> None:
    records[0]["deck"][0] = records[0]["deck"][1]


def change(key: str, deal: int, value: Callable[[Any], Any]) -> Callable[[list[ref.Record]], None]:
    def corrupt(records: list[ref.Record]) -> None:
        records[deal][key] = value(records[deal][key])

    corrupt.__name__ = f"{key}_in_deal_{deal}"
    return corrupt


def change_step(key: str, value: Callable[[Any], Any]) -> Callable[[list[ref.Record]], None]:
    def corrupt(records: list[ref.Record]) -> None:
        step = records[0]["steps"][-2]
        step[key] = value(step[key])

    corrupt.__name__ = f"step_{key}"
    return corrupt


def one_more(values: list[Any]) -> list[Any]:
    return [values[0] + 1, *values[1:]]


CORRUPTIONS = [
    swap_dealt_cards,
    swap_deck,
    double_a_card,
    change("dealer", 1, lambda seat: (seat + 1) % 4),
    change("deal", 1, lambda number: number + 1),
    change("match", 1, lambda number: number + 1),
    change("hand_size", 0, lambda size: size + 1),
    change("format", 0, lambda _: "noms-record/2"),
    change("multiplier", 1, lambda number: 2 * number),
    change("before", 1, one_more),
    change("points", 0, one_more),
    change("after", 0, one_more),
    change("tricks", 0, one_more),
    change("over", 0, lambda over: not over),
    change("truncated", -1, lambda truncated: not truncated),
    change("winners", -1, lambda _: []),
    change("trump", 0, lambda trump: "NT" if trump != "NT" else "X"),
    change("partner", 0, lambda seat: 0 if seat is None else None),
    change("options", 0, lambda options: {**options, "surprise": 1}),
    change("options", 0, lambda options: dict(list(options.items())[1:])),
    change("steps", 0, lambda steps: steps[:-1]),
    change("steps", 0, lambda steps: [*steps, steps[-1]]),
    change_step("action", lambda _: "pass"),
    change_step("seat", lambda seat: (seat + 1) % 4),
    change_step("phase", lambda _: "nominate"),
    change_step("legal", lambda words: [*words, "ZZ"]),
    change_step("legal", lambda words: words[1:]),
    change_step("legal", lambda words: [*words, words[0]]),
]


@pytest.mark.parametrize("corrupt", CORRUPTIONS, ids=lambda corrupt: corrupt.__name__)
@pytest.mark.parametrize("variant", ref.VARIANTS)
def test_corruption_is_found(variant: str, corrupt: Callable[[list[ref.Record]], None]) -> None:
    broken = copy.deepcopy(some_match(variant))
    corrupt(broken)
    assert broken != some_match(variant)
    assert ref.check_match(broken)


def places_in(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all values inside a record."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(deeper for key, item in inside for deeper in places_in(item, (*path, key)))]


@pytest.mark.parametrize("variant", ref.VARIANTS)
def test_nonsense_is_reported_not_raised(variant: str) -> None:
    rng = random.Random(variant)
    free = {("match",), ("options",)}  # a lone record may be of any match, and of a table with another target
    for _ in range(300):
        broken = copy.deepcopy(some_match(variant)[0])
        path = rng.choice(places_in(broken)[1:])
        target: Any = broken
        for key in path[:-1]:
            target = target[key]
        target[path[-1]] = rng.choice([None, -1, 0.5, 10**9, "ZZ", [], {}, [None], True, [[1], 2], {"a": []}])
        report = ref.check_match([broken])
        assert report or broken == some_match(variant)[0] or path[:1] in free, path


def test_wrong_next_deck_is_found() -> None:
    options = {"max_deals": 12, "target": None}
    records = through_json(ref.random_match("noms", 4, options, random.Random(1)))
    rng = random.Random(2)
    for number in range(1, len(records)):
        match = ref.Match("noms", 4, records[0]["options"], dealer=records[0]["dealer"])
        for record in records[:number]:
            deal = match.start(record["deck"])
            for step in record["steps"]:
                deal.act(step["action"])
            match.finish(deal)
        assert match.possible_next_deck(records[number]["deck"])
        assert not match.possible_next_deck(rng.sample(records[number]["deck"], 52))


def test_record_without_legal_lists() -> None:
    options = complete_options("nonesuch", 4, {})
    match = ref.Match("nonesuch", 4, options, dealer=0)
    deal = play_out(match.start(match.draw_next_deck(random.Random(0))), random.Random(0))
    match.finish(deal)
    record = match.record(deal, with_legal=False)
    assert all(set(step) == {"seat", "phase", "action"} for step in record["steps"])
    assert ref.check_match(through_json([record])) == []
