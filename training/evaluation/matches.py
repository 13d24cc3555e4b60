"""Whole matches with duplicate starts, and their winners.

A match is played once with each player alone on each seat, against the other on all other seats. All its games start with the
same cards and the same dealer. Later deals have the same cards too, unless the game does not shuffle between deals. Several
winners share the win; a player who loses a table (`guarded`) gets no share.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from threading import Event

import numpy as np

from noms_env.variants import Rules

from ..agents.guarded import seated
from ..agents.spec import AgentSpec, check_together, deals_at_once, device_of, threads_of
from ..agents.table_pool import TablePool, play_deal_by_deal
from ..thread_pool import Ending
from .behaviour_stats import SEATS
from .block_store import Blocks, play_left
from .duplicate import AGAINST, ALONE, deal_seed, line_ups, seating_of
from .statistics import Estimate, estimate

BLOCK = 16
"""Matches played side by side; with players that search each match is its own block."""


@dataclass(frozen=True)
class Matches:
    """Matches between two players, and the number of deals in all their games.

    `shares`, float64, shape (matches, 2 * seats), are A's shares of the win, alone on each seat, and then B's.
    """

    shares: np.ndarray
    deals: int
    ending: Ending

    @property
    def fair(self) -> float:
        """Share of wins that each seat has among equals."""
        return 2.0 / int(self.shares.shape[1])

    @property
    def _alone(self) -> tuple[np.ndarray, np.ndarray]:
        """Shares of each match won by A alone and by B alone."""
        a, b = np.split(self.shares, 2, axis=1)
        return a.mean(axis=1), b.mean(axis=1)

    def estimate(self, name: str) -> Estimate:
        """Return A's share of wins in `alone`, B's in `against`; a share of 0 or 1 has the exact interval.

        Its upper end for 0 wins in n matches is 1 - 0.025 ** (1 / n) (Clopper and Pearson 1934); the variance would be 0.
        """
        value = estimate(self._alone[name != ALONE])
        if value.mean not in (0, 1):
            return value
        edge = 0.025 ** (1 / value.deals)
        exact = replace(value, method="exact")
        return replace(exact, high=1 - edge) if value.mean == 0 else replace(exact, low=edge)

    def advantage(self) -> Estimate:
        """Return the mean of two differences to the fair share of wins: A's surplus when alone, and B's deficit when alone."""
        a, b = self._alone
        return estimate((a - b) / 2)


def compare_matches(
    rules: Rules,
    a: AgentSpec,
    b: AgentSpec,
    matches: int,
    *,
    seed: int = 0,
    deal_set: str = "dev",
    threads: int = 1,
    until: float | None = None,
    tick: Callable[[int], None] = lambda matches: None,
) -> Matches:
    """Play two matches or more between two players; arguments and errors are those of `comparison.compare`."""
    if matches < 2:
        raise ValueError(f"the number of matches must be 2 or more, not {matches}")
    check_together((a, b), rules)
    seatings = np.concatenate([line_up.seatings for line_up in line_ups(rules.seats, (ALONE, AGAINST))])
    block = deals_at_once((a, b), len(seatings), BLOCK if min(a.block, b.block) >= BLOCK else 1)

    def play_block(first: int, count: int, stop: Event) -> tuple[np.ndarray, int]:
        return play_matches(rules, (a, b), seatings, range(first, first + count), seed, deal_set, stop)

    blocks = Blocks[tuple[np.ndarray, int]](matches, block)
    ending = play_left([(blocks, play_block)], threads_of((a, b), threads), until=until, tick=tick)
    shares, deals = zip(*blocks.joined(ending), strict=True)
    return Matches(np.concatenate(shares), sum(deals), ending)


def play_matches(
    rules: Rules, players: Sequence[AgentSpec], seatings: np.ndarray, numbers: range, seed: int, deal_set: str, stop: Event
) -> tuple[np.ndarray, int]:
    """Play numbered matches to their ends; `seatings`, bool, shape (games, seats), is where A sits.

    Returns the lone player's share of the win, float64, shape (matches, games), and the number of deals.
    """
    games = len(seatings)
    is_a = np.tile(seatings, (len(numbers), 1))
    pool = TablePool([rules], [0], len(is_a), seed=deal_seed(deal_set), in_matches=True, device=device_of(players))
    pool.table_numbers = numbers.start + np.arange(len(is_a)) // games
    with seated(players, (seed, numbers.start), stop) as guards:
        pool.deal(0)
        deals = sum(int(playing.sum()) for playing in play_deal_by_deal(pool, guards, seating_of(is_a)))
    winners = pool.tables.winners[:, None] >> SEATS[: rules.seats] & 1
    alone_is_a = is_a.sum(axis=1) == 1
    hero = np.where(alone_is_a, is_a.argmax(axis=1), (~is_a).argmax(axis=1))
    shares = winners[np.arange(len(pool)), hero] / winners.sum(axis=1)
    rows = np.arange(len(pool))
    lost_by_a, lost_by_b = (np.isin(rows, list(guard.lost)) for guard in guards)
    shares = np.where(np.where(alone_is_a, lost_by_b, lost_by_a), 1.0, shares)
    shares = np.where(np.where(alone_is_a, lost_by_a, lost_by_b), 0.0, shares)
    return shares.reshape(len(numbers), games), deals
