"""What an algorithm is given: a game, a seed, a budget and a folder, and what it tells while it learns.

An algorithm is a Python file with two functions:

    def train(task):     # learns, and leaves the policy as files in task.folder
    def player(folder):  # the player of such a folder (noms_env.players.Player)

It may have `other_player(folder)`: the same policy, which draws its actions where `player` takes the most probable ones, or the
reverse; there `PLAYS = "sampled"` says that `player` draws. Where it is not self-play, `DIVISION = "open"` says what is allowed
(`protocol.DIVISIONS`). Its docstring describes it.
"""

from __future__ import annotations

import csv
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
from noms_env._files import read_file
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
    write_json,
)
from .generalist import drawn_groups, layout_of, suits_of
from .protocol import (
    CURVE_AT,
    CURVE_DEALS,
    DIVISIONS,
    GAMES,
    GENERALIST,
    PLAYER_SEED,
    PROTOCOLS,
    V2,
    Budget,
    rules_of_game,
)

CURVE_FIELD = PROTOCOLS[V2].players["thumb"]
"""The player on the other seats of a learning curve."""
COLUMNS = ("decisions", "wall_seconds", "cpu_seconds", "points", "low", "high")
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


def other_player():
    """The same policy by the other convention, where the algorithm has it: drawn actions, or the most probable ones."""
    return player_of_run(Path(__file__).parent, "other_player")
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
    if division_of(module) not in DIVISIONS:
        raise EntryError(f"DIVISION in {file} must be one of {', '.join(DIVISIONS)}, not {division_of(module)!r}")
    return module


def division_of(module: ModuleType) -> str:
    """The division of an algorithm; its first name was `TRACK`."""
    return str(getattr(module, "DIVISION", getattr(module, "TRACK", "self-play")))


def player_of_run(run: Path, function: str = "player") -> Player:
    """The player that a function of an entry's algorithm makes of the folder of one of its runs."""
    file = algorithm_of(run.resolve().parents[2])
    made: Player = getattr(_loaded_once(file, file.stat().st_mtime_ns if file.exists() else 0), function)(run)
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
        game: name of the game; `generalist` for all games and their options together.
        seed: of all that is random in the run.
        budget: what the run may use.
        folder: where the policy is to be kept.
        tell: is told how many decisions were made since it was last told.
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
    _began: tuple[float, float] = field(default_factory=clocks)

    def make_batch(self, tables: int, **arguments: Any) -> noms_env.BatchEnv:
        """Tables of the game, one deal an episode; with the features of `layout` unless `observation` says otherwise.

        A generalist's have rules that are drawn anew for each call. Forced moves are no decisions, and are not asked for. The
        arguments are those of `noms_env.make_batch`.
        """
        usual: dict[str, Any] = {
            "episode": "deal",
            "observation": "features",
            "skip_forced": True,
            "seed": self.seed,
        } | arguments
        if usual["observation"] == "features":
            usual["observation"] = self.layout
        if self.draws_rules:
            usual["seed"] = int(np.random.default_rng([usual["seed"], self._batches]).integers(2**63))
        return noms_env.make_batch(self.groups(tables), tables, **usual)

    def groups(self, tables: int) -> list[noms_env.TableGroup]:
        """The rules of some tables: those of the game, or a generalist's, drawn anew for each call."""
        if not self.draws_rules:
            return [noms_env.TableGroup(self.game, self.seats)]
        self._batches += 1
        return drawn_groups(tables, np.random.default_rng([self.seed, self._batches]))

    @property
    def draws_rules(self) -> bool:
        """Whether the run is a generalist's, so that tables have drawn rules."""
        return self.game == GENERALIST

    @property
    def seats(self) -> int:
        """Players at a table; those of a generalist have so many at most."""
        return MAX_SEATS if self.draws_rules else GAMES[self.game]

    @property
    def layout(self) -> noms_env.FeatureLayout:
        """The features of single deals of the game, or of any rules that may be drawn."""
        return layout_of(self.game)

    @property
    def suits(self) -> noms_env.CanonicalSuits:
        """How the suits of these features are put in one order."""
        return suits_of(self.layout)

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
            self._add(decisions, seconds, self._measured(player))
            after = clocks()
            self._paused = (self._paused[0] + after[0] - before[0], self._paused[1] + after[1] - before[1])
        return share

    def _measured(self, player: Callable[[], Player]) -> tuple[float, float, float]:
        """Points a deal of a player among rules of thumb, with the 95 % interval; a generalist's mean over all games."""
        specs = AgentSpec("learner", player), agent_spec(CURVE_FIELD)
        games = [*GAMES] if self.draws_rules else [self.game]
        points = [alone_in_field(rules_of_game(name), *specs, CURVE_DEALS, seed=PLAYER_SEED) for name in games]
        mean = sum(of_game.mean for of_game in points) / len(points)
        half = math.hypot(*(of_game.high - of_game.mean for of_game in points)) / len(points)
        return mean, mean - half, mean + half

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
        row = (decisions, *(round(number, 2) for number in seconds), *(round(number, 4) for number in points))
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
