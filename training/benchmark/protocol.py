"""The protocols of the benchmark as data: games, rules, fields, budgets, deals, references. docs/benchmark.md explains them.

What stands here is frozen: to change any of it is to make another protocol with another number. The points of the two
references of each field, between which its score lies, are measured values and stand in `references.json` beside this module.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

import numpy as np

from noms_env.variants import Rules, game, make_rules

from .new_rules import new_rules

V1, V2 = "noms-benchmark/1", "noms-benchmark/2"
GAMES = {
    "sniped_whist": 4,
    "big_ships": 4,
    "small_ships": 4,
    "noms": 4,
    "nonesuch": 4,
    "down_up": 4,
    "up_down": 4,
}
"""The games, each with its usual number of seats."""
GENERALIST = "generalist"
"""The run that learns all games with one set of parameters, where others have the name of their game."""
DEAL_SET = "test"
"""The deals on which entries are scored, which a run must never see."""
PLAYER_SEED = 0
"""Of what is random in the players."""
LEAST_SEEDS = 3
"""Runs of each game for an algorithm; a player that does not learn has one."""
PUBLISHED, OLDER = "policy", "older_policy"
"""Players of a field: the policy that was published for the game when the protocol was made, and that of protocol 1."""

DIVISIONS = {
    "self-play": "learns from nothing but the observation, the mask and the points; no search, no other player",
    "open": "may use the package's search, rules of thumb and policies, to learn and to play",
    "best-response": "learns against the players of the fields",
    "search": "searches or plans when it plays, whatever it has learnt from",
    "fixed": "does not learn",
}
"""What is allowed. Protocol 1 has no `search`."""

CURVE_DEALS = 256
"""Of a learning curve."""
CURVE_AT = (0.0, 0.01, 0.02, 0.05, *(tenth / 10 for tenth in range(1, 11)))
"""Shares of the budget at which a learning curve has its points."""

PointsT = TypeVar("PointsT", float, np.ndarray)

REPLICATES = 2000
"""Of the bootstrap."""
UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9}
"""Of the decisions of a budget."""


@dataclass(frozen=True)
class Budget:
    """What a run may use, whichever comes first.

    Attributes:
        decisions: choices of the learner, on all seats that it plays; a move without alternative is none. None for no limit.
        cpu_hours: processor time of the run, its curve not counted. None for no limit.
    """

    decisions: int | None
    cpu_hours: float | None = None

    def share(self, decisions: int, cpu_seconds: float) -> float:
        """The part that is used, 1 or more at the end."""
        parts = [decisions / self.decisions] if self.decisions else []
        return max([*parts, *([cpu_seconds / 3600 / self.cpu_hours] if self.cpu_hours else [])])

    def __str__(self) -> str:
        parts = [] if self.cpu_hours is None else [f"{self.cpu_hours:g}h"]
        if (decisions := self.decisions) is not None:
            size, letter = max((size, letter) for letter, size in UNITS.items() if decisions % size == 0)
            parts.insert(0, f"{decisions // size}{letter}")
        return ",".join(parts)


def budget_of(text: str) -> Budget:
    """A budget as a user writes it: `10M`, `500k`, `0.5h`, or both as `10M,0.5h`.

    Raises:
        ValueError: it is none.
    """
    decisions, hours = None, None
    for word in text.split(","):
        match = re.fullmatch(r"(\d+(?:\.\d+)?)([kMGh]?)", word.strip())
        value = float(match[1]) if match else 0.0
        if match is None or not 0 < value < math.inf or (hours if match[2] == "h" else decisions):
            raise ValueError(f"a budget is such as 10M, 500k, 0.5h or 10M,0.5h, not {text!r}")
        if match[2] == "h":
            hours = value
        else:
            decisions = round(value * UNITS[match[2]])
    if decisions == 0:
        raise ValueError(f"a budget has one decision or more, not {text!r}")
    return Budget(decisions, hours)


@cache
def rules_of_game(name: str) -> Rules:
    """The usual tables of a game; ValueError if it is not one of the benchmark's."""
    if name not in GAMES:
        raise ValueError(f"there is no game {name!r} in the benchmark; they are {', '.join(GAMES)}")
    return make_rules(game(name), GAMES[name])


def usual_settings(name: str) -> tuple[Rules, ...]:
    """The usual tables of a game, alone."""
    return (rules_of_game(name),)


