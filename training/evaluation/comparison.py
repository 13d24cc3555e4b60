"""Two players, A and B, on duplicate deals: how many points a deal A is better, in which line-ups, roles and matches.

Each deal (the same cards, the same dealer) is played in several seatings, so that each player has had each seat:

| line-up | games of a deal | who sits there |
|---|---|---|
| `alone` | one for each seat | A on that seat, B on all others |
| `against` | one for each seat | B on that seat, A on all others |
| `mixed` | with 4 seats or more | half of the seats A's, half B's: side by side and, if the seats are even, in turn |

The value of a game is the mean of the points of A's seats less the mean of those of B's. That of a deal in a line-up is the
mean over its games; all line-ups together count alike. A table that a player has lost (`guarded`) counts as if all its seats
had the fewest points of that table, and the others the most.

The deal's own value serves as a control variate: how many cards, where that varies, and the sum and the spread of the points
that `thumb` makes against itself on the same cards. (Its points on each seat would be no help: over all rotations they add
up to nothing.)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from threading import Event
from typing import TypeVar

import numpy as np

from noms_env.core.actions import CALL_WORDS
from noms_env.core.state import MAX_SEATS
from noms_env.variants import Rules
from noms_env.variants.families import AUCTION, EXACT_BID, PLAIN, SHARES
from training.agents.guarded import Guarded, guarded
from training.agents.registry import BLOCK, AgentSpec, guest
from training.agents.table_pool import TablePool, play
from training.evaluation.behaviour_stats import SEATS, Tally, count_deals
from training.evaluation.duplicate import DealSet, deal_seed, dealt
from training.evaluation.statistics import (
    Controls,
    Estimate,
    Groups,
    deals_needed,
    estimate,
    smallest_difference,
    with_controls,
)
from training.workers import Ending, run_jobs

ALONE, AGAINST, MIXED = LINE_UPS = ("alone", "against", "mixed")
LEAST_MIXED = 4
"""Seats from which on mixed tables are played."""
OTHER_DEALS = 4
"""Deals for the expectation of the control variate, for each deal that is compared."""
FIRST_OTHER = 1 << 30
"""Number of the first of these; the deals that are compared are below."""
MOST_CONTROLLED = 20_000
"""With more deals of players that do not search only the number of cards is controlled: the interval is narrow enough."""
MOST_DEALS = FIRST_OTHER // OTHER_DEALS
PLACES = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh")


@dataclass(frozen=True)
class LineUp:
    """Seatings of A and B.

    Attributes:
        name: `alone`, `against` or `mixed`.
        seatings: bool, shape (games, seats): where A sits.
    """

    name: str
    seatings: np.ndarray


def line_ups(seats: int, names: Collection[str] = LINE_UPS) -> list[LineUp]:
    """The line-ups of these names for a number of seats, in the order of the table; each player has each seat equally often.

    Raises:
        ValueError: a name is unknown, or there is no such line-up at so few seats.
    """
    unknown = [name for name in names if name not in LINE_UPS]
    if unknown:
        raise ValueError(f"there is no line-up {unknown[0]!r}; they are {', '.join(LINE_UPS)}")
    one = np.eye(seats, dtype=np.bool_)
    found = [LineUp(name, seatings) for name, seatings in ((ALONE, one), (AGAINST, ~one)) if name in names]
    if MIXED in names and seats >= LEAST_MIXED:
        half = np.arange(seats) < seats // 2
        together = np.array([np.roll(half, turn) for turn in range(seats)])
        other = ~together if seats % 2 else np.array([np.arange(seats) % 2 == parity for parity in (0, 1)])
        found.append(LineUp(MIXED, np.concatenate([together, other])))
    if not found:
        raise ValueError(f"with {seats} seats there are only the line-ups {ALONE} and {AGAINST}")
    return found


@dataclass
class Lost:
    """Tables that a player has lost.

    Attributes:
        tables: how many.
        why: the first reasons.
    """

    tables: int = 0
    why: list[str] = field(default_factory=list)

    def __add__(self, other: Lost) -> Lost:
        """Both together."""
        return Lost(self.tables + other.tables, list(dict.fromkeys([*self.why, *other.why]))[:3])


@dataclass(frozen=True)
class Block:
    """What came of some deals.

    Attributes:
        values: float64, shape (deals, games).
        sizes: int16, shape (deals,): cards dealt to each seat.
        groups: of A alone and of B alone (from B's point of view).
        probes: likewise.
        lost: tables lost by A and by B.
        features: float64, shape (deals, 2), or (0, 2): the sum and the spread of `thumb`'s points on the same cards.
        others: float64, shape (others, 2): likewise on other deals.
    """

    values: np.ndarray
    sizes: np.ndarray
    groups: tuple[Groups, Groups]
    probes: tuple[Tally, Tally]
    lost: tuple[Lost, Lost]
    features: np.ndarray
    others: np.ndarray

    @classmethod
    def joined(cls, blocks: Sequence[Block]) -> Block:
        """All together."""
        return cls(
            values=np.concatenate([block.values for block in blocks]),
            sizes=np.concatenate([block.sizes for block in blocks]),
            groups=_summed([block.groups for block in blocks], Groups()),
            probes=_summed([block.probes for block in blocks], Tally()),
            lost=_summed([block.lost for block in blocks], Lost()),
            features=np.concatenate([block.features for block in blocks]),
            others=np.concatenate([block.others for block in blocks]),
        )


Sum = TypeVar("Sum", Groups, Tally, Lost)


def _summed(pairs: Sequence[tuple[Sum, Sum]], nothing: Sum) -> tuple[Sum, Sum]:
    """Pairs of things that add up."""
    both = (nothing, nothing)
    for a, b in pairs:
        both = (both[0] + a, both[1] + b)
    return both


# ---------------------------------------------------------------------------------------------------------- the result


@dataclass(frozen=True)
class Comparison:
    """What came of A and B.

    Attributes:
        names: of A and B.
        kind: the rules.
        line_ups: what was played.
        played: the deals.
        seed: of the players and the resampling.
        deal_set: whose deals.
        ending: whether all deals were played.
    """

    names: tuple[str, str]
    kind: Rules
    line_ups: list[LineUp]
    played: Block
    seed: int
    deal_set: DealSet
    ending: Ending

    @property
    def deals(self) -> int:
        """How many."""
        return len(self.played.values)

    @property
    def games(self) -> int:
        """How many of each deal."""
        return int(self.played.values.shape[1])

    def per_deal(self, name: str | None = None) -> np.ndarray:
        """The value of each deal in a line-up, or in all together: float64, shape (deals,)."""
        ends = np.cumsum([len(line_up.seatings) for line_up in self.line_ups])[:-1]
        parts = np.split(self.played.values, ends, axis=1)
        means = {line_up.name: part.mean(axis=1) for line_up, part in zip(self.line_ups, parts, strict=True)}
        values: np.ndarray = np.mean(list(means.values()), axis=0) if name is None else means[name]
        return values

    def estimate(self, name: str | None = None) -> Estimate:
        """Points per deal that A is better in a line-up, or in all together."""
        return estimate(self.per_deal(name), self.seed)

    @cached_property
    def controlled(self) -> Estimate | None:
        """The same for all together, with the control variate; None where it is no help."""
        return with_controls(self.per_deal(), self.controls())

    def controls(self) -> Controls:
        """What the control variate rests on."""
        return Controls(size_features(self.kind, self.played.sizes), self.played.features, self.played.others)

    @cached_property
    def variance_ratio(self) -> float:
        """Variance over that of as many independent deals, each played once, in one of the same seatings; 0 if none varies."""
        weights = np.repeat([1 / len(one.seatings) for one in self.line_ups], [len(one.seatings) for one in self.line_ups])
        weights /= weights.sum()
        alone = float((self.played.values**2).mean(axis=0) @ weights - (self.played.values.mean(axis=0) @ weights) ** 2)
        return float(self.per_deal().var()) / alone if alone > 0 else 0.0

    @property
    def game_ratio(self) -> float:
        """The same over that of as many games, each on a deal of its own."""
        return self.variance_ratio * self.games

    @property
    def found(self) -> float:
        """The difference that these deals find with a probability of 80 %."""
        return smallest_difference(self.estimate().standard_error)

    def needed(self, difference: float) -> int:
        """Deals that find a difference with a probability of 80 %."""
        return deals_needed(float(self.per_deal().std(ddof=1)), difference)


def size_features(kind: Rules, sizes: np.ndarray) -> np.ndarray:
    """Indicators of the hand size less their probabilities, float64, shape (deals, sizes - 1); without columns elsewhere."""
    if kind.variant.family != EXACT_BID:
        return np.empty((len(sizes), 0))
    schedule = np.array(kind.schedule)
    possible = np.unique(schedule)[1:]
    features: np.ndarray = (sizes[:, None] == possible) - (schedule[:, None] == possible).mean(axis=0)
    return features


# ------------------------------------------------------------------------------------------------------------- playing


def compare(
    kind: Rules,
    a: AgentSpec,
    b: AgentSpec,
    deals: int,
    *,
    seed: int = 0,
    deal_set: DealSet = "dev",
    names: Collection[str] = LINE_UPS,
    threads: int = 1,
    until: float | None = None,
    limit: float | None = None,
    tick: Callable[[int], None] = lambda deals: None,
) -> Comparison:
    """Play duplicate deals between two players.

    Args:
        kind: the rules.
        a: the first player.
        b: the second.
        deals: how many; at least 2.
        seed: of what is random in the players, 0 to 2**63 - 1.
        deal_set: the first deals of this set are played.
        names: the line-ups that are played; those that need more seats than there are are left out.
        threads: that share the blocks; the result is the same.
        until: when to stop, on the clock of `time.monotonic`.
        limit: seconds for a decision (`Guarded`); results depend on the machine then.
        tick: is told how many more deals are done.

    Returns:
        The comparison; `ending` says whether all deals were played.

    Raises:
        ValueError: a number is out of range, no line-up is left, or one of the players cannot sit at such a table.
        NothingPlayedError: it was stopped before two deals were done.
    """
    if not 2 <= deals <= MOST_DEALS:
        raise ValueError(f"the number of deals must be from 2 to {MOST_DEALS:,}, not {deals}")
    for player in (a, b):
        player.check(kind)
    controlled = deals <= MOST_CONTROLLED or min(a.block, b.block) < BLOCK
    task = Task(kind, (a, b), line_ups(kind.seats, names), seed, deal_set, controlled, limit)
    done = run_jobs(task.jobs(deals), threads, until=until, tick=lambda _, block: tick(len(block.values)))
    if sum(len(block.values) for block in done.results) < 2:
        raise NothingPlayedError(done.ending)
    played = Block.joined(done.results)
    return Comparison((a.name, b.name), kind, task.line_ups, played, seed, deal_set, done.ending)


class NothingPlayedError(Exception):
    """Stopped before there was anything to tell.

    Attributes:
        ending: what stopped it.
    """

    def __init__(self, ending: Ending) -> None:
        """Say so."""
        super().__init__("stopped before two deals were done")
        self.ending = ending


@dataclass(frozen=True)
class Task:
    """Blocks of deals between two players; see `compare`."""

    kind: Rules
    players: tuple[AgentSpec, AgentSpec]
    line_ups: list[LineUp]
    seed: int
    deal_set: DealSet
    controlled: bool = True
    limit: float | None = None

    @property
    def block(self) -> int:
        """Deals of a block."""
        return min(player.block for player in self.players)

    def jobs(self, deals: int) -> Iterator[Callable[[Event], Block]]:
        """What there is to do for so many deals, block by block."""
        return (self.job(first, min(self.block, deals - first)) for first in range(0, deals, self.block))

    def job(self, first: int, count: int) -> Callable[[Event], Block]:
        """One block."""
        return lambda stop: self.play(first, count, stop)

    def play(self, first: int, count: int, stop: Event) -> Block:
        """Play a block: the games of a deal lie side by side.

        Raises:
            Stopped: the event was set.
        """
        kind = self.kind
        seatings = np.concatenate([line_up.seatings for line_up in self.line_ups])
        games = len(seatings)
        is_a = np.tile(seatings, (count, 1))
        pool = dealt(kind, first + np.arange(count * games) // games, deal_seed(self.deal_set))
        seating = np.ones((len(pool), MAX_SEATS), np.int64)
        seating[:, : kind.seats] = ~is_a
        with guarded(self.players, (self.seed, first), stop, self.limit) as guards:
            play(pool, guards, seating)
        values = game_values(pool, is_a, guards).reshape(count, games)
        groups, probes = self._sides(pool, is_a, values, guards)
        features, others = self._features(first, count, stop)
        sizes = pool.batch.tables.hand_size[::games].copy()
        lost = (_lost(guards[0]), _lost(guards[1]))
        return Block(values, sizes, groups, probes, lost, features, others)

    def _sides(
        self, pool: TablePool, is_a: np.ndarray, values: np.ndarray, guards: Sequence[Guarded]
    ) -> tuple[tuple[Groups, Groups], tuple[Tally, Tally]]:
        """Roles and probes of each player where it is alone; nothing where that is not played."""
        count, games = values.shape
        seats = self.kind.seats
        names = [line_up.name for line_up in self.line_ups]
        fine = np.ones(len(pool), np.bool_)
        fine[[*guards[0].lost, *guards[1].lost]] = False
        groups, probes = (Groups(), Groups()), (Tally(), Tally())
        sides = list(probes)
        for side, (name, sign) in enumerate(((ALONE, 1.0), (AGAINST, -1.0))):
            if name not in names:
                continue
            first = seats * names.index(name)  # both have one game for each seat, and only mixed tables come behind them
            rows = (np.arange(count)[:, None] * games + first + np.arange(seats)).reshape(-1)
            tables, hero = pool.batch.tables[rows], np.tile(np.arange(seats), count)
            own = sign * values[:, first : first + seats]
            add_roles(groups[side], self.kind, tables, hero, own, fine[rows].reshape(count, seats))
            kept = fine[rows]
            sides[side] = count_deals(tables[kept], self.kind, hero[kept, None] == SEATS)
        return groups, (sides[0], sides[1])

    def _features(self, first: int, count: int, stop: Event) -> tuple[np.ndarray, np.ndarray]:
        """What `thumb` makes of the same deals, and of others."""
        if not self.controlled:
            return np.empty((0, 2)), np.empty((0, 2))
        others = FIRST_OTHER + OTHER_DEALS * first + np.arange(OTHER_DEALS * count)
        numbers = np.concatenate([first + np.arange(count), others])
        pool = dealt(self.kind, numbers, deal_seed(self.deal_set))
        thumb = Guarded(guest("thumb")(np.random.default_rng([self.seed, first])), stop)
        play(pool, [thumb], np.zeros((len(pool), MAX_SEATS), np.int64))
        points = pool.batch.tables.points[:, : self.kind.seats]
        features = np.stack([points.sum(axis=1), points.std(axis=1)], axis=1)
        return features[:count], features[count:]


def game_values(pool: TablePool, is_a: np.ndarray, guards: Sequence[Guarded]) -> np.ndarray:
    """The value of each game: the mean of the points of A's seats less that of B's.

    Args:
        pool: the tables, at the end of their deals.
        is_a: bool, shape (n, seats): where A sits.
        guards: A and B.

    Returns:
        float64, shape (n,).
    """
    points = pool.batch.tables.points[:, : is_a.shape[1]]
    own = np.where(is_a, points, 0.0).sum(axis=1) / is_a.sum(axis=1)
    others = np.where(is_a, 0.0, points).sum(axis=1) / (~is_a).sum(axis=1)
    values: np.ndarray = own - others
    spread = points.max(axis=1) - points.min(axis=1)
    lost_by_a, lost_by_b = (np.isin(np.arange(len(pool)), list(guard.lost)) for guard in guards)
    return np.where(lost_by_a | lost_by_b, spread * (lost_by_b * 1.0 - lost_by_a), values)


def _lost(guard: Guarded) -> Lost:
    """What a player has lost in a block."""
    return Lost(len(guard.lost), list(dict.fromkeys(guard.lost.values()))[:3])


# --------------------------------------------------------------------------------------------------------------- roles


def add_roles(
    groups: Groups, kind: Rules, tables: np.recarray, hero: np.ndarray, values: np.ndarray, counted: np.ndarray
) -> None:
    """Count games by what the hero was in them.

    Args:
        groups: counts them.
        kind: the rules.
        tables: records at the end of the deals, shape (deals * games,).
        hero: int64, shape (deals * games,): the hero's seat.
        values: float64, shape (deals, games): the hero's points less the mean of the others'.
        counted: bool, shape (deals, games): which games count.
    """
    for grouping, names, codes in roles(kind, tables, hero):
        shaped = codes.reshape(values.shape)
        for code, name in enumerate(names):
            groups.add(grouping, name, values, counted & (shaped == code))


def roles(kind: Rules, tables: np.recarray, hero: np.ndarray) -> list[tuple[str, list[str], np.ndarray]]:
    """Groupings of games: what each is called, the names of its groups, and the number of each game's group, shape (n,)."""
    family = kind.variant.family
    place = (hero - tables.dealer - 1) % kind.seats
    found = [("caller" if family != PLAIN else "seat after the dealer", list(PLACES[: kind.seats]), place)]
    if family == AUCTION:
        role = np.where(tables.declarer == hero, 0, np.where(tables.partner == hero, 1, 2))
        role = np.where(tables.declarer < 0, 3, role)
        found.insert(0, ("role", ["declarer", "partner", "defender", "passed out"], role))
    if family == EXACT_BID:
        sizes = sorted(set(kind.schedule))
        found.append(("cards", [str(size) for size in sizes], np.searchsorted(sizes, tables.hand_size)))
    if family == SHARES:
        call = tables.call[np.arange(len(tables)), hero]
        calls = np.unique(call)
        found.insert(0, ("call", [CALL_WORDS[number] for number in calls], np.searchsorted(calls, call)))
    return found
