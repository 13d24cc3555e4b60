"""The options of all variants: their names, defaults and values, and that each is read by somebody."""

import doctest
import random
import re
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import pytest

from noms_env.table import Table
from noms_env.variants import GAMES, VARIANTS, RulesError, game, make_rules

pytestmark = pytest.mark.uncompiled


class Choice(NamedTuple):
    """What the rulebook says of an option at the usual table (four seats, the whole deck)."""

    default: Any
    accepted: Sequence[Any]
    refused: Sequence[Any]
    named: Sequence[str]
    """What a refusal says is allowed."""


def flag(default: bool) -> Choice:
    return Choice(default, (False, True), (0, 1, "True", 0.0), ("True or False",))


def words(*values: str) -> Choice:
    """The first one is the default."""
    return Choice(values[0], values, (values[0].upper() + "S", 0, True, [values[0]]), [repr(word) for word in values])


def number(default: int | None, low: int, high: int, *more: Any) -> Choice:
    """Every number of a range (of a large one, some), and what else is said."""
    inside = range(low, high + 1) if high <= 100 else (low, low + 1, 77, high - 1, high)
    allowed = (f"an integer from {low}", f" to {high}", *(" or None" for _ in more))
    return Choice(default, (*inside, np.int64(low), *more), (low - 1, high + 1, 10**6), allowed)


def rotation(default: str) -> Choice:
    accepted = (default.split(), ["NT"], ("C", "S"), ["D"] * 10, [np.str_("H"), "NT"])
    refused: tuple[Any, ...] = ([], ["D"] * 11, ["X"], ["H", None], [["H"]], "NT", 3, {"H", "S"}, iter("HS"))
    return Choice(default.split(), accepted, refused, ("a list of 1 to 10 of C, D, H, S and NT",))


NEVER_NONE = ("hook", "tie", "n_hands", "bonus", "ranks", "suits", "half", "schedule", "scoring", "max_deals", "indication")
"""Options whose default does not depend on the table refuse None; a few of them."""
SHORT_DECK = {"ranks": number(13, 2, 13), "suits": number(4, 1, 4), "reveal_stock_at_end": flag(False)}

