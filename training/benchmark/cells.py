"""Cells of an entry: the points of every duplicate deal for one part, game, seed and field.

Each cell is a file that grows by blocks of deals, so that an interrupted scoring resumes. The points of a deal are the player's
minus the mean of the others', averaged over rotations with the player alone on each seat. The file has them as integers in
ten-thousandths, and all figures follow from these.
"""

from __future__ import annotations

import dataclasses
import hashlib
import sys
import time
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np

from noms_env.variants import Rules

from ..agents.registry import agent_spec
from ..agents.spec import AgentSpec, check_together
from ..evaluation.block_store import Blocks, blocks_left, play_left, read_results, write_results
from ..evaluation.duplicate import ALONE, Lost, Pairing, line_ups
from ..learn.data.workers import in_ray
from ..text import printable
from ..thread_pool import Ending
from .entry import Entry, EntryError, Seat, fits, seat_of
from .protocol import DEAL_SET, PLAYER_SEED, PROTOCOLS, V1, Field, Part, Place

FORMAT = "noms-benchmark-cell/3"
CELLS = "cells"
PATTERN = {
    **{"format": str, "protocol": str, "part": str, "game": str, "seed": int, "field": str, "deals": int},
    **{"set": str, "first": int, "unit": int},
    **{"player_sha256": (str, None), "field_sha256": (str, None)},
    **{"lost": {str: {"tables": int, "why": [str]}}, "points": {str: [int]}},
}
"""Pattern of the file of a cell (`entry.fits`)."""
UNIT = 10_000
"""Integer units in one point."""
Hashes = tuple[str | None, str | None]
"""Hashes of the files of a cell's player, and of its field."""
Played = tuple[list[int], Lost, float]
"""Result of a block: the points of its deals in units of 1 / `UNIT`, the forfeited tables, and the processor seconds."""


@dataclass
class Cell:
    """The deals of a cell that have been played.

    Attributes:
        part, game, seed, field: Identity of the cell.
        player_sha256, field_sha256: Hashes of their files (`entry.player_sha256`); deals of other policies are not added.
        blocks: Points of the deals of each block in units of 1 / `UNIT`, by the number of the block's first deal.
        lost: Tables that the player forfeited by failing, by block; only blocks with such tables.
        first: Number of the first deal of each setting.
    """

    part: Part
    game: str
    seed: int
    field: Field
    player_sha256: str | None
    field_sha256: str | None
    blocks: dict[int, list[int]] = dataclasses.field(default_factory=dict)
    lost: dict[int, Lost] = dataclasses.field(default_factory=dict)
    first: int = 0

    @property
    def name(self) -> str:
        part = "" if self.part.protocol == V1 else f"{self.part.name}, "
        return f"{part}{self.game}, seed {self.seed}, field {self.field.name}"

    @property
    def place(self) -> Place:
        return Place(self.part, self.game, self.seed, self.field)

    @property
    def a_setting(self) -> int:
        """Number of deals in each setting."""
        return self.field.deals // len(self.part.settings(self.game))

    @property
    def deals(self) -> int:
        return sum(map(len, self.blocks.values()))

    @property
    def is_complete(self) -> bool:
        return self.deals == self.field.deals

    @property
    def numbers(self) -> np.ndarray:
        """Points of the deals in units of 1 / `UNIT`, int64, shape (deals,)."""
        return np.array([number for first in sorted(self.blocks) for number in self.blocks[first]], np.int64)

    @property
    def values(self) -> np.ndarray:
        """Points of the deals, float64, shape (deals,)."""
        return np.asarray(self.numbers / UNIT)

    @property
    def sha256(self) -> str:
        """Hash of all points; cells with equal hashes agree to the last digit."""
        return hashlib.sha256(self.numbers.astype("<i8").tobytes()).hexdigest()

    def figures(self) -> dict[str, Any]:
        """Return the figures of the cell in `scores.json`; the error takes deals of one number as one: they share cards."""
        values, lost = self.values, sum(forfeits.tables for forfeits in self.lost.values())
        by_number = values.reshape(-1, self.a_setting).mean(axis=0) if self.a_setting > 1 else values
        error = float(by_number.std(ddof=1) / len(by_number) ** 0.5)
        return {
            **{"points": float(values.mean()), "error": error, "deals": self.deals},
            **{"sha256": self.sha256, "player_sha256": self.player_sha256, "field_sha256": self.field_sha256},
            **({"lost": lost} if lost else {}),
        }

    def add(self, first: int, points: list[int], lost: Lost) -> None:
        """Add the points of a block, or replace them."""
        self.blocks[first] = points
        self.lost.pop(first, None)
        if lost.tables:
            self.lost[first] = lost

    def path(self, folder: Path) -> Path:
        """Return the path of the cell's file in the folder of an entry."""
        part = "" if self.part.protocol == V1 else self.part.name  # the parts of protocol 1 have no common field
        return folder / CELLS / part / self.game / str(self.seed) / f"{self.field.name.replace(':', '-')}.json"

    @property
    def key(self) -> tuple[object, ...]:
        """Key for resuming: cells with equal keys share their deals, as far as both have been played."""
        place = (self.part.protocol, self.part.name, self.game, self.seed, self.field.name)
        shared = self.a_setting if self.a_setting < self.field.deals else None
        return (*place, self.first, shared, self.player_sha256, self.field_sha256)

    def save(self, folder: Path) -> None:
        """Write the cell's file atomically; OSError if the file cannot be written."""
        document = {
            "format": FORMAT,
            **{"protocol": self.part.protocol, "part": self.part.name, "game": self.game, "seed": self.seed},
            **{"field": self.field.name, "deals": self.field.deals, "set": DEAL_SET, "first": self.first, "unit": UNIT},
            **{"player_sha256": self.player_sha256, "field_sha256": self.field_sha256},
            "lost": {str(first): asdict(self.lost[first]) for first in sorted(self.lost)},
            "points": {str(first): self.blocks[first] for first in sorted(self.blocks)},
        }
        write_results(self.path(folder), document)

    def load(self, folder: Path) -> None:
        """Load the blocks of the cell's file if it has the same key; ignores a damaged file with a warning."""
        stored = read_results(self.path(folder), read_cell)
        if stored is not None and stored.deals <= self.field.deals and stored.key == self.key:
            self.blocks, self.lost = stored.blocks, stored.lost


