"""An entry of the benchmark: a folder with who plays, how it was trained, and what it scored.

    entry.json                 what the entry is (`Entry`)
    algorithm.py               the algorithm's file, if it learns; published entries of baselines name its `source` instead
    trained/GAME/SEED/         of each run: the policy, `curve.csv`, `run.json`, and `player.py`, which loads the policy
    trained/generalist/SEED/   likewise of a run on all games together
    cells/PART/GAME/SEED/      the points of every deal by field, as they are played; without PART in protocol 1
    scores.json                the scores

What is published may lack the policies and the cells: `entry.json` and `scores.json` have their hashes.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from noms_env._files import read_file, write_atomically
from noms_env._json import parse_json
from noms_env.core.actions import brief
from noms_env.players.registry import parse_player
from noms_env.policy.file import package_versions
from noms_env.version import ENV_VERSION, __version__

from ..agents.registry import agent_spec, is_program
from ..agents.spec import BLOCK, EXTERNAL_BLOCK, AgentSpec
from .protocol import GAMES, GENERALIST, LEAST_SEEDS, PROTOCOLS, V2, budget_of

FORMAT, FORMAT_1 = "noms-benchmark-entry/2", "noms-benchmark-entry/1"
ENTRY, SCORES, ALGORITHM, PLAYER = "entry.json", "scores.json", "algorithm.py", "player.py"
RUNS, RUN, CURVE = "trained", "run.json", "curve.csv"
RUN_PATTERN = {
    **{"game": str, "seed": int, "budget": str, "decisions": int, "decisions_per_second": int},
    **{"wall_seconds": float, "cpu_seconds": float, "files": [str], "files_sha256": str, "versions": dict},
    "curve_sha256?": str,
    "machine": {"system": str, "processor": str, "cores": (int, None), "blas": str},
}
"""Of `run.json` (`fits`)."""
OF_A_RUN = "{entry}/trained/{game}/{seed}/player.py:player"
"""The players of an algorithm that `noms benchmark run` has trained."""

BASELINES = Path(__file__).resolve().parents[2] / "benchmarks" / "algorithms"
"""The baselines, in a checkout."""
CONVENTIONS = {"greedy": "sampled", "sampled": "greedy"}
"""How a policy may choose: its most probable action, or one drawn by its probabilities; and the other of the two."""
TRIAL, SECOND = "trial", "second"
"""The folders, in that of an entry, of scores on fewer deals, and on those behind the deals of the protocol."""
MOST_SEEDS, MOST_LETTERS = 100, 100
"""Seeds of an entry, which play one another, and letters of its name."""


class EntryError(ValueError):
    """A folder that holds no entry which can be used; the message says why."""


class Seat(NamedTuple):
    """A player with its name, as for `noms evaluate`, and the SHA-256 of what it plays by (`player_sha256`)."""

    spec: AgentSpec
    name: str
    sha256: str | None


@dataclass(frozen=True)
class Entry:
    """What an entry is.

    Attributes:
        name: of the algorithm or player, as tables show it.
        division: what it was allowed, one of `protocol.DIVISIONS`.
        player: who plays, as for `noms evaluate`; `{entry}`, `{game}` and `{seed}` stand for the folder of the entry, the
            game (`generalist` in the tracks of one policy for all games) and the seed.
        games: in the order of the protocol.
        seeds: of the runs; one for a player that does not learn.
        budget: as `protocol.budget_of` reads it; "" for a player that does not learn.
        algorithm: SHA-256 of `algorithm.py`; "" if there is none.
        description: a sentence on it.
        protocol: its name.
        source: where else the file of the algorithm is, as `PATH@REVISION` in the repository of the package; "" if nowhere.
        tracks: of the protocol, which it enters; all that are usual if there is none.
        other_player: the same player by the other convention, where it may draw its actions or take the most probable; ""
            where there is none.
        plays: how it chooses, one of `CONVENTIONS`; "" where that means nothing, or the player's name says it.
    """

    name: str
    division: str
    player: str
    games: tuple[str, ...] = tuple(GAMES)
    seeds: tuple[int, ...] = (0,)
    budget: str = ""
    algorithm: str = ""
    description: str = ""
    protocol: str = V2
    source: str = ""
    tracks: tuple[str, ...] = ()
    other_player: str = ""
    plays: str = ""

    def __post_init__(self) -> None:
        """Check it.

        Raises:
            EntryError: it cannot be scored by this protocol.
        """
        texts = [value for name, value in vars(self).items() if name not in ("games", "seeds", "tracks")]
        if not all(isinstance(text, str) for text in texts) or not all(type(seed) is int for seed in self.seeds):
            raise EntryError("all of an entry must be text, but its seeds, which must be whole numbers")
        if not all(text.isprintable() for text in texts):
            raise EntryError("the texts of an entry must be of one line, without signs that a terminal acts on")
        if self.protocol not in PROTOCOLS:
            known = " and ".join(map(repr, PROTOCOLS))
            raise EntryError(f"the entry is of the protocol {self.protocol!r}; this version of noms-env has {known}")
        protocol = PROTOCOLS[self.protocol]
        if self.division not in protocol.divisions:
            raise EntryError(f"the division must be one of {', '.join(protocol.divisions)}, not {self.division!r}")
        object.__setattr__(self, "tracks", self.tracks or protocol.usual)
        for what, values, allowed in (("games", self.games, tuple(GAMES)), ("tracks", self.tracks, protocol.tracks)):
            unknown = [name for name in values if name not in {*allowed}]
            if unknown or not values:
                raise EntryError(f"the {what} must be of {', '.join(allowed)}, not {brief(unknown[0]) if unknown else 'none'}")
            if len(set(values)) < len(values):
                raise EntryError(f"an entry has each of its {what} once")
        if not 0 < len(self.seeds) <= MOST_SEEDS or len(set(self.seeds)) < len(self.seeds):
            raise EntryError(f"an entry needs one seed or more, {MOST_SEEDS} at most, each once")
        if not self.name.strip() or not self.player.strip() or len(self.name) > MOST_LETTERS:
            raise EntryError(f"an entry needs a name, of {MOST_LETTERS} letters at most, and a player")
        if self.plays not in ("", *CONVENTIONS):
            raise EntryError(f"an entry plays {' or '.join(CONVENTIONS)}, not {brief(self.plays)}")
        if self.budget:
            try:
                budget_of(self.budget)
            except ValueError as error:
                raise EntryError(str(error)) from error

    @property
    def convention(self) -> str:
        """How it chooses, one of `CONVENTIONS`; "" where that is not known."""
        policy, at, temperature = self.player.rpartition("@")
        named = "" if not at or policy.startswith("search:") else "greedy" if temperature == "0" else "sampled"
        return self.plays or named

    @property
    def least_seeds(self) -> int:
        """How many seeds make it complete."""
        return 1 if self.division == "fixed" else LEAST_SEEDS

    @property
    def runs(self) -> list[tuple[str, int]]:
        """Its runs, each by its game, or `GENERALIST`, and its seed."""
        parts = [part for part in PROTOCOLS[self.protocol].parts.values() if part.track in self.tracks]
        names = dict.fromkeys(part.run_of(game) for part in parts for game in self.games if game in part.games)
        return [(name, seed) for name in names for seed in self.seeds]

    def player_name(self, folder: Path, run: str, seed: int, is_other: bool = False) -> str:
        """The name of a player, as for `noms evaluate` (`Protocol.player_name`).

        Args:
            folder: of the entry.
            run: the game that it has learnt, or `GENERALIST`.
            seed: of the run.
            is_other: the player of the other convention is asked for.
        """
        name = self.other_player if is_other else self.player
        name = PROTOCOLS[self.protocol].player_name(name, run)
        return name.replace("{entry}", str(folder)).replace("{game}", run).replace("{seed}", str(seed))

    def seat(self, folder: Path, run: str, seed: int, is_other: bool = False) -> Seat:
        """A player of the entry; see `player_name`.

        Raises:
            EntryError: there is no such player.
        """
        try:
            return seat_of(self.player_name(folder, run, seed, is_other))
        except ValueError as error:
            raise EntryError(f"{'the games together' if run == GENERALIST else f'game {run}'}: {error}") from error


def other_convention(player: str, name: str) -> str:
    """The player of an entry by the other convention; "" if it is no policy that draws its actions or takes the most probable.

    Args:
        player: of the entry (`Entry.player`).
        name: of it with one game and seed.

    Raises:
        ValueError: no player has the name.
    """
    parsed = parse_player(name)
    if parsed.kind != "policy" or parsed.temperature not in (0.0, 1.0):
        return ""
    return player.rpartition("@")[0] if parsed.temperature == 0 else f"{player.removesuffix('@1')}@0"


def seat_of(name: str) -> Seat:
    """The player of a name, asked for as many tables at once as a policy is, unless it is asked row by row.

    Raises:
        ValueError: see `agent_spec`.
    """
    spec = agent_spec(name)
    if spec.block == EXTERNAL_BLOCK and spec.at_once is None:
        spec = replace(spec, block=BLOCK)
    return Seat(spec, name, player_sha256(spec, name))


def read_entry(folder: Path) -> Entry:
    """The entry in a folder.

    Raises:
        EntryError: there is none, or it is damaged.
    """
    document = read_json(folder / ENTRY, f"there is no entry in {folder}")
    said = document.pop("format", None)
    if said == FORMAT_1 and "track" in document:
        document["division"] = document.pop("track")
    elif said != FORMAT:
        raise EntryError(f"{folder / ENTRY} is not of the format {FORMAT!r} or {FORMAT_1!r}")
    try:
        values: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in document.items()}
        return Entry(**values)
    except TypeError as error:
        raise EntryError(f"{folder / ENTRY} is damaged: {error}") from error


def algorithm_of(folder: Path) -> Path:
    """The file of an entry's algorithm: its own copy, or the baseline that it names, if that is here and still the same.

    Raises:
        EntryError: there is no entry.
    """
    own = folder / ALGORITHM
    if own.is_file():
        return own
    entry = read_entry(folder)
    baseline = BASELINES / Path(entry.source.partition("@")[0]).name
    return baseline if entry.source and baseline.is_file() and sha256_of(baseline) == entry.algorithm else own


def write_entry(folder: Path, entry: Entry) -> None:
    """Write what an entry is; OSError if it cannot be written."""
    folder.mkdir(parents=True, exist_ok=True)
    document = {
        name: value for name, value in asdict(entry).items() if value or name not in ("source", "other_player", "plays")
    }
    write_json(folder / ENTRY, {"format": FORMAT, **document})


def read_json(path: Path, otherwise: str, pattern: Any = dict) -> dict[str, Any]:
    """An object in a file that `fits` a pattern; its numbers are finite, and whole ones fit into 64 bits.

    Raises:
        EntryError: there is none; the message begins with `otherwise`.
    """
    if not path.is_file():  # a pipe would be waited for
        raise EntryError(f"{otherwise}: {path.name} is not there")
    try:
        document: dict[str, Any] = parse_json(read_file(path), bits=64)
    except (OSError, ValueError) as error:
        raise EntryError(f"{otherwise}: {path.name} is damaged") from error
    if not fits(document, pattern):
        raise EntryError(f"{otherwise}: {path.name} is damaged")
    return document


def fits(value: Any, pattern: Any) -> bool:
    """Whether a JSON value is like a pattern.

    A pattern is a type, where whole numbers are also of the type float; None; several patterns in a tuple, of which one must
    fit; a list of one pattern, that of all items; or an object of patterns by key, where a key that ends with `?` may be
    absent. In an object whose only key is `str` there may be any keys.
    """
    if isinstance(pattern, tuple):
        return any(fits(value, each) for each in pattern)
    if isinstance(pattern, list):
        return isinstance(value, list) and all(fits(item, pattern[0]) for item in value)
    if not isinstance(pattern, dict):
        return value is None if pattern is None else type(value) in ((int, float) if pattern is float else (pattern,))
    if not isinstance(value, dict):
        return False
    if str in pattern:
        return all(fits(item, pattern[str]) for item in value.values())
    known = {name.removesuffix("?"): each for name, each in pattern.items()}
    needed = {name for name in known if name in pattern}
    return needed <= value.keys() <= known.keys() and all(fits(item, known[name]) for name, item in value.items())


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    """JSON for people to read, written whole or not at all; OSError if it cannot be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, json.dumps(document, indent=1, ensure_ascii=False).encode() + b"\n")


