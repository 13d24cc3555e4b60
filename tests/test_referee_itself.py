"""The referee gathers possible decks, and its checker accepts whole records and finds broken ones.

`tests/variants` compares it with the worked examples of the rulebook (`table_help.py`) and its options with the engine's.
"""

import copy
import json
import random
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from tests import referee as ref
from tests.cases import some
from tests.referee import complete_options

WINNERS = (0, 2, 2, 1, 3, 0, 0, 2, 1, 1, 3, 2, 0)
TRICKS = [ref.Trick(seat, [f"{place}{card}" for card in "abcd"]) for place, seat in enumerate(WINNERS, start=1)]


@pytest.mark.parametrize("order", ["trick_order", "pile_order"])
def test_random_gathering_gives_many_possible_decks(order: str) -> None:
    options = complete_options("noms", 4, {order: "random"})
    decks = [ref.gather_played(options, TRICKS, 1, random.Random(seed)) for seed in range(50)]
    assert all(ref.could_be_gathered(options, TRICKS, 1, deck) for deck in decks)
    assert len({tuple(deck) for deck in decks}) >= 20
    foreign = [*decks[0][1:4], decks[0][50], *decks[0][4:50], decks[0][0], decks[0][51]]
    assert not ref.could_be_gathered(options, TRICKS, 1, foreign)


@pytest.mark.parametrize("variant", ref.VARIANTS)
def test_matches_of_a_single_deal_pass(variant: str) -> None:
    rng = random.Random(7)
    for _ in range(10):
        seats, options = ref.random_options(variant, rng)
        records = ref.random_match(variant, seats, options, rng, single_deal=True)
        assert ref.check_match(records, single_deal=True) == []
        assert records[-1]["over"]
        assert records[-1]["before"] == [0] * seats
        assert all(record["declarer"] is None for record in records[:-1])
        two = [*records, *ref.random_match(variant, seats, options, rng, match=1, single_deal=True)]
        assert ref.check_match(two, single_deal=True) == []


def through_json(records: list[ref.Record]) -> list[ref.Record]:
    loaded: list[ref.Record] = json.loads(json.dumps(records))
    return loaded


@pytest.mark.parametrize("matches", some([8, 100], 2))
@pytest.mark.parametrize("variant", ref.VARIANTS)
def test_random_matches_pass(variant: str, matches: int) -> None:
    rng = random.Random(variant)
    for number in range(matches):
        seats, options = ref.random_options(variant, rng)
        records = through_json(ref.random_match(variant, seats, options, rng, match=number))
        assert ref.check_match(records) == [], (seats, options)
        if variant != "sniped_whist":  # a check may begin at any deal of the match
            later = records[len(records) // 2 :]
            assert not later or not [line for line in ref.check_match(later) if "deck" not in line], (seats, options)


@pytest.mark.parametrize("variant", ref.VARIANTS)
def test_random_options_reach_every_choice(variant: str) -> None:
    rng = random.Random(variant)
    drawn = [ref.random_options(variant, rng) for _ in range(2000)]
    lowest = 3 if variant == "nonesuch" else 2
    assert {seats for seats, _ in drawn} == set(range(lowest, ref.SEATS[variant][1] + 1))
    for name, option in ref.OPTIONS[variant].items():
        values = [options[name] for _, options in drawn if name in options]
        if all(value is None or isinstance(value, str | bool) for value in option.drawn):
            assert set(values) == set(option.drawn), name
        else:
            assert (None in values) == (None in option.drawn), name
            assert len(set(map(str, values))) > 1 or len(option.drawn) == 1, name
    for seats, partial in drawn[:200]:
        options = complete_options(variant, seats, partial)
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
def whole_match(variant: str) -> list[ref.Record]:
    records = through_json(ref.random_match(variant, 4, SHORT_MATCHES[variant], random.Random(0), match=5))
    assert len(records) > 2
    assert ref.check_match(records) == []
    return records


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


def add_one(values: list[Any]) -> list[Any]:
    return [values[0] + 1, *values[1:]]


CORRUPTIONS = [
    change("hands", 1, lambda hands: [[hands[1][0], *hands[0][1:]], [hands[0][0], *hands[1][1:]], *hands[2:]]),
    change("deck", 1, lambda deck: [deck[1], deck[0], *deck[2:]]),
    change("deck", 0, lambda deck: [deck[1], *deck[1:]]),
    change("dealer", 1, lambda seat: (seat + 1) % 4),
    change("deal", 1, lambda number: number + 1),
    change("match", 1, lambda number: number + 1),
    change("hand_size", 0, lambda size: size + 1),
    change("format", 0, lambda _: "noms-record/2"),
    change("multiplier", 1, lambda number: 2 * number),
    change("before", 1, add_one),
    change("points", 0, add_one),
    change("after", 0, add_one),
    change("tricks", 0, add_one),
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
def test_every_corruption_is_found(variant: str, corrupt: Callable[[list[ref.Record]], None]) -> None:
    broken = copy.deepcopy(whole_match(variant))
    corrupt(broken)
    assert broken != whole_match(variant)
    assert ref.check_match(broken)


def test_a_shuffled_next_deck_of_noms_is_impossible() -> None:
    options = {"max_deals": 12, "target": None}
    records = through_json(ref.random_match("noms", 4, options, random.Random(1)))
    rng = random.Random(2)
    match = ref.Match("noms", 4, records[0]["options"], dealer=records[0]["dealer"])
    for number, record in enumerate(records):
        assert match.possible_next_deck(record["deck"])
        assert number == 0 or not match.possible_next_deck(rng.sample(record["deck"], 52))
        deal = match.start(record["deck"])
        for step in record["steps"]:
            deal.act(step["action"])
        match.finish(deal)


def test_records_may_lack_the_legal_actions() -> None:
    match = ref.Match("nonesuch", 4, complete_options("nonesuch", 4, {}), dealer=0)
    deal = match.start(match.draw_next_deck(random.Random(0)))
    while not deal.over:
        deal.act(deal.legal()[0])
    match.finish(deal)
    record = match.record(deal, with_legal=False)
    assert all(set(step) == {"seat", "phase", "action"} for step in record["steps"])
    assert ref.check_match(through_json([record])) == []
