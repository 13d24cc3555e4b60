"""Results of deals in blocks: finished and remaining blocks, and their files.

The deals of a comparison, a tournament, cross-play or a cell of the benchmark are numbered from 0 and played in blocks. The
result of a block depends on its first deal and its length alone. So blocks may be played in any order, by any thread or
machine, or be read from a file: the figures are the same.
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

from noms_env._files import read_file, write_atomically
from noms_env._json import parse_json

from ..thread_pool import Ending, run_jobs

Result = TypeVar("Result")
Play = Callable[[int, int, Event], Result]
"""Plays a block, from its first deal and its number of deals; raises `Stopped` once the event is set."""


class NothingPlayedError(Exception):
    """Stopped before two deals were done; `ending` is the cause."""

    def __init__(self, ending: Ending) -> None:
        super().__init__("stopped before two deals were done")
        self.ending = ending


@dataclass
class Blocks(Generic[Result]):
    """Blocks of a series of deals, each of `size` deals; the last may have fewer.

    `results` are those of the finished blocks, by first deal. No block crosses a stretch of `stretch` deals; None for one
    stretch.
    """

    deals: int
    size: int
    results: dict[int, Result] = field(default_factory=dict)
    stretch: int | None = None

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """Yield the first deal and the number of deals of each block."""
        stretch = self.stretch or self.deals
        starts = range(0, self.deals, stretch) if self.deals else ()
        return ((start + at, min(self.size, stretch - at)) for start in starts for at in range(0, stretch, self.size))

    @property
    def left(self) -> list[tuple[int, int]]:
        """The unfinished blocks."""
        return [block for block in self if block[0] not in self.results]

    @property
    def done(self) -> list[tuple[int, int]]:
        """The finished blocks before the first unfinished one."""
        return [*takewhile(lambda block: block[0] in self.results, self)]

    @property
    def deals_done(self) -> int:
        """Number of deals in `done`."""
        return sum(count for _, count in self.done)

    def joined(self, ending: Ending) -> list[Result]:
        """Return the results of the blocks in `done`, in order.

        Raises:
            NothingPlayedError: they have fewer than two deals; `ending` is the cause.
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
    """Play the unfinished blocks of several series, which advance together: each by its share of its deals.

    Any error of a player or of `keep` is raised.

    Args:
        series: blocks, to which results are added, and the function that plays them.
        threads: number of threads; it changes no result.
        until: deadline by `time.monotonic`; None for no deadline.
        keep: called in the calling thread with the series number, the first deal and the result of each block.
        tick: called with the number of deals just finished; first with the deals finished before, if any.

    Returns:
        What ended the play.
    """
    left = blocks_left([blocks for blocks, _ in series])
    if before := sum(blocks.deals for blocks, _ in series) - sum(count for *_, count in left):
        tick(before)

    def add(index: int, result: Result) -> None:
        number, first, count = left[index]
        series[number][0].results[first] = result
        keep(number, first, result)
        tick(count)

    jobs = (partial(series[number][1], first, count) for number, first, count in left)
    return run_jobs(jobs, threads, until=until, tick=add).ending


def blocks_left(series: Sequence[Blocks[Result]]) -> list[tuple[int, int, int]]:
    """Return the unfinished blocks in the order of play: number of the series, first deal, number of deals."""
    left = [(number, first, count) for number, blocks in enumerate(series) for first, count in blocks.left]
    return sorted(left, key=lambda block: block[1] / series[block[0]].deals)


def write_results(path: Path, document: Any) -> None:
    """Write JSON on one line, whole or not at all; OSError if it cannot be written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, json.dumps(document, separators=(",", ":")).encode() + b"\n")


def read_results(path: Path, parse: Callable[[Any], Result]) -> Result | None:
    """Read results from a file; None if it does not exist, or is damaged, with a warning on standard error.

    `parse` converts the JSON value; it raises ValueError, LookupError, TypeError or AttributeError if the value is invalid.

    Raises:
        OSError: the file exists and cannot be read.
    """
    if not path.exists():
        return None
    try:
        if not path.is_file():  # reading a pipe would block
            raise ValueError("it is no file")
        return parse(parse_json(read_file(path), bits=64))
    except (ValueError, LookupError, TypeError, AttributeError):
        print(f"noms: {path} is damaged: its deals count as not played", file=sys.stderr, flush=True)
        return None
