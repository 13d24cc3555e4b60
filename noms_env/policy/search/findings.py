"""What a search has found out about the actions of one row, and what it takes.

The regularised update from the policy (S. Sokota et al., "The update-equivalence framework for decision-time planning", 2023):
an action is taken with a probability proportional to

    exp(log policy(action) + mean points(action) / temperature)

The temperature is a number of standard errors: of the mean gain of the best other action over the policy's favourite, world by
world (of an action that is tried no more, its own). So the points at stake do not matter, few worlds leave the policy as it is,
and many overrule it.

The usual one loses least of a grid, on the mean of all games (docs/search.md).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from noms_env.core.chance import philox
from noms_env.players.search.position import units

LEAST_SHARE = 1e-4
"""What the policy finds less probable counts as if it had this probability."""
FIRST_WORLDS = 8
"""Where there is a limit of time: worlds in the first round. Each further round has as many as there were so far."""


class Rounds(NamedTuple):
    """How many worlds there are in each round of sequential halving.

    Attributes:
        most: worlds on the mean of the actions; no action is tried in more than these times half the number of actions.
        is_timed: whether a limit of time counts instead, and `most` is only what never is exceeded.
    """

    most: int
    is_timed: bool

    def worlds(self, candidates: int, tried: int, before: int) -> int:
        """Worlds of a round, in which some of the candidates are still tried, after so many worlds."""
        if self.is_timed:
            return min(max(before, FIRST_WORLDS), self.most - before)
        rounds = max(1, math.ceil(math.log2(candidates)))
        return max(1, self.most * candidates // (rounds * tried))

    def all_worlds(self, candidates: int) -> int:
        """Worlds of all rounds; with a limit of time the most that there may be."""
        if self.is_timed:
            return self.most
        tried, worlds = candidates, self.worlds(candidates, candidates, 0)
        while tried > 2:
            tried = halved(tried)
            worlds += self.worlds(candidates, tried, worlds)
        return worlds


def halved(tried: int) -> int:
    """How many actions of so many go on being tried."""
    return (tried + 1) // 2


class Findings:
    """The actions of a row, and what they came to so far.

    The worlds go by sequential halving (Z. Karnin, T. Koren and O. Somekh, "Almost optimal exploration in multi-armed bandits",
    2013): in each round the actions that are still tried share an equal part of all rollouts, and after it half of them
    remain, those with the highest `logits`. The policy's favourite always remains, since gains are reckoned from it.

    Attributes:
        row: its number.
        seed: 0 to 2**63 - 1: what all that is random in it follows from.
        actions: int64, shape (candidates,).
        members: for each the most probable of the actions that come to the same, int64, shape (candidates,).
        shares: probabilities by the policy, float64, shape (candidates,).
        counts: in how many worlds each was tried, int64, shape (candidates,).
        tried: places of the candidates that are still tried, int64, ascending.
        left: worlds that they are to be tried in before the next round.
        to_come: worlds that are left in all rounds together; with a limit of time the most that there may be.
    """

    def __init__(
        self,
        row: int,
        seed: int,
        candidates: tuple[np.ndarray, np.ndarray, np.ndarray],
        seats: int,
        temperature: float,
        rounds: Rounds,
    ) -> None:
        """Nothing has been tried yet.

        Args:
            row: see above.
            seed: see above.
            candidates: see `rollouts.candidates_of`.
            seats: at the table.
            temperature: of the update, in standard errors.
            rounds: how many worlds there are in each round.
        """
        self.row, self.seed = row, seed
        self.actions, self.shares, self.members = candidates
        self._temperature, self._rounds, self._units = temperature, rounds, units(seats)
        self._favourite, number = int(self.shares.argmax()), len(self.actions)
        self._favourite_sum = 0
        self._gains, self._squares, self.counts = np.zeros(number, np.int64), np.zeros(number), np.zeros(number, np.int64)
        self.tried = np.arange(number)
        self.left = rounds.worlds(number, number, 0) if number > 1 else 0
        self.to_come = rounds.all_worlds(number)

    @property
    def worlds(self) -> int:
        """In how many worlds the favourite was tried, and what is still tried besides."""
        return int(self.counts[self._favourite])

    def add(self, values: np.ndarray) -> None:
        """Note what the candidates in `tried` came to in some worlds, int64, shape (worlds, tried), in `position.units`."""
        own = values[:, np.searchsorted(self.tried, self._favourite)]
        gains = values - own[:, np.newaxis]
        self.left -= len(values)
        self.to_come -= len(values)
        self.counts[self.tried] += len(values)
        self._favourite_sum += int(own.sum())
        self._gains[self.tried] += gains.sum(axis=0)
        self._squares[self.tried] += (gains.astype(np.float64) ** 2).sum(axis=0)
        if self.left == 0:
            self._halve()

    def _halve(self) -> None:
        """Begin the next round, if there is one."""
        before = len(self.tried)
        if before > 2:
            logits = self.logits()[self.tried]
            logits[self.tried == self._favourite] = np.inf
            self.tried = np.sort(self.tried[np.argsort(-logits, kind="stable")[: halved(before)]])
        elif not self._rounds.is_timed:
            return
        self.left = self._rounds.worlds(len(self.actions), len(self.tried), self.worlds)

    @property
    def means(self) -> np.ndarray:
        """Points of the seat less the mean of the others' points, float64, shape (candidates,).

        The mean of the favourite, and the gain over it in the worlds in which both were tried.
        """
        return np.asarray(self._favourite_sum / (self._units * max(self.worlds, 1)) + self._mean_gains())

    @property
    def errors(self) -> np.ndarray:
        """Standard errors of the mean gains over the policy's favourite, float64, shape (candidates,).

        0 of the favourite itself; NaN of another that was tried in fewer than two worlds, from which no error can be told.
        """
        worlds = np.maximum(self.counts, 1)
        variance = np.maximum(self._squares / self._units**2 / worlds - self._mean_gains() ** 2, 0.0)
        errors = np.where(worlds > 1, np.sqrt(variance / np.maximum(worlds - 1, 1)), np.nan)
        errors[self._favourite] = 0.0
        return np.asarray(errors)

    def _errors_without_gain(self) -> np.ndarray:
        """Standard errors of the mean gains if there were none: the squares are about 0."""
        return np.asarray(np.sqrt(self._squares) / (self._units * np.maximum(self.counts, 1)))

    def _mean_gains(self) -> np.ndarray:
        return np.asarray(self._gains / (self._units * np.maximum(self.counts, 1)))

    def logits(self) -> np.ndarray:
        """Of the updated policy, float64, shape (candidates,)."""
        known: np.ndarray = np.log(np.maximum(self.shares, LEAST_SHARE))
        if self.worlds == 0:
            return known
        gains, errors = self._mean_gains(), self._errors_without_gain()
        others = self.tried[self.tried != self._favourite]
        error = np.maximum(errors, errors[others[gains[others].argmax()]])
        return np.asarray(known + gains / np.maximum(self._temperature * error, 1 / (self._units * self.worlds)))

    @property
    def policy(self) -> np.ndarray:
        """The updated policy, float64, shape (candidates,)."""
        logits = self.logits()
        weights = np.exp(logits - logits.max())
        return np.asarray(weights / weights.sum())

    def choose(self, heat: float) -> int:
        """The action of the updated policy: the most probable one where `heat` is 0, else drawn from its logits / heat."""
        logits = self.logits()
        if heat == 0:
            return int(self.members[logits.argmax()])
        weights = np.exp((logits - logits.max()) / heat)
        words = philox(0, 2, 0, 0, self.seed & 0xFFFFFFFF, self.seed >> 32)
        drawn = math.ldexp((int(words[0]) << 21) | (int(words[1]) >> 11), -53) * weights.sum()
        return int(self.members[np.searchsorted(np.cumsum(weights)[:-1], drawn, side="right")])
