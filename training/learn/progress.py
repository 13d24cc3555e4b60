"""Progress of a training run: a live bar with tables on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TextIO

from noms_env.core.actions import PHASES

from ..console import broken, colour, fitted, new_table, terminal
from ..progress_bar import Rate, counts_text, make_bar
from ..text import rules_text
from .log import Watcher

if TYPE_CHECKING:
    from rich.console import Console, Group
    from rich.table import Table

LINE_SECONDS = 10.0  # interval between lines of progress without a terminal
MAX_PROBES = 12
TREND = "▁▂▃▄▅▆▇█"
TREND_LENGTH = 16
UPDATES = {
    "losses/approx_kl": "approximate KL",
    "losses/clipfrac": "clip fraction",
    "losses/explained_variance": "explained variance",
    "charts/learning_rate": "learning rate",
    **{f"losses/entropy/{phase}": f"entropy, {phase}" for phase in PHASES},
}
"""Displayed figures of the update, and their labels."""
PARTS = ("play", "network", "learn")  # parts of an iteration with a time: play, inference in play, and the update


@dataclass
class Points:
    """Mean points per deal against one opponent, by evaluation, and the newest 95 % interval."""

    means: list[float] = field(default_factory=list)
    low: float = float("nan")
    high: float = float("nan")

    def text(self) -> str:
        """Return the newest value: `+2.31 ±0.12`."""
        return f"{self.means[-1]:+.2f} ±{(self.high - self.low) / 2:.2f}"

    def trend(self) -> str:
        """Return the last means as a sparkline."""
        recent = self.means[-TREND_LENGTH:]
        low, high = min(recent), max(recent)
        step = (high - low) / (len(TREND) - 1) or 1.0
        return "".join(TREND[round((value - low) / step)] for value in recent)


@dataclass
class Figures:
    """Newest value of every figure of a run, and the points by (rules, opponent)."""

    latest: dict[str, float] = field(default_factory=dict)
    points: dict[tuple[str, str], Points] = field(default_factory=dict)

    def add_evaluation(self, metrics: Mapping[str, float]) -> None:
        self.latest |= metrics
        for name, value in metrics.items():
            if name.startswith("eval/points/") and name.count("/") == 3:
                _, _, rules, opponent = name.split("/")
                points = self.points.setdefault((rules, opponent), Points())
                points.means.append(value)
                points.low, points.high = (metrics.get(f"{name}/{end}", value) for end in ("low", "high"))


class Lines(Watcher):
    """Prints a line of progress at intervals, for files and pipes."""

    def __init__(self, stream: TextIO, every: float = LINE_SECONDS) -> None:
        self._stream, self._every = stream, every
        self.started(0, 1)

    def started(self, done: int, total: int) -> None:
        self._figures, self._rate, self._compiles = Figures(), Rate(done), True
        self._total, self._next = total, 0.0

    def iteration(self, decisions: int, metrics: Mapping[str, float]) -> None:
        if self._compiles:  # the first iteration compiles, so its rate does not count
            self._compiles, self._rate = False, Rate(decisions)
        self._rate.note(decisions)
        if time.monotonic() >= self._next or decisions >= self._total:
            self._next = time.monotonic() + self._every
            counts = counts_text(decisions, self._total, "decisions", self._rate.per_second())
            self.note(f"{min(1.0, decisions / self._total):4.0%} · {counts}")

    def evaluation(self, decisions: int, metrics: Mapping[str, float]) -> None:
        self._figures.add_evaluation(metrics)
        for rules in dict.fromkeys(rules for rules, _ in self._figures.points):
            points = [f"v {name} {row.text()}" for (of, name), row in self._figures.points.items() if of == rules]
            where = f", {rules_text(rules)}" if len({rules for rules, _ in self._figures.points}) > 1 else ""
            self.note(f"after {decisions:,} decisions{where}: {' · '.join(points)} points")

    def note(self, text: str) -> None:
        from rich.text import Text

        for part in broken(Text(text), terminal(stderr=True).width):
            print(part.plain, file=self._stream, flush=True)


class Screen(Watcher):
    """A live bar with tables below and notices above, on a terminal while the context is open."""

    def __init__(self, console: Console, title: str, refresh: bool = True) -> None:
        from rich.live import Live

        self._figures, self._total = Figures(), 1
        self._bar = make_bar(console, "decisions", auto_refresh=False)
        self._task = self._bar.add_task(title, total=None)
        self._live = Live(console=console, auto_refresh=refresh, refresh_per_second=2, get_renderable=self._picture)

    def __enter__(self) -> Screen:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def started(self, done: int, total: int) -> None:
        self._total = total
        self._bar.reset(self._task, total=total, completed=done)

    def iteration(self, decisions: int, metrics: Mapping[str, float]) -> None:
        self._figures.latest |= metrics
        self._bar.update(self._task, completed=min(decisions, self._total))
        self._live.refresh()

    def evaluation(self, decisions: int, metrics: Mapping[str, float]) -> None:
        self._figures.add_evaluation(metrics)
        self._live.refresh()

    def note(self, text: str) -> None:
        from rich.text import Text

        self._live.console.print(Text(text, style="dim"))

    def _picture(self) -> Group:
        from rich.columns import Columns
        from rich.console import Group

        tables = [make(self._figures) for make in (points_table, update_table, probe_table)]
        filled = [fitted(table, self._live.console.width) for table in tables if table.row_count]
        return Group(self._bar, Columns(filled, padding=(0, 3))) if filled else Group(self._bar)


def points_table(figures: Figures) -> Table:
    """Make the table of points per deal against the panel, with 95 % interval and trend."""
    from rich.text import Text

    table = new_table("points per deal", "95 %", "trend")
    table.columns[2].justify = "left"
    for (rules, opponent), points in figures.points.items():
        name = Text(f"{rules_text(rules)} v {opponent}")  # no string: Rich would read brackets in a name as markup
        table.add_row(name, Text(points.text(), colour(points.low, points.high)), points.trend())
    return table


def update_table(figures: Figures) -> Table:
    """Make the table of the update: losses, entropy by phase, and shares of time."""
    table = new_table("learning", "")
    for name, text in UPDATES.items():
        if name in figures.latest:
            table.add_row(text, f"{figures.latest[name]:{'.3f' if 'entropy' in name else '.3g'}}")
    seconds = {part: figures.latest.get(f"charts/seconds/{part}", 0.0) for part in PARTS}
    for part, spent in seconds.items() if sum(seconds.values()) > 0 else ():
        table.add_row(f"time, {part}", f"{spent / sum(seconds.values()):.0%}")
    return table


def probe_table(figures: Figures) -> Table:
    """Make the table of the main behaviour statistics, at most `MAX_PROBES`."""
    from ..evaluation.behaviour_stats import MAIN, as_read

    table, latest = new_table("behaviour", ""), figures.latest
    named = dict.fromkeys(name.split("/")[2] for name in latest if name.startswith("eval/probe/"))
    probes = [(rules, probe) for rules in named for probe in MAIN if f"eval/probe/{rules}/{probe}" in latest][:MAX_PROBES]
    several = len({rules for rules, _ in probes}) > 1
    for rules, probe in probes:
        name = f"{MAIN[probe]} ({rules_text(rules)})" if several else MAIN[probe]
        table.add_row(name, as_read(probe, latest[f"eval/probe/{rules}/{probe}"]))
    return table


@contextmanager
def watching(title: str) -> Iterator[Watcher]:
    """Show progress on standard error: a `Screen` with a title on a terminal, else `Lines`."""
    if not sys.stderr.isatty():
        yield Lines(sys.stderr)
        return
    with Screen(terminal(stderr=True), title) as screen:
        yield screen
