"""`noms replay` with `--html` or `--picture`: recorded deals as a page or as a picture."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ...text import count
from ..common import OK, CommandError, file_errors, is_chosen, lines_of, no_deal, wrong_arguments

if TYPE_CHECKING:
    from noms_env.players import Player
    from noms_env.record import Record
    from noms_env.show.theme import Theme

    from ...browser.film import Shown
    from ...evaluation.mistakes import Loss

MOST_NAME = 200
"""Letters of a name."""


@dataclass(frozen=True)
class Request:
    """The arguments of `noms replay`, which says what they mean."""

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
    """Write the page, the picture or both; CommandError for what cannot be drawn, and then nothing is written."""
    for out in (request.html, request.picture):
        if out is not None and not Path(out).absolute().parent.is_dir():
            raise CommandError(f"cannot write {out}: there is no folder {Path(out).parent}")
    records = chosen_records(request)
    shown = shown_of(request, records[0])
    if request.html is not None:
        write(request.html, page(records, shown, Path(request.file).name))
    if request.picture is not None:
        write(request.picture, picture_of(request, records, shown))
    return OK


def chosen_records(request: Request) -> list[Record]:
    """The records that are asked for; CommandError for a line that is damaged, or none at all."""
    records = []
    for line, record in lines_of(request.file):
        if isinstance(record, str):
            raise CommandError(f"{request.file}, line {line}: {record}")
        if is_chosen(record, request.match, request.deal, request.seat):
            records.append(record)
    if not records:
        raise no_deal(request.file, request.match, request.deal)
    return records


def shown_of(request: Request, record: Record) -> Shown:
    """What is shown; CommandError if the names or the players do not fit the table."""
    from noms_env.variants import game, make_rules

    from ...browser.film import Shown
    from ...terminal.session import seated

    seats = record["seats"]
    if request.names and len(request.names) != seats:
        raise CommandError(f"--name wants {seats} names, one for each seat, not {len(request.names)}")
    if any(len(name) > MOST_NAME for name in request.names):
        raise CommandError(f"--name wants names of {MOST_NAME} letters at most")
    players: list[Player] = []
    if request.players:
        with wrong_arguments():
            rules = make_rules(game(record["variant"]), seats, record["options"])
            players = [one.player for one in seated(request.players, seats, rules)]
    return Shown(request.seat, request.names, players)


def page(records: list[Record], shown: Shown, title: str, found: dict[tuple[int, int], list[Loss]] | None = None) -> bytes:
    """The page, with the losses of each deal if there are any; CommandError for a record that cannot be played."""
    from noms_env.record import RecordError

    from ...browser.film import film_of, told_losses
    from ...browser.page import page_of

    try:
        film = film_of(records, shown)
        for record, deal in zip(records, film.deals, strict=True):
            if found is not None:
                deal["losses"] = told_losses(deal, found[record["match"], record["deal"]])
        return page_of(film, f"{title}: {count(len(records), 'deal')}").encode()
    except RecordError as error:
        raise CommandError(str(error)) from error


def picture_of(request: Request, records: list[Record], shown: Shown) -> bytes:
    """The picture of the one record; CommandError if there are several, or it cannot be drawn."""
    from noms_env.record import RecordError

    from ...browser.pictures import drawings, picture

    if len(records) > 1:
        raise CommandError(f"a picture shows one deal, not {len(records)}: choose it by --match and --deal")
    theme: Theme = "dark" if request.dark else "light"
    try:
        return picture(drawings(records[0], shown, theme), Path(request.picture or "").suffix.lower(), request.moment)
    except (RecordError, ValueError, ModuleNotFoundError) as error:
        raise CommandError(str(error)) from error


def write(name: str, content: bytes) -> None:
    """Write a file, whole or not at all; CommandError if it cannot be written."""
    from noms_env.policy.file import write_atomically

    with file_errors(f"cannot write {name}"):
        write_atomically(Path(name), content)
    print(f"{name}: {len(content) / 1000:.0f} kB")
