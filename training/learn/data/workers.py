"""Matches played by several processes, for data sets that take long to make: lots of matches, handed out one by one.

A lot gives the same decisions in any process, and lots are taken in their order, so that the number of workers does not matter.
"""

from __future__ import annotations

import itertools
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from noms_env.players.registry import NEWEST
from noms_env.variants import game, make_rules

from ...agents.registry import agent_specs, file_sha256
from ...extras import require
from .decisions import SIDE_BY_SIDE, Decisions, from_play

AHEAD = 2
"""Jobs for each worker that are handed out before they are needed; so many results may wait in memory."""

Lot = list[tuple[Decisions, int]]
Result = TypeVar("Result")


class WorkerError(RuntimeError):
    """A process that played has been killed."""


@dataclass(frozen=True)
class Play:
    """What is to be played: the arguments of `from_play`, rules and players by their names, so that processes can share it."""

    variant: str
    seats: int
    options: Mapping[str, Any]
    players: Sequence[str]
    matches: int
    seed: int = 0
    limit: float | None = None
    targets: bool = False

    def lot(self, first: int, matches: int = SIDE_BY_SIDE) -> Iterator[tuple[Decisions, int]]:
        """The decisions of some of the matches."""
        rules = make_rules(game(self.variant), self.seats, self.options)
        players = agent_specs(self.players, self.limit)
        return from_play(rules, players, min(matches, self.matches - first), self.seed, first, self.targets)

    @property
    def lots(self) -> range:
        """The first match of each lot."""
        return range(0, self.matches, SIDE_BY_SIDE)

    @property
    def source(self) -> dict[str, Any]:
        """What a data set says of where it comes from."""
        sha256 = {name: file_sha256(name) for name in self.players}
        policies = {name: digest for name, digest in sha256.items() if digest is not None}
        return vars(self) | {"players": list(self.players), "policies": policies, "thumb_version": NEWEST}


def from_workers(play: Play, workers: int = 1, on_ray: bool = False) -> Iterator[tuple[Decisions, int]]:
    """What `from_play` gives, played by several processes or on a Ray cluster. Nothing is played before it is asked for.

    Raises:
        ValueError, ForfeitError: see `from_play`; also if there is not at least one worker.
        MissingExtraError: Ray is asked for and not installed.
        WorkerError: a process was killed.
    """
    if workers < 1:
        raise ValueError(f"workers must be 1 or more, not {workers}")
    alone = play.lot(0, play.matches)  # complains where something is wrong
    return alone if workers == 1 and not on_ray else _joined(play, workers, on_ray)


def _joined(play: Play, workers: int, on_ray: bool) -> Iterator[tuple[Decisions, int]]:
    deals = 0
    for lot in played_lots([(play, first) for first in play.lots], workers, on_ray):
        for decisions, ended in lot:
            yield decisions | {"record": decisions["record"] + deals}, ended  # what comes from Ray cannot be written to
        deals += int(decisions["record"][-1]) + 1


def played_lots(lots: Iterable[tuple[Play, int]], workers: int, on_ray: bool = False) -> Iterator[Lot]:
    """The decisions of lots of matches, in their order, each given by its first match; errors are as in `from_workers`."""
    return in_ray(play_lot, lots) if on_ray else in_processes(play_lot, lots, workers)


def play_lot(play: Play, first: int) -> Lot:
    """The decisions of a lot of matches."""
    return list(play.lot(first))


def _handed_out(submit: Callable[..., Any], jobs: Iterable[tuple[Any, ...]], ahead: int) -> Iterator[Any]:
    """What `submit` gives for each job, of which so many are handed out before the first is asked for."""
    waiting, left = deque[Any](), iter(jobs)
    while True:
        waiting.extend(submit(*job) for job in itertools.islice(left, ahead - len(waiting)))
        if not waiting:
            return
        yield waiting.popleft()


def in_processes(function: Callable[..., Result], jobs: Iterable[tuple[Any, ...]], workers: int) -> Iterator[Result]:
    """The results of a function of a module, called by so many processes, in the order of the jobs: its arguments.

    Few jobs are taken before their results are asked for. The processes end with the iterator.

    Raises:
        WorkerError: a process was killed.
        Exception: what the function raises.
    """
    context, others = multiprocessing.get_context("spawn"), set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(workers, context, _begin_in_process)
    try:
        for future in _handed_out(partial(pool.submit, function), jobs, AHEAD * workers):
            yield future.result()
    except BrokenProcessPool as error:
        raise WorkerError("a process has ended itself or was killed, perhaps for want of memory") from error
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in set(multiprocessing.active_children()) - others:
            process.terminate()
            while process.is_alive():  # `join` alone returns too early while a thread of the pool waits for the same process
                process.join()


def _begin_in_process() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # which the parent minds
    end_with_parent()


def end_with_parent() -> None:
    """Let this process end with the one that has started it, also where that is killed and can end nobody itself."""
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def in_ray(function: Callable[..., Result], jobs: Iterable[tuple[Any, ...]]) -> Iterator[Result]:
    """As `in_processes`, on the Ray cluster at RAY_ADDRESS, or on one of all cores of this machine that ends with the iterator.

    Every machine of the cluster needs this package, and the players' files under the same names.

    Raises:
        MissingExtraError: Ray is not installed.
        WorkerError: a process was killed again and again.
        Exception: what the function raises.
    """
    ray = require("ray", "rllib", "--ray")
    is_own = not ray.is_initialized()
    if is_own:
        ray.init(log_to_driver=False)
    try:
        ahead = AHEAD * int(ray.cluster_resources()["CPU"])
        for result in _handed_out(ray.remote(function).remote, jobs, ahead):
            yield ray.get(result)
    except ray.exceptions.RayTaskError as error:
        raise error.cause from None  # Ray's own message has the whole stack of the other process
    except ray.exceptions.WorkerCrashedError as error:
        raise WorkerError("a process has been killed again and again, perhaps for want of memory") from error
    finally:
        if is_own:
            ray.shutdown()
