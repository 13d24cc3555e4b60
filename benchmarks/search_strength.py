"""Measure the strength of search over thinking time: `python -m benchmarks.search_strength OUT`.

A hero plays alone among equal players (the *field*) on duplicate deals of the set `test`, with rotated seats. Its points are
relative to the field's own points. Heroes are the published policy, and `pimc` and `search` with increasing numbers of worlds.
Fields are the policy, `thumb`, `pimc:100` and `pimc:400`.

OUT/GAME-FIELD.json has the value of every deal and the time for each hero; an interrupted measurement resumes from these files.
OUT also gets search.csv, search.md and search.png. Needs `pip install '.[plot]'`.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro

from noms_env._files import write_atomically
from noms_env.players import Player
from noms_env.variants import VARIANTS, Rules, game, make_rules
from noms_training.agents.registry import agent_spec
from noms_training.agents.spec import AgentSpec
from noms_training.benchmark.entry import write_csv
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
ENDS = ("mean", "low", "high")
"""Values of an estimate in search.csv."""


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
    seconds: float = 0.0
    decisions: int = 0

    @property
    def wants_tables(self) -> bool:
        return self.player.wants_tables

    def act(self, observation: np.ndarray, mask: np.ndarray, seeds: np.ndarray, *, tables: Any = None) -> Any:
        began = time.thread_time()
        actions = self.player.act(observation, mask, seeds, tables=tables)
        self.seconds += time.thread_time() - began
        self.decisions += int((np.count_nonzero(np.atleast_2d(mask), axis=1) > 1).sum())
        return actions


def with_timer(spec: AgentSpec) -> tuple[AgentSpec, list[Timed]]:
    """Return the spec of a timed player, and the list to which it adds each player that it makes."""
    players = list[Timed]()

    def make() -> Player:
        players.append(player := Timed(spec.make()))
        return player

    return replace(spec, make=make), players


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
        spec, players = with_timer(agent_spec(hero))
        played = compare(rules, spec, agent_spec(among), deals, deal_set="test", names=("alone",))
    except NothingPlayedError as nothing:
        raise KeyboardInterrupt from nothing
    if played.ending != "all":
        raise KeyboardInterrupt
    seconds, decisions = sum(player.seconds for player in players), sum(player.decisions for player in players)
    values = [round(float(value), 4) for value in played.per_deal("alone")]
    return {"ms": round(1000 * seconds / decisions, 4), "values": values}


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
    """Read the results so far; ValueError if the results are of another version of the policy."""
    path, policy = out / f"{game_name}-{among.replace(':', '')}.json", f"{POLICIES.get(game_name, game_name)}@0"
    document = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    if document and document.pop(SHA256, None) != agent_spec(policy).sha256:
        raise ValueError(f"{path} is of another policy {policy}: take a new folder, or remove the file")
    return Results(game_name, among, policy, document)


def write(out: Path, results: Results) -> None:
    """Write the results."""
    path = out / f"{results.game}-{results.among.replace(':', '')}.json"
    document = {SHA256: agent_spec(results.policy).sha256, **results.heroes}
    lines = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in document.items()]
    write_atomically(path, ("{\n" + ",\n".join(lines) + "\n}\n").encode())


def csv_rows(all_results: Sequence[Results]) -> Iterator[list[Any]]:
    """Yield search.csv: for each hero in each field its advantage over the field, the policy, and the `pimc` of equal time."""
    yield ["game", "field", "player", "ms", "deals", *(f"{of} {end}" for of in ("points", "policy", "pimc") for end in ENDS)]
    for results in all_results:
        for name, hero in sorted(results.heroes.items(), key=lambda item: item[1]["ms"]):
            points = estimate(results.values(name))
            over_policy = results.above(name, results.policy) if name != results.policy else None
            rival = results.pimc_in_time(name) if name.startswith("search:") else None
            estimates = points, over_policy, results.above(name, rival) if rival else None
            figures = [round(getattr(item, end), 4) if item else "" for item in estimates for end in ENDS]
            yield [results.game, results.among, name, hero["ms"], points.deals, *figures]


def points_text(hero: dict[str, Any]) -> str:
    """Return a hero's points above the field such as `+0.31 ±0.12`."""
    points = estimate(np.array(hero["values"]))
    return f"{points.mean:+.2f} ±{(points.high - points.low) / 2:.2f}"


def tables(all_results: Sequence[Results]) -> str:
    """Return Markdown tables: points above fields without search, points above fields with search, and milliseconds."""
    by_search = [[item for item in all_results if item.among.startswith("pimc:") is searches] for searches in (False, True)]
    points = [_table(group, ("game", "field"), lambda heroes: points_text(heroes[-1])) for group in by_search if group]
    return "\n\n".join([*points, _table(all_results, ("game",), lambda heroes: f"{np.median([h['ms'] for h in heroes]):.3g}")])


def _table(all_results: Sequence[Results], heads: Sequence[str], text: Callable[[list[dict[str, Any]]], str]) -> str:
    """Return a table with a column for each kind of hero, from the text of the heroes in a cell; `heads` label the rows."""
    cells = dict[tuple[str, ...], dict[tuple[str, int], list[dict[str, Any]]]]()
    for results in all_results:
        row = cells.setdefault((results.game, results.among)[: len(heads)], {})
        for name, hero in results.heroes.items():
            row.setdefault(_column(name, results), []).append(hero)
    columns = sorted({column for row in cells.values() for column in row})
    rows = [[*labels, *(text(row[column]) if column in row else None for column in columns)] for labels, row in cells.items()]
    return markdown_table(rows, *heads, *(f"{kind} {worlds}" if worlds else kind for kind, worlds in columns))


def _column(hero: str, results: Results) -> tuple[str, int]:
    """Return the kind of a hero with its opponent model, if any, and its number of worlds, 0 for the policy."""
    worlds, model = re.search(r"(?:^pimc:|worlds=)(\d+)", hero), re.search(r"opponents=(\w+)", hero)
    kind = "policy" if hero == results.policy else hero.split(":", 1)[0]
    return f"{kind} {model[1]}" if model else kind, int(worlds[1]) if worlds else 0


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
                before = read(args.out, name, among).heroes.get(hero, {"values": []})
                own_field = among == "policy" and hero == policy
                if own_field or len(before["values"]) >= args.deals or time.monotonic() > until:
                    continue
                run = measure(rules, hero, policy if among == "policy" else among, args.deals)
                done = read(args.out, name, among)
                done.heroes[hero] = run
                write(args.out, done)
                print(name, among, hero, f"{run['ms']:.2f} ms", points_text(run), flush=True)
    all_results = [item for name in VARIANTS for among in FIELDS if (item := read(args.out, name, among)).heroes]
    write_csv(args.out / "search.csv", csv_rows(all_results))
    (args.out / "search.md").write_text(f"{tables(all_results)}\n", encoding="utf-8")
    if all_results:
        (args.out / "search.png").write_bytes(draw(all_results))


if __name__ == "__main__":
    main(tyro.cli(Args, description=__doc__))
