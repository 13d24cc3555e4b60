"""Thread pools: compiled code and torch release the interpreter lock, so threads share the cores.

A `ThreadPool` runs a list of jobs and waits for all of them. `run_jobs` takes jobs from a stream until it ends or is stopped.
The finished jobs always form a prefix of the stream, so a stopped run has the same figures as a smaller one.
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
"""Seconds between checks of the clock."""
WAITING = 2
"""Jobs queued in advance, so that no thread is ever idle."""


class ThreadPool:
    """Threads that run one job at a time, each with a single torch thread.

    Torch's parallel loops synchronize after every operation. On two cores, two networks of 256 units therefore take about half
    the time in two threads, compared with one after the other.
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._pool = ThreadPoolExecutor(threads, "noms", initializer=_one_thread)

    def all(self, jobs: Sequence[Callable[[], Result]]) -> list[Result]:
        """Run jobs and return their results in order; the first error is raised after all jobs have ended."""
        handed_out = [self._pool.submit(job) for job in jobs]
        for job in handed_out:
            job.exception()
        return [job.result() for job in handed_out]

    def close(self) -> None:
        self._pool.shutdown()


class InOrder(ThreadPool):
    """Pool that runs jobs one after another in the calling thread, such as on a GPU, which schedules its own work."""

    def __init__(self) -> None:
        self.threads = 1

    def all(self, jobs: Sequence[Callable[[], Result]]) -> list[Result]:
        return [job() for job in jobs]

    def close(self) -> None:
        pass


def _one_thread() -> None:
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


class Stopped(Exception):
    """Raised by a job that gives up because the run was stopped."""


@dataclass(frozen=True)
class Done(Generic[Result]):
    """Results of a run of jobs.

    Attributes:
        results: results of the finished prefix of the jobs, in order.
        ending: `all` if every job finished, else what stopped the run.
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
    """Run jobs in parallel.

    Args:
        jobs: each receives an event, and may raise `Stopped` once it is set.
        threads: number of threads.
        until: deadline by `time.monotonic`; None for no deadline.
        tick: called in the calling thread with the number and the result of each finished job.

    Returns:
        The results; after Ctrl-C or the deadline only those before the first unfinished job.

    Raises:
        Exception: any error of a job; the other jobs are stopped.
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
