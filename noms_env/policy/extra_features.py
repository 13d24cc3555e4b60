"""An observation with what follows from it behind it: the card features, and the rule-based prior.

    OBSERVATION_SIZE bytes of the observation | CARD_FEATURES_SIZE bytes (`card_features`) | a byte for each action, 1 for the
    one that `thumb` would take (`rule_based_prior`)

What a network does not look at is never written.
"""

from __future__ import annotations

import numpy as np

from noms_env._jit import jit
from noms_env.core.actions import NUM_ACTIONS
from noms_env.observation.layout import OBSERVATION_SIZE
from noms_env.policy.card_features import CARD_FEATURES_SIZE, write_card_features
from noms_env.policy.rule_based_prior import prior_action

PRIOR_START = OBSERVATION_SIZE + CARD_FEATURES_SIZE
EXTENDED_SIZE = PRIOR_START + NUM_ACTIONS
NO_PRIOR = -1


def size_with(card_features: bool, rule_based_prior: bool) -> int:
    """How many bytes of an extended observation a network looks at."""
    return int(EXTENDED_SIZE if rule_based_prior else PRIOR_START if card_features else OBSERVATION_SIZE)


def new_extended() -> np.ndarray:
    """Room for an extended observation, uint8, shape (EXTENDED_SIZE,); the parts that are not written stay 0."""
    return np.zeros(EXTENDED_SIZE, np.uint8)


@jit
def extend(seen, mask, with_cards, number, tables, workspaces, extended):
    """Write an observation with what is asked for behind it.

    Args:
        seen: the observation, uint8, shape (OBSERVATION_SIZE,).
        mask: the legal actions, int8, shape (NUM_ACTIONS,).
        with_cards: whether the card features are written.
        number: of the rules (`rules_lookup.number_of_rules`); not looked at without a prior.
        tables: `rules_lookup.rules_tables`, of which the one of these rules is overwritten but for its rules. The prior is
            written where an action is legal and the rules are known; with None there is none (and `thumb` is not compiled).
        workspaces: `heuristics.new_workspaces`, or None without a prior.
        extended: `new_extended`; is overwritten.

    Returns:
        The action of the prior, or `NO_PRIOR`.
    """
    for byte in range(OBSERVATION_SIZE):
        extended[byte] = seen[byte]
    if with_cards:
        write_card_features(seen, extended[OBSERVATION_SIZE:PRIOR_START])
    action = np.int64(NO_PRIOR)
    if tables is not None:
        for byte in range(PRIOR_START, EXTENDED_SIZE):
            extended[byte] = 0
        if number < len(tables) and mask.any():
            action = np.int64(prior_action(seen, mask, tables[number], workspaces[0]))
            extended[PRIOR_START + action] = 1
    return action
