"""Options of all variants: the referee allows the same values, and every option has an effect."""

import doctest
import random
import re
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from noms_env.table import Table
from noms_env.variants import GAMES, VARIANTS, RulesError, game, make_rules
from tests import referee
from tests.agreement import SENSELESS

pytestmark = pytest.mark.uncompiled

ALL = [(variant, name) for variant in VARIANTS for name in referee.OPTIONS[variant]]
NUMBERS = [*range(-1, 19), 25, 26, 27]
ODD: list[Any] = [None, False, True, 0.0, 0.5, 7.0, "0", "True", object(), {}, [], np.zeros(2), np.array(["H"]), 1 << 20_000]
WORDS = sorted({word for variant, name in ALL for word in referee.OPTIONS[variant][name].drawn if isinstance(word, str)})
LARGEST = {"n_hands": 100, "snip_penalty": 100, "misere_value": 100, "cut": 51}
LARGEST |= {"target": 10_000, "max_hands": 1000, "max_deals": 1000}
"""Maximums above those of `NUMBERS`."""

NEEDS: dict[tuple[str, str], dict[str, Any]] = {
    ("sniped_whist", "snip_penalty"): {"scoring": "tricks"},
    ("sniped_whist", "trump_rotation"): {"trump_mode": "rotation"},
    ("sniped_whist", "accumulate"): {"n_hands": 3},
    ("big_ships", "hook_min_cards"): {"hook": True},
    ("up_down", "turnup_full_deal"): {"trump_mode": "turnup"},
    ("noms", "keep_mis_a_vis"): {"mis_value": 10},
    ("noms", "forced_bid_closes"): {"dealer_forced": True},
}
"""Options that another option needs."""


def all_options(variant: str, seats: int | None = None, **options: Any) -> dict[str, Any]:
    return make_rules(game(variant), seats, options).options


def options_by_referee(variant: str, seats: int, options: dict[str, Any]) -> dict[str, Any] | None:
    """Return all options of a table, None if there is no such table or a hand is too large for a record."""
    try:
        options = referee.complete_options(variant, seats, options)
    except (ValueError, TypeError):
        return None
    is_exact = variant in referee.EXACT_BID
    sizes = referee.schedule(variant, seats, options) if is_exact else [referee.hand_size_of(variant, seats, options, 0)]
    return options if max(sizes) <= referee.LARGEST_HAND else None


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_defaults_are_those_of_the_referee(variant: str) -> None:
    assert all_options(variant, 4) == referee.complete_options(variant, 4, {})
    assert all(10 < len(option.doc) < 100 and "\n" not in option.doc for option in GAMES[variant].options)
    assert Table(variant).seats == 4


@pytest.mark.parametrize(("variant", "name"), [pair for pair in ALL if pair[1] != "trump_rotation"])
def test_a_value_becomes_plain_python_or_is_refused(variant: str, name: str) -> None:
    accepted = refused = 0
    needs, largest = NEEDS.get((variant, name), {}), LARGEST.get(name, 0)
    for value in (*NUMBERS, *ODD, *WORDS, largest):
        expected = options_by_referee(variant, 4, {name: value, **needs})
        value = np.int64(value) if type(value) is int and abs(value) < 100 else value
        if expected is None:
            with pytest.raises(RulesError, match="must be") as refusal:
                all_options(variant, 4, **{name: value}, **needs)
            refused += str(refusal.value).startswith(f"{name} must be ")
            continue
        options = all_options(variant, 4, **{name: value}, **needs)
        assert options == expected
        assert type(options[name]) in (bool, int, str, type(None))
        accepted += 1
    assert accepted > 1
    assert refused > len(ODD) / 2
    if largest:
        with pytest.raises(RulesError, match=rf"^{name} must be .* to {largest}\b.*, not {largest + 1}$"):
            all_options(variant, 4, **{name: largest + 1}, **needs)


