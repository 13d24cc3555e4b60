"""Matplotlib helpers: colours, grids of panels, payoff tables."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import Any

import numpy as np

from .extras import require

COLOURS = ("#1b7f5c", "#d1495b", "#2e6fb7", "#e08e0b", "#7a4fa3", "#3c3c3c", "#0fa3b1", "#9c6644")
STYLES = ("-", "--", ":", "-.")
GREY = "#777777"
PANEL = (4.2, 2.7)
"""Size of a panel in a grid, in inches."""

DARK = 0.6
"""Share of the largest absolute payoff above which a cell's text is white."""


def panels(number: int, command: str, size: tuple[float, float] = PANEL, columns: int = 3) -> tuple[Any, list[Any]]:
    """Return a figure and its grid of panels of a size in inches, row by row; unused panels of the last row stay empty.

    Raises:
        MissingExtraError: Matplotlib is not installed, and `command` needs it.
    """
    figures = require("matplotlib.figure", "plot", command)
    columns = min(number, columns)
    rows = -(-number // columns)
    picture = figures.Figure(figsize=(size[0] * columns, size[1] * rows + 0.5), layout="constrained")
    grid = list(picture.subplots(rows, columns, squeeze=False).flat)
    for axes in grid[number:]:
        axes.set_axis_off()
    return picture, grid


def plain(axes: Any, title: str = "") -> None:
    """Style a panel: title, faint grid, no frame."""
    axes.set_title(title, fontsize=9.5, loc="left")
    axes.grid(alpha=0.25)
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)


def band(axes: Any, at: np.ndarray, low: np.ndarray, high: np.ndarray, colour: str) -> None:
    """Shade the interval around a curve."""
    axes.fill_between(at, low, high, color=colour, alpha=0.18, linewidth=0)


def as_label(name: str) -> str:
    """Escape dollar signs, so that Matplotlib does not read a name as a formula."""
    return name.replace("$", r"\$")


def shared_legend(grid: Sequence[Any], panel: Any) -> None:
    """Draw one legend for several panels into an empty panel."""
    lines = {label: line for axes in grid for line, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    panel.set_axis_off()
    panel.legend(lines.values(), lines.keys(), fontsize=9, frameon=False, loc="center")


def payoff_table(axes: Any, points: np.ndarray, names: Sequence[object], size: float) -> Any:
    """Draw a payoff matrix as a heat map with numbers, without the diagonal, and return the image for a colour bar.

    `points`, float64, shape (n, n), are payoffs of the row player against the column player; `size` is the font size in points.
    """
    largest = float(np.abs(points).max()) or 1.0
    image = axes.imshow(np.where(np.eye(len(names)) > 0, np.nan, points), cmap="RdBu", vmin=-largest, vmax=largest)
    axes.set_xticks(range(len(names)), names)
    axes.set_yticks(range(len(names)), names)
    for row, column in np.argwhere(~np.eye(len(names), dtype=np.bool_)):
        colour = "white" if abs(points[row, column]) > DARK * largest else "black"
        axes.text(column, row, f"{points[row, column]:+.2f}", ha="center", va="center", color=colour, fontsize=size)
    return image


def png(picture: Any, dots: int = 110) -> bytes:
    """Render a figure as PNG, at `dots` dots per inch."""
    buffer = BytesIO()
    picture.savefig(buffer, format="png", dpi=dots)
    return buffer.getvalue()
