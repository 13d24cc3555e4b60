"""Decisions as a data set, to learn from them without playing: what a seat saw, what it might do, what it did, what came of it.

Decisions come from records that are played again (`from_records`), or straight from play (`from_play`), deal by deal, and go
into shards of a fixed number of rows (`write_shards`): Parquet, or NumPy's `.npz`. Only a group of rows is held in memory (with
`.npz` a shard). The same arguments give the same bytes, with the same versions of NumPy and Arrow.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any, Literal, Protocol

import numpy as np

from noms_env import BatchEnv, Table
from noms_env.core.actions import NUM_ACTIONS, PHASES
from noms_env.core.chance import checked_seed
from noms_env.core.state import MAX_SEATS
from noms_env.observation.layout import OBSERVATION_SIZE, layout_digest
from noms_env.record import Record, RecordError, replay
from noms_env.record.replaying import same_points
from noms_env.variants import Rules
from noms_env.version import ENV_VERSION
from training.agents.forfeit import ForfeitError
from training.agents.guarded import Guarded, guarded
from training.agents.spec import AgentSpec
from training.agents.table_pool import Choose, TablePool, play, relative_points
from training.extras import require

FORMAT = "noms-export/1"
FileFormat = Literal["parquet", "npz"]
SHARD = 1 << 16
"""Rows of a shard, if nothing else is said: 77 MiB of observations and masks before they are compressed."""
GROUP = 1 << 12
"""Rows of a row group in Parquet: 5 MiB."""
SIDE_BY_SIDE = 64
"""Matches that are played at once; which random numbers a player gets depends on it."""
MOST_MATCHES = 1 << 32
CARD = "README.md"
CODEC = "zstd"

Decisions = dict[str, np.ndarray]
"""Rows of the data set: an array for each of `COLUMNS`, shape (rows,) or (rows, width)."""


@dataclass(frozen=True)
class Column:
    """A column of the data set.

    Attributes:
        name: its name.
        dtype: NumPy's name of the type.
        says: what it holds.
        width: numbers in each row; 0 for one that is no list.
    """

    name: str
    dtype: str
    says: str
    width: int = 0


COLUMNS = (
    Column("observation", "uint8", "what the seat saw (`noms_env.observation.layout.OBSERVATION`)", OBSERVATION_SIZE),
    Column("action_mask", "int8", "1 for each legal action", NUM_ACTIONS),
    Column("action", "int16", "the action taken (`noms_env.core.actions`)"),
    Column("points", "float32", "the return: points of the deal for this seat, once it was scored"),
    Column("relative_points", "float32", "those less the mean of the others'"),
    Column("variant", "U12", "the game"),
    Column("seats", "int8", "number of seats"),
    Column("seat", "int8", "who decided"),
    Column("phase", "U12", f"{', '.join(PHASES)}"),
    Column("record", "int64", "running number of the deal in the data set, from 0"),
    Column("match", "int64", "number of the match in its file, or as played"),
    Column("deal", "int32", "number of the deal in the match, from 0"),
    Column("step", "int16", "number of the decision in the deal, from 0, those of all seats counted"),
)
"""The data set, column by column."""


class ExportError(ValueError):
    """A record that decisions cannot be taken from; the message says where and why."""


# --------------------------------------------------------------------------------------------------------- from records


def from_records(lines: Iterable[tuple[int, Record | str]], first: int = 0) -> Iterator[Decisions]:
    """The decisions of records, deal by deal. Nothing in them is trusted: the actions are played, and must come to the points.

    Args:
        lines: numbers of lines, with their records or what is wrong with them (`noms_env.record.read_records`).
        first: running number of the first deal.

    Raises:
        ExportError: a line is damaged, its deal cannot be played or ends otherwise, or its observations would show what the
            file does not hold.
    """
    before: tuple[Record, Table] | None = None
    for number, (line, record) in enumerate(lines, first):
        if isinstance(record, str):
            raise ExportError(f"line {line}: {record}")
        try:
            table = before[1] if before is not None and _follows(record, before[0]) else None
            _check_memory(record, table)
            decisions, table = _decided(record, table, number)
        except RecordError as error:
            raise ExportError(f"line {line}: {error}") from error
        before = record, table
        yield decisions


def _follows(record: Record, before: Record) -> bool:
    """Whether a deal is the next one of the same match."""
    same = all(record[key] == before[key] for key in ("variant", "seats", "options", "match"))
    return same and record["deal"] == before["deal"] + 1


def _check_memory(record: Record, before: Table | None) -> None:
    """Refuse a deal whose observations show the deals before, where these are not there.

    Raises:
        RecordError: they are missing.
    """
    for option in ("observe_previous_hand", "accumulate"):
        if record["options"].get(option) and record["deal"] > 0 and before is None:
            raise RecordError(f"{option} shows the deals before, but deal {record['deal'] - 1} is not on the line before")


def _decided(record: Record, before: Table | None, number: int) -> tuple[Decisions, Table]:
    """The decisions of a deal, and the table at its end.

    Raises:
        RecordError: the deal cannot be played, or not as the record has it.
    """
    steps = record["steps"]
    decisions = empty_rows(len(steps))
    for place, table in enumerate(replay(record, before)):
        if place < len(steps) and not table.is_scored:  # `replay` refuses steps behind the end
            _note(decisions, place, table, steps[place])
    seats = len(record["points"])
    if not same_points(table.row.points[:seats], record["points"]):
        points = table.row.points[:seats].tolist()
        raise RecordError(f"the points are {record['points']}, but by the rules {points} (noms check tells more)")
    relative = relative_points(table.row.points[np.newaxis], np.array([seats]))[0]
    decisions["points"][:] = table.row.points[decisions["seat"]]
    decisions["relative_points"][:] = relative[decisions["seat"]]
    for name, value in (("variant", record["variant"]), ("seats", seats), ("record", number)):
        decisions[name][:] = value
    decisions["match"][:], decisions["deal"][:] = record["match"], record["deal"]
    decisions["step"][:] = np.arange(len(steps))
    return decisions, table


def _note(decisions: Decisions, place: int, table: Table, step: Record) -> None:
    """One decision, before it is played again.

    Raises:
        RecordError: it is another seat's turn or another phase than the record says, or the action means nothing there.
    """
    seat, phase = int(table.row.seat), table.phase
    if (step["seat"], step["phase"]) != (seat, phase):
        raise RecordError(f"step {place} is by seat {step['seat']} ({step['phase']}), but seat {seat} is to act ({phase})")
    try:
        action = table.number(step["action"])
    except ValueError as error:
        raise RecordError(f"step {place}: {error}") from error
    decisions["observation"][place], decisions["action_mask"][place] = table.view(seat)
    decisions["seat"][place], decisions["phase"][place], decisions["action"][place] = seat, phase, action


# ------------------------------------------------------------------------------------------------------------ from play


def from_play(
    kind: Rules, players: Sequence[AgentSpec], matches: int, seed: int = 0, limit: float | None = None
) -> Iterator[tuple[Decisions, int]]:
    """Play matches, and give the decisions of all seats, also those without a choice. Nothing is played before it is asked for.

    The cards of match m are those of `noms_env.record.record_matches` with the same seed.

    Args:
        kind: the rules.
        players: one for all seats, or one for each.
        matches: how many.
        seed: 0 to 2**63 - 1: of the cards, and of what is random in the players.
        limit: seconds for a decision (`Guarded`).

    Yields:
        Decisions of whole deals, one deal after another, and the number of matches that are over with them.

    Raises:
        ValueError: a number is out of range, or a player cannot sit at such a table.
        ForfeitError: a player failed.
    """
    checked_seed(seed)
    if not 1 <= matches <= MOST_MATCHES:
        raise ValueError(f"matches must be from 1 to {MOST_MATCHES}, not {matches}")
    if len(players) not in (1, kind.seats):
        raise ValueError(f"name one player for all {kind.seats} seats, or {kind.seats} of them, not {len(players)}")
    for player in players:
        player.check(kind)
    return _waves(kind, players, matches, seed, limit)


def _waves(
    kind: Rules, players: Sequence[AgentSpec], matches: int, seed: int, limit: float | None
) -> Iterator[tuple[Decisions, int]]:
    """Some matches after others."""
    deals = 0
    for first in range(0, matches, SIDE_BY_SIDE):
        numbers = np.arange(first, min(matches, first + SIDE_BY_SIDE))
        with guarded(players, (seed, first), Event(), limit) as guards:
            for decisions, ended in _side_by_side(kind, guards, [player.name for player in players], numbers, seed):
                decisions["record"] += deals
                deals = int(decisions["record"][-1]) + 1
                yield decisions, ended


def _side_by_side(
    kind: Rules, guards: Sequence[Guarded], names: Sequence[str], matches: np.ndarray, seed: int
) -> Iterator[tuple[Decisions, int]]:
    """Matches at as many tables; records are numbered from 0 in each lot.

    Raises:
        ForfeitError: a player failed.
    """
    pool = TablePool([kind], [0], len(matches), seed=seed, in_matches=True, skip_forced=False)
    batch, log = pool.batch, list[Decisions]()
    witnesses = [partial(_noted, guard, log) for guard in guards]
    seating = np.tile(np.arange(MAX_SEATS) if len(guards) > 1 else np.zeros(MAX_SEATS, np.int64), (len(pool), 1))
    batch.reset(match=matches, table=0)
    while not batch.over.all():
        playing = ~batch.over
        batch.scored[:] = batch.over  # `play` is to leave those alone whose match is over
        play(pool, witnesses, seating)
        for guard, name in zip(guards, names, strict=True):
            for row, why in guard.lost.items():
                raise ForfeitError(name, f"{why} (match {matches[row]}, deal {batch.tables.deal[row]})")
        yield _joined(pool, log, matches), int((playing & batch.over).sum())
        log.clear()
        batch.next_deal()


def _noted(player: Choose, log: list[Decisions], batch: BatchEnv, rows: np.ndarray) -> np.ndarray:
    """The choices of a player; `log` gets what it saw and did, with `row`, the numbers of the rows in the batch."""
    actions = player(batch, rows)
    seen = {"row": rows, "observation": batch.observation[rows], "action_mask": batch.mask[rows], "action": actions}
    log.append({**seen, "seat": batch.seat[rows], "phase": batch.tables.phase[rows]})
    return actions


def _joined(pool: TablePool, log: Sequence[Decisions], matches: np.ndarray) -> Decisions:
    """The decisions of a deal at each table, table by table."""
    row = np.concatenate([part["row"] for part in log])
    order = np.argsort(row, kind="stable")
    row = row[order]
    decisions = empty_rows(len(row))
    for name in ("observation", "action_mask", "action", "seat"):
        decisions[name][:] = np.concatenate([part[name] for part in log])[order]
    decisions["phase"][:] = np.array(PHASES)[np.concatenate([part["phase"] for part in log])[order]]
    _, begins, deal = np.unique(row, return_index=True, return_inverse=True)
    batch, seat = pool.batch, decisions["seat"]
    decisions["points"][:] = batch.points[row, seat]
    decisions["relative_points"][:] = relative_points(batch.points, pool.seats)[row, seat]
    decisions["variant"][:], decisions["seats"][:] = batch.groups[0].rules.variant.name, pool.seats[row]
    decisions["record"][:], decisions["match"][:] = deal, matches[row]
    decisions["deal"][:] = batch.tables.deal[row]
    decisions["step"][:] = np.arange(len(row)) - begins[deal]
    return decisions


# --------------------------------------------------------------------------------------------------------------- shards


@dataclass(frozen=True)
class Written:
    """What was written.

    Attributes:
        decisions: rows.
        deals: of how many deals.
        shards: in how many files.
    """

    decisions: int
    deals: int
    shards: int


class ShardFile(Protocol):
    """A shard that is being written."""

    def write(self, rows: Decisions) -> None:
        """Add rows."""
        ...

    def close(self) -> None:
        """No more will come."""
        ...


def write_shards(
    decisions: Iterable[Decisions],
    folder: Path,
    source: Mapping[str, Any],
    file_format: FileFormat = "parquet",
    shard: int = SHARD,
) -> Written:
    """Write decisions as a folder of shards, `decisions-00000.parquet` and so on, with a card, `README.md`.

    The folder is there whole or not at all: it is written beside its place, under a name that ends in `.part`.

    Args:
        decisions: in any portions.
        folder: a new one, or an empty one.
        source: where they come from, as plain values: the card and every shard say so.
        file_format: `parquet` (the extra `export`) or `npz`.
        shard: rows of each file but the last.

    Raises:
        ValueError: `shard` is below 1, the folder is not empty, or there are no decisions.
        MissingExtraError: Arrow is not installed.
        OSError: it cannot be written; nothing is left behind.
    """
    if shard < 1:
        raise ValueError(f"the rows of a shard must be 1 or more, not {shard}")
    check_folder(folder)
    about = {"format": FORMAT, "environment": ENV_VERSION, "layout": layout_digest(), "source": dict(source)}
    open_file = _opener(file_format, json.dumps(about, sort_keys=True))
    beside = folder.absolute().with_name(f".{folder.absolute().name}.{os.getpid()}.part")
    beside.mkdir()
    try:
        written = _Shards(beside, file_format, open_file, shard).filled(decisions)
        if not written.decisions:
            raise ValueError("there are no decisions to write")
        (beside / CARD).write_text(card(about, file_format, written), encoding="utf-8")
        with suppress(FileNotFoundError):
            folder.rmdir()
        beside.replace(folder)
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise
    return written


def check_folder(folder: Path) -> None:
    """Make sure that a folder can be made, or is there and empty.

    Raises:
        ValueError: it holds something, or is no folder.
        OSError: it cannot be looked into.
    """
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file: a folder is wanted")
    if folder.is_dir() and any(folder.iterdir()):
        raise ValueError(f"{folder} is not empty: take a new folder")


def _opener(file_format: FileFormat, about: str) -> Callable[[Path], ShardFile]:
    """What opens a shard.

    Raises:
        MissingExtraError: Arrow is not installed.
    """
    if file_format == "npz":
        return lambda path: NpzFile(path, about)
    require("pyarrow.parquet", "export", "an export as Parquet")
    return lambda path: ParquetFile(path, about)


class _Shards:
    """Cuts decisions into files."""

    def __init__(self, folder: Path, file_format: FileFormat, open_file: Callable[[Path], ShardFile], shard: int) -> None:
        self._folder, self._format, self._open_file, self._shard = folder, file_format, open_file, shard
        self._block = shard if file_format == "npz" else min(GROUP, shard)
        self._rows, self._fill = empty_rows(self._block), 0
        self._file: ShardFile | None = None
        self._in_file = self._files = 0

    def filled(self, decisions: Iterable[Decisions]) -> Written:
        """Write all of them."""
        total = deals = 0
        for part in decisions:
            self._add(part)
            total += len(part["action"])
            deals += len(np.unique(part["record"]))
        self._flush()
        self._close()
        return Written(total, deals, self._files)

    def _add(self, part: Decisions) -> None:
        """Take over rows, and write what is full."""
        start, rows = 0, len(part["action"])
        while start < rows:
            count = min(rows - start, self._block - self._fill, self._shard - self._in_file - self._fill)
            for name, kept in self._rows.items():
                kept[self._fill : self._fill + count] = part[name][start : start + count]
            self._fill, start = self._fill + count, start + count
            if self._fill == self._block or self._in_file + self._fill == self._shard:
                self._flush()
            if self._in_file == self._shard:
                self._close()

    def _flush(self) -> None:
        """Write the rows at hand."""
        if self._fill == 0:
            return
        if self._file is None:
            self._file = self._open_file(self._folder / f"decisions-{self._files:05}.{self._format}")
            self._files += 1
        self._file.write({name: kept[: self._fill] for name, kept in self._rows.items()})
        self._in_file, self._fill = self._in_file + self._fill, 0

    def _close(self) -> None:
        """End the file."""
        if self._file is not None:
            self._file.close()
        self._file, self._in_file = None, 0


class ParquetFile:
    """A shard of Parquet: every portion of rows is a row group."""

    def __init__(self, path: Path, about: str) -> None:
        """Open it; `about` becomes the metadata `noms-export`."""
        import pyarrow as arrow
        from pyarrow import parquet

        self._arrow = arrow
        fields = [arrow.field(column.name, _arrow_type(column)) for column in COLUMNS]
        self._schema = arrow.schema(fields, {"noms-export": about})
        self._writer = parquet.ParquetWriter(path, self._schema, compression=CODEC)

    def write(self, rows: Decisions) -> None:
        """See `ShardFile`."""
        arrow = self._arrow
        arrays = []
        for column, field in zip(COLUMNS, self._schema, strict=True):
            values = arrow.array(rows[column.name].reshape(-1))
            arrays.append(arrow.FixedSizeListArray.from_arrays(values, type=field.type) if column.width else values)
        self._writer.write_table(arrow.Table.from_arrays(arrays, schema=self._schema), row_group_size=GROUP)

    def close(self) -> None:
        """See `ShardFile`."""
        self._writer.close()


def _arrow_type(column: Column) -> Any:
    """Arrow's type of a column."""
    import pyarrow as arrow

    if column.dtype.startswith("U"):
        return arrow.string()
    one = arrow.from_numpy_dtype(np.dtype(column.dtype))
    return arrow.list_(one, column.width) if column.width else one


