"""Duplicate deals: the same cards are played in several seatings, so that luck of the cards and of the seat cancels out.

Two players, A and B, play each deal (the same cards, the same dealer) in line-ups. Each player has each seat equally often:

| line-up | games of a deal | seats |
|---|---|---|
| `alone` | one for each seat | A on that seat, B on all others |
| `against` | one for each seat | B on that seat, A on all others |
| `mixed` | with 4 seats or more | half of the seats A's, half B's: adjacent and, for an even number of seats, alternating |

A deal is a scored deal, like an episode of the environment with `episode="deal"`: if all pass, play continues with the next
deals of the match (in noms the sorted deck, cut, and a double hand) until one is scored. These deals depend only on the
passed-out hands and on the deal's own random numbers. So they are the same in all seatings that reach them.

The value of a game is the mean of the points of A's seats less the mean of the points of B's seats. If a player loses a table
(`guarded`), its seats count with the fewest points of that table, and the others with the most. Deals are independent of each
other, but the games of a deal are not: a deal is the unit of all statistics.

The deals of a set are frozen: they follow from its name and their number. The players' random numbers follow from a seed and
from the block of deals, so threads may share the blocks in any way. On a GPU, the random numbers of a decision follow from the
seed, the deal, the seating and the number of the decision. So players that draw have other figures there; all other players
have the same. In the exact-bid games hand sizes are as frequent as in a match.

B may be several players. Then the set, the deal and the seat decide which of them plays a seat, in all seatings of the deal.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, fields
from functools import reduce
from operator import add
from threading import Event
from typing import Any, NamedTuple

import numpy as np

from noms_env.core.actions import brief, is_integer
from noms_env.core.state import MAX_SEATS
from noms_env.envs.validation import Device
from noms_env.variants import Rules

from ..agents.guarded import Guarded, seated
from ..agents.registry import agent_spec
from ..agents.spec import AgentSpec, deals_at_once, device_of
from ..agents.table_pool import OnGpu, TablePool, play_deal_by_deal
from ..text import printable
from .behaviour_stats import SEATS, Tally, count_deals, roles
from .statistics import Groups


class SaltedSet(str):
    """A set of deals that follow from its name and a secret; only the owner of the secret can look them up."""

    salt: bytes

    def __new__(cls, name: str, salt: bytes) -> SaltedSet:
        salted = super().__new__(cls, f"{name}, salted")
        salted.salt = salt
        return salted


ALONE, AGAINST, MIXED = LINE_UPS = ("alone", "against", "mixed")
CONTROL = "thumb:1"
"""Player whose points on the same cards are the control variate; of a fixed version, so that intervals can be reproduced."""
MIN_MIXED_SEATS = 4
"""Smallest number of seats with mixed tables."""
OTHER_DEALS = 4
"""Extra deals per compared deal, for the expectation of the control variate."""
FIRST_OTHER = 1 << 30
"""Number of the first extra deal; compared deals have smaller numbers."""


def unit_of(rules: Rules) -> dict[str, str]:
    """Return the unit of a deal for files of results; empty for games without pass-outs, where each deal is scored."""
    return {"unit": "scored deal"} if rules.variant.passes_out else {}


def deal_seed(name: str) -> int:
    """Return the seed of a set of deals, 0 to 2**63 - 1; never change it, since old and new figures would not compare."""
    salt = name.salt if isinstance(name, SaltedSet) else b""
    return int.from_bytes(hashlib.sha256(f"noms-env deals {name}".encode() + salt).digest()[:8], "big") >> 1


def dealt(rules: Rules, numbers: np.ndarray, deal_set: str, device: Device = "cpu") -> TablePool:
    """Deal a table for each deal number; `numbers`, int64, shape (n,), are 0 to 2**32 - 1."""
    pool = TablePool([rules], [0], len(numbers), seed=deal_seed(deal_set), device=device)
    pool.table_numbers = numbers
    pool.deal(0)
    return pool


class LineUp(NamedTuple):
    """Named seatings of A and B; `seatings`, bool, shape (games, seats), is where A sits."""

    name: str
    seatings: np.ndarray


def line_ups(seats: int, names: Collection[str] = LINE_UPS) -> list[LineUp]:
    """Return the named line-ups for a number of seats, in the order of the table; each player has each seat equally often.

    Raises:
        ValueError: a name is unknown, or none of these line-ups exists for this number of seats.
    """
    unknown = [name for name in names if name not in LINE_UPS]
    if unknown:
        raise ValueError(f"there is no line-up {unknown[0]!r}; they are {', '.join(LINE_UPS)}")
    alone = np.eye(seats, dtype=np.bool_)
    chosen = [LineUp(name, seatings) for name, seatings in ((ALONE, alone), (AGAINST, ~alone)) if name in names]
    if MIXED in names and seats >= MIN_MIXED_SEATS:
        half = np.arange(seats) < seats // 2
        together = np.array([np.roll(half, turn) for turn in range(seats)])
        other = ~together if seats % 2 else np.array([np.arange(seats) % 2 == parity for parity in (0, 1)])
        chosen.append(LineUp(MIXED, np.concatenate([together, other])))
    if not chosen:
        raise ValueError(f"with {seats} seats there are only the line-ups {ALONE} and {AGAINST}")
    return chosen


def seating_of(is_a: np.ndarray, others: np.ndarray | int = 1) -> np.ndarray:
    """Return the player on each seat, for `play_deal_by_deal`: 0 for A, and one of `others` for B; int64, shape (n, MAX_SEATS).

    `is_a`, bool, shape (n, seats), is where A sits. `others`, int64, shape (n, seats), or one number for all, are 1 or more.
    """
    seating = np.ones((len(is_a), MAX_SEATS), np.int64)
    seating[:, : is_a.shape[1]] = np.where(is_a, 0, others)
    return seating


def drawn_others(numbers: Sequence[int] | np.ndarray, seats: int, players: int, deal_set: str) -> np.ndarray:
    """Draw one of several players for each of B's seats, by the set of deals, the deal and the seat.

    `numbers`, shape (n,), are deals. Returns int64, shape (n, seats), uniform from 1 to `players`.
    """
    seed = deal_seed(deal_set)
    keys = (f"noms-env others {seed} {number} {seat}" for number in numbers for seat in range(seats))
    draws = [int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big") % players for key in keys]
    return 1 + np.array(draws, np.int64).reshape(-1, seats)


@dataclass
class Lost:
    """Number of tables that a player has lost, and the first reasons."""

    tables: int = 0
    why: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        are_texts = isinstance(self.why, list) and all(isinstance(reason, str) for reason in self.why)
        if not is_integer(self.tables) or self.tables < 0 or not are_texts:
            raise ValueError(f"lost tables are a number and a list of reasons, not {brief(self.tables)} and {brief(self.why)}")

    def __add__(self, other: Lost) -> Lost:
        return Lost(self.tables + other.tables, list(dict.fromkeys([*self.why, *other.why]))[:3])

    def sentences(self, name: str) -> list[str]:
        """Return the warning about the player's lost tables; empty if it lost none."""
        return [f"{name} lost {self.tables:,} tables: it {printable('; '.join(self.why))}."] if self.tables else []


