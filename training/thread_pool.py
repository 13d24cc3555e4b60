"""Work in threads: compiled code and torch release the interpreter's lock, so threads share the cores of a machine.

A `ThreadPool` does some jobs and waits for all of them. `run_jobs` takes jobs from a stream until they end or somebody stops
it; what counts as done is always a prefix of the jobs, so that a run that is stopped has the same figures as a smaller one.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import count, islice, takewhile
from threading import Event
from typing import Generic, Literal, TypeVar

Result = TypeVar("Result")
Ending = Literal["all", "time", "ctrl-c"]
LOOK = 0.25
"""Seconds between two looks at the clock."""
WAITING = 2
"""Jobs that wait for a thread, so that none is ever idle."""


class ThreadPool:
    """Threads that do one job at a time, each with one thread of torch.

    Two networks of 256 units side by side, each on its own core, take about half the time that they take one after the other
    on two cores, since the parallel loops of torch meet after every operation.
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._pool = ThreadPoolExecutor(threads, "noms", initializer=_one_thread)

    def all(self, jobs: Sequence[Callable[[], Result]]) -> list[Result]:
        """The results of some jobs, in their order; the first error of theirs is raised once all have ended."""
        handed_out = [self._pool.submit(job) for job in jobs]
        for job in handed_out:
            job.exception()
        return [job.result() for job in handed_out]

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown()


class InOrder(ThreadPool):
    """Jobs one after another in the present thread, since a GPU has an order of its own."""

    def __init__(self) -> None:
        self.threads = 1

    def all(self, jobs: Sequence[Callable[[], Result]]) -> list[Result]:
        return [job() for job in jobs]

    def close(self) -> None:
        pass


def _one_thread() -> None:
    """Keep torch in the present thread to that thread."""
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


class Stopped(Exception):
    """A job gives up because the others are stopped too."""


@dataclass(frozen=True)
class Done(Generic[Result]):
    """What came of some jobs.

    Attributes:
        results: of the first jobs, in their order.
        ending: whether all are done, or what came in between.
    """

    results: list[Result]
    ending: Ending


def run_jobs(
    jobs: Iterable[Callable[[Event], Result]],
    threads: int = 1,
    *,
    until: float | None = None,
    tick: Callable[[int, Result], None] = lambda number, result: None,
) -> Done[Result]:
    """Do jobs side by side.

    Args:
        jobs: each is given an event, and may raise `Stopped` once that is set.
        threads: that share the jobs.
        until: when to stop, on the clock of `time.monotonic`; never when None.
        tick: is told the number and the result of each job that is done, in the calling thread.

    Returns:
        The results; after Ctrl-C or when the time is over those of the first jobs, up to the first that is not done.

    Raises:
        Exception: what a job raised; the others are stopped.
    """
    stop, left = Event(), enumerate(jobs)
    running: dict[Future[Result], int] = {}
    results: dict[int, Result] = {}
    ending: Ending = "all"
    with ThreadPoolExecutor(max(1, threads), "noms-worker") as pool:
        try:
            while True:
                for number, job in islice(left, max(1, threads) + WAITING - len(running)):
                    running[pool.submit(_unless_stopped, job, stop)] = number
                if not running:
                    break
                if until is not None and time.monotonic() >= until:
                    ending = "time"
                    break
                for future in wait(running, LOOK, FIRST_COMPLETED).done:
                    number = running.pop(future)
                    results[number] = future.result()
                    tick(number, results[number])
        except KeyboardInterrupt:
            ending = "ctrl-c"
        finally:
            stop.set()
    prefix = takewhile(results.__contains__, count())
    return Done([results[number] for number in prefix], ending)


def _unless_stopped(job: Callable[[Event], Result], stop: Event) -> Result:
    if stop.is_set():
        raise Stopped
    return job(stop)
