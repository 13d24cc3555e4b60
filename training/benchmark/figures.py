"""The pictures of a report: learning curves, cross-play, performance profiles. They need Matplotlib."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from noms_env._files import read_file

from ..pictures import COLOURS, GREY, STYLES, as_label, band, panels, payoff_table, plain, png, shared_legend, side_label
from ..text import short_number
from .entry import CURVE, RUNS, Entry, EntryError
from .protocol import CURVE_FIELD, PROTOCOLS, V1, References
from .task import COLUMNS

PROFILE_STEPS = 201
COMMAND = "noms benchmark report"
LOWEST = -0.3
"""Lowest score in a picture of learning curves."""

Curve = np.ndarray
"""Of a run: float64, shape (points, 6), columns `task.COLUMNS`."""


def curves_of(entry: Entry, folder: Path) -> dict[str, list[Curve]]:
    """The learning curves of an entry, of each game those of all seeds that have one; EntryError if a file holds none."""
    files = {name: [folder / RUNS / name / str(seed) / CURVE for seed in entry.seeds] for name in entry.games}
    curves = {name: [read_curve(path) for path in paths if path.is_file()] for name, paths in files.items()}
    return {name: runs for name, runs in curves.items() if runs}


def read_curve(path: Path) -> Curve:
    """The learning curve in a file; EntryError if it holds none."""
    try:
        lines = read_file(path).decode().splitlines()
        rows = [[float(row[column]) for column in COLUMNS] for row in csv.DictReader(lines)]
    except (ValueError, TypeError, LookupError, csv.Error) as error:
        raise EntryError(f"{path} is no learning curve") from error
    curve = np.array(rows).reshape(-1, len(COLUMNS))
    if not np.isfinite(curve).all() or (np.diff(curve[:, 0]) < 0).any():
        raise EntryError(f"{path} is no learning curve")
    return curve


def draw_curves(
    curves: Mapping[str, Mapping[str, Sequence[Curve]]], column: Literal["score", "points"] = "score", command: str = COMMAND
) -> bytes:
    """Learning curves by entry and game, a panel for each game: the mean of the seeds, and from the lowest to the highest.

    What is below the score `LOWEST` is cut off: a beginner may be far worse than random play.
    """
    games = [name for name in PROTOCOLS[V1].games if any(name in of_games for of_games in curves.values())]
    picture, grid = panels(len(games) + 1, command)  # the last is for the legend
    for axes, name in zip(grid, games, strict=False):
        for number, (entry, of_games) in enumerate(curves.items()):
            runs = [run for run in of_games.get(name, []) if len(run)]
            if runs:
                _draw_runs(axes, runs, entry, number, None if column == "points" else scale_of(name))
        scale = scale_of(name) if column == "points" else References(0.0, 1.0)
        for level in (scale.zero, scale.one):
            axes.axhline(level, color=GREY, linewidth=0.8, zorder=0)
        axes.set_ylim(bottom=max(scale.zero + LOWEST * (scale.one - scale.zero), axes.get_ylim()[0]))
        axes.locator_params(axis="x", nbins=6)
        axes.xaxis.set_major_formatter(lambda value, _: short_number(value))
        plain(axes, name)
    picture.supxlabel("decisions of the learner", fontsize=9)
    if column == "points":
        side_label(picture, f"points a deal above three {CURVE_FIELD}, set dev", f"(lines: random, {CURVE_FIELD})")
    else:
        side_label(picture, "score in the field thumb, set dev", "(0: random, 1: thumb)")
    shared_legend(grid[: len(games)], grid[len(games)])
    return png(picture)


def scale_of(game: str) -> References:
    """What the scores of a learning curve are measured by."""
    return PROTOCOLS[V1].parts["core"].references[game]["thumb"]


def mean_curve(runs: Sequence[Curve], scale: References | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Runs of several seeds up to the end of the shortest: decisions, (n,), and points, or scores on a scale, (seeds, n)."""
    at = np.unique(np.concatenate([run[:, 0] for run in runs]))
    at = at[at <= min(run[-1, 0] for run in runs)]
    points = np.array([np.interp(at, run[:, 0], run[:, COLUMNS.index("points")]) for run in runs])
    return at, points if scale is None else scale.score(points)


def _draw_runs(axes: Any, runs: Sequence[Curve], entry: str, number: int, scale: References | None) -> None:
    at, values = mean_curve(runs, scale)
    _draw_line(axes, at, values.mean(axis=0), entry, number)
    band(axes, at, values.min(axis=0), values.max(axis=0), COLOURS[number % len(COLOURS)])


def _draw_line(axes: Any, at: np.ndarray, values: np.ndarray, entry: str, number: int, steps: str = "default") -> None:
    """The line of the entry with this number, which has its colour and style in all pictures."""
    colour, style = COLOURS[number % len(COLOURS)], STYLES[number // len(COLOURS) % len(STYLES)]
    axes.plot(at, values, style, color=colour, label=as_label(entry), drawstyle=steps, linewidth=1.4)


def draw_profiles(scores: Mapping[str, Sequence[float]]) -> bytes:
    """Performance profiles: the share of games and seeds in which an entry has more than a score."""
    picture, (axes,) = panels(1, COMMAND, (7.0, 3.5))
    low, high = min(0.0, *map(min, scores.values())) - 0.05, max(1.0, *map(max, scores.values())) + 0.05
    at = np.linspace(low, high, PROFILE_STEPS)
    for number, (entry, of_runs) in enumerate(scores.items()):
        _draw_line(axes, at, (np.array(of_runs)[:, None] > at).mean(axis=0), entry, number, "steps-post")
    axes.set_xlabel("score (0: random, 1: thumb)")
    axes.set_ylabel("share of games and seeds above it")
    axes.legend(fontsize=8, frameon=False)
    plain(axes)
    return png(picture)


def draw_cross_play(name: str, tables: Mapping[str, Mapping[str, Any]], seeds: Sequence[int]) -> bytes:
    """The cross-play of an entry: of each game the points of each seed alone among another."""
    picture, grid = panels(len(tables), COMMAND)
    for axes, (game, table) in zip(grid, tables.items(), strict=False):
        payoff_table(axes, np.array(table["points"]), seeds, 8)
        axes.set_title(f"{game}: mean {table['gap']:+.2f}", fontsize=9.5, loc="left")
        axes.tick_params(labelsize=8)
    picture.supxlabel("seed of the field", fontsize=9)
    picture.supylabel("seed alone", fontsize=9)
    picture.suptitle(f"{as_label(name)}: points a deal of a seed alone among another", fontsize=10)
    return png(picture)
