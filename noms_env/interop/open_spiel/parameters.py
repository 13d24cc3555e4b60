"""Conversion between a variant's options, parameters of OpenSpiel games and deal setups."""

from __future__ import annotations

from typing import Any

from noms_env.micro.deal_setup import DealSetup
from noms_env.variants import Option, Rules, Variant

DEFAULT = -1
"""The value of a parameter whose default depends on the rules."""
REWARDS = ("points", "relative")
SEPARATOR = "/"

MATCH_OPTIONS = (
    *("n_hands", "accumulate", "target", "max_hands", "max_deals", "double_repeat", "observe_previous_hand"),
    *("schedule", "direction", "repeat_one", "reveal_stock_at_end"),
    *("deal_mode", "cut", "cut_min", "trick_order", "trick_stack", "pile_order"),
)
"""Options with no effect within a deal; a `tie` that may be `play_on` has none either."""


def game_name(variant: str) -> str:
    """Return the name of a variant in OpenSpiel."""
    return f"noms_{variant}"


def options_of(variant: Variant) -> list[Option]:
    """Return the options of a variant that are parameters of its game."""
    return [option for option in variant.options if option.name not in MATCH_OPTIONS and "play_on" not in option.words]


def default_parameters(variant: Variant) -> dict[str, Any]:
    """Return the parameters of a variant's game with their defaults."""
    parameters: dict[str, Any] = {"seats": DEFAULT, "dealer": DEFAULT, "reward": REWARDS[0]}
    if variant.schedule is not None:
        parameters |= {"hand_size": DEFAULT, "deal": DEFAULT}
    return parameters | {option.name: _parameter(option, option.default) for option in options_of(variant)}


def parameters_of(rules: Rules, **others: Any) -> dict[str, Any]:
    """Return the parameters of the game with given rules, for `pyspiel.load_game`.

    Args:
        rules: of a table.
        **others: parameters that are not options, such as `dealer`.
    """
    options = {option.name: _parameter(option, rules.options[option.name]) for option in options_of(rules.variant)}
    return {"seats": rules.seats, **options, **others}


def _parameter(option: Option, value: Any) -> Any:
    """Convert a value of an option to a parameter: OpenSpiel has no lists, no None, and one type per parameter."""
    if option.rotation:
        return SEPARATOR.join(value or ())
    if value is None:
        return "" if option.words else DEFAULT
    return int(value) if option.flag and option.default is None else value


def _option_value(option: Option, parameter: Any) -> Any:
    """Convert a parameter to a value of an option; None for the default."""
    if option.rotation:
        return parameter.split(SEPARATOR) if parameter else None
    if parameter in (DEFAULT, "") and option.default is None and not isinstance(parameter, bool):
        return None
    return bool(parameter) if option.flag and parameter in (0, 1) else parameter


def setup_of(variant: Variant, parameters: dict[str, Any]) -> DealSetup:
    """Return the deal setup of a game.

    Raises:
        ValueError: a parameter is not allowed.
    """
    values = {option.name: _option_value(option, parameters[option.name]) for option in options_of(variant)}
    places = {name: parameters.get(name, DEFAULT) for name in ("seats", "dealer", "hand_size", "deal")}
    if "hand_size" in values:
        del places["hand_size"]
    return DealSetup(
        variant.name,
        options={name: value for name, value in values.items() if value is not None},
        **{name: None if place == DEFAULT else place for name, place in places.items()},
    )
