"""Rules drawn at random, so that a policy learns to play under any options.

This is domain randomisation (Tobin et al., arXiv 1703.06907).

For each game: every number of seats; every word, flag and None of an option alone; and mixes of options.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from noms_env.core.state import MAX_ROTATION
from noms_env.variants import Rules, RulesError, Variant, game, make_rules
from noms_env.variants.rulebook import ROTATION_WORDS, Option

BETWEEN_DEALS = frozenset(
    {"accumulate", "cut", "cut_min", "early_stop", "max_deals", "max_hands", "n_hands", "reveal_stock_at_end", "target"}
)
"""Options that change nothing within a deal; they are not drawn, and a policy for any options does not see them."""
SHARE = 0.3
"""Chance that a mix changes an option."""
FROM, TO = 1, 13
"""Numbers that are drawn for an option that depends on the deck."""
SPAN = 12
"""The numbers that are drawn of an option lie so close to its least."""
SMALLEST = {"ranks": 5, "suits": 2}
"""The smallest decks that are drawn."""
TRIES = 100
"""For each mix."""


def draw_rules(variants: Sequence[str], mixes: int, seed: int, held_out: Mapping[str, Sequence[Any]]) -> list[Rules]:
    """The rules that a run draws besides its own, none twice.

    Args:
        variants: names of games.
        mixes: so many mixes of options for each game, or as many as there are; nothing is drawn where it is 0.
        seed: of the draws.
        held_out: values by option that are never drawn, unless they are usual in a game.
    """
    drawn: dict[Rules, None] = {}
    for name in variants if mixes else ():
        variant, rng = game(name), np.random.default_rng([seed, game(name).number])
        allowed = {option.name: held_out.get(option.name, ()) for option in variant.options}
        drawn |= dict.fromkeys(rules for rules in _singles(variant, rng) if not is_held_out(rules, allowed))
        wanted = len(drawn) + mixes
        for _ in range(TRIES * mixes):
            if len(drawn) == wanted:
                break
            rules = draw_mix(variant, None, rng)
            if rules is not None and not is_held_out(rules, allowed):
                drawn[rules] = None
    return list(drawn)


def _singles(variant: Variant, rng: np.random.Generator) -> Iterator[Rules]:
    """Each number of seats; each word, flag and None of an option alone, or in a mix where it needs others."""
    low, high = variant.seats
    for seats in range(low, high + 1):
        yield make_rules(variant, seats)
    for option in variant.options:
        for value in _named_values(option) if option.name not in BETWEEN_DEALS else ():
            alone = _rules(variant, None, {option.name: value})
            mixes = (draw_mix(variant, {option.name: value}, rng) for _ in range(TRIES))
            rules = alone or next((mix for mix in mixes if mix is not None), None)
            if rules is not None:
                yield rules


def draw_mix(variant: Variant, fixed: Mapping[str, Any] | None, rng: np.random.Generator) -> Rules | None:
    """Some options at random values, and others at fixed ones, at a random number of seats; None if they do not go together."""
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
    """The words, flags and None that an option allows."""
    return [*option.words, *((True, False) if option.flag else ()), *((None,) if option.none else ())]


def _values(option: Option) -> list[Any]:
    """All values that may be drawn for an option; of the rotations some that have each word at each place."""
    if option.name in BETWEEN_DEALS:
        return []
    if option.rotation:
        return [[word] * MAX_ROTATION for word in ROTATION_WORDS]
    return _named_values(option) + ([] if option.flag or option.words else [*_numbers(option)])


def _numbers(option: Option) -> range:
    """The numbers that may be drawn for an option; which of them its table allows is another matter."""
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
    """Whether an option has a value that is held out, and is not usual; each option of `held_out` must be one of the game."""
    usual = make_rules(rules.variant, rules.seats).options
    return any(rules.options[name] in values and rules.options[name] != usual[name] for name, values in held_out.items())


def widest_rules(variants: Sequence[str]) -> list[Rules]:
    """Rules that together have all features of any that are drawn: each number of seats, and each value of an option.

    A value stands alone, or with the first of another option that it needs. So they follow from the games, and not from a draw.
    """
    rule_sets: dict[Rules | None, None] = {}
    for variant in map(game, variants):
        low, high = variant.seats
        rule_sets |= {make_rules(variant, seats): None for seats in range(low, high + 1)}
        values = [{option.name: value} for option in variant.options for value in _values(option)]
        for value in values:
            pairs = (_rules(variant, None, other | value) for other in ({}, *values))
            rule_sets[next((rules for rules in pairs if rules is not None), None)] = None
    return [rules for rules in rule_sets if rules is not None]
