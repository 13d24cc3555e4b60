"""The payoff table of a tournament as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from training.extras import require
from training.text import short_names

if TYPE_CHECKING:
    from training.evaluation.tournament import Results

CELL, MARGIN = 1.1, 2.2
"""In inches."""
DARK = 0.6
"""Shares of the largest value above which the writing is white."""


def draw_heatmap(results: Results, path: Path) -> None:
    """Write a PNG: a cell for each player alone (rows) in a field of each other (columns), the best player first.

    Raises:
        MissingExtraError: Matplotlib is not installed.
        OSError: the file cannot be written.
    """
    figures = require("matplotlib.figure", "plot", "the heat map of a tournament")
    order = results.order()
    short = short_names(results.plan.players)
    names = [short[player] for player in order]
    means = results.values.mean(axis=2)[np.ix_(order, order)]
    most = float(np.abs(means).max()) or 1.0
    size = CELL * len(order) + MARGIN
    picture = figures.Figure(figsize=(size + 1, size), layout="constrained")
    axes = picture.subplots()
    shown = axes.imshow(np.where(np.eye(len(order)) > 0, np.nan, means), cmap="RdBu", vmin=-most, vmax=most)
    axes.set_xticks(range(len(order)), names, rotation=30, ha="right")
    axes.set_yticks(range(len(order)), names)
    axes.set_xlabel("the field")
    axes.set_ylabel("alone")
    for row, column in np.argwhere(~np.eye(len(order), dtype=np.bool_)):
        colour = "white" if abs(means[row, column]) > DARK * most else "black"
        axes.text(column, row, f"{means[row, column]:+.2f}", ha="center", va="center", color=colour)
    rules = results.plan.rules
    axes.set_title(f"{rules.variant.name}, {rules.seats} seats: points per deal", fontsize=10)
    picture.colorbar(shown, shrink=0.7)
    picture.savefig(path, format="png", dpi=120)
