"""Somebody else's code among the players: whose may run, and what it is when it fails.

A file never starts a program: while a command runs, its words must name whatever is started.
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
    """A player answered what is not legal where no table may be lost."""


@contextmanager
def by_command_line(words: Sequence[str]) -> Iterator[None]:
    """While a command runs, a name stands for somebody else's code only if it is one of the words, or follows `--option=`."""
    global _typed
    before = _typed
    _typed = frozenset([*words, *(word.partition("=")[2] for word in words if word.startswith("--"))])
    try:
        yield
    finally:
        _typed = before


def allow_programs() -> None:
    """Let every name stand for somebody else's code until the command ends: the user says so."""
    global _typed
    _typed = None


def check_may_run(name: str) -> None:
    """Raise ValueError where a name may not stand for somebody else's code."""
    if _typed is not None and name not in _typed:
        only = "it is run with --allow-programs only, or where the command line names it too"
        raise ValueError(f"a file names the program {name!r}: {only}")
