"""A training run from its first iteration to its last: iterations, evaluations, checkpoints.

    noms train small_ships                                          one process
    torchrun --nproc_per_node=2 -m noms_training train small_ships  several: each has its own tables, gradients are averaged

Before the first iteration, and after every twentieth of the budget (or `evaluate_every`), the policy plays duplicate deals
against the panel. It is written to `policy.safetensors` if it is better than what is there, and it joins the past policies that
are opponents.
"""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from .distributed import device_of, joined_processes
from .log import Watcher
from .train import Trainer

EVALUATIONS = 20
"""In the course of a budget, where the configuration does not say."""


@contextmanager
def prepared(config: TrainConfig) -> Iterator[Trainer]:
    """A run before its first iteration, whose processes and threads end with the context; ValueError if it is invalid."""
    with joined_processes(device_of(config.device)) as processes:
        run = Trainer(config, processes)
        try:
            for rules in run.rule_sets:
                for player in run.panel():
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
    """`train_prepared` of a configuration; ValueError if it is invalid."""
    with prepared(config) as run:
        return train_prepared(run, folder, watcher, minutes)


def train_prepared(run: Trainer, folder: RunFolder, watcher: Watcher | None = None, minutes: float | None = None) -> bool:
    """Train until the budget is spent; continues from the last checkpoint in the folder if there is one.

    The run also ends, with a checkpoint, after the iteration in which Ctrl-C comes or after about so many `minutes`.

    Returns:
        Whether the run is finished.

    Raises:
        CheckpointError: a file cannot be written, or a policy that the run plays with has changed since the run stopped; the
            last checkpoint is whole.
        KeyboardInterrupt: after Ctrl-C, once the checkpoint is written and if decisions are left.
    """
    until = math.inf if minutes is None else time.monotonic() + 60 * minutes
    evaluator = Evaluator(run, folder, (watcher or Watcher()) if run.processes.leads else Watcher())
    with interrupts() as stop:
        is_finished = _train(run, evaluator, lambda: stop.is_set() or time.monotonic() > until)
    if stop.is_set() and not is_finished:
        raise KeyboardInterrupt
    return is_finished


