"""Annotations of a drawing: names, and probabilities or values of the actions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from noms_env.core.messages import clean_name


@dataclass(frozen=True)
class Notes:
    """Annotations of a drawing.

    Attributes:
        names: of the seats, shown as `clean_name` makes them; `Seat 0` and so on where there are none.
        probabilities: of the legal actions, by word, as a policy finds them.
        values: what a search expects of the legal actions, by word, in points.
        taken: word of the action that is taken next, which gets a dashed frame.
    """

    names: Sequence[str] = ()
    probabilities: Mapping[str, float] = field(default_factory=dict)
    values: Mapping[str, float] = field(default_factory=dict)
    taken: str | None = None

    def name(self, seat: int) -> str:
        """The name of a seat."""
        return clean_name(self.names[seat]) if seat < len(self.names) else f"Seat {seat}"
