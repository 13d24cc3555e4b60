"""What is normal: learning curves in points, and how large rewards are. `python -m benchmarks.normal` writes docs/normal.md.

The curves and the points at the end are those of published entries of the benchmark. With `--measure` the rewards are measured
again, which takes a minute or two: docs/normal.csv has the lowest, the highest and the root mean square reward of deals that
copies of a reference play, that of score 0 or of score 1. It also has the decisions of a deal and the legal actions of a
decision. Needs `pip install '.[plot]'`.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tyro

import noms_env
from benchmarks.publish import ENTRIES, ROOT
from docs.glossary_links import with_links
from noms_env._files import write_atomically
from noms_env.belief.determinize import sampled_tables
from noms_env.envs.results import deal_rewards
from noms_training.benchmark.figures import Curve, curves_of, draw_curves, mean_curve, scale_of
from noms_training.benchmark.protocol import CURVE_DEALS, CURVE_FIELD, GAMES, PROTOCOLS, V1
from noms_training.benchmark.report import Scored, read_scored
from noms_training.text import markdown_table, short_number

ZERO, ONE = PROTOCOLS[V1].zero, PROTOCOLS[V1].one
PAGE, PICTURE, REWARDS = "docs/normal.md", "docs/normal.png", "docs/normal.csv"
COMMAND = "python -m benchmarks.normal"
LEARNERS = {
    "ppo": "PPO, self-play",
    "dqn": "DQN, self-play",
    "maskable_ppo": f"MaskablePPO, against {CURVE_FIELD}",
    "ppo_self_play": "`noms train`",
}
"""The entries, and what they are called here."""
AT = (100_000, 500_000, 1_000_000, 2_000_000)
"""Decisions at which the curves are read."""
DEALS, TABLES = 20_000, 1000
"""Of a measurement of rewards."""
COLUMNS = (
    *("game", "score", "deals", "lowest_points", "highest_points", "lowest", "highest", "root_mean_square"),
    *("fewest_decisions", "decisions", "most_decisions", "legal", "most_legal", "forced"),
)


@dataclass
class Args:
    """The settings; `--help` prints them."""

    measure: bool = False
    """measure the rewards again"""
    root: Path = ROOT
    """the checkout"""


@dataclass(frozen=True)
class Deals:
    """What was counted in some deals."""

    points: np.ndarray
    """of each seat, float64, shape (deals, seats)"""
    decisions: np.ndarray
    """of all seats, int64, shape (deals,)"""
    legal: np.ndarray
    """decisions with 0, 1, ... legal actions, int64, shape (n,)"""


def play_deals(game: str, name: str) -> Deals:
    """Play deals (`DEALS`) by copies of a player."""
    batch, rng = noms_env.make_batch(game, TABLES, seats=GAMES[game], seed=1, episode="deal"), np.random.default_rng(1)
    player, points, decisions = noms_env.load_player(name), list[np.ndarray](), np.zeros((DEALS // TABLES, TABLES), np.int64)
    legal = np.zeros(noms_env.NUM_ACTIONS + 1, np.int64)
    for number in decisions:
        batch.reset()
        while not batch.over.all():
            batch.observe()
            rows, actions = np.flatnonzero(~batch.over), np.zeros(TABLES, np.int64)
            tables = sampled_tables(batch.tables, rows, rng) if player.wants_tables else None
            actions[rows] = player.act(batch.observation[rows], batch.mask[rows], rng, tables=tables)
            number[rows] += 1
            legal += np.bincount(batch.mask[rows].sum(axis=1, dtype=np.int64), minlength=len(legal))
            batch.step(actions)
        points.append(batch.tables.points[:, : GAMES[game]].astype(np.float64))
    return Deals(np.concatenate(points), decisions.ravel(), legal)


def measured() -> Iterator[tuple[object, ...]]:
    """The rows of docs/normal.csv."""
    for game in GAMES:
        for score, name in enumerate((ZERO, CURVE_FIELD)):
            deals = play_deals(game, name)
            points, length, legal = deals.points, deals.decisions, deals.legal
            relative = deal_rewards("relative", points, np.ones(len(points), np.bool_), np.zeros(len(points), np.int64))
            ends = (f"{end:g}" for end in (points.min(), points.max(), relative.min().round(2), relative.max().round(2)))
            decisions = (length.min(), f"{length.mean():.1f}", length.max())
            mean, forced = legal @ np.arange(len(legal)) / legal.sum(), legal[1] / legal.sum()
            branching = (f"{mean:.2f}", legal.nonzero()[0][-1], f"{forced:.3f}")
            yield game, score, len(points), *ends, f"{np.sqrt(np.square(relative).mean()):.3f}", *decisions, *branching


def read_rewards(root: Path) -> dict[str, list[dict[str, str]]]:
    """The rows of docs/normal.csv by game, that of score 0 first."""
    by_game: dict[str, list[dict[str, str]]] = {}
    with (root / REWARDS).open(newline="", encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            by_game.setdefault(row["game"], []).append(row)
    return by_game


def divisor(rows: Sequence[Mapping[str, str]]) -> int:
    """What rewards are to be divided by: their root mean square over both references, as a whole number."""
    return max(1, round(float(np.sqrt(np.mean([float(row["root_mean_square"]) ** 2 for row in rows])))))


def reward_row(game: str, rows: Sequence[Mapping[str, str]]) -> tuple[str, ...]:
    """A game in the table of rewards."""
    points, relative = (
        f"{min(float(row[low]) for row in rows):g} to {max(float(row[high]) for row in rows):g}"
        for low, high in (("lowest_points", "highest_points"), ("lowest", "highest"))
    )
    return (f"`{game}`", points, relative, *(f"{float(row['root_mean_square']):.1f}" for row in rows), str(divisor(rows)))


def read_at(runs: Sequence[Curve]) -> list[str]:
    """The mean of the seeds after so many decisions (`AT`); nothing behind the end of the shortest run."""
    at, points = mean_curve(runs)
    return [f"{np.interp(decisions, at, points.mean(axis=0)):+.2f}" if decisions <= at[-1] else "" for decisions in AT]


def at_end(scored: Scored, game: str, field: str) -> str:
    """The points in a field when the learning was over, on the deals of the set test: mean of the seeds, lowest and highest."""
    points = [cells[field]["points"] for cells in scored.scores["cells"]["core"][game].values()]
    return f"{np.mean(points):+.2f} ({min(points):+.2f} to {max(points):+.2f})"


def game_table(game: str, entries: Sequence[Scored]) -> str:
    """The figures of a game: the references, and each learner."""
    among = PROTOCOLS[V1].parts["core"].references[game]
    rows = [
        (f"`{name}`", *[""] * len(AT), *(f"{getattr(among[field], which):+.2f}" for field in (ONE, ZERO)), "")
        for name, which in ((ZERO, "zero"), (CURVE_FIELD, "one"))
    ]
    for entry in entries:
        runs = curves_of(entry.entry, entry.folder)[game]
        ends = (at_end(entry, game, field) for field in (ONE, ZERO))
        rows.append((LEARNERS[entry.name], *read_at(runs), *ends, f"{np.mean([run[-1, 0] for run in runs]) / 1e6:.1f} M"))
    heads = (short_number(decisions) for decisions in AT)
    return markdown_table(rows, "", *heads, f"end, among `{CURVE_FIELD}`", f"end, among `{ZERO}`", "decisions")


def way_table(entries: Sequence[Scored]) -> str:
    """How far the learners have come from the reference of score 0 to that of score 1: the lowest and the highest game."""
    rows = []
    for entry in entries:
        curves = curves_of(entry.entry, entry.folder)
        read = [mean_curve(curves[game], scale_of(game)) for game in GAMES]
        cells = []
        for decisions in AT:
            scores = [np.interp(decisions, at, scores_at.mean(axis=0)) for at, scores_at in read if decisions <= at[-1]]
            cells.append(f"{min(scores):.0%} to {max(scores):.0%}" if len(scores) == len(GAMES) else "")
        ends = [entry.games()[game]["fields"][ONE] for game in GAMES]
        rows.append((LEARNERS[entry.name], *cells, f"{min(ends):.0%} to {max(ends):.0%}"))
    return markdown_table(rows, "", *map(short_number, AT), "end")


def page(root: Path) -> str:
    """The page."""
    entries, rewards = learners(root), read_rewards(root)
    deals = next(iter(rewards.values()))[0]["deals"]
    text = TEXT.format(
        deals=f"{int(deals):,}",
        curve_deals=CURVE_DEALS,
        **{"zero": ZERO, "field": CURVE_FIELD, "protocol": V1},
        rewards=markdown_table(
            [reward_row(game, rows) for game, rows in rewards.items()],
            *(
                "game",
                "`points`",
                "`relative`",
                f"root mean square, `{ZERO}`",
                f"root mean square, `{CURVE_FIELD}`",
                "divide by",
            ),
        ),
        games="\n\n".join(f"### {noms_env.variants.game(game).title}\n\n{game_table(game, entries)}" for game in GAMES),
        way=way_table(entries),
    )
    return with_links(text, ROOT / PAGE)


TEXT = """\
# What is normal

