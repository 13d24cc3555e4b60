"""The commands that start the runs of a policy again."""

from __future__ import annotations

import dataclasses
import itertools
import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from noms_env.players import PLAYERS
from noms_env.players.registry import FIRST, versioned

from ..learn.config import PRESETS, TrainConfig, differences
from ..learn.data.shards import read_shards, shard_folders

WIDTH = 100
"""Columns of a command that is broken into lines."""
SHARDS = "--curriculum.shards"
"""The option behind which folders of recorded decisions stand."""
NAME = re.compile(r"(search:)?(.*?)([@,].*)?", re.DOTALL)
"""The name of a player: the policy stands in the second group, between `search:` and temperature or options."""


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
        recorded: the commands that record the decisions which it learnt from (`export_commands`).
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
    recorded: tuple[tuple[str, ...], ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        recorded = [shlex.join(command) for command in self.recorded]
        return {**dataclasses.asdict(self), "command": shlex.join(self.command), "recorded": recorded}

    def text(self) -> str:
        """The commands as lines for a shell; exports that differ in their seed only stand in a loop."""
        exports = (_exports(list(group)) for _, group in itertools.groupby(self.recorded, lambda command: command[:-3]))
        return "\n".join([*exports, _as_lines((*self.command, "--out", self.out))])


def _exports(commands: Sequence[tuple[str, ...]]) -> str:
    """Commands of `export_commands` that are the same up to the seed and the folder."""
    seeds, folders = [command[-3] for command in commands], [command[-1] for command in commands]
    parent = folders[0].rpartition("/")[0]
    if len(commands) == 1 or folders != [f"{parent}/{seed}" for seed in seeds]:
        return "\n".join(map(_as_lines, commands))
    numbers = sorted(map(int, seeds))
    is_row = numbers == list(range(numbers[0], numbers[-1] + 1))
    loop = f"for seed in $(seq {numbers[0]} {numbers[-1]})" if is_row else _as_lines(("for", "seed", "in", *map(str, numbers)))
    return f"{loop}; do\n{_as_lines(commands[0][:-4])} \\\n  --seed $seed --out {shlex.quote(parent)}/$seed\ndone"


def _as_lines(command: Sequence[str]) -> str:
    """A command as lines for a shell."""
    groups: list[list[str]] = [[]]
    for word in command:
        if word.startswith("--"):
            groups.append([])
        groups[-1].append(word)
    lines = [""]
    for text in itertools.chain(*map(_parts, groups)):
        if lines[-1] and len(lines[-1]) + 1 + len(text) > WIDTH:
            lines.append(f"  {text}")
        else:
            lines[-1] = f"{lines[-1]} {text}" if lines[-1] else text
    return " \\\n".join(lines)


def _parts(group: Sequence[str]) -> list[str]:
    """An option and its words as one piece of text, or as many if that would be too long."""
    text = shlex.join(group)
    return [text] if len(text) < WIDTH else list(map(shlex.quote, group))


def read_run(entry: Mapping[str, Any]) -> Run:
    """A run from `Run.as_dict`; files of earlier code do not have `recorded`."""
    recorded = tuple(tuple(shlex.split(command)) for command in entry.get("recorded", ()))
    words = {"command": tuple(shlex.split(entry["command"])), "needs": tuple(entry["needs"]), "recorded": recorded}
    return Run(**{**entry, **words})


def run_of(
    config: TrainConfig, kept: int, made: int, budget: int, revision: str | None, recorded: Sequence[tuple[str, ...]] = ()
) -> Run:
    """A run by its configuration, and by the commands that recorded what it learnt from; see `Run`."""
    expert = config.curriculum.expert if config.curriculum.imitation_end > 0 else ""
    source = config.initial_policy or _policy(expert)
    searched = [word for words in recorded for option, word in itertools.pairwise(words) if option == "--player"]
    needs = dict.fromkeys(filter(None, [source, *map(_policy, [*config.opponents.players, *searched])]))
    command = train_command(config)
    return Run(command, source, tuple(needs), kept, made, budget, config.as_dict(), revision, recorded=tuple(recorded))


def export_commands(folder: Path) -> Iterator[tuple[str, ...]]:
    """The commands that record decisions again; seed and folder stand last, `--out` before the folder.

    `noms improve` records lots of the matches of one export, in folders of its name and the first match of each.

    Raises:
        ValueError: there are no such decisions, or they were not played but taken from records; see also `read_shards`.
        OSError: a file cannot be read.
    """
    known = set()
    for place in shard_folders(folder):
        about, _ = next(read_shards(place, ()))
        of, out = about["source"], str(place)
        if "variant" not in of:
            raise ValueError(f"the decisions in {place} were taken from records")
        missing = {"seats", "options", "players", "limit", "matches", "seed"} - set(of)
        if missing:
            raise ValueError(f"the decisions in {place} do not say with which {min(missing)} they were played")
        if "first" in of:
            out = out.rpartition("-")[0]
        options = [word for name, value in of["options"].items() for word in ("--option", f"{name}={json.dumps(value)}")]
        players = [word for name in of["players"] for word in ("--player", versioned(name, of.get("thumb_version", FIRST)))]
        limit = [] if of["limit"] is None else ["--limit", str(of["limit"])]
        command = ("noms", "export", "--variant", of["variant"], "--seats", str(of["seats"]), *options, *players)
        command = (*command, *limit, "--targets", "--matches", str(of["matches"]), "--format", "npz")
        command = (*command, "--seed", str(of["seed"]), "--out", out)
        if command not in known:
            known.add(command)
            yield command


def _policy(player: str) -> str:
    """The policy that a player is, or that it searches on, if the name can only be that of one; else ""."""
    name = policy[2] if (policy := NAME.fullmatch(player)) else ""
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
        folders = _decisions(run.command, place)
        command = _renamed(run.command, {**names, **folders})
        recorded = tuple(_recorded_in(_renamed(words, names), folders) for words in run.recorded)
        found.append(dataclasses.replace(run, command=command, recorded=recorded, out=place, needs=tuple(sorted(needs))))
    return tuple(found)


def _decisions(command: Sequence[str], place: str) -> dict[str, str]:
    """Folders beside that of a run for the recorded decisions that its command names."""
    if SHARDS not in command:
        return {}
    words = itertools.takewhile(lambda word: not word.startswith("--"), command[command.index(SHARDS) + 1 :])
    return {word: f"{place}-decisions-{number}" for number, word in enumerate(words, 1)}


def _recorded_in(command: tuple[str, ...], folders: Mapping[str, str]) -> tuple[str, ...]:
    """A command of `export_commands` that writes to another folder."""
    out = Path(command[-1])
    found = [Path(new) / out.relative_to(old) for old, new in folders.items() if out.is_relative_to(old)]
    return (*command[:-1], str(found[0]))


def _renamed(command: Sequence[str], names: Mapping[str, str]) -> tuple[str, ...]:
    """The words of a command with other names for policies, also of searches, but not for games of the same names."""
    games = len(list(itertools.takewhile(lambda word: not word.startswith("--"), command)))
    behind = zip(command[games:], command[games - 1 :], strict=False)
    words = [word if before == "--variant" else _renamed_player(word, names) for word, before in behind]
    return (*command[:games], *words)


def _renamed_player(player: str, names: Mapping[str, str]) -> str:
    """The name of a player with another one for its policy."""
    part = NAME.fullmatch(player)
    return f"{part[1] or ''}{names.get(part[2], part[2])}{part[3] or ''}" if part else player


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
