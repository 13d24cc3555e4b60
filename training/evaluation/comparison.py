"""Comparison of two players, A and B, on duplicate deals: how many points per deal A is better, by line-up and role.

The value of a deal in a line-up is the mean over its games (`duplicate`). All line-ups have equal weight.

Properties of the deal serve as control variates: its hand size, if that varies, and the sum and spread of the points of
`thumb:1` against itself on the same cards. (Its points on single seats would not help: over all rotations they add up to 0.)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from threading import Event
from typing import Any

import numpy as np

from noms_env.envs.validation import Device
from noms_env.variants import Rules
from noms_env.variants.families import EXACT_BID

from ..agents.registry import label
from ..agents.spec import BLOCK, AgentSpec, check_together, deals_at_once, device_of, threads_of
from ..thread_pool import Ending, InOrder
from .behaviour_stats import Tally, count_deals
from .block_store import Blocks, play_left
from .duplicate import ALONE, FIRST_OTHER, LINE_UPS, OTHER_DEALS, Block, LineUp, Pairing, line_ups, played_alone
from .statistics import POWER, Estimate, deals_needed, estimate, with_controls

MAX_CONTROLLED = 20_000
"""With more deals, unless a player searches, only the hand size is controlled: the interval is narrow enough."""
MAX_DEALS = FIRST_OTHER // OTHER_DEALS


@dataclass(frozen=True)
class Comparison:
    """Result of A against B; `seed` is the seed of the players, and `ending` says whether all deals were played."""

    names: tuple[str, str]
    rules: Rules
    line_ups: list[LineUp]
    played: Block
    seed: int
    deal_set: str
    ending: Ending
    device: Device = "cpu"

    @property
    def deals(self) -> int:
        return len(self.played.values)

    @property
    def games(self) -> int:
        """Games per deal."""
        return int(self.played.values.shape[1])

    def per_deal(self, name: str | None = None, first: bool = False) -> np.ndarray:
        """Return the value of each deal (or of first deals alone) in a line-up, or over all: float64, shape (deals,)."""
        ends = np.cumsum([len(line_up.seatings) for line_up in self.line_ups])[:-1]
        parts = np.split(self.played.first if first else self.played.values, ends, axis=1)
        means = {line_up.name: part.mean(axis=1) for line_up, part in zip(self.line_ups, parts, strict=True)}
        values: np.ndarray = np.mean(list(means.values()), axis=0) if name is None else means[name]
        return values

    def estimate(self, name: str | None = None, first: bool = False) -> Estimate:
        """Return by how many points per deal (or in first deals alone) A is better in a line-up, or over all."""
        return estimate(self.per_deal(name, first))

    @cached_property
    def controlled(self) -> Estimate | None:
        """The estimate over all line-ups with control variates; None if they do not help."""
        sizes = size_features(self.rules, self.played.sizes)
        return with_controls(self.per_deal(), sizes, self.played.features, self.played.others)

    @cached_property
    def variance_ratio(self) -> float:
        """Variance, relative to that of as many independent deals, each played in one of the seatings; 0 without variance."""
        sizes = np.array([len(line_up.seatings) for line_up in self.line_ups])
        weights = np.repeat(1 / sizes, sizes)
        weights /= weights.sum()
        alone = float((self.played.values**2).mean(axis=0) @ weights - (self.played.values.mean(axis=0) @ weights) ** 2)
        return float(self.per_deal().var()) / alone if alone > 0 else 0.0

    @property
    def game_ratio(self) -> float:
        """Variance, relative to that of as many games, each on its own deal."""
        return self.variance_ratio * self.games

    @property
    def detectable(self) -> float:
        """Difference that these deals detect with a probability of 80 %."""
        return POWER * self.estimate().standard_error

    def needed(self, difference: float) -> int:
        """Return how many deals detect a difference with a probability of 80 %."""
        return deals_needed(float(self.per_deal().std(ddof=1)), difference)


def size_features(rules: Rules, sizes: np.ndarray) -> np.ndarray:
    """Return indicators of the hand size less their probabilities, float64, shape (deals, sizes - 1), in exact-bid games."""
    if rules.variant.family != EXACT_BID:
        return np.empty((len(sizes), 0))
    schedule = np.array(rules.schedule)
    possible = np.unique(schedule)[1:]
    features: np.ndarray = (sizes[:, None] == possible) - (schedule[:, None] == possible).mean(axis=0)
    return features


def compare(
    rules: Rules,
    a: AgentSpec,
    b: AgentSpec,
    deals: int,
    *,
    seed: int = 0,
    deal_set: str = "dev",
    names: Collection[str] = LINE_UPS,
    threads: int = 1,
    until: float | None = None,
    tick: Callable[[int], None] = lambda deals: None,
) -> Comparison:
    """Play the first deals of a set, at least 2, in several seatings, between two players of one device.

    `seed`, 0 to 2**63 - 1, is for the players' random numbers, and `names` are the line-ups; those that need more seats are
    skipped. `threads`, `until` and `tick` are as for `play_left`; on a GPU there is one thread.

    Raises:
        ValueError: a number is out of range, no line-up is left, a player cannot play at such a table, or the players are of
            two devices.
        NothingPlayedError: stopped before two deals were done.
    """
    if not 2 <= deals <= MAX_DEALS:
        raise ValueError(f"the number of deals must be from 2 to {MAX_DEALS:,}, not {deals}")
    check_together((a, b), rules)
    controlled = deals <= MAX_CONTROLLED or min(a.block, b.block) < BLOCK
    pairing = Pairing(rules, (a, b), line_ups(rules.seats, names), seed, deal_set, controlled)
    blocks = Blocks[list[Block]](deals, pairing.at_once)
    ending = play_left([(blocks, pairing.play_blocks)], threads_of((a, b), threads), until=until, tick=tick)
    played = Block.joined([block for part in blocks.joined(ending) for block in part])
    return Comparison((a.name, b.name), rules, pairing.line_ups, played, seed, deal_set, ending, device_of((a, b)))


Runner = Callable[[Sequence[Callable[[], Any]]], Sequence[Any]]
"""Runs jobs, possibly in threads, and returns their results in order."""
SERIAL: Runner = InOrder().all


def figures(
    rule_sets: Sequence[Rules],
    hero: AgentSpec,
    panel: Sequence[AgentSpec],
    deals: int,
    *,
    seed: int = 0,
    probes: bool = True,
    runner: Runner = SERIAL,
) -> dict[str, float]:
    """Evaluate the policy of a training run for its log, on deals of the set `dev`. Failures of players are raised.

    Under each rule set the hero plays `deals` duplicate deals alone against each opponent of the panel. For the probes it plays
    the same number against itself. The runner may run the blocks in parallel; the result is the same.

    Returns:
        `points/<rules>/<opponent>` with `.../low` and `.../high`, and `probe/<rules>/<probe>` of self-play. A slash in the name
        of an opponent becomes a colon.
    """
    figures: dict[str, float] = {}
    for rules in rule_sets:
        for opponent in panel:
            points, key = alone_in_field(rules, hero, opponent, deals, seed=seed, runner=runner), points_figure(rules, opponent)
            figures |= {key: points.mean, f"{key}/low": points.low, f"{key}/high": points.high}
        if probes:
            means = self_play(rules, hero, deals, seed=seed, runner=runner).means()
            figures |= {f"probe/{label(rules)}/{probe}": mean for probe, mean in means.items()}
    return figures


def points_figure(rules: Rules, opponent: AgentSpec) -> str:
    """Return the metric name of the points above an opponent: see `figures`."""
    return f"points/{label(rules)}/{opponent.name.replace('/', ':')}"


def alone_in_field(
    rules: Rules, hero: AgentSpec, opponent: AgentSpec, deals: int, *, seed: int = 0, runner: Runner = SERIAL
) -> Estimate:
    """Return the points per deal of one player less the mean of the others', with an opponent on all other seats.

    Failures of the players are raised. The arguments are those of `figures`.
    """
    pairing = Pairing(rules, (hero, opponent), line_ups(rules.seats, (ALONE,)), seed, strict=True)
    jobs = [partial(pairing.play_blocks, *block, Event()) for block in Blocks[None](deals, pairing.at_once)]
    parts = runner(jobs)
    return estimate(np.concatenate([block.values.mean(axis=1) for blocks in parts for block in blocks]))


def self_play(rules: Rules, player: AgentSpec, deals: int, *, seed: int = 0, runner: Runner = SERIAL) -> Tally:
    """Count a player's behaviour in self-play, each deal once; the arguments are those of `figures`."""

    def job(first: int, count: int) -> Tally:
        pool = played_alone(rules, player, first + np.arange(count), (seed, first), "dev", Event())
        return count_deals(pool.tables, rules)

    return sum(runner([partial(job, *block) for block in Blocks[None](deals, deals_at_once([player], 1))]), Tally())
