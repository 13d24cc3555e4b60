"""Entry of the benchmark: a folder with the player, the record of its training, and its scores.

    entry.json                 name, player, games, seeds and budget (`Entry`)
    algorithm.py               file of the algorithm, if any; published entries of baselines name its `source` instead
    trained/GAME/SEED/         run of a game: the policy, `curve.csv`, `run.json`, and `player.py`, which loads the policy
    trained/generalist/SEED/   run on all games together, with the same files
    cells/PART/GAME/SEED/      points of every deal, a file for each field; without PART in protocol 1
    scores.json                scores
    times.json                 scoring times by part, apart from the scores, so that equal scores have equal files

Published entries may lack policies and cells: `run.json` and `scores.json` have their hashes.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
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
from .protocol import GAMES, GENERALIST, MIN_SEEDS, PROTOCOLS, V2, budget_of

FORMAT, FORMAT_1 = "noms-benchmark-entry/2", "noms-benchmark-entry/1"
ENTRY, SCORES, TIMES, ALGORITHM, PLAYER = "entry.json", "scores.json", "times.json", "algorithm.py", "player.py"
RUNS, RUN, CURVE = "trained", "run.json", "curve.csv"
RUN_PATTERN = {
    **{"game": str, "seed": int, "budget": str, "decisions": int, "decisions_per_second": int},
    **{"wall_seconds": float, "cpu_seconds": float, "files": [str], "files_sha256": str, "versions": dict},
    "curve_sha256?": str,
    "machine": {"system": str, "processor": str, "cores": (int, None), "blas": str},
}
"""Pattern of `run.json` (`fits`)."""
OF_A_RUN = "{entry}/trained/{game}/{seed}/player.py:player"
"""Players that `noms benchmark run` has trained (`Entry.player`)."""

BASELINES = Path(__file__).resolve().parents[2] / "benchmarks" / "algorithms"
"""Folder of the baselines, in a checkout."""
CONVENTIONS = {"greedy": "sampled", "sampled": "greedy"}
"""Conventions for choosing actions, each with the other one: the most probable action, or a sampled one."""
TRIAL, SECOND = "trial", "second"
"""Subfolders of an entry for scores on fewer deals, and on the deals after those of the protocol."""
MAX_SEEDS, MAX_LETTERS = 100, 100
"""Limits on the seeds of an entry, which play one another, and on the letters of its name."""


class EntryError(ValueError):
    """Raised for a folder without a usable entry; the message says why."""


class Seat(NamedTuple):
    """A player with its `noms evaluate` name and the SHA-256 of its files (`player_sha256`)."""

    spec: AgentSpec
    name: str
    sha256: str | None


@dataclass(frozen=True)
class Entry:
    """Content of `entry.json`; EntryError if a value has the wrong type, or the protocol does not allow it.

    Attributes:
        name: Name of the algorithm or player in tables.
        division: One of `protocol.DIVISIONS`.
        player: Player as for `noms evaluate`; `{entry}`, `{game}` and `{seed}` stand for the folder of the entry, the game
            (`generalist` for a policy of all games) and the seed.
        games: Games in the order of the protocol.
        seeds: Seeds of the runs; one for a player that does not learn.
        budget: Budget as in `protocol.budget_of`; "" for a player that does not learn.
        algorithm: SHA-256 of `algorithm.py`; "" for none.
        description: A sentence on the entry.
        protocol: Name of the protocol.
        source: File of the algorithm in the repository of the package, as `PATH@REVISION`; "" for none.
        tracks: Tracks of the protocol that the entry enters; the default tracks if empty.
        other_player: The same player by the other convention, as `player`; "" for none.
        plays: One of `CONVENTIONS`; "" if neither applies, or if the name of the player implies it.
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
        texts = [value for name, value in vars(self).items() if name not in ("games", "seeds", "tracks")]
        if not all(isinstance(text, str) for text in texts) or not all(type(seed) is int for seed in self.seeds):
            raise EntryError("all values of an entry must be text, except its seeds, which must be whole numbers")
        if not all(text.isprintable() for text in texts):
            raise EntryError("the texts of an entry must have one line, without signs that a terminal acts on")
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
                raise EntryError(f"an entry must name each of its {what} once")
        if not 0 < len(self.seeds) <= MAX_SEEDS or len(set(self.seeds)) < len(self.seeds):
            raise EntryError(f"an entry needs one seed or more, {MAX_SEEDS} at most, all different")
        if not self.name.strip() or not self.player.strip() or len(self.name) > MAX_LETTERS:
            raise EntryError(f"an entry needs a player, and a name, of {MAX_LETTERS} letters at most")
        if self.plays not in ("", *CONVENTIONS):
            raise EntryError(f"an entry plays {' or '.join(CONVENTIONS)}, not {brief(self.plays)}")
        if self.budget:
            try:
                budget_of(self.budget)
            except ValueError as error:
                raise EntryError(str(error)) from error

    @property
    def convention(self) -> str:
        """Convention for choosing actions, one of `CONVENTIONS`; "" if unknown."""
        if self.plays or self.player.startswith("search:"):
            return self.plays
        if self.other_player.endswith("@0"):
            return "sampled"
        try:
            return "greedy" if float(self.player.rpartition("@")[2]) == 0 else "sampled"
        except ValueError:
            return ""

    @property
    def least_seeds(self) -> int:
        """Minimum number of seeds of a complete entry."""
        return 1 if self.division == "fixed" else MIN_SEEDS

    @property
    def runs(self) -> list[tuple[str, int]]:
        """Runs as (game or `GENERALIST`, seed)."""
        parts = [part for part in PROTOCOLS[self.protocol].parts.values() if part.track in self.tracks]
        names = dict.fromkeys(part.run_of(game) for part in parts for game in self.games if game in part.games)
        return [(name, seed) for name in names for seed in self.seeds]

    def player_name(self, folder: Path, run: str, seed: int, is_other: bool = False) -> str:
        """Return the `noms evaluate` name of a run's player, or of its player by the other convention."""
        name = self.other_player if is_other else self.player
        name = PROTOCOLS[self.protocol].player_name(name, run)
        return name.replace("{entry}", str(folder)).replace("{game}", run).replace("{seed}", str(seed))

    def seat(self, folder: Path, run: str, seed: int, is_other: bool = False) -> Seat:
        """Return a player of the entry, with the arguments of `player_name`; EntryError if the player does not exist."""
        try:
            return seat_of(self.player_name(folder, run, seed, is_other))
        except ValueError as error:
            raise EntryError(f"{'the games together' if run == GENERALIST else f'game {run}'}: {error}") from error


