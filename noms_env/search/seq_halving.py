"""Root statistics of a search: rounds of sequential halving, the updated policy, and the action.

*Rounds.* Worlds are allotted by sequential halving (Z. Karnin, T. Koren and O. Somekh, "Almost optimal exploration in
multi-armed bandits", 2013). Each round has an equal part of all rollouts, shared by the remaining candidates. After it half of
them remain, those with the highest logits. The policy's favourite always remains, since gains are measured against it.

*Policy.* The regularised update (S. Sokota et al., "The update-equivalence framework for decision-time planning", 2023) takes
an action with a probability proportional to

    exp(log policy(action) + mean points(action) / temperature)

The temperature is a number of standard errors: those of the mean gain of the best remaining action over the policy's favourite,
in paired differences over worlds (for a dropped action, its own). So the scale of the points cancels: with few worlds the
policy stays, with many the values overrule it. The default is the best of a grid, averaged over all games (docs/search.md).

The statistics of a row are a record, `ROOT_STATS`, with compiled functions. `RootStats` calls them for one row, a GPU for many
rows at once. A is the number of candidates.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from noms_env._jit import highest, jit
from noms_env.core.actions import NUM_ACTIONS
from noms_env.core.chance import philox
from noms_env.engine.row_kernels import kernel_view
from noms_env.search.endgame.position import units

MIN_WEIGHT = 1e-4  # minimum of a policy's probability in the update
FIRST_WORLDS = 8
"""With a time limit: worlds in the first round. Each further round has as many as all rounds before."""

_I8 = np.int64

ROOT_STATS = np.dtype(
    [
        ("units", _I8),  # units of a point, see `position.units`
        ("count", _I8),  # number of candidates
        ("favourite", _I8),  # index of the policy's most probable candidate
        ("favourite_sum", _I8),  # sum of its values in all worlds
        ("n_remaining", _I8),
        ("worlds_left", _I8),  # worlds to try before the next round
        ("total_left", _I8),  # worlds left in all rounds together; with a time limit the maximum
        ("actions", np.int16, NUM_ACTIONS),  # these and the following: the first `count`, see `policy_candidates`
        ("members", np.int16, NUM_ACTIONS),
        ("weights", np.float64, NUM_ACTIONS),
        ("counts", _I8, NUM_ACTIONS),  # worlds in which each was tried
        ("gains", _I8, NUM_ACTIONS),  # sums of the gains over the favourite
        ("squares", np.float64, NUM_ACTIONS),  # sums of the squares of these gains
        ("logits", np.float64, NUM_ACTIONS),  # of the updated policy, from `write_logits`
        ("remaining", np.int16, NUM_ACTIONS),  # the first `n_remaining`: indices of the remaining candidates, ascending
    ],
    align=True,
)
"""Root statistics of a row."""
_RECORD = np.dtype((np.record, ROOT_STATS))  # one dtype object: numba inspects all fields of any other, 4 µs


@jit
def worlds_of_round(budget, is_timed, candidates, n_remaining, worlds_before):
    """Return the worlds of a round with `n_remaining` candidates, after `worlds_before` worlds; see `RootStats`."""
    if is_timed:
        return min(max(worlds_before, FIRST_WORLDS), budget - worlds_before)
    rounds = max(1, highest(candidates - 1) + 1)
    return max(1, budget * candidates // (rounds * n_remaining))


@jit
def worlds_of_all_rounds(budget, is_timed, candidates):
    """Return the worlds of all rounds; with a time limit the maximum."""
    if is_timed:
        return budget
    n_remaining, worlds = candidates, worlds_of_round(budget, False, candidates, candidates, 0)
    while n_remaining > 2:
        n_remaining = count_survivors(n_remaining)
        worlds += worlds_of_round(budget, False, candidates, n_remaining, worlds)
    return worlds


@jit
def count_survivors(n_remaining):
    """Return the number of candidates that remain after a round."""
    return (n_remaining + 1) // 2


@jit
def reset_row(stats, row, n_seats, budget, is_timed):
    """Reset the statistics of a row whose candidates are set: `count`, `actions`, `members`, `weights`."""
    f = stats[row]
    f.units = units(n_seats)
    f.favourite = 0
    f.favourite_sum = 0
    for k in range(f.count):
        f.counts[k] = 0
        f.gains[k] = 0
        f.squares[k] = 0.0
        f.remaining[k] = k
        if f.weights[k] > f.weights[f.favourite]:
            f.favourite = k
    f.n_remaining = f.count
    f.worlds_left = worlds_of_round(budget, is_timed, f.count, f.count, 0) if f.count > 1 else 0
    f.total_left = worlds_of_all_rounds(budget, is_timed, f.count)


@jit
def add_values(stats, row, values, first, worlds):
    """Add the values of the remaining candidates in some worlds.

    `values`, int64, holds from `first` on one number per world and, within it, per remaining candidate.
    """
    f = stats[row]
    f.worlds_left -= worlds
    f.total_left -= worlds
    n_remaining, base = f.n_remaining, first
    while f.remaining[base - first] != f.favourite:
        base += 1
    for world in range(worlds):
        f.favourite_sum += values[base + world * n_remaining]
    for place in range(n_remaining):
        total, squares = np.int64(0), 0.0
        for world in range(worlds):
            gain = values[first + place + world * n_remaining] - values[base + world * n_remaining]
            total += gain
            squares += float(gain) * float(gain)
        k = f.remaining[place]
        f.counts[k] += worlds
        f.gains[k] += total
        f.squares[k] += squares


@jit
def begin_round(stats, row, budget, is_timed, temperature):
    """Begin the next round, if there is one."""
    f = stats[row]
    n_before = f.n_remaining
    if n_before > 2:
        write_logits(stats, row, temperature)
        f.logits[f.favourite] = np.inf
        for place in range(n_before):
            if count_better(f, f.remaining[place]) >= count_survivors(n_before):
                f.remaining[place] = ~f.remaining[place]
        f.n_remaining = 0
        for place in range(n_before):
            if f.remaining[place] >= 0:
                f.remaining[f.n_remaining] = f.remaining[place]
                f.n_remaining += 1
    elif not is_timed:
        return
    f.worlds_left = worlds_of_round(budget, is_timed, f.count, f.n_remaining, f.counts[f.favourite])


@jit
def count_better(f, k):
    """Count the candidates in `remaining` that rank above k: by logits, then by index. Dropped ones are complements."""
    n_better = 0
    for place in range(f.n_remaining):
        other = max(f.remaining[place], ~f.remaining[place])
        n_better += f.logits[other] > f.logits[k] or (f.logits[other] == f.logits[k] and other < k)
    return n_better


@jit
def mean_gain(f, k):
    """Return the mean gain of a candidate over the favourite, in points."""
    return f.gains[k] / (f.units * max(f.counts[k], 1))


@jit
def mean_value(stats, row, k):
    """See `RootStats.means`."""
    f = stats[row]
    return f.favourite_sum / (f.units * max(f.counts[f.favourite], 1)) + mean_gain(f, k)


@jit
def error_of(stats, row, k):
    """See `RootStats.errors`."""
    f = stats[row]
    if k == f.favourite:
        return 0.0
    if f.counts[k] < 2:
        return np.nan
    variance = f.squares[k] / (f.units * f.units) / f.counts[k] - mean_gain(f, k) * mean_gain(f, k)
    return math.sqrt(max(variance, 0.0) / (f.counts[k] - 1))


@jit
def error_without_gain(f, k):
    """Return the standard error of the mean gain under the hypothesis of no gain (squares about 0)."""
    return math.sqrt(f.squares[k]) / (f.units * max(f.counts[k], 1))


@jit
def write_logits(stats, row, temperature):
    """Write the logits of the updated policy."""
    f = stats[row]
    worlds, best = f.counts[f.favourite], np.int64(-1)
    for place in range(f.n_remaining if worlds > 0 else 0):
        other = np.int64(f.remaining[place])
        if other != f.favourite and (best < 0 or mean_gain(f, other) > mean_gain(f, best)):
            best = other
    for k in range(f.count):
        f.logits[k] = math.log(max(f.weights[k], MIN_WEIGHT))
        if worlds > 0:
            error = max(error_without_gain(f, k), error_without_gain(f, best))
            f.logits[k] += mean_gain(f, k) / max(temperature * error, 1 / (f.units * worlds))


@jit
def turn_into_weights(stats, row):
    """Turn the written logits into probabilities of the updated policy."""
    f = stats[row]
    max_logit, total = -np.inf, 0.0
    for k in range(f.count):
        max_logit = max(max_logit, f.logits[k])
    for k in range(f.count):
        f.logits[k] = math.exp(f.logits[k] - max_logit)
        total += f.logits[k]
    for k in range(f.count):
        f.logits[k] /= total


@jit
def choose(stats, row, seed, heat):
    """Return the action by the written logits: see `RootStats.choose`."""
    f = stats[row]
    best = 0
    for k in range(f.count):
        if f.logits[k] > f.logits[best]:
            best = k
    if heat == 0:
        return np.int64(f.members[best])
    number, total = int(seed), 0.0
    for k in range(f.count):
        total += math.exp((f.logits[k] - f.logits[best]) / heat)
    words = philox(0, 2, 0, 0, number & 0xFFFFFFFF, number >> 32)
    threshold, cumulative, choice = ((words[0] << 21) | (words[1] >> 11)) / 2.0**53 * total, 0.0, 0
    for k in range(f.count - 1):
        cumulative += math.exp((f.logits[k] - f.logits[best]) / heat)
        choice += cumulative <= threshold
    return np.int64(f.members[choice])


@jit
def write_means(stats, row, means, errors):
    """Write `RootStats.means` and `RootStats.errors`."""
    for k in range(stats[row].count):
        means[k] = mean_value(stats, row, k)
        errors[k] = error_of(stats, row, k)


class RootStats:
    """Root statistics of one row.

    Attributes:
        row: its number.
        seed: source of all randomness in the row, 0 to 2**63 - 1.
        actions, weights, members: the candidates, see `policy_candidates`, shape (A,).
        counts: worlds in which each was tried, int64, shape (A,).
    """

    def __init__(
        self,
        row: int,
        seed: int,
        candidates: tuple[np.ndarray, np.ndarray, np.ndarray],
        seats: int,
        temperature: float,
        budget: int,
        is_timed: bool = False,
    ) -> None:
        """Set up the statistics of a row; `temperature` is that of the update, in standard errors.

        `budget` is worlds per candidate, on average; a candidate gets at most this times half the number of candidates. With
        `is_timed` a time limit applies instead, and `budget` is an upper bound.
        """
        self.row, self.seed = row, seed
        self.actions, self.weights, self.members = candidates
        self._temperature, self._worlds, number = temperature, (budget, is_timed), len(self.actions)
        self._record = kernel_view(np.zeros(1, _RECORD).view(np.recarray))
        self._record["count"] = number
        for name, array in zip(("actions", "weights", "members"), candidates, strict=True):
            self._record[name][0, :number] = array
        self.counts = np.asarray(self._record["counts"][0, :number])
        reset_row(self._record, 0, seats, *self._worlds)

    @property
    def remaining(self) -> np.ndarray:
        """Indices of the remaining candidates, int16, ascending."""
        return np.asarray(self._record["remaining"][0, : self._record["n_remaining"][0]])

    @property
    def worlds_left(self) -> int:
        """Worlds in which to try them before the next round."""
        return int(self._record["worlds_left"][0])

    @property
    def total_left(self) -> int:
        """Worlds left in all rounds together; with a time limit an upper bound."""
        return int(self._record["total_left"][0])

    @property
    def worlds(self) -> int:
        """Number of worlds in which the favourite was tried, and every candidate still in `remaining`."""
        return int(self.counts[self._record["favourite"][0]])

    def add(self, values: np.ndarray) -> None:
        """Add values of the candidates in `remaining`, int64, shape (worlds, remaining), in `position.units`."""
        add_values(self._record, 0, np.ascontiguousarray(values).reshape(-1), 0, len(values))
        if self.worlds_left == 0:
            begin_round(self._record, 0, *self._worlds, self._temperature)

    @property
    def means(self) -> np.ndarray:
        """Points of the seat less the mean of the others' points, float64, shape (A,).

        The sum of the favourite's mean and the gain over it in the worlds in which both were tried.
        """
        return np.asarray(self._means()[0])

    @property
    def errors(self) -> np.ndarray:
        """Standard errors of the mean gains over the policy's favourite, float64, shape (A,).

        0 for the favourite itself; NaN for another candidate that was tried in fewer than two worlds.
        """
        return np.asarray(self._means()[1])

    def _means(self) -> Any:
        figures = np.empty((2, len(self.actions)))
        write_means(self._record, 0, *figures)
        return figures

    def logits(self) -> np.ndarray:
        """Return the logits of the updated policy, float64, shape (A,)."""
        write_logits(self._record, 0, self._temperature)
        return np.array(self._record["logits"][0, : len(self.actions)])

    @property
    def action_weights(self) -> np.ndarray:
        """Probabilities of the updated policy, float64, shape (A,)."""
        write_logits(self._record, 0, self._temperature)
        turn_into_weights(self._record, 0)
        return np.array(self._record["logits"][0, : len(self.actions)])

    def choose(self, heat: float) -> int:
        """Return the action of the updated policy: the most probable one if `heat` is 0, else drawn from logits / heat."""
        write_logits(self._record, 0, self._temperature)
        return int(choose(self._record, 0, self.seed, heat))
