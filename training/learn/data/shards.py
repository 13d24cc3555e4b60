"""Decisions as files: shards of a fixed number of rows, as Parquet or NumPy's `.npz`, with a card that describes them.

Only a group of rows is held in memory (with `.npz` a shard). The same arguments give the same bytes, with the same versions of
NumPy and Arrow.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple
from zipfile import ZipFile

import numpy as np

from noms_env._files import open_file
from noms_env._json import parse_json
from noms_env._npz import array_of, head_of
from noms_env.core.actions import brief
from noms_env.observation.layout import layout_digest
from noms_env.version import ENV_VERSION

from ...extras import MissingExtraError, require
from .checking import FORMAT, MOST_BYTES, MOST_ROWS, check_about, check_rows
from .decisions import COLUMNS, TARGETS, Column, Decisions, empty_rows

FileFormat = Literal["parquet", "npz"]
SHARD = 1 << 16
"""Rows of a shard, if nothing else is said: 77 MiB of observations and masks before they are compressed."""
MOST_TEXT = 1 << 20
"""Bytes of what a shard says of itself."""
GROUP = 1 << 12
"""Rows of a row group in Parquet: 5 MiB."""
CARD = "README.md"
CODEC = "zstd"


class Written(NamedTuple):
    """How many rows (decisions) of how many deals were written, in how many files."""

    decisions: int
    deals: int
    shards: int


def write_shards(
    decisions: Iterable[Decisions],
    folder: Path,
    source: Mapping[str, Any],
    file_format: FileFormat = "parquet",
    shard: int = SHARD,
    columns: Sequence[Column] = COLUMNS,
) -> Written:
    """Write decisions as a folder of shards, `decisions-00000.parquet` and so on, with a card, `README.md`.

    The folder is there whole or not at all: it is written beside its place, under a name that ends in `.part`.

    Args:
        decisions: in any portions.
        folder: a new one, in folders that need not be there, or an empty one.
        source: where they come from, as plain values: the card and every shard say so.
        file_format: `parquet` (the extra `export`) or `npz`.
        shard: rows of each file but the last.
        columns: of the decisions.

    Raises:
        ValueError: `shard` is not from 1 to `MOST_ROWS`, the folder is not empty, or there are no decisions.
        MissingExtraError: Arrow is not installed.
        OSError: it cannot be written; nothing is left behind.
    """
    if not 1 <= shard <= MOST_ROWS:
        raise ValueError(f"the rows of a shard must be from 1 to {MOST_ROWS}, not {shard}")
    folder = folder.resolve()
    check_folder(folder)
    about = {"format": FORMAT, "environment": ENV_VERSION, "layout": layout_digest(), "source": dict(source)}
    if file_format == "parquet":
        require("pyarrow.parquet", "export", "an export as Parquet")
    beside = folder.with_name(f".{folder.name}.{os.getpid()}.part")
    missing = [parent for parent in folder.parents if not parent.exists()]
    beside.mkdir(parents=True)
    try:
        written = _Shards(beside, file_format, json.dumps(about, sort_keys=True), shard, columns).filled(decisions)
        if not written.decisions:
            raise ValueError("there are no decisions to write")
        (beside / CARD).write_text(card(about, file_format, written, columns), encoding="utf-8")
        with suppress(FileNotFoundError):
            folder.rmdir()
        beside.replace(folder)
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        for parent in missing:
            with suppress(OSError):  # another export has come into it
                parent.rmdir()
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
    if folder.is_dir() and folder.samefile(Path.cwd()):
        raise ValueError("an export cannot be written into the current folder: name a new one in it")


class _Shards:
    def __init__(self, folder: Path, file_format: FileFormat, about: str, shard: int, columns: Sequence[Column]) -> None:
        self._folder, self._format, self._about, self._shard, self._columns = folder, file_format, about, shard, columns
        self._block = shard if file_format == "npz" else min(GROUP, shard)
        self._rows, self._fill = empty_rows(self._block, columns), 0
        self._file: ParquetFile | NpzFile | None = None
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
        if self._fill == 0:
            return
        if self._file is None:
            path = self._folder / f"decisions-{self._files:05}.{self._format}"
            self._file = (NpzFile if self._format == "npz" else ParquetFile)(path, self._about, self._columns)
            self._files += 1
        self._file.write({name: kept[: self._fill] for name, kept in self._rows.items()})
        self._in_file, self._fill = self._in_file + self._fill, 0

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
        self._file, self._in_file = None, 0


class ParquetFile:
    """A shard of Parquet: every portion of rows is a row group."""

    def __init__(self, path: Path, about: str, columns: Sequence[Column]) -> None:
        import pyarrow as arrow
        from pyarrow import parquet

        self._arrow, self._columns = arrow, columns
        fields = [arrow.field(column.name, _arrow_type(column)) for column in columns]
        self._schema = arrow.schema(fields, {"noms-export": about})
        self._writer = parquet.ParquetWriter(path, self._schema, compression=CODEC)

    def write(self, rows: Decisions) -> None:
        arrow = self._arrow
        arrays = []
        for column, field in zip(self._columns, self._schema, strict=True):
            values = arrow.array(rows[column.name].reshape(-1))
            arrays.append(arrow.FixedSizeListArray.from_arrays(values, type=field.type) if column.width else values)
        self._writer.write_table(arrow.Table.from_arrays(arrays, schema=self._schema), row_group_size=GROUP)

    def close(self) -> None:
        self._writer.close()


def _arrow_type(column: Column) -> Any:
    import pyarrow as arrow

    if column.dtype.startswith("U"):
        return arrow.string()
    one = arrow.from_numpy_dtype(np.dtype(column.dtype))
    return arrow.list_(one, column.width) if column.width else one


class NpzFile:
    """A shard of NumPy: an array for each column, and `about`, a text."""

    def __init__(self, path: Path, about: str, columns: Sequence[Column]) -> None:
        self._path, self._about = path, about

    def write(self, rows: Decisions) -> None:
        """All rows of the shard at once."""
        arrays: dict[str, Any] = {"about": np.array(self._about), **rows}
        with self._path.open("wb") as file:
            np.savez_compressed(file, **arrays)

    def close(self) -> None:
        """Nothing is left to do."""


def card(about: Mapping[str, Any], file_format: FileFormat, written: Written, columns: Sequence[Column]) -> str:
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
            *(f"| `{one.name}` | {_type_text(one)} | {one.says} |" for one in columns),
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
    one = "text" if column.dtype.startswith("U") else column.dtype
    return f"{column.width:,} {one}" if column.width else one


def shard_folders(folder: Path) -> list[Path]:
    """The folder of an export, or, if this one holds exports, theirs by name.

    Raises:
        ValueError: there are no decisions in it.
    """
    found = [folder] if _shards_in(folder) else sorted(place for place in folder.glob("[!.]*/") if _shards_in(place))
    if not found:
        raise ValueError(f"{folder} has no decisions: a folder that `noms export` has made is wanted, or one of such folders")
    return found


def _shards_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("decisions-*") if path.suffix in (".npz", ".parquet") and path.is_file())


def read_shards(folder: Path, columns: Sequence[str]) -> Iterator[tuple[dict[str, Any], Decisions]]:
    """The shards of a folder one after another: what they say of themselves (`format`, `layout`, `source`), and some columns.

    Nothing in them is trusted: types, widths, lengths and values are those of decisions, or the shard is refused.

    Raises:
        ValueError: the folder has no shards, a shard is damaged or written for other observations, it lacks a column, or has
            more rows than can be read at once.
        MissingExtraError: Arrow is not installed, and the shards are Parquet.
        OSError: a file cannot be read.
    """
    paths = _shards_in(folder)
    if not paths:
        raise ValueError(f"{folder} has no decisions: a folder that `noms export` has made is wanted")
    wanted = [column for column in COLUMNS + TARGETS if column.name in columns]
    for path in paths:
        open_file(path).close()  # what fails behind this is damage, also where it looks like a fault of the disk
        try:
            about, rows = (_read_npz if path.suffix == ".npz" else _read_parquet)(path, wanted)
        except MissingExtraError:
            raise
        except _Refused as refused:
            raise ValueError(f"{path} {refused}") from refused
        except Exception as error:  # what zip files, NumPy and Arrow find wrong
            raise ValueError(f"{path} is damaged: {brief(str(error))[1:-1]}") from error
        try:
            check_about(about)
            check_rows(rows)
        except ValueError as error:
            raise ValueError(f"{path} {error}") from error
        yield about, rows


class _Refused(Exception):
    """A shard that is not read; the message goes on after the name of the file."""


def _check_form(columns: Iterable[Column], rows: Mapping[str, int], fits: Callable[[Column], bool]) -> None:
    """Refuse a shard, before it is read, whose columns have other types or lengths than they must have.

    Args:
        columns: those that are wanted.
        rows: the number of rows of each column that there is.
        fits: whether a column that there is has the right type.
    """
    for column in columns:
        if column.name not in rows:
            raise _Refused(f"has no column {column.name!r}")
        if not fits(column):
            raise _Refused(f"has no {_type_text(column)} in each row of its column {column.name!r}")
    lengths = {rows[column.name] for column in columns}
    if len(lengths) > 1:
        raise _Refused("has columns of different lengths")
    if not all(1 <= length <= MOST_ROWS for length in lengths):
        raise _Refused(f"has {lengths.pop():,} rows, where 1 to {MOST_ROWS:,} can be read: export it with another --shard")


def _read_npz(path: Path, columns: Sequence[Column]) -> tuple[Any, Decisions]:
    with open_file(path) as opened, ZipFile(opened) as file:
        names = "about", *(column.name for column in columns)
        heads = {name: head for name in names if (head := head_of(file, name)) is not None}
        shape, dtype = heads.pop("about", ((0,), np.dtype(object)))
        if shape != () or dtype.kind != "U" or dtype.itemsize > MOST_TEXT:
            raise _Refused("is damaged: it does not say where its decisions come from")

        def fits(column: Column) -> bool:
            shape, dtype = heads[column.name]
            return dtype == np.dtype(column.dtype) and shape[1:] == ((column.width,) if column.width else ())

        _check_form(columns, {name: shape[0] if shape else 0 for name, (shape, _) in heads.items()}, fits)
        about = parse_json(str(array_of(file, "about")))
        return about, {column.name: array_of(file, column.name) for column in columns}


def _read_parquet(path: Path, columns: Sequence[Column]) -> tuple[Any, Decisions]:
    require("pyarrow.parquet", "export", "reading Parquet")
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        schema, rows = file.schema_arrow, dict[str, np.ndarray]()
        lengths = dict.fromkeys(schema.names, file.metadata.num_rows)
        _check_form(columns, lengths, lambda column: bool(schema.field(column.name).type == _arrow_type(column)))
        _check_sizes(file.metadata, columns)
        about = parse_json((schema.metadata or {}).get(b"noms-export", b"null"))
        table = file.read([column.name for column in columns])
        for column in columns:
            chunk = table.column(column.name).combine_chunks()
            values = chunk.flatten() if column.width else chunk
            if chunk.null_count or values.null_count or len(values) != len(table) * max(column.width, 1):
                raise _Refused(f"lacks values of its column {column.name!r}")
            array = values.to_numpy(zero_copy_only=False).astype(column.dtype)
            rows[column.name] = array.reshape(-1, column.width) if column.width else array
        return about, rows


def _check_sizes(metadata: Any, columns: Sequence[Column]) -> None:
    """Refuse a shard of Parquet, before it is read, that says of a column that it takes more bytes than its rows can fill."""
    sizes = dict.fromkeys((column.name for column in columns), 0)
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        for chunk in map(group.column, range(group.num_columns)):
            name = chunk.path_in_schema.partition(".")[0]
            if name in sizes:
                sizes[name] += chunk.total_uncompressed_size
    for column in columns:
        most = MOST_BYTES * max(column.width, 4) * metadata.num_rows + metadata.num_row_groups * MOST_TEXT
        if sizes[column.name] > most:
            raise _Refused(f"has {sizes[column.name]:,} bytes in its column {column.name!r}, where {most:,} can be read")