@dataclass(frozen=True)
class Block:
    """Results of some deals.

    Attributes:
        values: float64, shape (deals, games).
        first: the same for the first deals alone, 0 if passed out; `values` in games without pass-outs.
        sizes: int16, shape (deals,): cards dealt to each seat.
        groups: of A alone and of B alone (from B's point of view).
        probes: of A alone and of B alone.
        lost: tables lost by A and by B.
        features: float64, shape (deals, 2), or (0, 2): sum and standard deviation of the points of `CONTROL` on the same cards.
        others: float64, shape (others, 2): the same on other deals.
    """

    values: np.ndarray
    first: np.ndarray
    sizes: np.ndarray
    groups: tuple[Groups, Groups]
    probes: tuple[Tally, Tally]
    lost: tuple[Lost, Lost]
    features: np.ndarray
    others: np.ndarray

    @classmethod
    def joined(cls, blocks: Sequence[Block]) -> Block:
        joined = dict[str, Any]()
        for column in fields(cls):
            parts = [getattr(block, column.name) for block in blocks]
            is_pair = isinstance(parts[0], tuple)
            joined[column.name] = (
                tuple(reduce(add, side) for side in zip(*parts, strict=True)) if is_pair else np.concatenate(parts)
            )
        return cls(**joined)


@dataclass(frozen=True)
class Pairing:
    """Two players, A and B, on the first deals of a set, in blocks of a fixed size.

    `players` are A and B; if B is several players, each of its seats is drawn for one of them (`drawn_others`). `seed`, 0 to
    2**63 - 1, is for the players' random numbers. If `controlled`, `CONTROL` plays the same deals too, for the control variate.
    For `strict` see `Guarded`.
    """

    rules: Rules
    players: tuple[AgentSpec, ...]
    line_ups: list[LineUp]
    seed: int = 0
    deal_set: str = "dev"
    controlled: bool = False
    strict: bool = False

    @property
    def block(self) -> int:
        """Deals per block."""
        return min(player.block for player in self.players)

    @property
    def at_once(self) -> int:
        """Deals that are played side by side: one block, or several on a GPU."""
        return deals_at_once(self.players, sum(len(line_up.seatings) for line_up in self.line_ups))

    def play(self, first: int, count: int, stop: Event) -> Block:
        """Play some deals as in `play_blocks`, and join the blocks."""
        return Block.joined(self.play_blocks(first, count, stop))

    def play_blocks(self, first: int, count: int, stop: Event) -> list[Block]:
        """Play some deals side by side; the games of a deal are adjacent rows.

        Returns:
            The results by block, so that sums do not depend on the number of deals played side by side.

        Raises:
            Stopped: the event was set.
        """
        seatings = np.concatenate([line_up.seatings for line_up in self.line_ups])
        games = len(seatings)
        is_a, numbers = np.tile(seatings, (count, 1)), first + np.arange(count)
        pool = dealt(self.rules, numbers.repeat(games), self.deal_set, device_of(self.players))
        others = drawn_others(numbers, self.rules.seats, len(self.players) - 1, self.deal_set).repeat(games, axis=0)
        with seated(self.players, (self.seed, first), stop, self.strict) as guards:
            playing = play_deal_by_deal(pool, guards, seating_of(is_a, others))
            next(playing)
            first_deals = game_values(pool, is_a, guards).reshape(count, games)
            deque(playing, 0)
        values = game_values(pool, is_a, guards).reshape(count, games)
        features, others = self._features(first, count, stop)
        blocks = []
        for start in range(0, count, self.block):
            deals, rows = (slice(size * start, size * (start + self.block)) for size in (1, games))
            lost = [
                {row - rows.start: why for row, why in side.items() if rows.start <= row < rows.stop}
                for side in lost_by(guards)
            ]
            tables, block_values = pool.tables[rows].view(np.recarray), values[deals]
            groups, probes = self._sides(tables, block_values, lost)
            sizes = tables.deal_size[::games].copy()
            a, b = (Lost(len(guard), list(dict.fromkeys(guard.values()))[:3]) for guard in lost)
            controls = (features[deals], others[OTHER_DEALS * start : OTHER_DEALS * deals.stop])
            blocks.append(Block(block_values, first_deals[deals], sizes, groups, probes, (a, b), *controls))
        return blocks

    def _sides(
        self, tables: np.recarray, values: np.ndarray, lost: Sequence[Collection[int]]
    ) -> tuple[tuple[Groups, Groups], tuple[Tally, Tally]]:
        """Return groups and probes of each player where it is alone; empty if not played. `lost` are rows of `tables`."""
        count, games = values.shape
        seats = self.rules.seats
        names = [line_up.name for line_up in self.line_ups]
        valid = np.ones(len(tables), np.bool_)
        valid[[*lost[0], *lost[1]]] = False
        groups, probes = (Groups(), Groups()), [Tally(), Tally()]
        for side, (name, sign) in enumerate(((ALONE, 1.0), (AGAINST, -1.0))):
            if name not in names:
                continue
            first = seats * names.index(name)  # both have one game per seat, and mixed tables come last
            rows = (np.arange(count)[:, None] * games + first + np.arange(seats)).reshape(-1)
            alone, hero = tables[rows], np.tile(np.arange(seats), count)
            own = sign * values[:, first : first + seats]
            counted = valid[rows]
            for grouping, group_names, codes in roles(self.rules, alone, hero):
                for code, group in enumerate(group_names):
                    groups[side].add(grouping, group, own, (counted & (codes == code)).reshape(own.shape))
            probes[side] = count_deals(alone[counted], self.rules, hero[counted, None] == SEATS)
        return groups, (probes[0], probes[1])

    def _features(self, first: int, count: int, stop: Event) -> tuple[np.ndarray, np.ndarray]:
        if not self.controlled:
            return np.empty((0, 2)), np.empty((0, 2))
        others = FIRST_OTHER + OTHER_DEALS * first + np.arange(OTHER_DEALS * count)
        numbers = np.concatenate([first + np.arange(count), others])
        control = agent_spec(CONTROL, device=device_of(self.players))
        pool = played_alone(self.rules, control, numbers, (self.seed, first), self.deal_set, stop)
        points = pool.tables.points[:, : self.rules.seats]
        features = np.stack([points.sum(axis=1), points.std(axis=1)], axis=1)
        return features[:count], features[count:]


