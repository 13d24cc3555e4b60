"""Matches played by several processes, for data sets that take long to make: lots of matches, handed out one by one.

A lot gives the same decisions in any process, and lots are taken in their order, so that the number of workers does not matter.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from noms_env.variants import game, make_rules

from ..agents.registry import agent_spec
from .decisions import SIDE_BY_SIDE, Decisions, columns_of, from_play
from .shards import FileFormat, write_shards

AHEAD = 2
"""Jobs for each worker that are handed out before they are needed; so many results may wait in memory."""

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
        players = [agent_spec(name, self.limit) for name in self.players]
        return from_play(rules, players, min(matches, self.matches - first), self.seed, self.limit, first, self.targets)

    @property
    def lots(self) -> range:
        """The first match of each lot."""
        return range(0, self.matches, SIDE_BY_SIDE)

    @property
    def source(self) -> dict[str, Any]:
        """What a data set says of where it comes from."""
        names = ("variant", "seats", "options", "players", "matches", "seed")
        return {name: getattr(self, name) for name in names} | {"players": list(self.players)}


def from_workers(play: Play, workers: int) -> Iterator[tuple[Decisions, int]]:
    """What `from_play` gives, played by several processes. Nothing is played before it is asked for.

    Raises:
        ValueError: see `from_play`; also if there is not at least one worker.
        ForfeitError: a player failed.
        WorkerError: a process was killed.
    """
    if workers < 1:
        raise ValueError(f"workers must be 1 or more, not {workers}")
    alone = play.lot(0, play.matches)  # complains where something is wrong
    return alone if workers == 1 else _from_processes(play, workers)


def _from_processes(play: Play, workers: int) -> Iterator[tuple[Decisions, int]]:
    deals = 0
    for lot in in_processes(_played, ((play, first) for first in play.lots), workers):
        for decisions, ended in lot:
            decisions["record"] += deals
            yield decisions, ended
        deals = int(decisions["record"][-1]) + 1


def _played(play: Play, first: int) -> list[tuple[Decisions, int]]:
    return list(play.lot(first))


def write_lot(play: Play, first: int, folder: str, file_format: FileFormat = "npz") -> int:
    """Write a lot of the matches as a data set of its own, whole or not at all; returns the number of decisions."""
    source = play.source | {"first": first}
    decisions = (part for part, _ in play.lot(first))
    return write_shards(decisions, Path(folder), source, file_format, columns=columns_of(play.targets)).decisions


def in_processes(function: Callable[..., Result], jobs: Iterable[tuple[Any, ...]], workers: int) -> Iterator[Result]:
    """The results of a function of a module, called by several processes, in the order of the jobs.

    Args:
        function: what is called.
        jobs: its arguments; few are taken before their results are asked for.
        workers: how many processes; they end with the iterator.

    Raises:
        WorkerError: a process was killed.
        Exception: what the function raises.
    """
    context, others = multiprocessing.get_context("spawn"), set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(workers, context, _leave_interrupts_to_the_parent)
    waiting, left = deque[Future[Result]](), iter(jobs)
    try:
        while True:
            for job in left:
                waiting.append(pool.submit(function, *job))
                if len(waiting) >= AHEAD * workers:
                    break
            if not waiting:
                return
            yield waiting.popleft().result()
    except BrokenProcessPool as error:
        raise WorkerError("a process has been killed, perhaps for want of memory") from error
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in set(multiprocessing.active_children()) - others:
            process.terminate()
            process.join()


def _leave_interrupts_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