@cache
def other_seats(name: str) -> tuple[Rules, ...]:
    """A game at each number of seats but the usual one; at the usual one where there is no other."""
    low, high = game(name).seats
    settings = tuple(make_rules(game(name), seats) for seats in range(low, high + 1) if seats != GAMES[name])
    return settings or usual_settings(name)


@dataclass(frozen=True)
class References:
    """Points per deal of the two references in a cell, on the deals of that cell; the second has the score `unit`."""

    zero: float
    one: float
    unit: float = 1

    def score(self, points: PointsT) -> PointsT:
        """Points, or an array of them, on the scale of the references."""
        score: PointsT = self.unit * (points - self.zero) / (self.one - self.zero)
        return score


@dataclass(frozen=True)
class Field:
    """Who sits on all other seats, and how many duplicate deals are played against it.

    Attributes:
        name: of the player (`Protocol.players_of`), or of the field; in a part of the kind `cross` of another seed, `seed-2`.
        deals: of a game.
        pool: names of players, from which each other seat is drawn for each deal; empty where one player has all of them.
    """

    name: str
    deals: int
    pool: tuple[str, ...] = ()

    @property
    def seed(self) -> int | None:
        """The seed of the run that sits there; None for another field."""
        return int(self.name.removeprefix("seed-")) if self.name.startswith("seed-") else None


@dataclass(frozen=True)
class Part:
    """A part of a protocol.

    Attributes:
        protocol: name of the protocol.
        name: of the part.
        track: the part that the entry enters, with which this one is played: its own name, but for parts that are added to it.
        fields: in which the player sits. Of the kind `cross` one, which stands for each other seed.
        kind: `score` if the fields have references and make a score; `cross` if seeds play one another; `points` if points are
            only reported; `other` likewise, and the player is that of the other convention (`Entry.other_player`).
        run: who plays: the run of the `game`, or the one of all games (`GENERALIST`).
        games: which are played.
        settings: of a game, all rules by which it is played. They share the deals of a cell evenly, in this order.
    """

    protocol: str
    name: str
    track: str
    fields: tuple[Field, ...]
    kind: Literal["score", "cross", "points", "other"] = "score"
    run: str = "game"
    games: tuple[str, ...] = tuple(GAMES)
    settings: Callable[[str], tuple[Rules, ...]] = usual_settings

    def run_of(self, name: str) -> str:
        """The run that plays a game."""
        return name if self.run == "game" else self.run

    def fields_of(self, seed: int, seeds: Sequence[int]) -> tuple[Field, ...]:
        """The fields of a seed of an entry."""
        if self.kind != "cross":
            return self.fields
        return tuple(replace(self.fields[0], name=f"seed-{other}") for other in seeds if other != seed)

    @property
    def references(self) -> Mapping[str, Mapping[str, References]]:
        """The references by game and field; empty as long as none are measured."""
        return _references().get((self.protocol, self.name), {})


class Place(NamedTuple):
    """What a cell is of."""

    part: Part
    game: str
    seed: int
    field: Field


