"""What an algorithm is given: a game, a seed, a budget and a folder, and what it tells while it learns.

An algorithm is a Python file with two functions:

    def train(task):     # learns, and leaves the policy as files in task.folder
    def player(folder):  # the player of such a folder (noms_env.players.Player)

and, where it differs, `TRACK = "open"` (`protocol.DIVISIONS`). Its docstring describes it.
"""

from __future__ import annotations

import csv
import json
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

import noms_env
from noms_env._files import read_file
from noms_env._json import parse_json
from noms_env.players import Player

from ..agents.registry import agent_spec
from ..agents.spec import AgentSpec
from ..evaluation.comparison import alone_in_field
from .entry import ALGORITHM, CURVE, PLAYER, RUN, EntryError, files_sha256, machine, run_files, versions, write_json
from .protocol import CURVE_AT, CURVE_DEALS, CURVE_FIELD, DIVISIONS, GAMES, PLAYER_SEED, PROTOCOLS, V1, Budget, rules_of_game

COLUMNS = ("decisions", "wall_seconds", "cpu_seconds", "points", "low", "high", "score")
"""Of a learning curve."""
TOLD_EVERY = 0.5
"""Seconds between two notes of the progress for who waits."""
PROGRESS = "progress.json"
PLAYER_FILE = '''"""The policy of this folder, for `noms evaluate`: player.py:player."""

from pathlib import Path

from noms_training.benchmark.task import player_of_run


def player():
    """The policy at the tables."""
    return player_of_run(Path(__file__).parent)
'''


def load_algorithm(file: Path) -> ModuleType:
    """The module of an algorithm.

    Raises:
        EntryError: there is no such file, it fails, or it lacks one of the two functions.
    """
    spec = util.spec_from_file_location(f"noms_algorithm_{file.stem}", file)
    if spec is None or spec.loader is None or not file.is_file():
        raise EntryError(f"there is no algorithm in {file}: a Python file with train(task) and player(folder)")
    module = sys.modules[spec.name] = util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise EntryError(f"{file} cannot be loaded: {type(error).__name__}: {error}") from error
    lacks = [name for name in ("train", "player") if not callable(getattr(module, name, None))]
    if lacks:
        raise EntryError(f"{file} lacks {' and '.join(f'the function {name}' for name in lacks)}")
    if track_of(module) not in DIVISIONS:
        raise EntryError(f"TRACK in {file} must be one of {', '.join(DIVISIONS)}, not {track_of(module)!r}")
    return module


def track_of(module: ModuleType) -> str:
    """The track of an algorithm."""
    return str(getattr(module, "TRACK", "self-play"))


def player_of_run(run: Path) -> Player:
    """The player that the algorithm of an entry makes of the folder of one of its runs."""
    file = run.resolve().parents[2] / ALGORITHM
    made: Player = _loaded_once(file, file.stat().st_mtime_ns if file.exists() else 0).player(run)
    return made


@cache
def _loaded_once(file: Path, changed: int) -> ModuleType:
    """The module of an algorithm, loaded once as long as its file does not change."""
    return load_algorithm(file)


def clocks() -> tuple[float, float]:
    """Wall and processor seconds, the latter with those of the processes that were started here and have ended."""
    used = os.times()
    return time.perf_counter(), used.user + used.system + used.children_user + used.children_system


