"""Cross-play: what policies that never met lose when they sit at one table, against tables of one policy alone.

Policies that learn by self-play may come to agree on conventions that only their own copies understand; policies of other
seeds then score less together than each does with itself (Hu et al., arXiv 2003.02979). Two kinds of tables are played, on the
same deals as those of each policy alone:

| table | who sits there |
|---|---|
| `alone` | one seat of the policy, the others of another; on each seat in turn |
| `mixed` | with 4 seats or more, half of the seats each (`duplicate`) |

What counts are the points of the policy's own seats, which is not a comparison of strength: the stronger of two gains in the
other's field what the weaker loses. So the loss is the mean over all ordered pairs, in which that cancels out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from threading import Event
from typing import Any

import numpy as np

from noms_env.players.registry import NEWEST
from noms_env.variants import Rules, given_options
from noms_env.version import ENV_VERSION

from ..agents.guarded import seated
from ..agents.registry import hashes
from ..agents.spec import AgentSpec, check_together, deals_at_once, device_of, named_in_file, threads_of
from ..agents.table_pool import TablePool, play_deal_by_deal
from ..thread_pool import Ending
from .block_store import Blocks, play_left
from .deal_sets import described
from .duplicate import ALONE, LEAST_MIXED, MIXED, dealt, line_ups, played_alone, seating_of, unit_of
from .statistics import Estimate, estimate

FORMAT = "noms-crossplay/1"
MOST_DEALS = 1_000_000


@dataclass(frozen=True)
class CrossPlay:
    """Points per deal of each policy's own seats, by who else sits at the table.

    Attributes:
        names: of the policies.
        rules: of the tables.
        points: by kind of table (`alone`, `mixed`), float64, shape (policies, policies, deals): of the seats of the first at
            tables with the second; where both are the same, at tables of that policy alone.
        deal_set: name of the set of deals.
        ending: whether all deals were played.
    """

    names: tuple[str, ...]
    rules: Rules
    points: dict[str, np.ndarray]
    deal_set: str
    ending: Ending

    @property
    def deals(self) -> int:
        """Of each table."""
        return int(self.points[ALONE].shape[2])

    def loss(self, kind: str, a: int, b: int) -> Estimate:
        """What the seats of A lose at tables with B against tables of A alone."""
        return estimate(self.points[kind][a, a] - self.points[kind][a, b])

    def mean_loss(self, kind: str) -> Estimate:
        """The mean loss over all ordered pairs of different policies."""
        points, others = self.points[kind], len(self.names) - 1
        at_home = points[np.arange(len(points)), np.arange(len(points))]
        away = (points.sum(axis=1) - at_home) / others
        return estimate((at_home - away).mean(axis=0))

    def as_json(self, players: Sequence[AgentSpec]) -> dict[str, Any]:
        """All figures as plain values."""
        return {
            "format": FORMAT,
            "environment": ENV_VERSION,
            "players": list(self.names),
            "thumb_version": NEWEST,
            "policies": dict(hashes(players)),
            **named_in_file(device_of(players)),
            "variant": self.rules.variant.name,
            "seats": self.rules.seats,
            "options": given_options(self.rules),
            "deals": self.deals,
            **described(self.rules, self.deal_set),
            **unit_of(self.rules),
            "tables": {
                kind: {
                    "points": {
                        a: {b: asdict(estimate(values)) for b, values in zip(self.names, of_a, strict=True)}
                        for a, of_a in zip(self.names, points, strict=True)
                    },
                    "loss": asdict(self.mean_loss(kind)),
                }
                for kind, points in self.points.items()
            },
        }


def cross_play(
    rules: Rules,
    players: Sequence[AgentSpec],
    deals: int,
    *,
    seed: int = 0,
    deal_set: str = "dev",
    threads: int = 1,
    tick: Callable[[int], None] = lambda deals: None,
) -> CrossPlay:
    """Play the first deals of a set at all kinds of tables. Failures of players are raised.

    Args:
        rules: of the tables.
        players: two or more, of one device.
        deals: how many, from 2.
        seed: of the players' random numbers.
        deal_set: name of the set of deals.
        threads: that share the deals; they change no result. On a GPU it is one.
        tick: is told how many more deals are done.

    Raises:
        ValueError: a number is out of range, two players have one name, they are of two devices, or one cannot sit at such
            tables.
        NothingPlayedError: Ctrl-C came before two deals were done.
    """
    names = tuple(player.name for player in players)
    if len(names) < 2 or len(set(names)) < len(names):
        raise ValueError(f"cross-play needs two or more different policies, not {', '.join(names) or 'none'}")
    if not 2 <= deals <= MOST_DEALS:
        raise ValueError(f"the number of deals must be from 2 to {MOST_DEALS:,}, not {deals:,}")
    check_together(players, rules)
    tables = _Tables(rules, players, seed, deal_set)
    games = sum(len(line_up.seatings) for line_up in line_ups(rules.seats))
    blocks = Blocks[np.ndarray](deals, deals_at_once(players, games))
    ending = play_left([(blocks, tables.play)], threads_of(players, threads), tick=tick)
    points = dict(zip(tables.kinds, np.concatenate(blocks.joined(ending), axis=-1), strict=True))
    return CrossPlay(names, rules, points, deal_set, ending)


@dataclass(frozen=True)
class _Tables:
    """The tables of some policies."""

    rules: Rules
    players: Sequence[AgentSpec]
    seed: int
    deal_set: str

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds of tables that there are with so many seats."""
        return (ALONE, MIXED) if self.rules.seats >= LEAST_MIXED else (ALONE,)

    def play(self, first: int, count: int, stop: Event) -> np.ndarray:
        """Points of a block of deals, float64, shape (kinds, policies, policies, count)."""
        number = len(self.players)
        found = np.zeros((len(self.kinds), number, number, count))
        for a, player in enumerate(self.players):
            pool = played_alone(self.rules, player, first + np.arange(count), (self.seed, first), self.deal_set, stop)
            found[:, a, a] = self._points(pool).mean(axis=1)
        for a, b in combinations(range(number), 2):
            found[:, a, b], found[:, b, a] = self._pair(a, b, first, count, stop)
        return found

    def _pair(self, a: int, b: int, first: int, count: int, stop: Event) -> tuple[np.ndarray, np.ndarray]:
        """Points of A's and of B's seats at each kind of table, float64, shape (kinds, count)."""
        seats = self.rules.seats
        seatings = np.concatenate([line_up.seatings for line_up in line_ups(seats)])
        games = len(seatings)
        pool = dealt(self.rules, first + np.arange(count * games) // games, self.deal_set, device_of(self.players))
        pair = self.players[a], self.players[b]
        with seated(pair, (self.seed, first), stop, strict=True) as guards:
            deque(play_deal_by_deal(pool, guards, seating_of(np.tile(seatings, (count, 1)))), 0)
        points = self._points(pool).reshape(count, games, seats)
        of_a, of_b = _own_points(points, seatings), _own_points(points, ~seatings)
        alone = of_a[:, :seats].mean(axis=1), of_b[:, seats : 2 * seats].mean(axis=1)
        if MIXED not in self.kinds:
            return alone[0][np.newaxis], alone[1][np.newaxis]
        mixed = of_a[:, 2 * seats :].mean(axis=1), of_b[:, 2 * seats :].mean(axis=1)
        return np.stack([alone[0], mixed[0]]), np.stack([alone[1], mixed[1]])

    def _points(self, pool: TablePool) -> np.ndarray:
        """Points of each seat, float64, shape (tables, seats)."""
        points: np.ndarray = pool.tables.points[:, : self.rules.seats].astype(np.float64)
        return points


def _own_points(points: np.ndarray, seatings: np.ndarray) -> np.ndarray:
    """The mean points of some seats, float64, shape (deals, games), from shape (deals, games, seats) and (games, seats)."""
    found: np.ndarray = np.where(seatings, points, 0.0).sum(axis=2) / seatings.sum(axis=1)
    return found
