"""Nonesuch (rules 5)."""

import random
from itertools import combinations
from typing import Any

import pytest

from noms_env.core.cards import CARD_RANK, CARD_WORDS, DECKTET, SUIT_CARDS, cards_in
from noms_env.variants import game, make_rules
from tests.agreement import play_together
from tests.begin import begin
from tests.variants.table_help import WatchedTable, hands_of, legal, play_out, set_tricks_and_settle, table_with

pytestmark = pytest.mark.uncompiled

GAME = "nonesuch"
CARDS = CARD_WORDS[DECKTET]
BASIC = CARDS[:36]

# The golden deal of four seats. Dealer 3, seat 0 is eldest; 5SW is turned up and seat 2 has the Excuse.
GOLDEN_HANDS = [
    "CW 8WL AM 3LY 6LK 2SY AK 5YK 4MS",
    "9WY 2WL CM 5ML AL 8YK 7SK AS 4YK",
    "EX CS 9MS 8MS CL 7WY 6MW AY 2MK",
    "AW 3MW 4WL 7ML 9LK CY CK 3SK 6SY",
]
# Nobody knows the trump; seat 2 names Suns and takes 5SW for the Excuse.
GOLDEN_CALLS = "some none most some  S"
GOLDEN_TRICKS = [
    "8WL W 2WL 5SW 4WL",  # 1 Waves are named; 5SW follows, bears Suns and so wins.                 2 wins
    "CS 6SY 4MS 7SK",  # 2 a trump has been played, so one may be led.                              2 wins
    "9MS M 3MW AM CM",  # 3 a trump led under its other suit wins: CM is no trump.                  2 wins
    "8MS S 3SK 2SY AS",  # 4 Suns are named. Now all ten trumps are gone.                           2 wins
    "CL 7ML 3LY AL",  # 5                                                                           2 wins
    "6MW W AW CW 9WY",  # 6 the crown.                                                              0 wins
    "5YK K 4YK 2MK CK",  # 7 Knots are named.                                                       3 wins
    "9LK L 6LK 5ML AY",  # 8 seat 2 has no Leaves left.                                             3 wins
    "CY AK 8YK 7WY",  # 9 8YK and 7WY follow Wyrms.                                                 3 wins
]
GOLDEN_WINNERS = [2, 2, 2, 2, 2, 0, 3, 3, 3]
# Tricks 1, 0, 5, 3. Some: 1. None made: 9. Most made with 5 of 9: 2 x 5. Some: 3.
GOLDEN_POINTS = [1, 9, 10, 3]

# The golden deal of three. Dealer 0, seat 1 is eldest; CK is turned up, so Knots are trumps; seat 1 takes it for the Excuse.
THREE_HANDS = [
    "AL AY 2WL 3LY 4YK 5YK 6LK 7SK 8YK 9LK CL CY",
    "EX AM 2SY 3MW 4MS 5ML 6SY 7WY 8WL 9MS CM AK",
    "AS AW 2MK 3SK 4WL 5SW 6MW 7ML 8MS 9WY CS CW",
]
THREE_CALLS = "most none some"
THREE_TRICKS = [
    "CM 7ML 4YK",  # 1 seat 0 has no Moons and ruffs.                                               0 wins
    "CL 5ML 4WL",  # 2                                                                              0 wins
    "CY 2SY 9WY",  # 3                                                                              0 wins
    "9LK K CK 3SK",  # 4 trump led as trump; the card that was turned up wins.                      1 wins
    "9MS M 2MK AL",  # 5 2MK follows Moons, and is a trump.                                         2 wins
    "CS 7SK 4MS",  # 6 so is 7SK.                                                                   0 wins
    "8YK Y 6SY CW",  # 7 trump led under its other suit.                                            0 wins
    "AY 7WY AS",  # 8 an ace loses.                                                                 1 wins
    "8WL W 6MW 2WL",  # 9                                                                           1 wins
    "AM 8MS 3LY",  # 10                                                                             2 wins
    "5SW S 5YK AK",  # 11 two ruffs: five above ace.                                                0 wins
    "6LK L 3MW AW",  # 12                                                                           0 wins
]
THREE_WINNERS = [0, 0, 0, 1, 2, 0, 0, 1, 1, 2, 0, 0]
# Tricks 7, 3, 2. Some: 7. Most failed with 3 of 12: 3 short of 6. None failed: -2.
THREE_POINTS = [7, -3, -2]


