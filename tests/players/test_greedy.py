"""The greedy player: what its six rules say."""

from typing import Any

import pytest

from noms_env.players import make_player
from noms_env.table import Table
from tests.begun import begun
from tests.players.positions import said
from tests.variants.table_help import play, table_with

GREEDY = make_player("greedy")


def ships(hands: list[str], words: str, **options: Any) -> Table:
    """Big Ships, three cards each, spades trump; seat 0 calls and leads first."""
    options = {"start_cards": 3, "trump_rotation": ["S"], **options}
    return play(table_with("big_ships", hands, dealer=3, options=options), words)


@pytest.mark.parametrize(("hand", "options", "call"), [("AC KD QS", {}, "3"), ("AC JS TS", {}, "2"), ("QC JC TC", {}, "0")])
def test_a_call_counts_high_cards(hand: str, options: dict[str, Any], call: str) -> None:
    assert said(GREEDY, ships([hand, "", "", ""], "")) == call


def test_the_hook_takes_one_off_the_call_or_puts_one_on() -> None:
    hook = {"hook": True, "hook_min_cards": 1}
    assert said(GREEDY, ships(["", "", "", "AC KD 2C"], "1 0 0", **hook)) == "1"
    assert said(GREEDY, ships(["", "", "", "4C 3C 2C"], "3 0 0", **hook)) == "1"


def test_it_passes_or_bids_the_lowest_and_says_some() -> None:
    auction = begun(Table("small_ships", seed=1))
    assert said(GREEDY, auction) == "pass"
    assert said(GREEDY, play(auction, "pass pass pass")) == "7"
    nonesuch = begun(Table("nonesuch", seed=1))
    assert said(GREEDY, nonesuch) == "some"


def test_it_names_the_longest_suit_and_the_highest_trump_that_it_lacks() -> None:
    hand = "2S 3S 4S 5S 6S AC KC QC AH KH AD KD QD"
    table = play(table_with("small_ships", [hand, "", "", ""], dealer=3), "7 pass pass pass")
    assert said(GREEDY, table) == "S"
    table.act("S")
    assert said(GREEDY, table) == "AS"


def test_a_trick_that_it_wants_it_takes_as_cheaply_as_it_can() -> None:
    hands = ["JH 2C 3C", "5D 6D 7D", "8D 9D TD", "QH AH 4H"]
    assert said(GREEDY, ships(hands, "0 0 0 2 JH 5D 8D")) == "QH"
    assert said(GREEDY, ships(["AS 2C 3H", *hands[1:3], "2S 4H KH"], "0 0 0 2 AS 5D 8D")) == "2S"
    assert said(GREEDY, ships(["AH 2C 3H", *hands[1:3], "QH 4H KH"], "0 0 0 2 AH 5D 8D")) == "4H", "no card of it wins"


def test_a_trick_that_it_does_not_want_it_ducks_with_its_highest_loser() -> None:
    hands = ["JH 2C 3C", "5D 6D 7D", "8D 9D TD", "QH TH 4H"]
    assert said(GREEDY, ships(hands, "0 0 0 0 JH 5D 8D")) == "TH"
    assert said(GREEDY, ships([*hands[:3], "QH AH KH"], "0 0 0 0 JH 5D 8D")) == "QH", "it must win, and does so low"


def test_it_leads_its_highest_card_or_its_lowest() -> None:
    hands = ["2S AH 3C", "5D 6D 7D", "8D 9D TD", "QH TH 4H"]
    assert said(GREEDY, ships(hands, "1 0 0 0")) == "2S", "a trump counts as higher"
    assert said(GREEDY, ships(hands, "0 0 0 0")) == "3C"


@pytest.mark.parametrize(("objective", "lead"), [("least", "2C"), ("most", "AH")])
def test_what_it_wants_in_sniped_whist(objective: str, lead: str) -> None:
    options = {"hand_size": 3, "trump_mode": "none", "objective": objective}
    assert said(GREEDY, table_with("sniped_whist", ["2C AH 3C", "", "", ""], dealer=3, options=options)) == lead


def test_what_it_wants_in_misere_and_with_none() -> None:
    hand = "2C 3C 5C 2D 4D 6D 2H 3H 4H AH 2S 3S 5S"
    options = {"deal_mode": "single_shuffled"}
    table = table_with("noms", [hand, "", "", ""], dealer=3, options=options)
    assert said(GREEDY, play(table.copy(), "mis pass pass pass"))[0] == "2"
    assert said(GREEDY, play(table, "10 pass pass pass NT AC")) == "AH"
    nonesuch = table_with("nonesuch", ["AM CW 3LY", "", "", ""], dealer=3, stock="AK")
    assert said(GREEDY, play(nonesuch.copy(), "none some some some")) == "AM"
    assert said(GREEDY, play(nonesuch, "most some some some"))[0] == "C"
