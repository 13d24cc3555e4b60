"""The server's connections: no more of them than there are descriptors, and none that says or takes nothing for long."""

from __future__ import annotations

import asyncio
import logging
import socket
import sys
import time
from typing import Any, NamedTuple, cast

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState

TAKEN = 8
"""Connections that are taken at a time: some rounds of them are taken before the first of them can be refused."""
QUEUED = 128
"""Connections that wait in the system to be taken."""
MOST_CONNECTIONS = 2000
KEPT_DESCRIPTORS = 64
"""Descriptors that are left for files, programs and connections that are about to be refused, at the least."""
HEADER_SECONDS = 10
"""A connection on which no request has come whole by then is ended."""
GREETING_SECONDS = 1
"""A connection that is silent for longer is the first to give way."""
BODY_SECONDS = 60
"""The same for a request with its body."""
STALL_SECONDS = 20
"""A connection that takes nothing of what is written to it for so long is ended."""
LINES_A_MINUTE = 20


def most_connections() -> int:
    """Connections that the descriptors of this process are enough for."""
    if sys.platform == "win32":
        return MOST_CONNECTIONS
    import resource

    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if descriptors == resource.RLIM_INFINITY:
        return MOST_CONNECTIONS
    return max(8, min(MOST_CONNECTIONS, descriptors - max(KEPT_DESCRIPTORS, descriptors // 4)))


class Connection(H11Protocol):
    """A connection; of too many one gives way that is not known to belong to somebody at a table."""

    stays = False

    @property
    def is_silent(self) -> bool:
        """Whether the head of its next request has not come yet, or not whole."""
        return self.conn.their_state is h11.IDLE and not self.transport.is_closing()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as the class above
        """Take a connection; if that is one too many, end one: the oldest of those that are silent for long, or else of all."""
        super().connection_made(transport)
        self.began = time.monotonic()
        if len(self.connections) > most_connections():
            others: list[Any] = [other for other in self.connections if not cast("Any", other).stays]
            long = self.began - GREETING_SECONDS
            last = min(others, key=lambda other: (not other.is_silent or other.began > long, other.began))
            last.stays = True  # nothing is left to end
            last.transport.abort()


class SocketConnection(WebSocketsSansIOProtocol):
    """A connection with a socket. The application finds it as `scope["state"]["connection"]`, and says when it is known."""

    stays = is_silent = False

    def __init__(self, config: uvicorn.Config, server_state: ServerState, app_state: dict[str, Any]) -> None:
        """Take over a connection."""
        super().__init__(config, server_state, {**app_state, "connection": self})
        self.began = time.monotonic()


class Waiting(NamedTuple):
    """What a connection waits for.

    Attributes:
        seconds: after which it is ended.
        what: the same while it waits for the same.
        left: bytes; while they get fewer it does not stall.
    """

    seconds: float
    what: object
    left: int


def waiting(connection: Any) -> Waiting | None:
    """What a connection waits for; None for nothing that must come soon."""
    left = connection.transport.get_write_buffer_size()
    if left:
        return Waiting(STALL_SECONDS, "to be read", left)
    if isinstance(connection, Connection) and connection.conn.their_state in (h11.IDLE, h11.SEND_BODY):
        return Waiting(HEADER_SECONDS if connection.is_silent else BODY_SECONDS, (connection.is_silent, connection.cycle), 0)
    return None


class Server(uvicorn.Server):
    """A server that ends the connections which say or take nothing."""

    def __init__(self, config: uvicorn.Config) -> None:
        """Make a server.

        Args:
            config: with `Connection`.
        """
        super().__init__(config)
        self._waiting: dict[Any, tuple[Waiting, float]] = {}

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to serve."""
        await super().startup(sockets)
        for listening in sockets or []:
            listening.listen(QUEUED)

    async def on_tick(self, counter: int) -> bool:
        """Look after the connections once a second; uvicorn calls this ten times in one."""
        if counter % 10 == 0:
            self._end_what_stalls(time.monotonic())
        return await super().on_tick(counter)

    def _end_what_stalls(self, now: float) -> None:
        before, self._waiting = self._waiting, {}
        for connection in list(self.server_state.connections):
            wait = waiting(connection)
            if wait is None:
                continue
            last, since = before.get(connection, (wait, now))
            since = since if wait.what == last.what and wait.left >= last.left else now
            self._waiting[connection] = wait, since
            if now - since >= wait.seconds:
                connection.transport.abort()


class Sparing(logging.Filter):
    """Lets some lines a minute pass, none of them with a traceback of what the system lacks."""

    def __init__(self) -> None:
        """Begin with the first minute."""
        super().__init__()
        self._minute, self._lines = 0, 0

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a line is written."""
        minute = int(time.monotonic() / 60)
        self._lines = self._lines + 1 if minute == self._minute else 1
        self._minute = minute
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, OSError):
            record.exc_info, record.msg, record.args = None, "%s", (error.strerror or str(error),)
        return self._lines <= LINES_A_MINUTE


SPARING = Sparing()


def server_of(app: ASGIApp, message_bytes: int) -> Server:
    """The server of an application, which wants sockets that listen.

    Args:
        app: the application.
        message_bytes: that a message on a socket has at most.
    """
    config = uvicorn.Config(
        app,
        http=Connection,
        ws=SocketConnection,
        backlog=TAKEN,
        log_level="error",
        ws_max_size=message_bytes,
        ws_per_message_deflate=False,  # some kilobytes are sooner sent than packed
        server_header=False,
    )
    for name in ("uvicorn.error", "asyncio"):
        logging.getLogger(name).addFilter(SPARING)
    return Server(config)
