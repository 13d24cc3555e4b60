"""An observation with what follows from it behind it: the counts, and the hint.

    OBSERVATION_SIZE bytes of the observation | COUNTS_SIZE bytes (`counts`) | a byte for each action, 1 for the hint (`hint`)

A network that sees none of what stands behind never has it written.
"""

from __future__ import annotations

import numpy as np

from noms_env._jit import jit
from noms_env.core.actions import NUM_ACTIONS
from noms_env.observation.layout import OBSERVATION_SIZE
from noms_env.policy.card_features import COUNTS_SIZE, write_counts
from noms_env.policy.rule_based_prior import hint_of

HINT_START = OBSERVATION_SIZE + COUNTS_SIZE
EXTENDED_SIZE = HINT_START + NUM_ACTIONS
NO_HINT = -1


def size_with(counts: bool, hints: bool) -> int:
    """How many bytes of an extended observation a network looks at."""
    return int(EXTENDED_SIZE if hints else HINT_START if counts else OBSERVATION_SIZE)


def new_extended() -> np.ndarray:
    """Room for one, uint8, shape (EXTENDED_SIZE,), whose parts that are not written are 0."""
    return np.zeros(EXTENDED_SIZE, np.uint8)


@jit
def extend(seen, mask, counts, kind, tables, workspaces, extended):
    """Write an observation with what is asked for behind it.

    Args:
        seen: the observation, uint8, shape (OBSERVATION_SIZE,).
        mask: the legal actions, int8, shape (NUM_ACTIONS,).
        counts: whether the counts are written.
        kind: the number of the rules (`which_rules.number_of_rules`); not looked at without hints.
        tables: `which_rules.rules_tables`, of which that of this kind is overwritten but for its rules. The hint is written
            where an action is legal and the rules are known; with None there is none (and `thumb` is not compiled).
        workspaces: `heuristics.new_workspaces`, or None without hints.
        extended: `new_extended`; what was written before is written over.

    Returns:
        The action that is hinted at, or `NO_HINT`.
    """
    for byte in range(OBSERVATION_SIZE):
        extended[byte] = seen[byte]
    if counts:
        write_counts(seen, extended[OBSERVATION_SIZE:HINT_START])
    hinted = np.int64(NO_HINT)
    if tables is not None:
        for byte in range(HINT_START, EXTENDED_SIZE):
            extended[byte] = 0
        if kind < len(tables) and mask.any():
            hinted = np.int64(hint_of(seen, mask, tables[kind], workspaces[0]))
            extended[HINT_START + hinted] = 1
    return hinted
