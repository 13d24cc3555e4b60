"""Thousands of tables in one process, as arrays: one or two calls per decision.

    batch = noms_env.make_batch("small_ships", tables=4096, seed=1)
    batch.reset()
    while not batch.over.all():
        batch.observe()                       # writes batch.observation and batch.mask
        batch.step(choose(batch.observation, batch.mask, batch.seat))

`step(actions, observe=True)` does both in one faster pass over the tables; then `observe(rows)` is needed only after
`reset(rows)`.

All arrays are allocated once and written in place: `torch.from_numpy(batch.observation)` shares their memory.

With `device="cuda"` the tables and the arrays (`GpuArray`) are on a GPU. Torch, CuPy and JAX use them without a copy.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, NamedTuple, NoReturn, Unpack

import numpy as np

from noms_env._threads import one_thread
from noms_env.belief.determinize import Rows, row_numbers
from noms_env.core.actions import brief, is_integer, plain_array
from noms_env.core.chance import MAX_SEED, MAX_TABLE
from noms_env.core.messages import literal
from noms_env.core.state import MAX_SEATS
from noms_env.engine.soundness import check_states
from noms_env.envs.common import checked_layout, make_table
from noms_env.envs.option_types import Options
from noms_env.envs.processor_rows import ProcessorRows
from noms_env.envs.validation import (
    Device,
    Episode,
    ObservationKind,
    checked_choice,
    checked_count,
    checked_flag,
    checked_for_rows,
    checked_names,
)
from noms_env.observation.feature_layout import FeatureLayout
from noms_env.table import IllegalActionError, Table, redeal_seed
from noms_env.variants import Rules, RulesError
from noms_env.variants.table_record import TABLE, new_tables


class TableGroup(NamedTuple):
    """Tables of a mixed batch that play by the same rules.

    Attributes:
        seats: None for the variant's default.
        options: options of the variant that differ from their defaults, and `hand_size` as in `BatchEnv`; None for none.
        share: of the tables, above 0, relative to the shares of the other groups.
    """

    variant: str
    seats: int | None = None
    options: Mapping[str, Any] | None = None
    share: float = 1.0


@dataclass(frozen=True)
class RowGroup:
    """Rows of a batch that play by the same rules."""

    rules: Rules
    rows: slice

    def __str__(self) -> str:
        return f"{self.rows.stop - self.rows.start} tables of {self.rules.variant.name} ({self.rules.summary})"


def row_groups(tables: int, groups: Sequence[TableGroup], seed: int, episode: str) -> tuple[list[RowGroup], np.recarray]:
    """Return the rows of each group, in order, and one table record per group, marked as over.

    Raises:
        ValueError: a share is not above 0, or a group gets no table.
    """
    shares = np.array([group.share if isinstance(group.share, int | float | np.number) else 0 for group in groups], float)
    if len(shares) == 0 or not np.isfinite(shares).all() or (shares <= 0).any():
        raise ValueError("every group of tables needs a share above 0")
    ends = np.round(np.cumsum(shares) / shares.sum() * tables).astype(int).tolist()
    filled, models = [], new_tables(len(groups))
    for i, (group, start, end) in enumerate(zip(groups, [0, *ends], ends, strict=False)):
        if start == end:
            raise ValueError(f"{tables} tables are too few for {len(groups)} groups: {group.variant} gets none")
        model = make_table(group.variant, group.seats, group.options or {}, episode, seed)
        models[i] = model.row
        filled.append(RowGroup(model.rules, slice(start, end)))
    models.over = 1
    return filled, models


class BatchEnv:
    """Many tables of one variant or several; `make_batch` is an alias.

    Only one thread at a time may call the methods; several threads need one batch each. The batch itself runs in `threads`
    threads.

    Args:
        variant: name of the game; for a mixed batch a list of `TableGroup`, whose rows are in this order.
        tables: number of tables.
        seed: 0 to 2**63 - 1.
        seats: number of seats; None for the variant's default. Not for a mixed batch.
        episode: `match`, or `deal` for one scored deal.
        observation: `bytes`, or `features` for the input of a network, as uint8 before scaling (`feature_layout`). Batches of
            different rules may share a `FeatureLayout` of all their rules.
        skip_forced: take forced actions (those without alternative) inside `step`, up to the end of a deal. For learners
            only: a seat can infer that another had no choice.
        pause_after_deal: leave each table in the state after the last card of a deal, until `next_deal`.
        hidden_state: write `hidden_state`.
        threads: number of CPU threads; None for all cores. Results do not depend on it.
        check_actions: refuse illegal actions. False saves time; on a GPU it also saves a synchronization at every step.
        device: `cpu`, or `cuda` for tables on a GPU (extra `cuda`): the same bytes.
        **options: options of the variant; in an exact-bid game also `hand_size`, of a single deal. Not for a mixed batch.

    Attributes:
        tables: the records of the tables (`table_record.TABLE`), shape (n,); on a GPU their words, int64, shape (n, words).
        groups: the rows and rules of each group.
        observation: uint8, shape (n, OBSERVATION_SIZE): observation of the seat to act, from the last `observe` or
            `step(..., observe=True)`; with features, shape (n, feature_layout.n_features).
        feature_layout: layout of the features; None with bytes. A network reads `observation * feature_layout.scale`.
        mask: int8, shape (n, NUM_ACTIONS), written with `observation`: 1 for each legal action; zeros in rows that are over.
        hidden_state: uint8, shape (n, HIDDEN_SIZE), or None, written with `observation`: the part of the state that is hidden
            from the seat to act (`layout.HIDDEN`). Together the two are the whole state.
        seat: int16, shape (n,): the seat to act.
        over: bool, shape (n,): the match (or the single deal) is over; `reset` starts the next.
        scored: bool, shape (n,): the last `step` ended a deal.
        points: float32, shape (n, seats), with the seats of the largest table: points of that deal, else 0; infinite from
            2**128 on (a multiplier of 2**124).

    On a GPU the arrays are `GpuArray`; `to_numpy` copies one to the host. Only these methods synchronize with the GPU: `save`,
    `restore`, `table`, `sample_hidden`, `reset` without an array on the GPU, and with `check_actions` also `step` and
    `random_actions`. Kernels launch on torch's current stream if torch is imported.

    Raises:
        ValueError: an argument is not allowed; the message lists the allowed values.
        RuntimeError: another thread is in a method of this batch. With `device="cuda"`: there is no GPU.
        ModuleNotFoundError: with `device="cuda"`: the libraries of the extra `cuda` are not installed.
    """

    def __init__(
        self,
        variant: str | Sequence[TableGroup],
        tables: int = 4096,
        *,
        seed: int = 0,
        seats: int | None = None,
        episode: Episode = "match",
        observation: ObservationKind | FeatureLayout = "bytes",
        skip_forced: bool = False,
        pause_after_deal: bool = False,
        hidden_state: bool = False,
        threads: int | None = 1,
        check_actions: bool = True,
        device: Device = "cpu",
        **options: Unpack[Options],
    ) -> None:
        if not isinstance(variant, str) and (seats is not None or options):
            raise RulesError("in a mixed batch each TableGroup has its own seats and options")
        if isinstance(variant, str):
            checked_names(variant, options, BatchEnv.__init__)
        tables = checked_count("tables", tables, MAX_TABLE)
        cores = os.cpu_count() or 1
        self.threads = (
            cores if threads is None else checked_count("threads", threads, 1024, f", or None for all cores ({cores})")
        )
        self.skip_forced = checked_flag("skip_forced", skip_forced)
        self.pause_after_deal = checked_flag("pause_after_deal", pause_after_deal)
        self.check_actions = checked_flag("check_actions", check_actions)
        hidden_state = checked_flag("hidden_state", hidden_state)
        self.device = checked_choice("device", device, Device)
        if self.device == "cuda" and self.threads > 1:
            raise RulesError("threads are CPU threads: with device='cuda' the number must be 1")
        groups = [TableGroup(variant, seats, options)] if isinstance(variant, str) else variant
        if not isinstance(groups, Sequence) or not all(isinstance(group, TableGroup) for group in groups):
            raise ValueError(f"variant must be the name of a game or a list of TableGroup, not {brief(variant)}")
        self.groups, models = row_groups(tables, groups, seed, episode)
        self.feature_layout = checked_layout(observation, [group.rules for group in self.groups], episode)
        self._lock, self._has_dealt, self._episode = Lock(), False, episode
        arguments = (models, [group.rows.stop for group in self.groups], self.feature_layout, hidden_state)
        self._rows: Any
        if self.device == "cuda":
            from noms_env.cuda.rows import GpuRows  # imported late: it needs an extra and is slow to import

            self._rows = GpuRows(*arguments)
        else:
            self._rows = ProcessorRows(*arguments, self.threads)
        self.tables: np.recarray = self._rows.tables
        self.observation: np.ndarray = self._rows.observation
        self.mask: np.ndarray = self._rows.mask
        self.hidden_state: np.ndarray | None = self._rows.hidden_state
        self.seat: np.ndarray = self._rows.seat
        self.over: np.ndarray = self._rows.over
        self.scored: np.ndarray = self._rows.scored
        self.points: np.ndarray = self._rows.points

    def __repr__(self) -> str:
        switches = {
            "observation": "bytes" if self.feature_layout is None else "features",
            **{name: getattr(self, name) for name in ("skip_forced", "pause_after_deal")},
            **{"hidden_state": self.hidden_state is not None, "threads": self.threads, "device": self.device},
        }
        defaults = {"observation": "bytes", "threads": 1, "device": "cpu"}
        chosen = [f", {name}={literal(value)}" for name, value in switches.items() if value != defaults.get(name, False)]
        groups = ", ".join(map(str, self.groups))
        seeds = f", seed={self._seeds()}" if self.device == "cpu" else ""  # a repr does not wait for a GPU
        return f"<BatchEnv: {groups}, episode={literal(self._episode)}{seeds}{''.join(chosen)}>"

    def _seeds(self) -> str:
        low, high = int(self.tables.seed.min()), int(self.tables.seed.max())
        return str(low) if low == high else f"{low}..{high}"

    def __reduce__(self) -> NoReturn:
        """Refuse to copy: the arrays of a copy would not share memory with its tables."""
        raise TypeError(
            "a BatchEnv cannot be copied or pickled: make another, and copy the tables with other.restore(None, batch.save())"
        )

    def __len__(self) -> int:
        return int(self.groups[-1].rows.stop)

    @property
    def gpu(self) -> Any:
        """The tables on the GPU, `cuda.rows.GpuRows`, for players there; ValueError if they are not on a GPU."""
        if self.device != "cuda":
            raise ValueError("the tables of this batch are not on a GPU: make it with device='cuda'")
        return self._rows

    @one_thread
    def observe(self, rows: Rows = None) -> None:
        """Write `observation`, `mask` and `hidden_state` (if enabled) for the seat to act at each table, or at some `rows`.

        Like all rows here these are numbers, or booleans of shape (n,), and None for all; ValueError if one is out of range.
        """
        self._rows.observe(None if rows is None else row_numbers(rows, len(self)))

    @one_thread
    def step(self, actions: np.ndarray, observe: bool = False) -> None:
        """Take an action at each table that is not over; write `points`, `scored`, `seat` and `over`.

        The next deal of a match is dealt in the same step, or by `next_deal` with `pause_after_deal`. A match that is over
        stays over until `reset`.

        Args:
            actions: integers, shape (n,); ignored at tables that are over or paused. With `device="cuda"` an array on the GPU
                is read without a copy.
            observe: also observe. The bytes are those of `step` followed by `observe`, in less time.

        Raises:
            RuntimeError: nothing has been dealt yet.
            ValueError: not n integers.
            IllegalActionError: an action is not legal; no table has changed. With `check_actions=False` there is no check,
                and an illegal action leaves its table in an undefined state.
        """
        if not self._has_dealt:
            raise RuntimeError("nothing has been dealt yet: call reset first")
        numbers = self._rows.actions(actions)
        if self.check_actions:
            row = self._rows.first_illegal(numbers)
            if row >= 0:
                action = int(self._rows.to_numpy(numbers)[row])
                raise IllegalActionError(f"table {row}: {self.why_illegal(row, action)}")
        self._rows.step(numbers, self.skip_forced, self.pause_after_deal, observe)

    @one_thread
    def reset(
        self,
        rows: Rows = None,
        *,
        match: Rows = None,
        seed: Rows = None,
        table: Rows = None,
        dealer: Rows = None,
    ) -> None:
        """Start a new match (or single deal) at some tables, even if the last one is not over.

        The deals are a function of (seed, table, match): rows with the same three get the same cards. In a new batch each row
        has the batch's seed and its own number as table, and plays the matches 0, 1, 2, ...; a new seed begins with match 0.

        On a GPU `rows` may also be booleans on the GPU, such as `batch.over`. Each of these tables starts its next match
        (the number wraps to 0) without a synchronization.

        Args:
            rows: numbers or booleans; None for all tables.
            match: number of the match, 0 to 2**32 - 1, one integer or one for each row; None for the next, or the seed's first.
            seed: 0 to 2**63 - 1, one integer or one for each row; None keeps the seed.
            table: 0 to 2**32 - 1, one integer or one for each row; None keeps the number.
            dealer: the first dealer, one seat or one for each row; -1 or None to draw it.

        Raises:
            ValueError: a number is out of range; no table has changed.
        """
        if self._rows.holds(rows):
            if any(value is not None for value in (match, seed, table, dealer)):
                raise ValueError("match, seed, table and dealer need rows on the CPU: rows on the GPU start their next match")
            self._rows.start_next(rows, self.pause_after_deal)
            self._has_dealt = True
            return
        numbers = row_numbers(rows, len(self))
        next_match = self._rows.field("match", numbers) + 1 if seed is None else np.zeros(len(numbers), np.int64)
        if match is None and (next_match > MAX_TABLE).any():
            raise ValueError(f"there is no match after number {MAX_TABLE}: set a match or a seed")
        arguments = [
            ("match", match, next_match, MAX_TABLE),
            ("seed", seed, self._rows.field("seed", numbers), MAX_SEED),
            ("table", table, self._rows.field("table", numbers), MAX_TABLE),
        ]
        fields = {name: checked_for_rows(name, value, default, 0, most) for name, value, default, most in arguments}
        dealers = checked_for_rows("dealer", dealer, np.full(len(numbers), -1), -1, MAX_SEATS - 1)
        if (dealers >= self._rows.field("n_seats", numbers)).any():
            raise ValueError("dealer must be a seat of the table")
        for name, values in fields.items():
            self._rows.set_field(name, numbers, values)
        self._rows.start(numbers, dealers, self.pause_after_deal)
        self._has_dealt = True

    @one_thread
    def next_deal(self) -> None:
        """Deal the next hand of the match at each table paused by `pause_after_deal`; clear `scored` and `points`.

        A match that is over stays over until `reset`.
        """
        self._rows.next_deal()

    @one_thread
    def random_actions(self, streams: np.ndarray, actions: np.ndarray) -> None:
        """Write a random legal action for each table that is not over: for measurements and tests.

        Args:
            streams: int64, shape (n,), values 1 to 2**32 - 1: the state of each table's generator, updated in place.
            actions: int64, shape (n,), written in place. With `device="cuda"` both are on the GPU.

        Raises:
            ValueError: an array has another dtype, shape or device, or a stream is out of range.
        """
        self._rows.random_actions(streams, actions, self.check_actions)

    @one_thread
    def save(self, rows: Rows = None) -> np.recarray:
        """Return copies of some tables as records (`table_record.TABLE`), shape (rows,); of all tables for None."""
        saved: np.recarray = self._rows.save(row_numbers(rows, len(self)))
        return saved

    @one_thread
    def restore(self, rows: Rows, saved: np.ndarray) -> None:
        """Write saved records into the same rows or others.

        A table saved after a scored deal waits for `next_deal` with `pause_after_deal`; otherwise the next hand is dealt.

        Args:
            rows: numbers or booleans; None for all tables.
            saved: records from `save`: one per row, or one for all.

        Raises:
            ValueError: the records are not from tables with these rules, or their number is wrong; no table has changed.
        """
        numbers = row_numbers(rows, len(self))
        records = np.atleast_1d(plain_array(saved))
        if records.dtype != TABLE or len(records) not in (1, len(numbers)):
            raise ValueError(f"saved must be {len(numbers)} records (or one) from save, not {records.dtype} of {records.shape}")
        check_states(records, self._rows.save(numbers))
        self._rows.put(numbers, records, self.pause_after_deal)
        self._has_dealt = True

    @one_thread
    def clone(self, row: int, rows: Rows) -> None:
        """Copy one table into other rows; ValueError, and no change, if a row is out of range or has other rules."""
        source, numbers = self._row_number(row), row_numbers(rows, len(self))
        self._check_same_rules(source, numbers)
        self._rows.clone(source, numbers, self.pause_after_deal)
        self._has_dealt = True

    @one_thread
    def sample_hidden(self, row: int, seat: int, rng: np.random.Generator, rows: Rows = None) -> None:
        """Fill rows with copies of a table, with the cards hidden from a seat dealt anew.

        The copies are independent uniform draws from all tables that are consistent with the seat's information; `belief`
        defines that information. Their seeds are drawn too, so that later deals differ as well.

        Args:
            row: the table.
            seat: any seat, not only the one to act.
            rng: one integer is drawn from it; the i-th copy is a function of that integer and i.
            rows: destination of the copies; None for the table itself.

        Raises:
            ValueError: a row or the seat is out of range, a row has other rules, `rng` is no generator, or no deal is in
                progress; no table has changed.
        """
        source = self._row_number(row)
        numbers = row_numbers(source if rows is None else rows, len(self))
        self._check_same_rules(source, numbers)
        seed = redeal_seed(self._record(source), seat, rng)
        if len(numbers) > 0:
            self._rows.sample_hidden(source, numbers, int(seat), seed, self.pause_after_deal)

    def _record(self, row: int) -> np.record:
        record: np.record = self._rows.save(np.array([row]))[0]
        return record

    def _check_same_rules(self, source: int, rows: np.ndarray) -> None:
        if len(self.groups) == 1:
            return
        rules = self._group_of(source).rules
        for group in self.groups:
            within = rows[(rows >= group.rows.start) & (rows < group.rows.stop)]
            if len(within) > 0 and group.rules != rules:
                raise ValueError(f"row {within[0]} has other rules than row {source}: {group}, not {self._group_of(source)}")

    def _group_of(self, row: int) -> RowGroup:
        return next(group for group in self.groups if group.rows.start <= row < group.rows.stop)

    def _row_number(self, row: int) -> int:
        if not is_integer(row) or not -len(self) <= row < len(self):
            raise ValueError(f"row must be an integer from 0 to {len(self) - 1}, not {brief(row)}")
        return int(row) % len(self)

    def table(self, row: int) -> Table:
        """Return a copy of one table; ValueError if the row is out of range."""
        row = self._row_number(row)
        group = self._group_of(row)
        table = Table(group.rules.variant.name, group.rules.seats, group.rules.options)
        table.set_row(self._record(row))
        return table

    def why_illegal(self, row: int, action: int) -> str:
        """Return the reason why an action is illegal for the seat to act at one table."""
        try:
            self.table(row).step(action)
        except IllegalActionError as refusal:
            return str(refusal)
        raise AssertionError(f"action {action} is legal at table {row}")


make_batch = BatchEnv
