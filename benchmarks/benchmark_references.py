"""Measure the two references of each field of the benchmark: `python -m benchmarks.benchmark_references OUT`.

This runs once for a protocol. The player that scores 0 plays all deals of every cell. The player that scores the unit plays
the first deals only: its advantage is the mean difference on these, so luck of the cards cancels out. After each cell,
`references.json` of the benchmark gets both scores in points, and the number of deals of the difference. OUT has an entry of
each player; its deals are not played again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import tyro

from noms_training.benchmark import protocol
from noms_training.benchmark.cells import Cell, Playing, cells_of_entry, play_cells
from noms_training.benchmark.entry import Entry, write_entry, write_json
from noms_training.benchmark.protocol import PROTOCOLS, V2
from noms_training.evaluation.statistics import Estimate, estimate
from noms_training.progress_bar import progress_bar

FILE = Path(protocol.__file__).parent / "references.json"


@dataclass
class Args:
    """Command-line arguments."""

    out: Annotated[Path, tyro.conf.Positional]
    """folder of the two entries"""
    parts: tuple[str, ...] = tuple(name for name, part in PROTOCOLS[V2].parts.items() if part.kind == "score")
    """parts to play, in this order; other parts keep their references"""
    fields: tuple[str, ...] = ()
    """fields to play; all if empty"""
    deals: int = 256
    """first deals of each cell for the comparison of the two players; the settings of a game share them"""
    threads: int = os.cpu_count() or 1
    """number of threads; does not change results"""
    file: Path = FILE
    """output file"""


def differences(one: Cell, zero: Cell) -> np.ndarray:
    """Return the differences in points on the common deals, the first of each setting: float64, shape (deals,)."""
    settings = len(one.part.settings(one.game))
    better = one.values.reshape(settings, -1)
    points: np.ndarray = (better - zero.values.reshape(settings, -1)[:, : better.shape[1]]).reshape(-1)
    return points


def pairs_of_cells(args: Args) -> Iterator[tuple[Playing, Playing]]:
    """Yield the cells of both references in the order of play."""
    by_name = PROTOCOLS[V2]
    for part in args.parts:
        sides = list[list[Playing]]()
        for player, most in ((by_name.zero, None), (by_name.one, args.deals)):
            folder = args.out / ("zero" if most is None else "one")
            entry = Entry(player, "fixed", player, by_name.games, protocol=V2)
            write_entry(folder, entry)
            cells = cells_of_entry(entry, folder, [part], kept=folder, most=most)
            sides.append([part for part in cells if part.cell.field.name in (args.fields or [part.cell.field.name])])
        yield from zip(*sides, strict=True)


def write_references(file: Path, cell: Cell, points: float, gain: Estimate) -> None:
    """Replace the references of a cell in the file."""
    document = json.loads(file.read_text(encoding="utf-8"))
    by_game = document.setdefault(cell.part.protocol, {}).setdefault(cell.part.name, {})
    by_game.setdefault(cell.game, {})[cell.field.name] = [points, points + gain.mean, gain.deals]
    write_json(file, document)


def main(args: Args) -> None:
    """Play the missing deals and write the references."""
    pairs = list(pairs_of_cells(args))
    with progress_bar("references", "deals", sum(side.cell.field.deals for pair in pairs for side in pair)) as tick:

        def play(playing: Playing, name: str) -> None:
            if play_cells([playing], args.out / name, threads=args.threads, tick=tick)[0] != "all":
                raise SystemExit("stopped by Ctrl-C; run the same command to continue")

        for zero, _ in pairs:  # the faster ones first, for a good estimate of the remaining time
            play(zero, "zero")
        for zero, one in pairs:
            play(one, "one")
            points, gain = float(zero.cell.values.mean()), estimate(differences(one.cell, zero.cell))
            write_references(args.file, zero.cell, points, gain)
            name = f"{zero.cell.part.name}, {zero.cell.game}, {zero.cell.field.name}"
            print(f"{name}: {points:.3f}, and {gain.mean:.3f} more ({gain.low:.3f} to {gain.high:.3f})", flush=True)


if __name__ == "__main__":
    main(tyro.cli(Args, description=__doc__))
