"""Domain randomisation over rules (Tobin et al., arXiv 1703.06907), for policies that play under any options.

For each game: every number of seats; every word, flag and None of an option alone; and random mixes of options.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from noms_env.core.state import MAX_ROTATION
from noms_env.variants import Rules, RulesError, Variant, game, make_rules
from noms_env.variants.rulebook import ROTATION_WORDS, Option

from ..agents.table_pool import check_options

BETWEEN_DEALS = frozenset(
    {"accumulate", "cut", "cut_min", "early_stop", "max_deals", "max_hands", "n_hands", "reveal_stock_at_end", "target"}
)
"""Options without effect within a deal: they are not drawn, and not among the features of a policy for any options."""
SHARE = 0.3  # probability that a mix changes an option
FROM, TO = 1, 13  # range of the numbers drawn for an option whose limits depend on the deck
SPAN = 12  # maximum distance of a drawn number from the smallest one of its option
SMALLEST = {"ranks": 5, "suits": 2}  # sizes of the smallest deck
TRIES = 100  # attempts per mix


def draw_rules(variants: Sequence[str], mixes: int, seed: int, held_out: Mapping[str, Sequence[Any]]) -> list[Rules]:
    """Draw the rules that a run plays besides its own, without duplicates: at most `mixes` mixes of options per game.

    0 mixes draw nothing at all. `held_out` are values by option that are never drawn, except as a game's default; RulesError if
    no game has the option, or the value.
    """
    drawn: dict[Rules, None] = {}
    _check_held_out([game(name) for name in variants], held_out)
    for name in variants if mixes else ():
        variant, rng = game(name), np.random.default_rng([seed, game(name).number])
        allowed = {option.name: held_out.get(option.name, ()) for option in variant.options}
        drawn |= dict.fromkeys(rules for rules in _singles(variant, rng) if not is_held_out(rules, allowed))
        enough = len(drawn) + mixes
        for _ in range(TRIES * mixes):
            if len(drawn) == enough:
                break
            rules = draw_mix(variant, None, rng)
            if rules is not None and not is_held_out(rules, allowed):
                drawn[rules] = None
    return list(drawn)


def _check_held_out(games: Sequence[Variant], held_out: Mapping[str, Sequence[Any]]) -> None:
    check_options(games, held_out)
    for name, value in ((name, value) for name, values in held_out.items() for value in values):
        refusals = []
        for option in (option for variant in games for option in variant.options if option.name == name):
            try:
                option.checked(value)
                break
            except RulesError as error:
                refusals.append(error)
        else:
            raise refusals[0]


def _singles(variant: Variant, rng: np.random.Generator) -> Iterator[Rules]:
    """Yield rules for each number of seats and for each word, flag and None, in a mix if the value needs other options."""
    yield from _all_seats(variant)
    for option in variant.options:
        for value in _named_values(option) if option.name not in BETWEEN_DEALS else ():
            alone = _rules(variant, None, {option.name: value})
            mixes = (draw_mix(variant, {option.name: value}, rng) for _ in range(TRIES))
            rules = alone or next((mix for mix in mixes if mix is not None), None)
            if rules is not None:
                yield rules


def _all_seats(variant: Variant) -> list[Rules]:
    low, high = variant.seats
    return [make_rules(variant, seats) for seats in range(low, high + 1)]


def draw_mix(variant: Variant, fixed: Mapping[str, Any] | None, rng: np.random.Generator) -> Rules | None:
    """Draw random values of some options and a random number of seats, with some options fixed; None if invalid together."""
    low, high = variant.seats
    seats = int(rng.integers(low, high + 1))
    changed = [option for option in variant.options if option.name not in BETWEEN_DEALS and rng.random() < SHARE]
    return _rules(variant, seats, {option.name: _draw_value(option, rng) for option in changed} | dict(fixed or {}))


def _rules(variant: Variant, seats: int | None, options: Mapping[str, Any]) -> Rules | None:
    try:
        return make_rules(variant, seats, options)
    except RulesError:
        return None


def _named_values(option: Option) -> list[Any]:
    return [*option.words, *((True, False) if option.flag else ()), *((None,) if option.none else ())]


def _values(option: Option) -> list[Any]:
    """Return all values that may be drawn for an option; for a rotation, enough to have each word at each place."""
    if option.name in BETWEEN_DEALS:
        return []
    if option.rotation:
        return [[word] * MAX_ROTATION for word in ROTATION_WORDS]
    return _named_values(option) + ([] if option.flag or option.words else [*_numbers(option)])


def _numbers(option: Option) -> range:
    """Return the numbers that may be drawn for an option; the rules may still refuse some."""
    low, high = option.numbers or (FROM, TO)
    low = SMALLEST.get(option.name, low)
    return range(low, min(high, low + SPAN) + 1)


def _draw_value(option: Option, rng: np.random.Generator) -> Any:
    if option.flag:
        return bool(rng.integers(2))
    if option.rotation:
        return [str(word) for word in rng.choice(ROTATION_WORDS, int(rng.integers(1, MAX_ROTATION + 1)))]
    if option.words:
        return str(rng.choice(option.words))
    numbers = _numbers(option)
    return int(rng.integers(numbers.start, numbers.stop))


def is_held_out(rules: Rules, held_out: Mapping[str, Sequence[Any]]) -> bool:
    """Return whether an option has a held-out value that is not its default; all options of `held_out` must be of the game."""
    usual = make_rules(rules.variant, rules.seats).options
    return any(rules.options[name] in values and rules.options[name] != usual[name] for name, values in held_out.items())


def widest_rules(variants: Sequence[str]) -> list[Rules]:
    """Return rules that together have the features of all rules that can be drawn, independent of any seed.

    They have each number of seats, and each value of an option: alone, or with the first value of another option it needs.
    """
    rule_sets: dict[Rules | None, None] = {}
    for variant in map(game, variants):
        rule_sets |= dict.fromkeys(_all_seats(variant))
        values = [{option.name: value} for option in variant.options for value in _values(option)]
        for value in values:
            pairs = (_rules(variant, None, other | value) for other in ({}, *values))
            rule_sets[next((rules for rules in pairs if rules is not None), None)] = None
    return [rules for rules in rule_sets if rules is not None]
