"""Measure the strength of search over thinking time: `python -m benchmarks.search_strength OUT`.

A hero plays alone among equal players (the *field*) on duplicate deals of the set `test`, with rotated seats. Its points are
relative to the field's own points. Heroes are the published policy, and `pimc` and `search` with increasing numbers of worlds.
Fields are the policy, `thumb`, `pimc:100` and `pimc:400`.

OUT/GAME-FIELD.json has the value of every deal and the time for each hero; an interrupted measurement resumes from these files.
OUT also gets search.csv, search.md and search.png. Needs `pip install '.[plot]'`.
"""

from __future__ import annotations

import csv
import json
import re
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro

from noms_env.players import Player
from noms_env.variants import VARIANTS, Rules, game, make_rules
from noms_training.agents.registry import agent_spec
from noms_training.agents.spec import AgentSpec
from noms_training.evaluation.block_store import NothingPlayedError
from noms_training.evaluation.comparison import compare
from noms_training.evaluation.statistics import Estimate, estimate
from noms_training.pictures import COLOURS, GREY, panels, plain, png
from noms_training.text import markdown_table

POLICIES = {"big_ships": "exact_bid", "down_up": "exact_bid", "up_down": "exact_bid"}
"""Published policies whose name is not that of the game."""
FIELDS = ("policy", "thumb", "pimc:100", "pimc:400")
EQUAL = 0.25
"""Tolerance of time: a search is compared with a `pimc` that takes at most this fraction more."""


SHA256 = "policy_sha256"
"""Key of the hash of the policy's file, in a results file."""


def policy_of(name: str) -> str:
    """Return the name of a game's published policy with greedy actions."""
    return f"{POLICIES.get(name, name)}@0"


@dataclass
class Args:
    """Command-line arguments."""

    out: Annotated[Path, tyro.conf.Positional]
    """output folder"""
    games: tuple[str, ...] = tuple(VARIANTS)
    """games to play"""
    fields: tuple[str, ...] = FIELDS
    """players on the other seats: policy, thumb, pimc:100, pimc:400"""
    worlds: tuple[int, ...] = (8, 24, 80, 240, 800)
    """numbers of worlds of search and pimc"""
    heroes: tuple[str, ...] = ("{policy}", "pimc:{worlds}", "search:{policy},worlds={worlds}")
    """players to measure; {policy} is the published policy of the game, {worlds} each number of worlds"""
    deals: int = 96
    """duplicate deals, each with the hero on every seat"""
    minutes: float = 600.0
    """time limit in minutes, after which no hero starts"""


@dataclass
class Timed:
    """Wrapper that records a player's processor time in the calling thread, and its decisions without forced moves."""

    player: Player
    seconds: list[float] = field(default_factory=list)
    decisions: list[int] = field(default_factory=list)

    @property
    def wants_tables(self) -> bool:
        return self.player.wants_tables

    def act(self, observation: np.ndarray, mask: np.ndarray, seeds: np.ndarray, *, tables: Any = None) -> Any:
        """See `noms_env.players.Player.act`."""
        began = time.thread_time()
        actions = self.player.act(observation, mask, seeds, tables=tables)
        self.seconds.append(time.thread_time() - began)
        self.decisions.append(int((np.count_nonzero(np.atleast_2d(mask), axis=1) > 1).sum()))
        return actions


def timed(spec: AgentSpec) -> tuple[AgentSpec, list[Timed]]:
    """Return the spec of a timed player, and the list to which it adds each player that it makes."""
    made, lock = list[Timed](), threading.Lock()

    def make() -> Player:
        player = Timed(spec.make())
        with lock:
            made.append(player)
        return player

    return replace(spec, make=make), made


def heroes(args: Args, policy: str) -> Iterator[str]:
    """Yield the names of the players to measure, fewest worlds first."""
    for worlds in args.worlds:
        for hero in args.heroes:
            if "{worlds}" in hero or worlds == args.worlds[0]:
                yield hero.format(policy=policy, worlds=worlds)


def measure(rules: Rules, hero: str, among: str, deals: int) -> dict[str, Any]:
    """Measure a hero: points above the field in each deal, and milliseconds per decision.

    Raises:
        KeyboardInterrupt: Ctrl-C before all deals were played.
    """
    try:
        compare(rules, agent_spec(hero), agent_spec(among), 2, names=("alone",))  # compile first
        spec, made = timed(agent_spec(hero))
        played = compare(rules, spec, agent_spec(among), deals, deal_set="test", names=("alone",))
    except NothingPlayedError as nothing:
        raise KeyboardInterrupt from nothing
    if played.ending != "all":
        raise KeyboardInterrupt
    seconds, decisions = (sum(sum(getattr(player, name)) for player in made) for name in ("seconds", "decisions"))
    return {
        "ms": round(1000 * seconds / decisions, 4),
        "values": [round(float(value), 4) for value in played.per_deal("alone")],
    }