def played_alone(
    rules: Rules, player: AgentSpec, numbers: np.ndarray, stream: Sequence[int], deal_set: str, stop: Event
) -> TablePool:
    """Play deals (`dealt`) until scored, with one player on all seats; its failures are raised. Return the tables."""
    pool = dealt(rules, numbers, deal_set, player.device)
    with seated([player], stream, stop, strict=True) as guards:
        deque(play_deal_by_deal(pool, guards, np.zeros((len(pool), MAX_SEATS), np.int64)), 0)
    return pool


def lost_by(guards: Sequence[Guarded | OnGpu]) -> list[dict[int, str]]:
    """Return the tables lost by A and by B, with the reasons, by row: A is the first player, B are all others."""
    return [guards[0].lost, {row: why for guard in guards[1:] for row, why in guard.lost.items()}]


def game_values(pool: TablePool, is_a: np.ndarray, guards: Sequence[Guarded | OnGpu]) -> np.ndarray:
    """Return the value of each game in its last deal, float64, shape (n,); `is_a`, bool, shape (n, seats), is where A sits."""
    points = pool.tables.points[:, : is_a.shape[1]]
    own = np.where(is_a, points, 0.0).sum(axis=1) / is_a.sum(axis=1)
    others = np.where(is_a, 0.0, points).sum(axis=1) / (~is_a).sum(axis=1)
    values: np.ndarray = own - others
    spread = points.max(axis=1) - points.min(axis=1)
    lost_by_a, lost_by_b = (np.isin(np.arange(len(pool)), list(lost)) for lost in lost_by(guards))
    return np.where(lost_by_a | lost_by_b, spread * (lost_by_b * 1.0 - lost_by_a), values)
