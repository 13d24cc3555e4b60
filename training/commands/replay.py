"""`noms replay` and `noms check`: recorded deals shown trick by trick, and held against the rules."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import tyro

from ..console import print_lines
from ..options import by_default
from ..text import count
from .common import FOUND, OK, CommandError, lines_of

if TYPE_CHECKING:
    from noms_env.record import Record


def replay(
    file: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="FILE")],
    match: Annotated[int | None, by_default("all", "M")] = None,
    deal: Annotated[int | None, by_default("all", "D")] = None,
    seat: Annotated[int | None, by_default("all hands", "S")] = None,
) -> int:
    """Show the deals of a file: hands, calls, contract, every trick, points.

    For example:
      noms replay games.jsonl --match 0 --deal 3
      noms replay games.jsonl --deal 0 --seat 2

    Args:
        file: A file of records (noms-record/1).
        match: Only this match; they are numbered from 0.
        deal: Only this deal of each match; they are numbered from 0.
        seat: Show the hand of this seat only, as at a table; seats are numbered from 0.
    """
    from noms_env.record import RecordError

    from ..terminal.deal_text import deal_lines

    shown, status = 0, OK
    for line, record in lines_of(file):
        fault: object = record
        if not isinstance(record, str):
            if match not in (None, record["match"]) or deal not in (None, record["deal"]):
                continue
            if seat is not None and not 0 <= seat < record["seats"]:
                raise CommandError(f"--seat must be a seat from 0 to {record['seats'] - 1}, not {seat}")
            shown += 1
            try:
                print_lines(deal_lines(record, seat))
                continue
            except RecordError as error:
                fault = error
        print(f"noms: line {line}: {fault}", file=sys.stderr)
        status = FOUND
    if not shown and status == OK:
        asked_for = ("deal" if deal is None else f"deal {deal}") + ("" if match is None else f" in match {match}")
        raise CommandError(f"{file} has no {asked_for}")
    return status


def check(file: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="FILE")]) -> int:
    """Play the records of a file again, and print each disagreement with the rules on a line.

    The exit status is 0 if all is right, 1 if not, and 2 if the file is empty or cannot be read.

    For example:
      noms check games.jsonl

    Args:
        file: A file of records (noms-record/1).
    """
    from noms_env.record import check_records

    matches = Counter[int | None]()

    def counted() -> Iterator[tuple[int, Record | str]]:
        for number, record in lines_of(file):
            matches[None if isinstance(record, str) else record["match"]] += 1
            yield number, record

    disagreements = 0
    for disagreement in check_records(counted()):
        disagreements += disagreement.match is not None
        print(disagreement)
    damaged = matches.pop(None, 0)
    deals = f"{count(matches.total(), 'deal')} of {count(len(matches), 'match', 'matches')}"
    print(f"{file}: {deals}, {count(disagreements, 'disagreement')}, {count(damaged, 'damaged line')}")
    return FOUND if disagreements or damaged else OK
