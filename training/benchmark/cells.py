"""The cells of an entry: each is a game, a seed and a field, and has the points of every duplicate deal.

A cell is a file, and grows by the blocks of deals that are done, so that a scoring that was stopped goes on where it was. The
points of a deal are those of the player above the mean of the others, over the games with it alone on each seat. They are kept
in ten-thousandths, as whole numbers, and all figures follow from these.
"""

from __future__ import annotations

import dataclasses
import hashlib
import sys
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np

from ..agents.registry import agent_spec
from ..agents.spec import AgentSpec
from ..evaluation.block_store import Blocks, play_left, read_results, write_results
from ..evaluation.duplicate import ALONE, Lost, Pairing, line_ups
from ..learn.data.workers import in_ray
from ..text import printable
from ..thread_pool import Ending
from .entry import Entry, EntryError, entry_player, fits, player_sha256
from .protocol import DEAL_SET, PLAYER_SEED, POLICIES, PUBLISHED, Field, Part, cells_of, field_player, rules_of_game

FORMAT = "noms-benchmark-cell/2"
CELLS = "cells"
PATTERN = {
    **{"format": str, "game": str, "seed": int, "field": str, "deals": int, "set": str, "unit": int},
    **{"player_sha256": (str, None), "field_sha256": (str, None)},
    **{"lost": {str: {"tables": int, "why": [str]}}, "points": {str: [int]}},
}
"""Of the file of a cell (`entry.fits`)."""
UNIT = 10_000
"""Of a point."""


Played = tuple[list[int], Lost, float]
"""The points of the deals of a block as whole numbers, the tables that were lost, and the processor seconds it took."""


@dataclass
class Cell:
    """What is played of a cell.

    Attributes:
        game, seed, field: which.
        player_sha256: of what the player plays by (`entry.player_sha256`), so that deals of another policy are not added.
        field_sha256: likewise of the field.
        blocks: points of the deals of each block in ten-thousandths, by the number of the first.
        lost: the tables that the player lost by failing, by block likewise; none of a block in which it lost none.
    """

    game: str
    seed: int
    field: Field
    player_sha256: str | None
    field_sha256: str | None
    blocks: dict[int, list[int]] = dataclasses.field(default_factory=dict)
    lost: dict[int, Lost] = dataclasses.field(default_factory=dict)

    @property
    def name(self) -> str:
        """As messages say it."""
        return f"{self.game}, seed {self.seed}, field {self.field.name}"

    @property
    def deals(self) -> int:
        """How many are played."""
        return sum(map(len, self.blocks.values()))

    @property
    def is_complete(self) -> bool:
        return self.deals == self.field.deals

    @property
    def numbers(self) -> np.ndarray:
        """The points in ten-thousandths, int64, shape (deals,), in the order of the deals."""
        return np.array([number for first in sorted(self.blocks) for number in self.blocks[first]], np.int64)

    @property
    def values(self) -> np.ndarray:
        """The points of each deal, float64, shape (deals,)."""
        points: np.ndarray = self.numbers / UNIT
        return points

    @property
    def sha256(self) -> str:
        """Of all points: two cells with the same hash are the same to the last digit."""
        return hashlib.sha256(self.numbers.astype("<i8").tobytes()).hexdigest()

    def figures(self) -> dict[str, Any]:
        """What `scores.json` says of it."""
        values, lost = self.values, sum(forfeits.tables for forfeits in self.lost.values())
        return {
            "points": float(values.mean()),
            "error": float(values.std(ddof=1) / len(values) ** 0.5),
            "deals": self.deals,
            "sha256": self.sha256,
            "player_sha256": self.player_sha256,
            "field_sha256": self.field_sha256,
            **({"lost": lost} if lost else {}),
        }

    def add(self, first: int, points: list[int], lost: Lost) -> None:
        """Take what was played of a block, in place of what there was of it."""
        self.blocks[first] = points
        self.lost.pop(first, None)
        if lost.tables:
            self.lost[first] = lost

    def path(self, folder: Path) -> Path:
        """Its file in the folder of an entry."""
        return folder / CELLS / self.game / str(self.seed) / f"{self.field.name.replace(':', '-')}.json"

    def save(self, folder: Path) -> None:
        """Write it, whole or not at all; OSError if it cannot be written."""
        document = {
            "format": FORMAT,
            "game": self.game,
            "seed": self.seed,
            **{"field": self.field.name, "deals": self.field.deals, "set": DEAL_SET, "unit": UNIT},
            **{"player_sha256": self.player_sha256, "field_sha256": self.field_sha256},
            "lost": {str(first): asdict(self.lost[first]) for first in sorted(self.lost)},
            "points": {str(first): self.blocks[first] for first in sorted(self.blocks)},
        }
        write_results(self.path(folder), document)

    def load(self, folder: Path) -> None:
        """Take over the blocks that its file has, if it is of the same players; a damaged file is reported."""
        kept = read_results(self.path(folder), read_cell)
        if kept is None or kept.deals > self.field.deals:
            return
        if (kept.player_sha256, kept.field_sha256) == (self.player_sha256, self.field_sha256):
            self.blocks, self.lost = kept.blocks, kept.lost


