"""Who gains by defending against Mis in Small Ships. `python -m benchmarks.defence`.

A policy plays all seats. Then, on the same deals, one, two or all three defenders against Mis play as `thumb` from the call on.
Printed is a table of the deals with Mis: how often it is made, and what the seat on the declarer's left gains by the change.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import tyro

import noms_env
from noms_env.belief.determinize import sampled_tables
from noms_env.core.actions import CALL_MIS
from noms_training.benchmark.protocol import POLICIES
from noms_training.evaluation.statistics import estimate, plus_minus
from noms_training.text import markdown_table

GAME, SEATS = "small_ships", 4
DEFENDER = "thumb"


@dataclass
class Args:
    """The settings; `--help` prints them."""

    policy: str = POLICIES[GAME][0]
    """who sits on all seats, by name or file; without it, the policy of Small Ships in the benchmark, which bids Mis often"""
    deals: int = 30_000
    """deals, of which those with Mis count"""
    seed: int = 5
    """of the deals"""


def main(args: Args) -> None:
    """Play, and print the table."""
    played = [play(args, replaced) for replaced in range(SEATS)]
    base = gain_of_first(played[0])
    rows = []
    for replaced, tables in enumerate(played):
        rows_of_deals = np.arange(len(tables))
        made = (tables.tricks[rows_of_deals, tables.declarer] == 0).mean()
        points = tables.points[rows_of_deals, tables.declarer].mean()
        gained = plus_minus(estimate(gain_of_first(tables) - base)) if replaced else ""
        rows.append((str(replaced), f"{made:.1%}", f"{points:.2f}", gained))
    print(f"{len(played[0]):,} deals with Mis among {args.deals:,}\n")
    print(markdown_table(rows, f"defenders that play as `{DEFENDER}`", "Mis made", "the declarer's points", "the first gains"))


def play(args: Args, replaced: int) -> np.recarray:
    """The tables of the deals with Mis at their end; so many defenders from the declarer's left on are replaced."""
    policy, defender = noms_env.load_player(args.policy), noms_env.load_player(DEFENDER)
    batch = noms_env.make_batch(GAME, tables=args.deals, seats=SEATS, seed=args.seed, episode="deal")
    rng = np.random.default_rng(0)
    batch.reset()
    while not batch.over.all():
        batch.observe()
        tables = batch.tables
        actions = policy.act(batch.observation, batch.mask, rng)
        place = (batch.seat - tables.declarer) % SEATS
        rows = np.flatnonzero((tables.contract == CALL_MIS) & (place >= 1) & (place <= replaced) & ~batch.over)
        if len(rows) > 0:
            seen = sampled_tables(tables, rows, rng)
            actions[rows] = defender.act(batch.observation[rows], batch.mask[rows], rng, tables=seen)
        batch.step(actions)
    found: np.recarray = batch.tables[batch.tables.contract == CALL_MIS].copy()
    return found


def gain_of_first(tables: np.recarray) -> np.ndarray:
    """Points of the seat on the declarer's left above the mean of the others, float64, shape (tables,)."""
    points = tables.points[:, :SEATS].astype(np.float64)
    own = points[np.arange(len(tables)), (tables.declarer + 1) % SEATS]
    gain: np.ndarray = own - (points.sum(axis=1) - own) / (SEATS - 1)
    return gain


if __name__ == "__main__":
    main(tyro.cli(Args, description=__doc__))
