"""A player that cannot go on: what it did, as half a sentence. Imports nothing, so that the command `noms` can know of it."""

from __future__ import annotations


class ForfeitError(Exception):
    """A player failed at a decision and loses that table.

    Attributes:
        name: of the player, as the user wrote it.
        why: what it did: `took more than 10 seconds for a decision`.
    """

    def __init__(self, name: str, why: str) -> None:
        super().__init__(name, why)
        self.name, self.why = name, why

    def __str__(self) -> str:
        return f"{self.name} {self.why}"


class IllegalAnswerError(ForfeitError, ValueError):
    """A player answered what is not legal where no table may be lost."""
