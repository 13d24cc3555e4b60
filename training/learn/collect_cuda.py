"""Rollouts on a GPU: as in `collect`, but all data stay on the GPU.

A *page* is `STEPS` steps at all tables of a worker. In each step the seats to act are encoded, networks and other players
choose, and the learner's decisions are appended. A page is captured as a CUDA graph and replayed. After each page the CPU reads
two numbers: the decisions in the page, and the tables with unfinished deals. As these become fewer, the network computes fewer
rows. So all deals end, and finished tables do not wait long.

Random draws depend on the seed, the iteration, the table and the decision only (`SeatedPlayers`).
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.dlpack import from_dlpack

from noms_env.cuda.arrays import SIMULATED
from noms_env.cuda.players.encoding import LearnerRows
from noms_env.cuda.players.player import GpuPlayer
from noms_env.cuda.players.policy import TOGETHER, RowList, can_capture, captured
from noms_env.cuda.players.seats import SeatedPlayers
from noms_env.cuda.rows import GpuRows
from noms_env.policy.encoding import Encoding
from noms_env.variants.table_record import TABLE

from ..agents.table_pool import relative_points
from .collect import Played, Worker, draw_seating, draw_sizes
from .network import Actor

STEPS = 3 if SIMULATED else 8  # steps of a page
SIZES = (1, 3 / 4, 1 / 2, 1 / 4, 1 / 16)  # rows of the network's batch, as shares of the tables; each size has its own graph
WATCHED = 256  # tables per rule set whose deals are copied to the CPU for behaviour figures
WANTED_SIZE = TABLE.fields["wanted_deal_size"][1] // 2  # type: ignore[index]
"""Index of a table's wanted hand size among its two-byte words."""


class GpuActor(GpuPlayer):
    """A network as a player on a GPU; it takes the most probable actions if `greedy`, and appends its decisions to `page`.

    `most` is an upper bound of the rows to act, and the size of the network's batch; None for all tables.
    """

    def __init__(
        self, actor: Actor, encoding: Encoding, dtype: torch.dtype, *, greedy: bool = False, page: Page | None = None
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
    """Buffer of the learner's decisions in `STEPS` steps, at up to `tables` tables; `count`, int64, shape (), is their number.

    `columns` are those of `Played.steps`, by name; the last row takes the writes of tables without a decision.
    """

    def __init__(self, tables: int, privileged: bool, device: str) -> None:
        self.tables, self.privileged = tables, privileged
        self.columns: dict[str, Tensor] = {}
        self.count = torch.zeros((), dtype=torch.int64, device=device)
        self._places = torch.arange(tables, device=device)

    def room_for(self, columns: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Allocate columns for `STEPS` steps, like those of one step."""
        room = STEPS * self.tables + 1
        templates = {name: column for name, column in columns.items() if name != "logits"} | {"table": self._places}
        return {name: column.new_empty((room, *column.shape[1:])) for name, column in templates.items()}

    def add(self, columns: Mapping[str, Tensor], listed: RowList, first: int, part: int) -> None:
        """Append the decisions of one step at up to `part` listed tables, from `first` on."""
        added = (listed.counted[-1] - first).clamp(0, part)
        places = self._places[:part]
        to = torch.where(places < added, self.count + places, STEPS * self.tables)
        for name, column in self.columns.items():
            source = from_dlpack(listed.rows)[first : first + part] if name == "table" else columns[name][:part]
            column.index_copy_(0, to, source)
        self.count += added


class GpuCollector:
    """Plays the deals of an iteration at the tables of workers on a GPU; `notes` gets a notice if a page is not captured."""

    def __init__(
        self,
        actor: Actor,
        encoding: Encoding,
        workers: Sequence[Worker],
        dtype: torch.dtype,
        privileged: bool,
        notes: list[str],
    ) -> None:
        self.device, self.note, self.captures = str(next(actor.parameters()).device), notes.append, True
        self.page = Page(max(len(worker.pool) for worker in workers), privileged, self.device)
        self.learner = GpuActor(actor, encoding, dtype, page=self.page)
        self.past = GpuActor(copy.deepcopy(actor), encoding, dtype)
        self._hero = GpuActor(actor, encoding, dtype)
        self._tables = {worker.number: _Tables(worker, self) for worker in workers}

    def play(
        self, worker: Worker, iteration: int, rng: np.random.Generator, opponent: Any, share: float, alone: bool
    ) -> Played:
        """Play a deal at each table of a worker (see `Worker.play`); opponents are past policies (`Actor`) or a `GpuPlayer`."""
        if isinstance(opponent, Actor):
            self.past.actor.load_state_dict(opponent.state_dict())
            opponent = self.past
        if hasattr(opponent, "waits"):
            opponent.waits = False
        return self._tables[worker.number].play(iteration, rng, opponent, share, alone)

    def hero(self, greedy: bool) -> GpuActor:
        """Return the current policy as a player of evaluations."""
        self._hero.greedy, self._hero.draws = greedy, not greedy
        self._hero.fold()
        return self._hero


class _Tables:
    """The tables of a worker, and the graphs of their pages."""

    def __init__(self, worker: Worker, collector: GpuCollector) -> None:
        self.worker, self.collector, self.pool, self.batch = worker, collector, worker.pool, worker.pool.batch
        self._seated: dict[int, SeatedPlayers] = {}
        self._state = torch.zeros(2, dtype=torch.int64, device=collector.device)
        self._graphs: dict[tuple[int, int], Any] = {}
        self._pages = 0
        self._over, self._scored = from_dlpack(self.batch.over), from_dlpack(self.batch.scored)

    def play(self, iteration: int, rng: np.random.Generator, opponent: GpuPlayer | None, share: float, alone: bool) -> Played:
        pool, seed = self.pool, int(rng.integers(2**62))
        if not pool.in_matches:
            words = from_dlpack(self.batch.tables).view(torch.int16)
            words[:, WANTED_SIZE] = torch.from_numpy(draw_sizes(pool, self.worker.rule_sets, rng)).to(words)
        pool.deal(iteration)
        seating = draw_seating(pool.seats, None if opponent is None else share, rng, alone)
        seated = self._seat(opponent, seating, seed)
        steps = [part for part in self._steps(seated, opponent) if len(part["choice"]) > 0]
        reward = relative_points(from_dlpack(self.batch.points).cpu().numpy(), pool.seats)
        return Played(steps, reward, self.worker.behaviour(seating == 0, WATCHED), 0.0)

    def _seat(self, opponent: GpuPlayer | None, seating: np.ndarray, seed: int) -> SeatedPlayers:
        key = id(opponent)
        if key not in self._seated:
            players = [self.collector.learner, *([] if opponent is None else [opponent])]
            self._seated[key] = SeatedPlayers(self.batch, players, seating, 0)
        seated = self._seated[key]
        from_dlpack(seated.seating).copy_(torch.from_numpy(seating))
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
            yield {name: column[:count].clone() for name, column in self.collector.page.columns.items()}

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
                self.collector.note(
                    f"play is slower, since it cannot be captured as a CUDA graph: {str(error).splitlines()[0]}"
                )

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