@pytest.mark.parametrize("variant", [variant for variant, name in ALL if name == "trump_rotation"])
def test_a_rotation_is_a_list_of_one_to_ten_suits(variant: str) -> None:
    needs = NEEDS.get((variant, "trump_rotation"), {})
    for value in (["NT"], ("C", "S"), ["D"] * 10, [np.str_("H"), "NT"]):
        rotation = all_options(variant, 4, trump_rotation=value, **needs)["trump_rotation"]
        assert rotation == list(value)
        assert {type(word) for word in (rotation, *rotation)} == {list, str}
    for value in ([], ["D"] * 11, ["X"], ["H", None], [["H"]], "NT", 3, {"H", "S"}, iter("HS"), *ODD[1:]):
        with pytest.raises(RulesError, match=r"^trump_rotation must be a list of 1 to 10 of C, D, H, S and NT"):
            all_options(variant, 4, trump_rotation=value, **needs)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_table_is_allowed_exactly_if_the_referee_allows_it(variant: str) -> None:
    rng, tables = random.Random(variant), 0
    table_options = [name for name, option in referee.OPTIONS[variant].items() if option.default is None]
    for number in range(600):
        seats, options = referee._draw_table(variant, rng)
        seats = rng.randrange(9) if number % 3 == 0 else seats
        expected = options_by_referee(variant, seats, options)
        try:
            assert all_options(variant, seats, **options) == expected, (seats, options)
        except RulesError as refusal:
            if expected is None or SENSELESS in str(refusal):
                continue
            raise
        defaults = dict.fromkeys(name for name in table_options if name not in options)
        assert all_options(variant, seats, **options, **defaults) == expected, "None means the default of the table"
        tables += 1
    assert tables > 50


@pytest.mark.parametrize("seats", [0, 8, "4", True, 4.0])
def test_other_numbers_of_seats_are_refused(seats: Any) -> None:
    with pytest.raises(RulesError, match=rf"sniped_whist is played with 3 to 7 seats.*, not {re.escape(repr(seats))}"):
        Table("sniped_whist", seats)


@pytest.mark.parametrize("name", ["start_cards", "jokers", 0, None, b"hook", "hook_", "rank"])
def test_an_unknown_option_is_refused(name: Any) -> None:
    others = f"did you mean {name.strip('_')}" if name in ("hook_", "rank") else "options are hook, .*suits"
    with pytest.raises(RulesError, match=f"down_up has no option {name!r}.*{others}"):
        make_rules(GAMES["down_up"], 4, {name: 2})


@pytest.mark.parametrize(("name", "others"), [("whist", "sniped_whist, .*up_down"), ("small_ship", "did you mean small_ships")])
def test_an_unknown_variant_is_refused(name: str, others: str) -> None:
    with pytest.raises(RulesError, match=f"no variant '{name}'; .*{others}"):
        Table(name)


@pytest.mark.parametrize(
    ("variant", "options", "name", "condition"),
    [
        ("sniped_whist", {"trump_rotation": ["S"]}, "trump_rotation", "trump_mode='rotation'"),
        ("sniped_whist", {"accumulate": True}, "accumulate", "n_hands above 1"),
        ("sniped_whist", {"snip_penalty": 1}, "snip_penalty", "scoring='tricks'"),
        ("small_ships", {"open_partner": True, "indication": True}, "indication", "open_partner=False"),
        ("noms", {"cut": 5, "deal_mode": "packets_shuffled"}, "cut", "deal_mode='packets'"),
        ("noms", {"cut": 7, "ranks": 12}, "cut", "deal_mode='packets'"),
        ("noms", {"trick_order": "reverse", "deal_mode": "packets_shuffled"}, "trick_order", "deal_mode"),
        ("noms", {"cut": 5, "cut_min": 2}, "cut_min", "without a fixed cut"),
        ("noms", {"target": None, "tie": "play_on"}, "tie", "with a target"),
        ("noms", {"min_bid": 7, "double_repeat": "single"}, "double_repeat", "if the dealer"),
        ("noms", {"forced_bid_closes": True}, "forced_bid_closes", "the dealer is forced to bid"),
        ("noms", {"keep_mis_a_vis": True}, "keep_mis_a_vis", "mis_value=10"),
        ("down_up", {"hook": False, "hook_min_cards": 3}, "hook_min_cards", "hook=True"),
        ("up_down", {"trump_mode": "none", "trump_rotation": ["S"]}, "trump_rotation", "trump_mode"),
        ("up_down", {"turnup_full_deal": "dealer_last"}, "turnup_full_deal", "trump_mode='turnup'"),
    ],
)
def test_an_option_without_an_effect_is_refused(variant: str, options: dict[str, Any], name: str, condition: str) -> None:
    with pytest.raises(RulesError, match=f"^{name} has an effect only .*{condition}"):
        Table(variant, 4, options)


