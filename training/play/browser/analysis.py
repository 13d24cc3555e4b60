"""Data of recorded deals for a page that draws them itself: views of each moment, and an analysis of the decisions.

The name of a moment is `DEAL.DECISIONS`, as in `LiveTable.moment`: the number of the deal in the match, from 1, and the number
of decisions before the moment.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from noms_env.core.cards import CARD_NUMBERS, SUIT_LETTERS
from noms_env.record import Record
from noms_env.show.cards import RANK_NAMES, card_title
from noms_env.show.data import view_data
from noms_env.show.lines import points_text
from noms_env.show.rules import SUIT_NAMES
from noms_env.show.view import Notes, look, say_call
from noms_env.table import Table

from ...evaluation.mistakes import NOT_JUDGED, Loss, biggest
from .film import ALL_HANDS, Shown, describe_moment, lost_by, moments, results

OWN = "own"
"""Name of the view of the seat at the bottom; `film.ALL_HANDS` is the view with all hands."""
GRADES = ((0.5, "blunder"), (0.2, "mistake"), (0.0, "slip"))
"""Grades of losses with their lower bounds, as fractions of the deal's stakes."""
MOMENT = re.compile(r"([1-9][0-9]{0,5})\.([0-9]{1,5})")


def deal_data(
    record: Record,
    shown: Shown,
    before: Table | None = None,
    *,
    seat: int | None = None,
    losses: Sequence[Loss] | None = None,
    analysed: bool = False,
) -> dict[str, Any]:
    """Return a recorded deal as data for a page.

    Args:
        record: record of the deal.
        shown: settings: views, names and players.
        before: see `noms_env.record.replay`.
        seat: seat at the bottom; None if the viewer has no seat.
        losses: losses of the judged decisions; None if the deal was not judged.
        analysed: whether an analysis was requested.

    Returns:
        JSON data: `title`, `names`, `result` (lines), `seat` and `moments`. Each moment has `status` and `views` by name (the
        values of `view_data` that differ from the previous moment). A moment before a decision also has `seat`, `taken` and
        `said`, `options` if a player evaluated it, and `judged` (`judge_data`) if it was judged. With `analysed` the deal has
        `scale` (points at stake), `worst` (index of the first moment to show, or None), `final` (points of each seat above the
        mean of the others, without the multiplier), and `lost` (`film.lost_by`) or `not_judged` (a reason).

    Raises:
        RecordError: the record cannot be replayed.
    """
    judged, scale = {loss.step: loss for loss in losses or ()}, stakes(losses or ())
    seats = {} if seat is None else {OWN: seat}
    full = {ALL_HANDS: seat} if shown.seat is None else {}
    words, last = list[dict[str, Any]](), {name: dict[str, Any]() for name in (*seats, *full)}
    table = before
    for number, moment in enumerate(moments(record, shown, before)):
        table = moment.table
        words.append(describe_moment(moment, shown, noun_of) | {"views": {}})
        if number in judged:
            words[-1]["judged"] = judge_data(table, judged[number], scale)
        for name, viewer in (*seats.items(), *full.items()):
            view = view_data(look(table, viewer, full=name in full))
            words[-1]["views"][name] = changes(last[name], view)
            last[name] = view
    assert table is not None, "a record has a moment at least"
    data = {
        "title": f"Match {record['match']}, deal {record['deal']}",
        "names": [Notes(shown.names).name(seat) for seat in range(table.seats)],
        "moments": words,
        "seat": seat,
        "result": results(table, shown.names),
    }
    return data | (_sum_up(table, losses, scale, seat) if analysed else {})


def changes(before: Mapping[str, Any], state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the items of a state that are new or changed."""
    return {name: value for name, value in state.items() if name not in before or before[name] != value}


def _sum_up(table: Table, losses: Sequence[Loss] | None, scale: float, seat: int | None) -> dict[str, Any]:
    points = table.row.points[: table.seats] / max(1, int(table.row.multiplier))
    others = (points.sum() - points) / (table.seats - 1)
    real = biggest(losses or (), 1_000)
    first = next((loss for loss in real if loss.is_sure), real[0] if real else None)
    verdict = {"not_judged": NOT_JUDGED} if losses is None else {"lost": lost_by(seat, losses)}
    final = [round(float(value), 2) for value in points - others]
    return {"scale": round(scale, 3), "worst": None if first is None else first.step, "final": final, **verdict}


def stakes(losses: Sequence[Loss]) -> float:
    """Return the points at stake in a deal: the largest standard deviation of a best action's value."""
    return max((loss.spread for loss in losses), default=0.0)


def grade_of(loss: Loss, scale: float) -> str:
    """Grade a decision: `best`, `even` if the loss may be chance, else `slip`, `mistake` or `blunder`."""
    if loss.taken == loss.best or loss.points <= 0:
        return "best"
    if not loss.is_sure:
        return "even"
    return next(grade for share, grade in GRADES if loss.points >= share * scale)


def judge_data(table: Table, loss: Loss, scale: float) -> dict[str, Any]:
    """Return the judgement of the seat's decision: numbers, grade, and a sentence."""
    return {
        "best": loss.best,
        "points": round(loss.points, 2),
        "error": round(loss.error, 2),
        "expected": round(loss.expected, 2),
        "worlds": loss.worlds,
        "grade": grade_of(loss, scale),
        "text": explain(table, loss),
    }


def explain(table: Table, loss: Loss) -> str:
    """Say what the best action would have gained, according to the search."""
    if loss.taken == loss.best or loss.points <= 0:
        return "No better action was found."
    better = noun_of(table, loss.best)
    gain = points_text(round(loss.points, 1 if loss.points >= 0.95 else 2))
    frequency = f"more in {loss.better} of {loss.worlds} layouts, less in {loss.worse}"
    start = f"{better[0].upper()}{better[1:]}"
    if not loss.is_sure:
        return f"{start} might have been as good or better: {frequency}."
    return f"{start} would have brought {gain} {'point' if gain == '1' else 'points'} more on average: {frequency}."


def noun_of(table: Table, word: str) -> str:
    """Return an action of the current phase as a noun: `the 10 of Hearts`, `passing`, `a bid of 7`, `Hearts as trump`."""
    kind, phase = table.deck_kind, table.phase
    if word in CARD_NUMBERS[kind]:
        card = f"the {card_title(CARD_NUMBERS[kind][word], kind)}"
        return f"nominating {card}" if phase == "nominate" else card
    if phase == "call":
        return "passing" if word == "pass" else f"a bid of {say_call(word, table.rules.variant.misere)}"
    if word in SUIT_LETTERS[kind]:
        suit = SUIT_NAMES[kind][SUIT_LETTERS[kind].index(word)]
        return f"{suit} as trump" if phase == "trump" else f"{suit} as the suit led"
    if phase == "nominate":
        return f"nominating the {RANK_NAMES.get(word, word)} of trumps"
    return {"NT": "no trump", "unsaid": "leaving trump unsaid", "indicate": "showing oneself as the partner"}.get(word, word)


def moment_of(text: str) -> tuple[int, int] | None:
    """Parse the name of a moment into deal, from 0, and number of decisions; None if it is invalid."""
    match = MOMENT.fullmatch(text)
    return None if match is None else (int(match[1]) - 1, int(match[2]))
