"""Decisions as files: shards of a fixed number of rows, as Parquet or NumPy's `.npz`, with a data card.

Writing holds one row group in memory (with `.npz` one shard). Output is deterministic, for fixed versions of NumPy and Arrow.
Shards are not trusted: readers validate everything, since training relies on it.
"""

from __future__ import annotations

import itertools
import json
import secrets
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
from noms_env.core.actions import NUM_ACTIONS, PHASES, brief
from noms_env.core.state import MAX_SEATS
from noms_env.observation.layout import OBSERVATION, OBSERVATION_SIZE, layout_digest
from noms_env.variants import VARIANTS
from noms_env.version import ENV_VERSION

from ...extras import MissingExtraError, require
from .decisions import COLUMNS, TARGETS, Column, Decisions, empty_rows

FileFormat = Literal["parquet", "npz"]
FORMAT = "noms-export/1"
MAX_ROWS = 1 << 20  # maximum rows of a shard, which is read as a whole and then takes 1.9 GiB
MAX_ROWS_OF_RUN = 1 << 22  # maximum rows of all shards of a run, which holds them in memory
MAX_BYTES = 16  # maximum uncompressed bytes per value in Parquet; four times as many for scalars, such as texts
ROUNDING = 1e-3  # tolerance of the sum of probabilities, which are rounded
SOURCE: dict[str, type | tuple[type, ...]] = {
    **{"variant": str, "seats": int, "options": dict, "players": list, "matches": int, "seed": int, "first": int},
    "limit": (int, float, type(None)),
}
"""Fields of the source of a shard, and their types."""
SHARD = 1 << 16  # default rows of a shard: 77 MiB of observations and masks, uncompressed
MAX_TEXT = 1 << 20  # maximum bytes of a shard's metadata
GROUP = 1 << 12  # rows of a Parquet row group: 5 MiB
CARD = "README.md"
CODEC = "zstd"


class Written(NamedTuple):
    """Numbers of decisions (rows), deals and shards (files) written."""

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

    The write is atomic: a temporary folder `.part` is moved to `folder`, which must be new or empty. The decisions come in
    batches of any size; a file has `shard` rows, the last one perhaps fewer. `source` describes their source as plain values.

    ValueError if `shard` is not from 1 to `MAX_ROWS`, the folder is not empty, or there are no decisions; MissingExtraError
    without Arrow; OSError if a file cannot be written, and then none remains.
    """
    if not 1 <= shard <= MAX_ROWS:
        raise ValueError(f"the rows of a shard must be from 1 to {MAX_ROWS}, not {shard}")
    folder = folder.resolve()
    check_folder(folder)
    about = {"format": FORMAT, "environment": ENV_VERSION, "layout": layout_digest(), "source": dict(source)}
    if file_format == "parquet":
        require("pyarrow.parquet", "export", "an export as Parquet")
    part = next(parent for parent in folder.parents if parent.exists()) / f".{folder.name}.{secrets.token_hex(4)}.part"
    part.mkdir()
    try:
        write = _write_parquet if file_format == "parquet" else _write_npz
        written = write(decisions, part, json.dumps(about, sort_keys=True), shard, columns)
        if not written.decisions:
            raise ValueError("there are no decisions to write")
        (part / CARD).write_text(card(about, file_format, written, columns), encoding="utf-8")
        folder.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            folder.rmdir()
        part.replace(folder)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    return written


def check_folder(folder: Path) -> None:
    """Check that a folder is new, or empty and not the current one; ValueError if not, OSError if it is unreadable."""
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file: a folder is wanted")
    if folder.is_dir() and any(folder.iterdir()):
        raise ValueError(f"{folder} is not empty: take a new folder")
    if folder.is_dir() and (folder.samefile(Path.cwd()) or folder.is_mount()):
        what = "the current folder" if folder.samefile(Path.cwd()) else f"{folder}, where a file system is mounted"
        raise ValueError(f"an export cannot be written into {what}: name a new one in it")


def _blocks(decisions: Iterable[Decisions], sizes: Iterator[int], columns: Sequence[Column]) -> Iterator[Decisions]:
    """Yield the rows in blocks of the given sizes; the last block may be smaller."""
    rows, filled = empty_rows(next(sizes), columns), 0
    for part in decisions:
        start, end = 0, len(part["action"])
        while start < end:
            count = min(end - start, len(rows["action"]) - filled)
            for name, column in rows.items():
                column[filled : filled + count] = part[name][start : start + count]
            filled, start = filled + count, start + count
            if filled == len(rows["action"]):
                yield rows
                size, filled = next(sizes), 0
                rows = rows if size == len(rows["action"]) else empty_rows(size, columns)
    if filled:
        yield {name: column[:filled] for name, column in rows.items()}


def _write_npz(decisions: Iterable[Decisions], folder: Path, about: str, shard: int, columns: Sequence[Column]) -> Written:
    written = Written(0, 0, 0)
    for rows in _blocks(decisions, itertools.repeat(shard), columns):
        arrays: dict[str, Any] = {"about": np.array(about), **rows}
        with (folder / f"decisions-{written.shards:05}.npz").open("wb") as file:
            np.savez_compressed(file, **arrays)
        written = Written(written.decisions + len(rows["action"]), int(rows["record"][-1]) + 1, written.shards + 1)
    return written


def _write_parquet(decisions: Iterable[Decisions], folder: Path, about: str, shard: int, columns: Sequence[Column]) -> Written:
    """Write a file per shard, in row groups of at most `GROUP` rows; `about` is in the metadata of the schema."""
    import pyarrow as arrow
    from pyarrow import parquet

    schema = arrow.schema([arrow.field(column.name, _arrow_type(column)) for column in columns], {"noms-export": about})
    groups = [GROUP] * (shard // GROUP) + ([shard % GROUP] if shard % GROUP else [])
    written = Written(0, 0, 0)
    file: Any = None
    for number, rows in enumerate(_blocks(decisions, itertools.cycle(groups), columns)):
        if number % len(groups) == 0:
            if file is not None:
                file.close()
            file = parquet.ParquetWriter(folder / f"decisions-{written.shards:05}.parquet", schema, compression=CODEC)
            written = written._replace(shards=written.shards + 1)
        arrays = []
        for column, field in zip(columns, schema, strict=True):
            values = arrow.array(rows[column.name].reshape(-1))
            arrays.append(arrow.FixedSizeListArray.from_arrays(values, type=field.type) if column.width else values)
        file.write_table(arrow.Table.from_arrays(arrays, schema=schema), row_group_size=GROUP)
        written = written._replace(decisions=written.decisions + len(rows["action"]), deals=int(rows["record"][-1]) + 1)
    if file is not None:
        file.close()
    return written


def _arrow_type(column: Column) -> Any:
    import pyarrow as arrow

    if column.dtype.startswith("U"):
        return arrow.string()
    number = arrow.from_numpy_dtype(np.dtype(column.dtype))
    return arrow.list_(number, column.width) if column.width else number


def card(about: Mapping[str, Any], file_format: FileFormat, written: Written, columns: Sequence[Column]) -> str:
    """Return the data card; its front matter names the files for Hugging Face's `datasets`."""
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
            *(f"| `{column.name}` | {_type_text(column)} | {column.description} |" for column in columns),
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
    kind = "text" if column.dtype.startswith("U") else column.dtype
    return f"{column.width:,} {kind}" if column.width else kind


