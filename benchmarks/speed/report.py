"""Results as tables and as JSON."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from statistics import median
from typing import Any

from rich.markup import escape
from rich.table import Table

from benchmarks.speed.clock import RATE, Measured
from noms_training.benchmark import entry
from noms_training.console import new_table

FORM = "noms-bench/1"
PACKAGES = (
    *("noms-env", "numba", "llvmlite", "numpy", "pettingzoo", "gymnasium"),
    *("open-spiel", "rlcard", "pgx", "jax", "jaxlib", "torch", "sb3-contrib", "stable-baselines3"),
)
TITLES = {
    "engine": "Engine: random play of small_ships, compiled",
    "games": "The games: random play, compiled",
    "batch": "small_ships: BatchEnv, from Python",
    "threads": "small_ships: BatchEnv with threads",
    "seats": "down_up: SeatVectorEnv, decisions of the learners",
    "policies": "small_ships: the policy of the package, without torch",
    "single": "small_ships: one table, from Python",
    "oh_hell": "down_up, deals of ten cards, four seats: as OpenSpiel's oh_hell",
    "copies": "Copies of tables",
    "start": "Start, everything compiled before",
    "cold": "Start, nothing compiled before",
    "growth": "small_ships: time of a decision, mask and observation written",
    "train": "The trainer on small_ships: decisions learnt from",
}
"""Titles of the groups of our cases; groups of peers have the peer's name."""
BUSY = 1.2
"""Ratio of the slowest control loop to the median above which the machine was busy."""


@dataclass
class Results:
    """Results of a run: figures by key, settings, missing or failed peers with the reason, bytes per table, UTC date."""

    measured: Mapping[str, Measured]
    settings: Mapping[str, Any]
    missing: Mapping[str, str]
    bytes_per_table: Mapping[str, float] = field(default_factory=dict)
    date: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))

    @property
    def control(self) -> list[float]:
        """Times of the control loop in seconds."""
        return [seconds for result in self.measured.values() for seconds in result.control]

    def ratios(self, result: Measured) -> dict[str, float]:
        """Return the speed of our compared cases relative to this case, by key."""
        known = (key for key in result.case.compared_with if key in self.measured)
        return {key: result.times_slower_than(self.measured[key]) for key in known}

    def groups(self) -> dict[str, list[Measured]]:
        """Return the figures by group, in order of measurement."""
        groups: dict[str, list[Measured]] = {}
        for key, result in self.measured.items():
            groups.setdefault(key.partition("/")[0], []).append(result)
        return groups


def as_json(results: Results) -> dict[str, Any]:
    """Return all results with every repetition as JSON values.

    `faster` of a case has the relative speed of each of our cases that does the same work.
    """
    return {
        "form": FORM,
        "date": results.date,
        "machine": machine(),
        "versions": versions(),
        "settings": dict(results.settings),
        "control": {"unit": "s"} | _summary(results.control),
        "cases": {key: _case(result, results) for key, result in results.measured.items()},
        "bytes_per_table": dict(results.bytes_per_table),
        "missing": dict(results.missing),
    }


def _case(result: Measured, results: Results) -> dict[str, Any]:
    case, figures = result.case, {"values": result.values, "control": result.control} | _summary(result.values)
    return {"text": case.text, "unit": case.unit, "peer": case.of_a_peer} | figures | {"faster": results.ratios(result)}


def _summary(values: list[float]) -> dict[str, Any]:
    return {"min": min(values), "median": median(values), "max": max(values)}


def machine() -> dict[str, Any]:
    """Return the properties of this machine."""
    load = list(os.getloadavg()) if hasattr(os, "getloadavg") else None
    return entry.machine() | {"system": platform.platform(), "python": platform.python_version(), "load": load}


def versions() -> dict[str, str]:
    """Return the versions of installed packages."""
    installed = {}
    for package in PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            installed[package] = metadata.version(package)
    return installed


def as_tables(results: Results) -> Iterator[Table | str]:
    """Yield a table for each group, and further lines to print."""
    for name, group in results.groups().items():
        yield group_table(name, group, results)
    if results.bytes_per_table:
        yield "A table takes " + ", ".join(f"{what} {size:,.0f}" for what, size in results.bytes_per_table.items()) + " bytes"
    for name, reason in results.missing.items():
        yield f"[yellow]missing: {name}[/yellow]: {escape(reason)}"
    yield control_line(results.control)


def group_table(name: str, group: list[Measured], results: Results) -> Table:
    """Return the table of one group."""
    table = new_table("case", "median", "lowest to highest", "times as fast, for the same work", "what")
    table.title, table.title_justify, table.title_style = TITLES.get(name, f"Peer: {name}"), "left", "bold"
    for column in table.columns[3:]:
        column.justify, column.no_wrap = "left", False
    for result in group:
        unit = result.case.unit
        spread = f"{figure(min(result.values), unit)} to {figure(max(result.values), unit)}"
        faster = "\n".join(f"{times(ratio)} {key}" for key, ratio in results.ratios(result).items())
        middle = f"{figure(result.median, unit)}{'/s' if unit == RATE else ' ' + unit}"
        table.add_row(result.case.key, middle, spread, faster, escape(result.case.text))
    return table


def figure(value: float, unit: str) -> str:
    """Format a figure with about three significant digits."""
    if unit != RATE:
        return f"{value:,.1f}" if value >= 10 else f"{value:.2f}"
    if value >= 1e6:
        return f"{value / 1e6:.3g}M"
    return f"{value / 1e3:.3g}k" if value >= 1e4 else f"{value:,.0f}"


def times(ratio: float) -> str:
    """Format a relative speed."""
    return f"{ratio:,.0f} ×" if ratio >= 100 else f"{ratio:.3g} ×"


def control_line(control: list[float]) -> str:
    """Return a line on the control loop, with a notice if the machine was busy."""
    low, middle, high = min(control), median(control), max(control)
    line = f"Control loop: {1e3 * low:.1f} ms at least, {1e3 * middle:.1f} median, {1e3 * high:.1f} at most"
    return f"{line}: [yellow]the machine was not quiet[/yellow]" if high > BUSY * middle else line