@dataclass
class Task:
    """One run of an algorithm.

    Attributes:
        game: name of the game.
        seats: players at a table.
        seed: of all that is random in the run.
        budget: what the run may use.
        folder: where the policy is to be kept.
        tell: is told how many decisions were made since it was last told.
    """

    game: str
    seats: int
    seed: int
    budget: Budget
    folder: Path
    tell: Callable[[int], None] = lambda decisions: None
    rows: list[tuple[float, ...]] = field(default_factory=list)
    _decisions: int = 0
    _paused: tuple[float, float] = (0.0, 0.0)
    _began: tuple[float, float] = field(default_factory=clocks)

    def make_batch(self, tables: int, **arguments: Any) -> noms_env.BatchEnv:
        """Tables of the game, one deal an episode; with features unless `observation` says otherwise.

        Forced moves are not asked for, since they are no decisions. The arguments are those of `noms_env.make_batch`.
        """
        usual: dict[str, Any] = {"episode": "deal", "observation": "features", "skip_forced": True, "seed": self.seed}
        return noms_env.make_batch(self.game, tables, seats=self.seats, **usual | arguments)

    @property
    def layout(self) -> noms_env.FeatureLayout:
        """The features of single deals of the game."""
        return noms_env.feature_layout(self.game, self.seats, episode="deal")

    @property
    def suits(self) -> noms_env.CanonicalSuits:
        """How the suits of these features are put in one order."""
        return noms_env.CanonicalSuits(self.layout)

    @property
    def seconds(self) -> tuple[float, float]:
        """Wall and processor seconds of the run so far; measuring its curve is not counted."""
        now = clocks()
        return now[0] - self._began[0] - self._paused[0], now[1] - self._began[1] - self._paused[1]

    def log(self, decisions: int, player: Callable[[], Player]) -> float:
        """Tell how far the run is; where the learning curve is due, the policy is measured on deals of the set `dev`.

        Args:
            decisions: of the learner so far: its choices on all seats that it plays, forced moves not counted.
            player: makes the player of the present policy.

        Returns:
            The part of the budget that is used; at 1 the run must end.
        """
        share = self.count(decisions)
        if any(self._last_share() < at <= share for at in CURVE_AT):
            seconds, before = self.seconds, clocks()
            players = AgentSpec("learner", player), agent_spec(CURVE_FIELD)
            points = alone_in_field(rules_of_game(self.game), *players, CURVE_DEALS, seed=PLAYER_SEED)
            self._add(decisions, seconds, (points.mean, points.low, points.high))
            after = clocks()
            self._paused = (self._paused[0] + after[0] - before[0], self._paused[1] + after[1] - before[1])
        return share

    def note(self, decisions: int, points: tuple[float, float, float]) -> float:
        """The same for an algorithm that measures itself: points a deal in the field `thumb`, with the 95 % interval."""
        share = self.count(decisions)
        self._add(decisions, self.seconds, points)
        return share

    def count(self, decisions: int) -> float:
        """Tell how far the run is, without a measure of the policy; the part of the budget that is used, as from `log`."""
        self.tell(decisions - self._decisions)
        self._decisions = decisions
        return self.budget.share(decisions, self.seconds[1])

    def _last_share(self) -> float:
        return self.budget.share(int(self.rows[-1][0]), self.rows[-1][2]) if self.rows else -1.0

    def _add(self, decisions: int, seconds: tuple[float, float], points: tuple[float, float, float]) -> None:
        """Add a point to the curve."""
        score = PROTOCOLS[V1].parts["core"].references[self.game]["thumb"].score(points[0])
        row = (decisions, *(round(number, 2) for number in seconds), *(round(number, 4) for number in (*points, score)))
        self.rows.append(row)
        with (self.folder / CURVE).open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerows([COLUMNS, *self.rows])


def train_run(algorithm: Path, game: str, seed: int, budget: Budget, folder: Path, tell: Callable[[int], None]) -> None:
    """One run, from nothing to its end; what an interrupted one has left is removed.

    Raises:
        EntryError: the algorithm cannot be loaded, or has left no policy that can play.
    """
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    module = load_algorithm(algorithm)
    task = Task(game, GAMES[game], seed, budget, folder, tell)
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
        **{"files": files, "files_sha256": files_sha256(folder, files), "versions": versions(), "machine": machine()},
    }
    write_json(folder / RUN, document)


def told_by_file(folder: Path) -> Callable[[int], None]:
    """For a run in another process: keeps the number of decisions in a file that `decisions_told` reads."""
    done, due = 0, 0.0

    def tell(decisions: int) -> None:
        nonlocal done, due
        done += decisions
        if time.monotonic() >= due:
            due = time.monotonic() + TOLD_EVERY
            part = folder / f"{PROGRESS}.part"
            part.write_text(json.dumps(done), encoding="utf-8")
            part.replace(folder / PROGRESS)

    return tell


def decisions_told(folder: Path) -> int:
    """The decisions of a run in another process; 0 if it has told nothing."""
    try:
        return int(parse_json(read_file(folder / PROGRESS)))
    except (OSError, ValueError, TypeError):
        return 0
