"""Lookup of the rules that an observation shows, among those of a policy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from noms_env._jit import jit_inline
from noms_env.core.state import MAX_TRICKS, MAX_VARIANTS, NUM_CHOICES
from noms_env.observation.features import hand_sizes
from noms_env.observation.layout import START
from noms_env.variants import Rules
from noms_env.variants.table_record import choice_bytes

VARIANT, CHOICES, HAND_SIZE = START["variant"], START["choices"], START["numbers"]
SEATS = HAND_SIZE + 6
SIZES = NUM_CHOICES + 2
RULES_BYTES = SIZES + MAX_TRICKS + 1


def rules_rows(rule_sets: Sequence[Rules]) -> np.ndarray:
    """Return the bytes in which an observation shows some rules, uint8, shape (rule_sets, RULES_BYTES).

    A row: the options as in an observation, the number of seats, the number of the variant, and 1 for each possible hand size.
    """
    rows = np.zeros((len(rule_sets), RULES_BYTES), np.uint8)
    for row, rules in zip(rows, rule_sets, strict=True):
        row[:NUM_CHOICES] = choice_bytes(rules)
        row[NUM_CHOICES:SIZES] = rules.seats, rules.variant.number
        row[[SIZES + size for size in hand_sizes(rules)]] = 1
    return rows


def shows(rules: Rules, observation: np.ndarray) -> np.ndarray:
    """Return whether observations, uint8, shape (n, OBSERVATION_SIZE), are of tables with some rules: bool, shape (n,)."""
    marks = np.zeros(MAX_VARIANTS, np.uint8)
    marks[rules.variant.number] = 1
    is_game = (observation[:, VARIANT : VARIANT + MAX_VARIANTS] == marks).all(axis=1)
    has_options = (observation[:, CHOICES : CHOICES + NUM_CHOICES] == choice_bytes(rules)).all(axis=1)
    return np.asarray(is_game & has_options & (observation[:, SEATS] == rules.seats))


@jit_inline
def number_of_rules(observation, rules):
    """Return the index in `rules` (`rules_rows`) of those that an observation shows, or `len(rules)` if there are none."""
    size = np.int64(observation[HAND_SIZE])
    for number in range(len(rules)):
        difference = observation[SEATS] ^ rules[number, NUM_CHOICES]
        for place in range(NUM_CHOICES):
            difference |= observation[CHOICES + place] ^ rules[number, place]
        is_dealt = size <= MAX_TRICKS and rules[number, SIZES + size] != 0
        if difference == 0 and is_dealt and observation[VARIANT + np.int64(rules[number, NUM_CHOICES + 1])] != 0:
            return number
    return len(rules)
