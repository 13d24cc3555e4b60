"""`reset(options=...)` sets up positions of the rulebook, and refuses impossible ones with a sentence, harming nothing."""

import random
from typing import Any

import numpy as np
import pytest

from noms_env import PositionError
from noms_env.core.cards import CARD_WORDS
from noms_env.envs.aec import TrickTakingEnv
from tests.begun import begun
from tests.envs.play import EVERY_TABLE, KINDS, Kind, deck_in_words, everything, make, play_out
from tests.variants.table_help import deck_for


def at(kind: Kind, hands: list[str], dealer: int, stock: str = "", **position: Any) -> TrickTakingEnv:
    """An environment in which these hands are dealt."""
    env = make(kind)
    deck = deck_for(kind.variant, kind.seats, hands, dealer, stock, kind.options, position.get("deal", 0))
    env.reset(seed=0, options={"deck": deck, "dealer": dealer, **position})
    return env


def play(env: TrickTakingEnv, words: str) -> None:
    for word in words.split():
        env.step(env.str_to_action(word))


@pytest.mark.parametrize("kind", EVERY_TABLE, ids=str)
def test_a_deck_is_dealt_as_given(kind: Kind) -> None:
    env = begun(make(kind), seed=1)
    deck = deck_in_words(env)
    random.Random(1).shuffle(deck)
    env.reset(seed=1, options={"deck": deck, "dealer": 1})
    row = env.table.row
    assert deck_in_words(env) == deck
    assert row.dealer == 1
    # Rules 0: eldest first; one at a time, or by rules 4.3 in packets of three and four.
    first = 4 if kind.variant == "noms" else 1
    assert set(deck[:first]) <= set(env.table.card_words(row.hands[2 % kind.seats]))
    env.reset(seed=1, options={"deck": tuple(deck), "dealer": np.int64(1)})
    assert deck_in_words(env) == deck


@pytest.mark.parametrize("kind", EVERY_TABLE, ids=str)
def test_what_is_not_given_is_drawn_from_the_seed(kind: Kind) -> None:
    plain, moved, asked = make(kind), make(kind), make(kind)
    plain.reset(seed=3)
    moved.reset(seed=3, options={"totals": [1] * kind.seats})
    asked.reset(seed=3, options={"deck": None, "dealer": None, "totals": None, "deal": None, "multiplier": None, "options": 7})
    assert deck_in_words(moved) == deck_in_words(plain)
    assert moved.table.row.dealer == plain.table.row.dealer
    assert everything(asked) == everything(plain), "None changes nothing, nor does the key of PettingZoo's tests"


def test_noms_double_hand_and_end_at_the_target() -> None:
    """4.1: twice the points in a double hand; the match ends with the deal in which a total reaches 101."""
    env = at(Kind("noms", 4, {}), ["AS KS QS JS TS 9S 8S 7S 6S 5S 4S 3S 2S"], 3, multiplier=2, totals=[80, 0, 0, 0], deal=9)
    assert env.table.row.deal == 9
    play(env, "12 pass pass pass S AS")
    returns = play_out(env, random.Random(0))
    assert returns == {"player_0": 24.0, "player_1": 0.0, "player_2": 0.0, "player_3": 0.0}
    assert list(env.table.row.totals[:4]) == [104, 0, 0, 0]
    assert env.table.row.over


def test_the_running_number_of_a_deal_fixes_its_size_and_trump() -> None:
    """6: ten down and up; S, H, C, D, NT in turn."""
    env = make(Kind("down_up", 4, {}))
    for deal, size, trump in ((0, 10, "S"), (9, 1, "NT"), (10, 2, "S"), (18, 10, "D")):
        env.reset(seed=0, options={"deal": deal})
        assert (env.table.row.deal_size, env.table.trump_word()) == (size, trump)
    play_out(env, random.Random(0))
    assert env.table.row.over
    assert env.table.row.deal == 18, "the last deal of the schedule"


