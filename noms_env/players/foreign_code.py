"""Third-party players: permission to run their code, and the errors of their failures.

A file never starts a program: during a command, only names on the command line may run code.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

_typed: frozenset[str] | None = None
"""The names of somebody else's players that may run; None for all: Python code says for itself what it runs."""


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
    """A player's answer was not legal, in a place where no table can be forfeited."""


@contextmanager
def by_command_line(words: Sequence[str]) -> Iterator[None]:
    """During a command, allow third-party code only for names on the command line: a word, or what follows `--option=`."""
    global _typed
    before = _typed
    _typed = frozenset([*words, *(word.partition("=")[2] for word in words if word.startswith("--"))])
    try:
        yield
    finally:
        _typed = before


def allow_programs() -> None:
    """Allow every name to run third-party code until the command ends, since the user said so."""
    global _typed
    _typed = None


def check_may_run(name: str) -> None:
    """Raise ValueError if a name may not run third-party code."""
    if _typed is not None and name not in _typed:
        only = "it is run with --allow-programs only, or where the command line names it too"
        raise ValueError(f"a file names the program {name!r}: {only}")
