"""`reset(options=...)` sets up a position of the rulebook; an impossible one is refused and changes nothing."""

import random
from typing import Any

import numpy as np
import pytest

from noms_env import PositionError
from noms_env.core.cards import CARD_WORDS
from tests.agreement import deck_words
from tests.begin import begin
from tests.envs.play import EVERY_TABLE, KINDS, Kind, make, play_out, snapshot


@pytest.mark.parametrize("kind", EVERY_TABLE, ids=str)
def test_a_deck_is_dealt_in_its_order(kind: Kind) -> None:
    env = begin(make(kind), seed=1)
    deck = deck_words(env.table)
    random.Random(1).shuffle(deck)
    env.reset(seed=1, options={"deck": deck, "dealer": 1})
    row = env.table.row
    assert deck_words(env.table) == deck
    assert row.dealer == 1
    # Rules 0: eldest first; one at a time, or by rules 4.3 in packets of three and four.
    first = 4 if kind.variant == "noms" else 1
    assert set(deck[:first]) <= set(env.table.card_words(row.hands[2 % kind.seats]))
    env.reset(seed=1, options={"deck": tuple(deck), "dealer": np.int64(1)})
    assert deck_words(env.table) == deck


@pytest.mark.parametrize("kind", EVERY_TABLE, ids=str)
def test_missing_parts_of_a_position_follow_from_the_seed(kind: Kind) -> None:
    plain = begin(make(kind), seed=3)
    totals = begin(make(kind), seed=3, options={"totals": [1] * kind.seats})
    keys = ("deck", "dealer", "totals", "deal", "multiplier")
    nothing = begin(make(kind), seed=3, options={**dict.fromkeys(keys), "options": 7})
    assert deck_words(totals.table) == deck_words(plain.table)
    assert totals.table.row.dealer == plain.table.row.dealer
    assert snapshot(nothing) == snapshot(plain), "None changes nothing, nor does the key of PettingZoo's tests"


def test_a_position_has_totals_a_multiplier_and_the_number_of_a_deal() -> None:
    position = {"totals": [80, 0, 0, 0], "multiplier": 2, "deal": 9}
    row = begin(make(Kind("noms", 4, {})), seed=0, options=position).table.row
    assert {"totals": row.totals[:4].tolist(), "multiplier": row.multiplier, "deal": row.deal} == position


def test_the_number_of_a_deal_fixes_its_size_and_trump() -> None:
    """6: ten down and up; S, H, C, D, NT in turn."""
    env = make(Kind("down_up", 4, {}))
    for deal, size, trump in ((0, 10, "S"), (9, 1, "NT"), (10, 2, "S"), (18, 10, "D")):
        env.reset(seed=0, options={"deal": deal})
        assert (env.table.row.deal_size, env.table.trump_word()) == (size, trump)
    play_out(env, random.Random(0))
    assert env.table.row.over
    assert env.table.row.deal == 18, "the last deal of the schedule"


def test_the_deal_of_a_position_must_have_the_hand_size_of_the_episode() -> None:
    env = begin(make(Kind("up_down", 4, {}), episode="deal", hand_size=3), seed=0, options={"deal": 22})
    assert (env.table.row.deal, env.table.row.deal_size) == (22, 3)
    with pytest.raises(PositionError, match="deal 5 has 6 cards, but the episode asks for hand_size=3"):
        env.reset(seed=0, options={"deal": 5})


FULL = [rank + suit for suit in "CDHS" for rank in "23456789TJQKA"]

REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("small ships", {"deck": ["2C", *FULL[:51]]}, "deck holds 2C more than once"),
    ("small ships", {"deck": FULL[:50]}, "deck lacks KS AS; all 52 cards"),
    ("small ships", {"deck": " ".join(FULL)}, "deck must be a list of cards"),
    ("nonesuch", {"deck": FULL[:37]}, r"deck holds '2C', which is not a card of this deck \(Decktet: AM AS "),
    ("nonesuch", {"deck": [*CARD_WORDS[1]][:36]}, "deck lacks EX; all 37 cards"),
    ("big ships", {"dealer": 4}, "dealer must be a seat from 0 to 3, not 4"),
    ("big ships", {"totals": [0, 0, 0]}, "totals must be 4 numbers from -1e\\+306 to 1e\\+306, one for each seat"),
    ("big ships", {"totals": [0, 0, 0, float("nan")]}, "totals must be 4 numbers"),
    ("small ships", {"totals": [0, 0, 0, 100]}, "totals must be below the target of 100"),
    ("up down", {"deal": 25}, "deal must be an integer from 0 to 24, not 25"),
    ("up down", {"deal": 1.0}, "deal must be an integer from 0 to 24, not 1.0"),
    ("noms", {"multiplier": 4}, "multiplier must be 1 or 2 here, not 4"),
    ("noms, previous deal shown", {"multiplier": 3}, "multiplier must be a power of 2 from 1 to 2\\*\\*199 here, not 3"),
    ("nonesuch", {"multiplier": 2}, "multiplier must be 1 here, not 2"),
]


@pytest.mark.parametrize(("name", "position", "sentence"), REFUSED, ids=[case[2] for case in REFUSED])
def test_an_impossible_position_is_refused_and_changes_nothing(name: str, position: dict[str, Any], sentence: str) -> None:
    env, fresh = begin(make(KINDS[name]), seed=2), make(KINDS[name])
    env.step(env.legal_actions()[0])
    before, untouched = snapshot(env), env.clone()
    for seed in (None, 7):
        with pytest.raises(PositionError, match=f"^{sentence}"):
            env.reset(seed=seed, options=position)
        assert snapshot(env) == before
    env.reset()
    untouched.reset()
    assert snapshot(env) == snapshot(untouched), "the next match follows"
    with pytest.raises(PositionError):
        fresh.reset(seed=1, options=position)
    fresh.reset(seed=1)
    assert snapshot(fresh) == snapshot(begin(make(KINDS[name]), seed=1))


def test_a_tie_above_the_target_is_possible_if_ties_are_played_on() -> None:
    env = make(Kind("noms", 4, {"tie": "play_on"}))
    for totals in ([110, 110, 3, 0], [110, 110 + 1e-12, 3, 0]):  # the latter is a tie, as at the end of a match
        env.reset(seed=0, options={"totals": totals})
        assert list(env.table.row.totals[:4]) == totals
    with pytest.raises(PositionError, match="totals must be below the target"):
        env.reset(seed=0, options={"totals": [110, 109, 3, 0]})
