"""Root statistics of a search: rounds of sequential halving, the updated policy, and the action.

*Rounds.* Worlds go by sequential halving (Z. Karnin, T. Koren and O. Somekh, "Almost optimal exploration in multi-armed
bandits", 2013): in each round the candidates that are still tried share an equal part of all rollouts, and after it half of
them remain, those with the highest logits. The policy's favourite always remains, since gains are reckoned from it.

*Policy.* The regularised update (S. Sokota et al., "The update-equivalence framework for decision-time planning", 2023): an
action is taken with a probability proportional to

    exp(log policy(action) + mean points(action) / temperature)

The temperature is a number of standard errors: those of the mean gain of the best other action over the policy's favourite, in
paired differences over worlds (for an action that is tried no more, its own). So the scale of the points cancels: with few
worlds the policy stays, with many the values overrule it. The default is the best of a grid, averaged over all games
(docs/search.md).

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

LEAST_WEIGHT = 1e-4
"""What the policy finds less probable counts as if it had this probability."""
FIRST_WORLDS = 8
"""Where there is a limit of time: worlds in the first round. Each further round has as many as there were so far."""

_I8 = np.int64

ROOT_STATS = np.dtype(
    [
        ("units", _I8),  # of a point: `position.units`
        ("count", _I8),  # candidates
        ("favourite", _I8),  # the place of the candidate that the policy finds most probable
        ("favourite_sum", _I8),  # of its values in all worlds
        ("n_tried", _I8),
        ("left", _I8),  # worlds to try before the next round
        ("to_come", _I8),  # worlds that are left in all rounds together; with a limit of time the most that there may be
        ("actions", np.int16, NUM_ACTIONS),  # the first `count` of these and of the following: see `policy_candidates`
        ("members", np.int16, NUM_ACTIONS),
        ("weights", np.float64, NUM_ACTIONS),
        ("counts", _I8, NUM_ACTIONS),  # worlds in which each was tried
        ("gains", _I8, NUM_ACTIONS),  # over the favourite, in all worlds in which a candidate was tried
        ("squares", np.float64, NUM_ACTIONS),  # of these gains, world by world
        ("logits", np.float64, NUM_ACTIONS),  # of the updated policy, from `write_logits`
        ("tried", np.int16, NUM_ACTIONS),  # the first `n_tried`: places of the candidates that are still tried, ascending
    ],
    align=True,
)
"""The statistics of a row."""
_RECORD = np.dtype((np.record, ROOT_STATS))  # one object: numba looks at all fields of another for 4 µs


@jit
def worlds_of_round(most, is_timed, candidates, tried, before):
    """Worlds of a round, in which some of the candidates are still tried, after so many worlds; see `RootStats`."""
    if is_timed:
        return min(max(before, FIRST_WORLDS), most - before)
    rounds = max(1, highest(candidates - 1) + 1)
    return max(1, most * candidates // (rounds * tried))


@jit
def worlds_of_all_rounds(most, is_timed, candidates):
    """Worlds of all rounds; with a limit of time the most that there may be."""
    if is_timed:
        return most
    tried, worlds = candidates, worlds_of_round(most, False, candidates, candidates, 0)
    while tried > 2:
        tried = count_kept(tried)
        worlds += worlds_of_round(most, False, candidates, tried, worlds)
    return worlds


@jit
def count_kept(tried):
    """How many actions of so many go on being tried."""
    return (tried + 1) // 2


@jit
def begin(stats, row, n_seats, most, is_timed):
    """Reset the statistics of a row, whose candidates are set: `count`, `actions`, `members`, `weights`."""
    f = stats[row]
    f.units = units(n_seats)
    f.favourite = 0
    f.favourite_sum = 0
    for k in range(f.count):
        f.counts[k] = 0
        f.gains[k] = 0
        f.squares[k] = 0.0
        f.tried[k] = k
        if f.weights[k] > f.weights[f.favourite]:
            f.favourite = k
    f.n_tried = f.count
    f.left = worlds_of_round(most, is_timed, f.count, f.count, 0) if f.count > 1 else 0
    f.to_come = worlds_of_all_rounds(most, is_timed, f.count)


@jit
def add_values(stats, row, values, first, worlds):
    """Add the values of the candidates that are tried in some worlds.

    `values`, int64, have from `first` on a number for each of these worlds and, within it, each of these candidates.
    """
    f = stats[row]
    f.left -= worlds
    f.to_come -= worlds
    tried, own = f.n_tried, first
    while f.tried[own - first] != f.favourite:
        own += 1
    for world in range(worlds):
        f.favourite_sum += values[own + world * tried]
    for place in range(tried):
        total, squares = np.int64(0), 0.0
        for world in range(worlds):
            gain = values[first + place + world * tried] - values[own + world * tried]
            total += gain
            squares += float(gain) * float(gain)
        k = f.tried[place]
        f.counts[k] += worlds
        f.gains[k] += total
        f.squares[k] += squares


@jit
def begin_round(stats, row, most, is_timed, temperature):
    """Begin the next round, if there is one."""
    f = stats[row]
    before = f.n_tried
    if before > 2:
        write_logits(stats, row, temperature)
        f.logits[f.favourite] = np.inf
        for place in range(before):
            if count_better(f, f.tried[place]) >= count_kept(before):
                f.tried[place] = ~f.tried[place]
        f.n_tried = 0
        for place in range(before):
            if f.tried[place] >= 0:
                f.tried[f.n_tried] = f.tried[place]
                f.n_tried += 1
    elif not is_timed:
        return
    f.left = worlds_of_round(most, is_timed, f.count, f.n_tried, f.counts[f.favourite])


@jit
def count_better(f, k):
    """How many candidates in `tried` rank above k: higher logits, or equal ones and an earlier place.

    Candidates that are dropped are stored there as complements.
    """
    better = 0
    for place in range(f.n_tried):
        other = max(f.tried[place], ~f.tried[place])
        better += f.logits[other] > f.logits[k] or (f.logits[other] == f.logits[k] and other < k)
    return better


@jit
def mean_gain(f, k):
    """The mean gain of a candidate over the favourite, in points."""
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
    """The standard error of the mean gain under the hypothesis of no gain (squares about 0)."""
    return math.sqrt(f.squares[k]) / (f.units * max(f.counts[k], 1))


@jit
def write_logits(stats, row, temperature):
    """Write the logits of the updated policy."""
    f = stats[row]
    worlds, best = f.counts[f.favourite], np.int64(-1)
    for place in range(f.n_tried if worlds > 0 else 0):
        other = np.int64(f.tried[place])
        if other != f.favourite and (best < 0 or mean_gain(f, other) > mean_gain(f, best)):
            best = other
    for k in range(f.count):
        f.logits[k] = math.log(max(f.weights[k], LEAST_WEIGHT))
        if worlds > 0:
            error = max(error_without_gain(f, k), error_without_gain(f, best))
            f.logits[k] += mean_gain(f, k) / max(temperature * error, 1 / (f.units * worlds))


@jit
def turn_into_weights(stats, row):
    """Turn the logits that were written into probabilities of the updated policy."""
    f = stats[row]
    most, whole = -np.inf, 0.0
    for k in range(f.count):
        most = max(most, f.logits[k])
    for k in range(f.count):
        f.logits[k] = math.exp(f.logits[k] - most)
        whole += f.logits[k]
    for k in range(f.count):
        f.logits[k] /= whole


@jit
def choose(stats, row, seed, heat):
    """The action by the logits that were written: see `RootStats.choose`."""
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
    drawn, below, chosen = ((words[0] << 21) | (words[1] >> 11)) / 2.0**53 * total, 0.0, 0
    for k in range(f.count - 1):
        below += math.exp((f.logits[k] - f.logits[best]) / heat)
        chosen += below <= drawn
    return np.int64(f.members[chosen])


@jit
def write_means(stats, row, means, errors):
    """Write `RootStats.means` and `RootStats.errors`."""
    for k in range(stats[row].count):
        means[k] = mean_value(stats, row, k)
        errors[k] = error_of(stats, row, k)


class RootStats:
    """The statistics of one row.

    Attributes:
        row: its number.
        seed: 0 to 2**63 - 1: all that is random in the row follows from it.
        actions: the candidates, int64, shape (A,).
        weights: probabilities by the policy, float64, shape (A,).
        members: for each candidate the most probable of the actions that come to the same, int64, shape (A,).
        counts: in how many worlds each was tried, int64, shape (A,).
    """

    def __init__(
        self,
        row: int,
        seed: int,
        candidates: tuple[np.ndarray, np.ndarray, np.ndarray],
        seats: int,
        temperature: float,
        most: int,
        is_timed: bool = False,
    ) -> None:
        """Set up the statistics of a row.

        Args:
            row: see above.
            seed: see above.
            candidates: see `policy_candidates`.
            seats: at the table.
            temperature: of the update, in standard errors.
            most: worlds per candidate, on average; a candidate gets at most this times half the number of candidates.
            is_timed: whether a limit of time counts instead, with `most` as an upper bound.
        """
        self.row, self.seed = row, seed
        self.actions, self.weights, self.members = candidates
        self._temperature, self._worlds, number = temperature, (most, is_timed), len(self.actions)
        self._record = kernel_view(np.zeros(1, _RECORD).view(np.recarray))
        self._record["count"] = number
        for name, array in zip(("actions", "weights", "members"), candidates, strict=True):
            self._record[name][0, :number] = array
        self.counts = np.asarray(self._record["counts"][0, :number])
        begin(self._record, 0, seats, *self._worlds)

    @property
    def tried(self) -> np.ndarray:
        """Places of the candidates that are still tried, int16, ascending."""
        return np.asarray(self._record["tried"][0, : self._record["n_tried"][0]])

    @property
    def left(self) -> int:
        """Worlds that they are to be tried in before the next round."""
        return int(self._record["left"][0])

    @property
    def to_come(self) -> int:
        """Worlds left in all rounds together; with a limit of time an upper bound."""
        return int(self._record["to_come"][0])

    @property
    def worlds(self) -> int:
        """The number of worlds in which the favourite was tried, and every candidate still in `tried`."""
        return int(self.counts[self._record["favourite"][0]])

    def add(self, values: np.ndarray) -> None:
        """Add the values of the candidates in `tried` in some worlds, int64, shape (worlds, tried), in `position.units`."""
        add_values(self._record, 0, np.ascontiguousarray(values).reshape(-1), 0, len(values))
        if self.left == 0:
            begin_round(self._record, 0, *self._worlds, self._temperature)

    @property
    def means(self) -> np.ndarray:
        """Points of the seat less the mean of the others' points, float64, shape (A,).

        The mean of the favourite, and the gain over it in the worlds in which both were tried.
        """
        return np.asarray(self._means()[0])

    @property
    def errors(self) -> np.ndarray:
        """Standard errors of the mean gains over the policy's favourite, float64, shape (A,).

        0 of the favourite itself; NaN of another that was tried in fewer than two worlds, from which no error can be told.
        """
        return np.asarray(self._means()[1])

    def _means(self) -> Any:
        figures = np.empty((2, len(self.actions)))
        write_means(self._record, 0, *figures)
        return figures

    def logits(self) -> np.ndarray:
        """Of the updated policy, float64, shape (A,)."""
        write_logits(self._record, 0, self._temperature)
        return np.array(self._record["logits"][0, : len(self.actions)])

    @property
    def action_weights(self) -> np.ndarray:
        """The updated policy, float64, shape (A,)."""
        write_logits(self._record, 0, self._temperature)
        turn_into_weights(self._record, 0)
        return np.array(self._record["logits"][0, : len(self.actions)])

    def choose(self, heat: float) -> int:
        """The action of the updated policy: the most probable one where `heat` is 0, else drawn from its logits / heat."""
        write_logits(self._record, 0, self._temperature)
        return int(choose(self._record, 0, self.seed, heat))