@dataclass(frozen=True)
class Results:
    """Results of the heroes of a game in a field."""

    game: str
    among: str
    policy: str
    heroes: dict[str, dict[str, Any]]

    def values(self, hero: str) -> np.ndarray:
        """Return the points above the field in each deal."""
        return np.array(self.heroes[hero]["values"])

    def above(self, hero: str, other: str) -> Estimate | None:
        """Return the advantage of a hero over another on their common deals. The policy among itself is the field."""
        if self.among == "policy" and other == self.policy:
            return estimate(self.values(hero))
        if other not in self.heroes:
            return None
        n = min(len(self.values(hero)), len(self.values(other)))
        return estimate(self.values(hero)[:n] - self.values(other)[:n])

    def pimc_in_time(self, hero: str) -> str | None:
        """Return the slowest `pimc` that is as fast as a hero, with the tolerance `EQUAL`."""
        limit = self.heroes[hero]["ms"] * (1 + EQUAL)
        fast = [name for name in self.heroes if name.startswith("pimc:") and self.heroes[name]["ms"] <= limit]
        return max(fast, key=lambda name: float(self.heroes[name]["ms"]), default=None)


def read(out: Path, game_name: str, among: str) -> Results:
    """Read the results so far.

    Raises:
        ValueError: The results are of another version of the policy.
    """
    path, policy = out / f"{game_name}-{among.replace(':', '')}.json", policy_of(game_name)
    document = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    if document and document.pop(SHA256, None) != agent_spec(policy).sha256:
        raise ValueError(f"{path} is of another policy {policy}: take a new folder, or remove the file")
    return Results(game_name, among, policy, document)


def write(out: Path, results: Results) -> None:
    """Write the results."""
    path = out / f"{results.game}-{results.among.replace(':', '')}.json"
    kept = {SHA256: agent_spec(results.policy).sha256, **results.heroes}
    lines = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in kept.items()]
    path.with_suffix(".tmp").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    path.with_suffix(".tmp").replace(path)


def rows(all_results: Sequence[Results]) -> Iterator[dict[str, Any]]:
    """Yield a row for each hero in each field: its advantage over the field, the policy, and the `pimc` of equal time."""
    for results in all_results:
        for name, hero in sorted(results.heroes.items(), key=lambda item: item[1]["ms"]):
            own = estimate(results.values(name))
            rival = results.pimc_in_time(name) if name.startswith("search:") else None
            yield {
                "game": results.game,
                "field": results.among,
                "player": name,
                "ms": hero["ms"],
                "deals": own.deals,
                "points": own,
                "policy": results.above(name, results.policy) if name != results.policy else None,
                "pimc": results.above(name, rival) if rival else None,
            }


def shown(value: Estimate | None) -> str:
    """Format an estimate such as `+0.31 ±0.12`."""
    return f"{value.mean:+.2f} ±{(value.high - value.low) / 2:.2f}" if value else ""


def tables(all_results: Sequence[Results]) -> str:
    """Return Markdown tables: points above fields without search, points above fields with search, and milliseconds."""
    searching = [
        [results for results in all_results if results.among.startswith("pimc:") is wanted] for wanted in (False, True)
    ]
    return "\n\n".join([*map(_points_table, filter(None, searching)), _times_table(all_results)])


def _points_table(all_results: Sequence[Results]) -> str:
    """Return the points as a table with a row for each game and field."""
    columns = _columns(all_results)
    points = list[list[str | None]]()
    for results in all_results:
        by_column = {_column(name, results): hero for name, hero in results.heroes.items()}
        cells = [shown(estimate(np.array(by_column[column]["values"]))) if column in by_column else None for column in columns]
        points.append([results.game, results.among, *cells])
    return markdown_table(points, "game", "field", *map(_head, columns))


def _times_table(all_results: Sequence[Results]) -> str:
    """Return the median milliseconds per decision as a table with a row for each game."""
    times = dict[str, dict[tuple[str, int], list[float]]]()
    for results in all_results:
        for name, hero in results.heroes.items():
            times.setdefault(results.game, {}).setdefault(_column(name, results), []).append(hero["ms"])
    columns = _columns(all_results)
    medians = [[game, *(_median(by_column.get(column)) for column in columns)] for game, by_column in times.items()]
    return markdown_table(medians, "game", *map(_head, columns))