Your policy has made 500,000 decisions, and is at -1.9 points a deal against `{field}`. In Big Ships and in ten down and
up plain PPO and DQN are within about half a point of that by then; in Nonesuch both are above it. This page has the points of
ordinary learners in each game.

![Learning curves in points](normal.png)

## How large a reward is

The points of a deal differ from game to game, and so do the rewards. {deals} deals of four `{zero}` and {deals} of four
`{field}` had these. `reward="relative"` is the own points less the mean of the others', and the means of it are what is
measured everywhere.

{rewards}

Divide rewards by the last column, and they have a size of about 1. It is the root mean square over the deals of both.
Rewards are 0 until the last card of a deal, and then come to all seats.

## Learners in points

Points a deal of the learner alone above the mean of three `{field}`, so 0 is as good as `{field}`. The first row is `{zero}`
in the same place: what lies above it was learnt. Figures after so many decisions are means of three seeds on {curve_deals}
duplicate deals, read off the learning curves; nothing stands behind the end of a run. Those at the end are from the deals of
the protocol, with the lowest and the highest seed, and among three `{zero}` as well.

Each learner had some four minutes of processor time. Its decisions are its choices; forced moves are none.
[The protocol](benchmark.md) says more; the [results](benchmark_results.md) have other learners. `noms train` begins slowly, and
ends ahead of the other three.

