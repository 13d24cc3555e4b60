"""What a run looks like while it trains: a bar and a table that change in place on a terminal, lines elsewhere.

with watching(total_name) as watcher:
train(config, folder, watcher)
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TextIO

from training.console import new_table
from training.learn.watcher import Watcher
from training.text import duration, kind_text, short

if TYPE_CHECKING:
    from rich.console import Console, Group
    from rich.progress import Progress
    from rich.table import Table

LINE_SECONDS = 10.0
"""Between two lines of progress where there is no terminal."""
RATE_SECONDS = 60.0
"""The last so many seconds tell the speed."""
MOST_PROBES = 12
TREND = "▁▂▃▄▅▆▇█"
TREND_LENGTH = 16
UPDATES = {
    "kl": "approximate KL",
    "clip_fraction": "clip fraction",
    "explained_variance": "explained variance",
    "learning_rate": "learning rate",
}
"""Figures of the update that are shown, in words."""
PHASES = ("call", "trump", "nominate", "play", "suit")


@dataclass
class Points:
    """Points per deal against one opponent, over the evaluations.

    Attributes:
        means: of all evaluations so far, the newest last.
        low, high: ends of the newest 95 % interval.
    """

    means: list[float] = field(default_factory=list)
    low: float = float("nan")
    high: float = float("nan")

    def text(self) -> str:
        """The newest: `+2.31 ±0.12`."""
        return f"{self.means[-1]:+.2f} ±{(self.high - self.low) / 2:.2f}"

    def trend(self) -> str:
        """All so far as a little curve."""
        recent = self.means[-TREND_LENGTH:]
        low, high = min(recent), max(recent)
        step = (high - low) / (len(TREND) - 1) or 1.0
        return "".join(TREND[round((value - low) / step)] for value in recent)


@dataclass
class Figures:
    """The newest figures of a run.

    Attributes:
        done, total: decisions.
        latest: the newest value of every figure.
        points: by (kind, opponent).
    """

    done: int = 0
    total: int = 1
    latest: dict[str, float] = field(default_factory=dict)
    points: dict[tuple[str, str], Points] = field(default_factory=dict)

    def evaluated(self, metrics: Mapping[str, float]) -> None:
        """Take note of an evaluation."""
        self.latest |= metrics
        for name, value in metrics.items():
            if name.startswith("points/") and name.count("/") == 2:
                _, kind, opponent = name.split("/")
                points = self.points.setdefault((kind, opponent), Points())
                points.means.append(value)
                points.low, points.high = (metrics.get(f"{name}/{end}", value) for end in ("low", "high"))

    def entropies(self) -> dict[str, float]:
        """Entropy by phase."""
        return {phase: self.latest[f"entropy/{phase}"] for phase in PHASES if f"entropy/{phase}" in self.latest}

    def probes(self) -> list[tuple[str, str, str]]:
        """Kind, what the probe says, and its value in words: the main ones, as many as there is room for."""
        from training.evaluation.behaviour_stats import MAIN, as_read

        found = []
        for kind in dict.fromkeys(name.split("/")[1] for name in self.latest if name.startswith("probe/")):
            for probe, text in MAIN.items():
                value = self.latest.get(f"probe/{kind}/{probe}")
                if value is not None:
                    found.append((kind, text, as_read(probe, value)))
        return found[:MOST_PROBES]


class Speed:
    """Decisions per second, of the last minute."""

    def __init__(self, done: int) -> None:
        """Begin at so many decisions."""
        self._seen: deque[tuple[float, int]] = deque([(time.monotonic(), done)])

    def note(self, done: int) -> None:
        """So many decisions are done now."""
        now = time.monotonic()
        self._seen.append((now, done))
        while len(self._seen) > 2 and self._seen[1][0] < now - RATE_SECONDS:
            self._seen.popleft()

    def rate(self) -> float:
        """Decisions per second; 0 as long as nothing is known."""
        (since, first), (until, last) = self._seen[0], self._seen[-1]
        return (last - first) / (until - since) if until > since else 0.0


# --------------------------------------------------------------------------------------------------------------- lines


class Lines:
    """A line now and then: for files and pipes."""

    def __init__(self, stream: TextIO, every: float = LINE_SECONDS) -> None:
        """Write to a stream.

        Args:
            stream: such as standard error.
            every: seconds between two lines of progress.
        """
        self._stream, self._every = stream, every
        self._figures, self._speed = Figures(), Speed(0)
        self._next = 0.0

    def started(self, done: int, total: int) -> None:
        """See `Watcher`."""
        self._figures = Figures(done, total)
        self._speed = Speed(done)
        self._next = 0.0

    def iteration(self, decisions: int, metrics: Mapping[str, float]) -> None:
        """See `Watcher`."""
        self._figures.done = decisions
        self._figures.latest |= metrics
        self._speed.note(decisions)
        now = time.monotonic()
        if now >= self._next or decisions >= self._figures.total:
            self._next = now + self._every
            self._print(" · ".join(self._parts()))

    def evaluation(self, decisions: int, metrics: Mapping[str, float]) -> None:
        """See `Watcher`."""
        self._figures.evaluated(metrics)
        for kind in dict.fromkeys(kind for kind, _ in self._figures.points):
            points = [f"v {name} {one.text()}" for (of, name), one in self._figures.points.items() if of == kind]
            probes = [f"{text} {value}" for of, text, value in self._figures.probes() if of == kind]
            where = f"evaluation after {decisions:,} decisions, {kind_text(kind)}"
            self._print(f"{where}: points per deal {' · '.join([*points, *probes])}")

    def note(self, text: str) -> None:
        """See `Watcher`."""
        self._print(text)

    def _parts(self) -> Iterator[str]:
        """What a line of progress says."""
        figures, rate = self._figures, self._speed.rate()
        yield f"{min(1.0, figures.done / figures.total):4.0%}"
        yield f"{figures.done:,} of {figures.total:,} decisions"
        if rate > 0:
            yield f"{rate:,.0f}/s"
            yield f"{duration(max(0, figures.total - figures.done) / rate)} left"
        entropies = " ".join(f"{phase} {value:.2f}" for phase, value in figures.entropies().items())
        if entropies:
            yield f"entropy {entropies}"
        for name, text in UPDATES.items():
            if name in figures.latest and name != "learning_rate":
                yield f"{text} {figures.latest[name]:.3g}"

    def _print(self, line: str) -> None:
        """One line, at once."""
        print(line, file=self._stream, flush=True)


# -------------------------------------------------------------------------------------------------------------- screen


class Screen:
    """A bar, and below it a table, both changing in place; notes stand above."""

    def __init__(self, console: Console, title: str, refresh: bool = True) -> None:
        """Draw on a terminal from `open` to `close`.

        Args:
            console: the terminal.
            title: what the bar says.
            refresh: move the clocks between iterations too.
        """
        from rich.live import Live

        self._figures = Figures()
        self._bar = progress_bar(console)
        self._task = self._bar.add_task(title, total=None)
        self._live = Live(console=console, auto_refresh=refresh, refresh_per_second=2, get_renderable=self._picture)

    def __enter__(self) -> Screen:
        """Begin to draw."""
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the last picture standing."""
        self._live.stop()

    def started(self, done: int, total: int) -> None:
        """See `Watcher`."""
        self._figures.done, self._figures.total = done, total
        self._bar.reset(self._task, total=total, completed=done)

    def iteration(self, decisions: int, metrics: Mapping[str, float]) -> None:
        """See `Watcher`."""
        self._figures.done = decisions
        self._figures.latest |= metrics
        self._bar.update(self._task, completed=min(decisions, self._figures.total))
        self._live.refresh()

    def evaluation(self, decisions: int, metrics: Mapping[str, float]) -> None:
        """See `Watcher`."""
        self._figures.evaluated(metrics)
        self._live.refresh()

    def note(self, text: str) -> None:
        """See `Watcher`."""
        from rich.text import Text

        self._live.console.print(Text(text, style="dim"))

    def _picture(self) -> Group:
        """All that is drawn."""
        from rich.columns import Columns
        from rich.console import Group

        tables = [table for table in (points_table(self._figures), update_table(self._figures)) if table.row_count]
        probes = probe_table(self._figures)
        if probes.row_count:
            tables.append(probes)
        return Group(self._bar, Columns(tables, padding=(0, 3))) if tables else Group(self._bar)