CHOICES: dict[str, dict[str, Choice]] = {
    "sniped_whist": {
        "n_hands": number(1, 1, 100),
        "trump_mode": words("turnup", "rotation", "random", "none", "dealer"),
        "trump_rotation": rotation("H C D S NT"),
        "scoring": words("place", "tricks"),
        "snip_penalty": number(0, 0, 100),
        "tie": words("share", "none", "cut"),
        "accumulate": flag(False),
        "objective": words("least", "most"),
        "hand_size": number(13, 1, 13),
        **SHORT_DECK,
    },
    "big_ships": {
        "start_cards": number(13, 1, 13),
        "hook": flag(False),
        "hook_min_cards": number(1, 1, 17),
        "bonus": words("exact", "at_least"),
        "repeat_one": flag(False),
        "direction": words("down_up", "down", "up_down"),
        "trump_rotation": rotation("H C D S NT"),
        **SHORT_DECK,
    },
    "small_ships": {
        "min_bid": number(7, 1, 13),
        "misere_value": number(10, 1, 100),
        "misere_above": number(10, 6, 13),
        "misere_trump": words("choice", "none"),
        "misere_nominates": flag(True),
        "misere_penalty": words("team", "own"),
        "misere_opponents_score": flag(True),
        "forced_bid_numeric_only": flag(True),
        "forced_bid_closes": flag(False),
        "first_trick_restriction": words("suit", "card", "off"),
        "stock_nomination": words("alone", "illegal", "redraw"),
        "target": number(100, 1, 10_000, None),
        "max_hands": number(20, 1, 1000, None),
        "indication": flag(False),
        "open_partner": flag(False),
        "hand_size": number(13, 1, 13),
        **SHORT_DECK,
    },
    "noms": {
        "min_bid": number(10, 7, 10),
        "dealer_forced": flag(False),
        "unbid_slam_loses": flag(False),
        "keep_mis_a_vis": flag(False),
        "forced_bid_closes": flag(False),
        "mis_value": Choice(13, (10, 13), (9, 11, 14, 13.0, "13", True), ("10",)),
        "first_lead": words("bidder", "left_of_dealer"),
        "implicit_announcements": flag(False),
        "open_partner": flag(False),
        "tie": words("joint", "play_on"),
        "cut": number(None, 0, 51, None),
        "cut_min": number(1, 1, 26),
        "trick_order": words("play", "reverse", "random"),
        "trick_stack": words("on_top", "underneath"),
        "pile_order": words("left_first", "right_first", "random"),
        "deal_mode": words("packets", "packets_shuffled", "single_shuffled"),
        "double_repeat": words("double", "quadruple", "single"),
        "max_deals": number(200, 1, 1000),
        "early_stop": flag(False),
        "target": number(101, 1, 10_000, None),
        "observe_previous_hand": flag(False),
        # Fewer than 13 cards go with deals that are not in packets, which is then the default.
        "hand_size": number(13, 1, 13),
        **SHORT_DECK,
    },
    "nonesuch": {
        "half": words("ceil", "exact", "floor"),
        "target": number(31, 1, 10_000, None),
        "max_hands": number(100, 1, 1000),
        # Four seats need a multiple of four.
        "ranks": number(10, 2, 10)._replace(accepted=(3, 7, 10, np.int64(7))),
        "suits": number(6, 2, 6)._replace(accepted=(3, 6, np.int64(3))),
    },
    "down_up": {"hook": flag(True), "hook_min_cards": number(1, 1, 17), "trump_rotation": rotation("S H C D NT"), **SHORT_DECK},
    "up_down": {
        "schedule": words("up_down", "up", "up_down_repeat_top", "up_up"),
        "trump_mode": words("rotation", "turnup", "random", "none"),
        "turnup_full_deal": words("none", "dealer_last"),
        "hook": flag(True),
        "hook_min_cards": number(4, 1, 17),
        "trump_rotation": rotation("S H D C NT"),
        **SHORT_DECK,
    },
}

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

ALL = [(variant, name) for variant in VARIANTS for name in CHOICES[variant]]


def resolved(variant: str, seats: int | None = None, **given: Any) -> dict[str, Any]:
    return make_rules(game(variant), seats, given).options


@pytest.mark.parametrize("variant", VARIANTS)
def test_options_and_defaults(variant: str) -> None:
    assert resolved(variant, 4) == {name: choice.default for name, choice in CHOICES[variant].items()}
    assert all(10 < len(option.doc) < 100 and "\n" not in option.doc for option in GAMES[variant].options)
    assert Table(variant).seats == 4


@pytest.mark.parametrize(("variant", "name"), ALL)
def test_allowed_values_are_taken_as_plain_python(variant: str, name: str) -> None:
    for value in CHOICES[variant][name].accepted:
        taken = resolved(variant, 4, **{name: value}, **NEEDS.get((variant, name), {}))[name]
        assert taken == (list(value) if isinstance(value, tuple) else value)
        assert taken is None or type(taken) in (bool, int, str, list)
        if isinstance(taken, list):
            assert {type(word) for word in taken} == {str}


@pytest.mark.parametrize(("variant", "name"), ALL)
def test_other_values_are_refused_with_what_is_allowed(variant: str, name: str) -> None:
    choice = CHOICES[variant][name]
    for value in choice.refused:
        with pytest.raises(RulesError, match=f"^{name} must be ") as refusal:
            resolved(variant, 4, **{name: value}, **NEEDS.get((variant, name), {}))
        assert str(refusal.value).endswith(f", not {value!r}")
        assert all(part in str(refusal.value) for part in choice.named)
    for value in (
        *([None] if name in NEVER_NONE else []),
        0.5,
        "0",
        object(),
        {},
        np.zeros(2),
        np.array(["H"]),
    ):  # of a type that no option has
        with pytest.raises(RulesError, match=f"^{name} must be "):
            resolved(variant, 4, **{name: value}, **NEEDS.get((variant, name), {}))


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


