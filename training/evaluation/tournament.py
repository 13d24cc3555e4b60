"""Tournament of every player against every other on the same duplicate deals: payoff table and ratings.

Each pair plays the line-ups `alone` and `against` of `comparison`, on the same deals as all other pairs. The payoff table is
the result. Ratings summarise it: the least-squares fit of the pairs' differences by differences of ratings. With equally many
deals for every pair, a rating is the mean of a player's differences against all, itself included. Its standard error is that of
a mean over deals, so it accounts for the shared cards. Ratings are points per deal, and sum to zero.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import combinations
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple

import numpy as np

from noms_env._files import read_file, write_atomically
from noms_env._json import parse_json
from noms_env.envs.validation import Device
from noms_env.players.registry import FIRST, NEWEST, add_thumb_version
from noms_env.variants import Rules
from noms_env.version import ENV_VERSION

from ..agents.spec import AgentSpec, check_together, describe_device, device_of, threads_of
from ..text import markdown_table
from ..thread_pool import Ending
from .block_store import Blocks, Play, play_left, read_results, write_results
from .deal_sets import describe_tables
from .duplicate import AGAINST, ALONE, Lost, Pairing, line_ups
from .statistics import FEW, Estimate, estimate, holm, plus_minus, too_few

FORMAT = "noms-tournament/1"
PLAN, RESULTS, TABLE, PICTURE, BLOCKS = "plan.json", "results.json", "table.md", "heat.png", "blocks"
MAX_DEALS = 1_000_000
"""Largest number of deals of a pair; each block of them is a file."""


class Saved(NamedTuple):
    """Saved results of a block of a pair.

    `points`, float64, shape (2, deals), are those of the first player above the second: itself alone, and the second alone.
    `lost` are the tables that each of them lost.
    """

    points: np.ndarray
    lost: list[Lost]


class TournamentError(ValueError):
    """A folder holds no tournament that can continue, or a different one; the message says why."""


@dataclass(frozen=True)
class Plan:
    """Plan of a tournament: each pair of players, by name, plays the first `deals` deals of a set.

    `limit` are the seconds that a program has for a decision; `policies` has the SHA-256 of the policy files, by player.
    """

    players: tuple[str, ...]
    rules: Rules
    deals: int
    seed: int = 0
    deal_set: str = "dev"
    limit: float | None = None
    policies: Mapping[str, str] = field(default_factory=dict)
    device: Device = "cpu"

    def __post_init__(self) -> None:
        """Raise ValueError for a plan that cannot be played."""
        if len(self.players) < 2 or len(set(self.players)) < len(self.players):
            raise ValueError(f"a tournament needs two or more different players, not {', '.join(self.players) or 'none'}")
        if not 2 <= self.deals <= MAX_DEALS:
            raise ValueError(f"the number of deals must be from 2 to {MAX_DEALS:,}, not {self.deals:,}")

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Player numbers of each pair."""
        return list(combinations(range(len(self.players)), 2))

    def as_json(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "environment": ENV_VERSION,
            "players": list(self.players),
            "thumb_version": NEWEST,
            **describe_tables(self.rules, self.deal_set),
            "deals": self.deals,
            "seed": self.seed,
            "limit": self.limit,
            "policies": dict(self.policies),
            **describe_device(self.device),
        }


