"""Results of a deal in words, and the score sheet of several deals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from noms_env.core.actions import CALL_WORDS
from noms_env.record import Record
from noms_env.show import call_text, points_text
from noms_env.show.results import outcomes
from noms_env.show.view import View
from noms_env.variants import Variant

from ..console import new_table
from ..text import count, short_names

if TYPE_CHECKING:
    from rich.table import Table

Names = Sequence[str | None]
"""Names of the players by seat; None for the person."""


def result_lines(view: View, names: Names) -> Iterator[str]:
    """Describe the result of a scored deal: bids or contract, tricks, success and points."""
    for outcome in outcomes(view):
        taken, scored = count(outcome.tricks, "trick"), points_words(outcome.points[0])
        name, verdict = seat_text(outcome.seats[0], names), {None: "", True: "made, ", False: "failed, "}[outcome.made]
        if view.declarer == outcome.seats[0]:
            if len(outcome.seats) > 1:
                same = len({points_words(points) for points in outcome.points}) == 1
                scored = f"{scored} each" if same else " and ".join(map(points_words, outcome.points))
            partner = f"with {seat_text(outcome.seats[1], names, 'seat')}" if len(outcome.seats) > 1 else "alone"
            yield f"{name} {partner} bid {outcome.bid} and took {taken}: {verdict}{scored}"
        elif outcome.bid is None:
            sniped = ", sniped" if "sniped" in view.places[outcome.seats[0]].marks else ""
            yield f"{name} took {taken}{sniped}: {scored}"
        else:
            yield f"{name} bid {outcome.bid} and took {taken}: {verdict}{scored}"


def seat_text(seat: int, names: Names, seat_word: str = "Seat") -> str:
    """Return a seat with its player; pass `seat` as `seat_word` inside a sentence."""
    if names[seat] is None:
        return "You" if seat_word == "Seat" else "you"
    return f"{seat_word} {seat} {names[seat]}"


def points_words(points: float) -> str:
    """Return the points in words: `1 point`, `-2.5 points`."""
    return f"{points_text(points)} {'point' if abs(points) == 1 else 'points'}"


def score_sheet(records: Sequence[Record], variant: Variant, names: Names) -> Table:
    """Tabulate bid, tricks, points and total of each seat, one row per deal."""
    auction = any(record["declarer"] is not None for record in records)
    several = len({record["match"] for record in records}) > 1
    short = short_names([name or "you" for name in names])
    table = new_table("deal", *(["bid"] if auction else []), *(f"{seat} {name}" for seat, name in enumerate(short)))
    rows = [[_cell(record, seat, variant) for seat in range(len(names))] for record in records]
    has_bids = any("/" in cell[0] for row in rows for cell in row)
    table.title, table.title_justify, table.title_style = f"Of each seat {'bid/' * has_bids}tricks, points, total", "left", ""
    widths = [max((len(cell[part]) for row in rows for cell in row), default=0) for part in range(3)]
    for record, row in zip(records, rows, strict=True):
        deal = f"{record['match'] + 1}.{record['deal'] + 1}" if several else str(record["deal"] + 1)
        cells = [" ".join(part.rjust(width) for part, width in zip(cell, widths, strict=True)) for cell in row]
        table.add_row(deal, *([_contract(record, variant)] if auction else []), *cells)
    return table


def _calls(record: Record, variant: Variant) -> dict[int, str]:
    """Return the last bid of each seat, without passes."""
    steps = [step for step in record["steps"] if step["phase"] == "call" and step["action"] != "pass"]
    return {step["seat"]: call_text(CALL_WORDS.index(step["action"]), variant) for step in steps}


def _cell(record: Record, seat: int, variant: Variant) -> tuple[str, str, str]:
    """Return tricks (with the bid in an exact-bid game), points and total."""
    bid = "" if record["declarer"] is not None else _calls(record, variant).get(seat, "")
    tricks = f"{bid}/{record['tricks'][seat]}" if bid else str(record["tricks"][seat])
    return tricks, points_text(record["points"][seat]), points_text(record["after"][seat])


def _contract(record: Record, variant: Variant) -> str:
    declarer = record["declarer"]
    return "passed" if declarer is None else f"{_calls(record, variant)[declarer]} by {declarer}"
