"""The server's connections: their number is limited by file descriptors, and stalled ones are closed."""

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
SWITCH_SECONDS = 0.0005
"""How long a thread that thinks may keep Python from the threads that answer; Python's own setting is ten times as long."""


def most_connections() -> int:
    """The number of connections that this process has file descriptors for."""
    if sys.platform == "win32":
        return MOST_CONNECTIONS
    import resource

    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if descriptors == resource.RLIM_INFINITY:
        return MOST_CONNECTIONS
    return max(8, min(MOST_CONNECTIONS, descriptors - max(KEPT_DESCRIPTORS, descriptors // 4)))


class Connection(H11Protocol):
    """A connection; if there are too many, one that is not at a table is closed."""

    stays = False

    @property
    def is_silent(self) -> bool:
        """Whether the head of its next request is still incomplete."""
        return self.conn.their_state is h11.IDLE and not self.transport.is_closing()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as the class above
        """Take a connection; if there are too many, close the oldest idle one, or else the oldest."""
        super().connection_made(transport)
        self.began = time.monotonic()
        if len(self.connections) > most_connections():
            others: list[Any] = [other for other in self.connections if not cast("Any", other).stays]
            long = self.began - GREETING_SECONDS
            last = min(others, key=lambda other: (not other.is_silent or other.began > long, other.began))
            last.stays = True  # no connection can be closed
            last.transport.abort()


class SocketConnection(WebSocketsSansIOProtocol):
    """A connection with a WebSocket. The application finds it as `scope["state"]["connection"]`, and marks it as known."""

    stays = is_silent = False

    def __init__(self, config: uvicorn.Config, server_state: ServerState, app_state: dict[str, Any]) -> None:
        """Take over a connection."""
        super().__init__(config, server_state, {**app_state, "connection": self})
        self.began = time.monotonic()


class Waiting(NamedTuple):
    """What a connection waits for.

    Attributes:
        seconds: timeout.
        what: identity of the wait; the timeout restarts when it changes.
        left: bytes to go; while they decrease the connection is not stalled.
    """

    seconds: float
    what: object
    left: int


def waiting(connection: Any) -> Waiting | None:
    """What a connection waits for; None without a timeout."""
    left = connection.transport.get_write_buffer_size()
    if left:
        return Waiting(STALL_SECONDS, "to be read", left)
    if isinstance(connection, Connection) and connection.conn.their_state in (h11.IDLE, h11.SEND_BODY):
        return Waiting(HEADER_SECONDS if connection.is_silent else BODY_SECONDS, (connection.is_silent, connection.cycle), 0)
    return None


class Server(uvicorn.Server):
    """A server that closes stalled connections."""

    def __init__(self, config: uvicorn.Config) -> None:
        """Make a server.

        Args:
            config: with `Connection`.
        """
        super().__init__(config)
        self._waiting: dict[Any, tuple[Waiting, float]] = {}

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to serve."""
        sys.setswitchinterval(SWITCH_SECONDS)
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
    """Log filter: a limited number of lines a minute, without tracebacks of missing system resources."""

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
        ws_per_message_deflate=False,  # compressing a few kilobytes costs more than it saves
        server_header=False,
    )
    for name in ("uvicorn.error", "asyncio"):
        logging.getLogger(name).addFilter(SPARING)
    return Server(config)
