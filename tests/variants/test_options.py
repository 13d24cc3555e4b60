"""The options of all variants: allowed is what the referee allows, who knows the rulebook alone; and each option is read."""

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
ROTATIONS = [variant for variant, name in ALL if name == "trump_rotation"]
NUMBERS = [*range(-1, 19), 25, 26, 27]
ODD: list[Any] = [None, False, True, 0.0, 0.5, 7.0, "0", "True", object(), {}, [], np.zeros(2), np.array(["H"]), 1 << 20_000]
WORDS = sorted({word for variant, name in ALL for word in referee.OPTIONS[variant][name].drawn if isinstance(word, str)})
LARGEST = {"n_hands": 100, "snip_penalty": 100, "misere_value": 100, "cut": 51}
LARGEST |= {"target": 10_000, "max_hands": 1000, "max_deals": 1000}
"""Of numbers that may be larger than those above."""

NEEDS: dict[tuple[str, str], dict[str, Any]] = {
    ("sniped_whist", "snip_penalty"): {"scoring": "tricks"},
    ("sniped_whist", "trump_rotation"): {"trump_mode": "rotation"},
    ("sniped_whist", "accumulate"): {"n_hands": 3},
    ("big_ships", "hook_min_cards"): {"hook": True},
    ("up_down", "turnup_full_deal"): {"trump_mode": "turnup"},
    ("noms", "keep_mis_a_vis"): {"mis_value": 10},
    ("noms", "forced_bid_closes"): {"dealer_forced": True},
}
"""What has to be given with an option."""


def resolved(variant: str, seats: int | None = None, **given: Any) -> dict[str, Any]:
    return make_rules(game(variant), seats, given).options


def allowed(variant: str, seats: int, given: dict[str, Any]) -> dict[str, Any] | None:
    """Every option of a table by the referee; None where there is no such table, or hands too large for a record."""
    try:
        options = referee.complete_options(variant, seats, given)
    except (ValueError, TypeError):
        return None
    is_exact = variant in referee.EXACT_BID
    sizes = referee.schedule(variant, seats, options) if is_exact else [referee.hand_size_of(variant, seats, options, 0)]
    return options if max(sizes) <= referee.LARGEST_HAND else None


def sensible(variant: str, seats: int, given: dict[str, Any]) -> dict[str, Any] | None:
    """Every option of a table; None where one that is given has no effect, which the referee does not mind."""
    try:
        return resolved(variant, seats, **given)
    except RulesError as refusal:
        if SENSELESS in str(refusal):
            return None
        raise


@pytest.mark.parametrize("variant", VARIANTS)
def test_options_and_defaults(variant: str) -> None:
    assert resolved(variant, 4) == referee.complete_options(variant, 4, {})
    assert all(10 < len(option.doc) < 100 and "\n" not in option.doc for option in GAMES[variant].options)
    assert Table(variant).seats == 4


@pytest.mark.parametrize(("variant", "name"), [pair for pair in ALL if pair[1] != "trump_rotation"])
def test_a_value_is_taken_as_plain_python_or_refused_with_what_is_allowed(variant: str, name: str) -> None:
    taken = refused = 0
    largest = LARGEST.get(name, 0)
    for value in (*NUMBERS, *ODD, *WORDS, largest):
        given = {name: value, **NEEDS.get((variant, name), {})}
        expected = allowed(variant, 4, given)
        given[name] = np.int64(value) if type(value) is int and abs(value) < 100 else value
        if expected is None:
            with pytest.raises(RulesError, match="must be") as refusal:
                resolved(variant, 4, **given)
            refused += str(refusal.value).startswith(f"{name} must be ")
            continue
        found = resolved(variant, 4, **given)
        assert found == expected
        assert type(found[name]) in (bool, int, str, type(None))
        taken += 1
    assert taken > 1
    assert refused > len(ODD) / 2
    if largest:
        with pytest.raises(RulesError, match=rf"^{name} must be .* to {largest}\b.*, not {largest + 1}$"):
            resolved(variant, 4, **{name: largest + 1}, **NEEDS.get((variant, name), {}))


@pytest.mark.parametrize("variant", ROTATIONS)
def test_a_rotation_is_a_list_of_one_to_ten_suits(variant: str) -> None:
    given = NEEDS.get((variant, "trump_rotation"), {})
    for value in (["NT"], ("C", "S"), ["D"] * 10, [np.str_("H"), "NT"]):
        taken = resolved(variant, 4, trump_rotation=value, **given)["trump_rotation"]
        assert taken == list(value)
        assert {type(word) for word in (taken, *taken)} == {list, str}
    for value in ([], ["D"] * 11, ["X"], ["H", None], [["H"]], "NT", 3, {"H", "S"}, iter("HS"), *ODD[1:]):
        with pytest.raises(RulesError, match=r"^trump_rotation must be a list of 1 to 10 of C, D, H, S and NT"):
            resolved(variant, 4, trump_rotation=value, **given)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_table_is_allowed_if_the_referee_allows_it(variant: str) -> None:
    rng, tables = random.Random(variant), 0
    table_options = [name for name, option in referee.OPTIONS[variant].items() if option.default is None]
    for number in range(600):
        seats, given = referee._draw_table(variant, rng)
        seats = rng.randrange(9) if number % 3 == 0 else seats
        expected, same = allowed(variant, seats, given), [name for name in table_options if name not in given]
        if expected is None:
            with pytest.raises(RulesError):
                resolved(variant, seats, **given)
            continue
        found = sensible(variant, seats, given)
        assert found in (expected, None), (seats, given)
        if found:
            assert resolved(variant, seats, **given, **dict.fromkeys(same)) == expected, "None asks for what depends on it"
            tables += 1
    assert tables > 50


