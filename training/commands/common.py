"""Exit statuses and user errors of the subcommands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

OK, FOUND, ERROR, STOPPED = 0, 1, 2, 130
"""Exit statuses: success; disagreements found; bad input; Ctrl-C."""


class CommandError(Exception):
    """Ends a command with one sentence for the user, and with an exit status."""

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
def wrong_arguments(*errors: type[Exception]) -> Iterator[None]:
    """Turn a ValueError, or errors of these types, into a CommandError; only for calls that check what the user asked for."""
    caught = errors or (ValueError,)
    try:
        yield
    except caught as error:
        raise CommandError(str(error)) from error


@contextmanager
def interruptible(note: str, *errors: type[Exception]) -> Iterator[None]:
    """Turn Ctrl-C, or errors of these types, into a CommandError whose sentence ends with the note."""
    try:
        yield
    except KeyboardInterrupt as error:
        raise CommandError(f"stopped by Ctrl-C; {note}", STOPPED) from error
    except errors as error:
        raise CommandError(f"{error}; {note}") from error
