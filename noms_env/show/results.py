"""Results of a scored deal, from its `View`."""

from __future__ import annotations

from dataclasses import dataclass

from noms_env.show.view import Place, View


@dataclass(frozen=True)
class Outcome:
    """What a seat, or the seats of a side, bid, took and scored in a deal.

    Attributes:
        seats: the declarer and the partner, if there is one; a single seat otherwise.
        bid: as people say it; None where nothing was bid.
        wanted: tricks that were bid; None where the bid is no number.
        tricks: that they took together.
        made: whether the bid was made; None where there was nothing to make.
        points: of each of the seats.
    """

    seats: tuple[int, ...]
    bid: str | None
    wanted: int | None
    tricks: int
    made: bool | None
    points: tuple[float, ...]


def outcomes(view: View) -> list[Outcome]:
    """Of a scored deal: the declarer's side first, then the others; none where all passed."""
    if view.passed_out:
        return []
    if view.declarer is None:
        return [_alone(place) for place in view.places]
    partner = view.revealed if view.revealed not in (None, view.declarer) else None
    side = [view.places[seat] for seat in (view.declarer, partner) if seat is not None]
    points = tuple(place.points or 0.0 for place in side)
    bid, tricks = view.contract, sum(place.tricks for place in side)
    declared = Outcome(tuple(place.seat for place in side), bid, wanted_tricks(bid), tricks, points[0] > 0, points)
    others = [place for place in view.places if place not in side]
    return [declared, *(Outcome((other.seat,), None, None, other.tricks, None, (other.points or 0.0,)) for other in others)]


def wanted_tricks(bid: str | None) -> int | None:
    """The tricks of a bid that is a number."""
    return int(bid) if bid is not None and bid.isdecimal() else None


def _alone(place: Place) -> Outcome:
    """What a seat that plays for itself bid and took."""
    points = place.points or 0.0
    if not place.calls:
        return Outcome((place.seat,), None, None, place.tricks, None, (points,))
    bid = place.calls[-1]
    made = points > (place.tricks if place.called is not None else 0)  # a call made brings more than its tricks
    return Outcome((place.seat,), bid, place.called, place.tricks, None if bid == "Some" else made, (points,))
