"""Cross-play: the loss of independently trained policies at one table, against tables of one policy alone.

Policies trained by self-play may agree on conventions that only their own copies understand. Policies of different seeds then
score less together than each does with itself (Hu et al., arXiv 2003.02979). Two kinds of tables are played, on the same deals
as the tables of each policy alone:

| table | seats |
|---|---|
| `alone` | the policy on one seat, another policy on the others; each seat in turn |
| `mixed` | with 4 seats or more, half of the seats each (`duplicate`) |

Only the points of the policy's own seats count. They do not compare strength: the stronger of two gains in the other's field
what the weaker loses. This cancels out in the loss, the mean over all ordered pairs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import combinations
from threading import Event
from typing import Any

import numpy as np

from noms_env.players.registry import NEWEST
from noms_env.variants import Rules
from noms_env.version import ENV_VERSION

from ..agents.guarded import seated
from ..agents.registry import hashes
from ..agents.spec import AgentSpec, check_together, deals_at_once, describe_device, device_of, threads_of
from ..agents.table_pool import play_deal_by_deal
from ..thread_pool import Ending
from .block_store import Blocks, play_left
from .deal_sets import describe_tables
from .duplicate import AGAINST, ALONE, dealt, line_ups, played_alone, seating_of
from .statistics import Estimate, estimate

FORMAT = "noms-crossplay/1"
MAX_DEALS = 1_000_000


@dataclass(frozen=True)
class CrossPlay:
    """Points per deal of each policy's own seats, by policy on the other seats.

    `points`, by kind of table (`alone`, `mixed`), are float64, shape (policies, policies, deals): those of the first policy's
    seats at tables with the second; on the diagonal, at tables of that policy alone. `ending` says if all deals were played.
    """

    names: tuple[str, ...]
    rules: Rules
    points: dict[str, np.ndarray]
    deal_set: str
    ending: Ending

    @property
    def deals(self) -> int:
        return int(self.points[ALONE].shape[2])

    def loss(self, kind: str, a: int, b: int) -> Estimate:
        """Return the loss of A's seats at tables with B against tables of A alone."""
        return estimate(self.points[kind][a, a] - self.points[kind][a, b])

    def mean_loss(self, kind: str) -> Estimate:
        """Return the mean loss over all ordered pairs of different policies."""
        points = self.points[kind]
        at_home = points.diagonal().T
        away = (points.sum(axis=1) - at_home) / (len(points) - 1)
        return estimate((at_home - away).mean(axis=0))

    def as_json(self, players: Sequence[AgentSpec]) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "environment": ENV_VERSION,
            "players": list(self.names),
            "thumb_version": NEWEST,
            "policies": dict(hashes(players)),
            **describe_device(device_of(players)),
            **describe_tables(self.rules, self.deal_set),
            "deals": self.deals,
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
    """Play the first deals of a set at all kinds of tables; arguments and errors are those of `comparison.compare`.

    Any error of a player is raised, too, and a ValueError if two of them have the same name.
    """
    names = tuple(player.name for player in players)
    if len(names) < 2 or len(set(names)) < len(names):
        raise ValueError(f"cross-play needs two or more different policies, not {', '.join(names) or 'none'}")
    if not 2 <= deals <= MAX_DEALS:
        raise ValueError(f"the number of deals must be from 2 to {MAX_DEALS:,}, not {deals:,}")
    check_together(players, rules)
    seatings = line_ups(rules.seats)
    blocks = Blocks[np.ndarray](deals, deals_at_once(players, sum(len(line_up.seatings) for line_up in seatings)))
    play = partial(play_block, rules, players, seed, deal_set)
    ending = play_left([(blocks, play)], threads_of(players, threads), tick=tick)
    kinds = [line_up.name for line_up in seatings if line_up.name != AGAINST]
    points = dict(zip(kinds, np.concatenate(blocks.joined(ending), axis=-1), strict=True))
    return CrossPlay(names, rules, points, deal_set, ending)


def play_block(
    rules: Rules, players: Sequence[AgentSpec], seed: int, deal_set: str, first: int, count: int, stop: Event
) -> np.ndarray:
    """Return the points of a block of deals, float64, shape (kinds, policies, policies, count): see `CrossPlay`."""
    seats, number = rules.seats, len(players)
    kinds = line_ups(seats)
    seatings = np.concatenate([line_up.seatings for line_up in kinds])
    games = len(seatings)
    points = np.zeros((len(kinds) - 1, number, number, count))
    for a, player in enumerate(players):
        pool = played_alone(rules, player, first + np.arange(count), (seed, first), deal_set, stop)
        points[:, a, a] = pool.tables.points[:, :seats].mean(axis=1)
    for a, b in combinations(range(number), 2):
        pool = dealt(rules, first + np.arange(count * games) // games, deal_set, device_of(players))
        with seated((players[a], players[b]), (seed, first), stop, strict=True) as guards:
            deque(play_deal_by_deal(pool, guards, seating_of(np.tile(seatings, (count, 1)))), 0)
        of_seats = pool.tables.points[:, :seats].reshape(count, games, seats)
        of_a, of_b = (np.where(own, of_seats, 0.0).sum(axis=2) / own.sum(axis=1) for own in (seatings, ~seatings))
        points[0, a, b], points[0, b, a] = of_a[:, :seats].mean(axis=1), of_b[:, seats : 2 * seats].mean(axis=1)
        if len(points) > 1:
            points[1, a, b], points[1, b, a] = (own[:, 2 * seats :].mean(axis=1) for own in (of_a, of_b))
    return points
