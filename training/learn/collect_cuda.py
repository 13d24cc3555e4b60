"""Rollouts on a GPU: as in `collect`, but all data stay on the GPU.

A *page* is `STEPS` steps at all tables of a worker. In each step the seats to act are encoded, networks and other players
choose, and the learner's decisions are appended. A page is captured as a CUDA graph and replayed. After each page the CPU reads
two numbers: the decisions in the page, and the tables with unfinished deals. As these become fewer, the network computes fewer
rows. So all deals end, and finished tables do not wait long.

Random draws depend on the seed, the iteration, the table and the decision only (`SeatedPlayers`).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.dlpack import from_dlpack

from noms_env.core.state import MAX_SEATS
from noms_env.cuda.arrays import SIMULATED
from noms_env.cuda.players.encoding import LearnerRows
from noms_env.cuda.players.player import GpuPlayer
from noms_env.cuda.players.policy import TOGETHER, RowList, can_capture, captured
from noms_env.cuda.players.seats import SeatedPlayers
from noms_env.cuda.rows import GpuRows
from noms_env.policy.encoding import Encoding
from noms_env.variants import Rules
from noms_env.variants.families import EXACT_BID
from noms_env.variants.table_record import TABLE

from ..agents.registry import label
from ..evaluation.behaviour_stats import Tally, count_deals
from .collect import Played, Worker
from .network import Actor

STEPS = 3 if SIMULATED else 8
"""Steps of a page."""
SIZES = (1, 3 / 4, 1 / 2, 1 / 4, 1 / 16)
"""Rows of the network's batch, as shares of the tables; each size has its own graph."""
WATCHED = 256
"""Tables per rule set whose deals are copied to the CPU for behaviour figures."""
WANTED_SIZE = TABLE.fields["wanted_deal_size"][1] // 2  # type: ignore[index]
"""Index of a table's wanted hand size among its two-byte words."""


class GpuActor(GpuPlayer):
    """A network as a player on a GPU. It draws from the softmax, or takes the most probable actions if `greedy`.

    `most` is an upper bound of the rows to act, and the size of the network's batch; None for all tables. The decisions are
    appended to `page`, if any.
    """

    def __init__(
        self,
        actor: Actor,
        encoding: Encoding,
        dtype: torch.dtype,
        *,
        greedy: bool = False,
        page: Page | None = None,
    ) -> None:
        super().__init__()
        self.actor, self.encoding, self.dtype, self.greedy, self.page = actor, encoding, dtype, greedy, page
        self.draws, self.most = not greedy, None if page is None else page.tables
        self._rows: LearnerRows | None = None
        self._columns: dict[str, Tensor] = {}
        self._lists: dict[int, RowList] = {}
        self.fold()
        if page is not None:
            page.columns = page.room_for(self._room(page.tables)[1])

    def fold(self) -> None:
        """Take over the current parameters of the network."""
        self._logits = self.actor.frozen(self.dtype)

    def _room(self, count: int) -> tuple[LearnerRows, dict[str, Tensor]]:
        """Return buffers for `count` rows, at most `TOGETHER`, and torch views of them."""
        if self._rows is None or self._rows.capacity < min(count, TOGETHER):
            self._rows = LearnerRows(self.encoding, min(count, TOGETHER), self.page is not None and self.page.privileged)
            self._columns = {name: from_dlpack(array) for name, array in self._rows.columns.items()}
            self._columns["logits"] = from_dlpack(self._rows.logits)
        return self._rows, self._columns

    @torch.no_grad()
    def write(self, rows: GpuRows, where: Any, some: bool, seeds: Any, actions: Any) -> None:
        tables, count, listed = len(actions), len(actions), None
        if some:
            if tables not in self._lists:
                self._lists[tables] = RowList(tables)
            listed = self._lists[tables].of(where, where, actions)
            count = tables if self.most is None else min(tables, self.most)
        room, columns = self._room(count)
        for first in range(0, count, TOGETHER):
            part = min(TOGETHER, count - first)
            room.see(rows.native, listed, first, part)
            columns["logits"][:part] = self._logits(columns["features"][:part], columns["mask"][:part])
            room.draw(rows.native, listed, first, part, actions if seeds is None else seeds, self.greedy, actions)
            if self.page is not None:
                self.page.add(columns, self._lists[tables], first, part)


