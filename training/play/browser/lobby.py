"""Choices for a new table: games, options and players."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import date
from functools import cache
from threading import Thread
from typing import Any, TypeVar

from noms_env._jit import COMPILED, PROGRESS
from noms_env.core.actions import brief
from noms_env.envs.first_use import parts
from noms_env.policy.player import policies_for_any_options, policy_name_for, policy_of_game
from noms_env.search.policy_search import SearchPlayer
from noms_env.variants import GAMES, VARIANTS, Rules, Variant, game, make_rules
from noms_env.variants.rulebook import Option, RulesError

from ...evaluation.duplicate import deal_seed
from ...evaluation.mistakes import search_of
from ...options import parse_value
from ..session import Session, seat_player
from .live import LiveTable, Person, RefusedError, new_table, players_of, table_from
from .messages import TableRequest

MAX_WAITING = 16
"""Maximum number of queued films, pictures and analyses."""
Result = TypeVar("Result")
PLAYERS = ("thumb", "random", "greedy", "pimc:20", "pimc:100")
"""Players of every game; listed after the policies."""


SENTENCES = {
    "sniped_whist": "Take as few tricks as you can. No bids, no partners.",
    "big_ships": "Call how many tricks you will win, and win exactly that many.",
    "small_ships": "Bid, name trump and a card: whoever holds it is your secret partner.",
    "noms": "Ten tricks with a secret partner, or none alone, from a deck that is never shuffled.",
    "nonesuch": "Bid None, Some or Most with the Decktet, whose cards have two suits.",
    "down_up": "Call your tricks in hands from ten cards down to one and up again. Somebody always fails.",
    "up_down": "Call your tricks in hands from one card up to thirteen and down again.",
}
"""One sentence about each game."""
PLAYERS_SAID = {
    "thumb": "rules of thumb",
    "policy": "a trained player",
    "policy@0": "a trained player that never varies",
    "search": "trained, and looks ahead",
    "random": "any card",
    "greedy": "takes what it can",
    "pimc": "looks ahead in sampled hands",
}
"""Descriptions of the kinds of players."""


@cache
def general_policies() -> tuple[str, ...]:
    """Return the packaged policies that play under any options."""
    return tuple(policies_for_any_options())


def kind_of(name: str) -> str:
    """Return the kind of a player in `PLAYERS_SAID`, or ""."""
    policies = {*VARIANTS, *general_policies()}
    if name in policies:
        return "policy"
    if name.endswith("@0") and name.removesuffix("@0") in policies:
        return "policy@0"
    return name.partition(":")[0] if name.partition(":")[0] in PLAYERS_SAID else ""


def adapt_player(name: str, rules: Rules) -> str:
    """Return the player name for these rules: replace the game's policy by one for any options if necessary."""
    game, policy = rules.variant.name, policy_name_for(rules)
    return name.replace(game, policy) if name in policies_of(game) and policy is not None else name


@cache
def levels_of(variant: str) -> dict[str, str]:
    """Return the player of each level, from easy to strong."""
    if not policies_of(variant):
        return {"easy": "greedy", "medium": "thumb", "strong": "pimc:100"}
    return {"easy": "thumb", "medium": variant, "strong": f"search:{variant}@0"}


def describe_option(option: Option, usual: Rules) -> dict[str, Any]:
    """Return the data of an option for a page: description, default, allowed values and their meanings."""
    details = usual.variant.details.get(option.name, "")
    meanings = dict(re.findall(r"`(\w+)`: (.+?)(?=;|\. `|$)", details))
    unit = re.match("(?:cards|deals|points|tricks)\\b", option.doc)
    value = usual.options[option.name]
    return {
        "name": option.name,
        "doc": option.doc,
        "allowed": option.allowed(),
        "usual": json.dumps(value) if isinstance(value, list) else str(value),
        "flag": option.flag,
        "words": [{"word": word, "said": meanings.get(word, word).replace("`", "").strip()} for word in option.words],
        "numbers": option.numbers,
        "none": option.none,
        "unit": unit[0] if unit else "",
        "help": "" if meanings else details.replace("`", ""),
    }


@cache
def policies_of(variant: str) -> tuple[str, ...]:
    """Return the players with the packaged policy of a game; empty if it has none."""
    return () if policy_of_game(variant) is None else players_on(variant)


