"""The rule-of-thumb player does what card players expect: positions written by hand, and what should be expected there.

Several come from complaints about robots of other programs (the issues of the repository TricksterBots: numbers 59, 142,
217, 350): lead the highest trump when all tricks are needed, never call zero with the ace of trumps, keep the highest trump.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from noms_env.belief.determinize import sampled_tables
from noms_env.core.actions import INDICATE
from noms_env.core.cards import bit, cards_in
from noms_env.envs.batch import make_batch
from noms_env.players import make_player
from noms_env.players.registry import NEWEST
from noms_env.players.rule_based.exact_bid import EAGER, SHY, SPOIL, weigh_seats
from noms_env.players.rule_based.heuristics import look, new_workspaces, none_of, sure_tricks
from noms_env.players.rule_based.later_tricks import kept_chance, later_chance, note_cards, trumps_drawn
from noms_env.players.rule_based.weights import DECKTET_TAKING, TAKING
from noms_env.table import Table
from noms_env.variants.families.exact_bid import BONUS_POINTS
from tests.players.positions import answer, decisions, relative_points, said
from tests.variants.table_help import play, table_with

THUMB = make_player("thumb")
BASES: dict[str, dict[str, Any]] = {
    "big_ships": {"trump_rotation": ["S"]},
    "sniped_whist": {"trump_mode": "none"},
    "noms": {"deal_mode": "single_shuffled", "min_bid": 7},
}


def says(table: Table) -> str:
    """What the player does, whatever cards it imagines elsewhere."""
    words = {said(THUMB, table, seed) for seed in range(3)}
    assert len(words) == 1
    return words.pop()


def at(variant: str, hands: str, words: str = "", stock: str = "", **options: Any) -> Callable[[], Table]:
    """What sets up a table: hands divided by `/`, filled up where short; seat 0 calls and leads first. Actions are words."""
    by_seat = [hand.strip() for hand in hands.split("/")]
    size = {"big_ships": "start_cards", "sniped_whist": "hand_size"}.get(variant)
    options = {**BASES.get(variant, {}), **({size: len(by_seat[0].split())} if size else {}), **options}
    return lambda: play(table_with(variant, by_seat, dealer=len(by_seat) - 1, options=options, stock=stock), words)


LOW = "2C 3C 4C / 2D 3D 4D / 2H 3H 4H"
DIAMONDS = "5D 6D 7D / 8D 9D TD"
GRAB, LATE = "2H JC 3C / 3H 6D 7D / 4H 9D TD / KH AC 2D", "9H 5C 4C / 4H 6D 7D / 8D 9D TD / 3H AC 3C"
LATE_PLAY = "9H 4H 8D 3H 5C 6D 9D"
LONG_SPADES = "KS QS JS TS 9S AH KH 4H 3C 2C 5D 4D 3D"
SPADES_9 = "9 pass pass pass"
SAFE = "2C 3C 5C 2D 4D 6D 2H 3H 4H 6H 2S 3S 5S"
WEAK = "9C 8C 4C JD 9D 5D TH 8H 6H 4H JS 8S 6S"
LAST_TWO = at("big_ships", "JH 2H / 8D 9D / AS 4D / TD 3D", "1 1 1 0  JH 8D")
EXCUSE = "CM 9MS 8MS 7ML 5ML AL 2SY 3LY"

# What the player should do, the position, and the answers that will do.
POSITIONS: list[tuple[str, Callable[[], Table], str]] = [
    # Exact-bid games.
    ("every trick needed: the highest trump", at("big_ships", f"KS AS AH / {LOW}", "3 0 0 0"), "AS"),
    ("every trick needed, the ace played", at("big_ships", f"AS 9C 9S / {LOW}", "3 0 0 0  AS 2C 2D 2H"), "9S"),
    (
        "every trick needed, no trump: a sure winner",
        at("big_ships", f"5C AH 9D / {LOW}", "3 0 0 0", trump_rotation=["NT"]),
        "AH",
    ),
    ("two sure tricks", at("big_ships", "2D 3D 4D / 2H 3H 4H / 5H 6H 7H / AS KS 2C", "0 0 0"), "2"),
    (
        "the hook: the next likely number, not below two sure tricks",
        at("big_ships", "2D 3D 4D / 2H 3H 4H / 5H 6H 7H / AS KS 2C", "1 0 0", hook=True, hook_min_cards=1),
        "3",
    ),
    (
        "call made: the highest loser under the winner",
        at("big_ships", f"AH 2C 3C / {DIAMONDS} / 2H QH JH", "1 0 0 0  AH 5D 8D"),
        "QH",
    ),
    (
        "call made: a bare ace is thrown away",
        at("big_ships", "AC KC 4C / 2C 3C 5C / 6C 7C 8C / 2H AD 3H", "1 0 0 0  AC 2C 6C"),
        "AD",
    ),
    ("called zero: a low lead", at("big_ships", "2C KC KH / AC 3C 4C / 5D 6D 7D / 8H 9H TH", "0 1 1 1"), "2C"),
    ("a trick needed is won cheaply", at("big_ships", f"JH 2C 3C / {DIAMONDS} / QH AH 4H", "0 0 0 2  JH 5D 8D"), "QH"),
    ("two trumps for two tricks are kept", at("big_ships", f"JH 2C 3C / {DIAMONDS} / AS 2D KS", "0 0 0 2  JH 5D 8D"), "2D"),
    ("beyond the call it grabs what there is", at("big_ships", GRAB, "1 1 1 0  2H 3H 4H KH"), "AC"),
    ("with the call made it would not", at("big_ships", GRAB, "1 1 0 1  2H 3H 4H KH"), "2D"),
    ("the call out of reach: it grabs", at("big_ships", LATE, f"0 0 0 3  {LATE_PLAY}"), "AC"),
    ("the call still in reach", at("big_ships", LATE, f"0 0 0 2  {LATE_PLAY}"), "AC"),
    ("called zero: it ducks", at("big_ships", LATE, f"0 0 0 0  {LATE_PLAY}"), "3C"),
    ("at least: zero for safety", at("big_ships", f"AS KS QS / {LOW}", bonus="at_least"), "0"),
    ("at least: more tricks are welcome", at("big_ships", GRAB, "1 1 0 1  2H 3H 4H KH", bonus="at_least"), "AC"),
    ("two left: the highest trump waits for the last trick", LAST_TWO, "4D"),
    # Sniped whist.
    ("the last who must win plays high", at("sniped_whist", "5H 2C 3C / 4H 2D 3D / 3H 5D 6D / 9H KH 7D", "5H 4H 3H"), "KH"),
    ("likewise with the queen", at("sniped_whist", "5H 2C 3C / 4H 2D 3D / 3H 5D 6D / KH QH 7D", "5H 4H 3H"), "KH"),
    ("fewest win: the highest loser", at("sniped_whist", "QH 2C AC / 4H 2D 3D / 3H 5D 6D / JH 9H KH", "QH 4H 3H"), "JH"),
    ("fewest win: a low lead", at("sniped_whist", "QH 2C AC / 4H 2D 3D / 3H 5D 6D / JH 9H KH"), "2C"),
    ("most win: cheaply", at("sniped_whist", "QH 2C AC / 4H 2D 3D / 3H 5D 6D / 2H KH AH", "QH 4H 3H", objective="most"), "KH"),
    ("fewest win: not at all", at("sniped_whist", "QH 2C AC / 4H 2D 3D / 3H 5D 6D / 2H KH AH", "QH 4H 3H"), "2H"),
    # Auction games.
    ("the long suit is trump", at("noms", f"{LONG_SPADES} / / /", SPADES_9), "S"),
    ("the highest trump that it lacks", at("noms", f"{LONG_SPADES} / / /", f"{SPADES_9} S"), "AS"),
    ("trumps complete: a side ace", at("noms", f"{LONG_SPADES.replace('9S', 'AS')} / / /", f"{SPADES_9} S"), "AC AD"),
    ("the declarer draws trumps", at("noms", f"{LONG_SPADES} / / /", f"{SPADES_9} S AS"), "KS QS JS TS 9S"),
    (
        "the partner does not overtake",
        at("noms", f"{LONG_SPADES} / 2S 3S AC / 4S 5S / AS 6S 7S", f"{SPADES_9} S AS KS 2S 4S"),
        "6S",
    ),
    ("an opponent does", at("noms", f"{LONG_SPADES} / 2S 3S AC / 4S 5S / AS 6S 7S", f"{SPADES_9} S AC KS 2S 4S"), "AS"),
    ("as cheaply as he can", at("noms", f"{LONG_SPADES} / 5H AS / TH 4S / QH JH 6S", f"{SPADES_9} C AS 4H 5H TH"), "JH"),
    ("misere on low cards", at("noms", f"{SAFE} / / /"), "mis mis_a_vis"),
    ("not on high ones", at("noms", "AC KC 2C AD KD 2D AH KH QH 2H AS KS QS / / /"), "pass 7 8 9 10 11 12 13"),
    ("a weak hand passes", at("noms", f"{WEAK} / / /", min_bid=10), "pass"),
    ("misere: a low lead", at("noms", f"{SAFE} / / /", "mis pass pass pass"), "2C 2D 2H 2S"),
    (
        "misere: the highest loser",
        at(
            "noms",
            f"9C 7S / TC 8S / JC 9S / {SAFE.replace('5C', '8C')}",
            "pass pass pass mis pass pass pass 9C TC JC",
            first_lead="left_of_dealer",
        ),
        "8C",
    ),
    (
        "below a declarer of misere",
        at("noms", f"{SAFE.replace('5C', '9C')} / 4C 7S / 6C 8S / 7C QC 9S", "mis pass pass pass 9C 4C 6C"),
        "7C",
    ),
    ("never leaves trump unsaid", at("noms", f"{LONG_SPADES} / / /", SPADES_9, implicit_announcements=True), "S"),
    ("nor the suit nominated", at("noms", f"{LONG_SPADES} / / /", f"{SPADES_9} S", implicit_announcements=True), "AS"),
    ("forced on a weak hand: no more than it must", at("small_ships", f"/ / / {WEAK}", "pass pass pass"), "7 8"),
    # Nonesuch.
    ("none on a weak hand", at("nonesuch", "AM AS AW AL 2SY 2WL 3LY 2MK 3SK / / /", stock="CK"), "none"),
    ("most on a strong one", at("nonesuch", "CM CS CW CL CY 9LK 8YK 7SK 6LK / / /", stock="CK"), "most"),
    (
        "none: the crown is no use",
        at("nonesuch", "8WL AK / 2WL 5ML / 4WL 6LK / 5SW 9WY CW AM", "some some some none 8WL L 2WL 4WL", "AS"),
        "7ML",
    ),
    (
        "none: the highest loser",
        at("nonesuch", "8WL AK / 2WL 5ML / 4WL 6LK / AL 7ML CL AM", "some some some none 8WL L 2WL 4WL", "AS"),
        "7ML",
    ),
    (
        "most: cheaply",
        at("nonesuch", "8WL AK / 2WL 5ML / 4WL 6LK / AL 7ML CL AM", "some some some most 8WL L 2WL 4WL", "AS"),
        "CL",
    ),
    (
        "a seat with none is left the trick",
        at("nonesuch", "5ML AK / 2WL 7WY / 4WL 6SY / AL 8WL AM 3MW", "none some some some 5ML L 2WL 4WL", "AS"),
        "AL",
    ),
    ("with the Excuse: for the better trump", at("nonesuch", f"EX {EXCUSE} / / /", stock="3MW"), "most"),
    ("without it: half the time the other", at("nonesuch", f"5YK {EXCUSE} / / /", stock="3MW"), "some"),
    ("the better trump", at("nonesuch", "EX CM 9MS 8MS AK 2MK 4MS AL AY / / /", "some some some some", "3MW"), "M"),
]


@pytest.mark.parametrize(("table", "answers"), [row[1:] for row in POSITIONS], ids=[row[0] for row in POSITIONS])
def test_what_it_does(table: Callable[[], Table], answers: str) -> None:
    assert says(table()) in answers.split()


def test_it_never_calls_zero_with_the_ace_of_trumps() -> None:
    with_ace = 0
    for seed in range(150):
        for table in decisions("down_up", 4, {}, seed, deals=1):
            if table.phase != "call":
                break
            suit = int(table.row.trump)
            if suit < 4 and int(table.row.hands[table.row.seat]) >> (13 * suit + 12) & 1:
                with_ace += 1
                assert says(table) != "0" or table.legal_words() == ["0"]
    assert with_ace > 50


def test_it_calls_its_sure_tricks_at_least() -> None:
    assert int(says(at("big_ships", "AS KS QS 2C / 2D 3D 4D 5D / 2H 3H 4H 5H / 6H 7H 8H 9H")())) >= 3


def test_a_trick_for_a_rival_who_has_his_call_is_worth_something() -> None:
    table = at("big_ships", f"KH 2C 3C / {DIAMONDS} / AH QH 4C", "1 3 0 1  KH 5D 8D QH 2C")()
    m = new_workspaces(NEWEST).view(np.recarray)[0]
    look(table.row, m)
    weigh_seats(table.row, m)
    assert table.row.seat == 1
    assert m.payoff[:4].tolist() == [SPOIL / 3, 0, SPOIL / 3, 0], "seat 3 needs one, seat 1 is the player"
    assert m.eager[:4].tolist() == [SHY, EAGER, SHY, EAGER]


def test_misere_nominates_an_own_card() -> None:
    table = at("small_ships", f"{SAFE} / / /", "mis pass pass pass")()
    table.act(says(table))
    assert says(table)[0] == "2"
    assert table.row.hands[0] >> (answer(THUMB, table, np.random.default_rng(0)) - 98) & 1


def test_it_never_indicates() -> None:
    asked = 0
    for seed in range(8):
        for table in decisions("small_ships", 4, {"indication": True}, seed, deals=1):
            if table.phase == "play" and INDICATE in table.legal_actions():
                asked += 1
                assert answer(THUMB, table, np.random.default_rng(0)) != INDICATE
    assert asked > 8


@pytest.mark.uncompiled
def test_the_chance_that_a_hand_has_none_of_some_cards() -> None:
    assert none_of(0, 5, 10) == 1.0
    assert none_of(1, 5, 10) == 0.5
    assert none_of(2, 5, 10) == pytest.approx(0.5 * 4 / 9)
    assert none_of(6, 5, 10) == 0.0
    assert (none_of(0, 3, -1), none_of(1, 3, -1)) == (1.0, 0.0)


@pytest.mark.uncompiled
def test_sure_tricks_are_trumps_above_all_that_are_missing() -> None:
    table = at("big_ships", "AS QS 2C / KS 3C 4C / 2D 3D 4D / 2H 3H 4H", "1 1 1 1")()
    m = new_workspaces(NEWEST)[0]
    look(table.row, m)
    assert sure_tricks(table.row, table.row.hands[0], m) == 1
    play(table, "AS KS 2D 2H")
    look(table.row, m)
    assert sure_tricks(table.row, table.row.hands[0], m) == 1, "the queen, now that the king is gone"


@pytest.mark.uncompiled
@pytest.mark.parametrize("variant", ["down_up", "sniped_whist", "small_ships", "nonesuch"])
def test_chances_that_are_reckoned_once_are_those_reckoned_for_each_card_that_may_be_played(variant: str) -> None:
    workspace, mood = new_workspaces(NEWEST)[0], DECKTET_TAKING if variant == "nonesuch" else TAKING
    pairs, reckoned, leads = 0, 0, 0
    for table in decisions(variant, 4, {}, 3, deals=5):
        if table.phase != "play":
            continue
        row = table.row
        hand = int(row.hands[row.seat])
        look(row, workspace)
        note_cards(row, mood, workspace)
        for played in cards_in(hand):
            drawn = trumps_drawn(row, played, workspace)
            leads += drawn > 0
            for card in cards_in(hand & ~bit(played)):
                expected = later_chance(row, hand & ~bit(played), card, drawn, mood, workspace)
                assert kept_chance(row, card, played, drawn, mood, workspace) == expected
                pairs += 1
        reckoned += sum(int(cards).bit_count() for cards in workspace["known"])
    assert pairs > reckoned > 100
    assert leads > 0 or variant == "sniped_whist"


@pytest.mark.parametrize(
    ("variant", "seats", "options"),
    [
        ("sniped_whist", 4, {}),
        ("big_ships", 4, {}),
        ("small_ships", 4, {}),
        ("noms", 4, {"min_bid": 7}),
        ("nonesuch", 4, {}),
        ("down_up", 4, {}),
        ("up_down", 4, {}),
    ],
)
def test_it_beats_random_play_and_the_greedy_player(variant: str, seats: int, options: dict[str, Any]) -> None:
    assert relative_points("thumb", "random", variant, 100, seats=seats, **options).mean() > 0.4
    assert relative_points("random", "thumb", variant, 100, seats=seats, **options).mean() < -0.4
    least = 0.05 if variant == "sniped_whist" else 0.3
    assert relative_points("thumb", "greedy", variant, 400, seats=seats, **options).mean() > least
    assert relative_points("greedy", "thumb", variant, 400, seats=seats, **options).mean() < -least


def test_it_makes_half_of_its_calls_against_itself() -> None:
    batch = make_batch("down_up", 200, seed=4, episode="deal")
    batch.tables.wanted_deal_size = 10
    batch.reset()
    rng, hits = np.random.default_rng(1), 0
    while not batch.over.all():
        batch.observe()
        tables = sampled_tables(batch.tables, None, rng)
        batch.step(THUMB.act(batch.observation, batch.mask, rng, tables=tables))
    assert (batch.tables.deal_size == 10).all()
    hits = int((batch.tables.points[:, :4] >= BONUS_POINTS).sum())
    assert hits > 0.5 * 4 * len(batch)