def read_cell(document: Any) -> Cell:
    """Parse the JSON document of a cell; ValueError if it is none, LookupError if the protocol has no such part."""
    if not fits(document, PATTERN):
        raise ValueError("not a cell")
    blocks = {int(first): points for first, points in document["points"].items()}
    lost = {int(first): Lost(of["tables"], [*map(printable, of["why"])]) for first, of in document["lost"].items()}
    part, field = PROTOCOLS[document["protocol"]].parts[document["part"]], Field(document["field"], document["deals"])
    if document["game"] not in part.games:
        raise ValueError("a cell of a game that its part does not have")
    hashes = document["player_sha256"], document["field_sha256"]
    return Cell(part, document["game"], document["seed"], field, *hashes, blocks, lost, document["first"])


def stored_cell(place: Place, figures: Mapping[str, Any], folder: Path) -> Cell:
    """Return a cell with the deals in the folder of an entry, if they are of the players in its published figures."""
    cell = Cell(*place, figures["player_sha256"], figures["field_sha256"])
    cell.load(folder)
    return cell


def stored_points(place: Place, figures: Mapping[str, Any], folder: Path) -> np.ndarray | None:
    """Return the points of the deals of the published figures, float64, shape (deals,); None if the folder lacks any."""
    cell = stored_cell(place, figures, folder)
    return cell.values if (cell.deals, cell.sha256) == (figures["deals"], figures["sha256"]) else None


@dataclass(frozen=True)
class Playing:
    """A cell with a pairing for each setting, and with the names of its players for other machines."""

    cell: Cell
    pairings: tuple[Pairing, ...]
    names: tuple[str, ...]

    @property
    def blocks(self) -> Blocks[Played]:
        """Blocks of the cell; a stored block of another length counts as unplayed."""
        cell = self.cell
        blocks = Blocks[Played](cell.field.deals, self.pairings[0].block, stretch=cell.a_setting)
        for first, count in blocks:
            if len(cell.blocks.get(first, [])) == count:
                blocks.results[first] = cell.blocks[first], cell.lost.get(first, Lost()), 0.0
        return blocks

    def in_setting(self, first: int) -> tuple[int, int]:
        """Return the setting of a block, and the number of its first deal there."""
        setting, number = divmod(first, self.cell.a_setting)
        return setting, self.cell.first + number

    def play(self, first: int, count: int, stop: Event) -> Played:
        """Play the block of `count` deals from deal `first` on."""
        setting, number = self.in_setting(first)
        return play_block(self.pairings[setting], number, count, stop)