def players_on(policy: str) -> tuple[str, str, str]:
    """Return the players with a policy: sampling, greedy, and search."""
    return policy, f"{policy}@0", f"search:{policy}@0"


class WrongOptionError(ValueError):
    """A requested option is invalid.

    Attributes:
        field: first requested option that the message names; None if it names none.
    """

    def __init__(self, sentence: str, names: Sequence[str]) -> None:
        super().__init__(sentence)
        self.field = next((word for word in re.findall(r"\w+", sentence) if word in names), None)


class NotOfferedError(RefusedError):
    """A player is not offered by this server."""


class Lobby:
    """The games and players of a server.

    Attributes:
        players: names that the server allows besides the default ones. It refuses all others, since a name can stand for a
            file or a program.
        is_ready: whether the first compilation is complete; see `compile`.
    """

    def __init__(self, players: Sequence[str] = ()) -> None:
        self.players = tuple(players)
        self.is_ready = True
        self._working, self._waiting = asyncio.Lock(), 0

    async def work(self, job: Callable[[], Result]) -> Result:
        """Run a film, picture or analysis in a thread, one at a time; raise `RefusedError` if too many wait."""
        if self._waiting >= MAX_WAITING:
            raise RefusedError("the server is busy; try again in a minute")
        self._waiting += 1
        try:
            async with self._working:
                return await asyncio.to_thread(job)
        finally:
            self._waiting -= 1

    async def run_decision(self, seconds: float, decide: Callable[..., Result], *arguments: Any) -> Result:
        """Run a player's decision in its own thread, so that other tables do not wait for it.

        Raises:
            TimeoutError: the decision takes longer than `seconds`; a later result is dropped.
        """
        loop = asyncio.get_running_loop()
        decision: asyncio.Future[Result] = loop.create_future()

        def finish(set_outcome: Callable[[Any], None], outcome: Any) -> None:
            if not decision.done():
                set_outcome(outcome)

        def run() -> None:
            result: tuple[Callable[[Any], None], Any]
            try:
                result = decision.set_result, decide(*arguments)
            except Exception as error:
                result = decision.set_exception, error
            with suppress(RuntimeError):  # the event loop is closed
                loop.call_soon_threadsafe(finish, *result)

        Thread(target=run, name="player", daemon=True).start()
        try:
            return await asyncio.wait_for(decision, seconds)
        except TimeoutError:
            raise TimeoutError(f"no decision within {seconds:g} seconds") from None

    def compile(self) -> None:
        """Compile the code of tables and of the levels' players, in a thread."""
        needed = parts(list(levels_of(VARIANTS[0]).values()), batches=False) if COMPILED else {}  # all games share this code

        def run() -> None:
            try:
                PROGRESS.use({"tables and players": lambda: [use() for use in needed.values()]})
            finally:
                self.is_ready = True

        self.is_ready = False
        Thread(target=run, name="compiler", daemon=True).start()

    def players_of(self, variant: str) -> list[str]:
        """Return the players on offer for a game, the default one first."""
        return [*policies_of(variant), *PLAYERS, *self.players]

    def level_of(self, variant: str, name: str) -> str:
        """Return the level of a player in a game, or its name if it has no level."""
        general = {player: policy for policy in general_policies() for player in players_on(policy)}
        name = name.replace(general[name], variant) if name in general else name
        return next((level for level, player in levels_of(variant).items() if player == name), name)

    def choices(self, variant: str) -> list[dict[str, str]]:
        """Return the players of a game for a page, the levels first: `name` and description."""
        levels = levels_of(variant)
        words = {name: f"{level.capitalize()}: {PLAYERS_SAID[kind_of(name)]}" for level, name in levels.items()}
        others = [name for name in self.players_of(variant) if name not in words]
        words |= {name: f"{PLAYERS_SAID[kind_of(name)].capitalize()} ({name})" if kind_of(name) else name for name in others}
        return [{"name": name, "said": text} for name, text in words.items()]

    def games(self) -> list[dict[str, Any]]:
        """Return the games, for a page."""
        return [self._describe_game(variant) for variant in GAMES.values()]

    def _describe_game(self, variant: Variant) -> dict[str, Any]:
        usual, (low, high) = make_rules(variant), variant.seats
        return {
            "name": variant.name,
            "title": variant.title,
            "intro": variant.intro,
            "sentence": SENTENCES.get(variant.name, variant.intro),
            "deck": variant.deck_kind,
            "seats": [*range(low, high + 1)],
            "usual": usual.seats,
            "options": [describe_option(option, usual) for option in variant.options],
            "levels": levels_of(variant.name),
            "players": self.choices(variant.name),
        }

    def check(self, variant: str, names: Sequence[str | None]) -> None:
        """Raise `NotOfferedError` if this server does not offer one of the players."""
        usual = self.players_of(variant)
        allowed = {*usual, None, *(player for policy in general_policies() for player in players_on(policy))}
        for name in names:
            if name not in allowed:
                raise NotOfferedError(f"this server has no such player, {brief(name)}; start it with --player NAME")

    def restore_table(self, text: str) -> LiveTable:
        """Restore a table from an untrusted file (`table_from`); raise `NotOfferedError` for players not on offer."""
        return table_from(text, self.check)

    def judge(self, rules: Rules) -> SearchPlayer:
        """Return the search that measures losses under these rules; raise `RefusedError` if there is none."""
        policy = policy_name_for(rules)
        if policy is None:
            raise RefusedError("no policy for this table comes with the package; use noms analyse --player")
        try:
            return search_of(seat_player(f"search:{policy}@0", rules).player)
        except ValueError as error:
            raise RefusedError(str(error)) from error

    def open(self, request: TableRequest) -> LiveTable:
        """Open a requested table; raise `ValueError` for unknown games, options or players, or wrong seats."""
        variant = game(request.variant)
        try:
            rules = make_rules(variant, request.seats, {name: parse_value(text) for name, text in request.options.items()})
        except RulesError as error:
            raise WrongOptionError(str(error), [*request.options]) from error
        self.check(variant.name, [*request.players, request.hints, request.substitute])
        players = [name and adapt_player(name, rules) for name in request.players]
        hints, substitute = adapt_player(request.hints, rules), adapt_player(request.substitute, rules)
        return new_table(rules, players, request.people, hints, host=request.host, substitute=substitute)