def _columns(all_results: Sequence[Results]) -> list[tuple[str, int]]:
    return sorted({_column(name, results) for results in all_results for name in results.heroes})


def _column(hero: str, results: Results) -> tuple[str, int]:
    """Return the kind of a hero with its opponent model, if any, and its number of worlds, 0 for the policy."""
    worlds, model = re.search(r"(?:^pimc:|worlds=)(\d+)", hero), re.search(r"opponents=(\w+)", hero)
    kind = "policy" if hero == results.policy else hero.split(":", 1)[0]
    return f"{kind} {model[1]}" if model else kind, int(worlds[1]) if worlds else 0


def _head(column: tuple[str, int]) -> str:
    kind, worlds = column
    return f"{kind} {worlds}" if worlds else kind


def _median(values: Sequence[float] | None) -> str | None:
    return f"{np.median(values):.3g}" if values else None


def draw(all_results: Sequence[Results]) -> bytes:
    """Draw points above the field over milliseconds, a panel for each game and field, as PNG."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    games = list(dict.fromkeys(item.game for item in all_results))
    picture, grid = panels(len(games) * len(FIELDS), "python -m benchmarks.search_strength", columns=len(FIELDS))
    for results in all_results:
        axes = grid[games.index(results.game) * len(FIELDS) + FIELDS.index(results.among)]
        for kind, label, colour in (("pimc:", "pimc", COLOURS[2]), ("search:", "search on the policy", COLOURS[3])):
            points = sorted((hero["ms"], name) for name, hero in results.heroes.items() if name.startswith(kind))
            if not points:
                continue
            estimates = [estimate(results.values(name)) for _, name in points]
            spread = [(item.high - item.low) / 2 for item in estimates]
            times, means = [ms for ms, _ in points], [item.mean for item in estimates]
            axes.errorbar(times, means, spread, color=colour, marker="o", markersize=4, linewidth=1.4, capsize=2, label=label)
        if results.policy in results.heroes or results.among == "policy":
            level = 0.0 if results.among == "policy" else results.values(results.policy).mean()
            axes.axhline(level, color=GREY, linestyle="--", linewidth=1, label="the policy")
        axes.axhline(0, color=GREY, linewidth=0.8, label="the field")
        if axes.containers:  # a logarithmic axis needs data
            axes.set_xscale("log")
            axes.xaxis.set_major_locator(LogLocator(subs=(1, 3)))
            axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
            axes.xaxis.set_minor_formatter(NullFormatter())
        plain(axes, f"{results.game}, among {results.among}")
    grid[0].legend(fontsize=8, frameon=False)
    picture.supxlabel("ms a decision, one core", fontsize=9)
    picture.supylabel("points a deal above the field", fontsize=9)
    return png(picture)


def main(args: Args) -> None:
    """Measure the missing heroes and write the results."""
    args.out.mkdir(parents=True, exist_ok=True)
    until = time.monotonic() + 60 * args.minutes
    for among in args.fields:
        for name in args.games:
            rules = make_rules(game(name))
            policy = read(args.out, name, among).policy
            for hero in heroes(args, policy):
                done = read(args.out, name, among)
                own_field = among == "policy" and hero == policy
                if own_field or len(done.heroes.get(hero, {"values": []})["values"]) >= args.deals or time.monotonic() > until:
                    continue
                run = measure(rules, hero, policy if among == "policy" else among, args.deals)
                done = read(args.out, name, among)
                done.heroes[hero] = run
                write(args.out, done)
                print(
                    name,
                    among,
                    hero,
                    f"{run['ms']:.2f} ms",
                    shown(estimate(np.array(run["values"]))),
                    flush=True,
                )
    all_results = [item for name in VARIANTS for among in FIELDS if (item := read(args.out, name, among)).heroes]
    with (args.out / "search.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        ends, plain = ("mean", "low", "high"), ("game", "field", "player", "ms", "deals")
        writer.writerow([*plain, *(f"{of} {end}" for of in ("points", "policy", "pimc") for end in ends)])
        for row in rows(all_results):
            above = [row["points"], row["policy"], row["pimc"]]
            figures = [round(getattr(item, end), 4) if item else "" for item in above for end in ends]
            writer.writerow([*(row[name] for name in plain), *figures])
    (args.out / "search.md").write_text(f"{tables(all_results)}\n", encoding="utf-8")
    if all_results:
        (args.out / "search.png").write_bytes(draw(all_results))


if __name__ == "__main__":
    main(tyro.cli(Args))
