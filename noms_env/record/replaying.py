"""Replay of records, with the recorded outcomes of chance."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from noms_env.core.cards import FRENCH, SUIT_LETTERS, cards_in
from noms_env.core.tricks import name_trump
from noms_env.engine.deal import write_standings
from noms_env.engine.legal import find_legal
from noms_env.engine.step import judge
from noms_env.record.form import SAME, Record, RecordError, brief, find_damage
from noms_env.table import Table


def replay(record: Record, before: Table | None = None) -> Iterator[Table]:
    """Replay a record: yield the table before each step, and once more when the deal is scored.

    It is the same table each time; the iteration changes it. Each yielded step is legal. A lot drawn after the last trick
    (`tie="cut"`) is as recorded.

    Args:
        record: the record of the deal.
        before: the table with the previous deal of the match, scored. It supplies the previous hand for
            `observe_previous_hand` and the earlier tricks for `accumulate`; without it there are none.

    Raises:
        RecordError: the record cannot be replayed, or a step has an illegal action, or the wrong seat or phase.
    """
    damage = find_damage(record)
    if damage:
        raise RecordError(damage)
    try:
        table = Table(record["variant"], record["seats"], record["options"])
        table.start(0, deck=record["deck"], dealer=record["dealer"], deal=record["deal"], multiplier=record["multiplier"])
    except ValueError as error:
        raise RecordError(str(error)) from error
    table.row.totals[: table.seats] = record["before"]
    if before is not None:
        after = before.copy()
        after.next_deal()
        table.row.previous[:] = after.row.previous
        table.row.carried_tricks[:] = after.row.carried_tricks
    write_standings(table.row)
    if not draw_trump(table, record["trump"]):
        raise RecordError(f"the trump {brief(record['trump'])} cannot have been drawn")
    for place, step in enumerate(record["steps"]):
        action = _action(table, place, step)
        yield table
        table.step(action)
    if not table.is_scored:
        raise RecordError(f"the steps end while seat {table.row.seat} is to act")
    draw_sniped(table, record["points"])
    yield table


def _action(table: Table, place: int, step: Record) -> int:
    """Return the action of a step; raises RecordError if the action, its seat or its phase is wrong."""
    try:
        action = table.check_action(table.number(step["action"]))
    except ValueError as error:
        raise RecordError(f"step {place}: {error}") from error
    seat, phase = int(table.row.seat), table.phase
    if (step["seat"], step["phase"]) != (seat, phase):
        is_by = f"is by seat {step['seat']} ({brief(step['phase'])[1:-1]})"
        raise RecordError(f"step {place} {is_by}, but seat {seat} is to act ({phase})")
    return action


def pair_with_previous(records: Iterable[Record]) -> Iterator[tuple[Record, Table | None]]:
    """Yield records, each with the scored table of the previous record, if that is the previous deal of the match.

    Raises:
        RecordError: a record cannot be replayed; raised after that record is yielded.
    """
    before, last = None, None
    for record in records:
        is_next = last is not None and (record["match"], record["deal"]) == (last["match"], last["deal"] + 1)
        if last is None or not is_next or any(record[key] != last[key] for key in ("variant", "seats", "options")):
            before = None
        yield record, before
        *_, before = replay(record, before)
        last = record


def draw_trump(table: Table, trump: str | None) -> bool:
    """Set the recorded trump of a new deal with `trump_mode="random"`; return False if this trump cannot be drawn."""
    if table.rules.options.get("trump_mode") != "random":
        return True
    suits = SUIT_LETTERS[FRENCH][: table.rules.options["suits"]]
    if trump is None or len(trump) != 1 or trump not in suits:
        return False
    name_trump(table.row, suits.index(trump))
    find_legal(table.row)
    return True


def draw_sniped(table: Table, points: Sequence[float]) -> None:
    """Set the lot that the recorded points imply in a scored deal with `tie="cut"`, if some lot leads to these points."""
    row = table.row
    drawn = cards_in(row.sniped)
    if table.rules.options.get("tie") != "cut" or len(drawn) != 1:
        return
    tricks = row.tricks + row.carried_tricks
    for seat in range(table.seats):
        if tricks[seat] == tricks[drawn[0]] and same_points(exchange_points(table, seat, drawn[0]), points):
            move_lot(table, seat)
            return


def exchange_points(table: Table, seat: int, other: int) -> np.ndarray:
    """Return the points of a scored deal with those of two seats exchanged."""
    points = np.array(table.row.points[: table.seats])
    points[[seat, other]] = points[[other, seat]]
    return points


def move_lot(table: Table, seat: int) -> None:
    """Snipe a tied seat instead of the one that the engine sniped: the two exchange their points."""
    points = exchange_points(table, seat, cards_in(table.row.sniped)[0])
    table.row.sniped = 1 << seat
    score_again(table, points)


def score_again(table: Table, points: Sequence[float] | np.ndarray) -> None:
    """Replace the points of a scored deal, and judge the match again."""
    row, n = table.row, table.seats
    row.totals[:n] += np.asarray(points, float) - row.points[:n]
    row.points[:n] = points
    judge_again(row)


def judge_again(row: np.record) -> None:
    """Decide again whether the match is over, and who has won."""
    row.over, row.truncated, row.winners = 0, 0, 0
    judge(row)


def same_points(points: Iterable[float], other: Iterable[float]) -> bool:
    """Return whether points are equal up to rounding errors."""
    return all(abs(a - b) < SAME for a, b in zip(points, other, strict=True))
