"""Thumb does what card players expect, and greedy follows its six rules, in positions written by hand.

Several positions of thumb come from complaints about robots of other programs (issues 59, 142, 217 and 350 of TricksterBots):
lead the highest trump when all tricks are needed, never call zero with the ace of trumps, keep the highest trump.
"""

from collections.abc import Callable
from typing import Any

import pytest

from noms_env.players import load_player
from noms_env.table import Table
from noms_env.variants import VARIANTS
from tests.players.positions import answer_word, relative_points
from tests.variants.table_help import table_with

BASES: dict[str, dict[str, Any]] = {
    "big_ships": {"trump_rotation": ["S"]},
    "sniped_whist": {"trump_mode": "none"},
    "noms": {"deal_mode": "single_shuffled", "min_bid": 7},
}


def at(variant: str, hands: str, words: str = "", stock: str = "", **options: Any) -> Callable[[], Table]:
    """Return a function that sets up a table: hands between `/` are filled up, seat 0 is eldest, actions are words."""
    by_seat = [hand.strip() for hand in hands.split("/")]
    size = {"big_ships": "start_cards", "sniped_whist": "hand_size"}.get(variant)
    options = {**BASES.get(variant, {}), **({size: len(by_seat[0].split())} if size else {}), **options}
    return lambda: table_with(variant, by_seat, dealer=len(by_seat) - 1, options=options, stock=stock).play(words)


HOOK: dict[str, Any] = {"hook": True, "hook_min_cards": 1}
LOW = "2C 3C 4C / 2D 3D 4D / 2H 3H 4H"
DIAMONDS = "5D 6D 7D / 8D 9D TD"
GRAB, LATE = "2H JC 3C / 3H 6D 7D / 4H 9D TD / KH AC 2D", "9H 5C 4C / 4H 6D 7D / 8D 9D TD / 3H AC 3C"
LATE_PLAY = "9H 4H 8D 3H 5C 6D 9D"
LONG_SPADES = "KS QS JS TS 9S AH KH 4H 3C 2C 5D 4D 3D"
SPADES_9 = "9 pass pass pass"
SAFE = "2C 3C 5C 2D 4D 6D 2H 3H 4H 6H 2S 3S 5S"
WEAK = "9C 8C 4C JD 9D 5D TH 8H 6H 4H JS 8S 6S"
LAST_TWO = at("big_ships", "JH 2H / 8D 9D / AS 4D / TD 3D", "1 1 1 0  JH 8D")
SAFE_8, MIS_OF_3 = SAFE.replace("5C", "8C"), "pass pass pass mis pass pass pass 9C TC JC"
TWO_TOPS = "2D 3D 4D / 2H 3H 4H / 5H 6H 7H / AS KS 2C"
FOUR_HANDS = f"{LONG_SPADES} / 2S 3S AC / 4S 5S / AS 6S 7S"
EXCUSE = "CM 9MS 8MS 7ML 5ML AL 2SY 3LY"
WAVES, MOONS, LEAVES = "8WL AK / 2WL 5ML / 4WL 6LK", "5ML AK / 2WL 7WY / 4WL 6SY", "8WL L 2WL 4WL"

