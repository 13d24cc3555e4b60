"""Matches played by several processes, for data sets that take long to make: lots of matches, handed out one by one.

A lot gives the same decisions in any process, and lots are taken in their order, so that the number of workers does not matter.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import Any

from noms_env.variants import game, make_rules

from ..agents.registry import agent_spec
from .decisions import SIDE_BY_SIDE, Decisions, from_play

AHEAD = 2
"""Lots for each worker that are handed out before they are needed; so many may wait in memory."""

Lot = list[tuple[Decisions, int]]


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

    def lot(self, first: int, matches: int) -> Iterator[tuple[Decisions, int]]:
        """The decisions of some of the matches."""
        rules = make_rules(game(self.variant), self.seats, self.options)
        players = [agent_spec(name, self.limit) for name in self.players]
        return from_play(rules, players, matches, self.seed, self.limit, first, self.targets)


def from_workers(play: Play, workers: int) -> Iterator[tuple[Decisions, int]]:
    """What `from_play` gives, played by several processes. Nothing is played before it is asked for.

    Raises:
        ValueError: see `from_play`; also if there is not at least one worker.
        ForfeitError: a player failed.
        RuntimeError: a process was killed.
    """
    if workers < 1:
        raise ValueError(f"workers must be 1 or more, not {workers}")
    alone = play.lot(0, play.matches)  # complains where something is wrong
    return alone if workers == 1 else _from_processes(play, workers)


def _from_processes(play: Play, workers: int) -> Iterator[tuple[Decisions, int]]:
    context, others = multiprocessing.get_context("spawn"), set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(workers, context, _leave_interrupts_to_the_parent)
    firsts = iter(range(0, play.matches, SIDE_BY_SIDE))
    waiting, deals = deque[Future[Lot]](), 0
    try:
        while True:
            for first in firsts:
                waiting.append(pool.submit(_played, play, first))
                if len(waiting) >= AHEAD * workers:
                    break
            if not waiting:
                break
            for decisions, ended in waiting.popleft().result():
                decisions["record"] += deals
                yield decisions, ended
            deals = int(decisions["record"][-1]) + 1
    except BrokenProcessPool as error:
        raise RuntimeError("a worker has been killed, perhaps for want of memory; nothing is written") from error
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in set(multiprocessing.active_children()) - others:
            process.terminate()
            process.join()


def _leave_interrupts_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _played(play: Play, first: int) -> Lot:
    return list(play.lot(first, min(SIDE_BY_SIDE, play.matches - first)))