def check_tracks(entry: Entry) -> None:
    """Check that the tracks of an entry have one of its games at least; EntryError if none has."""
    if not entry.runs:
        raise EntryError(f"no game of {', '.join(entry.games)} is played in {' and '.join(entry.tracks)}")


def other_convention(player: str, name: str) -> str:
    """Return the player of an entry by the other convention; "" if it is not a policy with temperature 0 or 1.

    `player` is `Entry.player`, and `name` its name for one game and seed; ValueError if no player has it.
    """
    parsed = parse_player(name)
    if parsed.kind != "policy" or parsed.temperature not in (0.0, 1.0):
        return ""
    bare, at, _ = player.rpartition("@")
    return bare if parsed.temperature == 0 else f"{bare if at else player}@0"


def seat_of(name: str) -> Seat:
    """Return the player of a name, or ValueError. Players that take batches get blocks as large as a policy does."""
    spec = agent_spec(name)
    if spec.block == EXTERNAL_BLOCK and spec.at_once is None:
        spec = replace(spec, block=BLOCK)
    return Seat(spec, name, player_sha256(spec, name))


def read_entry(folder: Path) -> Entry:
    """Read the entry in a folder; EntryError if the entry is missing or damaged."""
    document = read_json(folder / ENTRY, f"there is no entry in {folder}")
    file_format = document.pop("format", None)
    if file_format == FORMAT_1 and "track" in document:
        document["division"] = document.pop("track")
    elif file_format != FORMAT:
        raise EntryError(f"{folder / ENTRY} is not of the format {FORMAT!r} or {FORMAT_1!r}")
    try:
        values: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in document.items()}
        return Entry(**values)
    except TypeError as error:
        raise EntryError(f"{folder / ENTRY} is damaged: {error}") from error


