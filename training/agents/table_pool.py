"""Pools of tables for training and evaluation, without torch.

A `TablePool` is a batch of tables; `play` plays one deal at each table to its end, with any player on any seat. The seating is
fixed within a deal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from threading import Event
from typing import Any

import numpy as np

from noms_env import BatchEnv, TableGroup, make_batch
from noms_env.belief.determinize import sampled_tables
from noms_env.core.actions import span, suggest_names
from noms_env.envs.validation import Device
from noms_env.players import Player, draw_seeds, recalled, with_memory
from noms_env.variants import Rules, RulesError, Variant, game, make_rules
from noms_env.variants.table_record import TABLE

from ..thread_pool import Stopped

Choose = Callable[[BatchEnv, np.ndarray], np.ndarray]
"""Function from a batch and some of its rows, int64, shape (n,), to legal actions of the seats to act, int64, shape (n,)."""
MAX_FLOAT32 = float(np.finfo(np.float32).max)
LOOK = 8  # steps on a GPU between checks whether all deals are over; each check synchronises


def make_rule_sets(variants: Sequence[str], seats: Sequence[int] = (), options: Mapping[str, Any] | None = None) -> list[Rules]:
    """Make the rule sets of a run: each game with each number of seats that it allows, or its default for no `seats`.

    Each option is for every game that has it. RulesError for an unknown game, a number of seats or an option that no game has,
    or an invalid value.
    """
    games, chosen = [game(name) for name in variants], dict(options or {})
    check_options(games, chosen)
    rule_sets: list[Rules] = []
    for variant in games:
        known = {option.name for option in variant.options}
        own = {name: value for name, value in chosen.items() if name in known}
        for number in seats or (None,):
            try:
                rule_sets.append(make_rules(variant, number, own))
            except RulesError:
                low, high = variant.seats
                if number is None or low <= number <= high:
                    raise
    for number in seats:
        if not any(rules.seats == number for rules in rule_sets):
            allowed = ", ".join(f"{variant.name} {span(*variant.seats)}" for variant in games)
            raise RulesError(f"no game of this run is played with {number!r} seats: {allowed}")
    for variant in games:
        if not any(rules.variant is variant for rules in rule_sets):
            raise RulesError(f"{variant.name} is played with {span(*variant.seats)} seats")
    return list(dict.fromkeys(rule_sets))


def check_options(games: Sequence[Variant], options: Iterable[str]) -> None:
    """Check that one of the games at least has each option; RulesError if none has."""
    names = list(dict.fromkeys(option.name for variant in games for option in variant.options))
    for name in [name for name in options if name not in names]:
        if len(games) == 1:
            games[0].option(name)  # raises
        raise RulesError(
            f"no game of this run has an option {name!r}; {suggest_names(name, names)} options are {', '.join(names)}"
        )


class TablePool:
    """Tables of several rule sets, which pause after each deal; their deals form matches, or are independent.

    `batch.points` and `tables` show each finished deal; `rule_set` and `seats`, int64, shape (n,), are the numbers of each row.
    """

    def __init__(
        self,
        rule_sets: Sequence[Rules],
        rule_set_numbers: Sequence[int],
        tables: int,
        *,
        seed: int,
        first_table: int = 0,
        in_matches: bool = False,
        state: bool = False,
        skip_forced: bool = True,
        shares: Sequence[float] | None = None,
        device: Device = "cpu",
    ) -> None:
        """Set up `tables` tables, at least one per rule set.

        `rule_set_numbers` are the numbers of the rule sets in the run. Pools with the same seed must not overlap in their table
        numbers, which start at `first_table`. `state` provides the hidden state for the critic, `skip_forced` takes forced
        moves without the players, and `shares` are relative numbers of tables of the rule sets, above 0 (None: equal).
        """
        self.batch = make_batch(
            [
                TableGroup(rules.variant.name, rules.seats, rules.options, share)
                for rules, share in zip(rule_sets, shares or [1.0] * len(rule_sets), strict=True)
            ],
            tables,
            seed=seed,
            episode="match" if in_matches else "deal",
            skip_forced=skip_forced,
            pause_after_deal=True,
            hidden_state=state,
            check_actions=False,
            device=device,
        )
        self.in_matches = in_matches
        self.rule_set, self.seats = np.zeros(tables, np.int64), np.zeros(tables, np.int64)
        for number, group in zip(rule_set_numbers, self.batch.groups, strict=True):
            self.rule_set[group.rows], self.seats[group.rows] = number, group.rules.seats
        self.table_numbers = np.arange(first_table, first_table + tables)
        self.fresh = True
        self._copied: np.recarray | None = None

    def __len__(self) -> int:
        return len(self.batch)

    @property
    def tables(self) -> np.recarray:
        """Records of the tables, shape (n,): `batch.tables`, or a copy from a GPU."""
        if self.batch.device == "cpu":
            return self.batch.tables
        self._copied = self.batch.save() if self._copied is None else self._copied
        return self._copied

    @property
    def over(self) -> np.ndarray:
        """`batch.over`, or a copy of it from a GPU."""
        return _on_processor(self.batch.over)

    @property
    def goes_on(self) -> np.ndarray:
        """Tables with an unfinished deal, bool, shape (n,)."""
        return np.asarray(~(_on_processor(self.batch.scored) | self.over))

    def deal(self, number: int, sizes: np.ndarray | None = None) -> None:
        """Start a deal at each table.

        Equal numbers have equal cards (except in matches, which continue). On a GPU only the first number of a pool counts, and
        later deals count up from it, which saves a copy. `sizes`, int64, shape (n,), are hand sizes in the exact-bid games, -1
        for any; not in matches, and not on a GPU.
        """
        batch = self.batch
        self._copied = None
        if sizes is not None:
            batch.tables.wanted_deal_size = sizes
        if self.fresh or not (self.in_matches or batch.device == "cuda"):
            batch.reset(match=0 if self.in_matches else number, table=self.table_numbers)
        else:
            batch.next_deal()
            batch.reset(batch.over)
        self.fresh = False

    def step(self, actions: np.ndarray) -> None:
        """Take an action at each table with an unfinished deal."""
        self._copied = None
        self.batch.step(actions)

    def next_deal(self) -> None:
        """Deal the next hand of each unfinished match."""
        self._copied = None
        self.batch.next_deal()

    def save(self) -> np.ndarray:
        """Return the tables as bytes, uint8, shape (n, bytes of a table)."""
        return self.batch.save().view(np.uint8).reshape(len(self), -1)

    def restore(self, saved: np.ndarray) -> None:
        """Restore tables saved at the end of a deal; ValueError unless they are states of these tables."""
        self.batch.restore(None, np.ascontiguousarray(saved).view(TABLE).reshape(-1))
        self.fresh = False


def play(pool: TablePool, players: Sequence[Any], seating: np.ndarray) -> None:
    """Play the dealt deals of a pool to their ends; afterwards `pool.batch.points` are their points.

    A player is a `Choose` (for a `Player` see `AtTables`), or an `OnGpu` for tables on a GPU. `seating`, integers, shape
    (n, MAX_SEATS), is the index of the player on each seat.
    """
    if pool.batch.device == "cpu":
        for actions in choices_of(pool.batch, players, seating):
            pool.step(actions)
        return
    from noms_env.cuda.players.seats import SeatedPlayers  # here, since it takes time to import

    seated = SeatedPlayers(pool.batch, players, seating, players[0].seed)
    while pool.goes_on.any():
        for _ in range(LOOK):  # surplus actions at the end have no effect
            pool.step(seated.act())  # type: ignore[arg-type]


def choices_of(batch: BatchEnv, players: Sequence[Choose], seating: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the next actions until all deals are over; the caller steps. Arguments: see `play`."""
    actions = np.zeros(len(batch), np.int64)
    while True:
        rows = np.flatnonzero(~(batch.scored | batch.over))
        if len(rows) == 0:
            return
        batch.observe()
        who = seating[rows, batch.seat[rows]]
        for number, player in enumerate(players):
            mine = rows[who == number]
            if len(mine) > 0:
                actions[mine] = player(batch, mine)
        yield actions


