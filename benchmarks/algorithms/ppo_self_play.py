"""The package's own trainer, `noms train`: PPO self-play with a privileged critic and card features.

Its settings are those of `noms train` but for the budget; the policy that is kept is the best in its own evaluations against
`thumb` on deals of the set dev, as every run of `noms train` keeps it.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from noms_env import load_player
from noms_env.players import Player
from noms_training.benchmark.new_rules import HELD_OUT
from noms_training.benchmark.protocol import CURVE_DEALS, GAMES
from noms_training.benchmark.task import CURVE_FIELD, Task
from noms_training.learn import loop
from noms_training.learn.checkpoint import RunFolder
from noms_training.learn.config import SIZES, TrainConfig
from noms_training.learn.log import Watcher

DIVISION, RUN = "open", "run"
MOST = 10**12
"""Decisions of a run whose budget is in CPU-hours only."""
TRIAL, MARGIN = 8_192, 0.9
"""Decisions of an iteration of the trial, for each game; the part of the CPU-hours that is planned: evaluations take time."""
LEAST = 100 * TRIAL
"""Decisions of a budget up to which nothing is tried."""
DRAWN_RULES = 40
"""Mixes of options for each game that a generalist learns, besides each number of seats and each option alone."""


class Pace(Watcher):
    """Measures processor seconds for each decision, from the first iteration to the last."""

    def __init__(self, task: Task) -> None:
        self.task, self.seen = task, list[tuple[int, float]]()

    def iteration(self, decisions: int, metrics: Mapping[str, float]) -> None:
        """See `Watcher`."""
        self.seen.append((decisions, self.task.seconds[1]))

    @property
    def seconds(self) -> float:
        """Of a decision."""
        (first, since), (last, until) = self.seen[0], self.seen[-1]
        return (until - since) / (last - first)


class Curve(Watcher):
    """Tells the task how far the run is, and ends it where its CPU-hours are used."""

    def __init__(self, task: Task, tried: int) -> None:
        self.task, self.tried, self.share = task, tried, 0.0

    def iteration(self, decisions: int, metrics: Mapping[str, float]) -> None:
        """See `Watcher`."""
        self.share = self.task.count(self.tried + decisions)

    def ends_run(self) -> bool:
        """See `Watcher`."""
        return self.share >= 1

    def evaluation(self, decisions: int, metrics: Mapping[str, float]) -> None:
        """See `Watcher`."""
        names = [f"eval/points/{game}_{GAMES[game]}/{CURVE_FIELD}" for game in games_of(self.task)]
        points = sum(metrics[name] for name in names) / len(names)
        half = math.hypot(*(metrics[f"{name}/high"] - metrics[name] for name in names)) / len(names)
        self.task.note(self.tried + decisions, (points, points - half, points + half))


def train(task: Task) -> None:
    """Train as `noms train` does, for as many decisions as the budget has, or as its CPU-hours are enough for."""
    decisions, tried, trial = task.budget.decisions or MOST, 0, TRIAL * len(games_of(task))
    if task.budget.cpu_hours and decisions > LEAST:
        pace = Pace(task)
        run(task, 3 * trial, pace, {"batch_size": trial, "evaluate_every": 3 * trial, "evaluation_deals": 2})
        left, tried = MARGIN * task.budget.cpu_hours * 3600 - task.seconds[1], pace.seen[-1][0]
        decisions = max(1, min(decisions - tried, int(left / pace.seconds)))
    batch_size = min(SIZES[0], max(1, decisions // 20))
    more = {"batch_size": batch_size, "evaluate_every": max(1, decisions // 10), "evaluation_deals": CURVE_DEALS}
    run(task, decisions, Curve(task, tried), more)
    shutil.copyfile(task.folder / RUN / "policy.safetensors", task.folder / "policy.safetensors")
    shutil.rmtree(task.folder / RUN)


def games_of(task: Task) -> list[str]:
    """The games of a run."""
    return [*GAMES] if task.draws_rules else [task.game]


def run(task: Task, decisions: int, watcher: Watcher, more: dict[str, Any]) -> None:
    """A run in the folder `RUN` of the task, in place of what is there; more arguments of its configuration are given."""
    held_out = tuple(f"{option}={value}" for option, values in HELD_OUT.items() for value in values)
    config = TrainConfig(
        variants=tuple(games_of(task)),
        drawn_rules=DRAWN_RULES if task.draws_rules else 0,
        held_out=held_out if task.draws_rules else (),
        seed=task.seed,
        decisions=decisions,
        threads=1,
        panel=(CURVE_FIELD,),
        keep=1,
        **more,
    )
    shutil.rmtree(task.folder / RUN, ignore_errors=True)
    with RunFolder.create(task.folder / RUN, config.as_dict(), keep=1) as folder:
        loop.train(config, folder, watcher)


def player(folder: Path) -> Player:
    """The trained policy, which takes its most probable action."""
    return load_player(f"{folder / 'policy.safetensors'}@0")


def other_player(folder: Path) -> Player:
    """The same policy, which draws its actions."""
    return load_player(f"{folder / 'policy.safetensors'}@1")
