"""The server of `noms table`: pages, requests, sockets and access control."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from noms_env.core.cards import CARD_WORDS
from noms_env.players import Player
from noms_env.record import Record, RecordError
from noms_env.record.files import parse_records
from noms_env.record.replaying import pair_with_previous
from noms_env.show.data import deck_data
from noms_env.show.pixels import FONTS
from noms_env.show.theme import Theme, page_style_sheet
from noms_env.variants import Rules, game, make_rules

from ...evaluation.mistakes import Loss, find_losses
from ..session import seat_player
from .analysis import deal_data
from .film import ALL_HANDS, ASSETS, Shown, drawings, font_faces, picture
from .gallery import states
from .hall import Hall
from .lessons import lesson
from .live import RefusedError
from .messages import LOOPBACK, Allowance, parse_body, parse_message
from .room import SEND_SECONDS, Looker, Room

SWEEP_SECONDS = 60
HELLO_SECONDS = 10
"""Timeout for the first message of a socket, which names its table."""
MAX_ANALYSED = 2
"""Limit of analysed deals per file, since each takes seconds."""
TRAINED = "trained"
"""Player name in a request that stands for the policy of the records' game."""
KINDS = {"gif": "image/gif", "png": "image/png", "svg": "image/svg+xml"}
TYPES = {".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".ttf": "font/ttf"}
FILES = {
    "": ASSETS / "table.html",
    "gallery.html": ASSETS / "gallery.html",
    **{path.relative_to(ASSETS).as_posix(): path for path in ASSETS.rglob("*") if path.suffix in (".js", ".css")},
    **{f"fonts/{Path(font).name}": Path(font) for font in FONTS},
}
"""Files of the page, by path."""
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src blob: data:; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class Guard:
    """Middleware that rejects foreign Host and Origin headers, and adds security headers to every response.

    So a foreign page cannot use the server through a visitor's browser, neither by DNS rebinding (`Host`) nor by cross-origin
    requests (`Origin`).
    """

    def __init__(self, app: ASGIApp, hosts: tuple[str, ...] = ()) -> None:
        """Guard an application; `hosts` are the allowed host names, all if empty."""
        self.app, self.hosts = app, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or refuse it."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        if not self.is_own(headers):
            await refuse(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                extra = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message["headers"] = [*message.get("headers", []), *extra]
            await send(message)

        await self.app(scope, receive, with_headers)

    def is_own(self, headers: dict[str, str]) -> bool:
        """Return whether a request comes from a page of this server, or from no page at all."""
        host = headers.get("host", "")
        name = host.rpartition(":")[0] if re.search(r":\d+$", host) else host
        if self.hosts and name.lower() not in self.hosts:
            return False
        origin = headers.get("origin")
        return origin is None or origin in (f"http://{host}", f"https://{host}")


async def refuse(scope: Scope, receive: Receive, send: Send) -> None:
    """Reject a request with a foreign Host or Origin."""
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008})
        return
    await Response("this request is not meant for this server", 403)(scope, receive, send)


def application(hall: Hall, hosts: tuple[str, ...] = LOOPBACK) -> ASGIApp:
    """Make the web application of some tables; `hosts` are the allowed host names without port, all if empty."""

    @asynccontextmanager
    async def sweeping(_: Starlette) -> AsyncIterator[None]:
        async def sweep() -> None:
            while True:
                await hall.sweep()
                await asyncio.sleep(SWEEP_SECONDS)

        task = asyncio.create_task(sweep())
        yield
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        for room in hall.rooms.values():
            await room.close()

    async def today(_: Request) -> Any:
        return {"day": f"{date.today()}"}

    async def ready(_: Request) -> Any:
        return {"ready": hall.lobby.is_ready}

    reads: dict[str, Answer] = {
        "games": lambda _: asyncio.to_thread(hall.lobby.games),
        "ready": ready,
        "gallery": lambda _: hall.lobby.work(states),
        "day": today,
        "lesson": lambda request: hall.lobby.work(lambda: lesson(game(request.query_params.get("game", "")))),
    }
    changes = {"day": hall.open_day, "tables": hall.open, "seat": hall.claim, "again": hall.try_again}
    pictures = {"film": film, "picture": record_picture, "table-picture": table_picture}
    writes: dict[str, Answer] = {name: partial(_answer_body, hall, answer) for name, answer in changes.items()}
    writes |= {name: partial(answer, hall) for name, answer in pictures.items()}
    routes = [
        Route("/drawing.css", style),
        Route("/decks.js", decks),
        *(Route(f"/api/{name}", require_token(hall, answer)) for name, answer in reads.items()),
        *(Route(f"/api/{name}", require_token(hall, answer), methods=["POST"]) for name, answer in writes.items()),
        Route("/{name:path}", file),
        WebSocketRoute("/socket", Sockets(hall)),
    ]
    return Guard(Starlette(routes=routes, lifespan=sweeping), hosts)


def style(_: Request) -> Response:
    """Serve the style sheet of the drawing."""
    return Response(font_faces("/fonts/") + page_style_sheet(), media_type="text/css")


def decks(_: Request) -> Response:
    """Serve the cards as a JavaScript module."""
    data = json.dumps([deck_data(kind) for kind in range(len(CARD_WORDS))], separators=(",", ":"))
    return Response(f"export const DECKS = {data};\n", media_type="text/javascript")