@pytest.mark.parametrize(
    ("variant", "low", "high", "given"),
    [
        ("sniped_whist", 3, 7, {}),
        ("big_ships", 2, 7, {}),
        ("small_ships", 3, 6, {}),
        ("noms", 4, 4, {}),
        ("nonesuch", 3, 4, {}),
        ("down_up", 3, 6, {}),
        ("up_down", 4, 4, {}),
        ("sniped_whist", 2, 7, {"ranks": 8, "hand_size": 1}),
        ("small_ships", 2, 6, {"ranks": 12, "hand_size": 6, "min_bid": 3}),
        ("noms", 2, 4, {"ranks": 10, "hand_size": 9}),
    ],
)
def test_other_numbers_of_seats_are_refused(variant: str, low: int, high: int, given: dict[str, Any]) -> None:
    allowed = f"{low} to {high}" if low < high else str(low)
    for seats in (low - 1, high + 1, 0, "4", True, 4.0):
        with pytest.raises(RulesError, match=rf"{variant} is played with {allowed} seats.*, not {re.escape(repr(seats))}"):
            Table(variant, seats, given)  # type: ignore[arg-type]  # some are of a wrong type
    for seats in (low, high):
        assert Table(variant, seats, given).seats == seats


def test_unknown_variants_are_refused_with_the_list_of_those_there_are() -> None:
    for name, said in (("whist", "; the variants are sniped_whist, .*up_down"), ("small_ship", "; did you mean small_ships")):
        with pytest.raises(RulesError, match=f"there is no variant '{name}'{said}"):
            Table(name)


SHORT: dict[str, Any] = {"deal_mode": "single_shuffled"}


