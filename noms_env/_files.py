"""Files: written whole or not at all, held by one process, and read though they may come from anywhere."""

from __future__ import annotations

import errno
import os
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import get_ident
from typing import IO, BinaryIO

LONGEST = 100
"""Characters that a file keeps of its name while it is written: a name has 255 at most."""
PATIENCE = 10.0
"""Seconds to wait until somebody reads a pipe that is to be written."""
MOST_BYTES = 1 << 28
"""Of a file that is read whole."""


def open_file(path: Path) -> BinaryIO:
    """Open a regular file to read. Pipes and devices, which may never end, are refused and not waited for.

    Raises:
        OSError: it cannot be read, or is no regular file.
    """
    file = open(path, "rb", opener=_open_at_once)  # noqa: SIM115 - the caller closes it
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    return file


def read_file(path: Path, most: int = MOST_BYTES) -> bytes:
    """The content of a regular file.

    Raises:
        OSError: it cannot be read, is no regular file, or has more than `most` bytes.
    """
    with open_file(path) as file:
        if os.fstat(file.fileno()).st_size > most:
            raise OSError(errno.EFBIG, f"it has more than {most:,} bytes", str(path))
        return file.read(most)


@contextmanager
def whole_file(path: Path, *, sync: bool = True, mode: int | None = None) -> Iterator[BinaryIO]:
    """A file to write. At any moment, also after a power cut, the whole old content is there or the whole new one.

    It is written beside its place and moved there at the end. A link stays, and the file that it leads to is written. What is
    no regular file (a pipe, a device) is written to as it is; a pipe that nobody reads for `PATIENCE`
    seconds is an error.

    Args:
        path: the file.
        sync: wait until the disk has it. Without that it is some ten times faster, and holds after the end of the process, of
            whatever kind; after a power cut it depends on the file system.
        mode: who may read and write it, from the first byte on; when None as before, or as the process makes files.

    Raises:
        OSError: it cannot be written; what was there stays, and nothing is left beside it.
    """
    path = Path(os.path.realpath(path))
    if path.exists() and not path.is_file():
        with open(path, "wb", opener=_open_patiently) as file:
            yield file
        return
    beside = path.with_name(f".{path.name[:LONGEST]}.{os.getpid()}-{get_ident()}.part")
    if mode is None:
        with suppress(OSError):
            mode = stat.S_IMODE(path.stat().st_mode)
    try:
        with open(beside, "wb", opener=lambda name, flags: os.open(name, flags, 0o666 if mode is None else mode)) as file:
            yield file
            if sync:
                file.flush()
                os.fsync(file.fileno())
        if mode is not None:
            beside.chmod(mode)
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


def _open_at_once(path: str, flags: int) -> int:
    """Open a file; OSError for a pipe that nobody reads."""
    if os.name != "posix":
        return os.open(path, flags)
    descriptor = os.open(path, flags | os.O_NONBLOCK)
    os.set_blocking(descriptor, True)
    return descriptor


def _open_patiently(path: str, flags: int) -> int:
    """The same, but wait for a while until somebody reads the pipe."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return _open_at_once(path, flags)
        except OSError as error:
            if error.errno != errno.ENXIO or time.monotonic() > end:
                raise
        time.sleep(0.01)


def write_atomically(path: Path, content: bytes, *, sync: bool = True, mode: int | None = None) -> None:
    """Write a file; see `whole_file`."""
    with whole_file(path, sync=sync, mode=mode) as file:
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
