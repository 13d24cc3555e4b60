"""`noms check`: hold records against the rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import tyro

from ..text import count
from .common import FOUND, OK, lines_of

if TYPE_CHECKING:
    from noms_env.record import Record


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
