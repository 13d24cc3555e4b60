"""Progress of a job on standard error: a bar on a terminal, a line now and then elsewhere."""

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
"""Between two lines where there is no terminal."""
RATE_SECONDS = 60.0
"""Window of the rate."""


@contextmanager
def progress_bar(title: str, what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """Show the progress of a job on standard error.

    Args:
        title: name of the job.
        what: the unit, such as `deals`.
        total: number of units; None if unknown.

    Yields:
        A function to call with the number of units that were just done.
    """
    if not sys.stderr.isatty():
        yield _lines(title, what, total)
        return
    from .console import terminal

    with make_bar(terminal(stderr=True), what, transient=True) as bar:
        task = bar.add_task(title, total=total)
        yield lambda number: bar.advance(task, number)


def make_bar(console: Console, what: str, **options: Any) -> Progress:
    """A bar of Rich: title, share, units done, rate, time left."""
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
    """`1,200 of 4,000 deals · 35.2/s · 1:20 left`; without what is not known."""
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
        """So many units are done now."""
        now = time.monotonic()
        self._seen.append((now, done))
        while len(self._seen) > 2 and self._seen[1][0] < now - RATE_SECONDS:
            self._seen.popleft()

    def per_second(self) -> float:
        """The rate; 0 until it is known."""
        (since, first), (until, last) = self._seen[0], self._seen[-1]
        return (last - first) / (until - since) if until > since else 0.0


def _lines(title: str, what: str, total: int | None) -> Callable[[int], None]:
    """Prints a line on standard error now and then, while the job is neither untouched nor done."""
    done, rate, due = 0, None, time.monotonic() + LINE_SECONDS

    def advance(number: int) -> None:
        nonlocal done, rate, due
        done += number
        rate = rate or Rate(done)  # before the first units are done, code may be compiled
        rate.note(done)
        if time.monotonic() >= due and 0 < done != total:
            due = time.monotonic() + LINE_SECONDS
            print(f"{title}: {counts_text(done, total, what, rate.per_second())}", file=sys.stderr, flush=True)

    return advance