def test_a_position_may_be_of_any_deal_and_hand_size_asked_for() -> None:
    env = begun(make(Kind("up_down", 4, {}), episode="deal", hand_size=3), seed=0, options={"deal": 22})
    assert (env.table.row.deal, env.table.row.deal_size) == (22, 3)
    with pytest.raises(PositionError, match="deal 5 has 6 cards, but the episode asks for hand_size=3"):
        env.reset(seed=0, options={"deal": 5})


DECKTET = [*CARD_WORDS[1]]
FULL = [rank + suit for suit in "CDHS" for rank in "23456789TJQKA"]

REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("small ships", {"deck": ["2C", *FULL[:51]]}, "deck holds 2C more than once; every card must be there once"),
    ("small ships", {"deck": FULL[:50]}, "deck lacks KS AS; all 52 cards must be there, dealt or not"),
    ("small ships", {"deck": [*FULL[:51], "10S"]}, "deck holds '10S', which is not a card of this deck"),
    ("small ships", {"deck": " ".join(FULL)}, "deck must be a list of cards in dealing order"),
    ("nonesuch", {"deck": FULL[:37]}, r"deck holds '2C', which is not a card of this deck \(Decktet: AM AS "),
    ("big ships", {"dealer": 4}, "dealer must be a seat from 0 to 3, not 4"),
    ("big ships", {"totals": [0, 0, 0]}, "totals must be 4 numbers from -1e\\+306 to 1e\\+306, one for each seat"),
    ("big ships", {"totals": [0, 0, 0, float("nan")]}, "totals must be 4 numbers"),
    ("small ships", {"totals": [0, 0, 0, 100]}, "totals must be below the target of 100, or the match would be over"),
    ("up down", {"deal": 25}, "deal must be an integer from 0 to 24, not 25"),
    ("up down", {"deal": 1.0}, "deal must be an integer from 0 to 24, not 1.0"),
    ("nonesuch", {"deck": DECKTET[:36]}, "deck lacks EX; all 37 cards must be there, dealt or not"),
    ("noms", {"multiplier": 4}, "multiplier must be 1 or 2 here, not 4"),
    ("noms, previous deal shown", {"multiplier": 3}, "multiplier must be a power of 2 from 1 to 2\\*\\*199 here, not 3"),
    ("nonesuch", {"multiplier": 2}, "multiplier must be 1 here, not 2"),
]


@pytest.mark.parametrize(("name", "position", "says"), REFUSED, ids=[case[2] for case in REFUSED])
def test_an_impossible_position_is_refused_and_harms_nothing(name: str, position: dict[str, Any], says: str) -> None:
    env = begun(make(KINDS[name]), seed=2)
    env.step(env.legal_actions()[0])
    before, untouched = everything(env), env.clone()
    for seed in (None, 7):
        with pytest.raises(PositionError, match=f"^{says}"):
            env.reset(seed=seed, options=position)
        assert everything(env) == before
    env.reset()
    untouched.reset()
    assert everything(env) == everything(untouched), "the stream of matches is where it was"


def test_a_tie_above_the_target_is_possible_where_it_is_played_on() -> None:
    env = begun(make(Kind("noms", 4, {"tie": "play_on"})), seed=0, options={"totals": [110, 110, 3, 0]})
    assert list(env.table.row.totals[:4]) == [110, 110, 3, 0]
    env.reset(seed=0, options={"totals": [110, 110 + 1e-12, 3, 0]})  # a tie, as the end of a match takes it
    with pytest.raises(PositionError, match="totals must be below the target"):
        env.reset(seed=0, options={"totals": [110, 109, 3, 0]})


def test_a_refused_position_before_the_first_reset() -> None:
    env = make(KINDS["noms"])
    with pytest.raises(PositionError):
        env.reset(seed=1, options={"dealer": 9})
    env.reset(seed=1)
    twin = begun(make(KINDS["noms"]), seed=1)
    assert everything(env) == everything(twin)
