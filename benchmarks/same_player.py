"""Measure the coverage of the benchmark's intervals with pairs of equal entries: `python -m benchmarks.same_player`.

Each pair is two entries of one player in a track, with different deals and random numbers. They are scored as by
`noms benchmark score`, but on fewer deals. The two scores are independent, so the half width of the interval of their
difference is the root of the sum of the squares of theirs. This interval should contain 0 in 95 % of the pairs.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import tyro

from noms_training.agents.spec import BLOCK
from noms_training.benchmark.cells import Playing, cells_of_entry, play_cells
from noms_training.benchmark.entry import Entry
from noms_training.benchmark.protocol import DEAL_SET, PROTOCOLS, V2
from noms_training.benchmark.scores import summary, values_of
from noms_training.evaluation.duplicate import SaltedSet
from noms_training.progress_bar import progress_bar


@dataclass
class Args:
    """Command-line arguments."""

    player: str = "greedy"
    """name of the player"""
    tracks: tuple[str, ...] = PROTOCOLS[V2].tracks
    """tracks of the entries"""
    games: tuple[str, ...] = PROTOCOLS[V2].games
    """games of the entries"""
    pairs: int = 100
    """pairs of entries"""
    first: int = 0
    """number of the first pair; the number determines the deals"""
    deals: int = 128
    """duplicate deals in each field"""
    searched_deals: int = 16
    """duplicate deals in each field with a search"""
    threads: int = os.cpu_count() or 1
    """number of threads; does not change results"""


def cells_of(args: Args, track: str) -> list[Playing]:
    """Return the cells of an entry in a track, with fewer deals if a player searches."""
    entry = Entry(args.player, "fixed", args.player, args.games, protocol=V2)
    most = {False: args.deals, True: args.searched_deals}
    cells = {slow: cells_of_entry(entry, Path(), [track], most=deals) for slow, deals in most.items()}
    return [playing for slow in most for playing in cells[slow] if (playing.pairings[0].block < BLOCK) == slow]


def apart(playing: Playing, number: int) -> Playing:
    """Return an unplayed copy of a cell with the deals and random numbers of entry `number`."""
    deal_set = SaltedSet(DEAL_SET, f"same player, {number}".encode())
    pairings = tuple(replace(pairing, deal_set=deal_set, seed=number) for pairing in playing.pairings)
    return replace(playing, cell=replace(playing.cell, blocks={}, lost={}), pairings=pairings)


def figures(cells: list[Playing], number: int, threads: int) -> dict[str, dict[str, float]]:
    """Play an entry and return its figures with intervals."""
    playing = [apart(part, number) for part in cells]
    if play_cells(playing, None, threads=threads)[0] != "all":
        raise SystemExit("stopped by Ctrl-C")
    document: dict[str, Any] = summary(playing[0].cell.part, values_of((part.cell.place, part.cell.values) for part in playing))
    games = {name: game["score"] for name, game in document["games"].items()}
    return {**{f"all games, {name}": figure for name, figure in document["all"].items()}, **games}


def agree(one: dict[str, float], two: dict[str, float]) -> bool:
    """Return whether the interval of the difference of two figures contains 0."""
    return abs(one["value"] - two["value"]) <= math.hypot(*((side["high"] - side["low"]) / 2 for side in (one, two)))


def measure(args: Args, track: str) -> Counter[str]:
    """Count for each figure the pairs that agree."""
    cells, held = cells_of(args, track), Counter[str]()
    with progress_bar(track, "pairs", args.pairs) as tick:
        for pair in range(args.first, args.first + args.pairs):
            one, two = (figures(cells, 2 * pair + side, args.threads) for side in (1, 2))
            held.update({name: int(agree(one[name], two[name])) for name in one})
            tick(1)
    return held


def main(args: Args) -> None:
    """Print the counts of all tracks."""
    for track in args.tracks:
        for name, count in measure(args, track).items():
            print(f"{track}, {name}: {count} of {args.pairs} pairs of {args.player} differ by no more than the intervals say")


if __name__ == "__main__":
    main(tyro.cli(Args, description=__doc__))
