"""The interface between an algorithm and the benchmark: a `Task` holds the game, seed, budget and folder of a run.

An algorithm is a Python file with two functions:

    def train(task):     # trains, and writes the policy as files to task.folder
    def player(folder):  # returns the player of such a folder (noms_env.players.Player)

It may define `other_player(folder)`: the same policy with sampled actions if `player` is greedy, or the reverse.
`PLAYS = "sampled"` declares that `player` samples. `DIVISION = "open"` declares the division, by default self-play
(`protocol.DIVISIONS`). The module docstring describes the algorithm.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from importlib import util
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import noms_env
from noms_env._files import read_file, write_atomically
from noms_env._json import parse_json
from noms_env.core.state import MAX_SEATS
from noms_env.players import Player

from ..agents.registry import agent_spec
from ..agents.spec import AgentSpec
from ..evaluation.comparison import alone_in_field
from .entry import (
    CURVE,
    PLAYER,
    RUN,
    EntryError,
    algorithm_of,
    files_sha256,
    machine,
    run_files,
    sha256_of,
    versions,
    write_csv,
    write_json,
)
from .generalist import draw_groups, layout_of, suits_of
from .protocol import CURVE_AT, CURVE_DEALS, DIVISIONS, GAMES, GENERALIST, PLAYER_SEED, PROTOCOLS, V2, Budget, rules_of_game

CURVE_FIELD = PROTOCOLS[V2].players["thumb"]
"""The player on the other seats of a learning curve."""
COLUMNS = ("decisions", "wall_seconds", "cpu_seconds", "points", "low", "high")
"""Columns of a learning curve."""
WRITE_EVERY = 0.5
"""Seconds between two writes of the progress file."""
PROGRESS = "progress.json"
PLAYER_FILE = '''"""The policy of this folder, for `noms evaluate`: player.py:player."""

from pathlib import Path

from noms_training.benchmark.task import player_of_run


def player():
    """The policy at the tables."""
    return player_of_run(Path(__file__).parent)


def other_player():
    """The same policy by the other convention, where the algorithm has it: drawn actions, or the most probable ones."""
    return player_of_run(Path(__file__).parent, "other_player")
'''


def load_algorithm(file: Path) -> ModuleType:
    """Load an algorithm; EntryError if its file is missing, fails on import, lacks a function or names an unknown division."""
    spec = util.spec_from_file_location(f"noms_algorithm_{file.stem}", file)
    if spec is None or spec.loader is None or not file.is_file():
        raise EntryError(f"there is no algorithm in {file}: it must be a Python file with train(task) and player(folder)")
    module = sys.modules[spec.name] = util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise EntryError(f"{file} cannot be loaded: {type(error).__name__}: {error}") from error
    missing = [name for name in ("train", "player") if not callable(getattr(module, name, None))]
    if missing:
        raise EntryError(f"{file} lacks {' and '.join(f'the function {name}' for name in missing)}")
    if division_of(module) not in DIVISIONS:
        raise EntryError(f"DIVISION in {file} must be one of {', '.join(DIVISIONS)}, not {division_of(module)!r}")
    return module


def division_of(module: ModuleType) -> str:
    """Return the division of an algorithm."""
    return str(getattr(module, "DIVISION", "self-play"))


def player_of_run(run: Path, function: str = "player") -> Player:
    """Return the player of a run in the folder of an entry, made by `function` of the entry's algorithm."""
    file = algorithm_of(run.resolve().parents[2])
    player: Player = getattr(_load_cached(file, file.stat().st_mtime_ns if file.exists() else 0), function)(run)
    return player


@cache
def _load_cached(file: Path, changed: int) -> ModuleType:
    return load_algorithm(file)


def read_clocks() -> tuple[float, float]:
    """Return wall seconds and processor seconds; the latter include child processes that have ended."""
    used = os.times()
    return time.perf_counter(), used.user + used.system + used.children_user + used.children_system


