"""Requests for deals move by move, with or without their mistakes, and for animated GIFs of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from starlette.requests import Request

from noms_env.players import Player
from noms_env.record import Record
from noms_env.record.files import parse_records
from noms_env.record.replaying import pair_with_previous
from noms_env.show.theme import Theme
from noms_env.variants import Rules, game, make_rules

from ...evaluation.mistakes import find_losses
from ..session import seat_players
from .film import ALL_HANDS, Film, Shown, film_of, tell_losses
from .hall import Hall
from .live import RefusedError
from .messages import parse_object
from .pictures import drawings, picture

MOST_ANALYSED = 2
"""Deals of a file that are analysed for a page: each takes seconds."""


async def body_of(hall: Hall, request: Request) -> str:
    """The body of a request; RefusedError if it is too large or no text."""
    content = bytearray()
    async for chunk in request.stream():
        content += chunk
        if len(content) > hall.limits.body_bytes:
            raise RefusedError(f"more than {hall.limits.body_bytes} bytes are not taken")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise RefusedError("text in UTF-8 was expected") from None


async def film(hall: Hall, request: Request) -> Any:
    """The film of a file of records."""
    text = await body_of(hall, request)

    def made() -> Any:
        records = records_in(hall, text)
        film = film_of(records, Shown(players=find_thinker(hall, request, records[0])))
        if request.query_params.get("analyse") == "1":
            add_losses(hall, film, records)
        return film.data()

    return await hall.lobby.work(made)


async def gif(hall: Hall, request: Request) -> bytes:
    """An animated GIF of a deal in a file of records."""
    text = await body_of(hall, request)

    def made() -> bytes:
        records = records_in(hall, text)
        deal, view = (request.query_params.get(name, "") for name in ("deal", "view"))
        if not deal.isdecimal() or int(deal) >= len(records):
            raise RefusedError(f"there are deals 0 to {len(records) - 1}")
        *_, (record, before) = pair_with_previous(records[: int(deal) + 1])
        seats = {ALL_HANDS: None, **{str(seat): seat for seat in range(record["seats"])}}
        if view not in seats:
            raise RefusedError("there is no such view")
        shown = Shown(seats[view], players=find_thinker(hall, request, record))
        return picture(drawings(record, shown, theme_of(request), before), ".gif")

    return await hall.lobby.work(made)


async def table_gif(hall: Hall, request: Request) -> bytes:
    """An animated GIF of a deal at a table that is over, as the seat whose key is given may see it."""
    told = parse_object(await body_of(hall, request))
    name, key, deal = told.get("table"), told.get("key"), told.get("deal")
    if not isinstance(name, str) or not isinstance(key, str) or type(deal) is not int:
        raise RefusedError("a table, a key and the number of a deal were expected")
    room = await hall.room(name)
    seat = room.table.seat_of(key)
    if seat is None:
        raise RefusedError("this link leads to no seat of the table")
    async with room.lock:
        records, shown = room.scored_deals(seat, deal)
    view = request.query_params.get("view", "")
    if shown.seat is None and view.isdecimal() and int(view) < len(shown.names):
        shown = replace(shown, seat=int(view))

    def made() -> bytes:
        *_, (record, before) = pair_with_previous(records)
        return picture(drawings(record, shown, theme_of(request), before), ".gif")

    return await hall.lobby.work(made)


def theme_of(request: Request) -> Theme:
    """The colour theme of a request."""
    return "dark" if request.query_params.get("theme") == "dark" else "light"


def records_in(hall: Hall, text: str) -> list[Record]:
    """The records of a file; RefusedError if they are too many, or damaged."""
    lines = text.encode().splitlines()
    if not 1 <= len(lines) <= hall.limits.film_deals:
        raise RefusedError(f"a file of 1 to {hall.limits.film_deals} deals can be shown here, not of {len(lines)}")
    return [check_line(number, record) for number, record in parse_records(lines)]


def find_thinker(hall: Hall, request: Request, record: Record) -> list[Player]:
    """The player of a request whose probabilities are to be shown, if any."""
    name = request.query_params.get("player", "")
    if not name:
        return []
    hall.lobby.check(record["variant"], [name])
    return [seat_players([name], 1, rules_of(record))[0].player]


def rules_of(record: Record) -> Rules:
    """The rules of a recorded deal."""
    return make_rules(game(record["variant"]), record["seats"], record["options"])


def add_losses(hall: Hall, film: Film, records: list[Record]) -> None:
    """Add the losses of decisions to a film; RefusedError if there are too many deals, or no search can judge them."""
    if len(records) > MOST_ANALYSED:
        raise RefusedError(f"{MOST_ANALYSED} deals at most are analysed here, not {len(records)}; use noms analyse")
    if any(rules_of(record) != rules_of(records[0]) for record in records):
        raise RefusedError("deals of one game are analysed together; use noms analyse")
    told = find_losses(records, hall.lobby.judge(rules_of(records[0])))
    for deal, (_, losses) in zip(film.deals, told, strict=True):
        tell_losses(deal, losses)


def check_line(number: int, record: Record | str) -> Record:
    """A record, or RefusedError for a line that is damaged."""
    if isinstance(record, str):
        raise RefusedError(f"line {number}: {record}")
    return record