Run = tuple[str, int]
"""A run: a game or `GENERALIST`, and a seed."""


def cells_of_entry(
    entry: Entry,
    folder: Path,
    parts: Collection[str],
    kept: Path | None = None,
    most: int | None = None,
    without: Collection[Run] = (),
    second: bool = False,
) -> list[Playing]:
    """Return the cells of an entry in some parts of the protocol, ready to play; its players are loaded from `folder`.

    The cells in the folder `kept` are resumed. Each has `most` deals at most; None for the protocol's number. Cells that need a
    policy of a run in `without` are left out. `second` is for the deals after those of the protocol.

    Raises:
        EntryError: A player of the entry cannot be loaded, or cannot play by the rules of a part.
        ValueError: A published policy differs from the protocol's.
    """
    players, cells = Players(entry, folder.resolve(), without), list[Playing]()
    for place in PROTOCOLS[entry.protocol].places(entry.games, entry.seeds, parts):
        if place.part.kind == "other" and not entry.other_player:
            continue
        seats = players.of(place)
        if seats is None:
            continue
        settings = place.part.settings(place.game)
        each = place.field.deals // len(settings)
        played = each if most is None else min(each, max(1, most // len(settings)))
        field = replace(place.field, deals=played * len(settings))
        hashes = seats[0].sha256, joint_sha256([seat.sha256 for seat in seats[1:]])
        cell = Cell(place.part, place.game, place.seed, field, *hashes, first=each if second else 0)
        if kept is not None:
            cell.load(kept)
        try:
            pairings = pairings_of(settings, [seat.spec for seat in seats])
        except ValueError as error:
            raise EntryError(f"the part {place.part.name}, game {place.game}: {error}") from error
        cells.append(Playing(cell, pairings, tuple(seat.name for seat in seats)))
    return cells


class Players:
    """Cache of the players of an entry and of its fields; see `cells_of_entry`."""

    def __init__(self, entry: Entry, folder: Path, without: Collection[Run]) -> None:
        self._protocol, self._without = PROTOCOLS[entry.protocol], {*without}
        self._run_seat, self._field_seat = cache(partial(entry.seat, folder)), cache(self._load_field)

    def of(self, place: Place) -> list[Seat] | None:
        """Return the player of a cell, then those of its field; None if the policy of one is missing."""
        run, other = place.part.run_of(place.game), place.field.seed
        if {(run, place.seed), (run, place.seed if other is None else other)} & self._without:
            return None
        player = self._run_seat(run, place.seed, place.part.kind == "other")
        if other is not None:
            return [player, self._run_seat(run, other, False)]
        return [player, *map(self._field_seat, self._protocol.players_of(place))]

    def _load_field(self, name: str) -> Seat:
        """Return a player of a field; ValueError if a published policy differs from the protocol's."""
        spec, sha256 = agent_spec(name), self._protocol.sha256_of(name)
        if sha256 is not None and spec.sha256 != sha256:
            version = "a checkout of the version with which the protocol was frozen has it"
            raise ValueError(f"the policy {name} is not the one of the protocol (SHA-256 {sha256}); {version}")
        return Seat(spec, name, spec.sha256)


def joint_sha256(hashes: Sequence[str | None]) -> str | None:
    """Combine the hashes of a field's players into one; None if no player has a hash."""
    known = [sha256 for sha256 in hashes if sha256 is not None]
    return known[0] if len(hashes) == 1 and known else hashlib.sha256(" ".join(known).encode()).hexdigest() if known else None


def pairings_of(settings: Sequence[Rules], specs: Sequence[AgentSpec]) -> tuple[Pairing, ...]:
    """Return a pairing for each setting, the first player alone among the others; ValueError if one cannot play there."""
    with warnings.catch_warnings():  # policies warn about rules that they were not trained on
        warnings.simplefilter("ignore")
        for rules in settings:
            check_together(specs, rules)
    return tuple(Pairing(rules, tuple(specs), line_ups(rules.seats, (ALONE,)), PLAYER_SEED, DEAL_SET) for rules in settings)


def play_cells(
    playing: Sequence[Playing],
    folder: Path | None,
    *,
    threads: int = 1,
    on_ray: bool = False,
    tick: Callable[[int], None] = lambda deals: None,
) -> tuple[Ending, float]:
    """Play the missing blocks of some cells and add them; see `play_left`, also for `threads` and `tick`.

    Finished blocks are saved in `folder`, that of the entry. If `on_ray`, the machines of a Ray cluster play instead of the
    threads (`data.workers.in_ray`), with the same results.

    Returns:
        `all` or `ctrl-c`, and the processor seconds used on all machines.

    Raises:
        OSError: A cell cannot be written.
        MissingExtraError: Ray is not installed.
        WorkerError: A process on the cluster was killed.
        EntryError: A machine of the cluster has another policy.
    """
    seconds = 0.0

    def add(number: int, first: int, played: Played) -> None:
        nonlocal seconds
        cell = playing[number].cell
        cell.add(first, *played[:2])
        seconds += played[2]
        if folder is not None:
            cell.save(folder)

    if on_ray:
        left, jobs = blocks_left([part.blocks for part in playing]), list[tuple[Any, ...]]()
        for number, first, count in left:
            part = playing[number]
            cell, (setting, deal) = part.cell, part.in_setting(first)
            hashes = cell.player_sha256, cell.field_sha256
            jobs.append((cell.part.protocol, cell.part.name, cell.game, setting, part.names, hashes, deal, count))
        tick(sum(part.cell.deals for part in playing))
        try:
            for (number, first, count), played in zip(left, in_ray(play_by_name, jobs) if left else (), strict=True):
                add(number, first, played)
                tick(count)
        except KeyboardInterrupt:
            return "ctrl-c", seconds
        return "all", seconds
    one_thread_of_torch()
    before = time.process_time()
    ending = play_left([(part.blocks, part.play) for part in playing], threads, keep=add, tick=tick)
    return ending, time.process_time() - before


def play_block(pairing: Pairing, first: int, count: int, stop: Event) -> Played:
    """Play a block in a thread of this process, without its processor seconds; see `Pairing.play`."""
    block = pairing.play(first, count, stop)
    return [int(number) for number in np.rint(block.values.mean(axis=1) * UNIT)], block.lost[0], 0.0


def play_by_name(
    protocol: str, part: str, game: str, setting: int, names: tuple[str, ...], sha256: Hashes, first: int, count: int
) -> Played:
    """Play a block in a process that has only the names of the players and the hashes of their files.

    EntryError if the hash of a player differs here, ValueError if one cannot be loaded here.
    """
    pairing = _pairings_by_name(protocol, part, game, names, sha256)[setting]
    one_thread_of_torch()
    before = time.process_time()
    points, lost, _ = play_block(pairing, first, count, Event())
    return points, lost, time.process_time() - before


@cache
def _pairings_by_name(protocol: str, part: str, game: str, names: tuple[str, ...], sha256: Hashes) -> tuple[Pairing, ...]:
    seats = [seat_of(name) for name in names]
    if (seats[0].sha256, joint_sha256([seat.sha256 for seat in seats[1:]])) != sha256:
        raise EntryError(f"one of {', '.join(names)} is another player on a machine of the cluster than here")
    return pairings_of(PROTOCOLS[protocol].parts[part].settings(game), [seat.spec for seat in seats])


def one_thread_of_torch() -> None:
    """Use one thread of torch for reproducible sums: with more threads the last digits may differ between machines."""
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


def as_documents(cells: Sequence[Cell]) -> dict[str, dict[str, dict[str, dict[str, Any]]]]:
    """Return the figures of the cells for `scores.json`, by part, game, seed and field; EntryError if one is not complete."""
    figures: dict[str, dict[str, dict[str, dict[str, Any]]]] = {}
    for cell in cells:
        if not cell.is_complete:
            raise EntryError(f"{cell.name}: {cell.deals} of {cell.field.deals} deals are played")
        by_seed = figures.setdefault(cell.part.name, {}).setdefault(cell.game, {})
        by_seed.setdefault(str(cell.seed), {})[cell.field.name] = cell.figures()
    return figures
