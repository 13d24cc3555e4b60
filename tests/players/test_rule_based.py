"""The rule-of-thumb player does what card players expect: positions written by hand, and what should be expected there.

Several come from complaints about robots of other programs (the issues of the repository TricksterBots: numbers 59, 142,
217, 350): lead the highest trump when all tricks are needed, never call zero with the ace of trumps, keep the highest trump.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from noms_env.belief.determinize import sampled_tables
from noms_env.core.actions import INDICATE
from noms_env.core.cards import bit, cards_in
from noms_env.envs.batch import make_batch
from noms_env.players import make_player
from noms_env.players.rule_based.exact_bid import EAGER, SHY, SPOIL, weigh_seats
from noms_env.players.rule_based.heuristics import (
    kept_chance,
    later_chance,
    look,
    new_workspaces,
    none_of,
    note_peers,
    sure_tricks,
    trumps_drawn,
)
from noms_env.players.rule_based.weights import DECKTET_TAKING, TAKING
from noms_env.table import Table
from noms_env.variants.families.exact_bid import BONUS_POINTS
from tests.players.positions import answer, decisions, said
from tests.variants.table_help import play, table_with

THUMB = make_player("thumb")
SPADES: dict[str, Any] = {"start_cards": 3, "trump_rotation": ["S"]}


def says(table: Table) -> str:
    """What the player does, whatever cards it imagines elsewhere."""
    words = {said(THUMB, table, seed) for seed in range(3)}
    assert len(words) == 1
    return words.pop()


def ships(hands: list[str], calls: str, cards: str = "", **options: Any) -> Table:
    """Big Ships, three cards each, spades trump; seat 0 calls and leads first."""
    size = len(hands[0].split())
    table = table_with("big_ships", hands, dealer=len(hands) - 1, options={**SPADES, "start_cards": size, **options})
    return play(play(table, calls), cards)


# ------------------------------------------------------------------------------------------------ exact-bid games


def test_it_leads_its_highest_trump_when_every_trick_is_needed() -> None:
    assert says(ships(["KS AS AH", "2C 3C 4C", "2D 3D 4D", "2H 3H 4H"], "3 0 0 0")) == "AS"
    assert says(ships(["AS 4C 9S", "2C 3C 5C", "2D 3D 4D", "2H 3H 4H"], "3 0 0 0", "AS 2C 2D 2H")) == "9S"


def test_it_leads_a_sure_winner_when_every_trick_is_needed_and_it_has_no_trump() -> None:
    table = ships(["5C AH 9D", "2C 3C 4C", "2D 3D 4D", "2H 3H 4H"], "3 0 0 0", trump_rotation=["NT"])
    assert says(table) == "AH"


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
    hands = ["AS KS QS 2C", "2D 3D 4D 5D", "2H 3H 4H 5H", "6H 7H 8H 9H"]
    assert int(says(ships(hands, ""))) >= 3


def test_the_hook_moves_the_call_to_the_next_likely_number() -> None:
    hands = ["2D 3D 4D", "2H 3H 4H", "5H 6H 7H", "AS KS 2C"]
    assert says(ships(hands, "0 0 0")) == "2"
    assert says(ships(hands, "1 0 0", hook=True, hook_min_cards=1)) == "3", "below two sure tricks it does not go"


def test_with_its_call_made_it_throws_the_highest_loser_under_the_winner() -> None:
    table = ships(["AH 2C 3C", "5D 6D 7D", "8D 9D TD", "2H QH JH"], "1 0 0 0", "AH 5D 8D")
    assert says(table) == "QH"


def test_with_its_call_made_it_throws_a_bare_ace_away() -> None:
    table = ships(["AC KC 4C", "2C 3C 5C", "6C 7C 8C", "2H AD 3H"], "1 0 0 0", "AC 2C 6C")
    assert says(table) == "AD"


def test_called_zero_it_leads_low() -> None:
    assert says(ships(["2C KC KH", "AC 3C 4C", "5D 6D 7D", "8H 9H TH"], "0 1 1 1")) == "2C"


def test_it_wins_a_trick_that_it_needs_as_cheaply_as_it_can() -> None:
    table = ships(["JH 2C 3C", "5D 6D 7D", "8D 9D TD", "QH AH 4H"], "0 0 0 2", "JH 5D 8D")
    assert says(table) == "QH"


def test_it_keeps_its_trumps_while_a_side_card_will_do() -> None:
    table = ships(["JH 2C 3C", "5D 6D 7D", "8D 9D TD", "AS 2D KS"], "0 0 0 2", "JH 5D 8D")
    assert says(table) == "2D", "two trumps for the two tricks that are left"


def test_beyond_its_call_it_grabs_what_there_is() -> None:
    hands = ["2H JC 3C", "3H 6D 7D", "4H 9D TD", "KH AC 2D"]
    assert says(ships(hands, "1 1 1 0", "2H 3H 4H KH")) == "AC"
    assert says(ships(hands, "1 1 0 1", "2H 3H 4H KH")) == "2D", "with its call made it would not"


def test_with_its_call_out_of_reach_it_grabs_what_there_is() -> None:
    hands = ["9H 5C 4C", "4H 6D 7D", "8D 9D TD", "3H AC 3C"]
    assert says(ships(hands, "0 0 0 3", "9H 4H 8D 3H 5C 6D 9D")) == "AC"
    assert says(ships(hands, "0 0 0 2", "9H 4H 8D 3H 5C 6D 9D")) == "AC", "it is not out of reach yet"
    assert says(ships(hands, "0 0 0 0", "9H 4H 8D 3H 5C 6D 9D")) == "3C"


def test_a_trick_for_a_rival_who_has_his_call_is_worth_something() -> None:
    table = ships(["KH 2C 3C", "5D 6D 7D", "8D 9D TD", "AH QH 4C"], "1 3 0 1", "KH 5D 8D QH 2C")
    m = new_workspaces().view(np.recarray)[0]
    look(table.row, 1, m)
    weigh_seats(table.row, m)
    assert table.row.seat == 1
    assert m.worth[:4].tolist() == [SPOIL / 3, 0, SPOIL / 3, 0], "seat 3 needs one, seat 1 is the player"
    assert m.eager[:4].tolist() == [SHY, EAGER, SHY, EAGER]


def test_a_call_of_at_least_is_zero_for_safety() -> None:
    assert says(ships(["AS KS QS", "2C 3C 4C", "2D 3D 4D", "2H 3H 4H"], "", bonus="at_least")) == "0"


# ------------------------------------------------------------------------------------------------ sniped whist


def sniped(hands: list[str], cards: str, **options: Any) -> Table:
    """Sniped whist without trumps; seat 0 leads."""
    options = {"hand_size": len(hands[0].split()), "trump_mode": "none", **options}
    return play(table_with("sniped_whist", hands, dealer=len(hands) - 1, options=options), cards)


def test_the_last_player_who_must_win_takes_the_trick_with_his_highest_card() -> None:
    hands = ["5H 2C 3C", "4H 2D 3D", "3H 5D 6D", "9H KH 7D"]
    assert says(sniped(hands, "5H 4H 3H")) == "KH"
    assert says(sniped([*hands[:3], "KH QH 7D"], "5H 4H 3H")) == "KH"


def test_where_the_fewest_tricks_win_it_ducks_with_its_highest_loser_and_leads_low() -> None:
    hands = ["QH 2C AC", "4H 2D 3D", "3H 5D 6D", "JH 9H KH"]
    assert says(sniped(hands, "QH 4H 3H")) == "JH"
    assert says(sniped(hands, "")) == "2C"


def test_where_the_most_tricks_win_it_wins_cheaply() -> None:
    hands = ["QH 2C AC", "4H 2D 3D", "3H 5D 6D", "2H KH AH"]
    assert says(sniped(hands, "QH 4H 3H", objective="most")) == "KH"
    assert says(sniped(hands, "QH 4H 3H")) == "2H"


# ------------------------------------------------------------------------------------------------ auction games

LONG_SPADES = "KS QS JS TS 9S AH KH 4H 3C 2C 5D 4D 3D"
FILLED = ["", "", ""]


def noms(hands: list[str], words: str, **options: Any) -> Table:
    """Noms, seat 0 calls and leads first."""
    options = {"deal_mode": "single_shuffled", "min_bid": 7, **options}
    return play(table_with("noms", hands, dealer=3, options=options), words)


def test_it_names_its_long_suit_and_the_highest_trump_that_it_lacks() -> None:
    table = noms([LONG_SPADES, *FILLED], "9 pass pass pass")
    assert says(table) == "S"
    table.act("S")
    assert says(table) == "AS"


def test_with_its_trumps_complete_it_nominates_the_ace_of_a_side_suit() -> None:
    hand = LONG_SPADES.replace("9S", "AS")
    table = noms([hand, *FILLED], "9 pass pass pass S")
    assert says(table) in ("AC", "AD")


def test_the_declarer_draws_trumps() -> None:
    table = noms([LONG_SPADES, *FILLED], "9 pass pass pass S AS")
    assert says(table)[1] == "S"


def test_the_partner_does_not_overtake_the_declarer() -> None:
    hands = [LONG_SPADES, "2S 3S AC", "4S 5S", "AS 6S 7S"]
    assert says(noms(hands, "9 pass pass pass S AS KS 2S 4S")) == "6S"
    assert says(noms(hands, "9 pass pass pass S AC KS 2S 4S")) == "AS", "an opponent takes it"


def test_an_opponent_wins_as_cheaply_as_he_can() -> None:
    hands = [LONG_SPADES, "5H AS", "TH 4S", "QH JH 6S"]
    assert says(noms(hands, "9 pass pass pass C AS 4H 5H TH")) == "JH"


SAFE = "2C 3C 5C 2D 4D 6D 2H 3H 4H 6H 2S 3S 5S"


def test_it_bids_misere_on_a_hand_of_low_cards_and_not_on_one_of_high_cards() -> None:
    assert says(noms([SAFE, *FILLED], "")).startswith("mis")
    assert not says(noms(["AC KC 2C AD KD 2D AH KH QH 2H AS KS QS", *FILLED], "")).startswith("mis")


def test_it_passes_on_a_weak_hand() -> None:
    weak = "9C 8C 4C JD 9D 5D TH 8H 6H 4H JS 8S 6S"
    assert says(noms([weak, *FILLED], "", min_bid=10)) == "pass"


def test_in_misere_the_declarer_leads_low_and_throws_his_highest_loser() -> None:
    assert says(noms([SAFE, *FILLED], "mis pass pass pass")) in ("2C", "2D", "2H", "2S")
    hands = ["9C 7S", "TC 8S", "JC 9S", SAFE.replace("5C", "8C")]
    table = noms(hands, "pass pass pass mis pass pass pass 9C TC JC", first_lead="left_of_dealer")
    assert says(table) == "8C"


def test_an_opponent_stays_below_a_declarer_of_misere() -> None:
    hands = [SAFE.replace("5C", "9C"), "4C 7S", "6C 8S", "7C QC 9S"]
    assert says(noms(hands, "mis pass pass pass 9C 4C 6C")) == "7C"


def test_misere_nominates_an_own_card() -> None:
    table = table_with("small_ships", [SAFE, *FILLED], dealer=3)
    play(table, "mis pass pass pass")
    trump = says(table)
    table.act(trump)
    assert says(table)[0] == "2"
    assert table.row.hands[0] >> (answer(THUMB, table, np.random.default_rng(0)) - 98) & 1


def test_a_forced_dealer_bids_no_more_than_it_must_on_a_weak_hand() -> None:
    weak = "9C 8C 4C JD 9D 5D TH 8H 6H 4H JS 8S 6S"
    table = play(table_with("small_ships", [*FILLED, weak], dealer=3), "pass pass pass")
    assert says(table) in ("7", "8")


def test_it_never_indicates() -> None:
    asked = 0
    for seed in range(8):
        for table in decisions("small_ships", 4, {"indication": True}, seed, deals=1):
            if table.phase == "play" and INDICATE in table.legal_actions():
                asked += 1
                assert answer(THUMB, table, np.random.default_rng(0)) != INDICATE
    assert asked > 8


def test_it_never_leaves_trump_or_the_suit_of_its_nomination_unsaid() -> None:
    table = noms([LONG_SPADES, *FILLED], "9 pass pass pass", implicit_announcements=True)
    assert "unsaid" in table.legal_words()
    assert says(table) == "S"
    table.act("S")
    assert "A" in table.legal_words()
    assert says(table) == "AS"


# ------------------------------------------------------------------------------------------------ nonesuch


def nonesuch(hands: list[str], up: str, words: str = "") -> Table:
    """Nonesuch, seat 0 bids and leads first."""
    return play(table_with("nonesuch", hands, dealer=len(hands) - 1, stock=up), words)


WEAK = "AM AS AW AL 2SY 2WL 3LY 2MK 3SK"
STRONG = "CM CS CW CL CY 9LK 8YK 7SK 6LK"


def test_none_on_a_weak_hand_and_most_on_a_strong_one() -> None:
    assert says(nonesuch([WEAK, "", "", ""], "CK")) == "none"
    assert says(nonesuch([STRONG, "", "", ""], "CK")) == "most"


def test_a_bid_of_none_ducks_and_others_take_cheaply() -> None:
    hands = ["8WL AK", "2WL 5ML", "4WL 6LK", "5SW 9WY CW AM"]
    assert says(nonesuch(hands, "AS", "some some some none 8WL L 2WL 4WL")) != "CW"
    hands = ["8WL AK", "2WL 5ML", "4WL 6LK", "AL 7ML CL AM"]
    assert says(nonesuch(hands, "AS", "some some some none 8WL L 2WL 4WL")) == "7ML", "the highest loser"
    assert says(nonesuch(hands, "AS", "some some some most 8WL L 2WL 4WL")) == "CL"


def test_a_seat_with_none_is_left_the_trick() -> None:
    hands = ["5ML AK", "2WL 7WY", "4WL 6SY", "AL 8WL AM 3MW"]
    assert says(nonesuch(hands, "AS", "none some some some 5ML L 2WL 4WL")) == "AL"


def test_the_holder_of_the_excuse_bids_for_the_better_trump() -> None:
    hand = "EX CM 9MS 8MS 7ML 5ML AL 2SY 3LY"
    assert says(nonesuch([hand, "", "", ""], "3MW")) == "most"
    assert says(nonesuch([hand.replace("EX", "5YK"), "", "", ""], "3MW")) == "some", "half the time it is the other trump"


def test_the_holder_of_the_excuse_names_the_better_trump() -> None:
    hands = ["EX CM 9MS 8MS AK 2MK 4MS AL AY", "", "", ""]
    table = nonesuch(hands, "3MW", "some some some some")
    assert table.phase == "trump"
    assert says(table) == "M"


# ------------------------------------------------------------------------------------------------ the vocabulary


@pytest.mark.uncompiled
def test_the_chance_that_a_hand_has_none_of_some_cards() -> None:
    assert none_of(0, 5, 10) == 1.0
    assert none_of(1, 5, 10) == 0.5
    assert none_of(2, 5, 10) == pytest.approx(0.5 * 4 / 9)
    assert none_of(6, 5, 10) == 0.0


@pytest.mark.uncompiled
def test_sure_tricks_are_trumps_above_all_that_are_missing() -> None:
    table = ships(["AS QS 2C", "KS 3C 4C", "2D 3D 4D", "2H 3H 4H"], "1 1 1 1")
    m = new_workspaces()[0]
    look(table.row, 0, m)
    assert sure_tricks(table.row, table.row.hands[0], m) == 1
    play(table, "AS KS 2D 2H")
    look(table.row, 0, m)
    assert sure_tricks(table.row, table.row.hands[0], m) == 1, "the queen, now that the king is gone"


@pytest.mark.uncompiled
@pytest.mark.parametrize("variant", ["down_up", "sniped_whist", "small_ships", "nonesuch"])
def test_chances_that_are_reckoned_once_are_those_reckoned_for_each_card_that_may_be_played(variant: str) -> None:
    workspace, mood = new_workspaces()[0], DECKTET_TAKING if variant == "nonesuch" else TAKING
    pairs, reckoned, leads = 0, 0, 0
    for table in decisions(variant, 4, {}, 3, deals=5):
        if table.phase != "play":
            continue
        row = table.row
        hand = int(row.hands[row.seat])
        look(row, row.seat, workspace)
        note_peers(row, workspace)
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


# ------------------------------------------------------------------------------------------------ strength


def mean_points(one: str, rest: str, variant: str, seats: int, deals: int, options: dict[str, Any]) -> float:
    """Points of a seat less the mean of the others', each deal played with the player at every seat."""
    batch = make_batch(variant, deals * seats, seed=1, seats=seats, episode="deal", **options)
    batch.reset(table=np.repeat(np.arange(deals), seats))
    own = np.tile(np.arange(seats), deals)
    points, rng = np.zeros((len(batch), seats)), np.random.default_rng(1)
    players = [make_player(one), make_player(rest)]
    while not batch.over.all():
        batch.observe()
        actions = np.zeros(len(batch), np.int64)
        for player, is_his in zip(players, (batch.seat == own, batch.seat != own), strict=True):
            rows = np.flatnonzero(is_his & ~batch.over)
            if len(rows) > 0:
                tables = sampled_tables(batch.tables, rows, rng)
                actions[rows] = player.act(batch.observation[rows], batch.mask[rows], rng, tables=tables)
        batch.step(actions)
        points += batch.points[:, :seats]
        batch.points[:] = 0
    mine = points[np.arange(len(batch)), own]
    return float((mine - (points.sum(axis=1) - mine) / (seats - 1)).mean())


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
    assert mean_points("thumb", "random", variant, seats, 100, options) > 0.4
    assert mean_points("random", "thumb", variant, seats, 100, options) < -0.4
    least = 0.05 if variant == "sniped_whist" else 0.3
    assert mean_points("thumb", "greedy", variant, seats, 400, options) > least
    assert mean_points("greedy", "thumb", variant, seats, 400, options) < -least


def test_it_makes_half_of_its_calls_against_itself() -> None:
    batch = make_batch("down_up", 200, seed=4, episode="deal")
    batch.tables.place_size = 10
    batch.reset()
    rng, hits = np.random.default_rng(1), 0
    while not batch.over.all():
        batch.observe()
        tables = sampled_tables(batch.tables, None, rng)
        batch.step(THUMB.act(batch.observation, batch.mask, rng, tables=tables))
    assert (batch.tables.hand_size == 10).all()
    hits = int((batch.tables.points[:, :4] >= BONUS_POINTS).sum())
    assert hits > 0.5 * 4 * len(batch)
