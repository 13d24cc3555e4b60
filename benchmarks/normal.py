"""Write docs/normal.md on normal learning curves and the size of rewards: `python -m benchmarks.normal`.

The curves are those of the benchmark's published entries; docs/normal.csv has their points, `benchmarks.publish` draws them.
`--measure` measures the rewards again, in a minute or two. docs/rewards.csv has the lowest, highest and root mean square
reward of deals among four `random` (score 0) or four `thumb:1` (score 1), the decisions per deal and the legal actions per
decision.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import numpy as np
import tyro

import noms_env
from benchmarks.publish import CURVES, PAGES, ROOT, published
from docs.glossary_links import with_links
from noms_env._files import write_atomically
from noms_env.belief.determinize import sampled_tables
from noms_env.envs.results import deal_rewards
from noms_env.players import draw_seeds
from noms_training.benchmark.figures import POINTS, Curve, curves_of, mean_curve
from noms_training.benchmark.protocol import CURVE_DEALS, GAMES, GENERALIST, PROTOCOLS, V1
from noms_training.text import markdown_table, short_number

ZERO, REFERENCE = PROTOCOLS[V1].zero, PROTOCOLS[V1].players["thumb"]
PAGE, CSV, REWARDS = "docs/normal.md", "docs/normal.csv", "docs/rewards.csv"
COMMAND = "python -m benchmarks.normal"
AT = 500_000
"""Decisions at which the page reads the curves."""
DEALS, TABLES = 20_000, 1000
"""Deals and tables of a measurement of rewards."""
COLUMNS = (
    *("game", "score", "deals", "lowest_points", "highest_points", "lowest", "highest", "root_mean_square"),
    *("fewest_decisions", "decisions", "most_decisions", "legal", "most_legal", "forced"),
)


@dataclass
class Args:
    """Command-line arguments."""

    measure: bool = False
    """measure the rewards again"""
    root: Path = ROOT
    """folder of the checkout"""


def play_deals(game: str, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Play `DEALS` deals with a player on all seats.

    Returns:
        The points of each seat, float64, shape (deals, seats); the decisions of all seats, int64, shape (deals,); the numbers
        of decisions with 0, 1, ... legal actions, int64, shape (n,).
    """
    batch, rng = noms_env.make_batch(game, TABLES, seats=GAMES[game], seed=1, episode="deal"), np.random.default_rng(1)
    player, points, decisions = noms_env.load_player(name), list[np.ndarray](), np.zeros((DEALS // TABLES, TABLES), np.int64)
    legal = np.zeros(noms_env.NUM_ACTIONS + 1, np.int64)
    for number in decisions:
        batch.reset()
        while not batch.over.all():
            batch.observe()
            rows, actions = np.flatnonzero(~batch.over), np.zeros(TABLES, np.int64)
            tables = sampled_tables(batch.tables, rows, rng) if player.wants_tables else None
            actions[rows] = player.act(batch.observation[rows], batch.mask[rows], draw_seeds(rng, len(rows)), tables=tables)
            number[rows] += 1
            legal += np.bincount(batch.mask[rows].sum(axis=1, dtype=np.int64), minlength=len(legal))
            batch.step(actions)
        points.append(batch.tables.points[:, : GAMES[game]].astype(np.float64))
    return np.concatenate(points), decisions.ravel(), legal


def measure_rewards() -> Iterator[tuple[object, ...]]:
    """Yield the rows of docs/rewards.csv."""
    for game in GAMES:
        for score, name in enumerate((ZERO, REFERENCE)):
            points, length, legal = play_deals(game, name)
            relative = deal_rewards("relative", points, np.ones(len(points), np.bool_), np.zeros(len(points), np.int64))
            ends = (f"{end:g}" for end in (points.min(), points.max(), relative.min().round(2), relative.max().round(2)))
            decisions = (length.min(), f"{length.mean():.1f}", length.max())
            mean, forced = legal @ np.arange(len(legal)) / legal.sum(), legal[1] / legal.sum()
            branching = (f"{mean:.2f}", legal.nonzero()[0][-1], f"{forced:.3f}")
            yield game, score, len(points), *ends, f"{np.sqrt(np.square(relative).mean()):.3f}", *decisions, *branching


def read_rewards(root: Path) -> dict[str, list[dict[str, str]]]:
    """Read the rows of docs/rewards.csv by game, score 0 first."""
    with (root / REWARDS).open(newline="", encoding="utf-8") as lines:
        return {game: [*rows] for game, rows in groupby(csv.DictReader(lines), key=itemgetter("game"))}


def divisor(rows: Sequence[Mapping[str, str]]) -> int:
    """Return the divisor of rewards: their root mean square over both references, as an integer."""
    return max(1, round(float(np.sqrt(np.mean([float(row["root_mean_square"]) ** 2 for row in rows])))))


def reward_row(game: str, rows: Sequence[Mapping[str, str]]) -> tuple[str, ...]:
    """Return the row of a game in the table of rewards."""
    points, relative = (
        f"{min(float(row[low]) for row in rows):g} to {max(float(row[high]) for row in rows):g}"
        for low, high in (("lowest_points", "highest_points"), ("lowest", "highest"))
    )
    return (f"`{game}`", points, relative, *(f"{float(row['root_mean_square']):.1f}" for row in rows), str(divisor(rows)))


def learners(root: Path) -> tuple[str, dict[str, dict[str, list[Curve]]]]:
    """Return the newest protocol with published learning curves, and the curves by entry and game."""
    for protocol, entries in published(root).items():
        curves = {result.name: curves_of(result.entry, result.folder) for result in entries}
        if curves := {name: of_entry for name, of_entry in curves.items() if of_entry}:
            return protocol, curves
    return V1, {}


def points_text(curves: Mapping[str, Mapping[str, Sequence[Curve]]]) -> str:
    """Return the curves as CSV, one row per point and run."""
    rows = (
        f"{name},{game},{number},{point[0]:.0f},{','.join(f'{value:.4f}' for value in point[POINTS : POINTS + 3])}"
        for name, of_games in curves.items()
        for game, runs in of_games.items()
        for number, run in enumerate(runs, 1)
        for point in run
    )
    return "\n".join(["algorithm,game,run,decisions,points,low,high", *rows]) + "\n"


def points_row(name: str, curves: Mapping[str, Sequence[Curve]]) -> tuple[str, ...]:
    """Return the mean points of an algorithm by game after `AT` decisions; "" for shorter runs."""
    cells = list[str]()
    for game in GAMES:
        at, points = mean_curve(curves[game]) if game in curves else (np.zeros(1), np.zeros((1, 1)))
        cells.append(f"{np.interp(AT, at, points.mean(axis=0)):+.2f}" if at[-1] >= AT else "")
    return (name, *cells)


def page(root: Path) -> str:
    """Return the page."""
    rewards, (protocol, curves) = read_rewards(root), learners(root)
    games = [game for game in (*GAMES, GENERALIST) if any(game in of_games for of_games in curves.values())]
    sizes = (f"root mean square, `{name}`" for name in (ZERO, REFERENCE))
    text = TEXT.format(
        deals=f"{int(rewards['noms'][0]['deals']):,}",
        curve_deals=CURVE_DEALS,
        **{"zero": ZERO, "reference": REFERENCE, "field": PROTOCOLS[protocol].players["thumb"], "protocol": protocol},
        rewards=markdown_table(
            [reward_row(*row) for row in rewards.items()], "game", "`points`", "`relative`", *sizes, "divide by"
        ),
        results=Path(PAGES[protocol]).name,
        at=short_number(AT),
        points=markdown_table([row for of_entry in curves.items() if any((row := points_row(*of_entry))[1:])], "", *GAMES),
        pictures=" ".join(f'<img src="{Path(CURVES).name}/{game}.png" alt="{game}" width="340">' for game in games),
    )
    return with_links(text, ROOT / PAGE)


TEXT = """\
# What is normal

Is your run normal? Find its decisions and its points a deal in the picture of the game. The curves are those of the published
algorithms of `{protocol}`; [the results]({results}) have their final scores.

{pictures}

The curves show points a deal of the learner alone above the mean of three `{field}`, on {curve_deals} duplicate deals: the mean
of the seeds, and their range. The lines are `{field}` (0) and `{zero}`. [normal.csv](normal.csv) has every point of every run,
with its 95 % interval over deals. After {at} decisions the means were:

{points}

Forced moves do not count as decisions. Measure a policy in the same way with

```sh
noms evaluate runs/first {field} --variant down_up --line-ups alone --details
```

An untrained network with greedy actions may be far below `{zero}`. That is normal, and soon over. If a policy is below all of
these curves after as many decisions, something is wrong. Check first:

- **The mask.** Illegal actions must have probability 0 in training and in play. A maximum over next actions must ignore them.
- **The reward.** Use `reward="relative"`, divided as below. It comes only at the end of a deal, so use the discount factor 1.
- **The observation.** [Features](environments/features.md) are scaled, bytes are not. That page compares them.
- **Forced moves.** `skip_forced=True` leaves them out. Nothing is learnt from them.

## How large a reward is

The points of a deal differ between games, and so do the rewards. The table shows {deals} deals of four `{zero}` and {deals} of
four `{reference}`. `reward="relative"` is the seat's own points minus the mean of the others'. All measurements use its mean.

{rewards}

Divide rewards by the last column, and they have a size of about 1. It is the root mean square over the deals of both players.
Rewards are 0 until the last card of a deal, when all seats get theirs.
"""
"""Template of the page."""


def main(args: Args) -> None:
    """Write the page and the points of the curves, and measure rewards if asked."""
    if args.measure:
        lines = [",".join(map(str, row)) for row in (COLUMNS, *measure_rewards())]
        write_atomically(args.root / REWARDS, ("\n".join(lines) + "\n").encode())
    write_atomically(args.root / CSV, points_text(learners(args.root)[1]).encode())
    write_atomically(args.root / PAGE, page(args.root).encode())


if __name__ == "__main__":
    main(tyro.cli(Args, description=__doc__))
