"""What a deal brought, in words, and the score sheet: a table over deals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from noms_env.core.actions import CALL_WORDS
from noms_env.record import Record
from noms_env.show import call_text, points_text
from noms_env.show.view import Place, View
from noms_env.variants import Variant

from ..console import new_table
from ..text import count, short_names

if TYPE_CHECKING:
    from rich.table import Table

Names = Sequence[str | None]
"""Of the players, seat by seat; None for the person."""


def result_lines(view: View, names: Names) -> Iterator[str]:
    """Of a scored deal: bids or the contract against the tricks, whether they were made, and what that brought."""
    if view.declarer is None:
        for place in () if view.passed_out else view.places:
            yield f"{who(place.seat, names)} {alone_text(place)}"
        return
    partner = view.revealed if view.revealed not in (None, view.declarer) else None
    side = [view.places[seat] for seat in (view.declarer, partner) if seat is not None]
    points = [points_words(place.points or 0) for place in side]
    brought = f"{points[0]} each" if len(set(points)) < len(points) else " and ".join(points)
    verdict = "made" if (side[0].points or 0) > 0 else "failed"
    taken = count(sum(place.tricks for place in side), "trick")
    helped = "alone" if partner is None else f"with {who(partner, names, 'seat')}"
    yield f"{who(view.declarer, names)} {helped} bid {view.contract} and took {taken}: {verdict}, {brought}"
    for place in view.places:
        if place not in side:
            yield f"{who(place.seat, names)} took {count(place.tricks, 'trick')}: {points_words(place.points or 0)}"


def alone_text(place: Place) -> str:
    """What a seat that plays for itself bid and took."""
    points = place.points or 0
    taken, brought = count(place.tricks, "trick"), points_words(points)
    if not place.calls:
        return f"took {taken}{', sniped' if 'sniped' in place.marks else ''}: {brought}"
    bid = place.calls[-1]
    made = points > (place.tricks if place.called is not None else 0)  # a call made brings more than its tricks
    verdict = "" if bid == "Some" else "made, " if made else "failed, "
    return f"bid {bid} and took {taken}: {verdict}{brought}"


def who(seat: int, names: Names, seat_word: str = "Seat") -> str:
    """A seat with its player; `seat` instead of `Seat` within a sentence."""
    if names[seat] is None:
        return "You" if seat_word == "Seat" else "you"
    return f"{seat_word} {seat} {names[seat]}"


def points_words(points: float) -> str:
    """`1 point`, `-2.5 points`."""
    return f"{points_text(points)} {'point' if abs(points) == 1 else 'points'}"


def score_sheet(records: Sequence[Record], variant: Variant, names: Names) -> Table:
    """Deal by deal, what each seat bid, took and scored, and its total.

    Args:
        records: of the deals.
        variant: the game.
        names: see `Names`.
    """
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
    """The last bid of each seat; of an auction, passes do not count."""
    steps = [step for step in record["steps"] if step["phase"] == "call" and step["action"] != "pass"]
    return {step["seat"]: call_text(CALL_WORDS.index(step["action"]), variant) for step in steps}


def _cell(record: Record, seat: int, variant: Variant) -> tuple[str, str, str]:
    """Tricks (and what was bid, where each seat bids for itself), points, total."""
    bid = "" if record["declarer"] is not None else _calls(record, variant).get(seat, "")
    tricks = f"{bid}/{record['tricks'][seat]}" if bid else str(record["tricks"][seat])
    return tricks, points_text(record["points"][seat]), points_text(record["after"][seat])


def _contract(record: Record, variant: Variant) -> str:
    """The contract and its declarer."""
    declarer = record["declarer"]
    return "passed" if declarer is None else f"{_calls(record, variant)[declarer]} by {declarer}"
