"""Players by name: the only module that parses the names of players.

| name | player |
|---|---|
| `thumb`, `thumb:1`, `pimc:100` | a player of `PLAYERS`, with parameters after a colon if it takes any |
| `noms`, `runs/first`, `runs/first/policy.safetensors` | a trained policy: by its name, by its game, by folder or file |
| `noms@0` | the policy at a temperature: 0 takes the most probable action, 1 is as trained |
| `search:noms@0,worlds=50` | a search on a policy, with options |
| `solved:FILE` | a solution of a micro-game |
| `my_agent:make`, `my_agent.py:act` | a third-party function (`functions`) |
| `alice` | a function that an installed package registers as `alice` in the entry points `noms_env.players` |
| `cmd:./my_bot --level 3` | a program (`programs`) |

Modules are named by strings and imported when a player is made, since policies are in a higher layer.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, overload

from noms_env.core.actions import brief, suggest_names
from noms_env.players.foreign_code import check_may_run
from noms_env.players.protocol import Player, check_player
from noms_env.variants import VARIANTS, Rules

FIRST, NEWEST = 1, 2
"""Versions of the rules of thumb. A file with names of players records the version of `thumb` in it, `thumb_version`. A file
without one dates from the first version."""
POLICIES = {"cpu": "noms_env.policy.player", "cuda": "noms_env.cuda.players.policy"}
"""The module that loads policies, for each device."""
POLICY = "policy"  # the parameter of a player that names a policy
COMMAND = "cmd:"  # prefix of the names of programs
Kind = Literal["built-in", "policy", "function", "program"]
FOREIGN = {"function": "noms_env.players.functions:load_function", "program": "noms_env.players.programs.player:load_program"}
"""Loader of third-party players, for each kind."""


@dataclass(frozen=True)
class Entry:
    """One player of the registry.

    Attributes:
        where: `module:class`; the module is imported when the player is made.
        gpu: the same for a GPU; "" for a player of the CPU only.
        says: one line that describes the player.
        parameters: arguments of the class that the name may give, in order, with the parser of each.
        options: further arguments that may follow as `option=value`, with the parser of each.
    """

    where: str
    gpu: str
    says: str
    parameters: Mapping[str, Callable[[str], Any]] = field(default_factory=dict)
    options: Mapping[str, Callable[[str], Any]] = field(default_factory=dict)


def parse_inner_name(text: str) -> str:
    """Check a player's name within another name. Third-party code is refused, since the outer name would hide it."""
    try:
        is_foreign = parse_player(text).is_foreign
    except ValueError:
        return text  # the player raises its own error
    if is_foreign:
        raise ValueError(f"{text!r} is somebody else's code")
    return text


PLAYERS: dict[str, Entry] = {
    "random": Entry(
        "noms_env.players.random_player:RandomPlayer",
        "noms_env.cuda.players.simple:GpuRandom",
        "takes every legal action with the same probability",
    ),
    "greedy": Entry(
        "noms_env.players.greedy:GreedyPlayer",
        "noms_env.cuda.players.simple:GpuGreedy",
        "takes the tricks that it wants as cheaply as it can, and ducks the others",
    ),
    "thumb": Entry(
        "noms_env.players.rule_based.player:ThumbPlayer",
        "noms_env.cuda.players.simple:GpuThumb",
        "plays by rules of thumb",
        {"version": int},
    ),
    "flat_mc": Entry(
        "noms_env.search.pimc:FlatMC",
        "noms_env.cuda.players.flat_mc:GpuFlatMC",
        "tries its actions on sampled cards, played out by thumb",
        {"worlds": int},
    ),
    "pimc": Entry(
        "noms_env.search.pimc:PIMC",
        "noms_env.cuda.players.pimc:GpuPIMC",
        "the same, but solves the endings exactly",
        {"worlds": int},
    ),
    "search": Entry(
        "noms_env.search.policy_search:search_player",
        "noms_env.cuda.players.search:gpu_search",
        "tries its actions on sampled cards, played out by a trained policy",
        {POLICY: parse_inner_name},
        {"worlds": int, "time": float, "opponents": parse_inner_name, "temperature": float, "threads": int},
    ),
    "solved": Entry("noms_env.micro.solution:SolvedPlayer", "", "plays a micro-game by its solution", {"file": str}),
}
"""The built-in players by name."""


