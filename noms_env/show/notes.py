"""Annotations of a drawing: names, and probabilities or values of actions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from noms_env.core.messages import clean_name


@dataclass(frozen=True)
class Notes:
    """Annotations of a drawing.

    Attributes:
        names: names by seat, cleaned by `clean_name`; default `Seat 0`, `Seat 1` and so on.
        probabilities: a policy's probabilities of the legal actions, by word.
        values: a search's values of the legal actions, by word, in points.
        taken: word of the next action, which gets a dashed frame.
    """

    names: Sequence[str] = ()
    probabilities: Mapping[str, float] = field(default_factory=dict)
    values: Mapping[str, float] = field(default_factory=dict)
    taken: str | None = None

    def name(self, seat: int) -> str:
        """Return the name of a seat."""
        return clean_name(self.names[seat]) if seat < len(self.names) else f"Seat {seat}"
