"""Pictures: the learning curves of runs, and the payoff table of a tournament."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from noms_env._files import write_atomically
from noms_env.core.actions import PHASES

from ..evaluation.behaviour_stats import MAIN, NUMBERS
from ..extras import require
from ..learn.log import Series
from ..pictures import COLOURS, GREY, STYLES, band, panels, payoff_table, plain, png
from ..text import rules_text, short_names, short_number

if TYPE_CHECKING:
    from ..evaluation.tournament import Results

SMOOTHED = 120
"""Largest number of points of a drawn curve; longer curves are averaged over neighbours."""
CELL, MARGIN = 1.1, 2.2
"""Size of a cell and of the margin of a payoff table, in inches."""
SIZE, COLUMNS = (6.2, 3.1), 2
"""Size of a panel in inches, and panels per row."""


@dataclass(frozen=True)
class Panel:
    """A panel of the figure.

    Attributes:
        title: its title.
        curves: the label of each metric.
        intervals: whether the log has bounds of each metric, NAME/low and NAME/high.
        percent: whether the values are shares.
        level: a value that a line marks.
        at_least_zero: whether the axis begins at 0.
    """

    title: str
    curves: Mapping[str, str]
    intervals: bool = False
    percent: bool = False
    level: float | None = None
    at_least_zero: bool = False


def draw(runs: Mapping[str, Series], path: str | Path) -> None:
    """Draw learning curves as a PNG, from the metrics of each run (`log.read_log`) by name.

    Raises:
        OSError: the file cannot be written.
        MissingExtraError: Matplotlib is not installed.
        ValueError: there is nothing to draw yet.
    """
    specs, calibrated = list(panels_of(runs)), {name: deciles for name, run in runs.items() if (deciles := deciles_of(run))}
    if not specs:
        raise ValueError("there is nothing to draw yet: the log has no figures")
    picture, grid = panels(len(specs) + bool(calibrated), "noms plot", SIZE, columns=COLUMNS)
    last = max(int(at[-1]) for series in runs.values() for at, _ in series.values())
    for axes, panel in zip(grid, specs, strict=False):
        _draw_panel(axes, panel, runs)
        axes.set_xlim(0, last or 1)  # the same in all panels, also for rare measurements
    for axes in grid[max(0, len(specs) - COLUMNS) : len(specs)]:
        axes.set_xlabel("decisions", fontsize=9)
    if calibrated:
        _draw_calibration(grid[len(specs)], calibrated)
    _write_names(picture, list(runs))
    write_atomically(Path(path), png(picture, 120))


def panels_of(runs: Mapping[str, Series]) -> Iterator[Panel]:
    """Yield the panels for which the runs have metrics."""
    names = list(dict.fromkeys(name for series in runs.values() for name in series))
    for panel in _possible_panels(names):
        curves = {name: label for name, label in panel.curves.items() if name in names}
        if curves:
            yield replace(panel, curves=curves)


def _possible_panels(names: Sequence[str]) -> Iterator[Panel]:
    """Yield all panels: of each game the points against each opponent, all rates in one, and each number; then the losses."""
    for rules in rules_in(names, "eval/points"):
        start = f"eval/points/{rules}/"
        opponents = {name: f"v {name.removeprefix(start)}" for name in names if name.startswith(start) and name.count("/") == 3}
        title = f"{rules_text(rules)}: points per deal above the others, 95 %"
        yield Panel(title, opponents, intervals=True, level=0.0)
    for rules in rules_in(names, "eval/probe"):
        rates = {f"eval/probe/{rules}/{probe}": text for probe, text in MAIN.items() if probe not in NUMBERS}
        yield Panel(f"{rules_text(rules)}: what the policy does", rates, percent=True, at_least_zero=True)
        for probe, text in MAIN.items():
            if probe in NUMBERS:
                yield Panel(f"{rules_text(rules)}: {text}", {f"eval/probe/{rules}/{probe}": text}, at_least_zero=True)
    entropy = {f"losses/entropy/{phase}": phase for phase in PHASES}
    yield Panel("entropy of each phase (1: all legal actions alike)", entropy, at_least_zero=True)
    movement = {
        "losses/approx_kl": "approximate KL",
        "losses/clipfrac": "clip fraction",
        "losses/distillation_kl": "KL to recorded decisions",
    }
    yield Panel("how far an update moves the policy", movement, at_least_zero=True)
    critic = {"losses/explained_variance": "explained variance", "losses/calibration_error": "calibration error"}
    yield Panel("explained variance and calibration error of the critic", critic, level=1.0)
    yield Panel("decisions per second", {"charts/SPS": "all together"}, at_least_zero=True)


def deciles_of(run: Series) -> list[tuple[float, float]]:
    """Return the critic's latest values and the mean returns, by decile."""
    numbers = sorted(int(name.split("/")[2]) for name in run if re.fullmatch("losses/calibration/[0-9]+/value", name))
    names = [(f"losses/calibration/{number}/value", f"losses/calibration/{number}/return") for number in numbers]
    return [(float(run[value][1][-1]), float(run[mean][1][-1])) for value, mean in names if mean in run]