@pytest.mark.parametrize("seats", [0, 8, "4", True, 4.0])
def test_other_numbers_of_seats_are_refused(seats: Any) -> None:
    with pytest.raises(RulesError, match=rf"sniped_whist is played with 3 to 7 seats.*, not {re.escape(repr(seats))}"):
        Table("sniped_whist", seats)


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("start_cards", "jokers", 0, None, b"hook"), r"down_up has no option {!r}.*[tT]he options are hook, .*suits"),
        (("hook_", "rank"), "no option {!r}; did you mean (hook|ranks)"),
    ],
)
def test_unknown_options_are_refused_with_the_list_of_those_there_are(names: Sequence[Any], said: str) -> None:
    for name in names:
        with pytest.raises(RulesError, match=said.format(name)):
            make_rules(GAMES["down_up"], 4, {name: 2})


def test_unknown_variants_are_refused_with_the_list_of_those_there_are() -> None:
    for name, said in (("whist", "; the variants are sniped_whist, .*up_down"), ("small_ship", "; did you mean small_ships")):
        with pytest.raises(RulesError, match=f"there is no variant '{name}'{said}"):
            Table(name)


@pytest.mark.parametrize(
    ("variant", "given", "name", "condition"),
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
def test_options_without_an_effect_are_refused(variant: str, given: dict[str, Any], name: str, condition: str) -> None:
    with pytest.raises(RulesError, match=f"^{name} has an effect only .*{condition}"):
        Table(variant, 4, given)


@pytest.mark.parametrize(
    ("variant", "seats", "given", "said"),
    [
        ("small_ships", 4, {"target": None, "max_hands": None}, "target and max_hands are both None"),
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
def test_values_that_do_not_fit_the_table_are_refused(variant: str, seats: int, given: dict[str, Any], said: str) -> None:
    with pytest.raises(RulesError, match=said):
        Table(variant, seats, given)


ON_DISPLAY = {"reveal_stock_at_end", "observe_previous_hand"}
"""What these show is no part of the play: the tests of what a seat observes look at them."""

SMALL: dict[str, Any] = {"ranks": 5}
FULL: dict[str, Any] = {}
DECK = {"ranks": (FULL, 13, (2, 12)), "suits": (FULL, 4, (3, 1))}
HAND = {"hand_size": (SMALL, None, (1, 4))}

# Per option: the table at which it can show, the value to start from (None: the default there), and other values. A table
# alone: all words, or both flags. Flags and words that are not here show at the small table.
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
    """The table at which an option can show, the value to start from, and other values."""
    given = CHANGES[variant].get(name, SMALL)
    if isinstance(given, tuple):
        return given
    default = resolved(variant, 4)[name]
    return given, default, [value for value in referee.OPTIONS[variant][name].drawn if value != default]


ROWS = [
    (variant, name, base, start, other)
    for variant, name in ALL
    if name not in ON_DISPLAY
    for base, start, others in [change(variant, name)]
    for other in others
]

DEALS = 5
SEEDS = 60


def trace(variant: str, options: dict[str, Any], seed: int) -> list[Any]:
    """Everything that the rules decide in the first deals of a match of four, under random choices of this seed."""
    table, rng = Table(variant, 4, options, seed=seed), random.Random(seed)
    passing = rng.choice((0.0, 0.5, 0.9))
    table.start()
    seen: list[Any] = []
    for _ in range(DEALS):
        row = table.row
        seen += [row.hands.tolist(), int(row.stock), int(row.dealer), int(row.multiplier), int(row.deal_size)]
        while table.phase is not None:
            legal = table.legal_actions()
            seen.append((int(row.seat), table.phase, legal, table.trump_word(), int(row.revealed), int(row.alone)))
            passes, fraction = rng.random() < passing, rng.random()
            table.step(74 if passes and 74 in legal else legal[int(fraction * len(legal))])
        seen += [row.points.tolist(), row.totals.tolist(), int(row.over), int(row.truncated), int(row.winners)]
        table.next_deal()
    return seen


@pytest.mark.parametrize(("variant", "name", "base", "start", "other"), ROWS)
def test_every_option_changes_a_result(variant: str, name: str, base: dict[str, Any], start: Any, other: Any) -> None:
    one, two = dict(base), {**base, name: other}
    if start is not None:
        one[name] = start
    assert any(trace(variant, one, seed) != trace(variant, two, seed) for seed in range(SEEDS))
    if name != "hand_size":  # that is shown as the hand size of each deal
        assert Table(variant, 4, one).row.choices.tolist() != Table(variant, 4, two).row.choices.tolist()


def test_the_same_options_give_the_same_trace() -> None:
    """What the test above finds is due to the option, not to chance."""
    for variant in VARIANTS:
        assert trace(variant, {}, 1) == trace(variant, {}, 1)
        assert trace(variant, {}, 1) != trace(variant, {}, 2)


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_example_in_the_docstring_of_a_variant_runs(variant: str) -> None:
    result = doctest.testmod(import_module(f"noms_env.variants.{variant}"))
    assert result.attempted >= 4
    assert result.failed == 0
