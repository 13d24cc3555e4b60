"""An entry of the benchmark: a folder with who plays, how it was trained, and what it scored.

    entry.json                 what the entry is (`Entry`)
    algorithm.py               the algorithm's file, if it learns; published entries of baselines name its `source` instead
    trained/GAME/SEED/         of each run: the policy, `curve.csv`, `run.json`, and `player.py`, which loads the policy
    cells/GAME/SEED/FIELD.json the points of every deal, as they are played
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
from typing import Any

import numpy as np

from noms_env._files import read_file, write_atomically
from noms_env._json import parse_json
from noms_env.core.actions import brief
from noms_env.policy.file import package_versions
from noms_env.version import ENV_VERSION, __version__

from ..agents.registry import agent_spec, is_program
from ..agents.spec import BLOCK, EXTERNAL_BLOCK, AgentSpec
from .protocol import FROZEN, GAMES, LEAST_SEEDS, PROTOCOL, TRACKS, budget_of, rules_of_game

FORMAT = "noms-benchmark-entry/1"
ENTRY, SCORES, ALGORITHM, PLAYER = "entry.json", "scores.json", "algorithm.py", "player.py"
RUNS, RUN, CURVE = "trained", "run.json", "curve.csv"
RUN_PATTERN = {
    **{"game": str, "seed": int, "budget": str, "decisions": int, "decisions_per_second": int},
    **{"wall_seconds": float, "cpu_seconds": float, "files": [str], "files_sha256": str, "versions": dict},
    "machine": {"system": str, "processor": str, "cores": (int, None), "blas": str},
}
"""Of `run.json` (`fits`)."""
OF_A_RUN = "{entry}/trained/{game}/{seed}/player.py:player"
"""The players of an algorithm that `noms benchmark run` has trained."""


TRIAL = "trial"
"""The folder, in that of an entry, of scores on fewer deals."""
MOST_SEEDS, MOST_LETTERS = 100, 100
"""Seeds of an entry, which play one another, and letters of its name."""


class EntryError(ValueError):
    """A folder that holds no entry which can be used; the message says why."""


@dataclass(frozen=True)
class Entry:
    """What an entry is.

    Attributes:
        name: of the algorithm or player, as tables show it.
        track: what it was allowed, one of `TRACKS`.
        player: who plays, as for `noms evaluate`; `{entry}`, `{game}` and `{seed}` stand for the folder of the entry, the
            game and the seed.
        games: in the order of the protocol.
        seeds: of the runs; one for a player that does not learn.
        budget: as `protocol.budget_of` reads it; "" for a player that does not learn.
        algorithm: SHA-256 of `algorithm.py`; "" if there is none.
        description: a sentence on it.
        source: where else the file of the algorithm is, as `PATH@REVISION` in the repository of the package; "" if nowhere.
    """

    name: str
    track: str
    player: str
    games: tuple[str, ...] = tuple(GAMES)
    seeds: tuple[int, ...] = (0,)
    budget: str = ""
    algorithm: str = ""
    description: str = ""
    protocol: str = PROTOCOL
    source: str = ""

    def __post_init__(self) -> None:
        """Check it.

        Raises:
            EntryError: it cannot be scored by this protocol.
        """
        texts = [value for name, value in vars(self).items() if name not in ("games", "seeds")]
        if not all(isinstance(text, str) for text in texts) or not all(type(seed) is int for seed in self.seeds):
            raise EntryError("all of an entry must be text, but its seeds, which must be whole numbers")
        if not all(text.isprintable() for text in texts):
            raise EntryError("the texts of an entry must be of one line, without signs that a terminal acts on")
        if self.protocol != PROTOCOL:
            raise EntryError(f"the entry is of the protocol {self.protocol!r}; this version of noms-env has {PROTOCOL!r}")
        if self.track not in TRACKS:
            raise EntryError(f"the track must be one of {', '.join(TRACKS)}, not {self.track!r}")
        unknown = [name for name in self.games if name not in GAMES]
        if unknown or not self.games:
            raise EntryError(f"the games must be of {', '.join(GAMES)}, not {brief(unknown[0]) if unknown else 'none'}")
        if len(set(self.games)) < len(self.games):
            raise EntryError("an entry has each of its games once")
        if not 0 < len(self.seeds) <= MOST_SEEDS or len(set(self.seeds)) < len(self.seeds):
            raise EntryError(f"an entry needs one seed or more, {MOST_SEEDS} at most, each once")
        if not self.name.strip() or not self.player.strip() or len(self.name) > MOST_LETTERS:
            raise EntryError(f"an entry needs a name, of {MOST_LETTERS} letters at most, and a player")
        if self.budget:
            try:
                budget_of(self.budget)
            except ValueError as error:
                raise EntryError(str(error)) from error

    @property
    def least_seeds(self) -> int:
        """How many seeds make it complete."""
        return 1 if self.track == "fixed" else LEAST_SEEDS

    def player_name(self, folder: Path, game: str, seed: int) -> str:
        """The name of a player, as for `noms evaluate`; `thumb` is the one that the protocol means (`FROZEN`)."""
        name = FROZEN.get(self.player, self.player)
        return name.replace("{entry}", str(folder)).replace("{game}", game).replace("{seed}", str(seed))

    def specs(self, folder: Path, game: str, seeds: Sequence[int] | None = None) -> dict[int, AgentSpec]:
        """The players of a game, by seed; `seeds` says of which, all if it is None.

        Raises:
            EntryError: there is no such player, or it cannot sit at the tables of the game.
        """
        try:
            names = {seed: self.player_name(folder, game, seed) for seed in (self.seeds if seeds is None else seeds)}
            specs = {seed: entry_player(name) for seed, name in names.items()}
            for spec in specs.values():
                spec.check(rules_of_game(game))
        except ValueError as error:
            raise EntryError(f"game {game}: {error}") from error
        return specs


def entry_player(name: str) -> AgentSpec:
    """The player of a name, asked for as many tables at once as a policy is, unless it is asked row by row.

    Raises:
        ValueError: see `agent_spec`.
    """
    spec = agent_spec(name)
    return replace(spec, block=BLOCK) if spec.block == EXTERNAL_BLOCK and spec.at_once is None else spec


def read_entry(folder: Path) -> Entry:
    """The entry in a folder.

    Raises:
        EntryError: there is none, or it is damaged.
    """
    document = read_json(folder / ENTRY, f"there is no entry in {folder}")
    if document.pop("format", None) != FORMAT:
        raise EntryError(f"{folder / ENTRY} is not of the format {FORMAT!r}")
    try:
        values: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in document.items()}
        return Entry(**values)
    except TypeError as error:
        raise EntryError(f"{folder / ENTRY} is damaged: {error}") from error


def write_entry(folder: Path, entry: Entry) -> None:
    """Write what an entry is; OSError if it cannot be written."""
    folder.mkdir(parents=True, exist_ok=True)
    document = {name: value for name, value in asdict(entry).items() if value or name != "source"}
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