def rules_in(names: Sequence[str], group: str) -> list[str]:
    """Return the rules labels in a group of metrics, such as `noms_4`."""
    return list(dict.fromkeys(name.split("/")[2] for name in names if name.startswith(f"{group}/")))


def _draw_panel(axes: Any, panel: Panel, runs: Mapping[str, Series]) -> None:
    """Draw all runs in one panel: a colour per curve, a line style per run."""
    labelled: set[str] = set()
    for style, series in zip(cycle(STYLES), runs.values(), strict=False):
        for colour, (name, label) in zip(cycle(COLOURS), panel.curves.items(), strict=False):
            if name in series:
                at, values = smooth(*series[name])
                mark = {"marker": "o" if len(at) < 30 else None, "markersize": 2.5, "clip_on": False}
                axes.plot(at, values, style, color=colour, label=None if label in labelled else label, linewidth=1.4, **mark)
                labelled.add(label)
            if panel.intervals and f"{name}/low" in series and f"{name}/high" in series:
                (at, low), (_, high) = series[f"{name}/low"], series[f"{name}/high"]
                band(axes, at, low, high, colour)
    if panel.level is not None:
        axes.axhline(panel.level, color=GREY, linewidth=0.8, zorder=0)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}" if panel.percent else short_number(value))
    if panel.at_least_zero:
        axes.set_ylim(bottom=0)
    axes.xaxis.set_major_formatter(lambda value, _: short_number(value))
    plain(axes, panel.title)
    if len(panel.curves) > 1 or panel.intervals:
        axes.legend(fontsize=7.5, frameon=False, ncols=1 + (len(panel.curves) > 4))


def _draw_calibration(axes: Any, runs: Mapping[str, list[tuple[float, float]]]) -> None:
    """Plot mean returns over predicted values; the diagonal is perfect calibration."""
    for number, deciles in enumerate(runs.values()):
        values, returns = zip(*deciles, strict=True)
        axes.plot(values, returns, STYLES[number % len(STYLES)], color=COLOURS[0], linewidth=1.4, marker="o", markersize=2.5)
    axes.axline((0, 0), slope=1, color=GREY, linewidth=0.8, zorder=0)
    axes.set_xlabel("predicted value, in units of the reward's scale", fontsize=9)
    axes.set_ylabel("mean return", fontsize=9)
    plain(axes, "the critic: mean return over predicted value, by decile")


def smooth(at: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Average neighbouring points of a curve, so that `SMOOTHED` remain; shorter curves stay unchanged.

    `at`, int64, is ascending; `values` is float64; both have shape (n,).
    """
    if len(at) <= SMOOTHED:
        return at, values
    edges = np.linspace(0, len(at), SMOOTHED + 1).astype(int)
    counts = np.diff(edges)
    return np.add.reduceat(at, edges[:-1]) / counts, np.add.reduceat(values, edges[:-1]) / counts


def _write_names(picture: Any, names: list[str]) -> None:
    """Write the name of a single run as title, or a legend of line styles."""
    if len(names) == 1:
        picture.suptitle(names[0], fontsize=11, x=0.01, ha="left", weight="bold")
    else:
        lines = require("matplotlib.lines", "plot", "noms plot")
        handles = [
            lines.Line2D([], [], color="black", linestyle=STYLES[number % len(STYLES)], label=name)
            for number, name in enumerate(names)
        ]
        picture.legend(handles=handles, loc="outside upper left", fontsize=9, frameon=False, ncols=min(4, len(names)))


def draw_heatmap(results: Results, path: Path) -> None:
    """Write a PNG of the payoff table: lone players (rows) in fields of another player (columns), the best first.

    Raises:
        MissingExtraError: Matplotlib is not installed.
        OSError: the file cannot be written.
    """
    order = results.order()
    short = short_names(results.plan.players)
    size = CELL * len(order) + MARGIN
    picture, (axes,) = panels(1, "the heat map of a tournament", (size + 1, size))
    image = payoff_table(axes, results.values.mean(axis=2)[np.ix_(order, order)], [short[player] for player in order], 10)
    for label in axes.get_xticklabels():
        label.set(rotation=30, ha="right")
    axes.set_xlabel("the field")
    axes.set_ylabel("alone")
    rules = results.plan.rules
    axes.set_title(f"{rules.variant.name}, {rules.seats} seats: points per deal", fontsize=10)
    picture.colorbar(image, shrink=0.7)
    write_atomically(Path(path), png(picture, 120))
