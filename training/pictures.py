"""How pictures look: colours, panels in a grid, payoff tables. They need Matplotlib."""

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
"""Of a panel where many stand side by side, in inches."""
LETTERS = 13
"""To an inch, in writing of 9 points."""
DARK = 0.6
"""Share of the largest value of a payoff table above which the writing is white."""


def panels(number: int, command: str, size: tuple[float, float] = PANEL, columns: int = 3) -> tuple[Any, list[Any]]:
    """A picture with some panels of a size, in inches, and the panels row by row; those behind the last one stay empty.

    Raises:
        MissingExtraError: Matplotlib is not installed; it names the command.
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
    """A panel with its title, a faint grid, and no frame."""
    axes.set_title(title, fontsize=9.5, loc="left")
    axes.grid(alpha=0.25)
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)


def side_label(picture: Any, what: str, more: str) -> None:
    """What the vertical axes of all panels are; what is said besides stands below it where one line is too short for both."""
    fits = len(what) + len(more) < LETTERS * picture.get_figheight()
    picture.supylabel(f"{what}{' ' if fits else chr(10)}{more}", fontsize=9)


def band(axes: Any, at: np.ndarray, low: np.ndarray, high: np.ndarray, colour: str) -> None:
    """The interval around a curve."""
    axes.fill_between(at, low, high, color=colour, alpha=0.18, linewidth=0)


def as_label(name: str) -> str:
    """Somebody's name as writing: no formula, which it might not be."""
    return name.replace("$", r"\$")


def shared_legend(grid: Sequence[Any], room: Any) -> None:
    """One legend for some panels, in a panel that holds nothing else."""
    lines = {label: line for axes in grid for line, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    room.set_axis_off()
    room.legend(lines.values(), lines.keys(), fontsize=9, frameon=False, loc="center")


def payoff_table(axes: Any, points: np.ndarray, names: Sequence[object], size: float) -> Any:
    """A cell for each in a row among each in a column, but for oneself, in colour and as a number of this size.

    Args:
        axes: the panel.
        points: float64, shape (n, n).
        names: of the rows and the columns, n of them.
        size: of the writing, in points.

    Returns:
        What a colour bar is made of.
    """
    most = float(np.abs(points).max()) or 1.0
    shown = axes.imshow(np.where(np.eye(len(names)) > 0, np.nan, points), cmap="RdBu", vmin=-most, vmax=most)
    axes.set_xticks(range(len(names)), names)
    axes.set_yticks(range(len(names)), names)
    for row, column in np.argwhere(~np.eye(len(names), dtype=np.bool_)):
        colour = "white" if abs(points[row, column]) > DARK * most else "black"
        axes.text(column, row, f"{points[row, column]:+.2f}", ha="center", va="center", color=colour, fontsize=size)
    return shown


def png(picture: Any, dots: int = 110) -> bytes:
    """A picture as a file, with so many dots to an inch."""
    written = BytesIO()
    picture.savefig(written, format="png", dpi=dots)
    return written.getvalue()
