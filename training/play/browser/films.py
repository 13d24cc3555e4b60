"""Request handlers for films, analyses and pictures of deals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from noms_env.players import Player
from noms_env.record import Record
from noms_env.record.files import parse_records
from noms_env.record.replaying import pair_with_previous
from noms_env.show.theme import Theme
from noms_env.variants import Rules, game, make_rules

from ...evaluation.mistakes import Loss, find_losses
from ..session import seat_player
from .analysis import deal_data
from .film import ALL_HANDS, Shown
from .hall import Hall
from .live import RefusedError
from .messages import parse_body
from .pictures import drawings, picture

MAX_ANALYSED = 2
"""Limit of analysed deals per file, since each takes seconds."""
TRAINED = "trained"
"""Player name in a request that stands for the policy of the records' game."""
KINDS = {"gif": "image/gif", "png": "image/png", "svg": "image/svg+xml"}


async def body_of(hall: Hall, request: Request) -> str:
    """Read the body of a request; raise `RefusedError` if it is too large or not UTF-8."""
    content = bytearray()
    async for chunk in request.stream():
        content += chunk
        if len(content) > hall.limits.body_bytes:
            raise RefusedError(f"this is more than the {hall.limits.body_bytes} bytes that are allowed")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise RefusedError("UTF-8 text was expected") from None


async def film(hall: Hall, request: Request) -> Any:
    """Return the film of a file of records."""
    text = await body_of(hall, request)

    def make() -> Any:
        records = records_in(hall, text)
        shown = Shown(players=find_thinker(hall, request, records[0]))
        analysed = request.query_params.get("analyse") == "1"
        judged = judge_all(hall, records) if analysed else [None] * len(records)
        pairs = zip(pair_with_previous(records), judged, strict=True)
        deals = [deal_data(record, shown, before, losses=losses, analysed=analysed) for (record, before), losses in pairs]
        return {"deals": deals}

    return await hall.lobby.work(make)


async def record_picture(hall: Hall, request: Request) -> Response:
    """Return a picture of a deal in a file of records."""
    text = await body_of(hall, request)

    def make() -> Response:
        records = records_in(hall, text)
        deal, view = (request.query_params.get(name, "") for name in ("deal", "view"))
        if not deal.isdecimal() or int(deal) >= len(records):
            raise RefusedError(f"the deal must be from 0 to {len(records) - 1}, not {deal[:20]!r}")
        *_, (record, before) = pair_with_previous(records[: int(deal) + 1])
        seats = {ALL_HANDS: None, **{str(seat): seat for seat in range(record["seats"])}}
        if view not in seats:
            raise RefusedError("there is no such view")
        shown = Shown(seats[view], players=find_thinker(hall, request, record))
        return answer_picture(request, drawings(record, shown, theme_of(request), before))

    return await hall.lobby.work(make)


async def table_picture(hall: Hall, request: Request) -> Response:
    """Return a picture of a scored deal at a table, as the seat with the given key may see it."""
    name, key, deal = parse_body("picture", await body_of(hall, request))
    room = await hall.room(name)
    seat = room.table.seat_of(key)
    if seat is None:
        raise RefusedError("this link belongs to no seat at this table")
    async with room.lock:
        records, shown = room.scored_deals(seat, deal)
    view = request.query_params.get("view", "")
    if shown.seat is None and view.isdecimal() and int(view) < len(shown.names):
        shown = replace(shown, seat=int(view))

    def make() -> Response:
        *_, (record, before) = pair_with_previous(records)
        return answer_picture(request, drawings(record, shown, theme_of(request), before))

    return await hall.lobby.work(make)


def answer_picture(request: Request, drawn: Sequence[str]) -> Response:
    """Return the requested picture: a GIF of the whole deal, or a PNG or SVG of `moment` (default: the end)."""
    kind, moment = request.query_params.get("kind", "gif"), request.query_params.get("moment", "")
    if kind not in KINDS:
        raise RefusedError(f"the kind of a picture must be {', '.join(KINDS)}, not {kind[:20]!r}")
    number = int(moment) if moment.isdecimal() and kind != "gif" else None
    return Response(picture(drawn, f".{kind}", number), media_type=KINDS[kind])


def theme_of(request: Request) -> Theme:
    """Return the requested colour theme."""
    return "dark" if request.query_params.get("theme") == "dark" else "light"


def records_in(hall: Hall, text: str) -> list[Record]:
    """Parse the records of a file; raise `RefusedError` if they are too many or damaged."""
    lines = text.encode().splitlines()
    if not 1 <= len(lines) <= hall.limits.film_deals:
        raise RefusedError(f"a file must have 1 to {hall.limits.film_deals} deals to be shown here, not {len(lines)}")
    records: list[Record] = []
    for number, record in parse_records(lines):
        if isinstance(record, str):
            raise RefusedError(f"line {number}: {record}")
        records.append(record)
    return records


def find_thinker(hall: Hall, request: Request, record: Record) -> list[Player]:
    """Load the player whose probabilities are requested, if any."""
    name = request.query_params.get("player", "")
    if not name:
        return []
    name = record["variant"] if name == TRAINED else name
    hall.lobby.check(record["variant"], [name])
    return [seat_player(name, rules_of(record)).player]


def rules_of(record: Record) -> Rules:
    """Return the rules of a recorded deal."""
    return make_rules(game(record["variant"]), record["seats"], record["options"])


def judge_all(hall: Hall, records: list[Record]) -> list[list[Loss] | None]:
    """Judge the decisions of each deal; raise `RefusedError` for too many deals, or if no search can judge them."""
    if len(records) > MAX_ANALYSED:
        raise RefusedError(f"at most {MAX_ANALYSED} deals can be analysed here, not {len(records)}; use noms analyse")
    if any(rules_of(record) != rules_of(records[0]) for record in records):
        raise RefusedError("deals to be analysed here must have the same rules; use noms analyse")
    return [losses for _, losses in find_losses(records, hall.lobby.judge(rules_of(records[0])))]
