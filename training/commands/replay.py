"""`noms replay` and `noms check`: show recorded deals trick by trick, and check them against the rules."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from typing import Annotated

import tyro

from noms_env.record import Record, RecordError, check_records

from ..console import print_lines
from ..play.deal_text import deal_lines
from ..text import count
from .common import FOUND, OK, CommandError
from .files import is_chosen, lines_of, no_deal
from .pages import Arguments, draw


def replay(args: Annotated[Arguments, tyro.conf.arg(name="")]) -> int:
    """Show the deals of a file: hands, calls, contract, every trick, points; or make a page or a picture of them.

    --html writes one file that any browser opens without a network. It has a slider over the decisions, all hands or one seat's
    view, and a player's probabilities or values for each decision.

    --picture writes a moment as SVG or PNG, or a deal as an animated GIF. The exit status is 1 if a line of the file is
    damaged.

    For example:
      noms replay games.jsonl --match 0 --deal 3
      noms replay games.jsonl --deal 0 --seat 2
      noms replay games.jsonl --html games.html --player small_ships
      noms replay games.jsonl --match 0 --deal 3 --picture deal.gif --name Ann Bo Cy Di
    """
    if args.html or args.picture:
        return draw(args)
    if args.moment is not None or args.player or args.name or args.dark:
        raise CommandError("--moment, --player, --name and --dark are for a page or a picture: give --html or --picture too")
    number, status = 0, OK
    for line, record in lines_of(args.file):
        fault: object = record
        if not isinstance(record, str):
            if not is_chosen(record, args.match, args.deal, args.seat):
                continue
            number += 1
            try:
                print_lines(deal_lines(record, args.seat))
                continue
            except RecordError as error:
                fault = error
        print(f"noms: line {line}: {fault}", file=sys.stderr)
        status = FOUND
    if not number and status == OK:
        raise no_deal(args.file, args.match, args.deal)
    return status


def check(file: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="FILE")]) -> int:
    """Replay the records of a file, and print each disagreement with the rules on a line.

    The exit status is 0 without disagreements, 1 with some, and 2 if the file is empty or cannot be read.

    For example:
      noms check games.jsonl

    Args:
        file: A file of records (noms-record/1).
    """
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
