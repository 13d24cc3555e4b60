"""Files that are there whole or not at all, and that belong to one process."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import get_ident
from typing import IO, BinaryIO

LONGEST = 100
"""Characters that a file keeps of its name while it is written: a name has 255 at most."""


@contextmanager
def whole_file(path: Path, *, sync: bool = True) -> Iterator[BinaryIO]:
    """A file to write. At any moment, also after a power cut, the whole old content is there or the whole new one.

    It is written beside its place and moved there at the end. A link stays, and the file that it leads to is written. What is
    no regular file (a pipe, a device) is written to as it is.

    Args:
        path: the file.
        sync: wait until the disk has it. Without that it is some ten times faster, and holds after the end of the process, of
            whatever kind; after a power cut it depends on the file system.

    Raises:
        OSError: it cannot be written; what was there stays, and nothing is left beside it.
    """
    path = path.resolve()
    if path.exists() and not path.is_file():
        with path.open("wb") as file:
            yield file
        return
    beside = path.with_name(f".{path.name[:LONGEST]}.{os.getpid()}-{get_ident()}.part")
    try:
        with beside.open("wb") as file:
            yield file
            if sync:
                file.flush()
                os.fsync(file.fileno())
        with suppress(OSError):
            beside.chmod(stat.S_IMODE(path.stat().st_mode))
        beside.replace(path)
    except BaseException:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        raise
    if sync and os.name == "posix":  # elsewhere folders cannot be opened
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def write_atomically(path: Path, content: bytes, *, sync: bool = True) -> None:
    """Write a file; see `whole_file`."""
    with whole_file(path, sync=sync) as file:
        file.write(content)


def lock(file: IO[str]) -> bool:
    """Lock a file until it is closed or its process ends; False where another process has it. Windows has no such lock."""
    if sys.platform == "win32":
        return True
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
