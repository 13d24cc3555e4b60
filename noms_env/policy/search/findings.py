"""What a search has found out about the actions of one row, and what it takes.

The regularised update from the policy (S. Sokota et al., "The update-equivalence framework for decision-time planning", 2023):
an action is taken with a probability proportional to

    exp(log policy(action) + mean points(action) / temperature)

The temperature is a number of standard errors: of the mean gain of the best other action over the policy's favourite, world by
world. So the points at stake do not matter, few worlds leave the policy as it is, and many overrule it.

Of a small grid the usual one gained most. 24 uniform worlds above the policy, at tables of the policy (most probable actions,
four seats, deals of `dev`), in points per deal with 95 % intervals:

| temperature | nonesuch, 96 deals | small_ships, 64 deals |
|-------------|--------------------|-----------------------|
| 0.1 (0.12)  | +0.48 ± 0.31       | +0.06 ± 0.24          |
| 0.25        | +0.63 ± 0.26       | +0.38 ± 0.28          |
| 0.5         | +0.39 ± 0.22       | +0.14 ± 0.17          |

The best of the actions that gain a standard error, as `pimc` chooses, came to +0.61 ± 0.26 in nonesuch.
"""

from __future__ import annotations

import math

import numpy as np

from noms_env.core.chance import philox
from noms_env.players.search.position import units

LEAST_SHARE = 1e-4
"""What the policy finds less probable counts as if it had this probability."""


class Findings:
    """The actions of a row, and what they came to so far.

    Attributes:
        row: its number.
        seed: 0 to 2**63 - 1: what all that is random in it follows from.
        actions: what is tried, int64, shape (candidates,).
        members: for each the most probable of the actions that come to the same, int64, shape (candidates,).
        shares: probabilities by the policy, float64, shape (candidates,).
        worlds: how many they were tried in.
    """

    def __init__(self, row: int, seed: int, candidates: tuple[np.ndarray, np.ndarray, np.ndarray], seats: int) -> None:
        """Nothing has been tried yet; for `candidates` see `rollouts.candidates_of`."""
        self.row, self.seed, self.worlds = row, seed, 0
        self.actions, self.shares, self.members = candidates
        self._units, self._favourite = units(seats), int(self.shares.argmax())
        self._sums = np.zeros(len(self.actions), np.int64)
        self._gains, self._squares = np.zeros(len(self.actions), np.int64), np.zeros(len(self.actions))

    def add(self, values: np.ndarray) -> None:
        """Note what all candidates came to in some worlds, int64, shape (worlds, candidates), in `position.units`."""
        gains = values - values[:, self._favourite, np.newaxis]
        self.worlds += len(values)
        self._sums += values.sum(axis=0)
        self._gains += gains.sum(axis=0)
        self._squares += (gains.astype(np.float64) ** 2).sum(axis=0)

    @property
    def means(self) -> np.ndarray:
        """Points of the seat less the mean of the others' points, float64, shape (candidates,)."""
        return np.asarray(self._sums / (self._units * max(self.worlds, 1)))

    @property
    def errors(self) -> np.ndarray:
        """Standard errors of the gains over the policy's favourite, if there were none; float64, shape (candidates,)."""
        return np.asarray(np.sqrt(self._squares) / (self._units * max(self.worlds, 1)))

    def logits(self, temperature: float) -> np.ndarray:
        """Of the updated policy, float64, shape (candidates,); `temperature` is in standard errors."""
        known: np.ndarray = np.log(np.maximum(self.shares, LEAST_SHARE))
        if self.worlds == 0:
            return known
        gains = self._gains / (self._units * self.worlds)
        others = np.delete(np.arange(len(gains)), self._favourite)
        error = self.errors[others[gains[others].argmax()]]
        return np.asarray(known + gains / max(temperature * error, 1 / (self._units * self.worlds)))

    def choose(self, temperature: float, heat: float) -> int:
        """The action of the updated policy: the most probable one where `heat` is 0, else drawn from its logits / heat."""
        logits = self.logits(temperature)
        if heat == 0:
            return int(self.members[logits.argmax()])
        weights = np.exp((logits - logits.max()) / heat)
        words = philox(0, 2, 0, 0, self.seed & 0xFFFFFFFF, self.seed >> 32)
        drawn = math.ldexp((int(words[0]) << 21) | (int(words[1]) >> 11), -53) * weights.sum()
        return int(self.members[np.searchsorted(np.cumsum(weights)[:-1], drawn, side="right")])
