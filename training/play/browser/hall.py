"""Tables of a server, stored in a folder."""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Any

from noms_env._files import read_file
from noms_env.variants import game

from .live import LiveTable, RefusedError, is_table, same_secret
from .lobby import Lobby, NotOfferedError, day_table
from .messages import Limits, parse_body, parse_request
from .room import Room

MAX_BYTES = 1 << 23
"""Maximum size of a table file; a match of 1,000 deals takes about 300,000 bytes."""
NAME = re.compile(r"[A-Za-z0-9_-]{8,32}")
"""Name of a table."""
PART = re.compile(r"\.([A-Za-z0-9_-]{8,32}\.json|token)\.\d+-\d+\.part")
"""Name of a temporary file of an atomic write."""
PART_SECONDS = 60
"""Age from which a temporary file counts as abandoned."""


class Hall:
    """The tables of a server.

    Attributes:
        folder: folder with one file per table.
        lobby: games and players.
        limits: limits of the server.
        token: shared secret of all users, or None.
        rooms: rooms of the tables visited since the server started.
    """

    def __init__(self, folder: Path, lobby: Lobby, limits: Limits | None = None, token: str | None = None) -> None:
        self.folder, self.lobby, self.limits, self.token = folder, lobby, limits or Limits(), token
        self.rooms: dict[str, Room] = {}
        self._opening = asyncio.Lock()
        self._restoring = dict[str, asyncio.Task[Room]]()

    def path(self, name: str) -> Path:
        """Return the file of a table."""
        return self.folder / f"{name}.json"

    def knows(self, token: str) -> bool:
        """Check a token in constant time; without a secret every token is valid."""
        return self.token is None or same_secret(token, self.token)

    async def open(self, text: str) -> dict[str, Any]:
        """Open a table; return its name and the invitations. A browser that accepts one generates its own key.

        Raises:
            ValueError: the request is invalid, or there are too many tables.
        """
        return await self._keep(lambda: self.lobby.open(parse_request(text)))

    async def open_day(self, text: str) -> dict[str, Any]:
        """Open a table with the deal of the day; see `open`."""
        variant, name, practice = parse_body("day", text)
        return await self._keep(lambda: day_table(game(variant), date.today(), name or "You", practice))

    async def _keep(self, make: Callable[[], LiveTable]) -> dict[str, Any]:
        """Make a table, its file and its room."""
        async with self._opening:
            self._check_number()
            table = await asyncio.to_thread(make)
            name = secrets.token_urlsafe(9)
            table.touched = time.time()
            table.save(self.path(name))
            self.rooms[name] = Room(table, self.path(name), self.lobby, self.limits)
        return {"table": name, "invitations": {str(seat): person.invitation for seat, person in table.people.items()}}

    def _check_number(self) -> None:
        """Raise `RefusedError` if there is no room for another table."""
        if len([*self._files()]) >= self.limits.tables:
            raise RefusedError(f"this server has {self.limits.tables} tables and no room for more")

    async def claim(self, text: str) -> dict[str, Any]:
        """Accept an invitation with a browser's key; see `LiveTable.claim`."""
        name, invitation, key = parse_body("seat", text)
        return {"seat": await (await self.room(name)).claim(invitation, key)}

    async def try_again(self, text: str) -> dict[str, Any]:
        """Open a trial (see `again`). Each seat of a table has at most one; a new trial replaces the old one.

        Raises:
            ValueError: the request is invalid, or that decision cannot be tried again.
        """
        name, key, moment = parse_body("again", text)
        room = await self.room(name)
        seat = room.table.seat_of(key)
        if seat is None:
            raise RefusedError("this link belongs to no seat at this table")
        async with room.lock:
            state = room.table.trial_json(name, seat, moment)
        table = await asyncio.to_thread(lambda: self.lobby.restore_table(state))
        trial = f"{table.trial.table}-again-{seat}" if table.trial else ""
        if not NAME.fullmatch(trial):
            raise RefusedError("there is no such table")
        async with self._opening:
            if not self.path(trial).exists():
                self._check_number()
            table.touched = time.time()
            if trial in self.rooms:
                await self.rooms[trial].end(lambda: table.save(self.path(trial)))
            else:
                table.save(self.path(trial))
            self.rooms[trial] = Room(table, self.path(trial), self.lobby, self.limits)
        return {"table": trial}

    async def room(self, name: str) -> Room:
        """Return the room of a table, restored from its file if necessary; raise `RefusedError` if there is none."""
        if not NAME.fullmatch(name):
            raise RefusedError("there is no such table")
        if name in self.rooms:
            return self.rooms[name]
        if name not in self._restoring:  # a task of its own, so that other tables do not wait
            self._restoring[name] = asyncio.create_task(self._restore(name))
            self._restoring[name].add_done_callback(lambda _: self._restoring.pop(name))
        return await asyncio.shield(self._restoring[name])

    async def _restore(self, name: str) -> Room:
        """Restore the room of a table from its file."""
        try:
            table = await asyncio.to_thread(lambda: self._read_table(self.path(name)))
        except NotOfferedError:
            raise
        except (OSError, ValueError):
            raise RefusedError("there is no such table") from None
        self.rooms[name] = Room(table, self.path(name), self.lobby, self.limits)
        return self.rooms[name]

    def _read_table(self, path: Path) -> LiveTable:
        if not is_table(path):
            raise ValueError("not a table")
        return self.lobby.restore_table(read_file(path, MAX_BYTES).decode())

    def _files(self) -> Iterator[Path]:
        """Yield the files of tables, ignoring all other files."""
        for path in self.folder.glob("*.json"):
            with suppress(OSError):
                if NAME.fullmatch(path.stem) and is_table(path):
                    yield path

    def tidy(self) -> None:
        """Make the table files private to this user, and remove abandoned temporary files."""
        for path in self._files():
            with suppress(OSError):
                path.chmod(0o600)
        for path in self.folder.glob(".*.part"):
            with suppress(OSError):
                if PART.fullmatch(path.name) and path.stat().st_mtime < time.time() - PART_SECONDS:
                    path.unlink()

    async def sweep(self) -> None:
        """Remove the tables that nobody has visited for `Limits.idle_hours`."""
        self.tidy()
        oldest = time.time() - 3600 * self.limits.idle_hours
        for path in self._files():
            room = self.rooms.get(path.stem)
            if room is not None and (room.lookers or room.table.touched >= oldest):
                continue
            with suppress(OSError):  # a file that cannot be removed stays
                if room is None and path.stat().st_mtime >= oldest:
                    continue
                path.unlink(missing_ok=True)
                self.rooms.pop(path.stem, None)