class Folder:
    """Files of a tournament."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def begin(self, plan: Plan) -> None:
        """Create the folder; TournamentError if it already holds a tournament, OSError if it cannot be created."""
        if (self.path / PLAN).exists():
            raise TournamentError(f"there is a tournament in {self.path}: go on with it (--resume), or take another folder")
        self.path.mkdir(parents=True, exist_ok=True)
        write_atomically(self.path / PLAN, dump(plan.as_json()))

    def go_on(self, plan: Plan) -> None:
        """Check that the plan continues the tournament in the folder: it may have more deals, and more players at the end.

        All blocks are reused, except a last block that was short: it is replayed, with the same results.

        Raises:
            TournamentError: there is no tournament, or a different one.
            OSError: the folder cannot be written.
        """
        try:
            saved = parse_json(read_file(self.path / PLAN))
        except (OSError, ValueError) as error:
            raise TournamentError(f"there is no tournament to go on with in {self.path}: {PLAN} cannot be read") from error
        if not isinstance(saved, dict) or not isinstance(saved.get("players"), list):
            raise TournamentError(f"{self.path / PLAN} is damaged: it names no players")
        version = saved.pop("thumb_version", FIRST)
        if version != NEWEST:  # `thumb` was an older version then, which now has its own name
            saved["players"] = [add_thumb_version(name, version) for name in saved["players"]]
        saved["thumb_version"] = NEWEST
        saved.setdefault("device", "cpu")  # files omit it
        for name, value in {**plan.as_json(), "device": plan.device}.items():
            before = saved.get(name, {} if name == "policies" else None)
            if not has_grown_from(name, before, value):
                raise TournamentError(f"the tournament in {self.path} was begun with {name} {before!r}, not {value!r}")
        write_atomically(self.path / PLAN, dump(plan.as_json()))

    def file_of(self, pair: tuple[int, int], first: int) -> Path:
        return self.path / BLOCKS / f"{pair[0]}-{pair[1]}" / f"{first:08}.json"

    def save(self, pair: tuple[int, int], first: int, saved: Saved) -> None:
        """Write a block; OSError if it cannot be written."""
        alone, against = saved.points.tolist()
        document = {"alone": alone, "against": against, "lost": [asdict(lost) for lost in saved.lost]}
        write_results(self.file_of(pair, first), document)

    def load(self, pair: tuple[int, int], blocks: Blocks[Saved]) -> None:
        """Add the saved blocks of a pair; blocks with another number of deals are left unfinished."""
        for first, count in blocks:
            saved = read_results(self.file_of(pair, first), read_saved)
            if saved is not None and saved.points.shape[1] == count:
                blocks.results[first] = saved


def read_saved(document: Any) -> Saved:
    """Parse a block that `Folder.save` wrote; ValueError, LookupError or TypeError if it is invalid."""
    points = np.array([document["alone"], document["against"]], np.float64)
    lost = [Lost(**of_player) for of_player in document["lost"]]
    if len(lost) != 2 or points.ndim != 2 or not np.isfinite(points).all():
        raise ValueError("a block has the points of two players in each deal, and their lost tables")
    return Saved(points, lost)


def has_grown_from(name: str, before: Any, after: Any) -> bool:
    """Return whether an entry of a plan is unchanged, or has gained deals or players."""
    if before == after or type(before) is not type(after):
        return bool(before == after)
    if name == "policies":
        return bool(before.items() <= after.items())
    return bool(after[: len(before)] == before) if name == "players" else name == "deals" and after > before


def dump(document: Any) -> bytes:
    """Return indented JSON."""
    return json.dumps(document, indent=1).encode() + b"\n"


def play_tournament(
    plan: Plan,
    players: Sequence[AgentSpec],
    folder: Folder,
    *,
    threads: int = 1,
    tick: Callable[[int], None] = lambda deals: None,
) -> Ending:
    """Play the missing blocks of a folder that `begin` or `go_on` prepared; for the rest see `play_left`.

    Raises:
        ValueError: a player cannot play at such tables, or is of another device than the plan.
        OSError: a block cannot be written.
    """
    check_together(players, plan.rules)
    if device_of(players) != plan.device:
        raise ValueError(f"the players of this plan are of {plan.device}, not of {device_of(players)}")
    return play_left(
        load_series(plan, players, folder),
        threads_of(players, threads),
        keep=lambda number, first, saved: folder.save(plan.pairs[number], first, saved),
        tick=tick,
    )


def load_series(plan: Plan, players: Sequence[AgentSpec], folder: Folder) -> list[tuple[Blocks[Saved], Play[Saved]]]:
    """Return for each pair its blocks, with those in the folder, and the function that plays them."""
    seats = plan.rules.seats
    seatings = line_ups(seats, (ALONE, AGAINST))

    def play(pairing: Pairing, first: int, count: int, stop: Event) -> Saved:
        block = pairing.play(first, count, stop)
        halves = block.values[:, :seats], block.values[:, seats:]
        return Saved(np.array([half.mean(axis=1) for half in halves]), [*block.lost])

    series = list[tuple[Blocks[Saved], Play[Saved]]]()
    for a, b in plan.pairs:
        pairing = Pairing(plan.rules, (players[a], players[b]), seatings, plan.seed, plan.deal_set)
        blocks = Blocks[Saved](plan.deals, pairing.at_once)
        folder.load((a, b), blocks)
        series.append((blocks, partial(play, pairing)))
    return series


@dataclass(frozen=True)
class Results:
    """Payoff table, and the tables that each player lost.

    `values`, float64, shape (players, players, deals), are the points of the first player, alone, above the mean of the others,
    who are all the second; 0 on the diagonal.
    """

    plan: Plan
    values: np.ndarray
    lost: tuple[Lost, ...]

    @property
    def deals(self) -> int:
        return int(self.values.shape[2])

    @property
    def differences(self) -> np.ndarray:
        """Difference of each player to each other, averaged over alone and field: antisymmetric, shape as `values`."""
        return np.asarray((self.values - self.values.swapaxes(0, 1)) / 2)

    def alone(self, player: int, field: int) -> Estimate:
        """Return the points of a player alone in a field of another."""
        return estimate(self.values[player, field])

    def difference(self, a: int, b: int) -> Estimate:
        """Return by how much A beats B."""
        return estimate(self.differences[a, b])

    def ratings(self) -> list[Estimate]:
        return [estimate(differences) for differences in self.differences.mean(axis=1)]

    def order(self) -> list[int]:
        """Return the players, best first."""
        means = [rating.mean for rating in self.ratings()]
        return sorted(range(len(means)), key=lambda player: -means[player])

    def as_json(self) -> dict[str, Any]:
        names, pairs = self.plan.players, self.plan.pairs
        differences = [self.difference(a, b) for a, b in pairs]
        adjusted = holm([difference.p_value for difference in differences])
        return {
            **self.plan.as_json(),
            "deals": self.deals,
            "table": {a: {b: asdict(self.alone(i, j)) for j, b in enumerate(names) if i != j} for i, a in enumerate(names)},
            "pairs": [
                {"a": names[a], "b": names[b], **asdict(points), "p_value": points.p_value, "p_value_holm": p_value}
                for (a, b), points, p_value in zip(pairs, differences, adjusted, strict=True)
            ],
            "ratings": {name: asdict(rating) for name, rating in zip(names, self.ratings(), strict=True)},
            "lost": {name: asdict(lost) for name, lost in zip(names, self.lost, strict=True)},
        }


def results_of(plan: Plan, players: Sequence[AgentSpec], folder: Folder) -> Results | None:
    """Return the results of the deals that all pairs have finished; None for fewer than two deals."""
    series = [blocks for blocks, _ in load_series(plan, players, folder)]
    deals = min(blocks.deals_done for blocks in series)
    if deals < 2:
        return None
    number = len(plan.players)
    values, lost = np.zeros((number, number, deals)), [Lost() for _ in range(number)]
    for (a, b), blocks in zip(plan.pairs, series, strict=True):
        played = [blocks.results[first] for first, _ in blocks.done if first < deals]
        values[a, b], against = np.concatenate([saved.points for saved in played], axis=1)[:, :deals]
        values[b, a] = -against
        for saved in played:
            lost[a] += saved.lost[0]
            lost[b] += saved.lost[1]
    return Results(plan, values, tuple(lost))


def markdown(document: Mapping[str, Any]) -> str:
    """Return the payoff table of a `Results.as_json` document as Markdown, best player first."""
    return (
        f"{document['variant']}, {document['seats']} seats, {document['deals']:,} deals of the set `{document['set']}` for "
        "each pair. Points per deal of the player of the row, alone, above the mean of the others, all of them the player of "
        f"the column, with the 95 % interval; rating with standard error.\n\n{crosstable(document)}"
    )


def crosstable(document: Mapping[str, Any]) -> str:
    """Return the payoff table alone, with the remarks below it."""
    table, ratings = document["table"], document["ratings"]
    order = sorted(ratings, key=lambda name: -ratings[name]["mean"])
    rows = []
    for name in order:
        cells = (plus_minus(Estimate(**table[name][other])) if other != name else "" for other in order)
        rows.append((f"`{name}`", *cells, "{mean:+.3f} ({standard_error:.3f})".format(**ratings[name])))
    head = ("alone \\ field", *(f"`{name}`" for name in order), "rating")
    return "\n".join([markdown_table(rows, *head), "", *sentences(document)]) + "\n"


def sentences(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield remarks: pairs without a significant difference, and lost tables."""
    equal = [f"`{pair['a']}` and `{pair['b']}`" for pair in document["pairs"] if pair["p_value_holm"] >= 0.05]
    if equal:
        yield f"Pairs without a significant difference (5 % level, corrected for all pairs by Holm): {', '.join(equal)}."
    else:
        yield "All pairs differ significantly (5 % level, corrected for all pairs by Holm)."
    if document["deals"] < FEW:
        yield too_few(document["deals"])
    for name, lost in document["lost"].items():
        yield from Lost(**lost).sentences(f"`{name}`")
