"""A training run from its first iteration to its last: iterations, evaluations, checkpoints.

    noms train small_ships                                          one process
    torchrun --nproc_per_node=2 -m noms_training train small_ships  several: each has its own tables, gradients are averaged

Ctrl-C ends the run after the present iteration, with a checkpoint. Before the first iteration, and after every twentieth of the
budget (or `evaluate_every`), the policy plays duplicate deals against the panel. It is written to `policy.safetensors` if it is
better than what is there, and it joins the past policies that are opponents.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import FrameType
from typing import Any

import numpy as np

from ..agents.registry import file_sha256
from ..agents.spec import AgentSpec
from ..config import TrainConfig
from ..evaluation.comparison import figures
from .checkpoint import CheckpointError, RunFolder, write_policy
from .distributed import Processes, device_of, join_processes, leave_processes
from .log import Watcher
from .opponents import thinned
from .self_play import SelfPlay

EVALUATIONS = 20
"""In the course of a budget, where the configuration does not say."""


@dataclass
class Standing:
    """What a run knows of its policies, besides their parameters.

    Attributes:
        best: score of the policy that is kept; None before the first evaluation.
        past: names of the past policies that are opponents, the oldest first: the decisions after which each was the policy.
        others: SHA-256 of the policies of other runs that the run imitates, plays against or is measured by, by name.
    """

    best: float | None = None
    past: list[str] = field(default_factory=list)
    others: dict[str, str] = field(default_factory=dict)


def train(config: TrainConfig, folder: RunFolder, watcher: Watcher | None = None) -> None:
    """Train until the budget is spent, or until Ctrl-C; continues from the last checkpoint in the folder if there is one.

    Args:
        config: the run.
        folder: where it is kept.
        watcher: is told what goes on.

    Raises:
        ValueError: the configuration asks for what cannot be had.
        CheckpointError: a file cannot be written, or a policy that the run plays with is another than when it was stopped; the
            last checkpoint is whole.
        KeyboardInterrupt: after Ctrl-C, once the checkpoint is written.
    """
    processes = join_processes(device_of(config.device))
    run = SelfPlay(config, processes)
    try:
        loop = _Loop(run, folder, (watcher or Watcher()) if processes.leads else Watcher(), processes)
        with interrupts() as stop:
            loop.run_until(stop)
        if stop.is_set():
            raise KeyboardInterrupt
    finally:
        run.close()
        leave_processes(processes)


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


def policies_of_others(config: TrainConfig) -> dict[str, str]:
    """SHA-256 of the policies that a run needs to its end: its expert, its opponents, and the panel; by name.

    Raises:
        ValueError: there is no such policy.
        OSError: the file of one cannot be read.
    """
    names = [config.curriculum.expert, *config.opponents.players, *config.panel]
    found = {name: file_sha256(name) for name in names if name}
    return {name: sha256 for name, sha256 in found.items() if sha256 is not None}


class _Loop:
    """The iterations of a run and what comes between them."""

    def __init__(self, run: SelfPlay, folder: RunFolder, watcher: Watcher, processes: Processes) -> None:
        self.run, self.folder, self.watcher, self.processes = run, folder, watcher, processes
        self.config = run.config
        self.every = self.config.evaluate_every or max(1, self.config.decisions // EVALUATIONS)
        self.saved_at = time.monotonic()
        self.panel = [run.spec(name) for name in self.config.panel]
        self.standing = Standing(others=policies_of_others(self.config))
        state = folder.latest_state()
        if state is not None:
            self._restore(state)

    def run_until(self, stop: threading.Event) -> None:
        """Iterate, evaluate and save until the budget is spent or somebody asks to stop."""
        run, budget = self.run, self.config.decisions
        self.watcher.started(run.decisions, budget)
        stopped, stage = False, None
        if run.decisions == 0:
            self._measure(scored=False)  # the spread of points, the unit of scores, is not known yet
        while run.decisions < budget and not stopped:
            if run.stage is not stage:
                stage = run.stage
                self.watcher.note(f"after {run.decisions:,} decisions: {stage.value}")
            before, metrics = run.decisions, run.iterate()
            self.watcher.iteration(run.decisions, metrics)
            ends = self._agreed(self.watcher.ends_run())
            if run.decisions // self.every > before // self.every or run.decisions >= budget or ends:
                self._evaluate()
                self._save()
            elif self._agreed(time.monotonic() - self.saved_at > self.config.save_every):
                self._save()
            stopped = ends or self._agreed(stop.is_set())
        self._save()

    def _agreed(self, wish: bool) -> bool:
        """What the first process wishes, known to all."""
        if self.processes.world == 1:
            return wish
        return bool(self.processes.summed(np.array([wish and self.processes.leads], np.float64))[0])

    # -------------------------------------------------------------------------------------------------- checkpoints

    def _save(self) -> None:
        state = self.run.state() | {"standing": vars(self.standing)}
        if self.processes.leads:
            self.folder.write_state(self.run.decisions, state)
            if self.standing.best is None:
                write_policy(self.folder.policy, self.run.actor, self.run, None)
        self.saved_at = time.monotonic()

    def _restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a checkpoint.

        Raises:
            CheckpointError: it is of another run, or one of the others is another policy now, so that the run would not end as
                if never stopped.
        """
        try:
            standing = Standing(**state["standing"])
            if not all(name.isdigit() for name in standing.past):
                raise ValueError("past policies have numbers")
            self._check_others(standing)
            self.run.restore(dict(state))
            self.standing = replace(standing, others=self.standing.others)
            self._load_past()
        except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
            raise CheckpointError(f"the state in {self.folder.path} is not of the run that its config.json tells of") from error

    def _check_others(self, standing: Standing) -> None:
        for name, sha256 in standing.others.items():
            if self.standing.others.get(name, sha256) != sha256:
                raise CheckpointError(
                    f"the run in {self.folder.path} plays with the policy {name}, whose file had SHA-256 {sha256} so far and "
                    f"has {self.standing.others[name]} now: put the old one back to go on, or begin a run with the new one"
                )

    # -------------------------------------------------------------------------------------------------- evaluations

    def _evaluate(self) -> None:
        """Measure the policy, and keep it if it is the best so far."""
        run, standing = self.run, self.standing
        score = self._measure()
        if score is not None and (standing.best is None or score > standing.best):
            standing.best = score
            write_policy(self.folder.policy, run.actor, run, score)
            self.watcher.note(f"policy.safetensors is now the policy at {run.decisions:,} decisions")
        self._join_opponents()

    def _measure(self, scored: bool = True) -> float | None:
        """Log what the policy does against the panel, and its score, in the first process only."""
        if not self.processes.leads:
            return None
        drawn, greedy = self._figures(), self._figures(greedy=True)
        score = self._score(drawn) if scored else None
        metrics = drawn | {f"greedy/{name}": value for name, value in _points(greedy).items()}
        self.watcher.evaluation(self.run.decisions, metrics | ({} if score is None else {"score": score}))
        return score

    def _figures(self, *, greedy: bool = False) -> dict[str, float]:
        """What the policy does against the panel; where it draws its actions, against itself too."""
        run, config = self.run, self.config
        player = run.player(run.actor, greedy)
        return figures(
            run.rule_sets,
            AgentSpec("policy", lambda: player),
            self.panel,
            config.evaluation_deals,
            seed=config.seed,
            probes=not greedy,
            runner=run.thread_pool.all,
        )

    def _score(self, metrics: Mapping[str, float]) -> float:
        """One number: the mean of the points over the panel, in units of each game's own spread of points."""
        by_rules = [
            np.mean([value for name, value in _points(metrics).items() if name.split("/")[1] == rules]) / scale
            for rules, scale in zip(self.run.labels, self.run.reward_norm.scale, strict=True)
        ]
        return float(np.mean(by_rules))

    def _join_opponents(self) -> None:
        """The present policy becomes an opponent; of the older ones some may have to go."""
        if self.config.opponents.share == 0 or self.config.opponents.past == 0:
            return
        name = f"{self.run.decisions:012d}"
        if self.processes.leads:
            self.folder.write_past(name, self.run.actor, self.run)
        names = [*self.standing.past, name]
        ages = [self.run.decisions - int(one) for one in names]
        self.standing.past = [names[place] for place in thinned(ages, self.config.opponents.past)]
        self.processes.summed(np.zeros(1))  # all wait until the file is there
        self._load_past()

    def _load_past(self) -> None:
        past = {}
        for name in self.standing.past:
            actor = self.run.past.get(name)
            if actor is None:
                actor = self.run.new_actor()
                actor.load_state_dict(self.folder.read_past(name))
            past[name] = actor
        self.run.past = past


def _points(metrics: Mapping[str, float]) -> dict[str, float]:
    """The means among the figures of an evaluation: `points/<rules>/<opponent>`."""
    return {name: value for name, value in metrics.items() if name.startswith("points/") and name.count("/") == 2}
