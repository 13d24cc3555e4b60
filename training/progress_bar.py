"""How far a job is that counts deals: a bar with rate and time left on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from training.text import duration

LINE_SECONDS = 30.0
"""Between two lines where there is no terminal."""


@contextmanager
def counting(title: str, what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """Show how far a job is, on standard error.

    Args:
        title: what is done.
        what: is counted, such as `deals`.
        total: how many; None where that is not known.

    Yields:
        A function that is told how many more are done.
    """
    if not sys.stderr.isatty():
        yield Lines(sys.stderr, title, what, total).more
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TimeRemainingColumn
    from rich.text import Text

    from training.console import terminal

    class RateColumn(ProgressColumn):
        """How many a second."""

        def render(self, task: Task) -> Text:
            return Text(f"{what} · {task.speed:,.1f}/s" if task.speed else what)

    columns = ("{task.description}", BarColumn(), MofNCompleteColumn(), RateColumn(), TimeRemainingColumn())
    with Progress(*columns, console=terminal(stderr=True), transient=True, speed_estimate_period=60) as bar:
        task = bar.add_task(title, total=total)
        yield lambda number: bar.advance(task, number)


class Lines:
    """A line now and then; none for what is done before the first is due."""

    def __init__(self, stream: TextIO, title: str, what: str, total: int | None, every: float = LINE_SECONDS) -> None:
        """Begin to count.

        Args:
            stream: such as standard error.
            title: what is done.
            what: is counted.
            total: how many; None where that is not known.
            every: seconds between two lines.
        """
        self._stream, self._title, self._what, self._total, self._every = stream, title, what, total, every
        self._done, self._began = 0, time.monotonic()
        self._next = self._began + every

    def more(self, number: int) -> None:
        """So many more are done."""
        self._done += number
        now = time.monotonic()
        if now >= self._next:
            self._next = now + self._every
            print(self._line(self._done / max(now - self._began, 1e-9)), file=self._stream, flush=True)

    def _line(self, rate: float) -> str:
        """Done, rate and time left."""
        if self._total is None:
            return f"{self._title}: {self._done:,} {self._what} · {rate:,.1f}/s"
        left = duration((self._total - self._done) / rate) if rate > 0 else "?"
        return f"{self._title}: {self._done:,} of {self._total:,} {self._what} · {rate:,.1f}/s · {left} left"