@pytest.mark.parametrize(
    ("variant", "seats", "given", "expected"),
    [
        *(("sniped_whist", seats, {}, {"hand_size": size}) for seats, size in ((3, 17), (5, 10), (6, 8), (7, 7))),
        ("sniped_whist", 5, {"ranks": 7, "suits": 3}, {"hand_size": 4, "trump_rotation": ["H", "C", "D", "NT"]}),
        *(("big_ships", seats, {}, {"start_cards": size}) for seats, size in ((2, 13), (3, 13), (5, 10), (6, 8), (7, 7))),
        ("big_ships", 3, {"ranks": 5, "suits": 2}, {"start_cards": 3, "trump_rotation": ["C", "D", "NT"]}),
        ("down_up", 3, {"suits": 1}, {"trump_rotation": ["C", "NT"]}),
        ("up_down", 4, {"suits": 2}, {"trump_rotation": ["D", "C", "NT"]}),
        ("small_ships", 3, {}, {"hand_size": 17, "min_bid": 12, "misere_above": 14, "misere_value": 14}),
        ("small_ships", 5, {}, {"hand_size": 10, "min_bid": 5, "misere_above": 7, "misere_value": 7}),
        ("small_ships", 6, {}, {"hand_size": 8, "min_bid": 3, "misere_above": 5, "misere_value": 5}),
        ("small_ships", 4, {"hand_size": 3}, {"min_bid": 2, "misere_above": 1, "misere_value": 1}),
        ("small_ships", 4, {"min_bid": 12}, {"misere_above": 11, "misere_value": 10}),
        ("small_ships", 4, {"misere_above": 12}, {"misere_value": 10}),
        ("small_ships", 2, {"ranks": 10, "hand_size": 17, "min_bid": 9}, {"misere_above": 14, "misere_value": 14}),
        ("noms", 4, {"mis_value": 10}, {"min_bid": 10}),
        ("noms", 4, {"ranks": 4}, {"min_bid": 4, "dealer_forced": False, "mis_value": 4, **SHORT}),
        ("noms", 2, {"suits": 2}, {"min_bid": 10, "mis_value": 13, "hand_size": 13, **SHORT}),
        ("noms", 4, {"min_bid": 7}, {"dealer_forced": True, "mis_value": 13}),
        ("noms", 4, {"min_bid": 9}, {"dealer_forced": True}),
        ("noms", 4, {"ranks": 12}, {"hand_size": 12, "min_bid": 10, "mis_value": 12, **SHORT}),
        ("noms", 4, {"ranks": 5, "min_bid": 3}, {"dealer_forced": True, "hand_size": 5, "mis_value": 5}),
        ("noms", 3, {"ranks": 5, "suits": 3}, {"hand_size": 5, "min_bid": 4, **SHORT}),
    ],
)
def test_defaults_that_depend_on_the_table(variant: str, seats: int, given: dict[str, Any], expected: dict[str, Any]) -> None:
    options = resolved(variant, seats, **given)
    assert {name: options[name] for name in expected} == expected
    assert resolved(variant, seats, **given, **dict.fromkeys(expected)) == options, "None asks for the same thing"


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
        ("noms", {"min_bid": 7, "double_repeat": "single"}, "double_repeat", "where"),
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
        ("small_ships", 4, {"misere_above": 5}, "misere_above must be an integer from 6 .* to 13, not 5"),
        ("small_ships", 4, {"min_bid": 9, "misere_above": 7}, "misere_above must be an integer from 8 .* to 13, not 7"),
        ("small_ships", 6, {"min_bid": 9}, "min_bid must be an integer from 1 to 8 with 8 cards, not 9"),
        ("small_ships", 6, {"ranks": 5, "suits": 1}, "a deck of 5 cards is too small for 6 seats"),
        ("noms", 4, {"deal_mode": "packets", "ranks": 12}, "deal_mode must be 'single_shuffled' unless 52 cards .* to 4 seats"),
        ("noms", 4, {"deal_mode": "packets_shuffled", "hand_size": 12}, "deal_mode must be 'single_shuffled' unless"),
        ("noms", 4, {"ranks": 10, "mis_value": 12}, "mis_value must be 10 with 10 cards, not 12"),
        ("noms", 4, {"ranks": 12, "min_bid": 11, "mis_value": 10}, "mis_value must be 12 with 12 cards, not 10"),
        ("noms", 4, {"ranks": 12, "mis_value": 11}, "mis_value must be 12 or 10 with 12 cards, not 11"),
        ("noms", 4, {"ranks": 5, "min_bid": 6}, "min_bid must be an integer from 1 to 5 with 5 cards, not 6"),
        ("sniped_whist", 2, {"ranks": 12}, "hand_size must be given with this deck and 2 seats: an integer from 1 to 17"),
        ("sniped_whist", 5, {"hand_size": 11}, "hand_size must be an integer from 1 to 10 with 52 cards and 5 seats, not 11"),
        ("sniped_whist", 3, {"suits": 3, "trump_rotation": ["H", "S"]}, "rotation names S, .*3 suits; allowed are C, D, H, NT"),
        ("big_ships", 4, {"start_cards": 4, "ranks": 3}, "start_cards must be .* 1 to 3 with 12 cards and 4 seats"),
        ("nonesuch", 4, {"ranks": 9}, "leave 30 basic cards, but with 4 seats their number must be a multiple of 4"),
        ("nonesuch", 3, {"suits": 5}, "leave 26 basic cards, but with 3 .* must be a multiple of 3"),
        ("nonesuch", 4, {"ranks": 2, "suits": 2}, "leave 3 basic cards, but with 4 seats"),
        *(
            (game, 4, {name: 1 << 20_000}, f"^{name} must be .*not something of the type int")
            for game, name in (("small_ships", "misere_above"), ("noms", "mis_value"), ("big_ships", "start_cards"))
        ),
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
    choice = CHOICES[variant][name]
    return given, choice.default, [value for value in choice.accepted if value != choice.default]


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
