"""The protocols of the benchmark as data: games, rules, fields, budgets, deals, references. docs/benchmark.md explains them.

Protocols are frozen: any change makes a new protocol with a new number. `references.json` has the measured points of the two
references of each field, which define the scale of its scores.
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
GAMES = {"sniped_whist": 4, "big_ships": 4, "small_ships": 4, "noms": 4, "nonesuch": 4, "down_up": 4, "up_down": 4}
"""The games, each with its default number of seats."""
GENERALIST = "generalist"
"""Name of the run that learns all games with one policy; other runs have the name of their game."""
DEAL_SET = "test"
"""The deals that score entries; training must never use them."""
PLAYER_SEED = 0
"""Seed of the players' random generators."""
MIN_SEEDS = 3
"""Minimum number of runs of an algorithm in each game; a player that does not learn has one."""
PUBLISHED, OLDER = "policy", "older_policy"
"""Players of a field: the policy published for the game when the protocol was frozen, and the one of protocol 1."""

DIVISIONS = {
    "self-play": "learns from nothing but the observation, the mask and the points; no search, no other player",
    "open": "may use the package's search, rules of thumb and policies, to learn and to play",
    "best-response": "learns against the players of the fields",
    "search": "searches or plans when it plays, whatever it has learnt from",
    "fixed": "does not learn",
}
"""Divisions by name, with what an entry may use. Protocol 1 has no `search`."""

CURVE_DEALS = 256
"""Deals of an evaluation for a learning curve."""
CURVE_AT = (0.0, 0.01, 0.02, 0.05, *(tenth / 10 for tenth in range(1, 11)))
"""Fractions of the budget at which a learning curve has points."""

PointsT = TypeVar("PointsT", float, np.ndarray)

REPLICATES = 2000
"""Replicates of the bootstrap."""
UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9}
"""Suffixes for the decisions of a budget."""


@dataclass(frozen=True)
class Budget:
    """Budget of a run, which ends at the first limit that it reaches; None for no limit.

    `decisions` are those of the learner on all seats that it plays, without forced moves. `cpu_hours` leave out the evaluations
    of the learning curve.
    """

    decisions: int | None
    cpu_hours: float | None = None

    def share(self, decisions: int, cpu_seconds: float) -> float:
        """Return the fraction of the budget used, 1 or more at the end."""
        parts = [decisions / self.decisions] if self.decisions else []
        return max([*parts, *([cpu_seconds / 3600 / self.cpu_hours] if self.cpu_hours else [])])

    def __str__(self) -> str:
        parts = [] if self.cpu_hours is None else [f"{np.format_float_positional(self.cpu_hours, trim='-')}h"]
        if (decisions := self.decisions) is not None:
            size, letter = max((size, letter) for letter, size in UNITS.items() if decisions % size == 0)
            parts.insert(0, f"{decisions // size}{letter}")
        return ",".join(parts)


def budget_of(text: str) -> Budget:
    """Parse a budget such as `10M`, `500k`, `0.5h` or `10M,0.5h`; ValueError if the text is not a budget."""
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
    """Return the default rules of a game; ValueError if the benchmark has no such game."""
    if name not in GAMES:
        raise ValueError(f"there is no game {name!r} in the benchmark; they are {', '.join(GAMES)}")
    return make_rules(game(name), GAMES[name])


def usual_settings(name: str) -> tuple[Rules, ...]:
    """Return the default rules of a game as its only setting."""
    return (rules_of_game(name),)


@cache
def other_seats(name: str) -> tuple[Rules, ...]:
    """Return a game at each number of seats but the default, or at the default if the game has no other."""
    low, high = game(name).seats
    settings = tuple(make_rules(game(name), seats) for seats in range(low, high + 1) if seats != GAMES[name])
    return settings or usual_settings(name)


@dataclass(frozen=True)
class References:
    """Points per deal of the two references on the deals of a cell: `zero` scores 0, `one` scores `unit`."""

    zero: float
    one: float
    unit: float = 1

    def score(self, points: PointsT) -> PointsT:
        """Convert points, a number or an array, to scores."""
        return self.unit * (points - self.zero) / (self.one - self.zero)


