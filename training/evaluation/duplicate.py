"""Duplicate deals: how many points a player is better than others, with the luck of the cards taken out.

Each deal (the same cards, the same dealer) is played once for each seat, with the hero there and the field everywhere else.
What counts is the mean over these games of the hero's points less the mean of the others', so that nobody gains by good
cards or a good seat. Deals are independent of each other, the games of a deal are not: a deal is the unit of all statistics.

The deals of a set are frozen: they follow from its name and their number. The players' random numbers follow from a seed and
from the number of the block of deals, so that results do not depend on how blocks are shared out among threads. Noms, whose
deals otherwise depend on the deal before, is played in single deals; in the exact-bid games hand sizes are as frequent as in
a match.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from noms_env.core.state import MAX_SEATS
from noms_env.variants import Rules
from training.agents.registry import BLOCK, MakePlayer, label
from training.agents.table_pool import Agent, TablePool, play
from training.evaluation.behaviour_stats import SEATS, Tally, count_deals

if TYPE_CHECKING:
    pass

DealSet = Literal["dev", "test"]

RESAMPLES, AT_ONCE = 2000, 100
MOST_RESAMPLED = 5000
"""With more deals the mean is as good as normal, and resampling takes long."""
NORMAL_95 = 1.959964
"""The 97.5 % point of the normal distribution."""


def deal_seed(name: str) -> int:
    """The seed of a named set of deals, 0 to 2**63 - 1; never change it: figures of different days would not compare."""
    return int.from_bytes(hashlib.sha256(f"noms-env deals {name}".encode()).digest()[:8], "big") >> 1


# ----------------------------------------------------------------------------------------------------------- results


@dataclass(frozen=True)
class Result:
    """What a hero did against a field.

    Attributes:
        differences: float64, shape (deals, seats): own points less the mean of the others', with the hero on each seat.
        sizes: int16, shape (deals,): cards dealt to each seat.
        probes: of the hero's calls and contracts.
        seed: of the resampling.
    """

    differences: np.ndarray
    sizes: np.ndarray
    probes: Tally = field(compare=False)
    seed: int = 0

    @property
    def per_deal(self) -> np.ndarray:
        """The mean over the games of each deal, float64, shape (deals,)."""
        means: np.ndarray = self.differences.mean(axis=1)
        return means

    @property
    def mean(self) -> float:
        """Points per deal that the hero is better."""
        return float(self.differences.mean())

    @property
    def standard_error(self) -> float:
        """Of the mean."""
        return float(self.per_deal.std(ddof=1)) / math.sqrt(len(self.differences))

    @property
    def method(self) -> str:
        """How the interval is found: `bootstrap` over deals, or with many deals `normal`."""
        return "bootstrap" if len(self.differences) <= MOST_RESAMPLED else "normal"

    def interval(self) -> tuple[float, float]:
        """The 95 % confidence interval of the mean."""
        if self.method == "normal":
            margin = NORMAL_95 * self.standard_error
            return self.mean - margin, self.mean + margin
        return bootstrap_interval(self.per_deal, self.seed)

    @property
    def variance_ratio(self) -> float:
        """Variance of the mean over that of as many games on independent deals; NaN where all games end alike."""
        alone = float(self.differences.var(ddof=1))
        together = float(self.per_deal.var(ddof=1)) * self.differences.shape[1]
        return together / alone if alone > 0 else math.nan


def bootstrap_interval(values: np.ndarray, seed: int) -> tuple[float, float]:
    """95 % percentile interval of a mean, by resampling (Efron 1979).

    Args:
        values: float64, shape (n,), independent.
        seed: of the resampling.
    """
    rng = np.random.default_rng(seed)
    means = [values[rng.integers(len(values), size=(AT_ONCE, len(values)))].mean(axis=1) for _ in range(RESAMPLES // AT_ONCE)]
    low, high = np.quantile(np.concatenate(means), (0.025, 0.975))
    return float(low), float(high)


# ------------------------------------------------------------------------------------------------------------ playing


def one_after_another(jobs: Sequence[Callable[[], Block]]) -> Sequence[Block]:
    """The results of jobs, without threads."""
    return [job() for job in jobs]


@dataclass(frozen=True)
class Block:
    """What came of some deals: see `Result`; without differences in self-play."""

    differences: np.ndarray
    sizes: np.ndarray
    probes: Tally


Runner = Callable[[Sequence[Callable[[], Block]]], Sequence[Block]]
"""Does jobs, in threads or not, and gives their results in their order."""


def duplicate(
    kind: Rules,
    hero: MakePlayer,
    field: MakePlayer | Sequence[MakePlayer],
    deals: int,
    *,
    seed: int = 0,
    deal_set: DealSet = "dev",
    hand_size: int | None = None,
    runner: Runner = one_after_another,
) -> Result:
    """Play duplicate deals.

    Args:
        kind: the rules.
        hero: who is measured.
        field: who sits on the other seats: one player on all, or one for each, clockwise from the hero.
        deals: how many; at least 2.
        seed: of what is random in the players, 0 to 2**63 - 1.
        deal_set: the first deals of this set are played.
        hand_size: only deals of so many cards (in the exact-bid games).
        runner: does the blocks, side by side if it likes: the result is the same.

    Raises:
        ValueError: too few deals, a hand size that the game does not have, or a field of another size.
    """
    others = [field] if callable(field) else list(field)
    if not callable(field) and len(others) != kind.seats - 1:
        raise ValueError(f"the field must be one player, or {kind.seats - 1}: one for each other seat; not {len(others)}")
    blocks = _in_blocks(
        lambda first, count: _play_duplicates(kind, [hero, *others], first, count, seed, deal_seed(deal_set), hand_size),
        deals,
        kind,
        hand_size,
        runner,
    )
    differences = np.concatenate([block.differences for block in blocks])
    sizes = np.concatenate([block.sizes for block in blocks])
    return Result(differences, sizes, sum((block.probes for block in blocks), Tally()), seed)


def self_play(
    kind: Rules,
    player: MakePlayer,
    deals: int,
    *,
    seed: int = 0,
    deal_set: DealSet = "dev",
    hand_size: int | None = None,
    runner: Runner = one_after_another,
) -> Tally:
    """What a player does at tables with nobody else, each deal once. The arguments are those of `duplicate`."""
    blocks = _in_blocks(
        lambda first, count: _play_alone(kind, player, first, count, seed, deal_seed(deal_set), hand_size),
        deals,
        kind,
        hand_size,
        runner,
    )
    return sum((block.probes for block in blocks), Tally())


def _in_blocks(
    play_some: Callable[[int, int], Block], deals: int, kind: Rules, hand_size: int | None, runner: Runner
) -> Sequence[Block]:
    """Play deals in blocks of a fixed size: each is told its first deal and how many it has."""
    if deals < 2:
        raise ValueError(f"deals must be 2 or more, not {deals}")
    if hand_size is not None and hand_size not in kind.schedule:
        allowed = f"one of {', '.join(map(str, sorted(set(kind.schedule))))}" if kind.schedule else "left out"
        raise ValueError(f"hand_size must be {allowed} in {kind.variant.name} with {kind.seats} seats, not {hand_size}")

    def job(first: int) -> Callable[[], Block]:
        return lambda: play_some(first, min(BLOCK, deals - first))

    return runner([job(first) for first in range(0, deals, BLOCK)])


def _play_duplicates(
    kind: Rules, players: Sequence[MakePlayer], first: int, count: int, seed: int, cards: int, hand_size: int | None
) -> Block:
    """One block: the games of a deal lie side by side, with the hero, player 0, one seat further on in each."""
    seats = kind.seats
    rows = np.arange(count * seats)
    hero_seat = rows % seats
    pool = dealt(kind, first + rows // seats, cards, hand_size)
    seating = np.minimum((SEATS - hero_seat[:, None]) % seats, len(players) - 1)
    play(pool, seated(players, seed, first), seating)
    points = relative_points(pool.batch.points, pool.seats)[rows, hero_seat]
    tables = pool.batch.tables
    probes = count_deals(tables, kind, hero_seat[:, None] == SEATS)
    return Block(points.astype(np.float64).reshape(count, seats), tables.hand_size[::seats].copy(), probes)


def _play_alone(kind: Rules, player: MakePlayer, first: int, count: int, seed: int, cards: int, hand_size: int | None) -> Block:
    """One block of self-play."""
    pool = dealt(kind, first + np.arange(count), cards, hand_size)
    play(pool, seated([player], seed, first), np.zeros((count, MAX_SEATS), np.int64))
    tables = pool.batch.tables
    return Block(np.empty((0, kind.seats)), tables.hand_size.copy(), count_deals(tables, kind))


def dealt(kind: Rules, numbers: np.ndarray, cards: int, hand_size: int | None = None) -> TablePool:
    """A table for each number of a deal, dealt.

    Args:
        kind: the rules.
        numbers: int64, shape (n,), 0 to 2**32 - 1: of the deals; equal numbers are the same deal.
        cards: the seed of the set (`deal_seed`).
        hand_size: only deals of so many cards (in the exact-bid games).
    """
    pool = TablePool([kind], [0], len(numbers), seed=cards)
    pool.table_numbers = numbers
    pool.deal(0, np.full(len(numbers), -1 if hand_size is None else hand_size))
    return pool


def seated(players: Sequence[MakePlayer], seed: int, first: int) -> list[Agent]:
    """The players of the block of deals that begins with the deal `first`, each with a stream of its own."""
    return [make(np.random.default_rng([seed, first, place])) for place, make in enumerate(players)]


# ----------------------------------------------------------------------------------------------------------- figures


def figures(
    rule_sets: Sequence[Rules],
    hero: MakePlayer,
    panel: Mapping[str, MakePlayer],
    deals: int,
    *,
    seed: int = 0,
    deal_set: DealSet = "dev",
    probes: bool = True,
    runner: Runner = one_after_another,
) -> dict[str, float]:
    """What the log of a training run says of its policy.

    Args:
        rule_sets: the rules of the run.
        hero: the policy.
        panel: opponents by name.
        deals: duplicate deals for each of the rule_sets and opponents, and deals of self-play for each of the rule_sets.
        seed: see `duplicate`.
        deal_set: see `duplicate`.
        probes: play against itself too, and tell what it does there.
        runner: see `duplicate`.

    Returns:
        `points/<kind>/<opponent>` with `.../low` and `.../high`, and `probe/<kind>/<probe>` of self-play. A slash in the
        name of an opponent becomes a colon.
    """
    found: dict[str, float] = {}
    for kind in rule_sets:
        for name, opponent in panel.items():
            result = duplicate(kind, hero, opponent, deals, seed=seed, deal_set=deal_set, runner=runner)
            key = f"points/{label(kind)}/{name.replace('/', ':')}"
            found[key] = result.mean
            found[f"{key}/low"], found[f"{key}/high"] = result.interval()
        if probes:
            alone = self_play(kind, hero, deals, seed=seed, deal_set=deal_set, runner=runner)
            found |= {f"probe/{label(kind)}/{probe}": value for probe, value in alone.means().items()}
    return found


def relative_points(points: np.ndarray, seats: np.ndarray) -> np.ndarray:
    """Own points less the mean of the others', for each seat: sums to zero over the seats of each deal.

    Args:
        points: float, shape (deals, MAX_SEATS).
        seats: integers, shape (deals,): seats at the table; the columns behind are not looked at.

    Returns:
        float32, shape (deals, MAX_SEATS); 0 for seats that are not there.
    """
    there = np.arange(points.shape[1]) < seats[:, None]
    own = np.where(there, points, 0.0).astype(np.float64)
    total = own.sum(axis=1, keepdims=True)
    others = (total - own) / (seats[:, None] - 1)
    return np.where(there, own - others, 0.0).astype(np.float32)
