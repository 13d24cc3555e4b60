"""Thousands of tables at once, in one process: arrays in, arrays out, one or two calls for each decision.

    batch = noms_env.make_batch("small_ships", tables=4096, seed=1)
    batch.deal()
    while not batch.over.all():
        batch.observe()                       # fills batch.observation and batch.mask
        batch.step(choose(batch.observation, batch.mask, batch.seat))

`step(actions, observe=True)` does both in one pass over the tables, which is faster; `observe(rows)` is then needed after
`deal(rows)` only.

All arrays are allocated once and written in place: `torch.from_numpy(batch.observation)` shares their memory.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from noms_env._jit import announce_compilation
from noms_env.belief import new_plan, sample_hidden_rows
from noms_env.core.actions import NUM_ACTIONS
from noms_env.core.state import MAX_SEATS, TABLE, new_tables
from noms_env.engine import batch_kernels
from noms_env.engine.row_kernels import kernel_view
from noms_env.observation.layout import HIDDEN_SIZE, OBSERVATION_SIZE, PADDED_MASK_SIZE
from noms_env.table import IllegalActionError, Table, redeal_seed
from noms_env.variants import Rules, RulesError

Rows = np.ndarray | Sequence[int] | slice | int | None
Kind = tuple[str, int | None, dict[str, Any], float]

ROWS_FOR_A_THREAD = 1024
"""Fewer rows than this for each thread are not worth handing out."""


@dataclass(frozen=True)
class Group:
    """Rows of a batch that play by the same rules."""

    rules: Rules
    rows: slice


class BatchEnv:
    """Many tables, of one variant or several.

    Attributes:
        tables: the records of the tables, `state.TABLE`, shape (n,).
        groups: which rows play by which rules.
        observation: uint8, shape (n, OBSERVATION_SIZE): what the seat to act sees, as of the last `observe`
            or `step` with `observe=True`.
        mask: int8, shape (n, NUM_ACTIONS): 1 for each legal action, likewise; zeros in rows that are over.
        state: uint8, shape (n, HIDDEN_SIZE), or None: what nobody sees whole, relative to the seat to act; with the
            observation it is the whole state (`layout.HIDDEN`).
        seat: int16, shape (n,): the seat to act.
        over: bool, shape (n,): the match (or the single deal) is over; `deal` starts the next.
        scored: bool, shape (n,): the last `step` ended a deal (with `pause`: the table waits at the end of a deal).
        points: float32, shape (n, MAX_SEATS): points of that deal, else 0.
    """

    def __init__(
        self,
        kinds: Sequence[Kind],
        tables: int,
        *,
        seed: int = 0,
        episode: str = "match",
        skip_forced: bool = False,
        pause: bool = False,
        state: bool = False,
        threads: int | None = 1,
        check: bool = True,
    ) -> None:
        """Set up the tables; `deal` starts them. See `make_batch` for the arguments."""
        if isinstance(tables, bool) or not isinstance(tables, int | np.integer) or tables < 1:
            raise ValueError(f"tables must be a number of tables from 1 on, not {tables!r}")
        cores = os.cpu_count() or 1
        self.threads = cores if threads is None else threads
        if not 1 <= self.threads <= 1024:
            raise ValueError(f"threads must be from 1 to 1024, or None for all cores ({cores}), not {threads!r}")
        self.skip_forced = skip_forced
        self.pause = pause
        self.check = check
        self.tables = new_tables(int(tables))
        self.groups = self._seat_groups(kinds, seed, episode)
        self._kernel_tables = kernel_view(self.tables)
        self._words = self.tables.view(np.ndarray).view(np.int64).reshape(tables, TABLE.itemsize // 8)
        self._observation = np.zeros((tables, OBSERVATION_SIZE // 8), np.int64)
        self._mask = np.zeros((tables, PADDED_MASK_SIZE // 8), np.int64)
        self._hidden = np.zeros((tables if state else 0, HIDDEN_SIZE // 8), np.int64)
        self._seen = (self._observation, self._mask, self._hidden)
        self._wanted = batch_kernels.WRITE_OBSERVATION + batch_kernels.WRITE_MASK + (batch_kernels.WRITE_HIDDEN if state else 0)
        self.observation = self._observation.view(np.uint8)
        self.mask = self._mask.view(np.int8)[:, :NUM_ACTIONS]
        self.state = self._hidden.view(np.uint8) if state else None
        self.seat = np.zeros(tables, np.int16)
        self.over = np.ones(tables, np.bool_)
        self.scored = np.zeros(tables, np.bool_)
        self.points = np.zeros((tables, MAX_SEATS), np.float32)
        self._pool: ThreadPoolExecutor | None = None

    def _seat_groups(self, kinds: Sequence[Kind], seed: int, episode: str) -> list[Group]:
        """Give each kind its share of the rows."""
        shares = np.array([share for *_, share in kinds], float)
        if len(shares) == 0 or not np.isfinite(shares).all() or (shares <= 0).any():
            raise ValueError("every kind of table needs a share above 0")
        ends = np.round(np.cumsum(shares) / shares.sum() * len(self.tables)).astype(int)
        starts = np.concatenate([[0], ends[:-1]])
        groups = []
        for (variant, seats, options, _), start, end in zip(kinds, starts, ends, strict=True):
            if start == end:
                raise ValueError(f"{len(self.tables)} tables are too few for {len(kinds)} kinds: {variant} has none")
            options = dict(options)
            model = Table(variant, seats, options, seed=seed, episode=episode)
            self.tables[start:end] = model.row
            groups.append(Group(model.rules, slice(int(start), int(end))))
        self.tables.table = np.arange(len(self.tables))
        self.tables.over = 1
        return groups

    def __len__(self) -> int:
        """Number of tables."""
        return len(self.tables)

    # --------------------------------------------------------------------------------------------- one decision everywhere

    def observe(self, rows: Rows = None) -> None:
        """Write `observation`, `mask` and, where it is kept, `state` for the seat to act at each table.

        Args:
            rows: integers, or booleans of shape (n,); all tables when None.

        Raises:
            ValueError: no such row.
        """
        if rows is None:
            self._in_threads(batch_kernels.observe_rows, *self._seen, self._wanted)
        else:
            batch_kernels.observe_some(self._kernel_tables, self._row_numbers(rows), *self._seen, self._wanted)

    def step(self, actions: np.ndarray, observe: bool = False) -> None:
        """Take an action at each table that is not over; writes `points`, `scored`, `seat` and `over`.

        The next deal of a match is dealt at once, or with `pause` by `next_deal`; a match that is over stays so until
        `deal`.

        Args:
            actions: integers, shape (n,); the entries of tables that are over or wait are not looked at.
            observe: write what `observe` writes as well: the same bytes as `step` and `observe` one after the other, in
                less time, as each table is looked at while it is at hand.

        Raises:
            ValueError: not n integers.
            IllegalActionError: an action is not legal; no table has changed. With `check=False` actions are trusted, and
                an illegal one leaves its table in an undefined state.
        """
        numbers = np.asarray(actions)
        if numbers.shape != (len(self),) or numbers.dtype.kind not in "iu":
            raise ValueError(f"actions must be {len(self)} integers, not {numbers.dtype} of shape {numbers.shape}")
        numbers = numbers.astype(np.int64, copy=False)
        if self.check:
            row = batch_kernels.first_illegal(self._kernel_tables, numbers)
            if row >= 0:
                raise IllegalActionError(f"table {row}: {self._why_illegal(row, int(numbers[row]))}")
        results = (self.points, self.scored, self.seat, self.over)
        wanted = self._wanted if observe else 0
        self._in_threads(batch_kernels.step_rows, numbers, self.skip_forced, self.pause, *results, *self._seen, wanted)

    def deal(
        self,
        rows: Rows = None,
        *,
        match: Rows = None,
        seed: Rows = None,
        table: Rows = None,
        dealer: Rows = None,
    ) -> None:
        """Start a match (or a single deal) at some tables, whether the one before is over or not.

        The deals follow from (seed, table, match) alone: rows with the same three get the same cards, for ever. At first a
        row has the batch's seed, its own number as table, and matches 0, 1, 2, ...

        Args:
            rows: integers, or booleans of shape (n,); all tables when None.
            match: number of the match, one or one for each row; the next one when None.
            seed: 0 to 2**63 - 1, one or one for each row; unchanged when None.
            table: 0 to 2**32 - 1, likewise.
            dealer: first dealer, one or one for each row, -1 for the one that chance draws.

        Raises:
            ValueError: a number out of range; no table has changed.
        """
        announce_compilation()
        numbers = self._row_numbers(rows)
        given = [
            ("match", match, self.tables.match[numbers] + 1, 2**32 - 1),
            ("seed", seed, self.tables.seed[numbers], 2**63 - 1),
            ("table", table, self.tables.table[numbers], 2**32 - 1),
        ]
        wanted = {name: self._for_rows(name, value, default, 0, most) for name, value, default, most in given}
        dealers = self._for_rows("dealer", dealer, np.full(len(numbers), -1), -1, MAX_SEATS - 1)
        if (dealers >= self.tables.n_seats[numbers]).any():
            raise ValueError("dealer must be a seat of the table")
        for name, values in wanted.items():
            self.tables[name][numbers] = values
        batch_kernels.start_rows(self._kernel_tables, numbers, dealers)
        self.scored[numbers] = False
        self.points[numbers] = 0
        self._refresh()

    def next_deal(self) -> None:
        """With `pause`: deal the next hand of the match at each table that waits at the end of a deal.

        A match that is over stays so until `deal`; `scored` and `points` are cleared.
        """
        self._in_threads(batch_kernels.next_deal_rows, self.points, self.scored)
        self._refresh()

    def random_actions(self, streams: np.ndarray, actions: np.ndarray) -> None:
        """Write a random legal action for each table that is not over: for measurements and tests.

        Args:
            streams: int64, shape (n,), values 1 to 2**32 - 1: the state of each table's generator; is advanced.
            actions: int64, shape (n,): is written.
        """
        self._in_threads(batch_kernels.random_rows, streams, actions)

    # ------------------------------------------------------------------------------------------------------- snapshots

    def save(self, rows: Rows = None) -> np.recarray:
        """A copy of tables as plain records (`state.TABLE`), shape (rows,)."""
        saved: np.recarray = self.tables[self._row_numbers(rows)].copy()
        return saved

    def restore(self, rows: Rows, saved: np.ndarray) -> None:
        """Put records back, into the same rows or others.

        Args:
            rows: which tables; all when None.
            saved: records from `save`, as many as rows, or one for all.

        Raises:
            ValueError: these are not such records, or not as many; no table has changed.
        """
        numbers = self._row_numbers(rows)
        records = np.atleast_1d(np.asarray(saved))
        if records.dtype != TABLE or len(records) not in (1, len(numbers)):
            raise ValueError(f"saved must be {len(numbers)} records (or one) from save, not {records.dtype} of {records.shape}")
        words = np.ascontiguousarray(records).view(np.ndarray).view(np.int64).reshape(len(records), -1)
        self._words[numbers] = words
        self._refresh()

    def clone(self, row: int, rows: Rows) -> None:
        """Copy one table into other rows."""
        source = int(self._row_numbers(row)[0])
        batch_kernels.clone_row(self._words, source, self._row_numbers(rows))
        self._refresh()

    def sample_hidden(self, row: int, seat: int, rng: np.random.Generator, rows: Rows = None) -> None:
        """Fill rows with copies of a table in which the cards that a seat has not seen are dealt anew.

        The copies are drawn independently and uniformly among all tables that the seat cannot tell from this one (see
        `belief` for what it is taken to know). Their seeds are drawn too, so that later deals differ as well.

        Args:
            row: the table.
            seat: who looks; not only the seat to act.
            rng: gives one integer; the table in the i-th of the rows follows from it and i.
            rows: where to put the copies; the table itself when None.

        Raises:
            ValueError: no such row, seat or generator, or the deal is over; no table has changed.
        """
        source = int(self._row_numbers(row)[0])
        numbers = self._row_numbers(source if rows is None else rows)
        seed = redeal_seed(self.tables[source], seat, rng)
        if len(numbers) > 0:
            batch_kernels.clone_row(self._words, source, numbers)
            sample_hidden_rows(self._kernel_tables, numbers, int(seat), seed, new_plan())
            self._refresh()

    # ----------------------------------------------------------------------------------------------------------- inside

    def _in_threads(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Run a function over ranges of rows, in as many threads as are worth it; the result does not depend on them."""
        parts = max(1, min(self.threads, len(self) // ROWS_FOR_A_THREAD))
        if parts == 1:
            function(self._kernel_tables, 0, len(self), *arguments)
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.threads - 1, thread_name_prefix="noms-batch")
        ends = [len(self) * part // parts for part in range(parts + 1)]
        handed_out = [
            self._pool.submit(function, self._kernel_tables, first, last, *arguments) for first, last in pairwise(ends[1:])
        ]
        function(self._kernel_tables, 0, ends[1], *arguments)
        for future in handed_out:
            future.result()

    def _refresh(self) -> None:
        """Write `seat` and `over`."""
        batch_kernels.current(self._kernel_tables, 0, len(self), self.seat, self.over)

    def _row_numbers(self, rows: Rows) -> np.ndarray:
        """Rows as int64 numbers, checked."""
        numbers = np.arange(len(self))
        if rows is None:
            return numbers
        try:
            return np.atleast_1d(numbers[rows])
        except IndexError as error:
            raise ValueError(f"rows must be numbers from 0 to {len(self) - 1}, or {len(self)} booleans: {error}") from error

    @staticmethod
    def _for_rows(name: str, value: Any, default: np.ndarray, low: int, high: int) -> np.ndarray:
        """One value for each row, checked."""
        if value is None:
            return default.astype(np.int64)
        values = np.asarray(value)
        if values.dtype.kind not in "iu" or values.shape not in ((), default.shape):
            raise ValueError(f"{name} must be an integer, or {len(default)} of them, not {value!r}")
        if (values < low).any() or (values > high).any():
            raise ValueError(f"{name} must be from {low} to {high}, not {value!r}")
        return np.broadcast_to(values, default.shape).astype(np.int64)

    def _why_illegal(self, row: int, action: int) -> str:
        """The sentence that refuses an action at one table."""
        group = next(group for group in self.groups if group.rows.start <= row < group.rows.stop)
        table = Table(group.rules.variant.name, group.rules.seats, group.rules.options)
        table.row_from(self.tables[row])
        try:
            table.step(action)
        except IllegalActionError as refusal:
            return str(refusal)
        return "the action is not legal"


def make_batch(
    variant: str | Sequence[Kind],
    tables: int = 4096,
    *,
    seed: int = 0,
    seats: int | None = None,
    episode: str = "match",
    skip_forced: bool = False,
    pause: bool = False,
    state: bool = False,
    threads: int | None = 1,
    check: bool = True,
    **options: Any,
) -> BatchEnv:
    """Many tables of one variant, or a mixed batch.

    `BatchEnv.step(actions, observe=True)` is the fastest way to play: it takes the actions and writes what is seen next.

    Args:
        variant: name of the game; or a list of (variant, seats or None, options, share) for a mixed batch, whose rows lie
            one kind behind the other.
        tables: number of tables.
        seed: 0 to 2**63 - 1.
        seats: number of seats, the variant's default when None (one variant only).
        episode: `match`, or `deal` for one scored deal.
        skip_forced: take actions without alternative inside `step`, up to the end of a deal. For learners; it tells a
            seat when another had no choice, so not for play between rivals.
        pause: stop at the end of each deal, with everything as it was at its last card, until `next_deal`.
        state: keep `BatchEnv.state`.
        threads: threads to use, None for all cores. They never change a result.
        check: refuse illegal actions; without it they are trusted.
        **options: options of the variant (one variant only).

    Raises:
        ValueError: an argument is not allowed; the message says what is.
    """
    if isinstance(variant, str):
        kinds: Sequence[Kind] = [(variant, seats, options, 1.0)]
    elif seats is not None or options:
        raise RulesError("in a mixed batch each kind has its own seats and options: (variant, seats, options, share)")
    else:
        kinds = variant
    return BatchEnv(
        kinds,
        tables,
        seed=seed,
        episode=episode,
        skip_forced=skip_forced,
        pause=pause,
        state=state,
        threads=threads,
        check=check,
    )
