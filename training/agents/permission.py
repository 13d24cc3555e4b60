"""Whose code may run: a file never starts a program, so while a command runs its words must name whatever is started.

Imports nothing of the package, so that the command `noms` can know of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

_typed: frozenset[str] | None = None
"""The names of somebody else's players that may run; None for all: Python code says for itself what it runs."""


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


def may_run(name: str) -> bool:
    """Whether a name may stand for somebody else's code."""
    return _typed is None or name in _typed