@dataclass
class Task:
    """One run of an algorithm.

    Attributes:
        game: Name of the game; `generalist` for all games and their options together.
        seed: Seed of the run's random generators.
        budget: Limit on decisions and processor time.
        folder: Folder for the files of the policy.
        tell: Progress callback; receives the number of decisions since the last call.
        rows: Points of the learning curve so far (`COLUMNS`).
    """

    game: str
    seed: int
    budget: Budget
    folder: Path
    tell: Callable[[int], None] = lambda decisions: None
    rows: list[tuple[float, ...]] = field(default_factory=list)
    _decisions: int = 0
    _batches: int = 0
    _paused: tuple[float, float] = (0.0, 0.0)
    _began: tuple[float, float] = field(default_factory=read_clocks)

    def make_batch(self, tables: int, **arguments: Any) -> noms_env.BatchEnv:
        """Return a batch of tables of the game, with the features of `layout` by default.

        An episode is one deal, and forced moves are skipped. A generalist draws new rules in each call.
        `arguments` override those of `noms_env.make_batch`.
        """
        options: dict[str, Any] = {"episode": "deal", "observation": "features", "skip_forced": True, "seed": self.seed}
        options |= arguments
        if options["observation"] == "features":
            options["observation"] = self.layout
        if self.draws_rules:
            options["seed"] = int(np.random.default_rng([options["seed"], self._batches]).integers(2**63))
        return noms_env.make_batch(self.groups(tables), tables, **options)

    def groups(self, tables: int) -> list[noms_env.TableGroup]:
        """Return the rules of the tables: the game's, or for a generalist new random ones in each call."""
        if not self.draws_rules:
            return [noms_env.TableGroup(self.game, self.seats)]
        self._batches += 1
        return draw_groups(tables, np.random.default_rng([self.seed, self._batches]))

    @property
    def draws_rules(self) -> bool:
        """Whether the tables have random rules, as those of a generalist do."""
        return self.game == GENERALIST

    @property
    def seats(self) -> int:
        """Seats of a table; for a generalist the maximum."""
        return MAX_SEATS if self.draws_rules else GAMES[self.game]

    @property
    def layout(self) -> noms_env.FeatureLayout:
        """Feature layout for single deals of the game, or of any rules that a generalist may draw."""
        return layout_of(self.game)

    @property
    def suits(self) -> noms_env.CanonicalSuits:
        """Canonical order of the suits in these features."""
        return suits_of(self.layout)

    @property
    def seconds(self) -> tuple[float, float]:
        """Wall and processor seconds of the run so far, without the evaluations of its learning curve."""
        now = read_clocks()
        return now[0] - self._began[0] - self._paused[0], now[1] - self._began[1] - self._paused[1]

    def log(self, decisions: int, player: Callable[[], Player]) -> float:
        """Report progress, and return the fraction of the budget used; the run must end at 1.

        `decisions` are those of the learner so far, on all seats that it plays, without forced moves. Whenever the next point
        of the learning curve is due, the policy that `player` returns is evaluated on deals of the set `dev`.
        """
        share = self.count(decisions)
        last = self.budget.share(int(self.rows[-1][0]), self.rows[-1][2]) if self.rows else -1.0
        if any(last < at <= share for at in CURVE_AT):
            before = self.seconds
            self._add(decisions, before, self._evaluate(player))
            after = self.seconds
            self._paused = (self._paused[0] + after[0] - before[0], self._paused[1] + after[1] - before[1])
        return share

    def _evaluate(self, player: Callable[[], Player]) -> tuple[float, float, float]:
        """Return points per deal alone among `CURVE_FIELD` and the 95 % interval; a generalist's mean over all games."""
        specs = AgentSpec("learner", player), agent_spec(CURVE_FIELD)
        games = [*GAMES] if self.draws_rules else [self.game]
        points = [alone_in_field(rules_of_game(name), *specs, CURVE_DEALS, seed=PLAYER_SEED) for name in games]
        mean = sum(of_game.mean for of_game in points) / len(points)
        half = math.hypot(*(of_game.high - of_game.mean for of_game in points)) / len(points)
        return mean, mean - half, mean + half

    def note(self, decisions: int, points: tuple[float, float, float]) -> float:
        """Add a point that the algorithm measured itself: points per deal among `CURVE_FIELD`, and the interval; see `log`."""
        share = self.count(decisions)
        self._add(decisions, self.seconds, points)
        return share

    def count(self, decisions: int) -> float:
        """Report progress without an evaluation, and return the fraction of the budget used."""
        self.tell(decisions - self._decisions)
        self._decisions = decisions
        return self.budget.share(decisions, self.seconds[1])

    def _add(self, decisions: int, seconds: tuple[float, float], points: tuple[float, float, float]) -> None:
        row = (decisions, *(round(number, 2) for number in seconds), *(round(number, 4) for number in points))
        self.rows.append(row)
        write_csv(self.folder / CURVE, [COLUMNS, *self.rows])


def train_run(algorithm: Path, game: str, seed: int, budget: Budget, folder: Path, tell: Callable[[int], None]) -> None:
    """Train one run from scratch; removes the files of an interrupted one first.

    EntryError if the algorithm cannot be loaded, or has left no policy or no learning curve.
    """
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    module = load_algorithm(algorithm)
    task = Task(game, seed, budget, folder, tell)
    module.train(task)
    (wall, cpu), decisions = task.seconds, task._decisions
    (folder / PROGRESS).unlink(missing_ok=True)
    (folder / PLAYER).write_text(PLAYER_FILE, encoding="utf-8")
    files = run_files(folder)
    if not files or not task.rows:
        raise EntryError(f"{algorithm.name} left {'no policy' if not files else 'no learning curve'} in {folder}")
    document = {
        **{"game": game, "seed": seed, "budget": str(budget), "decisions": decisions},
        **{"wall_seconds": round(wall, 2), "cpu_seconds": round(cpu, 2), "decisions_per_second": round(decisions / wall)},
        **{"files": files, "files_sha256": files_sha256(folder, files), "curve_sha256": sha256_of(folder / CURVE)},
        **{"versions": versions(), "machine": machine()},
    }
    write_json(folder / RUN, document)


def progress_writer(folder: Path) -> Callable[[int], None]:
    """Return a progress callback that writes the number of decisions to a file, for `read_progress` in another process."""
    done, due = 0, 0.0

    def write(decisions: int) -> None:
        nonlocal done, due
        done += decisions
        if time.monotonic() >= due:
            due = time.monotonic() + WRITE_EVERY
            write_atomically(folder / PROGRESS, json.dumps(done).encode(), sync=False)

    return write


def read_progress(folder: Path) -> int:
    """Return the decisions that a run in another process has reported; 0 if none."""
    try:
        return int(parse_json(read_file(folder / PROGRESS)))
    except (OSError, ValueError, TypeError):
        return 0
