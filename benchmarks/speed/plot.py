"""Picture of the results: decisions per second with peers, and time per decision by number of tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.speed.clock import RATE, Measured
from benchmarks.speed.report import Results, figure
from noms_training.extras import require

OURS, PEERS = "#1b7f5c", "#8c8c8c"
CURVES = {"growth/compiled": "compiled loop", "growth/batch": "BatchEnv"}


def draw(results: Results, path: str | Path) -> None:
    """Write a PNG.

    Raises:
        OSError: The file cannot be written.
        MissingExtraError: Matplotlib is not installed.
    """
    figures = require("matplotlib.figure", "plot", "--plot")
    bars = sorted(bars_of(results), key=lambda result: result.median)
    curves = {name: _curve(results, name) for name in CURVES}
    panels: list[tuple[float, Callable[[Any], None]]] = []
    if bars:
        panels.append((1.2 + 0.24 * len(bars), lambda axes: draw_bars(axes, bars)))
    if any(curves.values()):
        panels.append((4.2, lambda axes: draw_growth(axes, curves)))
    heights = [height for height, _ in panels]
    picture = figures.Figure(figsize=(11, sum(heights)), layout="constrained")
    parts = picture.subfigures(len(panels), 1, squeeze=False, height_ratios=heights)[:, 0]
    for part, (_, paint) in zip(parts, panels, strict=True):
        paint(part.subplots())
    picture.savefig(path, format="png", dpi=120)


def bars_of(results: Results) -> list[Measured]:
    """Return the rates of peers and our cases that they compare with; without peers, all our rates."""
    rates = [result for result in results.measured.values() if result.case.unit == RATE]
    peers = [result for result in rates if result.case.of_a_peer]
    compared = {key for result in peers for key in result.case.compared_with}
    return [result for result in rates if result.case.of_a_peer or result.case.key in compared or not peers]


def _curve(results: Results, name: str) -> list[tuple[int, Measured]]:
    points = [(key.rpartition("/"), result) for key, result in results.measured.items()]
    return [(int(size), result) for (start, _, size), result in points if start == name]


def draw_bars(axes: Any, bars: Sequence[Measured]) -> None:
    """Draw decisions per second, fastest on top, with error bars from the lowest to the highest repetition."""
    places = range(len(bars))
    medians = [result.median for result in bars]
    spread = [[result.median - min(result.values) for result in bars], [max(result.values) - result.median for result in bars]]
    colours = [PEERS if result.case.of_a_peer else OURS for result in bars]
    axes.barh(places, medians, color=colours, xerr=spread, error_kw={"linewidth": 1})
    axes.set_yticks(places, [_label(result) for result in bars], fontsize=8)
    axes.bar_label(axes.containers[-1], [figure(value, RATE) for value in medians], padding=6, fontsize=8)
    axes.set_xscale("log")
    axes.set_xlim(right=5 * max(medians))
    axes.set_ylim(-0.7, len(bars) - 0.3)
    axes.set_xlabel("decisions per second (logarithmic)")
    what = "Training" if any(result.case.key.startswith("train/") for result in bars) else "Random play"
    axes.set_title(f"{what}, decisions per second: noms_env (green) and peers (grey)", fontsize=10)


def _label(result: Measured) -> str:
    group, _, rest = result.case.key.partition("/")
    if result.case.of_a_peer:
        return f"{group}: {result.case.text}"
    game = {"oh_hell": "down_up with ten cards", "games": rest, "seats": "down_up", "train": rest}.get(group, "small_ships")
    return f"noms_env, {game}: {result.case.text}"


def draw_growth(axes: Any, curves: dict[str, list[tuple[int, Measured]]]) -> None:
    """Draw nanoseconds per decision over the number of tables."""
    for name, points in curves.items():
        if points:
            sizes = [size for size, _ in points]
            axes.plot(sizes, [result.median for _, result in points], marker="o", label=CURVES[name])
            lows, highs = [min(result.values) for _, result in points], [max(result.values) for _, result in points]
            axes.fill_between(sizes, lows, highs, alpha=0.2)
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.set_ylim(bottom=0)
    axes.set_xlabel("tables")
    axes.set_ylabel("ns per decision")
    axes.set_title("Time of a decision, mask and observation written, one core", fontsize=10)
    axes.legend()
