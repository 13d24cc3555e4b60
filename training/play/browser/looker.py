"""A browser at a table and its queue of messages."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

SEND_SECONDS = 10
"""Timeout for sending a message; a slower browser is disconnected."""
encode_json = json.JSONEncoder(separators=(",", ":")).encode


@dataclass(eq=False)
class Looker:
    """A browser at a table. Messages are queued without waiting; `write` sends them.

    Attributes:
        send: function that sends a text.
        most_queued: limit of the queue; a browser that exceeds it is disconnected.
        seat: seat whose view is sent; None for a spectator.
        knows: state of the table that was already sent.
        is_gone: whether the queue is closed.
    """

    send: Callable[[str], Awaitable[None]]
    most_queued: int
    seat: int | None = None
    knows: dict[str, Any] = field(default_factory=dict)
    is_gone: bool = False
    _queue: asyncio.Queue[str | None] = field(default_factory=asyncio.Queue)
    _queued: int = 0

    def post(self, message: dict[str, Any]) -> None:
        """Queue a message."""
        self.post_text(encode_json(message))

    def post_text(self, text: str) -> None:
        """Queue an encode_json message."""
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
        except Exception:  # any error means a broken connection
            self.is_gone = True
