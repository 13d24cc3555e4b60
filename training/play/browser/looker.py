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
    """A browser at a table. Texts are queued without waiting, and `write` sends them.

    Attributes:
        send: sends a text to it.
        most_queued: bytes; a browser with a longer queue is disconnected.
        seat: of its view; None for a spectator.
        knows: the parts of the table already sent.
        is_gone: nothing more is sent.
    """

    send: Callable[[str], Awaitable[None]]
    most_queued: int
    seat: int | None = None
    knows: dict[str, Any] = field(default_factory=dict)
    is_gone: bool = False
    _queue: asyncio.Queue[str | None] = field(default_factory=asyncio.Queue)
    _queued: int = 0

    def tell(self, message: dict[str, Any]) -> None:
        """Queue a message."""
        self.tell_text(encoded(message))

    def tell_text(self, text: str) -> None:
        """Queue an encoded message."""
        if self._queued > self.most_queued:
            self.end()
        if not self.is_gone:
            self._queued += len(text)
            self._queue.put_nowait(text)

    def end(self) -> None:
        """Close the queue: send what it holds, and nothing more."""
        if not self.is_gone:
            self.is_gone = True
            self._queue.put_nowait(None)

    async def write(self) -> None:
        """Send the queue until `end`, or until sending fails."""
        try:
            while (text := await self._queue.get()) is not None:
                async with asyncio.timeout(SEND_SECONDS):
                    await self.send(text)
                self._queued -= len(text)
        except Exception:  # whatever it is, the connection is broken
            self.is_gone = True
