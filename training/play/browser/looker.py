"""A browser at a table, and what is still to be sent to it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

SEND_SECONDS = 10
"""A browser that takes longer to receive a message is left behind."""
encoded = json.JSONEncoder(separators=(",", ":")).encode


@dataclass(eq=False)
class Looker:
    """A browser at a table. Nobody waits for it: texts are queued, and `write` sends them.

    Attributes:
        send: sends a text to it.
        most_queued: bytes; one for which more wait to be sent is left behind.
        seat: whose view it gets; None for a spectator.
        knows: what it has been told of the table.
        is_gone: it is told nothing any more.
    """

    send: Callable[[str], Awaitable[None]]
    most_queued: int
    seat: int | None = None
    knows: dict[str, Any] = field(default_factory=dict)
    is_gone: bool = False
    _queue: asyncio.Queue[str | None] = field(default_factory=asyncio.Queue)
    _queued: int = 0

    def tell(self, message: dict[str, Any]) -> None:
        """Send a message, after those that wait."""
        self.tell_text(encoded(message))

    def tell_text(self, text: str) -> None:
        """Send a message that is encoded, after those that wait."""
        if self._queued > self.most_queued:
            self.end()
        if not self.is_gone:
            self._queued += len(text)
            self._queue.put_nowait(text)

    def end(self) -> None:
        """Send what waits, and nothing after it."""
        if not self.is_gone:
            self.is_gone = True
            self._queue.put_nowait(None)

    async def write(self) -> None:
        """Send what is told until `end`, or until the browser does not take it."""
        try:
            while (text := await self._queue.get()) is not None:
                async with asyncio.timeout(SEND_SECONDS):
                    await self.send(text)
                self._queued -= len(text)
        except Exception:  # of whatever kind: the connection is of no more use
            self.is_gone = True