def shard_folders(folder: Path) -> list[Path]:
    """Return the folder itself if it has shards, else its subfolders with shards, by name; ValueError if none has any."""
    folders = [folder] if _shards_in(folder) else sorted(place for place in folder.glob("[!.]*/") if _shards_in(place))
    if not folders:
        raise ValueError(f"{folder} has no decisions: name a folder made by `noms export`, or a folder of such folders")
    return folders


def _shards_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("decisions-*") if path.suffix in (".npz", ".parquet") and path.is_file())


def read_shards(folder: Path, columns: Sequence[str]) -> Iterator[tuple[dict[str, Any], Decisions]]:
    """Yield the metadata (`format`, `layout`, `source`) and some columns of each shard of a folder.

    ValueError if there is no shard, or one is damaged, has another observation layout, lacks a column, or has more than
    `MAX_ROWS` rows; MissingExtraError for Parquet without Arrow; OSError if a file cannot be read.
    """
    paths = _shards_in(folder)
    if not paths:
        raise ValueError(f"{folder} has no decisions: name a folder made by `noms export`")
    required = [column for column in COLUMNS + TARGETS if column.name in columns]
    for path in paths:
        open_file(path).close()  # later errors count as damage, even OSErrors
        try:
            about, rows = (_read_npz if path.suffix == ".npz" else _read_parquet)(path, required)
            check_about(about)
            check_rows(rows)
        except MissingExtraError:
            raise
        except ShardError as error:
            raise ValueError(f"{path} {error}") from error
        except Exception as error:  # of zipfile, NumPy or Arrow
            raise ValueError(f"{path} is damaged: {brief(str(error))[1:-1]}") from error
        yield about, rows


def _check_form(columns: Iterable[Column], rows: Mapping[str, int], fits: Callable[[Column], bool]) -> None:
    """Check the columns before reading them, from their numbers of rows and whether a type fits; ShardError if wrong."""
    for column in columns:
        if column.name not in rows:
            raise ShardError(f"has no column {column.name!r}")
        if not fits(column):
            raise ShardError(f"has no {_type_text(column)} in each row of its column {column.name!r}")
    lengths = {rows[column.name] for column in columns}
    if len(lengths) > 1:
        raise ShardError("has columns of different lengths")
    if not all(1 <= length <= MAX_ROWS for length in lengths):
        raise ShardError(f"has {lengths.pop():,} rows, where 1 to {MAX_ROWS:,} can be read: export it with another --shard")


