"""Learning curves (reading, drawing, convergence) and performance profiles. Drawing needs Matplotlib."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import ttest_1samp

from noms_env._files import read_file

from ..pictures import COLOURS, GREY, STYLES, as_label, band, panels, plain, png
from ..text import short_number
from .entry import CURVE, Entry, EntryError, run_folder
from .protocol import PROTOCOLS, V1, Protocol
from .task import COLUMNS

PROFILE_STEPS = 201
COMMAND = "noms benchmark report"
SIZE = (4.6, 3.2)
"""Size of a picture of learning curves, in inches."""
BELOW = 0.3
"""Lower end of such a picture below random play, as a fraction of the distance from random play to `thumb`."""

POINTS = COLUMNS.index("points")
Curve = np.ndarray
"""Learning curve of a run: float64, shape (points, columns), with columns `task.COLUMNS`."""


def curves_of(entry: Entry, folder: Path) -> dict[str, list[Curve]]:
    """Read the learning curves of an entry: by game, one for each seed whose curve has points; EntryError for another file."""
    curves = dict[str, list[Curve]]()
    for name, seed in entry.runs:
        path = run_folder(folder, name, seed) / CURVE
        if path.is_file() and len(curve := read_curve(path)):
            curves.setdefault(name, []).append(curve)
    return curves


def read_curve(path: Path) -> Curve:
    """Read a learning curve; EntryError if the file is not a learning curve."""
    try:
        lines = read_file(path).decode().splitlines()
        rows = [[float(row[column]) for column in COLUMNS] for row in csv.DictReader(lines)]
    except (ValueError, TypeError, LookupError, csv.Error) as error:
        raise EntryError(f"{path} is no learning curve") from error
    curve = np.array(rows).reshape(-1, len(COLUMNS))
    if not np.isfinite(curve).all() or (np.diff(curve[:, 0]) < 0).any():
        raise EntryError(f"{path} is no learning curve")
    return curve


def draw_runs(game: str, runs: Mapping[str, Sequence[Curve]], field: str) -> bytes:
    """Draw the curves of entries in a game, or of `GENERALIST`, as PNG: the mean of the seeds, and their range as a band.

    Points far below random play are cut off, since untrained policies may be there. `field` is the player on the other seats.
    """
    picture, (axes,) = panels(1, COMMAND, SIZE)
    for number, (entry, of_seeds) in enumerate(runs.items()):
        at, points = mean_curve(of_seeds)
        late = at > 0
        if late.any():
            _draw_line(axes, at[late], points.mean(axis=0)[late], entry, number)
            band(axes, at[late], points.min(axis=0)[late], points.max(axis=0)[late], COLOURS[number % len(COLOURS)])
    random = random_points(game)
    for level in (0, random):
        axes.axhline(level, color=GREY, linewidth=0.8, zorder=0)
    axes.set_ylim(bottom=max((1 + BELOW) * random, axes.get_ylim()[0]))
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: short_number(value))
    plain(axes, f"{game}: points above {field}")
    picture.legend(loc="outside lower center", ncols=3, fontsize=7, frameon=False)
    return png(picture)


def mean_curve(runs: Sequence[Curve]) -> tuple[np.ndarray, np.ndarray]:
    """Interpolate the curves of several seeds up to the shortest: decisions, shape (n,), and points, shape (seeds, n)."""
    at = np.unique(np.concatenate([run[:, 0] for run in runs]))
    at = at[at <= min(run[-1, 0] for run in runs)]
    return at, np.array([np.interp(at, run[:, 0], run[:, POINTS]) for run in runs])


def random_points(game: str) -> float:
    """Return points per deal of random play among `thumb` in a game; for `GENERALIST` the mean of all games."""
    by_game = {name: fields["thumb"].zero for name, fields in PROTOCOLS[V1].parts["core"].references.items()}
    return by_game.get(game, float(np.mean([*by_game.values()])))


def late_gain(curves: Mapping[str, Sequence[Curve]]) -> dict[str, float] | None:
    """Return the gain over the last third of the decisions, as a fraction of the distance from random play to the field.

    It is the mean over runs with the 95 % interval (Student's t); None for fewer than two runs.
    """
    gains = list[float]()
    for game, runs in curves.items():
        for run in runs:
            before, end = np.interp([run[-1, 0] * 2 / 3, run[-1, 0]], run[:, 0], run[:, POINTS])
            gains.append((end - before) / -random_points(game))
    if len(gains) < 2:
        return None
    low, high = ttest_1samp(gains, 0).confidence_interval()
    return {"value": float(np.mean(gains)), "low": float(low), "high": float(high)}


def _draw_line(axes: Any, at: np.ndarray, values: np.ndarray, entry: str, number: int, steps: str = "default") -> None:
    """Draw the line of an entry; its number sets colour and style in all pictures."""
    colour, style = COLOURS[number % len(COLOURS)], STYLES[number // len(COLOURS) % len(STYLES)]
    axes.plot(at, values, style, color=colour, label=as_label(entry), drawstyle=steps, linewidth=1.4)


def scale_text(protocol: Protocol) -> str:
    """Return a sentence on the two references of a protocol."""
    return f"{protocol.zero} scores 0, {protocol.one.replace('{policy}', 'POLICY')} scores {protocol.unit:g}"


def draw_profiles(scores: Mapping[str, Sequence[float]], protocol: Protocol) -> bytes:
    """Draw performance profiles, the share of games and seeds in which an entry exceeds a score, as PNG."""
    picture, (axes,) = panels(1, COMMAND, (7.0, 3.5))
    unit = protocol.unit
    low, high = min(0.0, *map(min, scores.values())) - 0.05 * unit, max(unit, *map(max, scores.values())) + 0.05 * unit
    at = np.linspace(low, high, PROFILE_STEPS)
    for number, (entry, of_runs) in enumerate(scores.items()):
        _draw_line(axes, at, (np.array(of_runs)[:, None] > at).mean(axis=0), entry, number, "steps-post")
    axes.set_xlabel(f"score: {scale_text(protocol)}")
    axes.set_ylabel("share of games and seeds above it")
    axes.legend(fontsize=8, frameon=False)
    plain(axes)
    return png(picture)
