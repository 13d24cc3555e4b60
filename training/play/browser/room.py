"""A table with its browsers: it sends each browser the view of its seat, and runs the players."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import time
from collections.abc import Awaitable, Callable, Container
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from noms_env.record import Record
from noms_env.record.replaying import pair_with_previous
from noms_env.show.rules import rules_in_brief

from ...evaluation.mistakes import Loss, find_losses
from ..session import Seated, seat_player
from .again import is_known
from .analysis import changes, deal_data
from .film import Shown
from .live import LiveTable, RefusedError
from .lobby import PERSON, Lobby, adapt_player, strong_points
from .messages import Limits

SEND_SECONDS = 10
"""Timeout for sending a message; a slower browser is disconnected."""
encode_json = json.JSONEncoder(separators=(",", ":")).encode
IN_THE_LOBBY = ("name", "begin", "replace", "speed", "sit")
"""Requests that people may make before the first deal."""
FOR_SPECTATORS = ("next", "speed", "replace")
"""Requests that spectators may make at a table without people."""


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


class Room:
    """A table, its file and its browsers.

    Attributes:
        table: the table. It changes only under `lock`, and is saved before anything is sent.
        path: file of the table.
        lookers: the browsers.
    """

    def __init__(self, table: LiveTable, path: Path, lobby: Lobby, limits: Limits | None = None) -> None:
        self.table, self.path, self.lobby, self.limits = table, path, lobby, limits or Limits()
        self.lock = asyncio.Lock()
        self.lookers: list[Looker] = []
        self._players: asyncio.Task[None] | None = None
        self._analysis: asyncio.Task[None] | None = None
        self._judged = dict[tuple[int, int | None], tuple[Record, list[Loss] | None]]()
        self._comparison: asyncio.Task[None] | None = None
        self._strong: float | None = None
        self._advising = asyncio.Lock()
        self._given_at = dict[tuple[str, int | None], float]()
        self._failed: tuple[bytes, Seated] | None = None

    async def claim(self, invitation: str, key: str) -> int:
        """Accept an invitation with a browser's key; see `LiveTable.claim`."""
        async with self.lock:
            seat = self.table.claim(invitation, key)
            await self._done()
        self._wake()
        return seat

    async def enter(self, looker: Looker) -> None:
        """Add a browser and send it the table. Each seat has one browser; a new one replaces the old one."""
        async with self.lock:
            older = [other for other in self.lookers if other.seat == looker.seat and looker.seat is not None]
            for other in older:
                other.post({"is": "elsewhere", "text": "This seat has been opened in another window."})
                other.end()
            self.lookers.append(looker)
            self.table.touched = time.time()
            rules = self.table.rules
            lines = [f"{rules.variant.title}, {rules.seats} seats", *rules_in_brief(rules)]
            looker.post({"is": "rules", "lines": lines})
            self._send_changes()
            if older:
                looker.post({"is": "refused", "text": "this seat was open in another window; it is closed there now"})
        self._wake()

    async def leave(self, looker: Looker) -> None:
        """Remove a browser."""
        looker.end()
        async with self.lock:
            self.table.touched = time.time()
            self._send_changes()

    async def handle(self, looker: Looker, message: dict[str, Any]) -> None:
        """Handle a browser's request from `messages.parse_message`; if it raises `RefusedError`, nothing changes."""
        async with self.lock:
            self.table.touched = time.time()
            if looker.is_gone:
                return
            if message["do"] == "records":
                looker.post({"is": "records", "text": self._records(looker.seat)})
                return
            if message["do"] == "moment":
                looker.post({"is": "moment", **self.table.moment_data(message["deal"], message["decision"])})
                return
            if message["do"] == "compare":  # allowed for spectators: everybody gets the result
                self._start_comparison()
                return
            is_allowed = not self.table.people and message["do"] in FOR_SPECTATORS
            if looker.seat is None and not is_allowed:
                raise RefusedError("you are a spectator")
            if self.table.waits and message["do"] not in IN_THE_LOBBY:
                raise RefusedError("the first deal waits until everybody is here")
            if message["do"] == "film":
                self._start_film(looker, message["deal"] - 1, message["analyse"])
                return
            if message["do"] != "hint":
                await self._done(self._change, looker.seat, message)
                if message["do"] == "answer" and looker.seat != message["seat"] and not message["agrees"]:
                    self._refuse_all(f"{self.table.names[looker.seat or 0]} does not agree", {message["seat"]})
        if message["do"] == "hint" and looker.seat is not None:
            await self._hint(looker, looker.seat)
        self._wake()

    def _change(self, seat: int | None, message: dict[str, Any]) -> None:
        table = self.table
        match message["do"], seat:
            case "next", _:
                table.next_deal()
            case "speed", _:
                table.speed = message["seconds"]
            case "replace", _:
                if table.waits and not self._leads(seat):
                    raise RefusedError("only the host can do that")
                self._replace(message["seat"], message["player"])
            case "act", int():
                table.act(seat, message["word"], message["moment"])
            case "back", int():
                if table.others(seat) and table.may_take_back(seat):
                    self._wait_for("request to take back", self.limits.undo_seconds)
                table.take_back(seat)
            case "answer", int():
                table.answer(seat, message["seat"], message["moment"], message["agrees"])
            case "name", int():
                table.people[seat].name = message["name"]
            case "begin", int():
                if not self._leads(seat):
                    raise RefusedError("only the host can do that")
                table.begin(self._player(table.substitute))
            case "sit", int():
                table.sit(seat)
            case "end", int():
                table.end(seat)
            case _:
                raise RefusedError("that is done already")

    def _replace(self, seat: int, name: str) -> None:
        has_failed = seat == self._failed_seat()
        if not has_failed and any(looker.seat == seat for looker in self.lookers):
            raise RefusedError("the person in this seat is here")
        self.lobby.check(self.table.rules.variant.name, [name])
        self.table.replace(seat, self._player(adapt_player(name, self.table.rules)), has_failed=has_failed)

    def _leads(self, seat: int | None) -> bool:
        """Return whether a person may start the first deal: the host, or anybody seated if the host is absent."""
        host = self.table.host
        return seat is not None and (host in (None, seat) or all(looker.seat != host for looker in self.lookers))

    def _player(self, name: str) -> Seated:
        """Return a player for a seat, the same object if it sits at the table already."""
        at_table = {player.name: player for player in self.table.session.players if player is not None}
        try:
            return at_table.get(name) or seat_player(name, self.table.rules)
        except ValueError as error:
            raise RefusedError(str(error)) from error

    def _records(self, seat: int | None) -> str:
        """Return the records of a finished match, which contain all cards."""
        if not self.table.is_open:
            raise RefusedError("records show all cards: wait until the match is over")
        self._wait_for("records", self.limits.film_seconds, seat)
        return "".join(f"{json.dumps(record)}\n" for record in self.table.session.records())

    def _wait_for(self, what: str, gap: float, seat: int | None = None) -> None:
        """Refuse an expensive request within `gap` seconds of the last one, per seat if `seat` is not None."""
        wait = self._given_at.get((what, seat), -math.inf) + gap - time.monotonic()
        if wait > 0:
            left = math.ceil(wait)
            raise RefusedError(f"wait {left} second{'s' * (left > 1)} for the next {what}")
        self._given_at[what, seat] = time.monotonic()

    async def _hint(self, looker: Looker, seat: int) -> None:
        """Send a hint. The table continues while the adviser thinks, so others cannot see how long it takes."""
        table = self.table
        async with self._advising:
            async with self.lock:
                session, before = table.hint_session(seat), table.session.table.get_state()
            try:
                (advice,) = await self.lobby.run_decision(self.limits.thought_seconds, session.advice, [table.hints])
            except Exception as error:  # a player may be any program
                raise RefusedError(describe_error(table.hints.name, error)) from error
        async with self.lock:
            if table.session.table.get_state() != before:
                raise RefusedError("the table has moved on since then")
            options = table.options_of(advice)
            chances = {option["word"]: option["p"] for option in options if "p" in option}
            best = max(chances, key=chances.__getitem__) if chances else session.table.word(advice.action)
            who = self.lobby.level_of(table.rules.variant.name, advice.name)
            looker.post({"is": "hint", "name": who, "options": options, "taken": best, "moment": table.moment})

    async def _done(self, job: Callable[..., None] = lambda: None, *arguments: Any) -> None:
        """Change and save the table in a thread, then send it to everybody; if `job` raises, nothing changes."""

        def work() -> OSError | None:
            job(*arguments)
            try:
                self.table.save(self.path)
            except OSError as error:
                return error
            return None

        error = await asyncio.to_thread(work)
        self._send_changes()
        if error is not None:
            self._refuse_all(f"the table could not be saved: {error.strerror or error}")

    def _refuse_all(self, text: str, seats: Container[int | None] | None = None) -> None:
        """Show a sentence in every browser, or in those of `seats`."""
        for looker in self.lookers:
            if seats is None or looker.seat in seats:
                looker.post({"is": "refused", "text": text})

    def _send_changes(self) -> None:
        """Send every browser the changes of the table as its seat sees it."""
        self.lookers = [looker for looker in self.lookers if not looker.is_gone]
        if not self.lookers:
            return
        table, session = self.table, self.table.session
        here = {looker.seat for looker in self.lookers}
        views = {seat: table.view(seat) for seat in here}
        people = [
            {
                "seat": seat,
                "name": person.name,
                "here": seat in here,
                "sits": person.sits,
                "invited": not person.key,
                "host": seat == table.host,
            }
            for seat, person in table.people.items()
        ]
        variant = table.rules.variant.name
        shared = {
            "variant": variant,
            "names": table.names,
            "levels": [None if name is None else self.lobby.level_of(variant, name) for name in session.names],
            "people": people,
            "turn": None if session.table.is_scored else int(session.table.row.seat),
            "scored": session.table.is_scored,
            "over": session.is_over,
            "sheet": [*table.sheet],
            "speed": table.speed,
            "failed": self._failed_seat(),
            "players": self.lobby.choices(variant),
            "hints": None if table.is_first_try else self.lobby.level_of(variant, table.hints.name),
            "practice": table.practice,
            "day": table.day,
            "waits": table.waits,
            "substitute": {"name": table.substitute, "level": self.lobby.level_of(variant, table.substitute)},
            "watching": sum(looker.seat is None for looker in self.lookers),
            "undo": self._undo_data(),
            "trial": table.trial and table.trial.view(len(session.deals)),
        }
        for looker in self.lookers:
            seat = looker.seat
            own = {"back": table.may_take_back(seat), "others": table.others(seat), "leads": self._leads(seat)}
            state = {**shared, **own, "yours": seat, "view": views[seat]}
            looker.post({"is": "table", **changes(looker.knows, state), "moment": table.moment})
            looker.knows = state

    def _undo_data(self) -> dict[str, Any] | None:
        """Return the undo request: who asks, how many later decisions it undoes, and who has not agreed yet."""
        undo = self.table.undo
        if undo is None:
            return None
        missing = [seat for seat in self.table.others(undo.seat) if seat not in undo.agreed]
        return {"seat": undo.seat, "later": self.table.later_decisions(undo.seat), "missing": missing}

    @property
    def _players_act(self) -> bool:
        """Whether a player is to act, a browser is here, and no person is being waited for."""
        table, session = self.table, self.table.session
        stands = table.waits or table.undo is not None
        return bool(self.lookers) and not stands and not session.table.is_scored and not session.is_persons_turn

    def _wake(self) -> None:
        """Start the players unless they are running."""
        if self._players is None or self._players.done():
            self._players = asyncio.create_task(self._play_and_report())

    async def _play_and_report(self) -> None:
        """Run the players; show and log every error, since the table would otherwise hang silently."""
        try:
            await self._play()
        except Exception as error:
            logging.getLogger("uvicorn.error").exception("table %s has failed", self.path.stem)
            self._refuse_all(describe_error("the table", error))

    async def _play(self) -> None:
        """Run the players while it is their turn and a browser is here.

        A player thinks in a thread, and its action is shown after a whole number of pauses. So neither the server's response
        times nor the time of the action reveals whether the player had a choice.
        """
        session = self.table.session
        while self._players_act:
            async with self.lock:
                if not self._players_act:
                    return
                began, pause = time.monotonic(), max(self.table.speed, self.limits.pace)
                acting, before, copy = session.acting, session.table.get_state(), session.copy()
            choice: int | Exception
            try:
                choice = await self.lobby.run_decision(self.limits.thought_seconds, copy.choose)
            except Exception as error:  # a player may be any program
                choice = error
            await asyncio.sleep(rest_of_pause(pause, time.monotonic() - began))
            async with self.lock:
                if self._players_act and self._still_acts(acting, before):  # otherwise the player to act chooses again
                    try:
                        if isinstance(choice, Exception):
                            raise choice
                        await self._done(self.table.take, choice)
                    except Exception as error:  # includes illegal actions
                        self._fail(acting, before, error)
                        return

    def _fail(self, player: Seated, state: bytes, error: Exception) -> None:
        """Show that the player to act has failed; the table waits for its replacement or an undo."""
        name = self.table.names[int(self.table.session.table.row.seat)]
        self._failed = state, player
        self._send_changes()
        self._refuse_all(describe_error(name, error))

    def _failed_seat(self) -> int | None:
        """Return the seat to act if its player has failed; None otherwise."""
        if self._failed is None or not self._still_acts(self._failed[1], self._failed[0]):
            return None
        return int(self.table.session.table.row.seat)

    def _still_acts(self, player: Seated, before: bytes) -> bool:
        """Return whether the same player is still to act in the same state."""
        session = self.table.session
        return (
            not session.table.is_scored
            and session.table.get_state() == before
            and not session.is_persons_turn
            and (session.acting is player)
        )

    def scored_deals(self, seat: int | None, deal: int) -> tuple[list[Record], Shown]:
        """Return the records up to deal `deal`, from 0, and settings with the seat's own view until the match is over.

        Raises:
            RefusedError: that deal is not over.
        """
        records = self.table.session.records()
        if deal not in range(len(records)):
            raise RefusedError("wait until the deal is over")
        return records[: deal + 1], Shown(None if self.table.is_open else seat, self.table.names)

    def _start_film(self, looker: Looker, deal: int, analyse: bool) -> None:
        """Start making the film of a scored deal, one at a time and with a minimum interval."""
        records, shown = self.scored_deals(looker.seat, deal)
        if self._analysis is not None and not self._analysis.done():
            raise RefusedError("wait for the current analysis")
        if analyse and not self._is_judged(records, shown):
            self._wait_for("analysis", self.limits.analysis_seconds)
        else:
            self._wait_for("film", self.limits.film_seconds)
        self._analysis = asyncio.create_task(self._film(looker, records, shown, analyse))

    def _is_judged(self, records: list[Record], shown: Shown) -> bool:
        """Return whether the current analysis of the last deal is cached."""
        return (len(records), shown.seat) in self._judged and self._judged[len(records), shown.seat][0] == records[-1]

    def _judge(self, records: list[Record], shown: Shown) -> list[Loss] | None:
        """Return the losses of decisions in the last deal, cached; None if it cannot be judged."""
        if not self._is_judged(records, shown):
            judge, last = self.lobby.judge(self.table.rules), records[-1]
            ((_, losses),) = find_losses(records, judge, wanted=lambda record: record is last, seat=shown.seat)
            self._judged[len(records), shown.seat] = last, losses
        return self._judged[len(records), shown.seat][1]

    async def _film(self, looker: Looker, records: list[Record], shown: Shown, analyse: bool) -> None:
        deal, seat = len(records) - 1, looker.seat
        again = seat is not None and (self.table.is_open or is_known(records[-1]))

        def make() -> str:
            losses = self._judge(records, shown) if analyse else None
            *_, (record, before) = pair_with_previous(records)
            data = deal_data(record, shown, before, seat=seat, losses=losses, analysed=analyse)
            film = {"deals": [data | {"title": f"Deal {deal + 1}"}], "deal": deal, "again": again}
            return encode_json({"is": "film", "film": film})

        try:
            text = await self.lobby.work(make)
        except Exception as error:
            subject = "the analysis" if analyse else "the film"
            refusal = str(error) if isinstance(error, RefusedError) else describe_error(subject, error)
            looker.post({"is": "refused", "text": refusal})
            return
        async with self.lock:
            if records[-1] in self.table.session.records():  # the deal was not undone meanwhile
                looker.post_text(text)

    def _start_comparison(self) -> None:
        """Start to play the deal of the day with the strong player in the person's seat, for all browsers."""
        table = self.table
        if not table.day or not table.session.is_over:
            raise RefusedError("the comparison comes when the deal of the day is over")
        own = float(table.session.table.row.points[PERSON])

        async def compare() -> None:
            try:
                if self._strong is None:
                    self._strong = await self.lobby.work(lambda: strong_points(table.session))
            except Exception as error:  # otherwise the page would wait for ever
                self._refuse_all(describe_error("the comparison", error))
                return
            for looker in self.lookers:
                looker.post({"is": "compared", "own": own, "strong": self._strong})

        if self._comparison is None or self._comparison.done():
            self._comparison = asyncio.create_task(compare())

    async def end(self, replace: Callable[[], None]) -> None:
        """Replace this table by another one, and show that in every browser.

        `replace` writes the other table to the file; if it raises, nothing changes.
        """
        await self.close()
        async with self.lock:
            replace()
            for looker in self.lookers:
                looker.post({"is": "elsewhere", "text": "This decision is tried again in another window."})
                looker.end()

    async def close(self) -> None:
        """Cancel all tasks."""
        for task in (self._players, self._analysis, self._comparison):
            if task is not None:
                task.cancel()
                with suppress(asyncio.CancelledError, Exception):
                    await task


def rest_of_pause(pause: float, spent: float) -> float:
    """Return the seconds until the time spent is a whole number of pauses, at least one."""
    return pause * max(1, math.ceil(spent / pause)) - spent if pause else 0.0


def describe_error(who: str, error: Exception) -> str:
    """Return a sentence about an error."""
    return f"{who} has failed: {str(error)[:200] or type(error).__name__}"
