"""Recorded deals as a page or a picture, for `noms replay` and `noms analyse`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from noms_env._files import write_atomically
from noms_env.players import Player
from noms_env.record import Record, RecordError
from noms_env.record.replaying import pair_with_previous
from noms_env.show.theme import Theme
from noms_env.variants import game, make_rules

from ..evaluation.mistakes import Loss
from ..play.browser.film import Shown, film_of, tell_losses
from ..play.browser.page import page_of
from ..play.browser.pictures import drawings, picture
from ..play.session import seat_players
from ..text import count
from .common import OK, CommandError, file_errors, wrong_arguments
from .files import check_folder_of, is_chosen, records_until

MOST_NAME = 200
"""Longest name of a player, in letters."""


@dataclass(frozen=True)
class Request:
    """The arguments of `noms replay`."""

    file: str
    match: int | None
    deal: int | None
    seat: int | None
    html: str | None
    picture: str | None
    moment: int | None
    players: tuple[str, ...]
    names: tuple[str, ...]
    dark: bool


def draw(request: Request) -> int:
    """Write the page, the picture or both; CommandError if one cannot be drawn, and then nothing is written."""
    for out in (request.html, request.picture):
        check_folder_of(out, request.file, *request.players)
    if request.html and request.picture and Path(request.html).resolve() == Path(request.picture).resolve():
        raise CommandError("--html and --picture want two files")
    records = records_until(request.file, request.match, request.deal, request.seat)
    chosen = [is_chosen(record, request.match, request.deal, request.seat) for record in records]
    shown = shown_of(request, records[chosen.index(True)])
    files = dict[str, bytes]()
    if request.html is not None:
        files[request.html] = page(records, shown, Path(request.file).name, chosen)
    if request.picture is not None:
        files[request.picture] = picture_of(request, records, shown, chosen)
    for name, content in files.items():
        write(name, content)
    return OK


def shown_of(request: Request, record: Record) -> Shown:
    """Return the names and players to show; CommandError if they do not fit the table."""
    seats = record["seats"]
    if request.names and len(request.names) != seats:
        raise CommandError(f"--name wants {seats} names, one for each seat, not {len(request.names)}")
    if any(len(name) > MOST_NAME for name in request.names):
        raise CommandError(f"--name wants names of {MOST_NAME} letters at most")
    players: list[Player] = []
    if request.players:
        with wrong_arguments():
            rules = make_rules(game(record["variant"]), seats, record["options"])
            players = [seated.player for seated in seat_players(request.players, seats, rules)]
    return Shown(request.seat, request.names, players)


def page(
    records: list[Record], shown: Shown, title: str, chosen: Sequence[bool], found: Sequence[list[Loss] | None] | None = None
) -> bytes:
    """Return the page of the chosen records, with their losses if `found`; CommandError if a record cannot be replayed."""
    try:
        film = film_of(records, shown, chosen)
        if found is not None:
            for deal, losses in zip(film.deals, found, strict=True):
                tell_losses(deal, losses)
        return page_of(film, f"{title}: {count(len(film.deals), 'deal')}").encode()
    except RecordError as error:
        raise CommandError(str(error)) from error


def picture_of(request: Request, records: list[Record], shown: Shown, chosen: Sequence[bool]) -> bytes:
    """Return the picture of the chosen record; CommandError if several are chosen, or it cannot be drawn."""
    if sum(chosen) > 1:
        raise CommandError(f"a picture shows one deal, not {sum(chosen)}: choose it by --match and --deal")
    theme: Theme = "dark" if request.dark else "light"
    try:
        record, before = next(pair for pair, is_wanted in zip(pair_with_previous(records), chosen, strict=True) if is_wanted)
        return picture(drawings(record, shown, theme, before), Path(request.picture or "").suffix.lower(), request.moment)
    except (RecordError, ValueError, ModuleNotFoundError) as error:
        raise CommandError(str(error)) from error


def write(name: str, content: bytes) -> None:
    """Write a file whole or not at all; CommandError if it cannot be written."""
    with file_errors(f"cannot write {name}"):
        write_atomically(Path(name), content)
    print(f"{name}: {len(content) / 1000:.0f} kB")