def golden_end(before: list[float], deal: int, options: dict[str, Any]) -> WatchedTable:
    """Return the end of the golden deal of four, after these totals."""
    table = table_with(GAME, GOLDEN_HANDS, dealer=3, stock="5SW", options=options, totals=before, deal=deal)
    return table.play(f"{GOLDEN_CALLS} {' '.join(GOLDEN_TRICKS)}")


def at_play(hands: list[str], up: str, trump: str = "", *, seats: int = 3) -> WatchedTable:
    """Return the first lead, by seat 0, with these hands (filled up) and bids of Some."""
    table = table_with(GAME, hands, seats=seats, dealer=seats - 1, stock=up)
    return table.play("some " * seats + trump)


def winner_of(table: WatchedTable, trick: str) -> int:
    """Play the first trick and return its winner, who leads to the next."""
    table.play(trick)
    assert table.row.seat == table.row.trick_winners[0]
    return int(table.row.seat)


def points_of(taken: list[int], calls: list[str], **options: Any) -> list[float]:
    table = begin(WatchedTable(GAME, len(taken), options))
    return set_tricks_and_settle(table, taken, calls)


def test_5_2_golden_deal_of_four_with_a_swap() -> None:
    table = table_with(GAME, GOLDEN_HANDS, dealer=3, stock="5SW").play("some none most some")
    assert (table.phase, table.row.seat, table.trump_word()) == ("trump", 2, None)
    table.play("S")
    assert (table.phase, table.row.seat, table.trump_word()) == ("play", 0, "S")
    for number, trick in enumerate(GOLDEN_TRICKS):
        table.play(trick)
        assert table.row.trick_winners[number] == GOLDEN_WINNERS[number], f"trick {number + 1}"
    assert table.tricks == [1, 0, 5, 3]
    assert table.points == table.totals == GOLDEN_POINTS


def test_5_2_golden_deal_of_three_with_a_crown_as_turn_up() -> None:
    table = table_with(GAME, THREE_HANDS, dealer=0, stock="CK")
    assert (table.trump_word(), table.row.seat) == ("K", 1), "trump is known before the bids"
    table.play(THREE_CALLS)
    assert (table.phase, table.row.seat) == ("play", 1)
    for number, trick in enumerate(THREE_TRICKS):
        table.play(trick)
        assert table.row.trick_winners[number] == THREE_WINNERS[number], f"trick {number + 1}"
    assert table.tricks == [7, 3, 2]
    assert table.points == THREE_POINTS


PAIRS = {
    **{"MS": "489", "MW": "36", "ML": "57", "MK": "2", "SW": "5", "SY": "26", "SK": "37"},
    **{"WL": "248", "WY": "79", "LY": "3", "LK": "69", "YK": "458"},
}


def test_5_1_the_deck() -> None:
    for suit in range(6):
        cards = cards_in(SUIT_CARDS[DECKTET, suit])
        assert [int(CARD_RANK[DECKTET, card]) for card in cards] == list(range(10)), "ascending card numbers, ascending ranks"
        assert [CARDS[card][0] for card in cards if len(CARDS[card]) == 2] == ["A", "C"]
    ranks = {pair: "".join(card[0] for card in BASIC if card[1:] == pair) for pair in map("".join, combinations("MSWLYK", 2))}
    assert ranks == {**PAIRS, "MY": "", "SL": "", "WK": ""}


SHORT_DECKS = [  # seats, ranks, suits, cards
    (3, 2, 2, "9MS CM CS EX"),
    (4, 4, 2, "8MS 9MS CM CS EX"),
    (4, 2, 3, "9MS CM CS CW EX"),
    (3, 5, 3, "6MW 8MS 9MS CM CS CW EX"),
    (4, 7, 3, "4MS 5SW 6MW 8MS 9MS CM CS CW EX"),
    (3, 8, 3, "3MW 4MS 5SW 6MW 8MS 9MS CM CS CW EX"),
    (4, 10, 3, "AM AS AW 3MW 4MS 5SW 6MW 8MS 9MS CM CS CW EX"),
    (4, 4, 4, "7ML 8MS 8WL 9MS CM CS CW CL EX"),
    (3, 3, 5, "8MS 8WL 9MS 9WY CM CS CW CL CY EX"),
    (3, 2, 6, "9MS 9WY 9LK CM CS CW CL CY CK EX"),
    (4, 3, 6, "8MS 8WL 8YK 9MS 9WY 9LK CM CS CW CL CY CK EX"),
]


