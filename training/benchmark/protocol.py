"""The protocol `noms-benchmark/1` as data: games, seats, fields, budgets, deals, references. docs/benchmark.md explains it.

What stands here is frozen: to change any of it is to make another protocol with another number. The points of the two
references, which are 0 and 1 of every score, are measured values and stand in `references.json` beside this module.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, TypeVar

import numpy as np

from noms_env.variants import Rules, game, make_rules

PROTOCOL = "noms-benchmark/1"
GAMES = {
    "sniped_whist": 4,
    "big_ships": 4,
    "small_ships": 4,
    "noms": 4,
    "nonesuch": 4,
    "down_up": 4,
    "up_down": 4,
}
"""The games, each with its number of seats; all options are the defaults."""
DEAL_SET = "test"
"""The deals on which entries are scored, which a run must never see."""
PLAYER_SEED = 0
"""Of what is random in the players."""
ZERO, ONE = "random", "thumb"
"""The references: whoever plays as the first has score 0, as the second 1."""
FROZEN = {"thumb": "thumb:1"}
"""What a name means in this protocol where the package has a newer player by that name. `thumb:2` is that of the package."""
LEAST_SEEDS = 3
"""Runs of each game for an algorithm; a player that does not learn has one."""

Part = Literal["core", "cross", "search"]
PARTS: tuple[Part, ...] = ("core", "cross", "search")
PUBLISHED = "policy"
"""The field of the published policies, those of `POLICIES`."""


@dataclass(frozen=True)
class Field:
    """Who sits on all other seats: a player, by its name, and how many duplicate deals are played against it."""

    name: str
    deals: int
    part: Part

    @property
    def seed(self) -> int | None:
        """In the part `cross`: the seed of the run that sits there."""
        return int(self.name.removeprefix("seed-")) if self.part == "cross" else None


FIELDS = (
    Field("random", 2048, "core"),
    Field("greedy", 2048, "core"),
    Field("thumb", 2048, "core"),
    Field(PUBLISHED, 2048, "core"),
    Field("pimc:20", 128, "search"),
    Field("pimc:100", 64, "search"),
)
"""The score is the mean over the fields of the part `core`; the fields that search are reported beside it."""
CROSS_DEALS = 512
"""Deals of each pair of seeds of an algorithm."""


def _kept(name: str) -> str:
    """A policy of the protocol with a file of its own: a stronger one has been published under its name since."""
    return f"{Path(__file__).parent / 'policies' / name}.safetensors@0"


POLICIES = {
    "sniped_whist": (_kept("sniped_whist"), "a11fc1c266a958c7cc7dec8768eb9b533ebd0accc8025f4d1e2b2bc3c5d92430"),
    "big_ships": ("exact_bid@0", "b7141fb5fbd8b2f739522e5af4fac7bd068a8b656bc04b30a64f8ba54648cffe"),
    "small_ships": (_kept("small_ships"), "b37570b89e8d1ade572eeb3ab350aef38edb411642ea48f63bf06d452b323a1f"),
    "noms": ("noms@0", "a0d60f87d819cddfd0cca64055480e98cd06548bb55a36dd8a30c09c547b7b54"),
    "nonesuch": (_kept("nonesuch"), "89fd1ac341e7ff8d7f786378926ed4c40cc620cc021ce63a915bb1b4d7bd0c18"),
    "down_up": ("exact_bid@0", "b7141fb5fbd8b2f739522e5af4fac7bd068a8b656bc04b30a64f8ba54648cffe"),
    "up_down": ("exact_bid@0", "b7141fb5fbd8b2f739522e5af4fac7bd068a8b656bc04b30a64f8ba54648cffe"),
}
"""The policy of each game that was published then, and the SHA-256 of its file: another policy is another field."""

TRACKS = {
    "self-play": "learns from nothing but the observation, the mask and the points; no search, no other player",
    "open": "may use the package's search, rules of thumb and policies, to learn and to play",
    "best-response": "learns against the players of the fields",
    "fixed": "does not learn",
}
"""What is allowed."""

CURVE_FIELD, CURVE_DEALS = FROZEN[ONE], 256
"""Of a learning curve: the player on the other seats, that of the field `ONE`, and the deals."""
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
    """The tables of a game; ValueError if it is not one of the benchmark's."""
    if name not in GAMES:
        raise ValueError(f"there is no game {name!r} in {PROTOCOL}; they are {', '.join(GAMES)}")
    return make_rules(game(name), GAMES[name])


def field_player(field: Field, name: str) -> str:
    """The name of the player of a field in a game."""
    return POLICIES[name][0] if field.name == PUBLISHED else FROZEN.get(field.name, field.name)


def fields_of(part: Part) -> tuple[Field, ...]:
    """The fields of a part; none for `cross`."""
    return tuple(field for field in FIELDS if field.part == part)


def field_of(rules: Rules, name: str, sha256: str | None) -> Field | None:
    """The field that a player makes on all other seats of a table; None if it, or the table, is none of the protocol's.

    Args:
        rules: of the table.
        name: of the player.
        sha256: of a policy's file; None for another player.
    """
    variant = rules.variant.name
    if variant not in GAMES or rules != rules_of_game(variant):
        return None
    is_published = sha256 == POLICIES[variant][1] and name.endswith("@0") and not name.startswith("search:")
    for field in FIELDS:
        if is_published if field.name == PUBLISHED else sha256 is None and field_player(field, variant) == name:
            return field
    return None


@dataclass(frozen=True)
class References:
    """Points per deal of the two references in a game and a field, on the deals of that field."""

    zero: float
    one: float

    def score(self, points: PointsT) -> PointsT:
        """Points, or an array of them, on the scale of the references."""
        score: PointsT = (points - self.zero) / (self.one - self.zero)
        return score


@cache
def references() -> dict[str, dict[str, References]]:
    """The references by game and field."""
    document = json.loads((Path(__file__).parent / "references.json").read_text(encoding="utf-8"))
    return {name: {field: References(*pair) for field, pair in fields.items()} for name, fields in document["points"].items()}


def cells_of(games: tuple[str, ...], seeds: tuple[int, ...], parts: tuple[Part, ...]) -> Iterator[tuple[str, int, Field]]:
    """All that is played for an entry: game, seed, and field; the fields of `cross` are the other seeds, `seed-2`."""
    for part in PARTS:
        if part not in parts:
            continue
        for name in games:
            for seed in seeds:
                others = (Field(f"seed-{other}", CROSS_DEALS, "cross") for other in seeds if other != seed)
                for field in others if part == "cross" else fields_of(part):
                    yield name, seed, field
