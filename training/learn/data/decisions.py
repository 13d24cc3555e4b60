"""Decisions as rows of a data set: observation, legal actions, action and return.

Their source is either records, which are replayed (`from_records`), or play (`from_play`), deal by deal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from threading import Event
from typing import Any, NamedTuple

import numpy as np

from noms_env import BatchEnv, Table
from noms_env.core.actions import NUM_ACTIONS, PHASES
from noms_env.core.chance import check_seed
from noms_env.core.state import MAX_SEATS
from noms_env.observation.layout import OBSERVATION_SIZE
from noms_env.players import NOBODY, Player, Remembers, SearchOutput, TellsProbabilities, TellsTargets
from noms_env.players.foreign_code import ForfeitError
from noms_env.record import Record, RecordError, replay
from noms_env.record.replaying import same_points
from noms_env.variants import Rules

from ...agents.guarded import Guarded, guard_players
from ...agents.spec import AgentSpec
from ...agents.table_pool import TablePool, play_deal_by_deal, relative_points, to_float32

SIDE_BY_SIDE = 64  # matches played at once; the random numbers of players depend on it
MAX_MATCHES = 1 << 32

Decisions = dict[str, np.ndarray]  # rows of a data set: an array for each of `COLUMNS`, shape (rows,) or (rows, width)


class Column(NamedTuple):
    """A column of a data set: name, NumPy dtype, description, and numbers per row (0: a scalar)."""

    name: str
    dtype: str
    description: str
    width: int = 0


COLUMNS = (
    Column("observation", "uint8", "observation of the seat (`noms_env.observation.layout.OBSERVATION`)", OBSERVATION_SIZE),
    Column("action_mask", "int8", "1 for each legal action", NUM_ACTIONS),
    Column("action", "int16", "action taken (`noms_env.core.actions`)"),
    Column("points", "float32", "return: points of the seat for the deal"),
    Column("relative_points", "float32", "`points` less the mean of the others'"),
    Column("variant", "U12", "game"),
    Column("seats", "int8", "number of seats"),
    Column("seat", "int8", "seat that decided"),
    Column("phase", "U12", f"{', '.join(PHASES)}"),
    Column("record", "int64", "number of the deal in the data set, from 0"),
    Column("match", "int64", "number of the match in its file, or in play"),
    Column("deal", "int32", "number of the deal in the match, from 0"),
    Column("step", "int16", "number of the decision in the deal, from 0, over all seats"),
)
"""Columns of every data set."""
TARGETS = (
    Column("policy", "float32", "the player's probability of each action; zeros if it has none", NUM_ACTIONS),
    Column("value", "float32", "relative points that its search expects for the deal, unscaled; NaN without a search"),
)
"""Optional columns: learning targets from the player that decided."""


def empty_rows(rows: int, columns: Sequence[Column] = COLUMNS) -> Decisions:
    """Return zeros for a number of rows."""
    return {column.name: np.zeros((rows, column.width) if column.width else rows, column.dtype) for column in columns}


def columns_of(targets: bool) -> tuple[Column, ...]:
    """Return the columns of a data set, with or without targets."""
    return COLUMNS + TARGETS if targets else COLUMNS


class ExportError(ValueError):
    """A record cannot be exported."""


def from_records(lines: Iterable[tuple[int, Record | str]], first: int = 0) -> Iterator[Decisions]:
    """Yield the decisions of records, deal by deal. Records are not trusted: a replay must give the recorded points.

    `lines` are line numbers and records from `noms_env.record.read_records`; `first` is the running number of the first deal.
    ExportError for a damaged line, a deal that cannot be replayed, or observations that depend on deals not in the file.
    """
    before: tuple[Record, Table] | None = None
    for number, (line, record) in enumerate(lines, first):
        if isinstance(record, str):
            raise ExportError(f"line {line}: {record}")
        try:
            table = before[1] if before is not None and _follows(record, before[0]) else None
            decisions, table = _replayed_decisions(record, table, number)
        except RecordError as error:
            raise ExportError(f"line {line}: {error}") from error
        before = record, table
        yield decisions


def _follows(record: Record, before: Record) -> bool:
    same = all(record[key] == before[key] for key in ("variant", "seats", "options", "match"))
    return same and record["deal"] == before["deal"] + 1


def _replayed_decisions(record: Record, before: Table | None, number: int) -> tuple[Decisions, Table]:
    for option in ("observe_previous_hand", "accumulate"):
        if record["options"].get(option) and record["deal"] > 0 and before is None:
            raise RecordError(f"{option} shows the deals before, but deal {record['deal'] - 1} is not on the line before")
    steps = record["steps"]
    decisions = empty_rows(len(steps))
    for place, table in enumerate(replay(record, before)):
        if place < len(steps) and not table.is_scored:  # `replay` refuses steps after the end
            decisions["observation"][place], decisions["action_mask"][place] = table.view(int(table.row.seat))
            decisions["seat"][place], decisions["phase"][place] = table.row.seat, table.phase
            decisions["action"][place] = table.number(steps[place]["action"])
    seats = len(record["points"])
    if not same_points(table.row.points[:seats], record["points"]):
        points = table.row.points[:seats].tolist()
        raise RecordError(f"the points are {record['points']}, but by the rules {points} (see noms check)")
    seat = decisions["seat"]
    relative = relative_points(table.row.points[np.newaxis], np.array([seats]))[0, seat]
    columns = {"points": to_float32(table.row.points[seat]), "relative_points": relative, "seats": seats, "record": number}
    columns |= {"step": np.arange(len(steps))} | {name: record[name] for name in ("variant", "match", "deal")}
    return _fill(decisions, columns), table


def _fill(decisions: Decisions, columns: Mapping[str, Any]) -> Decisions:
    for name, values in columns.items():
        decisions[name][:] = values
    return decisions


def from_play(
    rules: Rules, players: Sequence[AgentSpec], matches: int, seed: int = 0, first: int = 0, targets: bool = False
) -> Iterator[tuple[Decisions, int]]:
    """Play matches lazily; yield the decisions of whole deals, including forced ones, and the number of matches that ended.

    There is one player for all seats, or one per seat. `seed`, 0 to 2**63 - 1, determines cards and players: match m has the
    cards of `noms_env.record.record_matches` with the same seed. `targets` adds the columns `TARGETS`.

    ValueError if a number is out of range or a player cannot play under these rules, ForfeitError if a player failed.
    """
    check_seed(seed)
    if not 1 <= matches <= MAX_MATCHES:
        raise ValueError(f"matches must be from 1 to {MAX_MATCHES}, not {matches}")
    if not 0 <= first <= MAX_MATCHES:
        raise ValueError(f"the first match must be from 0 to {MAX_MATCHES}, not {first}")
    if len(players) not in (1, rules.seats):
        raise ValueError(f"name one player for all {rules.seats} seats, or {rules.seats} of them, not {len(players)}")
    for player in players:
        player.check(rules)
    if targets and not any(isinstance(player.make(), TellsTargets | TellsProbabilities) for player in players):
        names = ", ".join(player.name for player in players)
        raise ValueError(f"only policies and searches on them have targets, and {names} is neither")
    return _play_in_waves(rules, players, range(first, first + matches), seed, targets)


def _play_in_waves(
    rules: Rules, players: Sequence[AgentSpec], matches: range, seed: int, targets: bool
) -> Iterator[tuple[Decisions, int]]:
    deals = 0
    for first in matches[::SIDE_BY_SIDE]:
        numbers = np.arange(first, min(matches.stop, first + SIDE_BY_SIDE))
        outputs = [list[SearchOutput]() if targets else None for _ in players]
        specs = [_record_targets(player, output) for player, output in zip(players, outputs, strict=True)]
        with guard_players(specs, (seed, first), Event()) as guards:
            log = list[Decisions]()
            recorders = [_DecisionRecorder(guard, output, log) for guard, output in zip(guards, outputs, strict=True)]
            pool = TablePool([rules], [0], len(numbers), seed=seed, in_matches=True, skip_forced=False)
            seating = np.tile(np.arange(MAX_SEATS) if len(players) > 1 else np.zeros(MAX_SEATS, np.int64), (len(pool), 1))
            pool.batch.reset(match=numbers, table=0)
            for playing in play_deal_by_deal(pool, recorders, seating):
                for guard, player in zip(guards, players, strict=True):
                    for row, why in guard.lost.items():
                        where = f"match {numbers[row]}, deal {pool.batch.tables.deal[row]}"
                        raise ForfeitError(player.name, f"{why} ({where})")
                decisions = _join_tables(pool, log, numbers)
                log.clear()
                decisions["record"] += deals
                deals = int(decisions["record"][-1]) + 1
                yield decisions, int((playing & pool.batch.over).sum())


class _DecisionRecorder:
    """A player at the tables that appends its decisions to the common log, with the targets that `outputs` receives, if any."""

    def __init__(self, guard: Guarded, outputs: list[SearchOutput] | None, log: list[Decisions]) -> None:
        self.guard, self.outputs, self.log, self.deal_over = guard, outputs, log, guard.deal_over

    def __call__(self, batch: BatchEnv, rows: np.ndarray) -> np.ndarray:
        actions = self.guard(batch, rows)
        step = {"row": rows, "observation": batch.observation[rows], "action_mask": batch.mask[rows], "action": actions}
        step |= {"seat": batch.seat[rows], "phase": batch.tables.phase[rows]}
        if self.outputs is not None:
            output = SearchOutput(*map(np.concatenate, zip(_no_targets(0), *self.outputs, strict=True)))
            self.outputs.clear()
            output = output if len(output.action) == len(rows) else _no_targets(len(rows))  # the player failed in some row
            step |= {"policy": output.action_weights, "value": output.value}
        self.log.append(step)
        return actions


def _no_targets(rows: int) -> SearchOutput:
    return SearchOutput(np.full(rows, NOBODY), np.zeros((rows, NUM_ACTIONS), np.float32), np.full(rows, np.nan, np.float32))


def _record_targets(spec: AgentSpec, outputs: list[SearchOutput] | None) -> AgentSpec:
    """Wrap a player so that its targets are appended to `outputs` whenever it acts; unchanged if that is None."""
    return spec if outputs is None else replace(spec, make=lambda: _TargetRecorder(spec.make(), outputs))


class _TargetRecorder:
    def __init__(self, player: Player, outputs: list[SearchOutput]) -> None:
        self.player, self.outputs, self.wants_tables = player, outputs, player.wants_tables
        self.close = getattr(player, "close", lambda: None)
        if isinstance(player, Remembers):
            self.recall, with_memory = player.recall, player.with_memory
            self.with_memory = lambda memory: _TargetRecorder(with_memory(memory), outputs)

    def act(self, observation: np.ndarray, mask: np.ndarray, seeds: np.ndarray, *, tables: Any = None) -> Any:
        if isinstance(self.player, TellsTargets):
            targets = self.player.targets(observation, mask, seeds, tables=tables)
        else:
            targets = _no_targets(len(mask))._replace(action=self.player.act(observation, mask, seeds, tables=tables))
            if isinstance(self.player, TellsProbabilities):
                targets = targets._replace(action_weights=self.player.probabilities(observation, mask))
        self.outputs.append(targets)
        return targets.action


def _join_tables(pool: TablePool, log: Sequence[Decisions], matches: np.ndarray) -> Decisions:
    row = np.concatenate([part["row"] for part in log])
    order = np.argsort(row, kind="stable")
    row, batch = row[order], pool.batch
    seen = {name: np.concatenate([part[name] for part in log])[order] for name in log[0] if name != "row"}
    _, begins, deal = np.unique(row, return_index=True, return_inverse=True)
    columns = seen | {"phase": np.array(PHASES)[seen["phase"]], "seats": pool.seats[row], "record": deal}
    columns |= {"points": to_float32(batch.points[row, seen["seat"]]), "variant": batch.groups[0].rules.variant.name}
    columns |= {"relative_points": relative_points(batch.points, pool.seats)[row, seen["seat"]], "match": matches[row]}
    columns |= {"deal": batch.tables.deal[row], "step": np.arange(len(row)) - begins[deal]}
    return _fill(empty_rows(len(row), columns_of("policy" in seen)), columns)
