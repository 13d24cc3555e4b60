"""The package's own trainer, `noms train`: PPO self-play with a privileged critic, card features and the EMA policy.

Its settings are those of `noms train` but for the budget; the policy that is kept is the best in its own evaluations against
`thumb` on deals of the set dev, as every run of `noms train` keeps it.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from noms_env import load_player
from noms_env.players import Player
from noms_training.benchmark.protocol import CURVE_DEALS, CURVE_FIELD
from noms_training.benchmark.task import Task
from noms_training.config import TrainConfig
from noms_training.learn import loop
from noms_training.learn.checkpoint import RunFolder
from noms_training.learn.log import Watcher

TRACK = "open"
MOST = 10**12
"""Decisions of a run whose budget is in CPU-hours only."""


class BudgetSpentError(Exception):
    """The CPU-hours of the budget are used."""


class Curve(Watcher):
    """Tells the task how far the run is."""

    def __init__(self, task: Task) -> None:
        self.task = task

    def iteration(self, decisions: int, metrics: Mapping[str, float]) -> None:
        """See `Watcher`."""
        if self.task.count(decisions) >= 1 and decisions < (self.task.budget.decisions or MOST):
            raise BudgetSpentError

    def evaluation(self, decisions: int, metrics: Mapping[str, float]) -> None:
        """See `Watcher`."""
        name = f"points/{self.task.game}_{self.task.seats}/{CURVE_FIELD}"
        self.task.note(decisions, (metrics[name], metrics[f"{name}/low"], metrics[f"{name}/high"]))


def train(task: Task) -> None:
    """Train as `noms train` does."""
    decisions = task.budget.decisions or MOST
    config = TrainConfig(
        variants=(task.game,),
        seats=(task.seats,),
        seed=task.seed,
        decisions=decisions,
        batch_size=min(TrainConfig.batch_size, max(1, decisions // 20)),
        threads=1,
        panel=(CURVE_FIELD,),
        evaluate_every=max(1, decisions // 10),
        evaluation_deals=CURVE_DEALS,
        keep=1,
    )
    run = task.folder / "run"
    try:
        with RunFolder.create(run, config.as_dict(), keep=1) as folder:
            loop.train(config, folder, Curve(task))
    except BudgetSpentError:
        pass
    shutil.copyfile(run / "policy.safetensors", task.folder / "policy.safetensors")
    shutil.rmtree(run)


def player(folder: Path) -> Player:
    """The trained policy, which takes its most probable action."""
    return load_player(f"{folder / 'policy.safetensors'}@0")