class Page:
    """Buffer of the learner's decisions in `STEPS` steps, at up to `tables` tables.

    Attributes:
        columns: columns of `Played.steps`, by name; the last row takes the writes of tables without a decision.
        count: int64, shape (): number of decisions.
    """

    def __init__(self, tables: int, privileged: bool, device: str) -> None:
        self.tables, self.privileged = tables, privileged
        self.columns: dict[str, Tensor] = {}
        self.count = torch.zeros((), dtype=torch.int64, device=device)
        self._places = torch.arange(tables, device=device)

    def room_for(self, columns: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Allocate columns for `STEPS` steps, like those of one step."""
        room = STEPS * self.tables + 1
        kept = {name: column for name, column in columns.items() if name != "logits"} | {"table": self._places}
        return {name: column.new_empty((room, *column.shape[1:])) for name, column in kept.items()}

    def add(self, columns: Mapping[str, Tensor], listed: RowList, first: int, part: int) -> None:
        """Append the decisions of one step at up to `part` listed tables, from `first` on."""
        asked = (listed.counted[-1] - first).clamp(0, part)
        places = self._places[:part]
        to = torch.where(places < asked, self.count + places, STEPS * self.tables)
        for name, column in self.columns.items():
            source = from_dlpack(listed.rows)[first : first + part] if name == "table" else columns[name][:part]
            column.index_copy_(0, to, source)
        self.count += asked

    def taken(self, count: int) -> dict[str, Tensor]:
        """Return copies of the first `count` decisions."""
        return {name: column[:count].clone() for name, column in self.columns.items()}


class GpuCollector:
    """Plays the deals of an iteration at the tables of workers on a GPU.

    Each page uses the actor's current parameters. `note` gets a notice if a page cannot be captured.
    """

    def __init__(
        self,
        actor: Actor,
        encoding: Encoding,
        workers: Sequence[Worker],
        rule_sets: Sequence[Rules],
        dtype: torch.dtype,
        privileged: bool,
        note: Callable[[str], None],
    ) -> None:
        self.device = str(next(actor.parameters()).device)
        page = Page(max(len(worker.pool) for worker in workers), privileged, self.device)
        self.learner = GpuActor(actor, encoding, dtype, page=page)
        self.past = GpuActor(copy.deepcopy(actor), encoding, dtype)
        self._hero = GpuActor(actor, encoding, dtype)
        self.page, self.note, self.captures = page, note, True
        self._tables = {worker.number: _Tables(worker, rule_sets, self) for worker in workers}

    def play(
        self, worker: Worker, iteration: int, seed: int, opponent: Any = None, share: float = 0.0, alone: bool = False
    ) -> Played:
        """Play a deal at each table of a worker (see `Worker.play`); opponents are past policies (`Actor`) or a `GpuPlayer`."""
        if isinstance(opponent, Actor):
            self.past.actor.load_state_dict(opponent.state_dict())
            opponent = self.past
        if hasattr(opponent, "waits"):
            opponent.waits = False
        return self._tables[worker.number].play(iteration, seed, opponent, share, alone)

    def hero(self, greedy: bool) -> GpuActor:
        """Return the current policy as a player of evaluations."""
        self._hero.greedy, self._hero.draws = greedy, not greedy
        self._hero.fold()
        return self._hero


class _Tables:
    """The tables of a worker, and the graphs of their pages."""

    def __init__(self, worker: Worker, rule_sets: Sequence[Rules], collector: GpuCollector) -> None:
        self.worker, self.rule_sets, self.collector = worker, rule_sets, collector
        self.pool, self.batch, device = worker.pool, worker.pool.batch, collector.device
        self.seats, self.rule_set = (torch.from_numpy(array).to(device) for array in (self.pool.seats, self.pool.rule_set))
        self._seated: dict[int, SeatedPlayers] = {}
        self._state = torch.zeros(2, dtype=torch.int64, device=device)
        self._graphs: dict[tuple[int, int], Any] = {}
        self._pages = 0
        self._over, self._scored, self._points = (
            from_dlpack(array) for array in (self.batch.over, self.batch.scored, self.batch.points)
        )

    def play(self, iteration: int, seed: int, opponent: GpuPlayer | None, share: float, alone: bool) -> Played:
        generator = torch.Generator(self.collector.device).manual_seed(seed)
        if not self.pool.in_matches:
            words = from_dlpack(self.batch.tables).view(torch.int16)
            words[:, WANTED_SIZE] = draw_sizes(self.rule_set, self.rule_sets, generator).to(torch.int16)
        self.pool.deal(iteration)
        seating = torch.zeros((len(self.pool), MAX_SEATS), dtype=torch.int64, device=self.collector.device)
        if opponent is not None:
            seating = draw_seating(self.seats, share, alone, generator)
        seated = self._seat(opponent, seating, seed)
        steps = [part for part in self._steps(seated, opponent) if len(part["choice"]) > 0]
        return Played(steps, relative_points(self._points, self.seats), self._behaviour(seating == 0), 0.0)

    def _seat(self, opponent: GpuPlayer | None, seating: Tensor, seed: int) -> SeatedPlayers:
        """Seat the learner and an opponent, with the seating and seed of these deals."""
        key = id(opponent)
        if key not in self._seated:
            players = [self.collector.learner, *([] if opponent is None else [opponent])]
            nobody = np.zeros((len(self.pool), MAX_SEATS), np.int64)
            self._seated[key] = SeatedPlayers(self.batch, players, nobody, 0)
        seated = self._seated[key]
        from_dlpack(seated.seating).copy_(seating)
        from_dlpack(seated.decisions).zero_()
        from_dlpack(seated.seed).fill_(seed)
        return seated

    def _steps(self, seated: SeatedPlayers, opponent: GpuPlayer | None) -> Iterator[dict[str, Tensor]]:
        """Play pages until all deals are over, and yield the decisions of each."""
        left = len(self.pool)
        while left > 0:
            size = min(size for share in SIZES if (size := -int(-share * len(self.pool) // 1)) >= left)
            self._take_page(seated, opponent, size)
            left, count = self._state.tolist()
            yield self.collector.page.taken(count)

    def _take_page(self, seated: SeatedPlayers, opponent: GpuPlayer | None, size: int) -> None:
        """Play a page, as a graph if possible; the capture plays it once."""
        key, work = (id(opponent), size), partial(self._page, seated, opponent, size)
        if not (self.collector.captures and can_capture() and (opponent is None or opponent.can_be_captured)):
            work()
        elif key in self._graphs:
            self._graphs[key].replay()
        else:
            before = self._pages
            try:
                self._graphs[key] = captured(work)
            except RuntimeError as error:
                if self._pages == before:  # the page failed, not the capture
                    raise
                self.collector.captures = False
                self.collector.note(f"play is not captured as a CUDA graph, and slower: {str(error).splitlines()[0]}")

    def _page(self, seated: SeatedPlayers, opponent: GpuPlayer | None, size: int) -> None:
        learner, page = self.collector.learner, self.collector.page
        page.count.zero_()
        for player in (learner, opponent):
            if isinstance(player, GpuActor):
                player.fold()
                player.most = size
        for _ in range(STEPS):
            self.batch.step(seated.act())  # type: ignore[arg-type]
        torch.stack([(~(self._scored | self._over)).sum(), page.count], out=self._state)
        self._pages += 1

    def _behaviour(self, learns: Tensor) -> dict[str, Tally]:
        """Return `Worker`'s behaviour figures for the first `WATCHED` tables of each rule set."""
        by_label = {}
        for number in np.unique(self.pool.rule_set[self.pool.rule_set < self.worker.watched]):
            own, rules = np.flatnonzero(self.pool.rule_set == number)[:WATCHED], self.rule_sets[number]
            tables = self.batch.save(own)
            by_label[label(rules)] = count_deals(tables, rules, learns[torch.from_numpy(own).to(learns.device)].cpu().numpy())
        return by_label


def draw_sizes(rule_set: Tensor, rule_sets: Sequence[Rules], generator: torch.Generator) -> Tensor:
    """Draw hand sizes as `collect.draw_sizes`, on a GPU; int64, shape (tables,)."""
    sizes = torch.full_like(rule_set, -1)
    for number, rules in enumerate(rule_sets):
        if rules.variant.family == EXACT_BID:
            allowed = torch.tensor(sorted(set(rules.schedule)), device=rule_set.device)
            drawn = torch.multinomial(1 / (allowed + 1), len(rule_set), replacement=True, generator=generator)
            sizes = torch.where(rule_set == number, allowed[drawn], sizes)
    return sizes


def draw_seating(seats: Tensor, share: float, alone: bool, generator: torch.Generator) -> Tensor:
    """Draw a seating as `collect.draw_seating`, on a GPU; `seats`: int64, shape (n,)."""

    def random(*shape: int) -> Tensor:
        return torch.rand(shape, device=seats.device, generator=generator)

    keys = random(len(seats), MAX_SEATS) + (torch.arange(MAX_SEATS, device=seats.device) >= seats[:, None])
    place = keys.argsort(1).argsort(1)  # rank of each seat in a random order of the table's seats
    taken = seats - 1 if alone else 1 + (random(len(seats)) * (seats - 1)).long()
    chosen = random(len(seats)) < share
    return (chosen[:, None] & (place < taken[:, None])).long()


def relative_points(points: Tensor, seats: Tensor) -> Tensor:
    """Compute `table_pool.relative_points` on a GPU; pads points to float32, shape (tables, MAX_SEATS)."""
    columns = torch.arange(MAX_SEATS, device=points.device)
    padded = torch.nn.functional.pad(points, (0, MAX_SEATS - points.shape[1])).double()
    there = columns < seats[:, None]
    own = torch.where(there, padded, 0.0)
    others = (own.sum(1, keepdim=True) - own) / (seats[:, None] - 1)
    return torch.where(there, own - others, 0.0).float()
