"""The training loop: iterations, evaluations, checkpoints.

    noms train small_ships                                          one process
    torchrun --nproc_per_node=2 -m noms_training train small_ships  several: each has its own tables, gradients are averaged

Before the first iteration, and after every twentieth of the budget (or `evaluate_every`), the policy plays duplicate deals
against the panel. The best policy so far is saved as `policy.safetensors`. Each evaluated policy also joins the past policies
that are opponents.
"""

from __future__ import annotations

import math
import signal
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

import numpy as np
import torch

from ..agents.registry import file_sha256
from ..evaluation.comparison import figures
from . import schedule
from .checkpoint import CheckpointError, RunFolder, write_policy
from .config import TrainConfig
from .distributed import device_of, join_processes
from .log import Watcher
from .train import Trainer

EVALUATIONS = 20  # default number of evaluations per run


@contextmanager
def prepared(config: TrainConfig) -> Iterator[Trainer]:
    """Set up a run, and end its processes and threads with the context; ValueError if the configuration is invalid."""
    with join_processes(device_of(config.device)) as processes:
        run = Trainer(config, processes)
        try:
            for player in run.panel():
                for rules in run.rule_sets:
                    player.check(rules)
            for rules in run.all_rules:
                for name in config.opponents.players:
                    run.players[name].check(rules)
                if config.curriculum.expert:
                    run.expert_for(rules)
            yield run
        finally:
            run.close()


def train(config: TrainConfig, folder: RunFolder, watcher: Watcher | None = None, minutes: float | None = None) -> bool:
    """Set up and train a run, see `train_prepared`; ValueError if the configuration is invalid."""
    with prepared(config) as run:
        return train_prepared(run, folder, watcher, minutes)


