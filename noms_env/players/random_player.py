"""The player that takes every legal action with the same probability."""

from __future__ import annotations

import numpy as np


class RandomPlayer:
    """Uniform among the legal actions."""

    def act(self, observation: np.ndarray, mask: np.ndarray, rng: np.random.Generator) -> int:
        """A legal action, uniformly; the observation is not looked at."""
        legal = np.flatnonzero(mask)
        return int(legal[rng.integers(len(legal))])