@dataclass(frozen=True)
class Protocol:
    """A protocol.

    Attributes:
        name: of it.
        parts: by name.
        usual: the tracks that are scored if the user does not say which.
        zero, one, unit: the references: the player whose score is 0, and the one whose score is `unit`; `{policy}` stands for
            the published policy.
        mean_gain: the references of a field differ by the mean of what was measured in all fields of the game, which is surer.
        players: what the name of a player means in it where the package has a newer player by that name.
        policies: the published policy of each game, and of `GENERALIST`, with the SHA-256 of its file: another one is another
            field.
        divisions: of `DIVISIONS`.
        budgets: the only ones that a complete entry may have, by name; empty for any.
        games: that a complete entry has.
    """

    name: str
    parts: Mapping[str, Part]
    usual: tuple[str, ...]
    zero: str
    one: str
    unit: float
    mean_gain: bool
    players: Mapping[str, str]
    policies: Mapping[str, tuple[str, str]]
    divisions: tuple[str, ...]
    budgets: Mapping[str, Budget]
    games: tuple[str, ...] = tuple(GAMES)

    @property
    def tracks(self) -> tuple[str, ...]:
        """The parts that an entry enters, and in which it has a score."""
        return tuple(dict.fromkeys(part.track for part in self.parts.values()))

    def parts_of(self, tracks: Collection[str]) -> tuple[str, ...]:
        """The names of all parts that are played for some tracks."""
        return tuple(name for name, part in self.parts.items() if part.track in tracks)

    def player_name(self, name: str, run: str) -> str:
        """The name of a player as for `noms evaluate`, where `{policy}` stands for the published policy of a run's game."""
        return self.players.get(name, name).replace("{policy}", self.policies.get(run, ("",))[0])

    def _field_player(self, name: str, run: str) -> str:
        """The name of a player of a field, at the tables of a run's game."""
        kept = {PUBLISHED: (self, run), OLDER: (PROTOCOLS[V1], run), GENERALIST: (self, GENERALIST)}
        protocol, of_run = kept.get(name, (self, run))
        return protocol.policies[of_run][0] if name in kept else self.player_name(name, run)

    def players_of(self, place: Place) -> tuple[str, ...]:
        """The names of the players of a field, as for `noms evaluate`: one, or those of its pool, each once."""
        run = place.part.run_of(place.game)
        return tuple(dict.fromkeys(self._field_player(name, run) for name in place.field.pool or (place.field.name,)))

    def sha256_of(self, name: str) -> str | None:
        """SHA-256 of a policy of the protocol, by the name of `players_of`; None for another player."""
        return dict([*PROTOCOLS[V1].policies.values(), *self.policies.values()]).get(name)

    def places(self, games: Collection[str], seeds: Sequence[int], parts: Collection[str]) -> Iterator[Place]:
        """All that is played for an entry."""
        for part in self.parts.values():
            for name in games if part.name in parts else ():
                for seed in seeds if name in part.games else ():
                    for field in part.fields_of(seed, seeds):
                        yield Place(part, name, seed, field)

    def field_of(self, rules: Rules, name: str, sha256: str | None) -> tuple[Part, Field] | None:
        """The field that a player makes on all other seats of a table, and its part; None if there is none.

        Fields of parts in which a game has several settings are none: their score is that of all settings together.

        Args:
            rules: of the table.
            name: of the player.
            sha256: of a policy's file; None for another player.
        """
        variant = rules.variant.name
        for part in self.parts.values():
            if part.kind != "score" or variant not in part.games or part.settings(variant) != (rules,):
                continue
            for field in part.fields:
                (player, *others) = self.players_of(Place(part, variant, 0, field))
                known = self.sha256_of(player)
                is_policy = known == sha256 and name.endswith("@0") and not name.startswith("search:")
                if not others and (name == player if known is None else is_policy):
                    return part, field
        return None

    def budget_of_run(self, text: str, run: str) -> Budget:
        """What a run of an entry may use. All games together have as much for one run as each has for its own.

        Raises:
            ValueError: the text is no budget.
        """
        budget = self.budgets.get(text) or budget_of(text)
        times = len(GAMES) if run == GENERALIST else 1
        decisions, hours = budget.decisions, budget.cpu_hours
        return Budget(decisions and times * decisions, hours and times * hours)


@cache
def _references() -> dict[tuple[str, str], dict[str, dict[str, References]]]:
    """The references by protocol and part."""
    document = json.loads((Path(__file__).parent / "references.json").read_text(encoding="utf-8"))
    return {
        (protocol, part): {name: _of_fields(PROTOCOLS[protocol], fields) for name, fields in by_game.items()}
        for protocol, parts in document.items()
        for part, by_game in parts.items()
    }


def _of_fields(protocol: Protocol, measured: Mapping[str, Sequence[float]]) -> dict[str, References]:
    """The references of a game in a part, by field, from their points."""
    gains = {field: one - zero for field, (zero, one, *_) in measured.items()}
    if protocol.mean_gain:
        gains = dict.fromkeys(gains, float(np.mean(list(gains.values()))))
    return {field: References(points[0], points[0] + gains[field], protocol.unit) for field, points in measured.items()}


def _kept(name: str) -> str:
    """A policy of a protocol with a file of its own: a stronger one has been published under its name since."""
    return f"{Path(__file__).parent / 'policies' / name}.safetensors@0"


