"""Files: atomic writing, locking, and safe reading of untrusted files."""

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
"""Characters of a file's name that its temporary file repeats, since names have at most 255."""
PATIENCE = 10.0
"""Seconds to wait for a reader before writing to a pipe."""
MAX_BYTES = 1 << 28
"""Default size limit of `read_file`, in bytes."""


def open_file(path: Path) -> BinaryIO:
    """Open a regular file for reading; raises OSError at once for pipes and devices, which may never end."""
    file = open(path, "rb", opener=_open_at_once)  # noqa: SIM115 - the caller closes it
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    return file


def read_file(path: Path, most: int = MAX_BYTES) -> bytes:
    """Read a whole regular file.

    Raises:
        OSError: the file cannot be read, is no regular file, or has more than `most` bytes.
    """
    with open_file(path) as file:
        if os.fstat(file.fileno()).st_size > most:
            raise OSError(errno.EFBIG, f"it has more than {most:,} bytes", str(path))
        return file.read(most)


@contextmanager
def whole_file(path: Path, *, sync: bool = True, mode: int | None = None) -> Iterator[BinaryIO]:
    """Open a file for atomic writing: at any moment, even after a power cut, it has its old or its new content.

    The content goes to a temporary file in the same folder, which replaces the file at the end. A link stays, and its target
    is replaced. Pipes and devices are written directly; a pipe that has no reader for `PATIENCE` seconds is an error.

    Args:
        path: the file.
        sync: wait until the content is on disk. False is about ten times faster and safe if the process crashes, but
            after a power cut the content depends on the file system.
        mode: permissions from the first byte on; None for those of the existing file, or the process's default.

    Raises:
        OSError: the file cannot be written; an existing file stays unchanged, and no temporary file remains.
    """
    path = Path(os.path.realpath(path))
    if path.exists() and not path.is_file():
        with open(path, "wb", opener=_open_patiently) as file:
            yield file
        return
    name = os.fsencode(path.name)[:LONGEST].decode(errors="ignore")
    temporary = path.with_name(f".{name}.{os.getpid()}-{get_ident()}.part")
    if mode is None:
        with suppress(OSError):
            mode = stat.S_IMODE(path.stat().st_mode)
    try:
        with open(temporary, "wb", opener=lambda name, flags: os.open(name, flags, 0o666 if mode is None else mode)) as file:
            yield file
            if sync:
                file.flush()
                os.fsync(file.fileno())
        if mode is not None:
            temporary.chmod(mode)
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
    if sync and os.name == "posix":  # other systems cannot open folders
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _open_at_once(path: str, flags: int) -> int:
    """Open a file without waiting; raises OSError for a pipe without a reader."""
    if os.name != "posix":
        return os.open(path, flags)
    descriptor = os.open(path, flags | os.O_NONBLOCK)
    os.set_blocking(descriptor, True)
    return descriptor


def _open_patiently(path: str, flags: int) -> int:
    """Open a file; wait up to `PATIENCE` seconds for the reader of a pipe."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return _open_at_once(path, flags)
        except OSError as error:
            if error.errno != errno.ENXIO or time.monotonic() > end:
                raise
        time.sleep(0.01)


def write_atomically(path: Path, content: bytes, *, sync: bool = True, mode: int | None = None) -> None:
    """Write bytes to a file atomically, see `whole_file`."""
    with whole_file(path, sync=sync, mode=mode) as file:
        file.write(content)


def lock(file: IO[str]) -> bool:
    """Lock a file until it is closed or the process ends; return False if another process holds it. Does nothing on Windows."""
    if sys.platform == "win32":
        return True
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
