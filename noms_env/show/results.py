"""Results of a scored deal, from its `View`."""

from __future__ import annotations

from dataclasses import dataclass

from noms_env.show.view import Place, View


@dataclass(frozen=True)
class Outcome:
    """Bid, tricks and points of one seat, or of the declarer's side, in a deal.

    Attributes:
        seats: the declarer and the partner if any; a single seat otherwise.
        bid: the bid in spoken words; None without a bid.
        wanted: number of tricks bid; None if the bid is not a number.
        tricks: tricks of these seats together.
        made: whether the bid was made; None for no bid, and for `Some`.
        points: points of each of these seats.
    """

    seats: tuple[int, ...]
    bid: str | None
    wanted: int | None
    tricks: int
    made: bool | None
    points: tuple[float, ...]


def outcomes(view: View) -> list[Outcome]:
    """Return the outcomes of a scored deal, the declarer's side first; empty if all passed."""
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
    """Return the number of tricks of a bid; None if it is not a number."""
    return int(bid) if bid is not None and bid.isdecimal() else None


def _alone(place: Place) -> Outcome:
    """Return the outcome of a seat that plays for itself."""
    points = place.points or 0.0
    if not place.calls:
        return Outcome((place.seat,), None, None, place.tricks, None, (points,))
    bid = place.calls[-1]
    made = points > (place.tricks if place.called is not None else 0)  # a successful bid scores more than its tricks
    return Outcome((place.seat,), bid, place.called, place.tricks, None if bid == "Some" else made, (points,))