def file(request: Request) -> Response:
    """Serve a file of the page."""
    path = FILES.get(request.path_params["name"])
    if path is None:
        return Response("there is no such page", 404)
    return Response(path.read_bytes(), media_type=TYPES[path.suffix])


Answer = Callable[[Request], Awaitable[Any]]
"""Handler of a request; returns a `Response`, or data for JSON."""


async def _answer_body(hall: Hall, answer: Callable[[str], Awaitable[Any]], request: Request) -> Any:
    return await answer(await body_of(hall, request))


def require_token(hall: Hall, answer: Answer) -> Callable[[Request], Any]:
    """Wrap a request handler: require the token if there is one, and turn errors into one sentence."""

    async def endpoint(request: Request) -> Response:
        if not hall.knows(request.headers.get("authorization", "").removeprefix("Bearer ")):
            return JSONResponse({"error": "this server needs a token: open the address that it printed"}, 401)
        try:
            result = await answer(request)
            return result if isinstance(result, Response) else JSONResponse(result)
        except (RecordError, ValueError, ModuleNotFoundError) as error:
            return JSONResponse({"error": str(error)[:500], "field": getattr(error, "field", None)}, 400)
        except ClientDisconnect:
            return Response(status_code=400)  # the client has disconnected
        except OSError as error:
            return JSONResponse({"error": f"the server cannot save it: {error.strerror or error}"}, 500)

    return endpoint


# --------------------------------------------------------------------------- films, analyses and pictures of deals


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
        record = records[int(deal)]
        seats = {ALL_HANDS: None, **{str(seat): seat for seat in range(record["seats"])}}
        if view not in seats:
            raise RefusedError("there is no such view")
        shown = Shown(seats[view], players=find_thinker(hall, request, record))
        return answer_picture(request, records[: int(deal) + 1], shown)

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
    return await hall.lobby.work(lambda: answer_picture(request, records, shown))


def answer_picture(request: Request, records: Sequence[Record], shown: Shown) -> Response:
    """Return the requested picture of the last deal: a GIF, or a PNG or SVG of `moment` (default: the end)."""
    kind, moment = request.query_params.get("kind", "gif"), request.query_params.get("moment", "")
    if kind not in KINDS:
        raise RefusedError(f"the kind of a picture must be {', '.join(KINDS)}, not {kind[:20]!r}")
    number = int(moment) if moment.isdecimal() and kind != "gif" else None
    theme: Theme = "dark" if request.query_params.get("theme") == "dark" else "light"
    *_, (record, before) = pair_with_previous(records)
    drawn = drawings(record, shown, theme, before)
    return Response(picture(drawn, f".{kind}", number), media_type=KINDS[kind])


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


# ------------------------------------------------------------------------------------------------------- sockets


class Sockets:
    """WebSocket endpoint for browsers at tables."""

    def __init__(self, hall: Hall) -> None:
        self.hall = hall

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a socket until it is closed."""
        socket = WebSocket(scope, receive, send)
        looker = Looker(socket.send_text, self.hall.limits.queued_bytes)
        writing = asyncio.create_task(looker.write())
        try:
            await socket.accept()
            await self._listen(socket, looker, writing)
        except (WebSocketDisconnect, RuntimeError):
            pass
        finally:
            writing.cancel()
            with suppress(Exception):
                async with asyncio.timeout(SEND_SECONDS):
                    await socket.close(1008)

    async def _listen(self, socket: WebSocket, looker: Looker, writing: asyncio.Task[None]) -> None:
        """Handle a browser's requests until it disconnects, exceeds its rate, or stalls."""
        room: Room | None = None
        allowance = Allowance(self.hall.limits.rate)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + HELLO_SECONDS
        try:
            while (text := await self._received(socket, writing, None if room else deadline - loop.time())) is not None:
                if not allowance.take():
                    return
                try:
                    message = parse_message(text)
                    if room is not None:
                        await room.handle(looker, message)
                    elif message["do"] == "hello":
                        room = await self._welcome(looker, message)
                        if "connection" in socket.scope.get("state", {}):  # only under `connections.Server`
                            socket.scope["state"]["connection"].stays = True
                    else:
                        raise RefusedError("say hello first")
                except RefusedError as error:
                    looker.post({"is": "refused", "text": str(error)})
        finally:
            if room is not None:
                await room.leave(looker)

    async def _received(self, socket: WebSocket, writing: asyncio.Task[None], seconds: float | None) -> str | None:
        """Return the next text; None if it is not text, too long or too late, or if sending has failed."""
        receiving = asyncio.create_task(socket.receive())
        await asyncio.wait((receiving, writing), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if writing.done() or not receiving.done():
            receiving.cancel()
            return None
        message = receiving.result()
        if message["type"] == "websocket.disconnect":
            raise WebSocketDisconnect(message.get("code", 1000))
        text = message.get("text")
        return text if isinstance(text, str) and len(text) <= self.hall.limits.message_bytes else None

    async def _welcome(self, looker: Looker, message: dict[str, Any]) -> Room:
        """Add a browser to its room."""
        if not self.hall.knows(message["token"]):
            raise RefusedError("this server needs a token: open the address that it printed")
        room = await self.hall.room(message["table"])
        if message["key"]:
            looker.seat = room.table.seat_of(message["key"])
            if looker.seat is None:
                raise RefusedError("this link belongs to no seat at this table")
        elif sum(other.seat is None for other in room.lookers) >= self.hall.limits.sockets:
            raise RefusedError("this table has too many spectators")
        await room.enter(looker)
        return room