Position = tuple[str, Callable[[], Table], str]
"""The right action in words, the table, and all good answers."""
THUMB: list[Position] = [
    # Exact-bid games.
    ("every trick needed: the highest trump", at("big_ships", f"KS AS AH / {LOW}", "3 0 0 0"), "AS"),
    ("two sure tricks", at("big_ships", TWO_TOPS, "0 0 0"), "2"),
    ("the hook: the next likely number, not below two sure tricks", at("big_ships", TWO_TOPS, "1 0 0", **HOOK), "3"),
    ("call made: the highest loser", at("big_ships", f"AH 2C 3C / {DIAMONDS} / 2H QH JH", "1 0 0 0  AH 5D 8D"), "QH"),
    ("called zero: a low lead", at("big_ships", "2C KC KH / AC 3C 4C / 5D 6D 7D / 8H 9H TH", "0 1 1 1"), "2C"),
    ("a trick needed is won cheaply", at("big_ships", f"JH 2C 3C / {DIAMONDS} / QH AH 4H", "0 0 0 2  JH 5D 8D"), "QH"),
    ("beyond the call it grabs what there is", at("big_ships", GRAB, "1 1 1 0  2H 3H 4H KH"), "AC"),
    ("the call out of reach: it grabs", at("big_ships", LATE, f"0 0 0 3  {LATE_PLAY}"), "AC"),
    ("at least: zero for safety", at("big_ships", f"AS KS QS / {LOW}", bonus="at_least"), "0"),
    ("two left: the highest trump waits for the last trick", LAST_TWO, "4D"),
    # Sniped whist.
    ("the last who must win plays high", at("sniped_whist", "5H 2C 3C / 4H 2D 3D / 3H 5D 6D / 9H KH 7D", "5H 4H 3H"), "KH"),
    ("fewest win: the highest loser", at("sniped_whist", "QH 2C AC / 4H 2D 3D / 3H 5D 6D / JH 9H KH", "QH 4H 3H"), "JH"),
    ("most win: cheaply", at("sniped_whist", "QH 2C AC / 4H 2D 3D / 3H 5D 6D / 2H KH AH", "QH 4H 3H", objective="most"), "KH"),
    # Auction games.
    ("the highest trump that it lacks", at("noms", f"{LONG_SPADES} / / /", f"{SPADES_9} S"), "AS"),
    ("the declarer draws trumps", at("noms", f"{LONG_SPADES} / / /", f"{SPADES_9} S AS"), "KS QS JS TS 9S"),
    ("the partner does not overtake", at("noms", FOUR_HANDS, f"{SPADES_9} S AS KS 2S 4S"), "6S"),
    ("an opponent does", at("noms", FOUR_HANDS, f"{SPADES_9} S AC KS 2S 4S"), "AS"),
    ("misere on low cards", at("noms", f"{SAFE} / / /"), "mis mis_a_vis"),
    ("a weak hand passes", at("noms", f"{WEAK} / / /", min_bid=10), "pass"),
    ("misere: a low lead", at("noms", f"{SAFE} / / /", "mis pass pass pass"), "2C 2D 2H 2S"),
    ("misere: the highest loser", at("noms", f"9C 7S / TC 8S / JC 9S / {SAFE_8}", MIS_OF_3, first_lead="left_of_dealer"), "8C"),
    ("never leaves trump unsaid", at("noms", f"{LONG_SPADES} / / /", SPADES_9, implicit_announcements=True), "S"),
    ("forced on a weak hand: no more than it must", at("small_ships", f"/ / / {WEAK}", "pass pass pass"), "7 8"),
    # Nonesuch.
    ("none on a weak hand", at("nonesuch", "AM AS AW AL 2SY 2WL 3LY 2MK 3SK / / /", stock="CK"), "none"),
    ("most on a strong one", at("nonesuch", "CM CS CW CL CY 9LK 8YK 7SK 6LK / / /", stock="CK"), "most"),
    ("none: the crown is no use", at("nonesuch", f"{WAVES} / 5SW 9WY CW AM", f"some some some none {LEAVES}", "AS"), "7ML"),
    ("most: cheaply", at("nonesuch", f"{WAVES} / AL 7ML CL AM", f"some some some most {LEAVES}", "AS"), "CL"),
    ("a bidder of none wins", at("nonesuch", f"{MOONS} / AL 8WL AM 3MW", "none some some some 5ML L 2WL 4WL", "AS"), "AL"),
    ("with the Excuse: for the better trump", at("nonesuch", f"EX {EXCUSE} / / /", stock="3MW"), "most"),
    ("the better trump", at("nonesuch", "EX CM 9MS 8MS AK 2MK 4MS AL AY / / /", "some some some some", "3MW"), "M"),
]


