"""The opponents that sit at some of the tables, past policies and players by name, so that the policy does not forget them.

They come after a share of the budget (`OpponentsConfig.start`), at a share of the tables, on one to all but one of the seats
(on all but one with `OpponentsConfig.alone`), for a whole deal. In an iteration each worker has one opponent, so that its
forward passes are not too small.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from noms_env.core.state import MAX_SEATS


def draw_opponent(names: Sequence[str], rng: np.random.Generator) -> str | None:
    """One of the names; None if there are none."""
    return names[int(rng.integers(len(names)))] if names else None


def draw_seating(seats: np.ndarray, share: float, rng: np.random.Generator, alone: bool = False) -> np.ndarray:
    """Who sits where in the next deals.

    Args:
        seats: int64, shape (n,): seats of each table.
        share: of the tables that have the opponent.
        rng: of the draws.
        alone: there the opponent has all seats but one.

    Returns:
        int64, shape (n, MAX_SEATS): 0 for the learner, who has at least one seat everywhere, 1 for the opponent.
    """
    order = np.argsort(rng.random((len(seats), MAX_SEATS)) + (np.arange(MAX_SEATS) >= seats[:, None]), axis=1)
    place = np.argsort(order, axis=1)  # of each seat in a random order of the table's seats
    taken = np.where(alone, seats - 1, rng.integers(1, np.maximum(seats, 2)))
    chosen = rng.random(len(seats)) < share
    return np.where(chosen[:, None] & (place < taken[:, None]), 1, 0)


def thinned(ages: Sequence[int], most: int) -> list[int]:
    """Which of some past policies to keep, so that their ages grow about geometrically.

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