@dataclass(frozen=True)
class PlayerName:
    """A parsed player name, from `parse_player`.

    Attributes:
        text: as the user wrote it.
        kind: `built-in` (a player of `PLAYERS`), `policy`, or third-party code: `function` or `program`.
        what: the word of `PLAYERS`; the policy's name, file or folder; else the text.
        temperature: of a policy.
        arguments: of a built-in player.
    """

    text: str
    kind: Kind
    what: str | Path
    temperature: float = 1.0
    arguments: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_foreign(self) -> bool:
        """Whether making the player runs third-party code."""
        return self.kind in FOREIGN

    @property
    def policy_file(self) -> Path | None:
        """File of the policy, or of the policy that the player searches on, else None; ValueError for an unknown policy."""
        if self.kind == "built-in":
            policy = self.arguments.get(POLICY)
            return parse_player(policy).policy_file if policy else None
        if self.kind != "policy":
            return None
        file: Path = import_module(POLICIES["cpu"]).policy_file_of(self.what)
        return file


def parse_player(name: Path | str) -> PlayerName:
    """Parse a player's name, see the table above. Players take precedence over policies, and policies over third-party code.

    ValueError if there is no such player, or it does not take such parameters.
    """
    if not isinstance(name, Path | str):
        raise ValueError(f"a player must be a name or a path, not a {type(name).__name__}")
    from noms_env.players.functions import entry_names, is_function  # here, since the package imports no player

    text = str(name)
    word, colon, rest = text.partition(":")
    if isinstance(name, str) and word in PLAYERS:
        return PlayerName(text, "built-in", word, arguments=_parse_arguments(word, rest.split(",") if colon else []))
    policy, temperature = _split_temperature(name)
    if _is_policy(policy):
        return PlayerName(text, "policy", policy, temperature)
    if text.startswith(COMMAND):
        return PlayerName(text, "program", text)
    if is_function(text) or text in entry_names():
        return PlayerName(text, "function", text)
    if "/" in text and ":" not in text:
        raise ValueError(f"there is no file or folder {brief(text)}")
    policies = import_module(POLICIES["cpu"])
    players = list(dict.fromkeys([*PLAYERS, *entry_names()]))
    words = list(dict.fromkeys([*players, *policies.shipped_policies(), *VARIANTS]))
    raise ValueError(
        f"there is no player {brief(text)}; {suggest_names(word.partition('@')[0], words)} players are {', '.join(players)}; "
        f"the policies are {', '.join(policies.names_and_games()) or 'none'}; or give a policy by file or folder, or your own "
        "player as MODULE:FUNCTION or cmd:PROGRAM"
    )


@overload
def load_player(name: Path | str | PlayerName, *, limit: float | None = None) -> Player: ...


@overload
def load_player(name: Path | str | PlayerName, device: str, limit: float | None = None) -> Any: ...