def read_cell(document: Any) -> Cell:
    """A cell as `Cell.save` writes it; ValueError if it is none."""
    if not fits(document, PATTERN):
        raise ValueError("it is no cell")
    blocks = {int(first): points for first, points in document["points"].items()}
    lost = {int(first): Lost(of["tables"], [*map(printable, of["why"])]) for first, of in document["lost"].items()}
    field = Field(document["field"], document["deals"], "core")
    return Cell(document["game"], document["seed"], field, document["player_sha256"], document["field_sha256"], blocks, lost)


@dataclass(frozen=True)
class Playing:
    """A cell and what plays it: here by `pairing`, on another machine by the two names that it was made of."""

    cell: Cell
    pairing: Pairing
    names: tuple[str, str]

    @property
    def blocks(self) -> Blocks[Played]:
        """The blocks of the cell; a block of another length is to be played again."""
        blocks, cell = Blocks[Played](self.cell.field.deals, self.pairing.block), self.cell
        for first, count in blocks:
            if len(cell.blocks.get(first, [])) == count:
                blocks.results[first] = cell.blocks[first], cell.lost.get(first, Lost()), 0.0
        return blocks


Run = tuple[str, int]
"""A game and a seed."""


def cells_of_entry(
    entry: Entry,
    folder: Path,
    parts: Sequence[Part],
    kept: Path | None = None,
    most: int | None = None,
    without: Collection[Run] = (),
) -> list[Playing]:
    """The cells of an entry.

    Args:
        entry: the entry.
        folder: where it is; its players are loaded.
        parts: of the protocol.
        kept: the folder whose cells are gone on with; None to begin anew.
        most: deals of each cell at most; None for all, as the protocol has them.
        without: runs whose policies are not here; cells that need one are left out.

    Raises:
        EntryError: a player of the entry cannot be had.
        ValueError: a published policy is not that of the protocol.
    """
    players = dict[tuple[str, str], tuple[AgentSpec, str, str | None]]()
    for game in entry.games:
        here = [seed for seed in entry.seeds if (game, seed) not in without]
        for seed, spec in entry.specs(folder, game, here).items():
            name = entry.player_name(folder.resolve(), game, seed)
            players[game, f"seed-{seed}"] = spec, name, player_sha256(spec, name)
    cells = list[Playing]()
    for game, seed, field in cells_of(entry.games, entry.seeds, tuple(parts)):
        own = players.get((game, f"seed-{seed}"))
        if own and field.part != "cross" and (game, field.name) not in players:
            spec = field_spec(field, game)
            players[game, field.name] = spec, field_player(field, game), spec.sha256
        other = players.get((game, field.name))
        if own is None or other is None:
            continue
        deals = field.deals if most is None else min(field.deals, most)
        cell = Cell(game, seed, replace(field, deals=deals), own[2], other[2])
        if kept is not None:
            cell.load(kept)
        cells.append(Playing(cell, pairing_of(game, own[0], other[0]), (own[1], other[1])))
    return cells


def pairing_of(game: str, player: AgentSpec, opponent: AgentSpec) -> Pairing:
    """How the deals of a cell are played: the player alone on each seat."""
    rules = rules_of_game(game)
    return Pairing(rules, (player, opponent), line_ups(rules.seats, (ALONE,)), PLAYER_SEED, DEAL_SET)


