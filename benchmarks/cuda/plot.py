"""Plot of the results of `python -m benchmarks.cuda`: `python -m benchmarks.cuda.plot build/cuda.json docs/gpu.svg`."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from noms_training.extras import MissingExtraError, require

LINES = {"launch": "GPU, many steps a launch", "calls": "GPU, calls of BatchEnv", "graph": "GPU, replays of a CUDA graph"}
COLOURS = {"launch": "#1b7f5c", "calls": "#4c6fb1", "graph": "#b1774c"}
CORE = "#8c8c8c"


def main(words: list[str] | None = None) -> int:
    """Draw the plot; on an error print it and return 2."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cuda.plot", description="Plot the rates of a GPU.")
    parser.add_argument("json", type=Path, help="results of `python -m benchmarks.cuda`")
    parser.add_argument("picture", type=Path, help="SVG or PNG file to write")
    arguments = parser.parse_args(words)
    try:
        draw(speed_of(arguments.json), arguments.picture)
    except (OSError, ValueError, MissingExtraError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def speed_of(file: Path) -> dict[str, Any]:
    """Read the rates in a file.

    Raises:
        OSError: the file cannot be read.
        ValueError: it has no rates.
    """
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
        speed: dict[str, Any] = document["speed"]
        rates = [speed["bandwidth"], speed["bytes a decision"], speed["core"][speed["game"]]]
        rates += [rate for row in speed["by tables"].values() for rate in row.values() if rate is not None]
        if not speed["by tables"] or not all(isinstance(rate, int | float) and rate > 0 for rate in rates):
            raise KeyError
        [int(tables) for tables in speed["by tables"]]
    except (KeyError, TypeError, AttributeError, ValueError):
        raise ValueError(
            f"{file} has no rates by number of tables: it must be a file from `python -m benchmarks.cuda`"
        ) from None
    return {**speed, "gpu": str(document.get("gpu", "GPU"))}


def draw(speed: dict[str, Any], picture: Path) -> None:
    """Plot decisions per second against tables, for the GPU and one core, with the share of the memory bandwidth.

    Raises:
        MissingExtraError: matplotlib is not installed.
        OSError: the picture cannot be written.
        ValueError: its format is unknown.
    """
    figure = require("matplotlib.figure", "plot", "the picture").Figure(figsize=(7.5, 4.5), layout="constrained")
    axes = figure.subplots()
    sizes = [int(tables) for tables in speed["by tables"]]
    for name, label in LINES.items():
        points = [(size, row.get(name)) for size, row in zip(sizes, speed["by tables"].values(), strict=True)]
        known = [(size, rate) for size, rate in points if rate is not None]
        if known:
            axes.plot(*zip(*known, strict=True), marker="o", color=COLOURS[name], label=label)
    axes.axhline(speed["core"][speed["game"]], color=CORE, linestyle="--", label="one core of the same machine")
    axes.set_xscale("log", base=4)
    axes.set_yscale("log")
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.set_xlabel("tables")
    axes.set_ylabel("decisions a second")
    axes.set_title(f"Random play of {speed['game']}, mask and observation written: {speed['gpu']}", fontsize=10)
    axes.legend(fontsize=8)
    to_share = speed["bytes a decision"] / speed["bandwidth"]
    share = axes.secondary_yaxis("right", functions=(lambda rate: 100 * rate * to_share, lambda part: part / to_share / 100))
    share.set_ylabel("of the memory's bandwidth, %")
    figure.savefig(picture, metadata={"Date": None} if picture.suffix == ".svg" else None)


if __name__ == "__main__":
    sys.exit(main())
