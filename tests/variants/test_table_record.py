"""The places of options and variants in records and observations: fixed for ever, and refused with a sentence where full."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from noms_env.core.state import MAX_VARIANTS, NUM_CHOICES
from noms_env.variants import GAMES, Option, Variant, make_rules
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
"""What bytes 0 to 57 of `choices` hold. Policies look for them there: options that come later get bytes behind these."""


def test_no_option_ever_moves() -> None:
    assert choice_names()[: len(BYTES)] == BYTES
    assert len(choice_names()) == NUM_CHOICES
    assert {name for name, option in OPTIONS.items() if option.byte is None} == {
        "hand_size",
        "reveal_stock_at_end",
        "observe_previous_hand",
    }


def test_an_option_that_came_later_shows_only_where_it_is_in_force() -> None:
    """Observations of tables without it stayed as they were, so policies answer there as before."""
    tables = [("small_ships", {}), ("noms", {"min_bid": 7}), ("noms", {"min_bid": 7, "forced_bid_closes": True})]
    place = choice_names().index("forced_bid_closes")
    assert [choice_bytes(make_rules(GAMES[name], 4, given))[place] for name, given in tables] == [1, 0, 2]


def test_an_option_gets_its_field_by_being_declared() -> None:
    assert {*OPTION_FIELDS, "hand_size", "trump_rotation"} == set(OPTIONS)
    assert all(TABLE[name] == np.int16 for name in OPTION_FIELDS)


def bonus(**changes: Any) -> Option:
    """A made-up option."""
    usual: dict[str, Any] = {
        "name": "zero_bonus",
        "default": 0,
        "doc": "points for a call of 0",
        "numbers": (0, 50),
        "byte": 58,
    }
    usual.update(changes)
    return Option(**usual)


def test_an_option_more_is_declared_with_a_byte_that_is_free() -> None:
    found = collect_options([*GAMES.values(), replace(DOWN_UP, options=(*DOWN_UP.options, bonus()))])
    assert found == OPTIONS | {"zero_bonus": bonus()}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"byte": 13}, "the option zero_bonus of down_up has byte 13, which bonus has; the next free one is 58"),
        ({"rotation": True, "byte": 40}, "zero_bonus of down_up has byte 40, which pile_order has"),
        (
            {"name": "tie"},
            "declares the option tie with byte 58, another variant with byte 7: an option must have the same byte",
        ),
        ({"name": "dealer"}, "down_up cannot call an option dealer: the record has another field of that name"),
    ],
)
def test_an_option_that_takes_the_place_of_another_is_refused(changes: dict[str, Any], sentence: str) -> None:
    game = replace(DOWN_UP, options=(*DOWN_UP.options, bonus(**changes)))
    with pytest.raises(ValueError, match=sentence):
        collect_options([*GAMES.values(), game])


@pytest.mark.parametrize("changes", [{"byte": NUM_CHOICES}, {"byte": -1}, {"byte": NUM_CHOICES - 9, "rotation": True}])
def test_an_option_is_refused_when_the_observation_is_full(changes: dict[str, Any]) -> None:
    last = bonus(byte=NUM_CHOICES - 1)
    with pytest.raises(ValueError, match=r"no room for the option zero_bonus at byte .* which has 96 bytes, 0 to 95; it takes"):
        bonus(**changes)
    games = [replace(DOWN_UP, options=(*DOWN_UP.options, last, bonus(name="more", byte=NUM_CHOICES - 1)))]
    with pytest.raises(ValueError, match="more of down_up has byte 95, which zero_bonus has; all 96 are taken"):
        collect_options(games)


def test_an_option_is_refused_when_its_numbers_do_not_fit_the_record() -> None:
    with pytest.raises(ValueError, match="the option zero_bonus allows 32768, but a record holds numbers up to 32767"):
        bonus(numbers=(0, 2**15))


def test_a_late_option_is_refused_when_0_in_a_record_would_be_two_values() -> None:
    assert bonus(late=True).late
    assert bonus(late=True, default=3, numbers=(1, 50)).late
    for changes in ({"default": 3}, {"default": True, "numbers": None, "flag": True}, {"default": None, "none": True}):
        with pytest.raises(
            ValueError, match="zero_bonus is late, so 0 in a record must be its default, but 0 is another value"
        ):
            bonus(late=True, **changes)


def test_a_variant_needs_a_number_for_which_there_is_room() -> None:
    last: Variant = replace(DOWN_UP, name="ours", number=MAX_VARIANTS - 1)
    assert last.number == 15
    for number in (-1, MAX_VARIANTS):
        with pytest.raises(ValueError, match=rf"ours has the number {number}, but .* room for 16 variants, 0 to 15"):
            replace(DOWN_UP, name="ours", number=number)
