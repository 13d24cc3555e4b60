"""Connections of the server: limited by file descriptors, and closed when they stall."""

from __future__ import annotations

import asyncio
import logging
import socket
import sys
import time
from typing import Any, cast

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState

TAKEN = 8
"""Connections accepted per round of the event loop. Few, since several rounds pass before one can be closed."""
QUEUED = 128
"""Length of the system's queue of connections."""
MAX_CONNECTIONS = 2000
RESERVED_DESCRIPTORS = 64
"""Minimum number of descriptors reserved for files, programs and connections about to be closed."""
HEADER_SECONDS = 10
"""Timeout for the header of a request."""
GREETING_SECONDS = 1
"""If there are too many connections, those silent for longer are closed first."""
BODY_SECONDS = 60
"""Timeout for the body of a request."""
STALL_SECONDS = 20
"""Timeout of a client that does not read its data."""
LINES_A_MINUTE = 20
SWITCH_SECONDS = 0.0005
"""Switch interval of the interpreter: a tenth of the default, so that thinking threads do not delay answers."""


def most_connections() -> int:
    """Return the number of connections for which this process has file descriptors."""
    if sys.platform == "win32":
        return MAX_CONNECTIONS
    import resource

    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if descriptors == resource.RLIM_INFINITY:
        return MAX_CONNECTIONS
    return max(8, min(MAX_CONNECTIONS, descriptors - max(RESERVED_DESCRIPTORS, descriptors // 4)))


class Connection(H11Protocol):
    """An HTTP connection. If there are too many, one that is not at a table is closed."""

    stays = False

    @property
    def is_silent(self) -> bool:
        """Whether the header of its next request is incomplete."""
        return self.conn.their_state is h11.IDLE and not self.transport.is_closing()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in the base class
        """Accept a connection; if there are too many, close the oldest silent one, or else the oldest."""
        super().connection_made(transport)
        self.began = time.monotonic()
        if len(self.connections) > most_connections():
            others: list[Any] = [other for other in self.connections if not cast("Any", other).stays]
            long = self.began - GREETING_SECONDS
            last = min(others, key=lambda other: (not other.is_silent or other.began > long, other.began))
            last.stays = True  # not to be chosen again
            last.transport.abort()


class SocketConnection(WebSocketsSansIOProtocol):
    """A WebSocket connection; the application sets `stays` through `scope["state"]["connection"]`."""

    stays = is_silent = False

    def __init__(self, config: uvicorn.Config, server_state: ServerState, app_state: dict[str, Any]) -> None:
        """Take over an HTTP connection."""
        super().__init__(config, server_state, {**app_state, "connection": self})
        self.began = time.monotonic()


def find_wait(connection: Any) -> tuple[float, object, int] | None:
    """Return what a connection waits for, None if it has no timeout: seconds, the identity of the wait, and bytes left to send.

    The timeout restarts when the identity changes or the bytes decrease.
    """
    left = connection.transport.get_write_buffer_size()
    if left:
        return STALL_SECONDS, "to be read", left
    if isinstance(connection, Connection) and connection.conn.their_state in (h11.IDLE, h11.SEND_BODY):
        return HEADER_SECONDS if connection.is_silent else BODY_SECONDS, (connection.is_silent, connection.cycle), 0
    return None


class Server(uvicorn.Server):
    """A server that closes stalled connections."""

    def __init__(self, config: uvicorn.Config) -> None:
        """Make a server with a configuration that uses `Connection`."""
        super().__init__(config)
        self._waiting: dict[Any, tuple[tuple[float, object, int], float]] = {}

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start serving."""
        sys.setswitchinterval(SWITCH_SECONDS)
        await super().startup(sockets)
        for listening in sockets or []:
            listening.listen(QUEUED)

    async def on_tick(self, counter: int) -> bool:
        """Close stalled connections once a second; uvicorn calls this ten times a second."""
        if counter % 10 == 0:
            self._end_what_stalls(time.monotonic())
        return await super().on_tick(counter)

    def _end_what_stalls(self, now: float) -> None:
        before, self._waiting = self._waiting, {}
        for connection in list(self.server_state.connections):
            wait = find_wait(connection)
            if wait is None:
                continue
            (_, last_what, last_left), since = before.get(connection, (wait, now))
            seconds, what, left = wait
            since = since if what == last_what and left >= last_left else now
            self._waiting[connection] = wait, since
            if now - since >= seconds:
                connection.transport.abort()


class Sparing(logging.Filter):
    """Log filter that limits the lines per minute and drops tracebacks of system errors."""

    def __init__(self) -> None:
        """Start counting lines."""
        super().__init__()
        self._minute, self._lines = 0, 0

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a line is written."""
        minute = int(time.monotonic() / 60)
        self._lines = self._lines + 1 if minute == self._minute else 1
        self._minute = minute
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, OSError):
            record.exc_info, record.msg, record.args = None, "%s", (error.strerror or str(error),)
        return self._lines <= LINES_A_MINUTE


SPARING = Sparing()


def server_of(app: ASGIApp, message_bytes: int) -> Server:
    """Make the server of an application, for listening sockets; `message_bytes` limits a WebSocket message."""
    config = uvicorn.Config(
        app,
        http=Connection,
        ws=SocketConnection,
        backlog=TAKEN,
        log_level="error",
        ws_max_size=message_bytes,
        ws_per_message_deflate=False,  # not worth it for a few kilobytes
        server_header=False,
    )
    for name in ("uvicorn.error", "asyncio"):
        logging.getLogger(name).addFilter(SPARING)
    return Server(config)
