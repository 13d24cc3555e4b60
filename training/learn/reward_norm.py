"""The scale of the rewards, and the guard against a policy that always passes."""

from __future__ import annotations

from typing import Any

import numpy as np

SCALE_MEMORY = 0.99
"""Of the running mean square, for each iteration."""
LARGEST_REWARD = 5.0
"""In units of the scale; larger ones are cut."""
PASSED_OUT_HIGH, PASSED_OUT_LOW = 0.9, 0.3
GUARD_DEALS, GUARD_FACTOR = 3000, 10.0


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


class PassOutGuard:
    """Raises the entropy before the play while nearly all deals are passed out.

    From-scratch self-play in auctions that may be passed out tends to end in passing always (24 of 24 runs of the project
    sheepsheadai, its notebook Architecture_Ablation, 4.5): who bids alone among players who cannot play yet loses.
    """

    def __init__(self) -> None:
        self.rate = 0.0
        self.active = False

    def update(self, passed_out: float, deals: float) -> None:
        """Add an iteration: deals that were passed out, of how many."""
        if deals == 0:
            return
        new = min(1.0, deals / GUARD_DEALS)
        self.rate += new * (passed_out / deals - self.rate)
        self.active = self.rate > (PASSED_OUT_LOW if self.active else PASSED_OUT_HIGH)

    @property
    def factor(self) -> float:
        """To multiply the entropy weight with."""
        return GUARD_FACTOR if self.active else 1.0

    def state_dict(self) -> dict[str, Any]:
        return {"rate": float(self.rate), "active": bool(self.active)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.rate, self.active = float(state["rate"]), bool(state["active"])