@pytest.mark.parametrize(("seats", "ranks", "suits", "cards"), SHORT_DECKS)
def test_the_referee_agrees_with_short_decks(seats: int, ranks: int, suits: int, cards: str) -> None:
    assert [CARDS[card] for card in make_rules(game(GAME), seats, {"ranks": ranks, "suits": suits}).deck] == cards.split()
    for seed, half in enumerate(("ceil", "exact", "floor")):
        options = {"ranks": ranks, "suits": suits, "half": half, "target": None}
        assert play_together(GAME, seats, options, seed, most_deals=12) == 12


@pytest.mark.parametrize("up", CARDS)
@pytest.mark.parametrize("seats", [3, 4])
def test_5_2_the_up_card_the_choice_of_trump_and_the_swap(seats: int, up: str) -> None:
    table = table_with(GAME, [], seats=seats, dealer=seats - 1, stock=up)
    known = {"A": up[1], "C": up[1], "E": "NT"}.get(up[0])
    assert table.trump_word() == known
    table.play("none " * seats + ("" if known else up[2]))
    assert (table.phase, table.row.seat, table.trump_word()) == ("play", 0, known or up[2])
    assert set.union(*hands_of(table)) == set(BASIC)
    for _ in range(seats + 2):  # the referee checks the hands after the swap
        table.step(table.legal_actions()[0])


TRUMPS = "AK 2MK 3SK 4YK 5YK 6LK 7SK 8YK 9LK"


@pytest.mark.parametrize(
    ("hands", "words", "expected"),
    [
        ([TRUMPS[3:] + " CW", "EX"], "", "CW"),  # (e) only the card without trump may be led
        ([TRUMPS, "EX"], "", TRUMPS),  # a hand of trumps: any of them, under either suit; a forced lead lifts the ban
        ([TRUMPS, "EX"], "2MK", "M K"),
        ([TRUMPS, "EX", "CS"], "AK", "CK"),  # the card that was turned up must follow
    ],
)
def test_5_2_leads_from_a_hand_of_trumps(hands: list[str], words: str, expected: str) -> None:
    table = at_play(hands, "CK", seats=4).play(words)
    assert legal(table) == set(expected.split())
    play_out(table, random.Random(1))


# Knots are trumps, seat 1 has the Excuse and gets CK.
BAN_HANDS = [
    "CL CW CM 8WL 9LK 8YK 7SK 4YK AY 9MS CS CY",
    "EX 6LK 7ML 7WY 5SW 2SY 4MS AS 2MK 3MW 6MW AM",
    "4WL 2WL AL 5ML 3LY AW 9WY 6SY 8MS AK 3SK 5YK",
]


@pytest.mark.parametrize(
    ("trick", "lifted"),
    [
        ("CL 7ML AL", False),
        ("CL 6LK AL", True),  # a trump that follows
        ("CM AM 8MS", False),
        ("CM 2MK 8MS", True),
        ("CY 2SY 5YK", True),
        ("CY 2SY 3LY", False),
        ("8WL L 7ML AL", False),
    ],
)
def test_5_2_trump_may_be_led_after_the_first_trump(trick: str, lifted: bool) -> None:
    table = at_play(BAN_HANDS, "CK")
    trumps = {"9LK", "8YK", "7SK", "4YK"}
    assert legal(table) == set(BAN_HANDS[0].split()) - trumps
    table.play(trick)
    assert table.row.broken == int(lifted)
    hand = hands_of(table)[table.row.seat]
    assert legal(table) == (hand if lifted else {card for card in hand if "K" not in card[1:]})
    play_out(table, random.Random(1))
    assert table.row.broken == 1
    table.next_deal()
    assert table.row.broken == 0


NO_WAVES = "2MK AM AS AL AY AK 2SY 3SK 3LY 4MS 5ML EX"
NO_SUNS = "CM AM 2MK 3MW 5ML 6MW 7ML AW AL AY AK CL"