POLICIES_1 = {
    "sniped_whist": (_kept("sniped_whist"), "a11fc1c266a958c7cc7dec8768eb9b533ebd0accc8025f4d1e2b2bc3c5d92430"),
    "big_ships": ("exact_bid@0", "b7141fb5fbd8b2f739522e5af4fac7bd068a8b656bc04b30a64f8ba54648cffe"),
    "small_ships": (_kept("small_ships"), "b37570b89e8d1ade572eeb3ab350aef38edb411642ea48f63bf06d452b323a1f"),
    "noms": ("noms@0", "a0d60f87d819cddfd0cca64055480e98cd06548bb55a36dd8a30c09c547b7b54"),
    "nonesuch": (_kept("nonesuch"), "89fd1ac341e7ff8d7f786378926ed4c40cc620cc021ce63a915bb1b4d7bd0c18"),
    "down_up": ("exact_bid@0", "b7141fb5fbd8b2f739522e5af4fac7bd068a8b656bc04b30a64f8ba54648cffe"),
    "up_down": ("exact_bid@0", "b7141fb5fbd8b2f739522e5af4fac7bd068a8b656bc04b30a64f8ba54648cffe"),
}
POLICIES_2 = POLICIES_1 | {
    "sniped_whist": ("sniped_whist@0", "cc1f3d5c0706c8a9e05f6442b0f337041814e0e131bbbc266421cf65dc000874"),
    "small_ships": ("small_ships@0", "92bca4df27be229548f045a6c6488289a6a77869bdc1103f5ba9578f59be7a6b"),
    "nonesuch": ("nonesuch@0", "bf6f6ffd5937d4dc28dc37d5701a4e3eefa33842d45b4eb4915fc448f675f537"),
    GENERALIST: ("generalist@0", "9e86a6354f2b1bf22a68dfefc9dd59367d6720ce7853ef0ff021ab4480f7aac5"),
}


def _general(deals: int) -> tuple[Field, ...]:
    return tuple(Field(name, deals) for name in ("thumb", PUBLISHED))


_STRANGERS = ("thumb", PUBLISHED, GENERALIST, OLDER, "flat_mc:20")
_PARTNERS = ("small_ships", "noms")
"""Games with partners who are nominated and hidden."""
_NEW = tuple(name for name in GAMES if new_rules(name))
"""Games with new rules."""

_PARTS_1 = (
    Part(V1, "core", "core", tuple(Field(name, 2048) for name in ("random", "greedy", "thumb", PUBLISHED))),
    Part(V1, "cross", "core", (Field("seed", 512),), "cross"),
    Part(V1, "search", "search", (Field("pimc:20", 128), Field("pimc:100", 64))),
)
_PARTS_2 = (
    Part(
        V2,
        "single_game",
        "single_game",
        (
            *(Field("thumb", 2048), Field(PUBLISHED, 2048), Field("pimc:20", 256)),
            Field("mixture", 512, ("thumb", PUBLISHED, "pimc:20")),
        ),
    ),
    Part(V2, "reported", "single_game", (Field("random", 512), Field("greedy", 512)), "points"),
    Part(V2, "other_convention", "single_game", (Field("thumb", 2048),), "other"),
    Part(V2, "generalist", "generalist", _general(480), run=GENERALIST, settings=other_seats),  # 1, 3, 4 or 5 settings a game
    Part(V2, "new_rules", "new_rules", _general(504), run=GENERALIST, games=_NEW, settings=new_rules),  # 8 or 9
    Part(V2, "strangers", "strangers", (Field("strangers", 1024, _STRANGERS),), games=_PARTNERS),
    Part(V2, "cross", "strangers", (Field("seed", 512),), "cross", games=_PARTNERS),
)
PROTOCOLS = {
    V1: Protocol(
        name=V1,
        parts={part.name: part for part in _PARTS_1},
        usual=("core",),
        zero="random",
        one="thumb",
        unit=1,
        mean_gain=False,
        players={"thumb": "thumb:1"},
        policies=POLICIES_1,
        divisions=tuple(name for name in DIVISIONS if name != "search"),
        budgets={},
    ),
    V2: Protocol(
        name=V2,
        parts={part.name: part for part in _PARTS_2},
        usual=tuple(dict.fromkeys(part.track for part in _PARTS_2)),
        zero="thumb",
        one="search:{policy},worlds=24",
        unit=100,
        mean_gain=True,
        players={"thumb": "thumb:2"},
        policies=POLICIES_2,
        divisions=tuple(DIVISIONS),
        budgets={"1M": Budget(10**6, 1.0), "10M": Budget(10**7, 1.0), "100M": Budget(10**8, 10.0)},
    ),
}
"""By name."""
CURVE_FIELD = PROTOCOLS[V1].players["thumb"]
"""The player on the other seats of a learning curve."""
