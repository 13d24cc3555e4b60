"""Two entries of the same policy: do they differ by no more than the intervals say? `python -m benchmarks.same_policy`.

A player is entered twice, on deals and with random numbers that the two do not share, and scored as `noms benchmark score` does
but for the number of deals. This is done in many pairs. The two scores of a pair are independent, so the interval of their
difference has as its half width the root of the sum of the squares of theirs. It should hold 0 in 95 % of the pairs.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import tyro

from noms_training.benchmark.cells import Playing, cells_of_entry, play_cells
from noms_training.benchmark.entry import Entry
from noms_training.benchmark.protocol import DEAL_SET, GAMES, references
from noms_training.benchmark.scores import summary, values_of
from noms_training.evaluation.duplicate import SaltedSet
from noms_training.progress_bar import progress_bar


@dataclass
class Args:
    """The settings; `--help` prints them."""

    player: str = "greedy"
    """who plays, by name"""
    games: tuple[str, ...] = tuple(GAMES)
    """games of the entries"""
    pairs: int = 100
    """pairs of entries"""
    deals: int = 128
    """duplicate deals in each field"""
    threads: int = os.cpu_count() or 1
    """threads, which change no result"""


def apart(one: Playing, number: int) -> Playing:
    """The same cell with the deals and the random numbers of an entry."""
    deal_set = SaltedSet(DEAL_SET, f"same policy, {number}".encode())
    return replace(one, pairing=replace(one.pairing, deal_set=deal_set, seed=number))


def figures(document: dict[str, Any]) -> dict[str, dict[str, float]]:
    """The figures of an entry that have an interval."""
    games = {name: game["score"] for name, game in document["games"].items()}
    return {**{f"all games, {name}": figure for name, figure in document["all"].items()}, **games}


def agree(one: dict[str, float], two: dict[str, float]) -> bool:
    """Whether two figures, with their intervals, differ by no more than these say."""
    return abs(one["value"] - two["value"]) <= math.hypot(*((side["high"] - side["low"]) / 2 for side in (one, two)))


def measure(args: Args) -> dict[str, int]:
    """In how many pairs the two agree, for each figure."""
    entry, held = Entry(args.player, "fixed", args.player, args.games), dict[str, int]()
    with progress_bar("the same policy", "entries", 2 * args.pairs) as tick:
        for pair in range(args.pairs):
            sides = list[dict[str, dict[str, float]]]()
            for number in (2 * pair + 1, 2 * pair + 2):
                playing = [apart(one, number) for one in cells_of_entry(entry, Path(), ["core"], most=args.deals)]
                if play_cells(playing, None, threads=args.threads)[0] != "all":
                    raise SystemExit("stopped by Ctrl-C")
                sides.append(figures(summary(values_of([one.cell for one in playing], "core"), references())))
                tick(1)
            for name, one in sides[0].items():
                held[name] = held.get(name, 0) + agree(one, sides[1][name])
    return held


def main(args: Args) -> None:
    """Print the counts."""
    for name, count in measure(args).items():
        print(f"{name}: {count} of {args.pairs} pairs of {args.player} differ by no more than the intervals say")


if __name__ == "__main__":
    main(tyro.cli(Args))