def player_sha256(spec: AgentSpec, name: str) -> str | None:
    """SHA-256 of what a player plays by: the file of a policy, the files of a run, the module of a function.

    None for players of the package and programs, which no file of the entry holds.
    """
    if spec.sha256 is not None:
        return spec.sha256
    file, colon, _ = name.rpartition(":")
    if not colon or name.startswith("cmd:"):
        return None
    if file.endswith(".py"):
        path = Path(file)
        run = path.parent / RUN
        return files_sha256(path.parent, run_files(path.parent)) if run.exists() else sha256_of(path)
    if not is_program(name):
        return None
    source = getattr(import_module(file), "__file__", None)
    return None if source is None else sha256_of(Path(source))


def run_files(run: Path) -> list[str]:
    """The files of a run's policy: all in its folder but the record of the training, by their paths there."""
    kept = (path for path in run.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return sorted(str(path.relative_to(run)) for path in kept if path.name not in (CURVE, RUN, PLAYER))


def files_sha256(folder: Path, names: Sequence[str]) -> str:
    """One hash of several files: their paths and contents."""
    digest = hashlib.sha256()
    for name in names:
        digest.update(f"{Path(name).as_posix()} {sha256_of(folder / name)}\n".encode())
    return digest.hexdigest()


def sha256_of(path: Path) -> str:
    """SHA-256 of a file; OSError if it cannot be read."""
    return hashlib.sha256(read_file(path)).hexdigest()


def versions() -> dict[str, str]:
    """What played: versions of Python, the environment and the packages that matter."""
    ours = {"python": platform.python_version(), "environment": str(ENV_VERSION), "noms-env": __version__}
    return {**package_versions(), **ours}


def machine() -> dict[str, Any]:
    """Where it was played, as far as figures may depend on it; no name of it."""
    return {
        "system": platform.system(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "blas": np.show_config(mode="dicts")["Build Dependencies"]["blas"]["name"],
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())
