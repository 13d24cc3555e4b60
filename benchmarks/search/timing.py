"""Where the time of a search goes: `python -m benchmarks.search.timing OUT`.

In each game the published policy plays against itself. Some of its decisions with a choice are searched again: each alone, and
all together. OUT/timing.csv has a row for each game, model of the others, and number of threads:

| column | |
|---|---|
| one | median milliseconds for a decision that is searched alone |
| many | milliseconds for a decision where all are searched together |
| rate | decisions of the policy in a second, while all are searched together |
| inference | share of that time that the network takes |
| bound | decisions of the policy in a second where nothing else is done, in rows as the search has them |

All are by the wall clock: leave the machine alone. The best of `--repeats` counts. OUT/timing.md has the same as Markdown.
"""

from __future__ import annotations

import csv
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro

from benchmarks.search.strength import policy_of
from noms_env import load_player, make_batch
from noms_env._threads import RowThreads
from noms_env.belief.determinize import sampled_tables
from noms_env.policy.inference import Forward
from noms_env.policy.player import PolicyPlayer
from noms_env.search.policy_search import TOGETHER, SearchPlayer
from noms_env.variants import VARIANTS
from noms_training.text import markdown_table

COLUMNS = ("game", "opponents", "threads", "one", "many", "rate", "inference", "bound")
SHARE = 20
"""Of so many decisions one is searched again."""


@dataclass
class Args:
    """The settings; `--help` prints them."""

    out: Annotated[Path, tyro.conf.Positional]
    """folder of the results"""
    games: tuple[str, ...] = tuple(VARIANTS)
    """games that are played"""
    opponents: tuple[str, ...] = ("uniform", "mixture")
    """models of the others"""
    threads: tuple[int, ...] = (1, 2)
    """threads of the search"""
    worlds: int = 24
    """worlds of a search"""
    decisions: int = 100
    """decisions that are searched"""
    repeats: int = 3
    """how often everything is measured"""


@dataclass
class Rows:
    """Decisions with a choice: what the seats see and may do, and tables as they may imagine them."""

    seen: np.ndarray
    legal: np.ndarray
    tables: np.recarray

    def part(self, rows: Any) -> Rows:
        """Some of them."""
        return Rows(self.seen[rows], self.legal[rows], self.tables[rows])


def some_decisions(name: str, policy: PolicyPlayer, count: int) -> Rows:
    """Decisions with a choice, from all parts of the first deals of matches that a policy plays against itself."""
    batch, rng, found = make_batch(name, 64, seed=7), np.random.default_rng(1), list[Rows]()
    batch.reset()
    while sum(len(rows.seen) for rows in found) < count:
        if batch.over.all():
            batch.reset()
        batch.observe()
        free = np.flatnonzero((np.count_nonzero(batch.mask, axis=1) > 1) & (rng.random(64) < 1 / SHARE))
        if len(free) > 0:
            tables = sampled_tables(batch.tables, free, rng)
            found.append(Rows(batch.observation[free].copy(), batch.mask[free].copy(), tables))
        batch.step(policy.act(batch.observation, batch.mask, rng))
    seen, legal = (np.concatenate([getattr(rows, of) for rows in found]) for of in ("seen", "legal"))
    return Rows(seen, legal, np.concatenate([rows.tables for rows in found]).view(np.recarray)).part(np.s_[:count])


class Watched:
    """Counts the rows of all calls of the network, and their seconds."""

    def __init__(self) -> None:
        """Nothing has been counted."""
        self.calls, self._infer = list[tuple[int, float]](), Forward.infer

    def __enter__(self) -> Watched:
        calls, infer = self.calls, self._infer

        def timed(forward: Forward, seen: np.ndarray, *rest: Any) -> Any:
            began = time.perf_counter()
            answer = infer(forward, seen, *rest)
            calls.append((len(seen), time.perf_counter() - began))
            return answer

        Forward.infer = timed  # type: ignore[assignment, method-assign]
        return self

    def __exit__(self, *_: object) -> None:
        Forward.infer = self._infer  # type: ignore[method-assign]


def seconds_of(player: SearchPlayer, rows: Rows) -> float:
    """Of one search of some rows."""
    began = time.perf_counter()
    player.search(rows.seen, rows.legal, np.arange(len(rows.seen)), rows.tables)
    return time.perf_counter() - began


def bound(policy: PolicyPlayer, rows: Rows, threads: int) -> float:
    """Decisions in a second of the policy alone, `TOGETHER` rows of each thread at once."""
    n = 8 * TOGETHER * threads
    which = np.random.default_rng(0).integers(0, len(rows.seen), n)
    seen, legal, seeds = rows.seen[which], np.ascontiguousarray(rows.legal[which]), np.arange(n)

    def work(first: int, end: int, _part: int) -> None:
        for begin in range(first, end, TOGETHER):
            here = np.s_[begin : begin + TOGETHER]
            policy.drawn(seen[here], legal[here], seeds[here], 1.0)

    began = time.perf_counter()
    RowThreads(threads).run(n, work)
    return n / (time.perf_counter() - began)


def measure(name: str, args: Args) -> Iterator[tuple[Any, ...]]:
    """The rows of a game."""
    policy = load_player(policy_of(name))
    assert isinstance(policy, PolicyPlayer)
    rows = some_decisions(name, policy, args.decisions)
    alone = [rows.part(np.s_[row : row + 1]) for row in range(args.decisions)]
    for opponents in args.opponents:
        for threads in args.threads:
            player = SearchPlayer(policy, worlds=args.worlds, opponents=opponents, threads=threads)
            seconds_of(player, rows)  # compiles what it needs
            one = min(float(np.median([seconds_of(player, row) for row in alone])) for _ in range(args.repeats))
            best, rate, share = np.inf, 0.0, 0.0
            for _ in range(args.repeats):
                with Watched() as watched:
                    took = seconds_of(player, rows)
                if took < best:
                    best, rate = took, sum(n for n, _ in watched.calls) / took
                    share = sum(seconds for _, seconds in watched.calls) / took / threads
            most = max(bound(policy, rows, threads) for _ in range(args.repeats))
            figures = (1000 * one, 1000 * best / args.decisions, rate, share, most)
            yield (name, opponents, threads, *(float(f"{figure:.4g}") for figure in figures))


def main(args: Args) -> None:
    """Measure all games, and write the tables."""
    args.out.mkdir(parents=True, exist_ok=True)
    found = list[tuple[Any, ...]]()
    for name in args.games:
        for row in measure(name, args):
            print(*row, flush=True)
            found.append(row)
    with (args.out / "timing.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([COLUMNS, *found])
    lines = list[list[str]]()
    for *key, one, many, rate, share, most in found:
        rates = (f"{rate / 1000:,.0f}", f"{share:.0%}", f"{most / 1000:,.0f}")
        lines.append([*map(str, key), f"{one:.1f}", f"{many:.1f}", *rates])
    heads = ("ms alone", "ms together", "thousand policy decisions a second", "inference", "the policy alone")
    (args.out / "timing.md").write_text(markdown_table(lines, "game", "opponents", "threads", *heads), encoding="utf-8")


if __name__ == "__main__":
    main(tyro.cli(Args))
