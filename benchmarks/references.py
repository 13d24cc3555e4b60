"""The points of the two references of the benchmark, which are 0 and 1 of its scores. `python -m benchmarks.references OUT`.

Done once for a protocol: `random` and `thumb` play in all fields, and their points are written to `references.json` beside the
protocol. OUT has an entry of each; what is played there is not played again. The fields that search take an hour on two cores.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from noms_training.benchmark import protocol
from noms_training.benchmark.cells import cells_of_entry, play_cells
from noms_training.benchmark.entry import Entry, write_entry, write_json
from noms_training.benchmark.protocol import GAMES, ONE, PARTS, PROTOCOL, ZERO
from noms_training.progress_bar import progress_bar

FILE = Path(protocol.__file__).parent / "references.json"


@dataclass
class Args:
    """The settings; `--help` prints them."""

    out: Annotated[Path, tyro.conf.Positional]
    """folder of the two entries"""
    parts: tuple[protocol.Part, ...] = ("core", "search")
    """fields that are played; those that are left out keep their references"""
    threads: int = os.cpu_count() or 1
    """threads, which change no result"""
    file: Path = FILE
    """the file that is written"""


def main(args: Args) -> None:
    """Play what is missing, and write the references."""
    points: dict[str, dict[str, list[float]]] = {name: {} for name in GAMES}
    for name in (ZERO, ONE):
        folder = args.out / name
        entry = Entry(name, "fixed", name)
        write_entry(folder, entry)
        playing = cells_of_entry(entry, folder, [part for part in PARTS if part in args.parts], kept=folder)
        with progress_bar(name, "deals", sum(one.cell.field.deals for one in playing)) as tick:
            if play_cells(playing, folder, threads=args.threads, tick=tick)[0] != "all":
                raise SystemExit("stopped by Ctrl-C; the same words go on")
        for one in playing:
            points[one.cell.game].setdefault(one.cell.field.name, []).append(float(one.cell.values.mean()))
    before = protocol.references()
    for name, fields in before.items():
        for field, pair in fields.items():
            points[name].setdefault(field, [pair.zero, pair.one])
    write_json(args.file, {"protocol": PROTOCOL, "zero": ZERO, "one": ONE, "points": points})


if __name__ == "__main__":
    main(tyro.cli(Args))
