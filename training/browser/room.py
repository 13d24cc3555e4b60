"""A table and the browsers that look at it: each is sent what its seat may see, and the players act when it is their turn."""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from noms_env.record import Record
from noms_env.record.replaying import replayed
from noms_env.show.lines import status
from noms_env.show.notes import Notes
from noms_env.show.picture import parts
from noms_env.show.view import look

from ..evaluation.mistakes import analysed
from ..terminal.session import Seated, seated
from .film import Film, Shown, tell_losses
from .live import LiveTable, RefusedError
from .lobby import Lobby, rules_page
from .messages import Limits

SEND_SECONDS = 10
"""A browser that takes longer to receive a message is left behind."""
GOING_ON = ("next", "speed")
"""What anybody may ask for at a table of players alone."""
encoded = json.JSONEncoder(separators=(",", ":")).encode


@dataclass(eq=False)
class Looker:
    """A browser at a table.

    Attributes:
        send: sends a text to it.
        seat: whose view it gets; None for a spectator.
        drop: ends the connection, so that the browser can come back.
        sent: the parts of the drawing that it has.
        knows: what else it has been told of the table.
        hint: the moment at which it was given a hint, and the drawing's notes of it; None once the moment has passed.
        is_gone: it is sent nothing any more.
    """

    send: Callable[[str], Awaitable[None]]
    seat: int | None
    drop: Callable[[], Awaitable[None]] | None = None
    sent: dict[str, str] = field(default_factory=dict)
    knows: dict[str, Any] = field(default_factory=dict)
    hint: tuple[str, Notes] | None = None
    is_gone: bool = False

    async def tell(self, message: dict[str, Any]) -> None:
        """Send a message; whoever does not take it is gone."""
        if self.is_gone:
            return
        try:
            async with asyncio.timeout(SEND_SECONDS):
                await self.send(encoded(message))
        except Exception:  # of whatever kind: the connection is of no more use
            self.is_gone = True
            if self.drop is not None:
                with suppress(Exception):
                    async with asyncio.timeout(SEND_SECONDS):
                        await self.drop()