SIX_SPADES = "2S 3S 4S 5S 6S AC KC QC AH KH AD KD QD / / /"
LOW_CARDS = "2C 3C 5C 2D 4D 6D 2H 3H 4H AH 2S 3S 5S / / /"
GREEDY: list[Position] = [
    ("a call counts high cards", at("big_ships", "AC KD QS / / /"), "3"),
    ("and trumps", at("big_ships", "AC JS TS / / /"), "2"),
    ("but no others", at("big_ships", "QC JC TC / / /"), "0"),
    ("the hook takes one off the call", at("big_ships", "4D 5D 6D / / / AC KD 2C", "1 0 0", **HOOK), "1"),
    ("or puts one on", at("big_ships", "4D 5D 6D / / / 4C 3C 2C", "3 0 0", **HOOK), "1"),
    ("it passes", at("small_ships", f"{LOW_CARDS}"), "pass"),
    ("or bids the lowest", at("small_ships", f"{LOW_CARDS}", "pass pass pass"), "7"),
    ("it says some", at("nonesuch", "AM CW 3LY / / /", stock="AK"), "some"),
    ("it names the longest suit", at("small_ships", SIX_SPADES, "7 pass pass pass"), "S"),
    ("and the highest trump that it lacks", at("small_ships", SIX_SPADES, "7 pass pass pass S"), "AS"),
    ("a trick wanted: cheaply", at("big_ships", f"JH 2C 3C / {DIAMONDS} / QH AH 4H", "0 0 0 2 JH 5D 8D"), "QH"),
    ("with a low trump", at("big_ships", f"AS 2C 3H / {DIAMONDS} / 2S 4H KH", "0 0 0 2 AS 5D 8D"), "2S"),
    ("no card of it wins", at("big_ships", f"AH 2C 3H / {DIAMONDS} / QH 4H KH", "0 0 0 2 AH 5D 8D"), "4H"),
    ("not wanted: the highest loser", at("big_ships", f"JH 2C 3C / {DIAMONDS} / QH TH 4H", "0 0 0 0 JH 5D 8D"), "TH"),
    ("it must win, and does so low", at("big_ships", f"JH 2C 3C / {DIAMONDS} / QH AH KH", "0 0 0 0 JH 5D 8D"), "QH"),
    ("a lead for a trick: a trump", at("big_ships", f"2S AH 3C / {DIAMONDS} / QH TH 4H", "1 0 0 0"), "2S"),
    ("a lead for none", at("big_ships", f"2S AH 3C / {DIAMONDS} / QH TH 4H", "0 0 0 0"), "3C"),
    ("sniped whist", at("sniped_whist", "2C AH 3C / / /"), "2C"),
    ("sniped whist for the most", at("sniped_whist", "2C AH 3C / / /", objective="most"), "AH"),
    ("misere", at("noms", LOW_CARDS, "mis pass pass pass"), "2S"),
    ("a bid", at("noms", LOW_CARDS, "10 pass pass pass NT AC"), "AH"),
    ("none", at("nonesuch", "AM CW 3LY / / /", "none some some some", stock="AK"), "AM"),
    ("most", at("nonesuch", "AM CW 3LY / / /", "most some some some", stock="AK"), "CW"),
]
CASES = [pytest.param(name, *row[1:], id=row[0]) for name, rows in (("thumb", THUMB), ("greedy", GREEDY)) for row in rows]


@pytest.mark.parametrize(("name", "table", "answers"), CASES)
def test_an_action_follows_the_rules_of_the_player(name: str, table: Callable[[], Table], answers: str) -> None:
    assert answer_word(load_player(name), table()) in answers.split()


@pytest.mark.parametrize("variant", VARIANTS)
def test_thumb_beats_random_play_and_the_greedy_player(variant: str) -> None:
    options: dict[str, Any] = {"seats": 4, **({"min_bid": 7} if variant == "noms" else {})}
    least = 0.05 if variant == "sniped_whist" else 0.3
    for weaker, deals, margin in (("random", 100, 0.4), ("greedy", 400, least)):
        assert relative_points("thumb", weaker, variant, deals, **options).mean() > margin
        assert relative_points(weaker, "thumb", variant, deals, **options).mean() < -margin
