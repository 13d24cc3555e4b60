"""The greedy player: what its six rules say."""

from collections.abc import Callable
from typing import Any

import pytest

from noms_env.players import make_player
from noms_env.table import Table
from tests.players.positions import said
from tests.players.test_rule_based import at

HOOK: dict[str, Any] = {"hook": True, "hook_min_cards": 1}
DIAMONDS = "5D 6D 7D / 8D 9D TD"
LONG_SPADES = "2S 3S 4S 5S 6S AC KC QC AH KH AD KD QD / / /"
LOW = "2C 3C 5C 2D 4D 6D 2H 3H 4H AH 2S 3S 5S / / /"

# What the player should do, the position, and its answer.
POSITIONS: list[tuple[str, Callable[[], Table], str]] = [
    ("a call counts high cards", at("big_ships", "AC KD QS / / /"), "3"),
    ("and trumps", at("big_ships", "AC JS TS / / /"), "2"),
    ("but no others", at("big_ships", "QC JC TC / / /"), "0"),
    ("the hook takes one off the call", at("big_ships", "4D 5D 6D / / / AC KD 2C", "1 0 0", **HOOK), "1"),
    ("or puts one on", at("big_ships", "4D 5D 6D / / / 4C 3C 2C", "3 0 0", **HOOK), "1"),
    ("it passes", at("small_ships", f"{LOW}"), "pass"),
    ("or bids the lowest", at("small_ships", f"{LOW}", "pass pass pass"), "7"),
    ("it says some", at("nonesuch", "AM CW 3LY / / /", stock="AK"), "some"),
    ("it names the longest suit", at("small_ships", LONG_SPADES, "7 pass pass pass"), "S"),
    ("and the highest trump that it lacks", at("small_ships", LONG_SPADES, "7 pass pass pass S"), "AS"),
    ("a trick wanted: cheaply", at("big_ships", f"JH 2C 3C / {DIAMONDS} / QH AH 4H", "0 0 0 2 JH 5D 8D"), "QH"),
    ("with a low trump", at("big_ships", f"AS 2C 3H / {DIAMONDS} / 2S 4H KH", "0 0 0 2 AS 5D 8D"), "2S"),
    ("no card of it wins", at("big_ships", f"AH 2C 3H / {DIAMONDS} / QH 4H KH", "0 0 0 2 AH 5D 8D"), "4H"),
    ("not wanted: the highest loser", at("big_ships", f"JH 2C 3C / {DIAMONDS} / QH TH 4H", "0 0 0 0 JH 5D 8D"), "TH"),
    ("it must win, and does so low", at("big_ships", f"JH 2C 3C / {DIAMONDS} / QH AH KH", "0 0 0 0 JH 5D 8D"), "QH"),
    ("a lead for a trick: a trump", at("big_ships", f"2S AH 3C / {DIAMONDS} / QH TH 4H", "1 0 0 0"), "2S"),
    ("a lead for none", at("big_ships", f"2S AH 3C / {DIAMONDS} / QH TH 4H", "0 0 0 0"), "3C"),
    ("sniped whist", at("sniped_whist", "2C AH 3C / / /"), "2C"),
    ("sniped whist for the most", at("sniped_whist", "2C AH 3C / / /", objective="most"), "AH"),
    ("misere", at("noms", LOW, "mis pass pass pass"), "2S"),
    ("a bid", at("noms", LOW, "10 pass pass pass NT AC"), "AH"),
    ("none", at("nonesuch", "AM CW 3LY / / /", "none some some some", stock="AK"), "AM"),
    ("most", at("nonesuch", "AM CW 3LY / / /", "most some some some", stock="AK"), "CW"),
]


@pytest.mark.parametrize(("table", "answer"), [row[1:] for row in POSITIONS], ids=[row[0] for row in POSITIONS])
def test_what_it_does(table: Callable[[], Table], answer: str) -> None:
    assert said(make_player("greedy"), table()) == answer