def play_deal_by_deal(pool: TablePool, players: Sequence[Any], seating: np.ndarray) -> Iterator[np.ndarray]:
    """Play the matches of a pool to their ends; their first deals must be dealt. Arguments: see `play`.

    Yields after each deal the tables that have just finished one, bool, shape (n,).
    """
    while True:
        playing = ~pool.over
        play(pool, players, seating)
        yield playing
        unfinished = np.flatnonzero(~pool.over)
        if len(unfinished) == 0:
            return
        for player in players:
            if hasattr(player, "deal_over"):
                player.deal_over(pool.batch, unfinished)
        pool.next_deal()


class OnGpu:
    """A `GpuPlayer` in a block of deals, which `stop` aborts. It has no memory, and does not fail: `lost` stays empty."""

    def __init__(self, player: Any, seed: int, stop: Event) -> None:
        self._player, self.seed, self._stop = player, seed, stop
        self.lost: dict[int, str] = {}

    def act(self, batch: Any, seeds: Any = None, *, where: Any = None, actions: Any = None) -> Any:
        """See `GpuPlayer.act`; raises Stopped if the block is aborted."""
        if self._stop.is_set():
            raise Stopped
        return self._player.act(batch, seeds, where=where, actions=actions)


class AtTables:
    """A player at the tables of a batch, with a random generator and its memory of the matches."""

    def __init__(self, player: Player, rng: np.random.Generator) -> None:
        self._player, self._rng = player, rng
        self._memory: np.ndarray | None = None

    def __call__(self, batch: BatchEnv, rows: np.ndarray) -> np.ndarray:
        player, rng = with_memory(self._player, None if self._memory is None else self._memory[rows]), self._rng
        tables = sampled_tables(batch.tables, rows, rng) if player.wants_tables else None
        seeds = draw_seeds(rng, len(rows))
        return np.asarray(player.act(batch.observation[rows], batch.mask[rows], seeds, tables=tables))

    def deal_over(self, batch: BatchEnv, rows: np.ndarray) -> None:
        """Learn from the finished deals at some rows of a batch, int64, shape (n,), whose matches continue."""
        memory = recalled(self._player, batch.tables[rows])
        if memory is None:
            return
        if self._memory is None:
            self._memory = np.zeros((len(batch), *memory.shape[1:]))
        self._memory[rows] += memory


def _on_processor(array: Any) -> np.ndarray:
    return np.asarray(array if isinstance(array, np.ndarray) else array.to_numpy())


def relative_points(points: np.ndarray, seats: np.ndarray) -> np.ndarray:
    """Compute each seat's points less the mean of the others'; they sum to zero over the seats of a deal.

    `points` are float, shape (deals, MAX_SEATS), and `seats` integers, shape (deals,). Returns float32 of the same shape, 0 for
    absent seats.
    """
    is_seat = np.arange(points.shape[1]) < seats[:, None]
    own = np.where(is_seat, points.clip(-MAX_FLOAT32, MAX_FLOAT32), 0.0).astype(np.float64)
    others = (own.sum(axis=1, keepdims=True) - own) / (seats[:, None] - 1)
    return to_float32(np.where(is_seat, own - others, 0.0))


def to_float32(points: np.ndarray) -> np.ndarray:
    """Round points to float32; those beyond its range (`double_repeat="quadruple"`) become its largest number."""
    return points.clip(-MAX_FLOAT32, MAX_FLOAT32).astype(np.float32)
