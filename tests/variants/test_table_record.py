"""Options and variants have fixed bytes in records and observations, and are refused if none is free."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from noms_env.core.state import MAX_VARIANTS, NUM_CHOICES
from noms_env.variants import GAMES, Option, make_rules
from noms_env.variants.table_record import OPTION_FIELDS, OPTIONS, TABLE, choice_bytes, choice_names, collect_options

DOWN_UP = GAMES["down_up"]

NAMES = """
    ranks suits trump_mode turnup_full_deal n_hands scoring snip_penalty tie accumulate objective start_cards hook
    hook_min_cards
    bonus repeat_one direction schedule min_bid target misere_value misere_above misere_trump misere_nominates misere_penalty
    misere_opponents_score forced_bid_numeric_only forced_bid_closes first_trick_restriction stock_nomination indication
    dealer_forced unbid_slam_loses mis_value first_lead implicit_announcements early_stop cut cut_min trick_order trick_stack
    pile_order deal_mode double_repeat max_deals max_hands half
"""
BYTES = [*NAMES.split(), *(f"trump_rotation[{place}]" for place in range(10)), "keep_mis_a_vis", "open_partner"]
"""Bytes 0 to 57 of `choices`. Policies read them there, so later options get later bytes."""


def test_an_option_never_changes_its_byte() -> None:
    assert choice_names()[: len(BYTES)] == BYTES
    assert len(choice_names()) == NUM_CHOICES
    without_byte = {name for name, option in OPTIONS.items() if option.byte is None}
    assert without_byte == {"hand_size", "reveal_stock_at_end", "observe_previous_hand"}


def test_a_later_option_is_visible_only_if_it_has_an_effect() -> None:
    """Observations without it, and so the answers of policies, do not change."""
    tables = [("small_ships", {}), ("noms", {"min_bid": 7}), ("noms", {"min_bid": 7, "forced_bid_closes": True})]
    place = choice_names().index("forced_bid_closes")
    assert [choice_bytes(make_rules(GAMES[name], 4, options))[place] for name, options in tables] == [1, 0, 2]


def test_each_option_has_a_field() -> None:
    assert {*OPTION_FIELDS, "hand_size", "trump_rotation"} == set(OPTIONS)
    assert all(TABLE[name] == np.int16 for name in OPTION_FIELDS)


def bonus(**changes: Any) -> Option:
    """Return a made-up option."""
    fields: dict[str, Any] = {"name": "zero_bonus", "default": 0, "doc": "points for 0", "numbers": (0, 50), "byte": 58}
    return Option(**{**fields, **changes})


def collect_with(*options: Option) -> dict[str, Option]:
    """Collect the options of all games and of down_up with further options."""
    return collect_options([*GAMES.values(), replace(DOWN_UP, options=(*DOWN_UP.options, *options))])


def test_an_option_with_a_free_byte_is_collected() -> None:
    assert collect_with(bonus()) == OPTIONS | {"zero_bonus": bonus()}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"byte": 13}, "zero_bonus of down_up has byte 13, which bonus has; .* 58"),
        ({"rotation": True, "byte": 40}, "zero_bonus of down_up has byte 40, which pile_order has"),
        ({"name": "tie"}, "tie with byte 58, .* byte 7"),
        ({"name": "dealer"}, "down_up cannot .* dealer"),
    ],
)
def test_an_option_with_the_byte_or_name_of_another_is_refused(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        collect_with(bonus(**changes))


@pytest.mark.parametrize("changes", [{"byte": NUM_CHOICES}, {"byte": -1}, {"byte": NUM_CHOICES - 9, "rotation": True}])
def test_an_option_outside_of_the_observation_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"zero_bonus at byte .* 96 bytes, 0 to 95"):
        bonus(**changes)


def test_an_option_is_refused_if_all_bytes_are_taken() -> None:
    last = NUM_CHOICES - 1
    games = [replace(DOWN_UP, options=(*DOWN_UP.options, bonus(byte=last), bonus(name="more", byte=last)))]
    with pytest.raises(ValueError, match="more of down_up has byte 95, which zero_bonus has; all 96 are taken"):
        collect_options(games)


def test_an_option_is_refused_if_the_record_cannot_hold_its_numbers() -> None:
    with pytest.raises(ValueError, match=r"zero_bonus allows 32768, .* 32767"):
        bonus(numbers=(0, 2**15))


def test_a_late_option_is_refused_if_0_is_a_value_but_not_the_default() -> None:
    assert bonus(late=True).late
    assert bonus(late=True, default=3, numbers=(1, 50)).late
    for changes in ({"default": 3}, {"default": True, "numbers": None, "flag": True}, {"default": None, "none": True}):
        with pytest.raises(ValueError, match="zero_bonus is late, so 0 in a record must be its default"):
            bonus(late=True, **changes)


def test_a_variant_number_out_of_range_is_refused() -> None:
    assert replace(DOWN_UP, name="ours", number=MAX_VARIANTS - 1).number == 15
    for number in (-1, MAX_VARIANTS):
        with pytest.raises(ValueError, match=rf"ours has the number {number}, .* 0 to 15"):
            replace(DOWN_UP, name="ours", number=number)
