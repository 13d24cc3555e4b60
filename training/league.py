"""The league: past selves and other players that sit at some of the tables, so that the policy does not forget them.

Only the learner's own decisions are learnt from. Opponents come after a share of the budget (`LeagueConfig.start`), at a
share of the tables; each such table has one opponent, on one to all but one of its seats, for a whole deal.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from noms_env.state import MAX_SEATS

OPPONENTS_AT_ONCE = 2
"""Opponents in one iteration: each needs forward passes of its own, which are slow for few tables."""


def draw_opponents(pool: Sequence[str], rng: np.random.Generator) -> list[str]:
    """Some members of the pool, without repetition, for one iteration."""
    count = min(OPPONENTS_AT_ONCE, len(pool))
    return [pool[place] for place in rng.choice(len(pool), count, replace=False)] if count else []


def draw_seating(seats: np.ndarray, opponents: int, share: float, rng: np.random.Generator) -> np.ndarray:
    """Who sits where in the next deals.

    Args:
        seats: int64, shape (n,): seats of each table.
        opponents: how many there are; they are numbered from 1.
        share: of the tables that have opponents.
        rng: of the draws.

    Returns:
        int64, shape (n, MAX_SEATS): 0 for the learner, who has at least one seat everywhere.
    """
    seating = np.zeros((len(seats), MAX_SEATS), np.int64)
    if opponents == 0:
        return seating
    order = np.argsort(rng.random((len(seats), MAX_SEATS)) + (np.arange(MAX_SEATS) >= seats[:, None]), axis=1)
    place = np.argsort(order, axis=1)  # of each seat in a random order of the table's seats
    taken = rng.integers(1, np.maximum(seats, 2))
    who = rng.integers(1, opponents + 1, len(seats))
    chosen = rng.random(len(seats)) < share
    return np.where(chosen[:, None] & (place < taken[:, None]), who[:, None], seating)


def thinned(ages: Sequence[int], most: int) -> list[int]:
    """Which of some past selves to keep, so that their ages grow about geometrically.

    Args:
        ages: how long ago each was the policy, descending (the oldest first).
        most: how many to keep.

    Returns:
        Their places, ascending. The oldest and the youngest stay as long as possible.
    """
    kept = list(range(len(ages)))
    while len(kept) > most:
        if len(kept) <= 2:
            kept = kept[-most:] if most else []
            break
        spread = [(ages[kept[i - 1]] + 1) / (ages[kept[i + 1]] + 1) for i in range(1, len(kept) - 1)]
        kept.pop(1 + int(np.argmin(spread)))
    return kept