# ------------------------------------------------------------------------------------------------ the deal of the day
#
# Each date has one deal per game, the same on every server: its seed is that of the deal set `day DATE GAME`. The opponents are
# of the medium level; the seed also determines their random choices. Afterwards the strong player plays the same deal in the
# person's seat, for comparison.

PERSON = 0
"""Seat of the person."""
MIN_CARDS = 5
"""Smallest hand size, for games whose hand sizes vary."""


def day_table(variant: Variant, day: date, name: str, practice: bool = False) -> LiveTable:
    """Make a table with the deal of the day, for a person and players of the medium level.

    If all pass, further deals follow until one is scored. A deal for practice does not count, because it is not the first try.
    """
    rules, seed = make_rules(variant), deal_seed(f"day {day.isoformat()} {variant.name}")
    sizes = sorted({size for size in rules.schedule if size >= MIN_CARDS})
    session = _day_session(rules, None, seed, sizes[seed % len(sizes)] if sizes else None)
    table = LiveTable(session, {PERSON: Person(name)}, seat_player(levels_of(variant.name)["strong"], rules))
    table.day, table.practice = day.isoformat(), practice
    return table


def _day_session(rules: Rules, name: str | None, seed: int, deal_size: int | None) -> Session:
    """Deal a hand to a player (None: the person) and opponents of the medium level."""
    names = [name if seat == PERSON else levels_of(rules.variant.name)["medium"] for seat in range(rules.seats)]
    return Session(rules, players_of(names, rules), seed=seed, episode="deal", deal_size=deal_size)


def strong_points(played: Session) -> float:
    """Return the strong player's points in a deal of the day, in the person's seat against the same opponents."""
    rules, size = played.table.rules, int(played.table.row.wanted_deal_size)
    session = _day_session(rules, levels_of(rules.variant.name)["strong"], played.seed, None if size < 0 else size)
    session.let_others_act()
    while not session.is_over:
        session.next_deal()
        session.let_others_act()
    return float(session.table.row.points[PERSON])