def _read_npz(path: Path, columns: Sequence[Column]) -> tuple[Any, Decisions]:
    with open_file(path) as opened, ZipFile(opened) as file:
        names = "about", *(column.name for column in columns)
        heads = {name: head for name in names if (head := head_of(file, name)) is not None}
        shape, dtype = heads.pop("about", ((0,), np.dtype(object)))
        if shape != () or dtype.kind != "U" or dtype.itemsize > MAX_TEXT:
            raise ShardError("is damaged: it has no source")

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
                raise ShardError(f"lacks values of its column {column.name!r}")
            array = values.to_numpy(zero_copy_only=False).astype(column.dtype)
            rows[column.name] = array.reshape(-1, column.width) if column.width else array
        return about, rows


def _check_sizes(metadata: Any, columns: Sequence[Column]) -> None:
    """Check the declared bytes of the Parquet columns before reading them; ShardError if its rows cannot fill them."""
    sizes = dict.fromkeys((column.name for column in columns), 0)
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        for chunk in map(group.column, range(group.num_columns)):
            name = chunk.path_in_schema.partition(".")[0]
            if name in sizes:
                sizes[name] += chunk.total_uncompressed_size
    for column in columns:
        most = MAX_BYTES * max(column.width, 4) * metadata.num_rows + metadata.num_row_groups * MAX_TEXT
        if sizes[column.name] > most:
            raise ShardError(f"has {sizes[column.name]:,} bytes in its column {column.name!r}, where {most:,} can be read")


class ShardError(ValueError):
    """A shard is invalid; the message continues after the name of the file."""


def check_about(about: Any) -> None:
    """Check the metadata of a shard; ShardError unless this version could have written them."""
    if not isinstance(about, dict) or about.get("format") != FORMAT or not isinstance(about.get("source"), dict):
        raise ShardError("is damaged: it has no source")
    if about.get("layout") != layout_digest():
        raise ShardError(f"holds observations of another version ({about.get('environment')!r:.40}): export it anew")
    source = about["source"]
    invalid = [name for name, kind in SOURCE.items() if name in source and not isinstance(source[name], kind)]
    words = [] if invalid else [source.get("variant", ""), *source.get("players", []), *source.get("options", {})]
    if invalid or not all(isinstance(word, str) and word.isprintable() for word in words):
        raise ShardError(f"is damaged: {invalid[0] if invalid else 'a name'} in its source is invalid")


def _most_bytes() -> np.ndarray:
    """Return the maximum of each byte of an observation, 255 unless it is a flag or a card; uint8, (OBSERVATION_SIZE,)."""
    most = np.full(OBSERVATION_SIZE, 255, np.uint8)
    flags = "hand", "played", "exposed", "phase", "trump", "led_suit", "role", "variant"
    for section in OBSERVATION:
        part = most[section.slice].reshape(section.shape)
        if section.name in flags:
            part[...] = 1
        if section.name in ("hand", "played", "exposed", "trick_of", "previous_deal"):
            part[..., 52:] = 0
        if section.name == "on_table":
            part[:, :6], part[:, 7] = 1, 52
    return most


_MOST = _most_bytes()


def _between(low: float, high: float) -> Callable[[np.ndarray], np.ndarray]:
    return lambda values: (values >= low) & (values <= high)


_NUMBER = _between(0, np.inf)
ALLOWED: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "observation": lambda values: values <= _MOST,
    "action_mask": _between(0, 1),
    "action": _between(0, NUM_ACTIONS - 1),
    "points": np.isfinite,
    "relative_points": np.isfinite,
    "variant": lambda values: np.isin(values, VARIANTS),
    "seats": _between(2, MAX_SEATS),
    "seat": _between(0, MAX_SEATS - 1),
    "phase": lambda values: np.isin(values, PHASES),
    **dict.fromkeys(("record", "match", "deal", "step"), _NUMBER),
    "policy": _between(0, 1 + ROUNDING),
    "value": lambda values: ~np.isinf(values),
}
"""Predicate of the allowed values of each column."""


def check_rows(rows: Decisions) -> None:
    """Check values, and that each row has a legal action and no illegal choice or probability; ShardError if not.

    `rows` are some columns; their types, widths and lengths must be valid.
    """
    for name, values in rows.items():
        fits = ALLOWED[name](values).reshape(len(values), -1).all(axis=1)
        if not fits.all():
            raise ShardError(f"has a value of {name} in row {int(np.argmin(fits))} that it cannot have")
    if "action_mask" not in rows:
        return
    legal = rows["action_mask"] != 0
    faults = {"no legal action": ~legal.any(axis=1)}
    if "action" in rows:
        faults["an action that is not legal"] = ~legal[np.arange(len(legal)), rows["action"]]
    if "policy" in rows:
        policy = rows["policy"]
        faults["a probability of an action that is not legal"] = (policy * ~legal != 0).any(axis=1)
        total = policy.sum(axis=1, dtype=np.float64)
        faults["probabilities that are not 1 together"] = (total != 0) & (abs(total - 1) > ROUNDING)
    for fault, rows_with_it in faults.items():
        if rows_with_it.any():
            raise ShardError(f"has {fault} in row {int(np.argmax(rows_with_it))}")
