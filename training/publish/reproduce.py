"""The commands that start the runs of a policy again."""

from __future__ import annotations

import dataclasses
import itertools
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from noms_env.players import PLAYERS

from ..config import PRESETS, TrainConfig, differences

WIDTH = 100
"""Columns of a command that is broken into lines."""


@dataclass(frozen=True)
class Run:
    """A run as it is told of: in the words of the code that it was made with, which later code need not understand.

    Attributes:
        command: words that start it, without `--out`.
        out: its folder in the commands of the runs behind it; "" until it is published (`chained`).
        source: the policy that it started from or learnt to imitate, by the name that it used; "" if there is none.
        needs: other policies that have to be there.
        kept: decisions of the run that the policy has seen.
        made: decisions of the run so far.
        budget: decisions of the whole run, as last given.
        training: its configuration.
        revision: of the code, as `git describe` names it; None if unknown.
    """

    command: tuple[str, ...]
    source: str
    needs: tuple[str, ...]
    kept: int
    made: int
    budget: int
    training: Mapping[str, Any]
    revision: str | None = None
    out: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {**dataclasses.asdict(self), "command": shlex.join(self.command)}

    def text(self) -> str:
        """The command as lines for a shell."""
        groups: list[list[str]] = [[]]
        for word in (*self.command, "--out", self.out):
            if word.startswith("--"):
                groups.append([])
            groups[-1].append(word)
        lines = [""]
        for text in map(shlex.join, groups):
            if lines[-1] and len(lines[-1]) + 1 + len(text) > WIDTH:
                lines.append(f"  {text}")
            else:
                lines[-1] = f"{lines[-1]} {text}" if lines[-1] else text
        return " \\\n".join(lines)


def read_run(entry: Mapping[str, Any]) -> Run:
    """A run from `Run.as_dict`."""
    return Run(**{**entry, "command": tuple(shlex.split(entry["command"])), "needs": tuple(entry["needs"])})


def run_of(config: TrainConfig, kept: int, made: int, budget: int, revision: str | None) -> Run:
    """A run by its configuration; see `Run`."""
    expert = config.curriculum.expert if config.curriculum.imitation_end > 0 else ""
    source = config.initial_policy or _policy(expert)
    needs = dict.fromkeys(filter(None, [source, *map(_policy, config.opponents.players)]))
    return Run(train_command(config), source, tuple(needs), kept, made, budget, config.as_dict(), revision)


def _policy(player: str) -> str:
    """A player's name without its temperature, if it can only be that of a policy; else ""."""
    name = player.partition("@")[0]
    return "" if ":" in name or name in PLAYERS else name


def chained(runs: Sequence[Run], name: str) -> tuple[Run, ...]:
    """Runs that follow one another, with folders, and with the policies that they learn from in the folders of the runs before.

    A name means the same policy in the runs behind it, until one of them learns from another policy of that name.

    Args:
        runs: each but the first learnt from the policy of the one before.
        name: of the policy.
    """
    places = [f"runs/{name}-{number}" for number in range(1, len(runs))] + [f"runs/{name}"]
    found, known, moved = list[Run](), dict[str, str](), dict[str, str]()
    for run, place in zip(runs, places, strict=True):
        if found:
            known[run.source] = found[-1].out
        names = moved if run.out else known
        moved |= {run.out: place} if run.out else {}
        needs = {names.get(policy, policy) for policy in run.needs} - {*places}
        found.append(
            dataclasses.replace(run, command=tuple(_renamed(run.command, names)), out=place, needs=tuple(sorted(needs)))
        )
    return tuple(found)


def _renamed(command: Sequence[str], names: Mapping[str, str]) -> tuple[str, ...]:
    """The words of a command with other names for policies, which stand behind the first option only."""
    games = len(list(itertools.takewhile(lambda word: not word.startswith("--"), command)))
    parts = [word.partition("@") for word in command[games:]]
    return (*command[:games], *(names.get(policy, policy) + at + temperature for policy, at, temperature in parts))


def train_command(config: TrainConfig) -> tuple[str, ...]:
    """The words that start the same run from the preset that is nearest, but for `--out`."""
    usual = {preset: TrainConfig(config.variants, **changes).as_dict() for preset, (_, changes) in PRESETS.items()}
    from_preset = {preset: list(differences(values, config.as_dict())) for preset, values in usual.items()}
    preset = min(PRESETS, key=lambda preset: len(from_preset[preset]))
    flags = [word for name, _, own in from_preset[preset] for word in _flags(name, own)]
    return ("noms", "train", *config.variants, "--preset", preset, *flags)


def _flags(name: str, value: Any) -> list[str]:
    part, dot, last = name.replace("_", "-").rpartition(".")
    option = f"--{part}{dot}{last}"
    if name == "option":
        return [word for text in value for word in (option, text)]
    if isinstance(value, bool):
        return [option if value else f"--{part}{dot}no-{last}"]
    if isinstance(value, tuple | list):
        return [option, *map(str, value)]
    return [option, str(value)]
