"""Losses of decisions in recorded deals, by search: the points that another action would have gained on average.

Worlds are dealt from what the seat to act knows. In every world the policies of the search play out its candidate actions and
the action taken to the end of the deal. So the loss is the search's estimate, and no more.

The maximum of several sample means is biased upwards. So one half of the worlds chooses the best action, and the other half
measures its gain over the action taken; then the halves swap, and the loss is the mean of both. It is unbiased, and can be
slightly negative if the actions hardly differ. Its standard error is that of these gains.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from noms_env.engine.row_kernels import kernel_view
from noms_env.players import Player, recalled, with_memory
from noms_env.record import Record, replay
from noms_env.record.replaying import pair_with_previous
from noms_env.search.candidates import policy_candidates
from noms_env.search.policy_search import SearchPlayer
from noms_env.search.worlds import are_sorted
from noms_env.table import Table

from .statistics import Estimate, estimate

USUAL_WORLDS, MIN_WORLDS = 100, 8
NOT_JUDGED = "the deal after a pass-out is not judged, since its deck is that of the hands before, hardly shuffled"
PHASES = ("call", "trump", "nominate", "play", "suit")


@dataclass(frozen=True)
class Loss:
    """Loss of a decision in points, with its standard error.

    `step` is the number of the decision in the deal, from 0. `taken` and `best` are action words; `best` has the highest mean
    over all worlds, and is `taken` if they tie. `expected` is the mean of `taken`, in points above the mean of the others'.
    `spread` is the standard deviation of `best` between worlds. Of `worlds` worlds, `best` scores more than `taken` in
    `better`, and less in `worse`.
    """

    match: int
    deal: int
    step: int
    seat: int
    phase: str
    taken: str
    best: str
    points: float
    error: float
    expected: float = 0.0
    spread: float = 0.0
    better: int = 0
    worse: int = 0
    worlds: int = 0

    @property
    def is_sure(self) -> bool:
        """Whether the loss exceeds two standard errors."""
        return self.points > 2 * self.error


def loss_of(values: np.ndarray, taken: int) -> tuple[float, float]:
    """Return the loss of action `taken` and its standard error from points, float64, shape (worlds, actions), worlds >= 4."""
    halves = values[::2], values[1::2]
    means, variances = [], []
    for choosing, judging in (halves, halves[::-1]):
        chosen = choosing.mean(axis=0)
        best = taken if chosen[taken] == chosen.max() else int(chosen.argmax())
        gains = judging[:, best] - judging[:, taken]
        means.append(float(gains.mean()))
        variances.append(float(gains.var(ddof=1)) / len(gains))
    return sum(means) / 2, float(np.sqrt(sum(variances))) / 2


def losses(
    record: Record,
    player: SearchPlayer,
    worlds: int = USUAL_WORLDS,
    seed: int = 0,
    before: Table | None = None,
    seat: int | None = None,
) -> Iterator[Loss]:
    """Yield the losses of the decisions of a deal that had a choice, in order; for `before` see `noms_env.record.replay`.

    With `seat`, only its decisions are judged, with the same losses.

    Raises:
        ValueError: too few worlds, or a policy for another game.
        RecordError: the record cannot be replayed.
    """
    if worlds < MIN_WORLDS:
        raise ValueError(f"worlds must be {MIN_WORLDS} or more, not {worlds}")
    rng = np.random.default_rng([seed, record["match"], record["deal"]])
    for number, table in enumerate(replay(record, before)):
        if table.is_scored:
            return
        step, world_seed = record["steps"][number], int(rng.integers(2**62))
        observation, mask = table.view(int(table.row.seat))
        if np.count_nonzero(mask) < 2:
            continue
        taken = table.number(step["action"])
        tables = kernel_view(table.determinize(rng))
        if seat not in (None, step["seat"]):
            continue
        chances = player.policy.probabilities(observation, mask, temperature=1)
        tried, _, members = policy_candidates(tables, 0, chances)
        actions, index = with_taken(tried, members, taken)
        if len(actions) < 2:
            continue  # all legal actions are equivalent
        values = player.outcomes(tables, 0, world_seed, actions, worlds)
        means = values.mean(axis=0)
        best = index if means[index] == means.max() else int(means.argmax())
        gains = values[:, best] - values[:, index]
        points, error = loss_of(values, index)
        yield Loss(
            *(record["match"], record["deal"], number, step["seat"], step["phase"]),
            *(step["action"], table.word(int(actions[best])), points, error),
            expected=float(means[index]),
            spread=float(values[:, best].std()),
            better=int((gains > 0).sum()),
            worse=int((gains < 0).sum()),
            worlds=worlds,
        )


def find_losses(
    records: Iterable[Record],
    player: SearchPlayer,
    worlds: int = USUAL_WORLDS,
    seed: int = 0,
    wanted: Callable[[Record], bool] = lambda record: True,
    seat: int | None = None,
) -> Iterator[tuple[Record, list[Loss] | None]]:
    """Yield each of the `wanted` deals with its losses, in order of play; for the arguments and errors see `losses`.

    The losses are None for a deal that the search does not judge (`is_judged`). The search remembers earlier deals of the same
    match.
    """
    memory = None
    for record, before in pair_with_previous(records):
        memory = None if before is None else recalled(player, before.row, memory)
        if wanted(record):
            judge = with_memory(player, memory)
            judged = is_judged(record, before)
            yield record, [*losses(record, search_of(judge), worlds, seed, before, seat)] if judged else None


def is_judged(record: Record, before: Table | None = None) -> bool:
    """Return whether a search judges a deal: not if its hands were sorted after a pass-out (rules of Noms, 4.3).

    The search would deal the unseen cards to any hand, far from what such a deck deals; a player does not search there either.
    """
    table = next(iter(replay(record, before)))
    return not are_sorted(kernel_view(np.array([table.row]).view(np.recarray)))[0]


def with_taken(tried: np.ndarray, members: np.ndarray, taken: int) -> tuple[np.ndarray, int]:
    """Return the actions to compare and the index of the action taken; it replaces an equivalent action, or is appended."""
    for index in range(len(tried)):
        if taken in (int(tried[index]), int(members[index])):
            actions = tried.copy()
            actions[index] = taken
            return actions, index
    return np.append(tried, taken), len(tried)


def biggest(losses: Iterable[Loss], most: int) -> list[Loss]:
    """Return the biggest losses in descending order, without decisions that lost nothing."""
    mistakes = (loss for loss in losses if loss.points > 0 and loss.taken != loss.best)
    return sorted(mistakes, key=lambda loss: -loss.points)[:most]


def by_seat_and_phase(deals: Sequence[list[Loss]], seats: int) -> dict[tuple[int, str], Estimate]:
    """Return the mean loss of each seat per deal, by phase and in all (`""`); a deal is the unit of the interval."""

    def mean_of(seat: int, phase: str) -> Estimate:
        mine = ([loss.points for loss in deal if loss.seat == seat and phase in ("", loss.phase)] for deal in deals)
        return estimate(np.array([sum(points) for points in mine]))

    phases = ["", *(phase for phase in PHASES if any(loss.phase == phase for deal in deals for loss in deal))]
    return {(seat, phase): mean_of(seat, phase) for seat in range(seats) for phase in phases}


def search_of(player: Player) -> SearchPlayer:
    """Return the player as a search; ValueError if it is not a search that estimates the outcome of each action."""
    if not isinstance(player, SearchPlayer):
        raise ValueError("decisions are judged by a search on a policy, search:POLICY, such as search:small_ships@0")
    return player
