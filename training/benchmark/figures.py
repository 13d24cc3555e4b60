"""The pictures of a report: learning curves, cross-play, performance profiles. They need Matplotlib."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from ..extras import require
from ..publish.plots import COLOURS, DARK, GREY, STYLES
from ..text import short_number
from .entry import CURVE, RUNS, Entry
from .protocol import CURVE_FIELD, GAMES, ONE, ZERO
from .task import COLUMNS

PANEL = (4.2, 2.7)
"""Of a panel, in inches."""
COLUMNS_OF_PANELS = 3
DPI = 110
PROFILE_STEPS = 201
LOWEST = -0.3
"""Lowest score in a picture of learning curves."""

Curve = np.ndarray
"""Of a run: float64, shape (points, 7), columns `task.COLUMNS`."""


def curves_of(entry: Entry, folder: Path) -> dict[str, list[Curve]]:
    """The learning curves of an entry, of each game those of all seeds that have one."""
    found: dict[str, list[Curve]] = {}
    for name in entry.games:
        for seed in entry.seeds:
            path = folder / RUNS / name / str(seed) / CURVE
            if path.exists():
                with path.open(newline="", encoding="utf-8") as file:
                    rows = [[float(row[column]) for column in COLUMNS] for row in csv.DictReader(file)]
                found.setdefault(name, []).append(np.array(rows).reshape(-1, len(COLUMNS)))
    return found


def draw_curves(curves: Mapping[str, Mapping[str, Sequence[Curve]]]) -> bytes:
    """Learning curves by entry and game, a panel for each game: the mean of the seeds, and from the lowest to the highest.

    What is below `LOWEST` is cut off: a beginner may be far worse than random play.
    """
    games = [name for name in GAMES if any(name in of_games for of_games in curves.values())]
    picture, grid = _panels(len(games) + 1)  # the last is for the legend
    grid[len(games)].set_axis_off()
    for axes, name in zip(grid, games, strict=False):
        for number, (entry, of_games) in enumerate(curves.items()):
            runs = [run for run in of_games.get(name, []) if len(run)]
            if runs:
                _draw_runs(axes, runs, entry, number)
        for level in (0.0, 1.0):
            axes.axhline(level, color=GREY, linewidth=0.8, zorder=0)
        axes.set_title(name, fontsize=9.5, loc="left")
        axes.set_ylim(bottom=max(LOWEST, axes.get_ylim()[0]))
        axes.locator_params(axis="x", nbins=6)
        axes.xaxis.set_major_formatter(lambda value, _: short_number(value))
        _plain(axes)
    picture.supxlabel("decisions of the learner", fontsize=9)
    picture.supylabel(f"score in the field {CURVE_FIELD}, set dev (0: {ZERO}, 1: {ONE})", fontsize=9)
    _legend(grid[: len(games)], grid[len(games)])
    return _png(picture)


def _draw_runs(axes: Any, runs: Sequence[Curve], entry: str, number: int) -> None:
    at = np.unique(np.concatenate([run[:, 0] for run in runs]))
    at = at[at <= min(run[-1, 0] for run in runs)]
    scores = np.array([np.interp(at, run[:, 0], run[:, COLUMNS.index("score")]) for run in runs])
    colour, style = COLOURS[number % len(COLOURS)], STYLES[number // len(COLOURS) % len(STYLES)]
    axes.plot(at, scores.mean(axis=0), style, color=colour, label=entry, linewidth=1.4)
    axes.fill_between(at, scores.min(axis=0), scores.max(axis=0), color=colour, alpha=0.18, linewidth=0)


def draw_profiles(scores: Mapping[str, Sequence[float]]) -> bytes:
    """Performance profiles: the share of games and seeds in which an entry has more than a score."""
    figures = require("matplotlib.figure", "plot", "noms benchmark report")
    picture = figures.Figure(figsize=(7.0, 4.0), layout="constrained")
    axes = picture.subplots()
    low = min(0.0, *(min(found) for found in scores.values())) - 0.05
    high = max(1.0, *(max(found) for found in scores.values())) + 0.05
    at = np.linspace(low, high, PROFILE_STEPS)
    for number, (entry, found) in enumerate(scores.items()):
        share = (np.array(found)[:, None] > at).mean(axis=0)
        style = STYLES[number // len(COLOURS) % len(STYLES)]
        axes.plot(at, share, style, color=COLOURS[number % len(COLOURS)], label=entry, drawstyle="steps-post", linewidth=1.4)
    axes.set_xlabel(f"score (0: {ZERO}, 1: {ONE})")
    axes.set_ylabel("share of games and seeds above it")
    axes.legend(fontsize=8, frameon=False)
    _plain(axes)
    return _png(picture)


def draw_cross_play(name: str, tables: Mapping[str, Mapping[str, Any]], seeds: Sequence[int]) -> bytes:
    """The cross-play of an entry: of each game the points of each seed alone among another."""
    picture, grid = _panels(len(tables))
    for axes, (game, table) in zip(grid, tables.items(), strict=False):
        points = np.array(table["points"])
        most = max(1e-9, float(np.abs(points).max()))
        axes.imshow(np.where(np.eye(len(seeds)) > 0, np.nan, points), cmap="RdBu", vmin=-most, vmax=most)
        axes.set_xticks(range(len(seeds)), seeds)
        axes.set_yticks(range(len(seeds)), seeds)
        for row, column in np.argwhere(~np.eye(len(seeds), dtype=np.bool_)):
            colour = "white" if abs(points[row, column]) > DARK * most else "black"
            axes.text(column, row, f"{points[row, column]:+.2f}", ha="center", va="center", color=colour, fontsize=8)
        axes.set_title(f"{game}: mean {table['gap']:+.2f}", fontsize=9.5, loc="left")
        axes.tick_params(labelsize=8)
    picture.supxlabel("seed of the field", fontsize=9)
    picture.supylabel("seed alone", fontsize=9)
    picture.suptitle(f"{name}: points a deal of a seed alone among another", fontsize=10)
    return _png(picture)


def _panels(number: int) -> tuple[Any, list[Any]]:
    figures = require("matplotlib.figure", "plot", "noms benchmark report")
    columns = min(number, COLUMNS_OF_PANELS)
    rows = -(-number // columns)
    picture = figures.Figure(figsize=(PANEL[0] * columns, PANEL[1] * rows + 0.4), layout="constrained")
    grid = list(picture.subplots(rows, columns, squeeze=False).flat)
    for axes in grid[number:]:
        axes.set_axis_off()
    return picture, grid


def _plain(axes: Any) -> None:
    axes.grid(alpha=0.25)
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)


def _legend(panels: Sequence[Any], room: Any) -> None:
    """One legend for all panels."""
    found = {label: line for axes in panels for line, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    room.legend(found.values(), found.keys(), fontsize=9, frameon=False, loc="center")


def _png(picture: Any) -> bytes:
    written = BytesIO()
    picture.savefig(written, format="png", dpi=DPI)
    return written.getvalue()