{games}

## Where you stand

```sh
noms evaluate runs/first {field} --variant down_up --line-ups alone --details
```

measures a policy in the same way. Where table and opponent are those of the benchmark, the command says the score in this
field too: 0 is `{zero}`, and 1 is `{field}`. It is the share of the way that a learner has come from the one to the other. By
it games compare. These are the lowest and the highest of the seven:

{way}

A policy that is behind all of these after as many decisions is held up by something. What to look at first:

- **The mask.** Illegal actions have probability 0 in learning as in playing, and no part in a maximum over the next actions.
- **The reward.** `reward="relative"`, divided as above. It comes once, at the end of a deal, so take no discount (a factor of
  1).
- **The observation.** [Features](environments/features.md) are scaled, bytes are not. That page shows what they are worth.
- **Forced moves.** `skip_forced=True` leaves them out, and with them decisions from which nothing is learnt.

An untrained network that always takes its most probable action may be far below `{zero}`. That is normal, and over soon. [The
published policies](../checkpoints/README.md) have learnt from far more.
"""
"""The page, but for its figures."""


def learners(root: Path) -> list[Scored]:
    """The entries of `LEARNERS`, in this order."""
    return sorted(read_scored([root / ENTRIES / name for name in LEARNERS]), key=lambda entry: list(LEARNERS).index(entry.name))


def main(args: Args) -> None:
    """Write the page and the picture."""
    if args.measure:
        lines = [",".join(map(str, row)) for row in (COLUMNS, *measured())]
        write_atomically(args.root / REWARDS, ("\n".join(lines) + "\n").encode())
    curves = {LEARNERS[entry.name].replace("`", ""): curves_of(entry.entry, entry.folder) for entry in learners(args.root)}
    write_atomically(args.root / PICTURE, draw_curves(curves, "points", COMMAND))
    write_atomically(args.root / PAGE, page(args.root).encode())


if __name__ == "__main__":
    main(tyro.cli(Args))
