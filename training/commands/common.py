"""Exit statuses and user errors of the subcommands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

OK, FOUND, ERROR, STOPPED = 0, 1, 2, 130
"""Exit statuses: success; disagreements found; bad input; Ctrl-C."""


class CommandError(Exception):
    """Ends a command with one sentence for the user.

    Attributes:
        status: the exit status.
    """

    def __init__(self, sentence: str, status: int = ERROR) -> None:
        super().__init__(sentence)
        self.status = status


@contextmanager
def file_errors(doing: str) -> Iterator[None]:
    """Turn an OSError into a CommandError whose sentence begins with `doing`."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise CommandError(f"{doing}: {error.strerror or error}") from error


@contextmanager
def wrong_arguments() -> Iterator[None]:
    """Turn a ValueError into a CommandError; only for the call that first receives the arguments."""
    try:
        yield
    except ValueError as error:
        raise CommandError(str(error)) from error
