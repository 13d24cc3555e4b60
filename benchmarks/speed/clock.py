"""Measurement in turns, A B C ... A B C ..., so that a busy spell of the machine affects all cases alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median
from time import perf_counter

import numpy as np

RATE, NANOSECONDS, MICROSECONDS, SECONDS, PERCENT = "decisions/s", "ns", "µs", "s", "%"
"""Units of figures. Higher rates and lower times are better."""


@dataclass(frozen=True)
class Case:
    """A case to measure."""

    key: str  # unique, such as `engine/mask`; the part before the first slash is its group
    text: str
    run: Callable[[float], float]  # measures for about this many seconds, at least once; returns the figure in `unit`
    unit: str = RATE
    compared_with: tuple[str, ...] = ()  # keys of our cases that do the same work
    of_a_peer: bool = False  # a failure in another package ends only this case


@dataclass
class Measured:
    """Figures of a case, one per repetition, and the seconds of the control loop before each."""

    case: Case
    values: list[float] = field(default_factory=list)
    control: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        return median(self.values)

    def times_slower_than(self, other: Measured) -> float:
        """Return the speed of `other` relative to this case, by medians; both have the same unit."""
        ratio = other.median / self.median
        return ratio if self.case.unit == RATE else 1 / ratio


def rate(work: Callable[[], int]) -> Callable[[float], float]:
    """Return a measurement of decisions per second of wall time; `work` returns its number of decisions."""

    def run(seconds: float) -> float:
        done, start = 0, perf_counter()
        now = start
        while now - start < seconds or done == 0:
            done += work()
            now = perf_counter()
        return done / (now - start)

    return run


def rate_case(key: str, text: str, work: Callable[[], int], *compared_with: str, of_a_peer: bool = False) -> Case:
    """Return a case that measures the rate of its work."""
    return Case(key, text, rate(work), compared_with=compared_with, of_a_peer=of_a_peer)


def time_case(key: str, text: str, work: Callable[[], int], unit: str) -> Case:
    """Return a case that measures the time per decision of its work, in nanoseconds or microseconds."""
    per_second, units = rate(work), {NANOSECONDS: 1e9, MICROSECONDS: 1e6}[unit]
    return Case(key, text, lambda seconds: units / per_second(seconds), unit)


class Control:
    """Fixed loop of compiled arithmetic and copying, whose time shows how busy the machine is."""

    ROUNDS = 1000
    COPIES = 4

    def __init__(self) -> None:
        self._numbers = np.arange(4096, dtype=np.int64)  # 32 KiB, in the first-level cache
        self._source = np.ones(1 << 23, np.uint8)  # 8 MiB, beyond the second
        self._target = np.zeros(1 << 23, np.uint8)
        self.run()

    def run(self) -> float:
        """Run the loop and return its seconds, about 0.01."""
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
    """Measure all cases in turns, each for some seconds; each also runs once before, for compilation and loading.

    `control` returns the time of the control loop; `advance` is called for each measurement, including the first runs.

    Returns:
        Figures by key, and errors of failed peers by key.
    """
    measured = {case.key: Measured(case) for case in cases}
    failed: dict[str, str] = {}
    for turn in range(repetitions + 1):
        for case in cases:
            advance(1)
            if case.key in failed:
                continue
            try:
                if turn == 0:
                    case.run(0.0)
                else:
                    measured[case.key].control.append(control())
                    measured[case.key].values.append(case.run(seconds))
            except Exception as error:
                if not case.of_a_peer:
                    raise
                failed[case.key] = f"{type(error).__name__}: {error}"
    return {key: times for key, times in measured.items() if key not in failed}, failed
