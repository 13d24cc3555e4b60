"""CFR+ on a game tree: O. Tammelin, arXiv 1407.5042, with alternating updates and linear averaging, for any number of seats.

    regret of a slot = max(0, regret + sum over the nodes of its set: others' reach * (value of the action - value of the node))
    strategy         = regrets, normalised in each set; uniform if all regrets are 0
    average strategy = sum over the iterations t: t * own reach * strategy, normalised in each set

In a two-player zero-sum game the average strategy converges to an equilibrium. With more seats there is no such guarantee;
`measures.exploitability` is the distance from an equilibrium.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from noms_env._jit import jit
from noms_env._threads import ONE_THREAD, RowThreads
from noms_env.micro.tree import Tree

REWARDS = ("points", "relative")
"""The rewards of the seats: points, or points less the mean of the other seats' points."""
PARTS = 8
"""Number of ranges of layouts, each summed separately, so that sums do not depend on the number of threads."""


class Solver:
    """A run of CFR+.

    Attributes:
        iterations: number of iterations so far; each updates all seats.
        regrets: cumulative regrets, float64, shape (slots,).
        totals: weighted sum of the strategies, float64, shape (slots,).
        strategy: strategy of the next iteration, float64, shape (slots,).
    """

    def __init__(self, tree: Tree, reward: str = "points", row_threads: RowThreads = ONE_THREAD) -> None:
        """Start with the uniform random policy; `reward` is one of `REWARDS`. Results do not depend on the threads."""
        self.tree, self.iterations = tree, 0
        self.regrets, self.totals, self.strategy = np.zeros(len(tree.action)), np.zeros(len(tree.action)), tree.uniform()
        self.passes = Passes(tree, rewards_of(tree, reward), row_threads)

    def iterate(self) -> None:
        """Update each seat in turn."""
        tree, passes = self.tree, self.passes
        self.iterations += 1
        for seat in range(tree.seats):
            gains = passes.gains(self.strategy, seat)
            update(
                tree.offset, tree.owner, seat, gains, passes.own_reach, float(self.iterations), self.regrets, self.totals,
                self.strategy,
            )  # fmt: skip

    def average(self) -> np.ndarray:
        """Return the average strategy, float64, shape (slots,)."""
        return normalise(self.tree, self.totals)


def rewards_of(tree: Tree, reward: str) -> np.ndarray:
    """Return the reward of each seat at each end, float64, shape (ends, seats); raises ValueError if `reward` is unknown."""
    if reward not in REWARDS:
        raise ValueError(f"reward must be points or relative, not {reward!r}")
    return tree.points if reward == "points" else tree.relative()


def normalise(tree: Tree, weights: np.ndarray) -> np.ndarray:
    """Normalise non-negative weights in each information set; uniform if all are 0."""
    sums = np.add.reduceat(weights, tree.offset[:-1])
    counts = np.diff(tree.offset)
    shares = weights / np.repeat(np.where(sums > 0, sums, 1), counts)
    return np.asarray(np.where(np.repeat(sums > 0, counts), shares, np.repeat(1 / counts, counts)))