def field_spec(field: Field, game: str) -> AgentSpec:
    """The player of a field in a game; ValueError if the published policy is not that of the protocol."""
    spec = agent_spec(field_player(field, game))
    if field.name == PUBLISHED and spec.sha256 != POLICIES[game][1]:
        name, sha256 = POLICIES[game]
        raise ValueError(
            f"the policy {name} is not the one of the protocol (SHA-256 {sha256}); a checkout of the version that "
            "the protocol was frozen with has it"
        )
    return spec


def play_cells(
    playing: Sequence[Playing],
    folder: Path | None,
    *,
    threads: int = 1,
    on_ray: bool = False,
    tick: Callable[[int], None] = lambda deals: None,
) -> tuple[Ending, float]:
    """Play what is missing of some cells, block by block, and add it to them; for the rest see `play_left`.

    Args:
        playing: the cells.
        folder: of the entry, where each block is saved once it is done; None to save nothing.
        threads: that share the blocks; they change no result.
        on_ray: the machines of a Ray cluster share them instead (`data.workers.in_ray`), which changes no result either.
        tick: is told how many more deals are done.

    Returns:
        `all` or `ctrl-c`, and the processor seconds that were used, on all machines.

    Raises:
        OSError: a cell cannot be written.
        MissingExtraError: Ray is not installed.
        WorkerError: a process on the cluster was killed.
        EntryError: a machine of the cluster has another policy.
    """
    seconds = 0.0

    def keep(number: int, first: int, played: Played) -> None:
        nonlocal seconds
        cell = playing[number].cell
        points, lost, used = played
        cell.add(first, points, lost)
        seconds += used
        if folder is not None:
            cell.save(folder)

    if on_ray:
        left, jobs = list[tuple[int, int, int]](), list[tuple[Any, ...]]()
        for number, part in enumerate(playing):
            for first, count in part.blocks.left:
                left.append((number, first, count))
                hashes = part.cell.player_sha256, part.cell.field_sha256
                jobs.append((part.cell.game, part.names, hashes, first, count))
        tick(sum(part.cell.deals for part in playing))
        try:
            for (number, first, count), played in zip(left, in_ray(play_by_name, jobs) if left else (), strict=True):
                keep(number, first, played)
                tick(count)
        except KeyboardInterrupt:
            return "ctrl-c", seconds
        return "all", seconds
    one_thread_of_torch()
    before = time.process_time()
    series = [(part.blocks, partial(play_block, part.pairing)) for part in playing]
    ending = play_left(series, threads, keep=keep, tick=tick)
    return ending, time.process_time() - before


def play_block(pairing: Pairing, first: int, count: int, stop: Event) -> Played:
    """A block, played in a thread of this process, which cannot say what it alone has used; see `Pairing.play`."""
    block = pairing.play(first, count, stop)
    return [int(number) for number in np.rint(block.values.mean(axis=1) * UNIT)], block.lost[0], 0.0


def play_by_name(game: str, names: tuple[str, str], sha256: tuple[str | None, str | None], first: int, count: int) -> Played:
    """A block, played in a process that has nothing but the names of the players, and what their files must be.

    Raises:
        EntryError: a player cannot be had here, or is another one.
    """
    pairing = _pairing_by_name(game, names, sha256)
    one_thread_of_torch()
    before = time.process_time()
    points, lost, _ = play_block(pairing, first, count, Event())
    return points, lost, time.process_time() - before


@cache
def _pairing_by_name(game: str, names: tuple[str, str], sha256: tuple[str | None, str | None]) -> Pairing:
    specs = [entry_player(name) for name in names]
    for spec, name, known in zip(specs, names, sha256, strict=True):
        if player_sha256(spec, name) != known:
            raise EntryError(f"{name} is another player on a machine of the cluster than here")
    return pairing_of(game, *specs)


def one_thread_of_torch() -> None:
    """Let torch add up in one order, whatever the machine: with more threads the last digits of a product may differ."""
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


def as_documents(cells: Sequence[Cell]) -> dict[str, dict[str, dict[str, Any]]]:
    """What `scores.json` says of complete cells, by game, seed and field.

    Raises:
        EntryError: a cell is not complete.
    """
    figures: dict[str, dict[str, dict[str, Any]]] = {}
    for cell in cells:
        if not cell.is_complete:
            raise EntryError(f"{cell.name}: {cell.deals} of {cell.field.deals} deals are played")
        figures.setdefault(cell.game, {}).setdefault(str(cell.seed), {})[cell.field.name] = cell.figures()
    return figures
