"""Compare a policy for any options with another player under random rules: `python -m benchmarks.options`.

This writes docs/options.csv and prints a summary. Each row is a setting with the policy's advantage in points per deal on
duplicate deals, as `noms evaluate` measures it. The settings are drawn with another seed than in training, so most combinations
of options are new to the policy. `unknown` lists option values that its training did not contain at all.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tyro

from benchmarks.publish import ROOT
from noms_env.players.registry import AnyOptions
from noms_env.variants import VARIANTS, Rules
from noms_training.agents.registry import agent_specs
from noms_training.benchmark.entry import write_csv
from noms_training.evaluation.comparison import compare
from noms_training.evaluation.statistics import Estimate, estimate, plus_minus
from noms_training.learn.draw_rules import draw_rules

COLUMNS = ("variant", "seats", "options", "unknown", "points", "low", "high")


@dataclass
class Args:
    """Command-line arguments."""

    policy: str = "generalist@0"
    """the policy"""
    against: str = "thumb"
    """the other player"""
    settings: int = 200
    """number of settings, about equally many for each game"""
    deals: int = 100
    """duplicate deals for each setting"""
    seed: int = 20261128
    """seed of the draws"""
    out: Path = ROOT / "docs/options.csv"
    """output file"""


Row = tuple[Rules, Sequence[str], Estimate]
"""A setting, its option values that the policy never met in training (NAME=VALUE), and the advantage in points per deal."""


def measure(args: Args) -> list[Row]:
    """Draw the settings and play each of them."""
    policy, other = agent_specs([args.policy, args.against])
    if not isinstance(policy.rule_sets, AnyOptions):
        raise SystemExit(f"{args.policy} is a policy for some options only; name one that was trained with drawn rules")
    rng, rows = np.random.default_rng(args.seed), list[Row]()
    for number, variant in enumerate(VARIANTS):
        drawn = draw_rules([variant], args.settings, args.seed, {})
        count = args.settings * (number + 1) // len(VARIANTS) - args.settings * number // len(VARIANTS)
        for place in rng.permutation(len(drawn))[:count]:
            rules = drawn[place]
            compared = compare(rules, policy, other, args.deals, deal_set="test", threads=os.cpu_count() or 1)
            rows.append((rules, policy.rule_sets.unknown(rules), compared.estimate()))
            print(f"{len(rows):3}/{args.settings} {plus_minus(rows[-1][2])} {variant}: {rules.summary}", flush=True)
    return rows


def write(rows: Sequence[Row], path: Path) -> None:
    """Write the rows as CSV."""
    table: list[Sequence[str]] = [COLUMNS]
    for rules, unknown, points in rows:
        options = rules.summary.partition(", ")[2]
        figures = (f"{number:.3f}" for number in (points.mean, points.low, points.high))
        table.append((rules.variant.name, str(rules.seats), options, " ".join(unknown), *figures))
    write_csv(path, table)


def summary(rows: Sequence[Row]) -> str:
    """Summarise the settings: counts above and below 0, and means, over all, by game, and by known or unknown options."""
    parts = {"all": [points for *_, points in rows]}
    parts |= {variant: [points for rules, _, points in rows if rules.variant.name == variant] for variant in VARIANTS}
    parts["known options"] = [points for _, unknown, points in rows if not unknown]
    parts["unknown options"] = [points for _, unknown, points in rows if unknown]
    lines = []
    for name, values in parts.items():
        if len(values) > 1:
            above, clear = sum(value.mean > 0 for value in values), sum(value.low > 0 for value in values)
            below, mean = sum(value.high < 0 for value in values), estimate(np.array([value.mean for value in values]))
            counts = f"{len(values)} settings, {above} above 0, {clear} clearly, {below} clearly below"
            lines.append(f"{name}: {counts}; mean {plus_minus(mean)}")
    return "\n".join(lines)


if __name__ == "__main__":
    arguments = tyro.cli(Args, description=__doc__)
    measured = measure(arguments)
    write(measured, arguments.out)
    print(summary(measured))