def _train(run: Trainer, evaluator: Evaluator, is_over: Callable[[], bool]) -> bool:
    """Iterate, evaluate and save; whether the run is finished."""
    config, watcher, agreed = run.config, evaluator.watcher, run.processes.agreed
    every, saved_at = config.evaluate_every or max(1, config.decisions // EVALUATIONS), time.monotonic()
    stage, ends, stops = None, False, False
    watcher.started(run.decisions, config.decisions)
    _tell(run, watcher)
    if run.decisions == 0:
        evaluator.measure(scored=False)  # the spread of points, the unit of scores, is not known yet
    while run.decisions < config.decisions and not (ends or stops):
        before, stage_before, stage = run.decisions, stage, schedule.stage(run.progress, config)
        if stage is not stage_before:
            watcher.note(f"after {run.decisions:,} decisions: {stage.value}")
        metrics = run.iterate()
        watcher.iteration(run.decisions, metrics)
        _tell(run, watcher)
        ends, stops = agreed(watcher.ends_run()), agreed(is_over())
        is_due = run.decisions // every > before // every or run.decisions >= config.decisions or ends
        if is_due:
            evaluator.evaluate()
        if is_due or agreed(time.monotonic() - saved_at > config.save_every):
            evaluator.save()
            saved_at = time.monotonic()
    evaluator.save()
    return ends or run.decisions >= config.decisions


def _tell(run: Trainer, watcher: Watcher) -> None:
    """Tell the notes of a run once."""
    while run.notes:
        watcher.note(run.notes.pop(0))


@contextmanager
def interrupts() -> Iterator[threading.Event]:
    """An event that is set by the first Ctrl-C; the second is raised as usual."""
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
    """Measures the policy of a run, and keeps its states and policies; goes on from the newest state in the folder.

    Attributes:
        best: score of the policy that is kept; None before the first evaluation.
        past: names of the past policies that are opponents, the oldest first: the decisions after which each was the policy.
        others: SHA-256 of the policies of other runs that the run imitates, plays against or is measured by, by name.

    Raises:
        CheckpointError: the state is of another run, or the file of another policy has changed since the run stopped.
    """

    def __init__(self, run: Trainer, folder: RunFolder, watcher: Watcher) -> None:
        self.run, self.folder, self.watcher = run, folder, watcher
        self.panel = run.panel()
        self.best: float | None = None
        self.past: list[str] = []
        names = [*run.config.curriculum.expert, *run.config.opponents.players, *run.config.panel]
        self.others = {name: digest for name in names if name and (digest := file_sha256(name)) is not None}
        state = folder.latest_state()
        if state is not None:
            self._restore(state)

    def save(self) -> None:
        """Write a state, and the policy as long as none has been measured."""
        standing = {"best": self.best, "past": self.past, "others": self.others}
        state = self.run.state() | {"standing": standing}
        if self.run.processes.leads:
            self.folder.write_state(self.run.decisions, state)
            if self.best is None:
                write_policy(self.folder.policy, self.run.actor, self.run, None)

    def _restore(self, state: Mapping[str, Any]) -> None:
        try:
            best, past, others = (state["standing"][name] for name in ("best", "past", "others"))
            if len(state["standing"]) != 3 or not all(name.isdigit() for name in past):
                raise ValueError("past policies have numbers")
            self._check_others(others)
            self.run.restore(dict(state))
            self.best, self.past = None if best is None else float(best), list(past)
            self._load_past()
        except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
            raise CheckpointError(f"the state in {self.folder.path} is not of the run that its config.json tells of") from error

    def _check_others(self, before: Mapping[str, str]) -> None:
        for name, sha256 in before.items():
            if self.others.get(name, sha256) != sha256:
                raise CheckpointError(
                    f"the run in {self.folder.path} plays with the policy {name}, whose file had SHA-256 {sha256} so far and "
                    f"has {self.others[name]} now: put the old one back to go on, or begin a run with the new one"
                )

    # -------------------------------------------------------------------------------------------------- evaluations

    def evaluate(self) -> None:
        """Measure the policy, keep it if it is the best so far, and let it join the opponents."""
        score = self.measure()
        if score is not None and (self.best is None or score > self.best):
            self.best = score
            write_policy(self.folder.policy, self.run.actor, self.run, score)
        self._join_opponents()

    def measure(self, scored: bool = True) -> float | None:
        """Log what the policy does against the panel, and its score, in the first process only."""
        if not self.run.processes.leads:
            return None
        run, config = self.run, self.run.config

        def against_panel(greedy: bool) -> dict[str, float]:
            hero, deals, runner = run.hero(self.panel[0].device, greedy), config.evaluation_deals, run.threads.all
            return figures(run.rule_sets, hero, self.panel, deals, seed=config.seed, probes=not greedy, runner=runner)

        drawn, greedy = against_panel(greedy=False), against_panel(greedy=True)
        score = self._score(drawn) if scored else None
        metrics = drawn | {f"greedy/{name}": value for name, value in _points(greedy).items()}
        metrics |= {} if score is None else {"score": score}
        self.watcher.evaluation(run.decisions, {f"eval/{name}": value for name, value in metrics.items()})
        return score

    def _score(self, metrics: Mapping[str, float]) -> float:
        """One number: the mean of the points over the panel, in units of each game's own spread of points."""
        points = _points(metrics)
        by_rules = [
            np.mean([value for name, value in points.items() if name.split("/")[1] == rules]) / scale
            for rules, scale in zip(self.run.labels, self.run.reward_scale.scale.tolist(), strict=False)
        ]
        return float(np.mean(by_rules))

    def _join_opponents(self) -> None:
        """The present policy becomes an opponent; of the older ones some may have to go."""
        run, opponents = self.run, self.run.config.opponents
        if opponents.share == 0 or opponents.past == 0:
            return
        name = f"{run.decisions:012d}"
        if run.processes.leads:
            self.folder.write_past(name, run.actor, run)
        names = [*self.past, name]
        kept = thinned([run.decisions - int(past) for past in names], opponents.past)
        self.past = [names[place] for place in kept]
        run.processes.summed(torch.zeros(1))  # all wait until the file is there
        self._load_past()

    def _load_past(self) -> None:
        known, self.run.past = self.run.past, {}
        for name in self.past:
            self.run.past[name] = known.get(name) or self.run.new_actor()
            if name not in known:
                self.run.past[name].load_state_dict(self.folder.read_past(name))


def _points(metrics: Mapping[str, float]) -> dict[str, float]:
    """The means among the figures of an evaluation: `points/<rules>/<opponent>`."""
    return {name: value for name, value in metrics.items() if name.startswith("points/") and name.count("/") == 2}


def thinned(ages: Sequence[int], most: int) -> list[int]:
    """Which of some past policies to keep, ascending, so that their ages grow about geometrically.

    The ages descend (the oldest first); the oldest and the youngest stay as long as possible.
    """
    kept = list(range(len(ages)))
    while len(kept) > most:
        if len(kept) <= 2:
            return kept[-most:] if most else []
        spread = [(ages[kept[i - 1]] + 1) / (ages[kept[i + 1]] + 1) for i in range(1, len(kept) - 1)]
        kept.pop(1 + int(np.argmin(spread)))
    return kept