def progress_bar(console: Console) -> Progress:
    """Title, bar, share, decisions, rate, time taken and time left."""
    from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskProgressColumn
    from rich.table import Column
    from rich.text import Text

    class Counts(ProgressColumn):
        """Decisions done, and in a second; time taken, and left."""

        def render(self, task: Task) -> Text:
            parts = [f"{short(task.completed)} decisions"]
            if task.speed:
                parts.append(f"{short(task.speed)}/s")
            parts.append(duration(task.elapsed or 0))
            if task.time_remaining is not None:
                parts.append(f"{duration(task.time_remaining)} left")
            return Text(" · ".join(parts), style="progress.data.speed")

    columns = ("{task.description}", BarColumn(bar_width=None), TaskProgressColumn(), Counts(Column(no_wrap=True)))
    return Progress(*columns, console=console, speed_estimate_period=RATE_SECONDS, expand=True, auto_refresh=False)


def points_table(figures: Figures) -> Table:
    """Points per deal against the panel, with the interval and the way there."""
    from rich.text import Text

    table = new_table("points per deal", "95 %", "trend")
    table.columns[2].justify = "left"
    for (kind, opponent), points in figures.points.items():
        colour = "green" if points.low > 0 else "red" if points.high < 0 else ""
        name = Text(f"{kind_text(kind)} v {opponent}")  # not a string: a name may hold what Rich takes for markup
        table.add_row(name, Text(points.text(), colour), points.trend())
    return table


def update_table(figures: Figures) -> Table:
    """What the updates look like, and the entropy of each phase."""
    table = new_table("learning", "")
    for name, text in UPDATES.items():
        if name in figures.latest:
            table.add_row(text, f"{figures.latest[name]:.3g}")
    for phase, value in figures.entropies().items():
        table.add_row(f"entropy, {phase}", f"{value:.3f}")
    return table


def probe_table(figures: Figures) -> Table:
    """What the players do."""
    table = new_table("behaviour", "")
    probes = figures.probes()
    several = len({kind for kind, _, _ in probes}) > 1
    for kind, text, value in probes:
        table.add_row(f"{text} ({kind_text(kind)})" if several else text, value)
    return table


@contextmanager
def watching(title: str) -> Iterator[Watcher]:
    """What shows the progress on standard error: a screen on a terminal, lines elsewhere.

    Args:
        title: what is trained, for the bar.
    """
    if not sys.stderr.isatty():
        yield Lines(sys.stderr)
        return
    from training.console import terminal

    with Screen(terminal(stderr=True), title) as screen:
        yield screen
