"""Files of records, one record per line."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from io import TextIOWrapper
from pathlib import Path
from typing import IO, BinaryIO

from noms_env._files import whole_file
from noms_env._json import parse_json
from noms_env.record.form import Record, find_damage

MAX_LINE = 1 << 20
"""Largest size of a record, in bytes."""


def write_records(target: str | os.PathLike[str] | IO[str], records: Iterable[Record]) -> int:
    """Write records, one per line, and return their number.

    A path is written to a temporary file first, and appears only when it is complete. An open file, or a path that is no
    regular file (a pipe, a device), is written line by line.

    Args:
        target: a path, or an open text file.
        records: the records.

    Raises:
        OSError: the file cannot be written; an existing file stays unchanged, and no temporary file remains.
    """
    if not isinstance(target, str | os.PathLike):
        return _write_lines(target, records)
    with whole_file(Path(target)) as file:
        text = TextIOWrapper(file, encoding="utf-8", newline="\n")
        count = _write_lines(text, records)
        text.detach()  # flushes, and leaves the file open
    return count


def _write_lines(file: IO[str], records: Iterable[Record]) -> int:
    count = 0
    for record in records:
        file.write(json.dumps(record, separators=(",", ":"), allow_nan=False) + "\n")
        count += 1
    return count


def read_records(path: str | os.PathLike[str]) -> Iterator[tuple[int, Record | str]]:
    """Yield the number of each line, from 1, with its record or with a description of its damage.

    Records have all their keys, with values of the right types (`find_damage`). `check_records` checks them against the
    rules.

    Raises:
        OSError: the file cannot be read.
    """
    with Path(path).open("rb") as file:
        yield from parse_records(record_lines(file))


def record_lines(file: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of a file. A line of more than `MAX_LINE` bytes is cut and is the last, since it may be endless."""
    while line := file.readline(MAX_LINE + 1):
        yield line
        if len(line) > MAX_LINE:
            return


def parse_records(lines: Iterable[bytes]) -> Iterator[tuple[int, Record | str]]:
    """Do the same as `read_records` for lines."""
    for number, line in enumerate(lines, 1):
        yield number, _parse_record(line)


def _parse_record(line: bytes) -> Record | str:
    if len(line) > MAX_LINE:
        return f"the line has more than {MAX_LINE:,} bytes; nothing after it is read"
    if not line.strip():
        return "the line is empty"
    try:
        record = parse_json(line, "the line")
    except ValueError as error:
        return str(error)
    return find_damage(record) or record
