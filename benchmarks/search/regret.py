"""What the choices of a search lose: `python -m benchmarks.search.regret OUT`.

In each game the published policy plays against itself. For some of its decisions the reference is a search that tries every
action in many worlds. The regret of a choice is the reference's best mean less its mean of what was chosen, in points. A search
with few worlds chooses many times with other random numbers. So its settings can be told apart, which deals cannot: two
searches that differ little differ by a hundredth of a point, and the cards by whole points.

The reference believes what the search believes. So the regret says nothing of whether the others really play so.

OUT/regret.csv has a row for each game and setting: mean regret of the policy and of the search in points, half of the
95 % interval over the repeats, and milliseconds of processor time for a decision. Games that are there are not measured again.
OUT/regret.md has the means over games as Markdown.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro

from benchmarks.search.csv_rows import read_rows, write_rows
from benchmarks.search.strength import policy_of
from benchmarks.search.timing import Rows, some_decisions
from noms_env import load_player
from noms_env.engine.row_kernels import kernel_view
from noms_env.policy.player import PolicyPlayer
from noms_env.search import opponent_models as beliefs
from noms_env.search.policy_search import USUAL_TEMPERATURE, SearchPlayer
from noms_env.search.seq_halving import RootStats
from noms_env.variants import VARIANTS
from noms_training.evaluation.statistics import estimate
from noms_training.text import markdown_table

COLUMNS = ("game", "worlds", "temperature", "pool", "policy", "regret", "spread", "ms")


@dataclass
class Args:
    """The settings; `--help` prints them."""

    out: Annotated[Path, tyro.conf.Positional]
    """folder of the results"""
    games: tuple[str, ...] = tuple(VARIANTS)
    """games that are played"""
    worlds: tuple[int, ...] = (24, 80)
    """worlds of the searches"""
    temperatures: tuple[float, ...] = (0.0, 0.06, 0.12, 0.25, 0.5, 1.0)
    """temperatures of the searches"""
    pools: tuple[int, ...] = (1, 2)
    """worlds that are weighed for each one that is drawn, at the usual temperature"""
    decisions: int = 100
    """decisions that are searched"""
    reference: int = 2048
    """worlds of the reference"""
    repeats: int = 8
    """searches of each decision with each setting"""


def settings(args: Args) -> list[tuple[int, float, int]]:
    """Worlds, temperature, pool."""
    pairs = [(temperature, beliefs.POOL) for temperature in args.temperatures]
    pairs += [(USUAL_TEMPERATURE, pool) for pool in args.pools if pool != beliefs.POOL]
    return [(worlds, *pair) for worlds in args.worlds for pair in pairs]


def reference_means(player: SearchPlayer, rows: Rows, found: list[RootStats], worlds: int) -> dict[int, np.ndarray]:
    """For each row what its candidates come to in so many worlds, in points, float64, shape (candidates,)."""
    view = kernel_view(rows.tables)
    return {one.row: player.outcomes(view, one.row, one.seed, one.actions, worlds).mean(axis=0) for one in found}


def regret(found: list[RootStats], means: dict[int, np.ndarray]) -> float:
    """The mean regret of what is chosen."""
    return float(np.mean([means[one.row].max() - means[one.row][one.logits().argmax()] for one in found]))


def measure(name: str, args: Args) -> Iterator[tuple[Any, ...]]:
    """The rows of a game."""
    policy = load_player(policy_of(name))
    assert isinstance(policy, PolicyPlayer)
    rows, pool = some_decisions(name, policy, args.decisions), beliefs.POOL

    def searched(player: SearchPlayer, repeat: int) -> list[RootStats]:
        seeds = np.arange(args.decisions) * 1013 + repeat * 77_777
        return [one for one in player.search(rows.seen, rows.legal, seeds, rows.tables) if len(one.actions) > 1]

    usual = SearchPlayer(policy, threads=2)
    found = searched(usual, 0)
    means = reference_means(usual, rows, found, args.reference)
    bare = float(np.mean([means[one.row].max() - means[one.row][one.weights.argmax()] for one in found]))
    try:
        for worlds, temperature, beliefs.POOL in settings(args):
            player = SearchPlayer(policy, worlds=worlds, temperature=temperature)
            began = time.process_time()
            regrets = [regret(searched(player, repeat), means) for repeat in range(args.repeats)]
            ms = 1000 * (time.process_time() - began) / args.repeats / len(found)
            own = estimate(np.array(regrets))
            figures = [f"{figure:.4f}" for figure in (bare, own.mean, own.high - own.mean, ms)]
            yield (name, worlds, temperature, beliefs.POOL, *figures)
    finally:
        beliefs.POOL = pool


def table(rows: list[dict[str, str]]) -> str:
    """Means over games: regret as a share of the policy's, and milliseconds."""
    lines = list[list[str]]()
    for key in dict.fromkeys((row["worlds"], row["temperature"], row["pool"]) for row in rows):
        own = [row for row in rows if (row["worlds"], row["temperature"], row["pool"]) == key]
        shares = [float(row["regret"]) / float(row["policy"]) for row in own]
        spread = math.hypot(*(float(row["spread"]) / float(row["policy"]) for row in own)) / len(own)
        ms = np.mean([float(row["ms"]) for row in own])
        lines.append([*key, f"{np.mean(shares):.1%} ±{spread:.1%}", f"{ms:.1f}"])
    return markdown_table(lines, "worlds", "temperature", "pool", "regret, of the policy's", "ms")


def main(args: Args) -> None:
    """Measure what is missing, and write the tables."""
    args.out.mkdir(parents=True, exist_ok=True)
    path = args.out / "regret.csv"
    rows = read_rows(path)
    for name in args.games:
        if any(row["game"] == name for row in rows):
            continue
        for found in measure(name, args):
            print(*found, flush=True)
            rows.append(dict(zip(COLUMNS, map(str, found), strict=True)))
        write_rows(path, COLUMNS, rows)
    (args.out / "regret.md").write_text(table(rows), encoding="utf-8")


if __name__ == "__main__":
    main(tyro.cli(Args))