class Passes:
    """Passes over a tree: reach probabilities from the root down, values from the ends up."""

    def __init__(self, tree: Tree, rewards: np.ndarray, row_threads: RowThreads = ONE_THREAD) -> None:
        self.tree, self.rewards, self.row_threads = tree, np.ascontiguousarray(rewards), row_threads
        nodes, slots = len(tree.seat), len(tree.action)
        self.own_reach = np.zeros(len(tree.owner))
        self._own, self._others, self._value = (np.empty(nodes) for _ in range(3))
        self._sums = np.zeros((PARTS, slots))
        self._cuts = [len(tree.chance) * part // PARTS for part in range(PARTS + 1)]

    def gains(self, strategy: np.ndarray, seat: int) -> np.ndarray:
        """Return the counterfactual gains of a seat's slots: sum over nodes of others' reach * (action value - node value).

        Slots of other seats have 0. Also sets `own_reach` of the seat's information sets.
        """
        tree = self.tree

        def work(low: int, high: int, sums: np.ndarray) -> None:
            write_reach(
                tree.starts, low, high, tree.chance, tree.seat, tree.first, tree.infoset, tree.offset, strategy, seat,
                self._own, self._others, self.own_reach,
            )  # fmt: skip
            write_gains(
                tree.starts, low, high, tree.seat, tree.first, tree.infoset, tree.offset, strategy, seat, self._others,
                self.rewards, self._value, sums,
            )  # fmt: skip

        return self._add_up(work)

    def values(self, strategy: np.ndarray) -> np.ndarray:
        """Return the expected reward of each seat if all play a strategy, float64, shape (seats,)."""
        return np.array([self._expect(strategy, seat) for seat in range(self.tree.seats)])

    def best_response(self, strategy: np.ndarray, seat: int) -> tuple[float, np.ndarray]:
        """Return the expected reward of a seat's best response, and its actions: bool, (slots,), one in each of its sets."""
        tree = self.tree
        choice = np.full(len(tree.owner), -1, np.int64)
        own = tree.owner == seat

        def work(low: int, high: int, sums: np.ndarray) -> None:
            write_responses(
                tree.starts, low, high, tree.seat, tree.first, tree.infoset, tree.offset, strategy, seat, self._others,
                self.rewards, choice, self._value, sums,
            )  # fmt: skip

        self.gains(strategy, seat)  # for the others' reach
        for level in range(int(tree.level[own].max(initial=-1)), -1, -1):
            choose_best(tree.offset, np.flatnonzero(own & (tree.level == level)), self._add_up(work), choice)
        response = np.zeros(len(tree.action), np.bool_)
        response[(tree.offset[:-1] + choice)[own]] = True
        return self._expect(np.where(np.repeat(own, np.diff(tree.offset)), response, strategy), seat), response

    def _expect(self, strategy: np.ndarray, seat: int) -> float:
        """Return a seat's expected reward if all play a strategy."""
        self.gains(strategy, seat)
        return float((self._value[self.tree.starts[:-1]] * self.tree.chance).sum())

    def _add_up(self, work: Callable[[int, int, np.ndarray], None]) -> np.ndarray:
        """Call `work(first layout, end layout, sums)` for each part, and return the total of the sums, shape (slots,)."""

        def work_on_parts(first: int, end: int, _range: int) -> None:
            for part in range(first, end):
                self._sums[part] = 0
                work(self._cuts[part], self._cuts[part + 1], self._sums[part])

        self.row_threads.run(PARTS, work_on_parts)
        return np.asarray(self._sums.sum(axis=0))


@jit
def write_reach(starts, low, high, chance, seat, first, infoset, offset, strategy, player, own, others, own_reach):
    """Write the reach probabilities of nodes: by the seat's own actions (`own`), and by all others and chance (`others`)."""
    for row in range(low, high):
        own[starts[row]], others[starts[row]] = 1.0, chance[row]
        for x in range(starts[row], starts[row + 1]):
            if seat[x] < 0:
                continue
            i = infoset[x]
            for a in range(offset[i + 1] - offset[i]):
                child, share = first[x] + a, strategy[offset[i] + a]
                if seat[x] == player:
                    own[child], others[child] = own[x] * share, others[x]
                else:
                    own[child], others[child] = own[x], others[x] * share
            if seat[x] == player:
                own_reach[i] = own[x]


@jit
def write_gains(starts, low, high, seat, first, infoset, offset, strategy, player, others, rewards, value, sums):
    """Write a seat's values of nodes, and add its counterfactual gains to `sums`."""
    for x in range(starts[high] - 1, starts[low] - 1, -1):
        if seat[x] < 0:
            value[x] = rewards[first[x], player]
            continue
        i, total = infoset[x], 0.0
        for a in range(offset[i + 1] - offset[i]):
            total += strategy[offset[i] + a] * value[first[x] + a]
        value[x] = total
        if seat[x] == player and others[x] > 0:
            for a in range(offset[i + 1] - offset[i]):
                sums[offset[i] + a] += others[x] * (value[first[x] + a] - total)


@jit
def write_responses(starts, low, high, seat, first, infoset, offset, strategy, player, others, rewards, choice, value, sums):
    """Write values of a seat that plays the actions in `choice`; where there is none (-1), add its slot values to `sums`."""
    for x in range(starts[high] - 1, starts[low] - 1, -1):
        if seat[x] < 0:
            value[x] = rewards[first[x], player]
            continue
        i, total = infoset[x], 0.0
        if seat[x] != player:
            for a in range(offset[i + 1] - offset[i]):
                total += strategy[offset[i] + a] * value[first[x] + a]
        elif choice[i] >= 0:
            total = value[first[x] + choice[i]]
        else:
            for a in range(offset[i + 1] - offset[i]):
                sums[offset[i] + a] += others[x] * value[first[x] + a]
        value[x] = total


@jit
def choose_best(offset, infosets, slot_values, choice):
    """Write the best action of some information sets into `choice`; the first one wins ties."""
    for i in infosets:
        best = 0
        for a in range(1, offset[i + 1] - offset[i]):
            if slot_values[offset[i] + a] > slot_values[offset[i] + best]:
                best = a
        choice[i] = best


@jit
def update(offset, owner, player, gains, own_reach, weight, regrets, totals, strategy):
    """Update a seat's regrets and average, and write its next strategy."""
    for i in range(len(owner)):
        if owner[i] != player:
            continue
        total = 0.0
        for k in range(offset[i], offset[i + 1]):
            totals[k] += weight * own_reach[i] * strategy[k]
            regrets[k] = max(0.0, regrets[k] + gains[k])
            total += regrets[k]
        for k in range(offset[i], offset[i + 1]):
            strategy[k] = regrets[k] / total if total > 0 else 1 / (offset[i + 1] - offset[i])
