"""Files that the subcommands read and write."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from noms_env._files import write_atomically
from noms_env.players import parse_player
from noms_env.players.programs.player import command_words
from noms_env.record import Record, read_records

from ..evaluation.tournament import dump
from .common import CommandError, file_errors

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def options_given(arguments: DataclassInstance, names: Iterable[str]) -> list[str]:
    """Return the options among some fields that differ from their defaults, such as `--initial-policy`."""
    usual = {field.name: field.default for field in fields(arguments)}
    return [f"--{name.replace('_', '-')}" for name in names if getattr(arguments, name) != usual[name]]


def check_folder_of(name: str | None, *read: str | Path) -> None:
    """Check, before any work, that a file can be written and is not an input; CommandError if not, nothing if `name` is None.

    `read` are input files, and names of players, which may refer to files.
    """
    if name is None:
        return
    path = Path(name).resolve()
    if path.is_dir():
        raise CommandError(f"cannot write {name}: it is a folder")
    if not path.parent.is_dir():
        raise CommandError(f"cannot write {name}: there is no such folder")
    is_special = path.exists() and not path.is_file()
    if not os.access(path if is_special else path.parent, os.W_OK):
        raise CommandError(f"cannot write {name}: there is no permission")
    check_not_read(name, *read)


def check_not_read(name: str, *read: str | Path) -> None:
    """Raise CommandError if an output file is also an input; `read` as for `check_folder_of`."""
    path = Path(name)
    if path.is_file() and any(file.is_file() and path.samefile(file) for source in read for file in files_of(source)):
        raise CommandError(f"cannot write {name}: this command reads it; give it another name")


def files_of(name: str | Path) -> Iterator[Path]:
    """Yield the files that a name may refer to: itself, the parts around its colon, a policy, a module, a program's words."""
    yield Path(name)
    if isinstance(name, str):
        left, _, right = name.partition(":")
        module = left.replace(".", "/")
        yield from map(Path, (left, right, f"{module}.py", f"{module}/__init__.py"))
        with suppress(ValueError):
            yield from filter(None, [parse_player(name).policy_file])
        if left == "cmd":
            with suppress(ValueError):
                yield from map(Path, command_words(name))


def write_json(name: str, document: Any) -> None:
    """Write indented JSON, whole or not at all; CommandError if it cannot be written."""
    with file_errors(f"cannot write {name}"):
        write_atomically(Path(name), dump(document))


def lines_of(file: str) -> Iterator[tuple[int, Record | str]]:
    """Yield the lines of a file of records, as from `read_records`; CommandError if it is empty or cannot be read."""
    number = 0
    with file_errors(f"cannot read {file}"):
        for number, record in read_records(file):
            yield number, record
    if not number:
        raise CommandError(f"{file} is empty")


def records_until(file: str, match: int | None, deal: int | None, seat: int | None) -> list[Record]:
    """Return the chosen records and the earlier records of their matches; CommandError for a damaged line, or no record."""
    records, number = [], 0
    for line, record in lines_of(file):
        if isinstance(record, str):
            raise CommandError(f"{file}, line {line}: {record}")
        number += is_chosen(record, match, deal, seat)
        if is_chosen(record, match, None, seat) and (deal is None or record["deal"] <= deal):
            records.append(record)
    if not number:
        raise no_deal(file, match, deal)
    return records


def is_chosen(record: Record, match: int | None, deal: int | None, seat: int | None) -> bool:
    """Return whether a record is of the chosen match and deal; CommandError if it is and has no such seat."""
    if match not in (None, record["match"]) or deal not in (None, record["deal"]):
        return False
    if seat is not None and not 0 <= seat < record["seats"]:
        raise CommandError(f"--seat must be a seat from 0 to {record['seats'] - 1}, not {seat}")
    return True


def no_deal(file: str, match: int | None, deal: int | None) -> CommandError:
    """Return the error for a file without the chosen deal."""
    asked_for = ("deal" if deal is None else f"deal {deal}") + ("" if match is None else f" in match {match}")
    return CommandError(f"{file} has no {asked_for}")
