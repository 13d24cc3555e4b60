"""Arguments that several subcommands share, with their help."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import tyro

from noms_env.cuda.rows import check_gpu

from ..agents.registry import DeviceChoice, agent_specs
from ..agents.spec import AgentSpec
from ..evaluation.duplicate import SaltedSet
from ..options import by_default
from .common import CommandError, file_errors, wrong_arguments

Game = Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="VARIANT", help="The game; `noms list` shows all.")]
Seats = Annotated[int | None, by_default("the usual number of the game", "N", help="Number of seats.")]
Option = Annotated[
    tuple[str, ...],
    tyro.conf.UseAppendAction,
    tyro.conf.arg(metavar="NAME=VALUE", help="An option of the game, in JSON or as a word; may be repeated."),
]
Players = Annotated[
    tuple[tuple[str, ...], ...],
    tyro.conf.UseAppendAction,
    tyro.conf.arg(
        metavar="NAME ...",
        help="The players, as for `noms evaluate`: one for all seats, or one for each from seat 0.",
        help_behavior_hint="(repeatable; default: random)",
    ),
]
"""Parsed by `names_of`."""
RandomSeed = Annotated[
    int | None, by_default("drawn at random, and printed", "S", help="0 to 2**63 - 1, for cards and players.")
]
PlayerSeed = Annotated[int, tyro.conf.arg(metavar="S", help="0 to 2**63 - 1, for the players' random numbers.")]
DealSet = Annotated[
    Literal["dev", "test"],
    tyro.conf.arg(name="set", help="The frozen set of deals: dev to choose among players, test for published figures."),
]
Salt = Annotated[
    str | None,
    by_default(
        "public deals",
        "FILE",
        help="A file with a secret of 16 bytes or more that determines the deals, to judge untrusted players.",
    ),
]
Threads = Annotated[int | None, by_default("one for each core", "T", help="Threads. They change no result.")]
PlayedOn = Annotated[
    Literal["auto", "cpu", "cuda"],
    tyro.conf.arg(help="cpu, cuda (a GPU), or auto: a GPU if there is one and all players support it."),
]
MoveLimit = Annotated[
    float | None,
    by_default("10", "SECONDS", help="Time limit per decision of a program (cmd:...); a late program forfeits the table."),
]
ProgramLimit = Annotated[
    float | None, by_default("10 for a program", "SECONDS", help="Time limit per decision of a program (cmd:...).")
]
Flag = Annotated[bool, tyro.conf.FlagCreatePairsOff, tyro.conf.arg(help_behavior_hint="")]
"""Off by default."""


def players_on(device: DeviceChoice, names: Sequence[str], limit: float | None = None) -> list[AgentSpec]:
    """Return the players of these names on a device (`agent_specs`); CommandError if it is a GPU that cannot be used."""
    if device == "cuda":
        with wrong_arguments(ModuleNotFoundError, RuntimeError):
            check_gpu()
    return agent_specs(names, limit, device)


def names_of(players: tuple[tuple[str, ...], ...]) -> tuple[str, ...]:
    """Return the named players of all lists, or `random` if none is named; CommandError for an empty list."""
    if () in players:
        raise CommandError("--player needs a value")
    return tuple(name for names in players for name in names) or ("random",)


def check_limit(limit: float | None) -> None:
    """Raise CommandError for a time limit that is not above 0."""
    if limit is not None and not 0 < limit < float("inf"):
        raise CommandError(f"--limit must be above 0, not {limit}")


def check_run(seed: int, threads: int | None = None, limit: float | None = None) -> None:
    """Raise CommandError for a seed, a number of threads or a time limit out of range."""
    if not 0 <= seed < 2**63:
        raise CommandError(f"--seed must be from 0 to 2**63 - 1, not {seed}")
    if threads is not None and not 1 <= threads <= 1024:
        raise CommandError(f"--threads must be from 1 to 1024, not {threads}")
    check_limit(limit)


def deals_of(deal_set: str, salt: str | None) -> str:
    """Return the set of deals to play; CommandError if the salt's file cannot be read or is too short."""
    if salt is None:
        return deal_set
    with file_errors(f"cannot read {salt}"):
        secret = Path(salt).read_bytes()
    if len(secret) < 16:
        raise CommandError(f"--salt must be a file of 16 bytes or more; {salt} has {len(secret)}, which can be guessed")
    return SaltedSet(deal_set, secret)
