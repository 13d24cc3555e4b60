"""The server of `noms table`: pages, requests and sockets, and who may use them."""

from __future__ import annotations

import asyncio
import json
import re
import secrets
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from noms_env.players import Player
from noms_env.record import Record, RecordError
from noms_env.record.files import parsed_records
from noms_env.record.replaying import replayed
from noms_env.show.pixels import FONTS
from noms_env.show.theme import Theme, page_style_sheet
from noms_env.variants import Rules, game, make_rules

from ..evaluation.mistakes import analysed
from ..terminal.session import seated
from .film import ALL_HANDS, Film, Shown, film_of, symbols_of, told_losses
from .live import RefusedError, table_from
from .lobby import Lobby
from .messages import Allowance, Limits, parsed, parsed_object, parsed_request
from .page import ASSETS, font_faces
from .pictures import drawings, picture
from .room import Looker, Room

LOOPBACK = ("127.0.0.1", "localhost", "::1", "[::1]")
SWEEP_SECONDS = 60
MOST_ANALYSED = 2
"""Deals of a file that are analysed for a page: each takes seconds."""
NAME = re.compile(r"[A-Za-z0-9_-]{8,32}")
"""Of a table."""
FILES = {
    "board.js": "text/javascript",
    "replay.js": "text/javascript",
    "table.js": "text/javascript",
    "page.css": "text/css",
}
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src blob: data:; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class Hall:
    """The tables of a server.

    Attributes:
        folder: where they are kept, a file for each.
        lobby: the games and players.
        limits: what the server puts up with.
        token: what everybody has to know, or None.
        rooms: the tables at which somebody has been since the server started.
    """

    def __init__(self, folder: Path, lobby: Lobby, limits: Limits | None = None, token: str | None = None) -> None:
        self.folder, self.lobby, self.limits, self.token = folder, lobby, limits or Limits(), token
        self.rooms: dict[str, Room] = {}
        self._opening = asyncio.Lock()

    def path(self, name: str) -> Path:
        """The file of a table."""
        return self.folder / f"{name}.json"

    def knows(self, token: str) -> bool:
        """Whether somebody has the token, if there is one."""
        return self.token is None or secrets.compare_digest(token.encode(), self.token.encode())

    async def open(self, text: str) -> dict[str, Any]:
        """Open a table, and return its name and the keys of the people.

        Raises:
            ValueError: it is no table that is possible, or there are too many.
        """
        async with self._opening:
            if len([*self.folder.glob("*.json")]) >= self.limits.tables:
                raise RefusedError(f"this server has {self.limits.tables} tables, and no room for more")
            table = await asyncio.to_thread(lambda: self.lobby.open(parsed_request(text)))
            name = secrets.token_urlsafe(9)
            table.touched = time.time()
            table.save(self.path(name))
            self.rooms[name] = Room(table, self.path(name), self.lobby, self.limits)
        return {"table": name, "keys": {str(seat): person.key for seat, person in table.people.items()}}

    async def room(self, name: str) -> Room:
        """The room of a table; one of which only the file is here goes on where it stopped.

        Raises:
            RefusedError: there is none.
        """
        if not NAME.fullmatch(name):
            raise RefusedError("there is no such table")
        async with self._opening:
            if name not in self.rooms:
                try:
                    table = await asyncio.to_thread(lambda: table_from(self.path(name).read_text(encoding="utf-8")))
                except (OSError, ValueError):
                    raise RefusedError("there is no such table") from None
                self.rooms[name] = Room(table, self.path(name), self.lobby, self.limits)
            return self.rooms[name]

    async def sweep(self) -> None:
        """Remove the tables where nobody has been for long."""
        oldest = time.time() - 3600 * self.limits.idle_hours
        for path in self.folder.glob("*.json"):
            room = self.rooms.get(path.stem)
            if room is not None and (room.lookers or room.table.touched >= oldest):
                continue
            if room is None and path.stat().st_mtime >= oldest:
                continue
            self.rooms.pop(path.stem, None)
            path.unlink(missing_ok=True)