@pytest.mark.parametrize(
    ("hands", "up", "trick", "winner"),
    [
        (["8WL", "6LK", "CL"], "CK", "8WL L 6LK CL", 1),  # (a) the only trump wins, though it merely followed
        (["CW", "9WY", NO_WAVES], "CK", "CW 9WY 2MK", 2),  # (b) thrown by a player without Waves
        (["9MS", "CS", NO_SUNS], "EX", "9MS S CS CM", 1),  # (c) the Huntress does not show Suns
        (["9MS 4MS 8MS", "CS", NO_SUNS], "EX", "9MS M CS CM", 2),  # named Moons, she does
        (["AW", "2WL", NO_WAVES], "CK", "AW 2WL AM", 1),  # (d) aces lose to twos
        (["9WY", "CW", NO_WAVES], "CK", "9WY W CW AM", 1),  # and crowns beat nines
        (["CW", "9WY", NO_WAVES], "CK", "CW 9WY AM", 0),
    ],
)
def test_5_2_trick_examples(hands: list[str], up: str, trick: str, winner: int) -> None:
    assert winner_of(at_play(hands, up), trick) == winner


@pytest.mark.parametrize("named", ["M", "K"])
@pytest.mark.parametrize(("card", "winner"), [("6LK", 1), ("AK", 0)])
def test_5_2_a_trump_led_under_either_suit_is_a_trump(named: str, card: str, winner: int) -> None:
    # Seat 0 has nothing but Knots (CK comes for the Excuse), seat 1 the tenth of them and no Moons, seat 2 all other Moons.
    knots = [knot for knot in TRUMPS.split() if knot != card]
    table = at_play([" ".join([*knots, "EX"]), card, "AM 3MW 4MS 5ML 6MW 7ML 8MS 9MS CM", "CY"], "CK", seats=4)
    assert winner_of(table, f"2MK {named} {card} CM CY") == winner


@pytest.mark.parametrize(
    ("seats", "call", "taken", "expected"),
    [
        (3, "some", 0, 0),
        (3, "some", 12, 12),
        (3, "most", 6, 12),
        (3, "most", 12, 24),
        (3, "most", 5, -1),
        (3, "most", 0, -6),
        (3, "none", 0, 12),
        (3, "none", 1, -1),
        (4, "most", 5, 10),
        (4, "most", 4, -1),
        (4, "most", 0, -5),
        (4, "none", 0, 9),
    ],
)
def test_5_2_scoring_examples(seats: int, call: str, taken: int, expected: float) -> None:
    size = 36 // seats
    for seat in range(seats):
        by_seat = [0] * seats
        by_seat[seat] = taken
        by_seat[(seat + 1) % seats] += size - taken
        calls = ["some"] * seats
        calls[seat] = call
        settled = points_of(by_seat, calls)
        assert settled[seat] == expected
        assert settled[(seat + 1) % seats] == size - taken, "each seat scores by its own bid"


@pytest.mark.parametrize(
    ("options", "taken", "expected"),
    [
        ({"half": "ceil"}, [4, 5, 0, 0], -1),
        ({"half": "exact"}, [4, 5, 0, 0], -0.5),
        ({"half": "floor"}, [4, 5, 0, 0], 0),
        ({"half": "exact"}, [5, 4, 0, 0], 10),
        ({"half": "exact"}, [6, 6, 0], 12),
        # Of a single trick.
        *(({"half": half, "ranks": 2, "suits": 2}, [1, 0, 0], 2) for half in ("ceil", "exact", "floor")),
        ({"half": "exact", "ranks": 2, "suits": 2}, [0, 1, 0], -0.5),
    ],
)
def test_5_3_most_needs_half_of_the_tricks(options: dict[str, Any], taken: list[int], expected: float) -> None:
    assert points_of(taken, ["most", *["some"] * (len(taken) - 1)], **options)[0] == expected


def test_5_3_two_bids_of_most_can_both_succeed() -> None:
    assert points_of([6, 6, 0], ["most", "most", "none"]) == [12, 12, 12]
    assert points_of([9, 0, 0, 0], ["none", "none", "none", "none"]) == [-9, 9, 9, 9]
