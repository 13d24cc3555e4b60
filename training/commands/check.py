"""`noms check`: hold records against the rules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import tyro

from training.commands.common import FOUND, OK, lines_of
from training.text import count

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

    tally = _Tally()
    for disagreement in check_records(tally.watched(lines_of(file))):
        tally.disagreements += disagreement.match is not None
        print(disagreement)
    print(f"{file}: {tally}")
    return FOUND if tally.disagreements or tally.damaged else OK


class _Tally:
    """What has been seen of a file."""

    def __init__(self) -> None:
        self.lines = self.damaged = self.disagreements = 0
        self._matches: set[int] = set()

    def watched(self, lines: Iterator[tuple[int, Record | str]]) -> Iterator[tuple[int, Record | str]]:
        """The lines, counted as they pass."""
        for number, record in lines:
            self.lines += 1
            if isinstance(record, str):
                self.damaged += 1
            else:
                self._matches.add(record["match"])
            yield number, record

    def __str__(self) -> str:
        deals = f"{count(self.lines - self.damaged, 'deal')} of {count(len(self._matches), 'match', 'matches')}"
        return f"{deals}, {count(self.disagreements, 'disagreement')}, {count(self.damaged, 'damaged line')}"