def load_player(name: Path | str | PlayerName, device: str = "cpu", limit: float | None = None) -> Any:
    """Load the player of a name, file or folder.

    Args:
        name: `thumb`, `pimc:100`; `noms`, `noms@0`, `runs/first`, `runs/first/policy.safetensors@0`; `my_agent:make`,
            `my_agent.py:act`, a name that a package has registered, `cmd:./my_bot`. Players take precedence over policies,
            policies over folders of the same name. A function or program runs as soon as it is loaded.
        device: `cpu` for a `Player`, `cuda` for a `GpuPlayer` (`noms_env.cuda.players`), asked for batches on a GPU.
        limit: seconds of a program for each decision, 10 if None; ignored for other players.

    Raises:
        ValueError: there is no such player or policy, it does not take such parameters, it cannot be loaded or started, or it
            does not play on the device.
        ModuleNotFoundError: with `device="cuda"`: the libraries of the extra `cuda` are not installed.
        RuntimeError: with `device="cuda"`: there is no GPU.
    """
    if device not in POLICIES:
        raise ValueError(f"device must be 'cpu' or 'cuda', not {brief(device)}")
    parsed = name if isinstance(name, PlayerName) else parse_player(name)
    if parsed.kind == "policy":
        return import_module(POLICIES[device]).load_policy(parsed.what, parsed.temperature)
    entry = None if parsed.is_foreign else PLAYERS[str(parsed.what)]
    where = FOREIGN[parsed.kind] if entry is None else entry.where
    if device == "cuda":
        where = "" if entry is None else entry.gpu
    if not where:
        there = ", ".join(word for word, entry in PLAYERS.items() if entry.gpu)
        raise ValueError(f"the player {parsed.what} plays on the processor only; on a GPU there are {there}, and policies")
    module, _, make = where.partition(":")
    if not parsed.is_foreign:
        return getattr(import_module(module), make)(**parsed.arguments)
    check_may_run(parsed.text)
    return getattr(import_module(module), make)(parsed.text, *([limit] if parsed.kind == "program" else []))


def add_thumb_version(name: str, version: int = NEWEST) -> str:
    """Return `thumb` with the version of the rules (`thumb:2`), as files name it; other names unchanged."""
    return f"thumb:{version}" if name == "thumb" else name


def _is_policy(name: Path | str) -> bool:
    """Return whether a name without a temperature must be a policy: a file, a folder, or a known name of a policy or game."""
    policies = import_module(POLICIES["cpu"])
    return isinstance(name, Path) or name.endswith(".safetensors") or policies.is_there(name) or policies.is_policy_name(name)


def _split_temperature(name: Path | str) -> tuple[Path | str, float]:
    """Split `policy@temperature`; the temperature defaults to 1. ValueError if it is below 0 or infinite."""
    if isinstance(name, Path) or "@" not in name or _is_policy(name):
        return name, 1.0
    policy, _, text = name.rpartition("@")
    try:
        temperature = float(text)
    except ValueError:
        return name, 1.0
    if not 0 <= temperature < math.inf:
        raise ValueError(f"the temperature behind @ must be a number from 0 on, not {text!r}")
    return policy, temperature


def _parse_arguments(word: str, texts: Sequence[str]) -> dict[str, Any]:
    """Parse the arguments of a player of `PLAYERS` from the texts after its colon."""
    entry = PLAYERS[word]
    named = [text.partition("=") for text in texts[len(entry.parameters) :] if "=" in text and entry.options]
    if len(texts) > len(entry.parameters) + len(named):
        known = f"{word}:{','.join(entry.parameters).upper()}" if entry.parameters else "none"
        raise ValueError(f"the player {word} takes {len(entry.parameters)} parameters ({known}), not {','.join(texts)!r}")
    values = dict(zip(entry.parameters, texts, strict=False))
    for option, _, text in named:
        if option not in entry.options:
            raise ValueError(
                f"the player {word} has no option {option!r}; {suggest_names(option, entry.options)} options are "
                f"{', '.join(entry.options)}"
            )
        if option in values:
            raise ValueError(f"the player {word} has {option} twice")
        values[option] = text
    arguments = {}
    for parameter, text in values.items():
        parse = {**entry.parameters, **entry.options}[parameter]
        try:
            arguments[parameter] = parse(text)
        except ValueError as error:
            number = {int: "a whole number", float: "a number"}.get(parse, f"a policy: {error}")  # type: ignore[call-overload]
            raise ValueError(f"{parameter} of the player {word} must be {number}, not {text!r}") from error
    return arguments


Players = str | Path | Player | Sequence[str | Path | Player]
"""One player for all seats, or one for each: names (`load_player`) or players."""