def train_prepared(run: Trainer, folder: RunFolder, watcher: Watcher | None = None, minutes: float | None = None) -> bool:
    """Train from the last checkpoint, if any, until the budget is spent; return whether it is.

    The run also stops, with a checkpoint, after the current iteration on Ctrl-C or once about `minutes` have passed.

    Raises:
        CheckpointError: a file cannot be written, the file of another policy in the run has changed since the run stopped, or
            a loss is not finite; the last checkpoint is intact.
        KeyboardInterrupt: on Ctrl-C before the budget is spent, after the checkpoint is written.
    """
    config, broadcast, watcher = run.config, run.processes.broadcast, (watcher if run.processes.leads else None) or Watcher()
    every, saved_at = config.evaluate_every or max(1, config.decisions // EVALUATIONS), time.monotonic()
    until = math.inf if minutes is None else saved_at + 60 * minutes
    evaluator, stage, ends, stops = Evaluator(run, folder, watcher), None, False, False
    with interrupts() as interrupted:
        watcher.started(run.decisions, config.decisions)
        _pass_notes(run, watcher)
        if run.decisions == 0:
            evaluator.measure(scored=False)  # scores are in units of the reward scale, which is not known yet
        while run.decisions < config.decisions and not (ends or stops):
            before, stage_before, stage = run.decisions, stage, schedule.stage(run.progress, config)
            if stage is not stage_before:
                watcher.note(f"after {run.decisions:,} decisions: {stage.value}")
            metrics = run.iterate()
            watcher.iteration(run.decisions, metrics)
            if not all(math.isfinite(metrics.get(f"losses/{name}", 0.0)) for name in ("policy_loss", "value_loss")):
                raise CheckpointError(f"a loss is not finite after {run.decisions:,} decisions; the last checkpoint is intact")
            _pass_notes(run, watcher)
            ends, stops = broadcast(watcher.ends_run()), broadcast(interrupted.is_set() or time.monotonic() > until)
            is_due = run.decisions // every > before // every or run.decisions >= config.decisions or ends
            if is_due:
                evaluator.evaluate()
            if is_due or broadcast(time.monotonic() - saved_at > config.save_every):
                evaluator.save()
                saved_at = time.monotonic()
        evaluator.save()
    is_finished = ends or run.decisions >= config.decisions
    if interrupted.is_set() and not is_finished:
        raise KeyboardInterrupt
    return is_finished


def _pass_notes(run: Trainer, watcher: Watcher) -> None:
    while run.notes:
        watcher.note(run.notes.pop(0))


@contextmanager
def interrupts() -> Iterator[threading.Event]:
    """Yield an event that the first Ctrl-C sets; the second one raises KeyboardInterrupt."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = signal.getsignal(signal.SIGINT)

    def ask(number: int, frame: FrameType | None) -> None:
        stop.set()
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, ask)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)


class Evaluator:
    """Evaluates the policy of a run, and saves its states and policies. Restores the newest state in the folder."""

    def __init__(self, run: Trainer, folder: RunFolder, watcher: Watcher) -> None:
        self.run, self.folder, self.watcher = run, folder, watcher
        self.panel = run.panel()
        self.best: float | None = None  # score of the best policy; None before the first evaluation
        self.past: list[str] = []  # past policies that are opponents, oldest first, named by the decisions at that time
        names = [*run.config.curriculum.expert, *run.config.opponents.players, *run.config.panel]
        # SHA-256 of the policies among the experts, opponents and panel players
        self.others = {name: digest for name in names if name and (digest := file_sha256(name)) is not None}
        if (state := folder.latest_state()) is not None:
            self._restore(state)

    def save(self) -> None:
        """Write a checkpoint, and the policy if none has been evaluated yet."""
        state = self.run.state() | {"standing": {"best": self.best, "past": self.past, "others": self.others}}
        if self.run.processes.leads:
            self.folder.write_state(self.run.decisions, state)
            if self.best is None:
                write_policy(self.folder.policy, self.run.actor, self.run, None)

    def _restore(self, state: Mapping[str, Any]) -> None:
        try:
            best, past, others = (state["standing"][name] for name in ("best", "past", "others"))
            if len(state["standing"]) != 3 or not all(name.isdigit() for name in past):
                raise ValueError("past policies have numbers")
            for name, sha256 in others.items():
                if self.others.get(name, sha256) != sha256:
                    raise CheckpointError(
                        f"the file of {name} has changed since the run in {self.folder.path} stopped, from SHA-256 {sha256} to "
                        f"{self.others[name]}: restore the old file to continue, or start a new run"
                    )
            self.run.restore(dict(state))
            self.best, self.past = None if best is None else float(best), list(past)
            self._load_past()
        except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
            raise CheckpointError(f"the state in {self.folder.path} is not of the run that its config describes") from error

    def evaluate(self) -> None:
        """Evaluate the policy, save it if it is the best so far, add it to the past policies, and thin these out."""
        score, run, opponents = self.measure(), self.run, self.run.config.opponents
        if score is not None and (self.best is None or score > self.best):
            self.best = score
            write_policy(self.folder.policy, run.actor, run, score)
        if opponents.share == 0 or opponents.past == 0:
            return
        name = f"{run.decisions:012d}"
        if run.processes.leads:
            self.folder.write_past(name, run.actor, run)
        names = [*self.past, name]
        self.past = [names[i] for i in thin_out([run.decisions - int(past) for past in names], opponents.past)]
        run.processes.all_sum(torch.zeros(1))  # a barrier: all wait until the file exists
        self._load_past()

    def measure(self, scored: bool = True) -> float | None:
        """Play against the panel, log the figures, and return the score; only in the first process, None in others."""
        if not self.run.processes.leads:
            return None
        run, config = self.run, self.run.config

        def against_panel(greedy: bool) -> dict[str, float]:
            hero, deals, runner = run.hero(self.panel[0].device, greedy), config.evaluation_deals, run.threads.all
            return figures(run.rule_sets, hero, self.panel, deals, seed=config.seed, probes=not greedy, runner=runner)

        metrics = against_panel(greedy=False)
        score = self._score(metrics) if scored else None
        metrics |= {f"greedy/{name}": value for name, value in _points(against_panel(greedy=True)).items()}
        metrics |= {"score": score} if score is not None else {}
        self.watcher.evaluation(run.decisions, {f"eval/{name}": value for name, value in metrics.items()})
        return score

    def _score(self, metrics: Mapping[str, float]) -> float:
        """Return the mean of the points over panel and rules, in units of the reward scale of each rule set."""
        points = defaultdict[str, list[float]](list)
        for name, value in _points(metrics).items():
            points[name.split("/")[1]].append(value)
        scales = zip(self.run.labels, self.run.reward_scale.scale.tolist(), strict=False)
        return float(np.mean([np.mean(points[rules]) / scale for rules, scale in scales]))

    def _load_past(self) -> None:
        known, self.run.past = self.run.past, {}
        for name in self.past:
            self.run.past[name] = known.get(name) or self.run.new_actor()
            if name not in known:
                self.run.past[name].load_state_dict(self.folder.read_past(name))


def _points(metrics: Mapping[str, float]) -> dict[str, float]:
    return {name: value for name, value in metrics.items() if name.startswith("points/") and name.count("/") == 2}


def thin_out(ages: Sequence[int], most: int) -> list[int]:
    """Choose the past policies to keep, so that their ages grow about geometrically; return ascending indices.

    The ages descend. The oldest and the youngest policy are dropped last.
    """
    chosen = list(range(len(ages)))
    while len(chosen) > most:
        if len(chosen) <= 2:
            return chosen[-most:] if most else []
        spread = [(ages[chosen[i - 1]] + 1) / (ages[chosen[i + 1]] + 1) for i in range(1, len(chosen) - 1)]
        chosen.pop(1 + int(np.argmin(spread)))
    return chosen
