"""Progress of a job on standard error: a bar on a terminal, occasional lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .text import duration

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

LINE_SECONDS = 30.0
"""Seconds between progress lines without a terminal."""
RATE_SECONDS = 60.0
"""Averaging window of the rate."""


@contextmanager
def progress_bar(title: str, what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """Show the progress of a job on standard error.

    Args:
        title: name of the job.
        what: the unit, such as `deals`.
        total: number of units; None if unknown.

    Yields:
        A function that adds a number of finished units.
    """
    if not sys.stderr.isatty():
        yield _lines(title, what, total)
        return
    from .console import terminal

    with make_bar(terminal(stderr=True), what, transient=True) as bar:
        task = bar.add_task(title, total=total)
        yield lambda number: bar.advance(task, number)


def make_bar(console: Console, what: str, **options: Any) -> Progress:
    """Create a Rich progress bar with title, percentage, units done, rate and time left."""
    from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskProgressColumn, TextColumn
    from rich.table import Column
    from rich.text import Text

    class Counts(ProgressColumn):
        """Units done, rate, time left."""

        def render(self, task: Task) -> Text:
            return Text(counts_text(int(task.completed), task.total, what, task.speed or 0.0), "progress.data.speed")

    title = TextColumn("{task.description}", markup=False)  # a name may hold brackets
    columns = (title, BarColumn(bar_width=None), TaskProgressColumn(), Counts(Column(no_wrap=True)))
    return Progress(*columns, console=console, speed_estimate_period=RATE_SECONDS, expand=True, **options)


def counts_text(done: int, total: float | None, what: str, rate: float) -> str:
    """Return `1,200 of 4,000 deals · 35.2/s · 1:20 left`, without the parts that are unknown."""
    text = f"{done:,} {what}" if total is None else f"{done:,} of {total:,.0f} {what}"
    if rate > 0:
        text += f" · {rate:,.{0 if rate >= 100 else 1}f}/s"
        if total is not None:
            text += f" · {duration(max(0.0, total - done) / rate)} left"
    return text


class Rate:
    """Units per second over the last minute."""

    def __init__(self, done: int = 0) -> None:
        self._seen: deque[tuple[float, int]] = deque([(time.monotonic(), done)])

    def note(self, done: int) -> None:
        """Record the number of units done so far."""
        now = time.monotonic()
        self._seen.append((now, done))
        while len(self._seen) > 2 and self._seen[1][0] < now - RATE_SECONDS:
            self._seen.popleft()

    def per_second(self) -> float:
        """Return the rate; 0 before the second record."""
        (since, first), (until, last) = self._seen[0], self._seen[-1]
        return (last - first) / (until - since) if until > since else 0.0


def _lines(title: str, what: str, total: int | None) -> Callable[[int], None]:
    """Print a progress line every `LINE_SECONDS`, between the first and the last unit."""
    done, rate, due = 0, None, time.monotonic() + LINE_SECONDS

    def advance(number: int) -> None:
        nonlocal done, rate, due
        done += number
        rate = rate or Rate(done)  # excludes compilation before the first units
        rate.note(done)
        if time.monotonic() >= due and 0 < done != total:
            due = time.monotonic() + LINE_SECONDS
            print(f"{title}: {counts_text(done, total, what, rate.per_second())}", file=sys.stderr, flush=True)

    return advance