class Room:
    """A table that is kept in a file, with its browsers.

    Attributes:
        table: which is changed while `lock` is held, and saved before anybody is told.
        path: its file.
        lookers: the browsers.
    """

    def __init__(self, table: LiveTable, path: Path, lobby: Lobby, limits: Limits | None = None) -> None:
        self.table, self.path, self.lobby, self.limits = table, path, lobby, limits or Limits()
        self.lock = asyncio.Lock()
        self.lookers: list[Looker] = []
        self._players: asyncio.Task[None] | None = None
        self._analysis: asyncio.Task[None] | None = None
        self._analysed_at = -math.inf

    async def enter(self, looker: Looker) -> None:
        """Let a browser in, and tell it all."""
        async with self.lock:
            self.lookers.append(looker)
            self.table.touched = time.time()
            await looker.tell({"is": "rules", "lines": rules_page(self.table.rules)})
            await self._tell_all()
        self._wake()

    async def leave(self, looker: Looker) -> None:
        """Let a browser go."""
        looker.is_gone = True
        async with self.lock:
            self.table.touched = time.time()
            if looker in self.lookers:
                self.lookers.remove(looker)
            await self._tell_all()

    async def handle(self, looker: Looker, message: dict[str, Any]) -> None:
        """Do what a browser asks for.

        Args:
            looker: the browser.
            message: from `messages.parsed`.

        Raises:
            RefusedError: it is not possible now; nothing has changed.
        """
        async with self.lock:
            self.table.touched = time.time()
            if message["do"] == "records":
                await looker.tell({"is": "records", "text": self._records()})
                return
            goes_on = not self.table.people and message["do"] in GOING_ON
            if looker.seat is None and not goes_on:
                raise RefusedError("you are a spectator")
            if message["do"] == "hint" and looker.seat is not None:
                await self._hint(looker, looker.seat)
                return
            if message["do"] == "film":
                self._start_film(looker, message["analyse"])
                return
            await self._done(self._change, looker.seat, message)
        self._wake()

    def _change(self, seat: int | None, message: dict[str, Any]) -> None:
        table = self.table
        match message["do"], seat:
            case "next", _:
                table.next_deal()
            case "speed", _:
                table.speed = message["seconds"]
            case "replace", _:
                self._replace(message["seat"], message["player"])
            case "act", int():
                table.act(seat, message["word"], message["moment"])
            case "back", int():
                table.take_back(seat)
            case "sit", int():
                table.sit(seat)
            case _:
                raise RefusedError("that is done already")

    def _replace(self, seat: int, name: str) -> None:
        if any(looker.seat == seat for looker in self.lookers):
            raise RefusedError("whoever sits there is here")
        self.lobby.check(self.table.rules.variant.name, [name])
        at_table = {player.name: player for player in self.table.session.players if player is not None}
        self.table.replace(seat, at_table.get(name) or self._new_player(name))

    def _new_player(self, name: str) -> Seated:
        try:
            return seated([name], 1, self.table.rules)[0]
        except ValueError as error:
            raise RefusedError(str(error)) from error

    def _records(self) -> str:
        """The records of a match that is over: they hold all cards, also those that nobody was to see."""
        if not self.table.session.is_over:
            raise RefusedError("records hold all cards: they are given when the match is over")
        return "".join(f"{json.dumps(record)}\n" for record in self.table.session.records())

    async def _hint(self, looker: Looker, seat: int) -> None:
        table = self.table
        try:
            advice = await asyncio.to_thread(table.hint, seat)
        except RefusedError:
            raise
        except Exception as error:  # of whatever kind: a player may be anybody's program
            raise RefusedError(failed(table.hints.name, error)) from error
        options = table.options_of(advice)
        chances = {one["word"]: one["p"] for one in options if "p" in one}
        values = {one["word"]: one["v"] for one in options if "v" in one}
        best = max(chances, key=chances.__getitem__) if chances else table.session.table.word(advice.action)
        notes = Notes(table.names, chances, values, best)
        looker.hint = table.moment, notes
        told = {"is": "hint", "name": advice.name, "options": options, "taken": notes.taken}
        await looker.tell({**told, **self._fresh(looker, table.drawing(looker.seat, notes))})

    async def _done(self, job: Callable[..., None], *given: Any) -> None:
        """Change the table and save it, both in one thread, and tell everybody; what the change raises changes nothing."""

        def work() -> OSError | None:
            job(*given)
            try:
                self.table.save(self.path)
            except OSError as error:
                return error
            return None

        error = await asyncio.to_thread(work)
        await self._tell_all()
        if error is not None:
            await self._refuse_all(f"the table is not saved: {error.strerror or error}")

    async def _refuse_all(self, text: str) -> None:
        """Show a sentence in every browser."""
        for looker in self.lookers:
            await looker.tell({"is": "refused", "text": text})

    def _fresh(self, looker: Looker, drawn: dict[str, str], **known: Any) -> dict[str, Any]:
        """What a browser has not got of a drawing and of what else is told of the table."""
        known["order"] = [*drawn]
        told = {name: value for name, value in known.items() if name not in looker.knows or looker.knows[name] != value}
        told["parts"] = {name: text for name, text in drawn.items() if looker.sent.get(name) != text}
        looker.sent, looker.knows = drawn, {**looker.knows, **known}
        return {**told, "moment": self.table.moment}

    async def _tell_all(self) -> None:
        """Tell every browser how its seat sees the table; each view is drawn once."""
        self.lookers = [looker for looker in self.lookers if not looker.is_gone]
        if not self.lookers:
            return
        table, session = self.table, self.table.session
        here = {looker.seat for looker in self.lookers}
        notes = Notes(table.names)
        views = {seat: look(session.table, seat) for seat in here}
        drawn = {seat: parts(view, notes) for seat, view in views.items()}
        people = [
            {"seat": seat, "name": person.name, "here": seat in here, "sits": person.sits}
            for seat, person in table.people.items()
        ]
        known = {
            "status": status(replace(next(iter(views.values())), viewer=None), notes.name),
            "names": table.names,
            "people": people,
            "turn": None if session.table.is_scored else int(session.table.row.seat),
            "scored": session.table.is_scored,
            "over": session.is_over,
            "sheet": [*table.sheet],
            "speed": table.speed,
            "players": self.lobby.players_of(table.rules.variant.name),
        }
        messages = []
        for looker in self.lookers:
            if looker.hint is not None and looker.hint[0] != table.moment:
                looker.hint = None
            seen = drawn[looker.seat] if looker.hint is None else parts(views[looker.seat], looker.hint[1])
            messages.append({"is": "table", **self._fresh(looker, seen, **known, yours=looker.seat)})
        await asyncio.gather(*(looker.tell(message) for looker, message in zip(self.lookers, messages, strict=True)))

    def _wake(self) -> None:
        """Let the players act, if they do not already."""
        if self._players is None or self._players.done():
            self._players = asyncio.create_task(self._play())

    async def _play(self) -> None:
        """Let the players act while it is their turn and somebody looks.

        The time that a player takes to choose is part of the pause before its action: a long thought would tell everybody that
        it had a choice.
        """
        session = self.table.session
        while self.lookers and not session.table.is_scored and not session.is_persons_turn:
            began = time.monotonic()
            async with self.lock:
                if session.table.is_scored or session.is_persons_turn:
                    return
                acting, before, name = session.acting, session.table.get_state(), self.table.names[int(session.table.row.seat)]
                try:
                    action = await asyncio.to_thread(session.choose)
                except Exception as error:  # of whatever kind: a player may be anybody's program
                    await self._refuse_all(failed(name, error))
                    return
            await asyncio.sleep(max(0, self.table.speed - (time.monotonic() - began)))
            async with self.lock:
                if self.lookers and self._still_acts(acting, before):  # else it chooses again
                    try:
                        await self._done(self.table.take, action)
                    except Exception as error:  # an action that is not legal
                        await self._refuse_all(failed(name, error))
                        return

    def _still_acts(self, player: Seated, before: bytes) -> bool:
        """Whether a player is to act at the table as it was: nothing was taken back, and nobody took the seat."""
        session = self.table.session
        return (
            not session.table.is_scored
            and session.table.get_state() == before
            and not session.is_persons_turn
            and (session.acting is player)
        )

    def scored_deals(self, seat: int | None, deal: int | None = None) -> tuple[list[Record], Shown]:
        """The deals up to one, and what a seat may see of that one: until the match is over its own view.

        Args:
            seat: the seat.
            deal: number of the deal, from 0; the present one when None.

        Raises:
            RefusedError: that deal is not over.
        """
        session = self.table.session
        records = session.records()
        last = len(session.deals) - 1 if deal is None else deal
        if last not in range(len(records)):
            raise RefusedError("wait until the deal is over")
        return records[: last + 1], Shown(None if session.is_over else seat, self.table.names)

    def _start_film(self, looker: Looker, analyse: bool) -> None:
        """Make the film of the deal that is over, while the table goes on; one at a time, analyses not too often."""
        records, shown = self.scored_deals(looker.seat)
        if self._analysis is not None and not self._analysis.done():
            raise RefusedError("wait for the one that is under way")
        if analyse:
            wait = self._analysed_at + self.limits.analysis_seconds - time.monotonic()
            if wait > 0:
                raise RefusedError(f"the next analysis can be in {math.ceil(wait)} seconds")
            self._analysed_at = time.monotonic()
        self._analysis = asyncio.create_task(self._film(looker, records, shown, analyse))

    async def _film(self, looker: Looker, records: list[Record], shown: Shown, analyse: bool) -> None:
        rules = self.table.rules

        def made() -> dict[str, Any]:
            film = Film()
            *_, (record, before) = replayed(records)
            film.add(record, shown, before)
            film.deals[0]["title"] = f"Deal {len(records)}"
            if analyse:
                ((_, found),) = analysed(records, self.lobby.judge(rules), wanted=lambda one: one is record)
                own = None if found is None else [one for one in found if shown.seat in (None, one.seat)]
                tell_losses(film.deals[0], own)
            return {**film.data(), "deal": len(records) - 1}

        try:
            async with self.lobby.one_at_a_time:
                told = await asyncio.to_thread(made)
        except Exception as error:
            text = str(error) if isinstance(error, RefusedError) else failed("the analysis" if analyse else "the film", error)
            await looker.tell({"is": "refused", "text": text})
            return
        async with self.lock:
            if records[-1] in self.table.session.records():  # else it was taken back, and goes on
                await looker.tell({"is": "film", "film": told})

    async def close(self) -> None:
        """Stop the players."""
        for task in (self._players, self._analysis):
            if task is not None:
                task.cancel()
                with suppress(asyncio.CancelledError, Exception):
                    await task


def failed(who: str, error: Exception) -> str:
    """A sentence on what went wrong."""
    return f"{who} has failed: {str(error)[:200] or type(error).__name__}"
