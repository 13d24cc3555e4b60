"""Parallel play for data sets: worker processes play lots of matches.

The decisions of a lot do not depend on the process, and lots are returned in order. So the number of workers does not change a
data set.
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

AHEAD = 2  # submitted jobs per worker, and so the maximum number of results in memory

Lot = list[tuple[Decisions, int]]
Result = TypeVar("Result")


class WorkerError(RuntimeError):
    """A worker process was killed."""


@dataclass(frozen=True)
class Play:
    """Arguments of `from_play`, with rules and players by name, so that they can be pickled."""

    variant: str
    seats: int
    options: Mapping[str, Any]
    players: Sequence[str]
    matches: int
    seed: int = 0
    limit: float | None = None
    targets: bool = False

    def lot(self, first: int, matches: int = SIDE_BY_SIDE) -> Iterator[tuple[Decisions, int]]:
        """Play some of the matches, and yield their decisions."""
        rules, players = make_rules(game(self.variant), self.seats, self.options), agent_specs(self.players, self.limit)
        return from_play(rules, players, min(matches, self.matches - first), self.seed, first, self.targets)

    @property
    def lots(self) -> range:
        """Numbers of the first matches of the lots."""
        return range(0, self.matches, SIDE_BY_SIDE)

    @property
    def source(self) -> dict[str, Any]:
        """Description of the source of a data set."""
        sha256 = {name: file_sha256(name) for name in self.players}
        policies = {name: digest for name, digest in sha256.items() if digest is not None}
        return vars(self) | {"players": list(self.players), "policies": policies, "thumb_version": NEWEST}


def from_workers(play: Play, workers: int = 1, on_ray: bool = False) -> Iterator[tuple[Decisions, int]]:
    """Yield the same as `from_play`, with the same errors, with several processes or a Ray cluster. Play is lazy.

    MissingExtraError if Ray is needed and not installed, WorkerError if a worker process was killed.
    """
    if workers < 1:
        raise ValueError(f"workers must be 1 or more, not {workers}")
    alone = play.lot(0, play.matches)  # validates the arguments
    return alone if workers == 1 and not on_ray else _play_in_parallel(play, workers, on_ray)


def _play_in_parallel(play: Play, workers: int, on_ray: bool) -> Iterator[tuple[Decisions, int]]:
    deals = 0
    for lot in play_lots([(play, first) for first in play.lots], workers, on_ray):
        for decisions, ended in lot:
            yield decisions | {"record": decisions["record"] + deals}, ended  # what comes from Ray cannot be written to
        deals += int(decisions["record"][-1]) + 1


def play_lots(lots: Iterable[tuple[Play, int]], workers: int, on_ray: bool = False) -> Iterator[Lot]:
    """Yield the decisions of lots, given by their first matches, in order; errors as in `from_workers`."""
    return in_ray(play_lot, lots) if on_ray else in_processes(play_lot, lots, workers)


def play_lot(play: Play, first: int) -> Lot:
    """Return the decisions of a lot of matches."""
    return list(play.lot(first))


def _submit_ahead(submit: Callable[..., Any], jobs: Iterable[tuple[Any, ...]], ahead: int) -> Iterator[Any]:
    """Submit jobs, at most `ahead` at a time, and yield the returned handles in order."""
    waiting, left = deque[Any](), iter(jobs)
    while True:
        waiting.extend(submit(*job) for job in itertools.islice(left, ahead - len(waiting)))
        if not waiting:
            return
        yield waiting.popleft()


def in_processes(function: Callable[..., Result], jobs: Iterable[tuple[Any, ...]], workers: int) -> Iterator[Result]:
    """Call a module-level function in worker processes, and yield the results in the order of `jobs`, its arguments.

    Jobs are consumed lazily. The processes end with the iterator. Raises errors of the function, or WorkerError if killed.
    """
    context, others = multiprocessing.get_context("spawn"), set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(workers, context, _init_worker)
    try:
        for future in _submit_ahead(partial(pool.submit, function), jobs, AHEAD * workers):
            yield future.result()
    except BrokenProcessPool as error:
        raise WorkerError("a worker process exited or was killed, perhaps out of memory") from error
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in set(multiprocessing.active_children()) - others:
            process.terminate()
            while process.is_alive():  # `join` can return early while a thread of the pool joins the same process
                process.join()


def _init_worker() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles it
    end_with_parent()


def end_with_parent() -> None:
    """Exit this process when its parent exits, even if the parent is killed."""
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def in_ray(function: Callable[..., Result], jobs: Iterable[tuple[Any, ...]]) -> Iterator[Result]:
    """Run `in_processes` on the Ray cluster at RAY_ADDRESS, or else on a local one that ends with the iterator.

    Every machine of the cluster needs this package, and the players' files under the same names. MissingExtraError without Ray.
    """
    ray = require("ray", "rllib", "--ray")
    is_own = not ray.is_initialized()
    if is_own:
        ray.init(log_to_driver=False)
    try:
        ahead = AHEAD * int(ray.cluster_resources()["CPU"])
        for result in _submit_ahead(ray.remote(function).remote, jobs, ahead):
            yield ray.get(result)
    except ray.exceptions.RayTaskError as error:
        raise error.cause from None  # Ray's own message has the whole stack trace of the worker
    except ray.exceptions.WorkerCrashedError as error:
        raise WorkerError("a worker process was killed repeatedly, perhaps out of memory") from error
    finally:
        if is_own:
            ray.shutdown()
