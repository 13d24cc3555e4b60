"""Records in files, one to a line."""

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

MOST_LINE = 1 << 20
"""Bytes of a record."""


def write_records(target: str | os.PathLike[str] | IO[str], records: Iterable[Record]) -> int:
    """Write records, one to a line, and return their number.

    A file appears under its name only when it is complete: it is written beside its place and moved there at the end.
    What is not a regular file (a pipe, a device) or is open already is written to line by line.

    Args:
        target: where to, a path or a text file that is open.
        records: the records.

    Raises:
        OSError: it cannot be written; nothing is left behind, and a file that was there stays.
    """
    if not isinstance(target, str | os.PathLike):
        return _write_lines(target, records)
    with whole_file(Path(target)) as file:
        text = TextIOWrapper(file, encoding="utf-8", newline="\n")
        count = _write_lines(text, records)
        text.detach()  # which flushes it, and leaves the file open
    return count


def _write_lines(file: IO[str], records: Iterable[Record]) -> int:
    count = 0
    for record in records:
        file.write(json.dumps(record, separators=(",", ":"), allow_nan=False) + "\n")
        count += 1
    return count


def read_records(path: str | os.PathLike[str]) -> Iterator[tuple[int, Record | str]]:
    """The number of each line, from 1, with its record or with the reason why it is damaged.

    A record that comes from here has all its keys, with values of the right types (`find_damage`); whether they agree
    with the rules is for `check_records` to say.

    Raises:
        OSError: the file cannot be read.
    """
    with Path(path).open("rb") as file:
        yield from parse_records(record_lines(file))


def record_lines(file: BinaryIO) -> Iterator[bytes]:
    """The lines of a file, up to the first of more than `MOST_LINE` bytes, which is cut off: the file may have no end."""
    while line := file.readline(MOST_LINE + 1):
        yield line
        if len(line) > MOST_LINE:
            return


def parse_records(lines: Iterable[bytes]) -> Iterator[tuple[int, Record | str]]:
    """The same of lines."""
    for number, line in enumerate(lines, 1):
        yield number, _parse_record(line)


def _parse_record(line: bytes) -> Record | str:
    if len(line) > MOST_LINE:
        return f"the line has more than {MOST_LINE:,} bytes; nothing behind it is read"
    if not line.strip():
        return "the line is empty"
    try:
        record = parse_json(line, "the line")
    except ValueError as error:
        return str(error)
    return find_damage(record) or record
