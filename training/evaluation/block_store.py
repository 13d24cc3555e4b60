"""Results of deals in blocks: which are played, which are left, and what files keep of them.

The deals of a comparison, a tournament, cross-play or a cell of the benchmark are numbered from 0 and played in blocks. What a
block comes to depends on its first deal and its length alone. So blocks may be played in any order, by any thread or machine,
or be read from a file, and the figures are the same.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import takewhile
from pathlib import Path
from threading import Event
from typing import Any, Generic, TypeVar

import numpy as np

from noms_env._files import read_file, write_atomically
from noms_env._json import parse_json

from ..thread_pool import Ending, run_jobs

Result = TypeVar("Result")
Play = Callable[[int, int, Event], Result]
"""Plays a block, from its first deal and its number of deals; raises `Stopped` once the event is set."""


class NothingPlayedError(Exception):
    """Stopped before two deals were done; `ending` tells by what."""

    def __init__(self, ending: Ending) -> None:
        super().__init__("stopped before two deals were done")
        self.ending = ending


@dataclass
class Blocks(Generic[Result]):
    """The blocks of a series of deals.

    Attributes:
        deals: how many there are.
        size: deals of a block; the last may have fewer.
        results: of the blocks that are played, by first deal.
        stretch: no block spans two stretches of so many deals; None if all deals are one.
    """

    deals: int
    size: int
    results: dict[int, Result] = field(default_factory=dict)
    stretch: int | None = None

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """The first deal and the number of deals of each block."""
        stretch = self.stretch or self.deals
        starts = range(0, self.deals, stretch) if self.deals else ()
        return ((start + at, min(self.size, stretch - at)) for start in starts for at in range(0, stretch, self.size))

    @property
    def left(self) -> list[tuple[int, int]]:
        """The blocks that are not played."""
        return [block for block in self if block[0] not in self.results]

    @property
    def done(self) -> list[tuple[int, int]]:
        """The blocks that are played up to the first that is not."""
        return [*takewhile(lambda block: block[0] in self.results, self)]

    @property
    def deals_done(self) -> int:
        """Deals of the blocks of `done`."""
        return sum(count for _, count in self.done)

    def joined(self, ending: Ending) -> list[Result]:
        """The results of the blocks of `done`, in their order.

        Raises:
            NothingPlayedError: they have fewer than two deals; `ending` says why.
        """
        if self.deals_done < 2:
            raise NothingPlayedError(ending)
        return [self.results[first] for first, _ in self.done]


def play_left(
    series: Sequence[tuple[Blocks[Result], Play[Result]]],
    threads: int = 1,
    *,
    until: float | None = None,
    keep: Callable[[int, int, Result], None] = lambda number, first, result: None,
    tick: Callable[[int], None] = lambda deals: None,
) -> Ending:
    """Play the blocks that are left of some series, which keep pace with one another.

    Args:
        series: the blocks, to which results are added, and what plays them.
        threads: that share the blocks; they change no result.
        until: when to stop, on the clock of `time.monotonic`.
        keep: is given each result, with the number of its series and its first deal, in the calling thread.
        tick: is told how many more deals are done; first those that were done before, if any.

    Raises:
        Exception: what a player or `keep` raised.
    """
    left = sorted((first, number, count) for number, (blocks, _) in enumerate(series) for first, count in blocks.left)
    if before := sum(blocks.deals for blocks, _ in series) - sum(count for *_, count in left):
        tick(before)

    def add(place: int, result: Result) -> None:
        first, number, count = left[place]
        series[number][0].results[first] = result
        keep(number, first, result)
        tick(count)

    jobs = (partial(series[number][1], first, count) for first, number, count in left)
    return run_jobs(jobs, threads, until=until, tick=add).ending


def write_results(path: Path, document: Any) -> None:
    """Write JSON on one line, whole or not at all; OSError if it cannot be written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, json.dumps(document, separators=(",", ":")).encode() + b"\n")


def read_results(path: Path, parse: Callable[[Any], Result]) -> Result | None:
    """The results in a file; None where there is none, or a damaged one, which is reported on standard error.

    Args:
        path: of the file.
        parse: reads the JSON value; ValueError, LookupError, TypeError or AttributeError where it is not as it must be.

    Raises:
        OSError: the file is there and cannot be read.
    """
    if not path.exists():
        return None
    try:
        if not path.is_file():  # a pipe would be waited for
            raise ValueError("it is no file")
        return parse(parse_json(read_file(path), bits=64))
    except (ValueError, LookupError, TypeError, AttributeError):
        print(f"noms: {path} is damaged: its deals are played again", file=sys.stderr, flush=True)
        return None


def points_of(values: Any, rows: int) -> np.ndarray:
    """Points of deals, float64, shape (rows, deals); ValueError if they are not so many rows of finite numbers."""
    points = np.array(values, np.float64)
    if points.ndim != 2 or len(points) != rows or not np.isfinite(points).all():
        raise ValueError(f"points must be {rows} rows of numbers")
    return points