class NpzFile:
    """A shard of NumPy: an array for each column, and `about`, a text."""

    def __init__(self, path: Path, about: str) -> None:
        """Name the file; it is written when the rows are there."""
        self._path, self._about = path, about

    def write(self, rows: Decisions) -> None:
        """All rows of the shard at once."""
        arrays: dict[str, Any] = {"about": np.array(self._about), **rows}
        with self._path.open("wb") as file:
            np.savez_compressed(file, **arrays)

    def close(self) -> None:
        """See `ShardFile`."""


def empty_rows(rows: int) -> Decisions:
    """Arrays for so many rows."""
    shapes = {column: (rows, column.width) if column.width else (rows,) for column in COLUMNS}
    return {column.name: np.zeros(shape, column.dtype) for column, shape in shapes.items()}


def card(about: Mapping[str, Any], file_format: FileFormat, written: Written) -> str:
    """What the folder holds, for people; its head tells Hugging Face's `datasets` which files to read."""
    head = ["---", "configs:", "- config_name: default", "  data_files: decisions-*.parquet", "---", ""]
    return "\n".join(
        [
            *(head if file_format == "parquet" else []),
            "# Decisions at nomination whist",
            "",
            f"{written.decisions:,} decisions of {written.deals:,} deals, one to a row (`{about['format']}`). "
            "The decisions of a deal follow one another; split by `record`, not by row.",
            "",
            "| column | type | |",
            "| --- | --- | --- |",
            *(f"| `{one.name}` | {_type_text(one)} | {one.says} |" for one in COLUMNS),
            "",
            f"Version {about['environment']} of the environments, layout `{about['layout']}`. Written by `noms export` from:",
            "",
            "```json",
            json.dumps(about["source"], indent=1, sort_keys=True),
            "```",
            "",
        ]
    )


def _type_text(column: Column) -> str:
    """The type of a column, for people."""
    one = "text" if column.dtype.startswith("U") else column.dtype
    return f"{column.width:,} {one}" if column.width else one
