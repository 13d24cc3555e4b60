"""Somebody else's code among the players: whose may run, what it is when it fails, and that it ends no command in silence.

A file never starts a program: while a command runs, its words must name whatever is started. This module imports nothing of the
package, so that the command `noms` can know of it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

_typed: frozenset[str] | None = None
"""The names of somebody else's players that may run; None for all: Python code says for itself what it runs."""
ENDS = ("_exit", "execv", "execve")
"""The functions of `os` that end the Python code of a process at once; the others of their kind call them."""


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


def may_run(name: str) -> bool:
    """Whether a name may stand for somebody else's code."""
    return _typed is None or name in _typed


@contextmanager
def no_sudden_end() -> Iterator[None]:
    """In this process `os._exit` and `os.exec*` raise SystemExit, as `sys.exit` does, and what is done to end goes on.

    In processes that are forked from it they do what they always do. Compiled code that ends the process is not held up.
    """
    process = os.getpid()
    real = {(module, name): getattr(module, name) for module in (os, sys.modules[os.name]) for name in ENDS}

    def raising(name: str, end: Callable[..., Any]) -> Callable[..., Any]:
        def refuse(*given: Any) -> Any:
            if os.getpid() != process:
                return end(*given)
            raise SystemExit(f"os.{name} was called")

        return refuse

    for (module, name), end in real.items():
        setattr(module, name, raising(name, end))
    try:
        yield
    finally:
        for (module, name), end in real.items():
            setattr(module, name, end)
