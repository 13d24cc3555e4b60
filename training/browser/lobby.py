"""What somebody may choose from who opens a table: games, options, players."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from threading import Thread
from typing import Any, TypeVar

from noms_env.core.actions import brief
from noms_env.policy.player import policy_of_game
from noms_env.policy.search.player import SearchPlayer
from noms_env.show.rules import rules_in_brief
from noms_env.variants import GAMES, Rules, Variant, game, make_rules

from ..evaluation.mistakes import search_of
from ..options import parse_value
from ..terminal.session import seated
from .live import LiveTable, RefusedError, new_table, table_from
from .messages import TableRequest

MOST_WAITING = 16
"""Films, pictures and analyses."""
Thought = TypeVar("Thought")
PLAYERS = ("thumb", "random", "greedy", "pimc:20", "pimc:100")
"""Players that every game has; policies come before them."""


@cache
def policies_of(variant: str) -> tuple[str, ...]:
    """The players on the policy that comes with the package for a game; none where there is no policy."""
    return () if policy_of_game(variant) is None else (variant, f"{variant}@0", f"search:{variant}@0")


class NotOfferedError(RefusedError):
    """A player is not among those that whoever started the server allows."""


class Lobby:
    """The games and players of a server.

    Attributes:
        players: names that whoever started the server allows besides the usual ones. Others are refused, since a name can
            stand for a file or a program.
    """

    def __init__(self, players: Sequence[str] = ()) -> None:
        self.players = tuple(players)
        self._working, self._waiting = asyncio.Lock(), 0

    async def work(self, job: Callable[[], Thought]) -> Thought:
        """Do in a thread what takes long: films, pictures, analyses; one at a time.

        Raises:
            RefusedError: too many wait.
        """
        if self._waiting >= MOST_WAITING:
            raise RefusedError("the server has much to do; try again in a minute")
        self._waiting += 1
        try:
            async with self._working:
                return await asyncio.to_thread(job)
        finally:
            self._waiting -= 1

    async def thought(self, seconds: float, think: Callable[..., Thought], *about: Any) -> Thought:
        """What a player finds, in a thread of its own: nobody waits for it but its table, and not even that for ever.

        Raises:
            TimeoutError: it takes longer than so many seconds; what it finds later is dropped.
        """
        loop = asyncio.get_running_loop()
        found: asyncio.Future[Thought] = loop.create_future()

        def tell(set_outcome: Callable[[Any], None], outcome: Any) -> None:
            if not found.done():
                set_outcome(outcome)

        def run() -> None:
            told: tuple[Callable[[Any], None], Any]
            try:
                told = found.set_result, think(*about)
            except Exception as error:
                told = found.set_exception, error
            with suppress(RuntimeError):  # the server has ended
                loop.call_soon_threadsafe(tell, *told)

        Thread(target=run, name="player", daemon=True).start()
        try:
            return await asyncio.wait_for(found, seconds)
        except TimeoutError:
            raise TimeoutError(f"it thought for more than {seconds:g} seconds") from None

    def players_of(self, variant: str) -> list[str]:
        """The players that may sit at tables of a game, the usual one first."""
        return [*policies_of(variant), *PLAYERS, *self.players]

    def games(self) -> list[dict[str, Any]]:
        """The games, for a page."""
        return [self._told(variant) for variant in GAMES.values()]

    def _told(self, variant: Variant) -> dict[str, Any]:
        usual = make_rules(variant)
        options = [
            {"name": option.name, "doc": option.doc, "usual": str(usual.options[option.name]), "allowed": option.allowed()}
            for option in variant.options
        ]
        low, high = variant.seats[0], variant.seats[1]
        return {
            "name": variant.name,
            "title": variant.title,
            "seats": [*range(low, high + 1)],
            "usual": usual.seats,
            "options": options,
            "players": self.players_of(variant.name),
        }

    def check(self, variant: str, names: Sequence[str | None]) -> None:
        """Let only players pass that are offered.

        Raises:
            NotOfferedError: one is not.
        """
        allowed = {*self.players_of(variant), None}
        for name in names:
            if name not in allowed:
                raise NotOfferedError(f"this server has no such player, {brief(name)}; start it with --player NAME")

    def restored(self, text: str) -> LiveTable:
        """The table of a file, which may come from anywhere: it seats only players that are offered.

        Raises:
            NotOfferedError: it names another one.
            ValueError: see `table_from`.
        """
        return table_from(text, self.check)

    def judge(self, rules: Rules) -> SearchPlayer:
        """The search that says what decisions of a game lost.

        Raises:
            RefusedError: there is none.
        """
        if not policies_of(rules.variant.name):
            raise RefusedError("no policy for this game comes with the package; use noms analyse --player")
        try:
            return search_of(seated([f"search:{rules.variant.name}@0"], 1, rules)[0].player)
        except ValueError as error:
            raise RefusedError(str(error)) from error

    def open(self, request: TableRequest) -> LiveTable:
        """The table that is asked for.

        Raises:
            ValueError: there is no such game, option or player, or the seats do not fit.
        """
        variant = game(request.variant)
        rules = make_rules(variant, request.seats, {name: parse_value(text) for name, text in request.options.items()})
        self.check(variant.name, [*request.players, request.hints])
        return new_table(rules, request.players, request.people, request.hints)


def rules_page(rules: Rules) -> list[str]:
    """The rules of a table in paragraphs."""
    return [f"{rules.variant.title}, {rules.seats} seats", *rules_in_brief(rules)]
