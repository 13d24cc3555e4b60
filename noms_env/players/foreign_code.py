"""Third-party players: permission to run their code, and the errors of their failures.

A file never starts a program: during a command, only names on the command line may run code.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

_allowed: frozenset[str] | None = None
"""Names of third-party players that may run; None for all, since Python code decides itself what it runs."""


class ForfeitError(Exception):
    """A player, by the name that the user wrote, failed (`took more than 10 seconds for a decision`) and loses that table."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(name, why)
        self.name, self.why = name, why

    def __str__(self) -> str:
        return f"{self.name} {self.why}"


class IllegalAnswerError(ForfeitError, ValueError):
    """A player's answer was not legal, and no table can be forfeited for it."""


@contextmanager
def by_command_line(words: Sequence[str]) -> Iterator[None]:
    """During a command, allow third-party code only for names on the command line: a word, or the text after `--option=`."""
    global _allowed
    before = _allowed
    _allowed = frozenset([*words, *(word.partition("=")[2] for word in words if word.startswith("--"))])
    try:
        yield
    finally:
        _allowed = before


def allow_programs() -> None:
    """Allow every name to run third-party code until the command ends, as the user requested."""
    global _allowed
    _allowed = None


def check_may_run(name: str) -> None:
    """Raise ValueError if a name may not run third-party code."""
    if _allowed is not None and name not in _allowed:
        raise ValueError(
            f"a file names the program {name!r}: it is run with --allow-programs only, or if the command line names it too"
        )
