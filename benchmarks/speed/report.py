"""The figures as tables for people and as JSON for programs."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from benchmarks.speed.clock import RATE, Measured
from noms_training.console import new_table

if TYPE_CHECKING:
    from rich.table import Table

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
"""Groups of cases of ours; the groups of the peers are named after them."""
BUSY = 1.2
"""If the slowest run of the control loop took so many times as long as the median, the machine was not quiet."""


@dataclass
class Results:
    """What a run has measured: figures by key, settings, peers that are not there or failed, memory of a table, UTC date."""

    measured: Mapping[str, Measured]
    settings: Mapping[str, Any]
    missing: Mapping[str, str]
    bytes_per_table: Mapping[str, float] = field(default_factory=dict)
    date: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))

    @property
    def control(self) -> list[float]:
        """All times of the control loop, in seconds."""
        return [seconds for result in self.measured.values() for seconds in result.control]

    def ratios(self, result: Measured) -> dict[str, float]:
        """How many times as fast as this case those are that it is compared with."""
        known = (key for key in result.case.compared_with if key in self.measured)
        return {key: result.times_slower_than(self.measured[key]) for key in known}

    def groups(self) -> dict[str, list[Measured]]:
        """The figures by group, in the order of measurement."""
        groups: dict[str, list[Measured]] = {}
        for key, result in self.measured.items():
            groups.setdefault(key.partition("/")[0], []).append(result)
        return groups


def as_json(results: Results) -> dict[str, Any]:
    """Everything, with every repetition: JSON values only.

    The entry `faster` of a case says of each case that does the same work how many times as fast that one is.
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
    case = result.case
    head = {"text": case.text, "unit": case.unit, "peer": case.of_a_peer}
    figures = {"values": result.values, "control": result.control} | _summary(result.values)
    return head | figures | {"faster": results.ratios(result)}


def _summary(values: list[float]) -> dict[str, Any]:
    return {"min": min(values), "median": median(values), "max": max(values)}


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    info = Path("/proc/cpuinfo")
    names = re.findall(r"(?m)^model name\s*: (.*)$", info.read_text()) if info.exists() else []
    return {
        "processor": names[0] if names else platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "load": list(os.getloadavg()) if hasattr(os, "getloadavg") else None,
    }


def versions() -> dict[str, str]:
    """Versions of the packages that are installed."""
    versions_by_package = {}
    for package in PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            versions_by_package[package] = metadata.version(package)
    return versions_by_package


def as_tables(results: Results) -> Iterator[Table | str]:
    """What to print: a table for each group, and some lines."""
    from rich.markup import escape

    for name, group in results.groups().items():
        yield group_table(name, group, results)
    if results.bytes_per_table:
        yield "A table takes " + ", ".join(f"{what} {size:,.0f}" for what, size in results.bytes_per_table.items()) + " bytes"
    for name, reason in results.missing.items():
        yield f"[yellow]missing: {name}[/yellow]: {escape(reason)}"
    yield control_line(results.control)


def group_table(name: str, group: list[Measured], results: Results) -> Table:
    """The figures of one group."""
    from rich.markup import escape

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
    """A figure with three digits that count."""
    if unit != RATE:
        return f"{value:,.1f}" if value >= 10 else f"{value:.2f}"
    if value >= 1e6:
        return f"{value / 1e6:.3g}M"
    return f"{value / 1e3:.3g}k" if value >= 1e4 else f"{value:,.0f}"


def times(ratio: float) -> str:
    """How many times as fast."""
    return f"{ratio:,.0f} ×" if ratio >= 100 else f"{ratio:.3g} ×"


def control_line(control: list[float]) -> str:
    """How steady the machine was."""
    low, middle, high = min(control), median(control), max(control)
    line = f"Control loop: {1e3 * low:.1f} ms at least, {1e3 * middle:.1f} median, {1e3 * high:.1f} at most"
    return f"{line}: [yellow]the machine was not quiet[/yellow]" if high > BUSY * middle else line
