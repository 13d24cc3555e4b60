"""The scale of the rewards."""

from __future__ import annotations

import numpy as np

SCALE_MEMORY = 0.99
"""Of the running mean square, for each iteration."""
LARGEST_REWARD = 20.0
"""In units of the scale; larger ones are cut. Few are: a mean of cut rewards is not the mean."""


class RewardNorm:
    """Root mean square of the rewards under each of the rules, over the iterations up to now."""

    def __init__(self, rule_sets: int) -> None:
        self.mean_square = np.zeros(rule_sets)
        self.weight = np.zeros(rule_sets)

    def update(self, sums: np.ndarray, counts: np.ndarray) -> None:
        """Add an iteration.

        Args:
            sums: float64, shape (rule_sets,): of squared rewards.
            counts: float64, shape (rule_sets,): how many; rules without any keep their scale.
        """
        seen = counts > 0
        mean = sums[seen] / counts[seen]
        self.mean_square[seen] = SCALE_MEMORY * self.mean_square[seen] + (1 - SCALE_MEMORY) * mean
        self.weight[seen] = SCALE_MEMORY * self.weight[seen] + (1 - SCALE_MEMORY)

    @property
    def scale(self) -> np.ndarray:
        """float64, shape (rule_sets,): divide by it; 1 where nothing is known."""
        known = np.maximum(self.weight, 1e-12)
        square = np.where(self.weight > 0, self.mean_square / known, 1.0)
        return np.asarray(np.sqrt(np.maximum(square, 1e-6)))

    def normalised(self, reward: np.ndarray, rule_set: np.ndarray) -> np.ndarray:
        """Rewards in units of their scale, within `LARGEST_REWARD`; float32, shape (deals, seats)."""
        scaled = reward / self.scale[rule_set][:, None]
        return np.asarray(np.clip(scaled, -LARGEST_REWARD, LARGEST_REWARD), np.float32)

    def state_dict(self) -> dict[str, list[float]]:
        return {"mean_square": self.mean_square.tolist(), "weight": self.weight.tolist()}

    def load_state_dict(self, state: dict[str, list[float]]) -> None:
        mean_square, weight = (np.array(state[name], np.float64) for name in ("mean_square", "weight"))
        if not mean_square.shape == weight.shape == self.weight.shape:
            raise ValueError("they are of other rules")
        self.mean_square, self.weight = mean_square, weight
