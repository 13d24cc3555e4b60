"""The run `generalist` of an algorithm: one policy for all games, trained under random rules.

About half of the rule sets have the usual options of a game; the others have random values for some. Seats are random.
The values of `new_rules.HELD_OUT` never occur.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from noms_env import CanonicalSuits, FeatureLayout, TableGroup
from noms_env.observation.features import differing_options
from noms_env.variants import GAMES as VARIANTS
from noms_env.variants import Rules, given_options, make_rules

from ..learn.draw_rules import BETWEEN_DEALS, draw_mix, is_held_out, widest_rules
from .new_rules import HELD_OUT
from .protocol import GAMES, GENERALIST, rules_of_game

OF_A_GAME = 4
"""Rule sets of each game in a batch, if it has enough tables."""
USUAL = 0.5
"""Probability that a rule set has the usual options."""


def draw_groups(tables: int, rng: np.random.Generator) -> list[TableGroup]:
    """Draw the rules of the tables, with equal shares for all games."""
    names = rng.permutation([*GAMES]).tolist()
    rule_sets = [_draw_rules(names[number % len(names)], rng) for number in range(min(tables, OF_A_GAME * len(names)))]
    return [TableGroup(rules.variant.name, rules.seats, given_options(rules)) for rules in rule_sets]


def _draw_rules(name: str, rng: np.random.Generator) -> Rules:
    variant = VARIANTS[name]
    if rng.random() < USUAL:
        low, high = variant.seats
        return make_rules(variant, int(rng.integers(low, high + 1)))
    held_out = {option.name: HELD_OUT.get(option.name, ()) for option in variant.options}
    while True:
        rules = draw_mix(variant, None, rng)
        if rules is not None and not is_held_out(rules, held_out):
            return rules


def rules_of_run(game: str) -> tuple[list[Rules], list[Rules]]:
    """Return the usual rules of a run, and for `GENERALIST` further ones that together cover all random rules.

    ValueError if the benchmark has no such game.
    """
    if game != GENERALIST:
        return [rules_of_game(game)], []
    return [rules_of_game(name) for name in GAMES], widest_rules([*GAMES])


@cache
def layout_of(game: str, options: tuple[str, ...] | None = None) -> FeatureLayout:
    """Return the feature layout for single deals of a game, or of any rules for `GENERALIST`.

    `options` are those among the features when the policy was trained; None for the current ones.
    """
    own, drawn = rules_of_run(game)
    seen = [name for name in differing_options(own + drawn) if name not in BETWEEN_DEALS]
    return FeatureLayout(own + drawn, "deal", seen if options is None else options)


suits_of = cache(CanonicalSuits)
"""Returns the canonical order of the suits in the features of a layout."""
