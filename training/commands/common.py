"""What the subcommands share: errors for the user, and the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

OK, FOUND, ERROR, STOPPED = 0, 1, 2, 130
"""Exit statuses: as it should be; disagreements found; a wrong request; Ctrl-C."""


class CommandError(Exception):
    """Ends a command with a sentence for the user.

    Attributes:
        status: the exit status.
    """

    def __init__(self, sentence: str, status: int = ERROR) -> None:
        super().__init__(sentence)
        self.status = status


@contextmanager
def file_errors(doing: str) -> Iterator[None]:
    """Turn an OSError into a CommandError whose sentence begins with what was being done."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise CommandError(f"{doing}: {error.strerror or error}") from error


@contextmanager
def wrong_arguments() -> Iterator[None]:
    """Turn a ValueError into a CommandError; only for the call that the arguments first go to."""
    try:
        yield
    except ValueError as error:
        raise CommandError(str(error)) from error