def load_players(players: Players, seats: int, rules: Rules, what: str = "players") -> list[Player]:
    """Load the players of some seats: one for all, or one for each. Equal names share one player.

    `what` is the name of the argument in messages. ValueError if there is no such player, it cannot play under these rules, or
    the number of players is wrong.
    """
    is_one = isinstance(players, str | Path) or not isinstance(players, Iterable)
    listed: list[Any] = [players] * seats if is_one else list(players)  # type: ignore[arg-type]
    if len(listed) != seats:
        raise ValueError(f"{what} must be one player for all {seats} seats, or {seats} of them, clockwise, not {len(listed)}")
    named = {name: load_player(name) for name in dict.fromkeys(item for item in listed if isinstance(item, str | Path))}
    loaded = [named[item] if isinstance(item, str | Path) else item for item in listed]
    adapted = dict[int, Player]()
    for name, player in zip(listed, loaded, strict=True):
        if isinstance(player, type):
            raise ValueError(f"a player must be an object, not the class {player.__name__}: make one, {player.__name__}(...)")
        try:
            adapted[id(player)] = check_player(player)
        except TypeError as error:
            raise ValueError(f"a player must be a name, a path or a players.Player, and {error}") from None
        check_rules(str(name), getattr(player, "rule_sets", None), rules)
    return [adapted[id(player)] for player in loaded]


class AnyOptions(tuple[Rules, ...]):
    """The evaluation rules of a policy for any options. It contains all rules of its games, with known numbers of seats."""

    trained: tuple[Rules, ...]  # all rules that it was trained with
    options: frozenset[str]  # that it sees

    @classmethod
    def of(cls, rule_sets: Iterable[Rules], drawn: Iterable[Rules], options: Iterable[str]) -> AnyOptions:
        """Return the rules of a policy; arguments as in `PolicyInfo`."""
        made = cls(rule_sets)
        made.trained, made.options = (*made, *drawn), frozenset(options)
        return made

    def __contains__(self, rules: object) -> bool:
        tables = ((own.variant.name, own.seats) for own in self.trained)
        return isinstance(rules, Rules) and (rules.variant.name, rules.seats) in tables

    def unknown(self, rules: Rules) -> list[str]:
        """Return the options, as NAME=VALUE, with values outside the training; a number between two trained ones is known."""
        of_game = [own.options for own in self.trained if own.variant.name == rules.variant.name]
        names = [option.name for option in rules.variant.options if option.name in self.options | {"hand_size"}]
        unknown = []
        for name in names:
            value, values = rules.options[name], [options[name] for options in of_game]
            numbers = [number for number in values if type(number) is int]
            if value not in values and not (type(value) is int and numbers and min(numbers) < value < max(numbers)):
                unknown.append(f"{name}={value}")
        return unknown


def check_rules(name: str, trained: Sequence[Rules] | None, rules: Rules) -> None:
    """Refuse (ValueError) a policy at a table that it was not trained for; warn if it has not seen the options there.

    `name` is for the message; `trained` are the rules of its training (`PolicyPlayer.rule_sets`), None for all games.
    """
    if trained is None or rules in trained:
        if isinstance(trained, AnyOptions) and (unknown := trained.unknown(rules)):
            warnings.warn(f"{name} was not trained with {', '.join(unknown)} in {rules.variant.name}", stacklevel=2)
        return
    games = ", ".join(dict.fromkeys(f"{own.variant.name} with {own.seats} seats" for own in trained))
    same = any((own.variant.name, own.seats) == (rules.variant.name, rules.seats) for own in trained)
    unlike = " and other options" if same else ""
    general = import_module(POLICIES["cpu"]).policies_for_any_options()
    hint = f"; {general[0]} plays under any options" if general else ""
    raise ValueError(f"{name} was trained for {games}, not for {rules.variant.name} with {rules.seats} seats{unlike}{hint}")
