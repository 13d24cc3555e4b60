"""`noms replay` and `noms check`: show recorded deals trick by trick, and check them against the rules."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from noms_env._files import write_atomically
from noms_env.players import Player
from noms_env.record import Record, RecordError, check_records
from noms_env.record.replaying import pair_with_previous
from noms_env.show.theme import Theme
from noms_env.variants import game, make_rules

from ..console import print_lines
from ..evaluation.mistakes import Loss
from ..options import by_default
from ..play.browser.film import Shown, drawings, film_of, page_of, picture, tell_losses
from ..play.deal_text import deal_lines
from ..play.session import seat_players
from ..text import count
from .arguments import Flag
from .common import FOUND, OK, CommandError, file_errors, wrong_arguments
from .files import check_folder_of, is_chosen, lines_of, no_deal, records_until

MAX_NAME = 200
"""Longest name of a player, in letters."""


@dataclass(frozen=True)
class Arguments:
    """Arguments of `noms replay`."""

    file: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="FILE")]
    """A file of records (noms-record/1)."""
    match: Annotated[int | None, by_default("all", "M")] = None
    """Show only this match; numbered from 0."""
    deal: Annotated[int | None, by_default("all", "D")] = None
    """Show only this deal of each match; numbered from 0."""
    seat: Annotated[int | None, by_default("all hands", "S")] = None
    """Show only this seat's hand, as at a table; numbered from 0."""
    html: Annotated[str | None, by_default("none", "FILE")] = None
    """Write a page with the deals."""
    picture: Annotated[str | None, by_default("none", "FILE")] = None
    """Write a picture of a deal; the file name ends in .svg, .png or .gif."""
    moment: Annotated[int | None, by_default("the end of the deal", "N")] = None
    """Draw the table after this many decisions."""
    player: Annotated[tuple[str, ...], by_default("none", "NAME ...")] = ()
    """Whose probabilities, or values, the page and the picture show: one player for all seats, or one for each."""
    name: Annotated[tuple[str, ...], by_default("seat 0, seat 1, ...", "NAME ...")] = ()
    """Names of the seats on the page and the picture, from seat 0."""
    dark: Flag = False
    """Draw the picture in dark colours."""


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


def draw(args: Arguments) -> int:
    """Write the page, the picture or both; CommandError if one cannot be drawn, and then nothing is written."""
    for out in (args.html, args.picture):
        check_folder_of(out, args.file, *args.player)
    if args.html and args.picture and Path(args.html).resolve() == Path(args.picture).resolve():
        raise CommandError("--html and --picture want two files")
    records = records_until(args.file, args.match, args.deal, args.seat)
    chosen = [is_chosen(record, args.match, args.deal, args.seat) for record in records]
    shown = shown_of(args, records[chosen.index(True)])
    files = dict[str, bytes]()
    if args.html is not None:
        files[args.html] = page(records, shown, Path(args.file).name, chosen)
    if args.picture is not None:
        files[args.picture] = picture_of(args, records, shown, chosen)
    for name, content in files.items():
        write(name, content)
    return OK


def shown_of(args: Arguments, record: Record) -> Shown:
    """Return the names and players to show; CommandError if they do not fit the table."""
    seats = record["seats"]
    if args.name and len(args.name) != seats:
        raise CommandError(f"--name wants {seats} names, one for each seat, not {len(args.name)}")
    if any(len(name) > MAX_NAME for name in args.name):
        raise CommandError(f"--name wants names of {MAX_NAME} letters at most")
    players: list[Player] = []
    if args.player:
        with wrong_arguments():
            rules = make_rules(game(record["variant"]), seats, record["options"])
            players = [seated.player for seated in seat_players(args.player, seats, rules)]
    return Shown(args.seat, args.name, players)


def page(
    records: list[Record], shown: Shown, title: str, chosen: Sequence[bool], losses: Sequence[list[Loss] | None] | None = None
) -> bytes:
    """Return the page of the chosen records, with their losses if any; CommandError if a record cannot be replayed."""
    with wrong_arguments(RecordError):
        film = film_of(records, shown, chosen)
        for deal, of_deal in zip(film["deals"], losses, strict=True) if losses is not None else ():
            tell_losses(deal, of_deal)
        return page_of(film, f"{title}: {count(len(film['deals']), 'deal')}").encode()


def picture_of(args: Arguments, records: list[Record], shown: Shown, chosen: Sequence[bool]) -> bytes:
    """Return the picture of the chosen record; CommandError if several are chosen, or it cannot be drawn."""
    if sum(chosen) > 1:
        raise CommandError(f"a picture shows one deal, not {sum(chosen)}: choose it by --match and --deal")
    theme: Theme = "dark" if args.dark else "light"
    with wrong_arguments(ValueError, ModuleNotFoundError):
        record, before = next(pair for pair, is_shown in zip(pair_with_previous(records), chosen, strict=True) if is_shown)
        return picture(drawings(record, shown, theme, before), Path(args.picture or "").suffix.lower(), args.moment)


def write(name: str, content: bytes) -> None:
    """Write a file whole or not at all; CommandError if it cannot be written."""
    with file_errors(f"cannot write {name}"):
        write_atomically(Path(name), content)
    print(f"{name}: {len(content) / 1000:.0f} kB")


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