class Guard:
    """Lets pass what is meant for this server, and puts the headers of security on every answer.

    A page of somebody else cannot use the server through a visitor's browser: it does not know the `Host` (DNS rebinding), and
    its `Origin` is another.
    """

    def __init__(self, app: ASGIApp, hosts: tuple[str, ...] = ()) -> None:
        """Guard an application.

        Args:
            app: the application.
            hosts: names by which the server may be called; any where there is none.
        """
        self.app, self.hosts = app, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or refuse it."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        if not self.is_meant(headers):
            await refuse(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                extra = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message["headers"] = [*message.get("headers", []), *extra]
            await send(message)

        await self.app(scope, receive, with_headers)

    def is_meant(self, headers: dict[str, str]) -> bool:
        """Whether a request comes from a page of this server, or from no page at all."""
        host = headers.get("host", "")
        name = host.rpartition(":")[0] if re.search(r":\d+$", host) else host
        if self.hosts and name not in self.hosts:
            return False
        origin = headers.get("origin")
        return origin is None or origin in (f"http://{host}", f"https://{host}")


async def refuse(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer that a request is not meant for this server."""
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008})
        return
    await Response("this request is not meant for this server", 403)(scope, receive, send)


def application(hall: Hall, hosts: tuple[str, ...] = LOOPBACK) -> ASGIApp:
    """The server of some tables.

    Args:
        hall: the tables.
        hosts: names by which the server may be called, without the port; any where there is none.
    """

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

    routes = [
        Route("/", page),
        Route("/drawing.css", style),
        Route("/fonts/{name}", font),
        Route("/{name}", file),
        Route("/api/games", guarded(hall, games)),
        Route("/api/tables", guarded(hall, tables), methods=["POST"]),
        Route("/api/film", guarded(hall, film), methods=["POST"]),
        Route("/api/gif", guarded(hall, gif), methods=["POST"]),
        Route("/api/table-gif", guarded(hall, table_gif), methods=["POST"]),
        WebSocketRoute("/socket", Sockets(hall)),
    ]
    return Guard(Starlette(routes=routes, lifespan=sweeping), hosts)


def page(_: Request) -> Response:
    """The page."""
    text = (ASSETS / "table.html").read_text(encoding="utf-8")
    controls = (ASSETS / "replay_controls.html").read_text(encoding="utf-8")
    return Response(text.replace("{{controls}}", controls), media_type="text/html")


def style(_: Request) -> Response:
    """The style sheet of the drawing."""
    return Response(font_faces("/fonts/") + page_style_sheet(), media_type="text/css")


def file(request: Request) -> Response:
    """A file of the page."""
    name = request.path_params["name"]
    if name not in FILES:
        return Response("there is no such page", 404)
    return Response((ASSETS / name).read_text(encoding="utf-8"), media_type=FILES[name])


def font(request: Request) -> Response:
    """A font of the drawing."""
    files = {Path(path).name: path for path in FONTS}
    name = request.path_params["name"]
    if name not in files:
        return Response("there is no such font", 404)
    return Response(Path(files[name]).read_bytes(), media_type="font/ttf")


Answer = Callable[[Hall, Request], Any]


def guarded(hall: Hall, answer: Answer) -> Callable[[Request], Any]:
    """A request that wants the token, if there is one; what is wrong in it is answered by a sentence."""

    async def endpoint(request: Request) -> Response:
        if not hall.knows(request.headers.get("authorization", "").removeprefix("Bearer ")):
            return JSONResponse({"error": "this server wants a token: open the address that it printed"}, 401)
        try:
            told = await answer(hall, request)
            return Response(told, media_type="image/gif") if isinstance(told, bytes) else JSONResponse(told)
        except (RecordError, ValueError, ModuleNotFoundError) as error:
            return JSONResponse({"error": str(error)[:500]}, 400)

    return endpoint


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


async def games(hall: Hall, _: Request) -> Any:
    """The games."""
    return await asyncio.to_thread(hall.lobby.games)


async def tables(hall: Hall, request: Request) -> Any:
    """Open a table."""
    return await hall.open(await body_of(hall, request))


async def film(hall: Hall, request: Request) -> Any:
    """The film of a file of records."""
    text = await body_of(hall, request)

    def made() -> Any:
        records = records_in(hall, text)
        film = film_of(records, Shown(players=thinkers(hall, request, records[0])))
        if request.query_params.get("analyse") == "1":
            add_losses(hall, film, records)
        return film.data()

    async with hall.lobby.one_at_a_time:
        return await asyncio.to_thread(made)


async def gif(hall: Hall, request: Request) -> bytes:
    """An animated GIF of a deal in a file of records."""
    text = await body_of(hall, request)

    def made() -> bytes:
        records = records_in(hall, text)
        deal, view = (request.query_params.get(name, "") for name in ("deal", "view"))
        if not deal.isdecimal() or int(deal) >= len(records):
            raise RefusedError(f"there are deals 0 to {len(records) - 1}")
        *_, (record, before) = replayed(records[: int(deal) + 1])
        seats = {ALL_HANDS: None, **{str(seat): seat for seat in range(record["seats"])}}
        if view not in seats:
            raise RefusedError("there is no such view")
        shown = Shown(seats[view], players=thinkers(hall, request, record))
        return picture(drawings(record, shown, theme_of(request), before), ".gif")

    async with hall.lobby.one_at_a_time:
        return await asyncio.to_thread(made)


async def table_gif(hall: Hall, request: Request) -> bytes:
    """An animated GIF of the deal at a table that is over, as the seat whose key is given may see it."""
    told = parsed_object(await body_of(hall, request))
    name, key = told.get("table"), told.get("key")
    if not isinstance(name, str) or not isinstance(key, str):
        raise RefusedError("a table and a key were expected")
    room = await hall.room(name)
    seat = room.table.seat_of(key)
    if seat is None:
        raise RefusedError("this link leads to no seat of the table")
    async with room.lock:
        records, shown = room.scored_deals(seat)
    view = request.query_params.get("view", "")
    if shown.seat is None and view.isdecimal() and int(view) < len(shown.names):
        shown = replace(shown, seat=int(view))

    def made() -> bytes:
        *_, (record, before) = replayed(records)
        return picture(drawings(record, shown, theme_of(request), before), ".gif")

    async with hall.lobby.one_at_a_time:
        return await asyncio.to_thread(made)


def theme_of(request: Request) -> Theme:
    """The colours that are asked for."""
    return "dark" if request.query_params.get("theme") == "dark" else "light"


def records_in(hall: Hall, text: str) -> list[Record]:
    """The records of a file; RefusedError if they are too many, or damaged."""
    lines = text.encode().splitlines()
    if not 1 <= len(lines) <= hall.limits.film_deals:
        raise RefusedError(f"a file of 1 to {hall.limits.film_deals} deals can be shown here, not of {len(lines)}")
    return [checked(number, record) for number, record in parsed_records(lines)]


def thinkers(hall: Hall, request: Request, record: Record) -> list[Player]:
    """The player whose thoughts are asked for, if one is."""
    name = request.query_params.get("player", "")
    if not name:
        return []
    hall.lobby.check(record["variant"], [name])
    return [seated([name], 1, rules_of(record))[0].player]


def rules_of(record: Record) -> Rules:
    """The rules of a recorded deal."""
    return make_rules(game(record["variant"]), record["seats"], record["options"])


def add_losses(hall: Hall, film: Film, records: list[Record]) -> None:
    """Put what the decisions of deals lost into their film; RefusedError if they are too many, or nothing can judge them."""
    if len(records) > MOST_ANALYSED:
        raise RefusedError(f"{MOST_ANALYSED} deals at most are analysed here, not {len(records)}; use noms analyse")
    if any(rules_of(record) != rules_of(records[0]) for record in records):
        raise RefusedError("deals of one game are analysed together; use noms analyse")
    told = analysed(records, hall.lobby.judge(rules_of(records[0])))
    for deal, (_, found) in zip(film.deals, told, strict=True):
        deal["losses"] = told_losses(deal, found)


def checked(number: int, record: Record | str) -> Record:
    """A record, or RefusedError for a line that is damaged."""
    if isinstance(record, str):
        raise RefusedError(f"line {number}: {record}")
    return record


class Sockets:
    """The sockets of browsers at tables."""

    def __init__(self, hall: Hall) -> None:
        self.hall = hall

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a socket until it is closed."""
        socket = WebSocket(scope, receive, send)
        await socket.accept()
        looker: Looker | None = None
        room: Room | None = None
        allowance = Allowance(self.hall.limits.rate)
        try:
            while True:
                text = await self._received(socket)
                if text is None or not allowance.take():
                    await socket.close(1008)
                    return
                try:
                    message = parsed(text)
                    if looker is not None and room is not None:
                        await room.handle(looker, message)
                    elif message["do"] == "hello":
                        room, looker = await self._welcome(socket, message)
                    else:
                        raise RefusedError("say hello first")
                except RefusedError as error:
                    await socket.send_text(json.dumps({"is": "refused", "text": str(error)}))
        except (WebSocketDisconnect, RuntimeError):
            pass
        finally:
            if room is not None and looker is not None:
                await room.leave(looker)

    async def _received(self, socket: WebSocket) -> str | None:
        """The next text; None for what is no text, or too long."""
        message = await socket.receive()
        if message["type"] == "websocket.disconnect":
            raise WebSocketDisconnect(message.get("code", 1000))
        text = message.get("text")
        return text if isinstance(text, str) and len(text) <= self.hall.limits.message_bytes else None

    async def _welcome(self, socket: WebSocket, message: dict[str, Any]) -> tuple[Room, Looker]:
        """Let a browser in."""
        if not self.hall.knows(message["token"]):
            raise RefusedError("this server wants a token: open the address that it printed")
        room = await self.hall.room(message["table"])
        if len(room.lookers) >= self.hall.limits.sockets:
            raise RefusedError("too many look at this table")
        looker = Looker(socket.send_text, room.table.seat_of(message["key"]) if message["key"] else None)
        if message["key"] and looker.seat is None:
            raise RefusedError("this link leads to no seat of the table")
        await looker.tell({"is": "symbols", "text": symbols_of(room.table.rules.variant.deck_kind)})
        await room.enter(looker)
        return room, looker