@dataclass(frozen=True)
class Field:
    """A field: the players on all other seats, and the number of duplicate deals in each game.

    `name` is that of the player (`Protocol.players_of`) or of the pool; in a part of kind `cross` such as `seed-2`. From `pool`
    each other seat is drawn in each deal; it is empty if one player has all of them.
    """

    name: str
    deals: int
    pool: tuple[str, ...] = ()

    @property
    def seed(self) -> int | None:
        """Seed of the run on the other seats; None for other fields."""
        return int(self.name.removeprefix("seed-")) if self.name.startswith("seed-") else None


@dataclass(frozen=True)
class Part:
    """A part of a protocol.

    Attributes:
        protocol: Name of the protocol.
        name: Name of the part.
        track: Track that the part belongs to; its own name if it defines the track.
        fields: Fields of the part. In kind `cross` one field stands for each other seed.
        kind: `score` if the fields have references and yield a score; `cross` if seeds play one another; `points` if points
            are reported without a score; `other` as `points`, with the player of the other convention (`Entry.other_player`).
        run: The run that plays: `game` for the run of the game, or `GENERALIST`.
        games: Games of the part.
        settings: Returns the rule sets of a game, which share the deals of a cell evenly, in this order.
    """

    protocol: str
    name: str
    track: str
    fields: tuple[Field, ...]
    kind: Literal["score", "cross", "points", "other"] = "score"
    run: str = "game"
    games: tuple[str, ...] = tuple(GAMES)
    settings: Callable[[str], tuple[Rules, ...]] = usual_settings

    @property
    def title(self) -> str:
        return self.name.replace("_", " ")

    def run_of(self, name: str) -> str:
        """Return the name of the run that plays a game."""
        return name if self.run == "game" else self.run

    def fields_of(self, seed: int, seeds: Sequence[int]) -> tuple[Field, ...]:
        """Return the fields of a seed of an entry, whose seeds are `seeds`."""
        if self.kind != "cross":
            return self.fields
        return tuple(replace(self.fields[0], name=f"seed-{other}") for other in seeds if other != seed)

    @property
    def references(self) -> Mapping[str, Mapping[str, References]]:
        """References by game and field; empty until they are measured."""
        return _references().get((self.protocol, self.name), {})


class Place(NamedTuple):
    """Identity of a cell."""

    part: Part
    game: str
    seed: int
    field: Field


@dataclass(frozen=True)
class Protocol:
    """A protocol.

    Attributes:
        name: Name of the protocol.
        parts: Parts by name.
        usual: Default tracks.
        zero, one, unit: The two reference players, which score 0 and `unit`; `{policy}` stands for the published policy.
        mean_gain: Whether the references of a field differ by the mean difference over all fields of the game, which has a
            smaller error.
        players: Player names that mean an older version in this protocol, with the name of that version.
        policies: Published policy of each game and of `GENERALIST`, with the SHA-256 of its file.
        divisions: Allowed divisions, from `DIVISIONS`.
        budgets: Allowed budgets of a complete entry by name; empty for any.
        games: Games of a complete entry.
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
        return tuple(dict.fromkeys(part.track for part in self.parts.values()))

    def parts_of(self, tracks: Collection[str]) -> tuple[str, ...]:
        """Return the names of all parts of some tracks."""
        return tuple(name for name, part in self.parts.items() if part.track in tracks)

    def player_name(self, name: str, run: str) -> str:
        """Return a player's name for `noms evaluate`; replaces `{policy}` by the published policy of the run's game."""
        return self.players.get(name, name).replace("{policy}", self.policies.get(run, ("",))[0])

    def players_of(self, place: Place) -> tuple[str, ...]:
        """Return the `noms evaluate` names of a field's players: one, or the distinct names of its pool."""
        run, names = place.part.run_of(place.game), place.field.pool or (place.field.name,)
        published = {PUBLISHED: (self, run), OLDER: (PROTOCOLS[V1], run), GENERALIST: (self, GENERALIST)}
        frozen = {name: protocol.policies[of_run][0] for name, (protocol, of_run) in published.items() if name in names}
        return tuple(dict.fromkeys(frozen.get(name) or self.player_name(name, run) for name in names))

    def sha256_of(self, name: str) -> str | None:
        """Return the SHA-256 of a policy of the protocol, named as by `players_of`; None for other players."""
        return dict([*PROTOCOLS[V1].policies.values(), *self.policies.values()]).get(name)

    def places(self, games: Collection[str], seeds: Sequence[int], parts: Collection[str]) -> Iterator[Place]:
        """Yield the cells of an entry."""
        for part in self.parts.values():
            for name in games if part.name in parts else ():
                for seed in seeds if name in part.games else ():
                    for field in part.fields_of(seed, seeds):
                        yield Place(part, name, seed, field)

    def field_of(self, rules: Rules, name: str, sha256: str | None) -> tuple[Part, Field] | None:
        """Return the part and field of a table with one player on all other seats, or None; `sha256` is that of its policy.

        Parts with several settings for a game never match, since their score covers all settings.
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
        """Return the budget of a run: the entry's, times the number of games for `GENERALIST`; ValueError if it is none."""
        budget = self.budgets.get(text) or budget_of(text)
        times = len(GAMES) if run == GENERALIST else 1
        decisions, hours = budget.decisions, budget.cpu_hours
        return Budget(decisions and times * decisions, hours and times * hours)