@pytest.mark.parametrize(
    ("variant", "seats", "options", "sentence"),
    [
        ("small_ships", 4, {"target": None, "max_hands": None}, "both None"),
        ("small_ships", 2, {"ranks": 3}, "lowest bid would be 7, .* give min_bid, an integer from 1 to 6"),
        ("small_ships", 4, {"misere_above": 5}, "misere_above must be an integer from 6 to 13 with .* min_bid=7, not 5"),
        ("small_ships", 6, {"min_bid": 9}, "min_bid must be an integer from 1 to 8 with 8 cards, not 9"),
        ("small_ships", 6, {"ranks": 5, "suits": 1}, "a deck of 5 cards is too small for 6 seats"),
        ("noms", 4, {"deal_mode": "packets", "ranks": 12}, "deal_mode must be 'single_shuffled' unless 52 cards .* to 4 seats"),
        ("noms", 4, {"ranks": 10, "mis_value": 12}, "mis_value must be 10 with 10 cards, not 12"),
        ("sniped_whist", 2, {"ranks": 12}, "hand_size must be given with this deck and 2 seats: an integer from 1 to 17"),
        ("sniped_whist", 5, {"hand_size": 11}, "hand_size must be an integer from 1 to 10 with 52 cards and 5 seats, not 11"),
        ("sniped_whist", 3, {"suits": 3, "trump_rotation": ["H", "S"]}, "rotation names S, .*3 suits; allowed are C, D, H, NT"),
        ("big_ships", 4, {"start_cards": 4, "ranks": 3}, "start_cards must be .* 1 to 3 with 12 cards and 4 seats"),
        ("nonesuch", 4, {"ranks": 9}, "leave 30 basic cards, but with 4 seats their number must be a multiple of 4"),
    ],
)
def test_a_value_that_does_not_fit_the_table_is_refused(
    variant: str, seats: int, options: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(RulesError, match=sentence):
        Table(variant, seats, options)


ON_DISPLAY = {"reveal_stock_at_end", "observe_previous_hand"}
"""Options of the observation; its tests cover them."""

SMALL: dict[str, Any] = {"ranks": 5}
FULL: dict[str, Any] = {}
DECK = {"ranks": (FULL, 13, (2, 12)), "suits": (FULL, 4, (3, 1))}
HAND = {"hand_size": (SMALL, None, (1, 4))}

# Per option: the table, the first value (None: the default there), and other values. A table alone: all words, or both flags.
# Missing flags and words are tested at the small table.
Rows = dict[str, tuple[dict[str, Any], Any, Sequence[Any]] | dict[str, Any]]

CHANGES: dict[str, Rows] = {
    "sniped_whist": {
        "n_hands": (SMALL, 1, (2, 3)),
        "trump_mode": FULL,
        "trump_rotation": ({**SMALL, "trump_mode": "rotation", "n_hands": 2}, None, (["S"], ["H", "S"])),
        "snip_penalty": ({**SMALL, "scoring": "tricks"}, 0, (1, 100)),
        "accumulate": {**SMALL, "n_hands": 2},
        **HAND,
        **DECK,
    },
    "big_ships": {
        "start_cards": (FULL, 13, (1, 12)),
        "hook_min_cards": ({**SMALL, "hook": True}, 1, (2, 3, 6, 17)),
        "repeat_one": {"start_cards": 2},
        "direction": {"start_cards": 2},
        "trump_rotation": (SMALL, None, (["S"], ["H", "S"])),
        **DECK,
    },
    "small_ships": {
        "min_bid": (SMALL, 3, (1, 2, 5)),
        "misere_value": (SMALL, 2, (1, 3, 100)),
        "misere_above": (SMALL, 2, (3, 4, 5)),
        "stock_nomination": {**SMALL, "hand_size": 4, "min_bid": 2},
        "target": (SMALL, 5, (4, None)),
        "max_hands": (SMALL, 2, (1, 3, None)),
        **HAND,
        **DECK,
    },
    "noms": {
        "min_bid": (FULL, 10, (7, 8, 9)),
        "unbid_slam_loses": {"ranks": 3, "min_bid": 1},
        "mis_value": (FULL, 13, (10,)),
        "keep_mis_a_vis": {"mis_value": 10, "min_bid": 7},
        "forced_bid_closes": {**SMALL, "dealer_forced": True},
        "tie": {**SMALL, "target": 4},
        "cut": (FULL, None, (0, 1, 26, 51)),
        "cut_min": (FULL, 1, (2, 25, 26)),
        **dict.fromkeys(("trick_order", "trick_stack", "pile_order", "deal_mode"), FULL),
        "max_deals": (SMALL, 2, (1, 3)),
        "target": (SMALL, 5, (4, 6, None)),
        **HAND,
        **DECK,
    },
    "nonesuch": {
        "half": FULL,
        "target": (FULL, 5, (4, 7, None)),
        "max_hands": (FULL, 2, (1, 3)),
        "ranks": (FULL, 10, (3, 7)),
        "suits": (FULL, 6, (3,)),
    },
    "down_up": {
        "hook_min_cards": (SMALL, 1, (4, 5, 6, 17)),
        "trump_rotation": (SMALL, None, (["S", "C"], ["D"])),
        **DECK,
        "ranks": (FULL, 13, (2, 9)),
    },
    "up_down": {
        "schedule": {"ranks": 2},
        "trump_mode": FULL,
        "turnup_full_deal": {"ranks": 3, "trump_mode": "turnup"},
        "hook_min_cards": (SMALL, 4, (1, 3, 5, 17)),
        "trump_rotation": (SMALL, None, (["D"], ["S", "C"])),
        **DECK,
    },
}


def change(variant: str, name: str) -> tuple[dict[str, Any], Any, Sequence[Any]]:
    """Return the table at which an option has an effect, the first value, and other values."""
    row = CHANGES[variant].get(name, SMALL)
    if isinstance(row, tuple):
        return row
    default = all_options(variant, 4)[name]
    return row, default, [value for value in referee.OPTIONS[variant][name].drawn if value != default]


ROWS = [
    (variant, name, base, start, other)
    for variant, name in ALL
    if name not in ON_DISPLAY
    for base, start, others in [change(variant, name)]
    for other in others
]


def trace(variant: str, options: dict[str, Any], seed: int) -> list[Any]:
    """Return everything that the rules decide in the first five deals of a match of four seats, with random actions."""
    table, rng = Table(variant, 4, options, seed=seed), random.Random(seed)
    passing = rng.choice((0.0, 0.5, 0.9))
    table.start()
    events: list[Any] = []
    for _ in range(5):
        row = table.row
        events += [row.hands.tolist(), int(row.stock), int(row.dealer), int(row.multiplier), int(row.deal_size)]
        while table.phase is not None:
            legal = table.legal_actions()
            events.append((int(row.seat), table.phase, legal, table.trump_word(), int(row.revealed), int(row.alone)))
            passes, fraction = rng.random() < passing, rng.random()
            table.step(74 if passes and 74 in legal else legal[int(fraction * len(legal))])
        events += [row.points.tolist(), row.totals.tolist(), int(row.over), int(row.truncated), int(row.winners)]
        table.next_deal()
    return events


@pytest.mark.parametrize(("variant", "name", "base", "start", "other"), ROWS)
def test_every_option_changes_a_result(variant: str, name: str, base: dict[str, Any], start: Any, other: Any) -> None:
    first, second = base if start is None else {**base, name: start}, {**base, name: other}
    assert any(trace(variant, first, seed) != trace(variant, second, seed) for seed in range(60))
    if name != "hand_size":  # the observation has the hand size of each deal
        assert Table(variant, 4, first).row.choices.tolist() != Table(variant, 4, second).row.choices.tolist()


def test_equal_options_give_equal_traces() -> None:
    """So that the test above does not find chance."""
    for variant in VARIANTS:
        assert trace(variant, {}, 1) == trace(variant, {}, 1)
        assert trace(variant, {}, 1) != trace(variant, {}, 2)


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_docstring_example_of_a_variant_runs(variant: str) -> None:
    result = doctest.testmod(import_module(f"noms_env.variants.{variant}"))
    assert result.attempted >= 4
    assert result.failed == 0
