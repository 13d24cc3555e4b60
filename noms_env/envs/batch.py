"""Thousands of tables in one process: arrays in, arrays out, one or two calls for each decision.

    batch = noms_env.make_batch("small_ships", tables=4096, seed=1)
    batch.reset()
    while not batch.over.all():
        batch.observe()                       # writes batch.observation and batch.mask
        batch.step(choose(batch.observation, batch.mask, batch.seat))

`step(actions, observe=True)` does both in one pass over the tables, which is faster; then `observe(rows)` is needed only after
`reset(rows)`.

All arrays are allocated once and written in place: `torch.from_numpy(batch.observation)` shares their memory.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any, NoReturn, Unpack

import numpy as np

from noms_env._threads import RowThreads, one_thread
from noms_env.belief import new_sampling_workspace, sample_hidden_rows
from noms_env.belief.determinize import Rows, row_numbers
from noms_env.core.actions import NUM_ACTIONS, brief, is_integer, plain_array
from noms_env.core.chance import MAX_SEED, MAX_TABLE
from noms_env.core.messages import literal
from noms_env.core.state import EPISODES, MAX_SEATS
from noms_env.engine import batch_kernels
from noms_env.engine.row_kernels import kernel_view
from noms_env.engine.soundness import check_states
from noms_env.envs.common import checked_layout, in_rows
from noms_env.envs.option_types import Options
from noms_env.envs.table_groups import RowGroup, TableGroup, fill_groups
from noms_env.envs.validation import (
    Episode,
    ObservationKind,
    checked_actions,
    checked_array,
    checked_count,
    checked_flag,
    checked_for_rows,
    checked_names,
)
from noms_env.observation.layout import HIDDEN_SIZE, OBSERVATION_SIZE, PADDED_MASK_SIZE
from noms_env.table import IllegalActionError, Table, redeal_seed
from noms_env.variants import RulesError
from noms_env.variants.table_record import TABLE, new_tables

MIN_ROWS_PER_THREAD = 1024


class BatchEnv:
    """Many tables of one variant or several; `make_batch` is another name of it.

    One thread at a time may call the methods; several threads take a batch each. The batch itself runs in `threads` threads.

    Args:
        variant: name of the game; for a mixed batch a list of `TableGroup`, whose rows follow one another.
        tables: number of tables.
        seed: 0 to 2**63 - 1.
        seats: number of seats; None for the variant's default. Not for a mixed batch.
        episode: `match`, or `deal` for one scored deal.
        observation: `bytes`, or `features` for what a network reads, as uint8 and not yet scaled (`feature_layout`).
        skip_forced: take forced actions (those without alternative) inside `step`, up to the end of a deal. For learners
            only: it tells a seat that another had no choice.
        pause_after_deal: keep each table as it is after the last card of a deal, until `next_deal`.
        hidden_state: write `hidden_state`.
        threads: number of threads; None for all cores. Results do not depend on it.
        check_actions: refuse illegal actions. False saves time.
        **options: options of the variant; in an exact-bid game also `hand_size`, of a single deal. Not for a mixed batch.

    Attributes:
        tables: the records of the tables (`table_record.TABLE`), shape (n,).
        groups: which rows play by which rules.
        observation: uint8, shape (n, OBSERVATION_SIZE): what the seat to act saw at the last `observe` or
            `step(..., observe=True)`; with features, shape (n, feature_layout.n_features).
        feature_layout: with `observation="features"`, what they are; `observation * feature_layout.scale` is for a network.
        mask: int8, shape (n, NUM_ACTIONS), written with `observation`: 1 for each legal action; zeros in rows that are over.
        hidden_state: uint8, shape (n, HIDDEN_SIZE), or None, written with `observation`: what the seat to act does not see
            (`layout.HIDDEN`). Together the two are the whole state.
        seat: int16, shape (n,): the seat to act.
        over: bool, shape (n,): the match (or the single deal) is over; `reset` starts the next.
        scored: bool, shape (n,): the last `step` ended a deal.
        points: float32, shape (n, seats), of as many seats as a table has at most: points of that deal, else 0; infinite from
            2**128 on (a multiplier of 2**124).

    Raises:
        ValueError: an argument is not allowed; the message says what is.
        RuntimeError: of each method that plays: another thread is in one of them.
    """

    def __init__(
        self,
        variant: str | Sequence[TableGroup],
        tables: int = 4096,
        *,
        seed: int = 0,
        seats: int | None = None,
        episode: Episode = "match",
        observation: ObservationKind = "bytes",
        skip_forced: bool = False,
        pause_after_deal: bool = False,
        hidden_state: bool = False,
        threads: int | None = 1,
        check_actions: bool = True,
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
        self.tables, self._has_dealt = new_tables(tables), False
        groups = [TableGroup(variant, seats, options)] if isinstance(variant, str) else variant
        if not isinstance(groups, Sequence) or not all(isinstance(group, TableGroup) for group in groups):
            raise ValueError(f"variant must be the name of a game or a list of TableGroup, not {brief(variant)}")
        self.groups = fill_groups(self.tables, groups, seed, episode)
        self._kernel_tables = kernel_view(self.tables)
        self._words = self.tables.view(np.ndarray).view(np.int64).reshape(tables, TABLE.itemsize // 8)
        self._observation = np.zeros((tables, OBSERVATION_SIZE // 8), np.int64)
        self._mask = np.zeros((tables, PADDED_MASK_SIZE // 8), np.int64)
        self._hidden = np.zeros((tables if hidden_state else 0, HIDDEN_SIZE // 8), np.int64)
        self._seen = (self._observation, self._mask, self._hidden)
        self.feature_layout = checked_layout(observation, [group.rules for group in self.groups], episode)
        self._features: tuple[np.ndarray, ...] | None = None
        self.observation = self._observation.view(np.uint8)
        if self.feature_layout is not None:
            features = np.zeros((tables, self.feature_layout.words), np.int64)
            self._features = (features, *self.feature_layout.parts)
            self.observation = features.view(np.uint8)[:, : self.feature_layout.n_features]
        self._wanted = batch_kernels.WRITE_OBSERVATION + batch_kernels.WRITE_MASK
        if hidden_state:
            self._wanted += batch_kernels.WRITE_HIDDEN
        self.mask = self._mask.view(np.int8)[:, :NUM_ACTIONS]
        self.hidden_state = self._hidden.view(np.uint8) if hidden_state else None
        self.seat = np.zeros(tables, np.int16)
        self.over = np.ones(tables, np.bool_)
        self.scored = np.zeros(tables, np.bool_)
        self.points = np.zeros((tables, max(group.rules.seats for group in self.groups)), np.float32)
        in_threads = self.threads > 1 and tables >= 2 * MIN_ROWS_PER_THREAD
        self._lock = Lock()
        self._row_threads = RowThreads(self.threads, MIN_ROWS_PER_THREAD) if in_threads else None

    def __repr__(self) -> str:
        switches = {
            "observation": "bytes" if self.feature_layout is None else "features",
            **{name: getattr(self, name) for name in ("skip_forced", "pause_after_deal")},
            **{"hidden_state": self.hidden_state is not None, "threads": self.threads},
        }
        usual = {"observation": "bytes", "threads": 1}
        chosen = [f", {name}={literal(value)}" for name, value in switches.items() if value != usual.get(name, False)]
        groups, episode = ", ".join(map(str, self.groups)), literal(EPISODES[self.tables.episode[0]])
        return f"<BatchEnv: {groups}, episode={episode}, seed={self._seeds()}{''.join(chosen)}>"

    def _seeds(self) -> str:
        low, high = int(self.tables.seed.min()), int(self.tables.seed.max())
        return str(low) if low == high else f"{low}..{high}"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        """What a notebook shows: the rules, the arrays and where the tables stand."""
        arrays = {name: getattr(self, name) for name in ("observation", "mask", "hidden_state")}
        stand = f"{int(self.over.sum()):,} of {len(self):,} over" if self._has_dealt else "nothing dealt yet"
        rows = {
            "tables": "; ".join(map(str, self.groups)),
            "episode": EPISODES[self.tables.episode[0]],
            "seed": self._seeds(),
            **{name: f"{array.dtype} {array.shape}" for name, array in arrays.items() if array is not None},
            "episodes": stand,
        }
        return in_rows(self, rows)

    def __reduce__(self) -> NoReturn:
        """Refuse: a copy would not share its arrays as the original does."""
        raise TypeError(
            "a BatchEnv cannot be copied or pickled: make another, and hand the tables over: other.restore(None, batch.save())"
        )

    def __len__(self) -> int:
        """Number of tables."""
        return len(self.tables)

    @one_thread
    def observe(self, rows: Rows = None) -> None:
        """Write `observation`, `mask` and `hidden_state` (if kept) for the seat to act at each table.

        Args:
            rows: numbers, or booleans of shape (n,); None for all tables.

        Raises:
            ValueError: no such row.
        """
        if rows is None:
            self._run(batch_kernels.observe_rows, *self._seen, self._wanted, self._features)
        else:
            numbers = row_numbers(rows, len(self))
            batch_kernels.observe_some(self._kernel_tables, numbers, *self._seen, self._wanted, self._features)

    @one_thread
    def step(self, actions: np.ndarray, observe: bool = False) -> None:
        """Take an action at each table that is not over; write `points`, `scored`, `seat` and `over`.

        The next deal of a match is dealt in the same step, or by `next_deal` with `pause_after_deal`. A match that is over
        stays over until `reset`.

        Args:
            actions: integers, shape (n,); those of tables that are over or paused are ignored.
            observe: write what `observe` writes, too. The bytes are those of `step` followed by `observe`, in less time.

        Raises:
            RuntimeError: nothing has been dealt yet.
            ValueError: not n integers.
            IllegalActionError: an action is not legal; no table has changed. With `check_actions=False` there is no check,
                and an illegal action leaves its table in an undefined state.
        """
        if not self._has_dealt:
            raise RuntimeError("nothing has been dealt yet: call reset first")
        numbers = checked_actions(actions, len(self))
        if self.check_actions:
            row = batch_kernels.first_illegal(self._kernel_tables, numbers)
            if row >= 0:
                raise IllegalActionError(f"table {row}: {self.why_illegal(row, int(numbers[row]))}")
        how = (self.skip_forced, self.pause_after_deal)
        results = (self.points, self.scored, self.seat, self.over)
        self._run(batch_kernels.step_rows, numbers, *how, *results, *self._seen, self._wanted if observe else 0, self._features)

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
        """Start a new match (or single deal) at some tables, even where the last one is not over.

        The deals are a function of (seed, table, match): rows with the same three get the same cards. A new batch has its
        seed and the row's number as table, and plays the matches 0, 1, 2, ...; a seed that is given begins with match 0.

        Args:
            rows: numbers, or booleans of shape (n,); None for all tables.
            match: number of the match, 0 to 2**32 - 1, one integer or one for each row; None for the next, or the seed's first.
            seed: 0 to 2**63 - 1, one integer or one for each row; None keeps the seed.
            table: 0 to 2**32 - 1, one integer or one for each row; None keeps the number.
            dealer: the first dealer, one seat or one for each row; -1 or None to draw it.

        Raises:
            ValueError: a number is out of range; no table has changed.
        """
        numbers = row_numbers(rows, len(self))
        following = self.tables.match[numbers] + 1 if seed is None else np.zeros(len(numbers), np.int64)
        if match is None and (following > MAX_TABLE).any():
            raise ValueError(f"there is no match after number {MAX_TABLE}: give a match or a seed")
        given = [
            ("match", match, following, MAX_TABLE),
            ("seed", seed, self.tables.seed[numbers], MAX_SEED),
            ("table", table, self.tables.table[numbers], MAX_TABLE),
        ]
        wanted = {name: checked_for_rows(name, value, default, 0, most) for name, value, default, most in given}
        dealers = checked_for_rows("dealer", dealer, np.full(len(numbers), -1), -1, MAX_SEATS - 1)
        if (dealers >= self.tables.n_seats[numbers]).any():
            raise ValueError("dealer must be a seat of the table")
        for name, values in wanted.items():
            self.tables[name][numbers] = values
        batch_kernels.start_rows(self._kernel_tables, numbers, dealers)
        self._refresh(numbers)

    @one_thread
    def next_deal(self) -> None:
        """With `pause_after_deal`: deal the next hand of the match at each paused table; clear `scored` and `points`.

        A match that is over stays over until `reset`.
        """
        self._run(batch_kernels.next_deal_rows, self.points, self.scored)
        self._refresh()

    @one_thread
    def random_actions(self, streams: np.ndarray, actions: np.ndarray) -> None:
        """Write a random legal action for each table that is not over: for measurements and tests.

        Args:
            streams: int64, shape (n,), values 1 to 2**32 - 1: the state of each table's generator, updated in place.
            actions: int64, shape (n,), written in place.

        Raises:
            ValueError: these are no such arrays.
        """
        checked_array("actions", actions, len(self))
        checked_array("streams", streams, len(self))
        if streams.min() < 1 or streams.max() > MAX_TABLE:
            raise ValueError(f"streams must be from 1 to {MAX_TABLE}, not {brief(streams)}")
        self._run(batch_kernels.random_rows, streams, actions)

    @one_thread
    def save(self, rows: Rows = None) -> np.recarray:
        """A copy of some tables as records (`table_record.TABLE`), shape (rows,); all tables when None."""
        saved: np.recarray = self.tables[row_numbers(rows, len(self))].copy()
        return saved

    @one_thread
    def restore(self, rows: Rows, saved: np.ndarray) -> None:
        """Put saved records back, into the same rows or others.

        A deal that is scored in them waits for `next_deal` with `pause_after_deal`; without it the next hand is dealt.

        Args:
            rows: numbers, or booleans of shape (n,); None for all tables.
            saved: records from `save`: as many as rows, or one for all.

        Raises:
            ValueError: not such records of tables with these rules, or not as many; no table has changed.
        """
        numbers = row_numbers(rows, len(self))
        records = np.atleast_1d(plain_array(saved))
        if records.dtype != TABLE or len(records) not in (1, len(numbers)):
            raise ValueError(f"saved must be {len(numbers)} records (or one) from save, not {records.dtype} of {records.shape}")
        check_states(records, self.tables[numbers])
        words = np.ascontiguousarray(records).view(np.ndarray).view(np.int64).reshape(len(records), -1)
        self._words[numbers] = words
        self._refresh(numbers)

    @one_thread
    def clone(self, row: int, rows: Rows) -> None:
        """Copy one table into other rows.

        Raises:
            ValueError: no such row, or one with other rules; no table has changed.
        """
        source, numbers = self._row_number(row), row_numbers(rows, len(self))
        self._check_same_rules(source, numbers)
        batch_kernels.clone_row(self._words, source, numbers)
        self._refresh(numbers)

    @one_thread
    def sample_hidden(self, row: int, seat: int, rng: np.random.Generator, rows: Rows = None) -> None:
        """Fill rows with copies of a table in which the cards that a seat has not seen are dealt anew.

        The copies are independent and uniform draws from all tables that the seat cannot tell from this one; `belief` says
        what a seat knows. Their seeds are drawn too, so that later deals differ as well.

        Args:
            row: the table.
            seat: any seat, not only the one to act.
            rng: one integer is drawn from it; the i-th copy is a function of that integer and i.
            rows: where to put the copies; None for the table itself.

        Raises:
            ValueError: no such row or seat, a row with other rules, no generator, or there is no deal that goes on; no table
                has changed.
        """
        source = self._row_number(row)
        numbers = row_numbers(source if rows is None else rows, len(self))
        self._check_same_rules(source, numbers)
        seed = redeal_seed(self.tables[source], seat, rng)
        if len(numbers) > 0:
            batch_kernels.clone_row(self._words, source, numbers)
            sample_hidden_rows(self._kernel_tables, numbers, int(seat), seed, new_sampling_workspace())
            self._refresh(numbers)

    def _run(self, kernel: Callable[..., Any], *arguments: Any) -> None:
        """Run a kernel over all rows, in several threads if there are many; the result does not depend on them."""
        tables = self._kernel_tables
        if self._row_threads is None:
            kernel(tables, 0, len(tables), *arguments)
        else:
            self._row_threads.run(len(tables), lambda first, end, _: kernel(tables, first, end, *arguments))

    def _refresh(self, put: np.ndarray | None = None) -> None:
        """Write `seat` and `over`, and of rows into which tables were put also `scored` and `points`."""
        self._has_dealt = True
        if put is not None:
            batch_kernels.settle_rows(self._kernel_tables, put, self.pause_after_deal, self.points, self.scored)
        batch_kernels.current(self._kernel_tables, 0, len(self), self.seat, self.over)

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
        """A copy of one table.

        Raises:
            ValueError: no such row.
        """
        row = self._row_number(row)
        group = self._group_of(row)
        table = Table(group.rules.variant.name, group.rules.seats, group.rules.options)
        table.set_row(self.tables[row])
        return table

    def why_illegal(self, row: int, action: int) -> str:
        """Why the seat to act at one table may not take an action."""
        try:
            self.table(row).step(action)
        except IllegalActionError as refusal:
            return str(refusal)
        raise AssertionError(f"action {action} is legal at table {row}")


make_batch = BatchEnv