@cache
def _references() -> dict[tuple[str, str], dict[str, dict[str, References]]]:
    """Read the references by protocol and part, then by game and field."""
    document = json.loads((Path(__file__).parent / "references.json").read_text(encoding="utf-8"))
    return {
        (protocol, part): {name: _of_fields(PROTOCOLS[protocol], fields) for name, fields in by_game.items()}
        for protocol, parts in document.items()
        for part, by_game in parts.items()
    }


def _of_fields(protocol: Protocol, measured: Mapping[str, Sequence[float]]) -> dict[str, References]:
    """Return the references of a game in a part by field, from their points."""
    gains = {field: one - zero for field, (zero, one, *_) in measured.items()}
    if protocol.mean_gain:
        gains = dict.fromkeys(gains, float(np.mean(list(gains.values()))))
    return {field: References(points[0], points[0] + gains[field], protocol.unit) for field, points in measured.items()}


def _frozen_policy(name: str) -> str:
    """Return the frozen copy of a policy whose name now stands for a stronger one."""
    return f"{Path(__file__).parent / 'policies' / name}.safetensors@0"


POLICIES_1 = {
    "sniped_whist": (_frozen_policy("sniped_whist"), "a11fc1c266a958c7cc7dec8768eb9b533ebd0accc8025f4d1e2b2bc3c5d92430"),
    "big_ships": ("exact_bid@0", "b7141fb5fbd8b2f739522e5af4fac7bd068a8b656bc04b30a64f8ba54648cffe"),
    "small_ships": (_frozen_policy("small_ships"), "b37570b89e8d1ade572eeb3ab350aef38edb411642ea48f63bf06d452b323a1f"),
    "noms": ("noms@0", "a0d60f87d819cddfd0cca64055480e98cd06548bb55a36dd8a30c09c547b7b54"),
    "nonesuch": (_frozen_policy("nonesuch"), "89fd1ac341e7ff8d7f786378926ed4c40cc620cc021ce63a915bb1b4d7bd0c18"),
    "down_up": ("exact_bid@0", "b7141fb5fbd8b2f739522e5af4fac7bd068a8b656bc04b30a64f8ba54648cffe"),
    "up_down": ("exact_bid@0", "b7141fb5fbd8b2f739522e5af4fac7bd068a8b656bc04b30a64f8ba54648cffe"),
}
POLICIES_2 = POLICIES_1 | {
    "sniped_whist": ("sniped_whist@0", "cc1f3d5c0706c8a9e05f6442b0f337041814e0e131bbbc266421cf65dc000874"),
    "small_ships": ("small_ships@0", "92bca4df27be229548f045a6c6488289a6a77869bdc1103f5ba9578f59be7a6b"),
    "nonesuch": ("nonesuch@0", "bf6f6ffd5937d4dc28dc37d5701a4e3eefa33842d45b4eb4915fc448f675f537"),
    GENERALIST: (_frozen_policy(GENERALIST), "9e86a6354f2b1bf22a68dfefc9dd59367d6720ce7853ef0ff021ab4480f7aac5"),
}


def _general(deals: int) -> tuple[Field, ...]:
    return tuple(Field(name, deals) for name in ("thumb", PUBLISHED))


_STRANGERS = ("thumb", PUBLISHED, GENERALIST, OLDER, "flat_mc:20")
_PARTNERS = ("small_ships", "noms")
"""Games in which the declarer nominates a hidden partner."""
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
"""Protocols by name."""