def algorithm_of(folder: Path) -> Path:
    """Return the file of an entry's algorithm: its own copy, or else the baseline that it names, if unchanged.

    The path of the own copy also stands for a missing file. EntryError if the entry is missing or damaged.
    """
    own = folder / ALGORITHM
    if own.is_file():
        return own
    entry = read_entry(folder)
    baseline = BASELINES / Path(entry.source.partition("@")[0]).name
    return baseline if entry.source and baseline.is_file() and sha256_of(baseline) == entry.algorithm else own


def write_entry(folder: Path, entry: Entry) -> None:
    """Write `entry.json`; OSError if the file cannot be written."""
    folder.mkdir(parents=True, exist_ok=True)
    values = {name: value for name, value in asdict(entry).items() if value or name not in ("source", "other_player", "plays")}
    write_json(folder / ENTRY, {"format": FORMAT, **values})


def read_json(path: Path, otherwise: str, pattern: Any = dict) -> dict[str, Any]:
    """Read a JSON object that `fits` a pattern, with finite numbers and integers of 64 bits.

    EntryError if the file is missing or damaged; its message begins with `otherwise`.
    """
    if not path.is_file():  # reading a pipe would block
        raise EntryError(f"{otherwise}: {path.name} is not there")
    try:
        document: dict[str, Any] = parse_json(read_file(path), bits=64)
        if not fits(document, pattern):
            raise ValueError(f"the values of {path.name} do not fit their pattern")
    except (OSError, ValueError) as error:
        raise EntryError(f"{otherwise}: {path.name} is damaged") from error
    return document


def fits(value: Any, pattern: Any) -> bool:
    """Return whether a JSON value matches a pattern.

    A pattern is a type (float includes integers), None, a tuple of alternatives, a list with the pattern of all items, or an
    object of patterns by key. A key that ends with `?` is optional. The only key `str` allows any keys.
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
    """Write indented JSON atomically; OSError if the file cannot be written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, json.dumps(document, indent=1, ensure_ascii=False).encode() + b"\n")


def write_csv(path: Path, rows: Iterable[Iterable[Any]]) -> None:
    """Write CSV atomically; OSError if the file cannot be written."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    write_atomically(path, text.getvalue().encode())


def run_folder(folder: Path, run: str, seed: int) -> Path:
    """Return the folder of a run: `run` is a game or `GENERALIST`."""
    return folder / RUNS / run / str(seed)


def player_sha256(spec: AgentSpec, name: str) -> str | None:
    """Return the SHA-256 of a policy's file, a run's files or a function's module; None for other players and programs."""
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
    """Return the files of a run's policy by relative path: all but the record of the training and `player.py`."""
    files = (path for path in run.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return sorted(str(path.relative_to(run)) for path in files if path.name not in (CURVE, RUN, PLAYER))


def files_sha256(folder: Path, names: Sequence[str]) -> str:
    """Return one SHA-256 of the paths and contents of several files."""
    digest = hashlib.sha256()
    for name in names:
        digest.update(f"{Path(name).as_posix()} {sha256_of(folder / name)}\n".encode())
    return digest.hexdigest()


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file; OSError if the file cannot be read."""
    return hashlib.sha256(read_file(path)).hexdigest()


def versions() -> dict[str, str]:
    """Return the versions of Python, the environment and the packages that affect play."""
    ours = {"python": platform.python_version(), "environment": str(ENV_VERSION), "noms-env": __version__}
    return {**package_versions(), **ours}


def machine() -> dict[str, Any]:
    """Return the properties of this machine that may affect results; they do not identify it."""
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
