"""Measurements by turns: A B C ... A B C ..., so that a busy spell of the machine falls upon all alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median
from time import perf_counter

import numpy as np

RATE, NANOSECONDS, MICROSECONDS, SECONDS, PERCENT = "decisions/s", "ns", "µs", "s", "%"
"""Units. Of a rate more is better, of a time less."""


@dataclass(frozen=True)
class Case:
    """One thing to measure."""

    key: str  # unique, such as `engine/mask`; the part before the first slash is its group
    text: str
    run: Callable[[float], float]  # measures for about so many seconds, at least one piece of work: the figure in `unit`
    unit: str = RATE
    compared_with: tuple[str, ...] = ()  # keys of our cases that do the same work
    of_a_peer: bool = False  # it runs in another package, whose failure ends this case only


@dataclass
class Measured:
    """The figures of a case: one for each repetition, and the seconds of the control loop before each of them."""

    case: Case
    values: list[float] = field(default_factory=list)
    control: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        """The middle figure."""
        return median(self.values)

    def times_slower_than(self, other: Measured) -> float:
        """How many times as fast the other one is, by the medians; both have the same unit."""
        ratio = other.median / self.median
        return ratio if self.case.unit == RATE else 1 / ratio


def rate(work: Callable[[], int]) -> Callable[[float], float]:
    """A measurement of pieces of work that say how many decisions they were: decisions per second of wall time."""

    def run(seconds: float) -> float:
        done, start = 0, perf_counter()
        now = start
        while now - start < seconds or done == 0:
            done += work()
            now = perf_counter()
        return done / (now - start)

    return run


def rated(key: str, text: str, work: Callable[[], int], *compared_with: str, of_a_peer: bool = False) -> Case:
    """A case whose figure is the rate of its work."""
    return Case(key, text, rate(work), compared_with=compared_with, of_a_peer=of_a_peer)


def time_of_each(work: Callable[[], int], unit: float) -> Callable[[float], float]:
    """The same as the time that each takes, in units of so many seconds (1e-9 for nanoseconds)."""
    per_second = rate(work)
    return lambda seconds: 1 / (unit * per_second(seconds))


class Control:
    """A fixed loop of compiled arithmetic and copying, whose time tells how busy the machine was."""

    ROUNDS = 1000
    COPIES = 4

    def __init__(self) -> None:
        self._numbers = np.arange(4096, dtype=np.int64)  # 32 KiB, in the first-level cache
        self._source = np.ones(1 << 23, np.uint8)  # 8 MiB, beyond the second
        self._target = np.zeros(1 << 23, np.uint8)
        self.run()

    def run(self) -> float:
        """Seconds that the loop takes now, about 0.01."""
        start = perf_counter()
        for _ in range(self.ROUNDS):
            np.multiply(self._numbers, 1103515245, out=self._numbers)
            np.add(self._numbers, 12345, out=self._numbers)
        for _ in range(self.COPIES):
            np.copyto(self._target, self._source)
        return perf_counter() - start


def by_turns(
    cases: Sequence[Case],
    repetitions: int,
    seconds: float,
    control: Callable[[], float],
    advance: Callable[[int], None] = lambda number: None,
) -> tuple[dict[str, Measured], dict[str, str]]:
    """Measure all cases once, then all of them again, and so on.

    Args:
        cases: what to measure; each runs once before the first turn, so that nothing is compiled or loaded in it.
        repetitions: turns.
        seconds: time for each case at each turn.
        control: runs the control loop and returns its time.
        advance: is told of each measurement that is done, the first runs included.

    Returns:
        the figures by key, and what failed: why, by key.
    """
    measured = {case.key: Measured(case) for case in cases}
    failed: dict[str, str] = {}
    for turn in range(repetitions + 1):
        for case in cases:
            advance(1)
            if case.key in failed:
                continue
            before = control() if turn else 0.0
            try:
                value = case.run(seconds if turn else 0.0)
            except Exception as error:
                if not case.of_a_peer:
                    raise
                failed[case.key] = f"{type(error).__name__}: {error}"
                continue
            if turn:
                measured[case.key].control.append(before)
                measured[case.key].values.append(value)
    return {key: times for key, times in measured.items() if key not in failed}, failed
