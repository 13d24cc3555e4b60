"""Nomination whist, one to thirteen to one: rules 7."""

from __future__ import annotations

import random
from typing import Any

import pytest

from noms_env.table import Table
from noms_env.variants import RulesError
from tests.variants.table_help import (
    dealt,
    deck_for,
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

GAME = "up_down"

# The golden deal: dealer 0, so seat 1 is eldest. Deal 3 has four cards, trump clubs (the fourth of S H D C NT).
GOLDEN_HANDS = ["9H AD AS 2C", "AC KH 2D 3S", "4H 5D 6S 7H", "AH QD KC 8S"]
# Seats 1, 2, 3 bid 1, 0, 2: the dealer may bid 0, 2, 3, 4 but not 1, and bids 2.
# 1: 3S 6S 8S AS.                                                   0 wins
# 2: AD 2D 5D QD.                                                   0 wins
# 3: 9H KH 7H AH.                                                   3 wins
# 4: KC 2C AC 4H: trumps, and a heart that counts for nothing.      1 wins
GOLDEN_CARDS = "3S 6S 8S AS  AD 2D 5D QD  9H KH 7H AH  KC 2C AC 4H"
GOLDEN_TRICKS = [2, 1, 0, 1]
GOLDEN_POINTS = [12, 11, 10, 1]


def started(seats: int = 4, *, deal: int = 0, dealer: int = 0, seed: int = 0, **options: Any) -> Table:
    table = Table(GAME, seats, options, seed=seed)
    table.start(deal=deal, dealer=dealer)
    return table


def test_7_golden_deal() -> None:
    table = table_with(GAME, GOLDEN_HANDS, dealer=0, deal=3)
    assert (table.trump_word(), table.phase, table.row.seat) == ("C", "call", 1)
    play(table, "1 0 2")
    assert legal(table) == {"0", "2", "3", "4"}
    play(table, "2")
    assert (table.phase, table.row.seat) == ("play", 1)
    play(table, GOLDEN_CARDS)
    assert tricks(table) == GOLDEN_TRICKS
    assert points(table) == totals(table) == GOLDEN_POINTS


def test_7_golden_last_deal() -> None:
    """Deal 24: one card, no trump (24 mod 5 = 4), no hook. The 2 led beats every ace of another suit."""
    table = table_with(GAME, ["AS", "2H", "AC", "KD"], dealer=0, deal=24, totals=[9, 3, 7, 15])
    play(table, "1 0 0")
    assert legal(table) == {"0", "1"}
    play(table, "0  2H AC KD AS")
    assert points(table) == [10, 11, 10, 10]
    assert totals(table) == [19, 14, 17, 25]
    assert table.is_over
    assert members(table.row.winners) == [3]


def test_7_ties_win_together() -> None:
    table = table_with(GAME, ["AS", "2H", "AC", "KD"], dealer=0, deal=24, totals=[9, 8, 7, 9])
    play(table, "1 0 0 0  2H AC KD AS")
    assert totals(table) == [19, 19, 17, 19]
    assert members(table.row.winners) == [0, 1, 3]


# ----------------------------------------------------------------------------------------------------- the whole game


def test_7_whole_game() -> None:
    table = started(dealer=3)
    played = play_match(table, random.Random(4))
    assert [deal.hand_size for deal in played] == [*range(1, 14), *range(12, 0, -1)]
    assert len(played) == 25
    assert sum(sum(deal.tricks) for deal in played) == 169
    assert sum(deal.decisions for deal in played) == 776
    assert [deal.decisions for deal in played] == [4 + 4 * deal.hand_size for deal in played]
    assert [deal.dealer for deal in played] == [(3 + place) % 4 for place in range(25)]
    assert [deal.first for deal in played] == [place % 4 for place in range(25)]
    assert [deal.trump for deal in played] == ["S", "H", "D", "C", "NT"] * 5
    sums = [sum(deal.points[seat] for deal in played) for seat in range(4)]
    assert totals(table) == sums
    assert members(table.row.winners) == [seat for seat in range(4) if sums[seat] == max(sums)]
    assert not table.row.truncated


@pytest.mark.parametrize("seats", [3, 5])
def test_7_seats_refused(seats: int) -> None:
    with pytest.raises(RulesError, match="up_down is played with 4 seats"):
        Table(GAME, seats)


def test_7_all_cards_are_in_play_with_thirteen() -> None:
    table = started(deal=12)
    assert [len(hand) for hand in dealt(table)] == [13] * 4
    assert table.row.stock == 0


# -------------------------------------------------------------------------------------------------------------- hook


@pytest.mark.parametrize(
    ("options", "deal", "bids", "allowed"),
    [
        ({}, 2, "1 0 2", {0, 1, 2, 3}),  # three cards: the total may equal 3
        ({}, 3, "1 0 2", {0, 2, 3, 4}),  # four cards
        ({}, 22, "1 0 2", {0, 1, 2, 3}),  # three cards on the way down
        ({}, 21, "1 0 2", {0, 2, 3, 4}),
        ({}, 12, "5 5 5", set(range(14))),
        ({}, 12, "0 0 0", set(range(13))),
        ({"hook_min_cards": 3}, 2, "1 0 2", {1, 2, 3}),
        ({"hook_min_cards": 5}, 3, "1 0 2", {0, 1, 2, 3, 4}),
        ({"hook": False}, 3, "1 0 2", {0, 1, 2, 3, 4}),
    ],
)
def test_7_hook_from_four_cards_on(options: dict[str, Any], deal: int, bids: str, allowed: set[int]) -> None:
    table = play(started(deal=deal, **options), bids)
    assert {int(word) for word in legal(table)} == allowed


# ----------------------------------------------------------------------------------------------------------- scoring


@pytest.mark.parametrize(
    ("bid", "taken", "expected"),
    [(0, 0, 10), (1, 1, 11), (13, 13, 23), (13, 12, 12), (4, 5, 5), (0, 3, 3)],
)
def test_7_scoring(bid: int, taken: int, expected: int) -> None:
    """Seat 3 is looked at, with thirteen cards; seat 0 takes the other tricks."""
    assert set_tricks_and_settle(started(deal=12), [13 - taken, 0, 0, taken], ["0", "0", "0", str(bid)])[3] == expected


# ----------------------------------------------------------------------------------------------------------- options


@pytest.mark.parametrize(
    ("schedule", "sizes"),
    [
        ("up_down", [*range(1, 14), *range(12, 0, -1)]),
        ("up", [*range(1, 14)]),
        ("up_down_repeat_top", [*range(1, 14), *range(13, 0, -1)]),
    ],
)
def test_7_schedules(schedule: str, sizes: list[int]) -> None:
    played = play_match(started(schedule=schedule), random.Random(0))
    assert [deal.hand_size for deal in played] == sizes
    assert [deal.trump for deal in played] == [("S", "H", "D", "C", "NT")[place % 5] for place in range(len(sizes))]


@pytest.mark.parametrize(("seats", "ranks", "top"), [(2, 3, 6), (3, 3, 4), (4, 12, 12), (2, 12, 13), (4, 2, 2)])
def test_7_top_with_shortened_decks(seats: int, ranks: int, top: int) -> None:
    assert max(Table(GAME, seats, {"ranks": ranks}).rules.schedule) == top


def test_7_trump_rotation() -> None:
    options: dict[str, Any] = {"ranks": 2, "trump_rotation": ["NT", "D"]}
    assert [deal.trump for deal in play_match(started(**options), random.Random(0))] == ["NT", "D", "NT"]


def test_7_trump_rotation_of_a_deck_without_spades() -> None:
    assert [deal.trump for deal in play_match(started(2, ranks=2, suits=3), random.Random(0))] == ["H", "D", "C", "NT", "H"]


def test_7_trump_turned_up_is_the_next_undealt_card() -> None:
    table = table_with(GAME, [""] * 4, stock="7D 8S", deal=5, options={"trump_mode": "turnup"})
    assert (table.word(table.row.turn_up), table.trump_word()) == ("7D", "D")
    assert not any("7D" in hand for hand in dealt(table))


@pytest.mark.parametrize(("choice", "trump", "turn_up"), [("none", "NT", None), ("dealer_last", "S", "5S")])
def test_7_trump_turned_up_with_all_cards_dealt(choice: str, trump: str, turn_up: str | None) -> None:
    deck = deck_for(GAME, 4, ["", "2C 3C 4C 5C 6C 7C 8C 9C TC JC QC KC 5S"], 1, deal=12)
    table = Table(GAME, 4, {"trump_mode": "turnup", "turnup_full_deal": choice})
    table.start(deck=deck, dealer=1, deal=12)
    assert table.trump_word() == trump
    assert (table.word(table.row.turn_up) if table.row.turn_up >= 0 else None) == turn_up


def test_7_turnup_full_deal_matters_only_where_no_card_is_left() -> None:
    for choice in ("none", "dealer_last"):
        table = started(deal=11, trump_mode="turnup", turnup_full_deal=choice)
        assert table.row.turn_up == table.row.deck[48]


@pytest.mark.parametrize("suits", [4, 3])
def test_7_random_trump_is_a_suit_of_the_deck_and_drawn_for_each_deal(suits: int) -> None:
    options: dict[str, Any] = {"suits": suits, "ranks": 9, "trump_mode": "random"}
    matches = [play_match(started(2, seed=seed, **options), random.Random(0)) for seed in range(4)]
    trumps = [deal.trump for match in matches for deal in match]
    assert set(trumps) == set("CDHS"[:suits])
    assert all(trumps.count(suit) >= len(trumps) // suits // 2 for suit in "CDHS"[:suits])


def test_7_no_trump_mode() -> None:
    played = play_match(started(ranks=3, trump_mode="none"), random.Random(0))
    assert [deal.trump for deal in played] == ["NT"] * 5


def test_7_trump_mode_changes_who_wins() -> None:
    """One card each, of four suits. Spades are the first trump of the rotation; 6H is turned up."""
    for mode, winner in (("rotation", 2), ("none", 0), ("turnup", 1)):
        table = table_with(GAME, ["2C", "3H", "4S", "5D"], dealer=3, stock="6H", options={"trump_mode": mode})
        play(table, "0 0 0 0  2C 3H 4S 5D")
        assert table.row.trick_winners[0] == winner


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"schedule": "down_up"}, "schedule must be 'up_down' or 'up' or 'up_down_repeat_top', not 'down_up'"),
        ({"trump_mode": "dealer"}, "trump_mode must be 'rotation' or 'turnup' or 'random' or 'none', not 'dealer'"),
        ({"turnup_full_deal": "dealer"}, "turnup_full_deal must be 'none' or 'dealer_last', not 'dealer'"),
        ({"hook": "no"}, "hook must be True or False, not 'no'"),
        ({"hook_min_cards": 18}, "hook_min_cards must be an integer from 1 to 17, not 18"),
        ({"trump_rotation": ["S", None]}, "trump_rotation must be a list"),
        ({"trump_rotation": ["D", "S"], "suits": 3}, "trump_rotation names S, .* allowed are C, D, H, NT"),
        ({"hand_size": 5}, "up_down has no option 'hand_size'"),
        ({"suits": 0}, "suits must be an integer from 1 to 4, not 0"),
        ({"ranks": 3, "suits": 1}, "a deck of 3 cards is too small for 4 seats"),
    ],
)
def test_7_refusals(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(RulesError, match=sentence):
        Table(GAME, 4, options)
