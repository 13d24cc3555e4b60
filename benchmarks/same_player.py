"""Two entries of the same player: do they differ by no more than the intervals say? `python -m benchmarks.same_player`.

A player is entered twice in a track, on deals and with random numbers that the two do not share, and scored as `noms benchmark
score` does but for the number of deals. This is done in many pairs. The two scores of a pair are independent, so the interval
of their difference has as its half width the root of the sum of the squares of theirs. It should hold 0 in 95 % of the pairs.
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
    """The settings; `--help` prints them."""

    player: str = "greedy"
    """who plays, by name"""
    tracks: tuple[str, ...] = PROTOCOLS[V2].tracks
    """tracks of the entries"""
    games: tuple[str, ...] = PROTOCOLS[V2].games
    """games of the entries"""
    pairs: int = 100
    """pairs of entries"""
    first: int = 0
    """number of the first pair; equal numbers have equal deals"""
    deals: int = 128
    """duplicate deals in each field"""
    searched_deals: int = 16
    """duplicate deals in each field with players that search"""
    threads: int = os.cpu_count() or 1
    """threads, which change no result"""


def cells_of(args: Args, track: str) -> list[Playing]:
    """The cells of an entry in a track, with fewer deals where somebody searches."""
    entry = Entry(args.player, "fixed", args.player, args.games, protocol=V2)
    most = {False: args.deals, True: args.searched_deals}
    cells = {slow: cells_of_entry(entry, Path(), [track], most=deals) for slow, deals in most.items()}
    return [of for slow in most for of in cells[slow] if (of.pairings[0].block < BLOCK) == slow]


def apart(of: Playing, number: int) -> Playing:
    """The same cell, not yet played, with the deals and the random numbers of an entry."""
    deal_set = SaltedSet(DEAL_SET, f"same player, {number}".encode())
    pairings = tuple(replace(pairing, deal_set=deal_set, seed=number) for pairing in of.pairings)
    return replace(of, cell=replace(of.cell, blocks={}, lost={}), pairings=pairings)


def figures(cells: list[Playing], number: int, threads: int) -> dict[str, dict[str, float]]:
    """The figures of an entry that have an interval."""
    playing = [apart(of, number) for of in cells]
    if play_cells(playing, None, threads=threads)[0] != "all":
        raise SystemExit("stopped by Ctrl-C")
    document: dict[str, Any] = summary(playing[0].cell.part, values_of([of.cell for of in playing]))
    games = {name: game["score"] for name, game in document["games"].items()}
    return {**{f"all games, {name}": figure for name, figure in document["all"].items()}, **games}


def agree(one: dict[str, float], two: dict[str, float]) -> bool:
    """Whether two figures, with their intervals, differ by no more than these say."""
    return abs(one["value"] - two["value"]) <= math.hypot(*((side["high"] - side["low"]) / 2 for side in (one, two)))


def measure(args: Args, track: str) -> Counter[str]:
    """In how many pairs the two agree, for each figure."""
    cells, held = cells_of(args, track), Counter[str]()
    with progress_bar(track, "pairs", args.pairs) as tick:
        for pair in range(args.first, args.first + args.pairs):
            one, two = (figures(cells, 2 * pair + side, args.threads) for side in (1, 2))
            held.update({name: int(agree(one[name], two[name])) for name in one})
            tick(1)
    return held


def main(args: Args) -> None:
    """Print the counts."""
    for track in args.tracks:
        for name, count in measure(args, track).items():
            print(f"{track}, {name}: {count} of {args.pairs} pairs of {args.player} differ by no more than the intervals say")


if __name__ == "__main__":
    main(tyro.cli(Args))
