"""Parameters of the games in OpenSpiel: from options of the rules, and back to the deals that are meant."""

from __future__ import annotations

from typing import Any

from noms_env.interop.open_spiel.deal_setup import DealSetup
from noms_env.variants import Option, Rules, Variant

BY_RULE = -1
"""The value of a parameter whose default is worked out."""
REWARDS = ("points", "relative")
STROKE = "/"

MATCH_OPTIONS = (
    *("n_hands", "accumulate", "target", "max_hands", "max_deals", "double_repeat", "observe_previous_hand"),
    *("schedule", "direction", "repeat_one", "reveal_stock_at_end"),
    *("deal_mode", "cut", "cut_min", "trick_order", "trick_stack", "pile_order"),
)
"""Options that say how one deal follows from another or what is shown after it; `tie` of noms is another."""


def game_name(variant: str) -> str:
    """The name of a variant in OpenSpiel."""
    return f"noms_{variant}"


def options_of(variant: Variant) -> list[Option]:
    """The options of a variant that are parameters of its game."""
    return [option for option in variant.options if option.name not in MATCH_OPTIONS and "play_on" not in option.words]


def default_parameters(variant: Variant) -> dict[str, Any]:
    """The parameters of a variant's game with their defaults."""
    parameters: dict[str, Any] = {"seats": BY_RULE, "dealer": BY_RULE, "reward": REWARDS[0]}
    if variant.schedule is not None:
        parameters |= {"hand_size": BY_RULE, "deal": BY_RULE}
    for option in options_of(variant):
        parameters[option.name] = _parameter(option, option.default)
    return parameters


def parameters_of(rules: Rules, **others: Any) -> dict[str, Any]:
    """The parameters of the game with given rules, as `pyspiel.load_game` takes them.

    Args:
        rules: of a table.
        **others: parameters that are not options.
    """
    return {
        "seats": rules.seats,
        **{option.name: _parameter(option, rules.options[option.name]) for option in options_of(rules.variant)},
        **others,
    }


def _parameter(option: Option, value: Any) -> Any:
    """The value of an option as a parameter: OpenSpiel knows no lists, no None, and one type for each parameter."""
    if option.rotation:
        return STROKE.join(value or ())
    if value is None:
        return "" if option.words else BY_RULE
    return int(value) if option.flag and option.default is None else value


def _option_value(option: Option, parameter: Any) -> Any:
    """The value of an option from a parameter; None for the default."""
    if option.rotation:
        return parameter.split(STROKE) if parameter else None
    if parameter in (BY_RULE, "") and option.default is None and not isinstance(parameter, bool):
        return None
    return bool(parameter) if option.flag and parameter in (0, 1) else parameter


def setup_of(variant: Variant, parameters: dict[str, Any]) -> DealSetup:
    """The deals of a game.

    Raises:
        ValueError: a parameter is not allowed.
    """
    values = {option.name: _option_value(option, parameters[option.name]) for option in options_of(variant)}
    places = {name: parameters.get(name, BY_RULE) for name in ("seats", "dealer", "hand_size", "deal")}
    if "hand_size" in values:
        del places["hand_size"]
    return DealSetup(
        variant.name,
        options={name: value for name, value in values.items() if value is not None},
        **{name: None if place == BY_RULE else place for name, place in places.items()},
    )
