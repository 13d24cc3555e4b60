"""The figures of a run in files: `log.csv` always, and TensorBoard's format where TensorBoard is installed.

`log.csv` has one figure a line: `decisions,name,value`. So a run that is resumed with other figures than before goes on in
the same file, and a file that was cut off in the middle of a line has lost nothing else. Lines of decisions that a resumed
run does again are dropped.
"""

from __future__ import annotations

import csv
import importlib
import importlib.util
import io
import math
import os
import socket
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np

CSV_NAME = "log.csv"
EVENTS_NAME = "tensorboard"
HEADER = ("decisions", "name", "value")
SECONDS = "seconds"
"""Name of a figure: how long the run has worked, all its sessions together."""

Row = tuple[int, str, float]
Series = dict[str, tuple[np.ndarray, np.ndarray]]


class Log:
    """Writes down what happens to a run; a `Watcher`. Every call leaves all of it in the files."""

    def __init__(self, folder: str | Path, events: bool = True) -> None:
        """Log into a folder.

        Args:
            folder: that of the run.
            events: write TensorBoard's format too, where TensorBoard is installed.
        """
        self.folder = Path(folder)
        self._wants_events = events
        self._file: io.FileIO | None = None
        self._events: Events | None = None
        self._before, self._began = 0.0, 0.0

    def started(self, done: int, total: int) -> None:
        """Open the files; lines after `done` decisions are dropped.

        Raises:
            OSError: a file cannot be written.
            ValueError: the file of that name is no log.
        """
        path = self.folder / CSV_NAME
        kept = _kept_rows(path, done) if path.exists() else []
        self._before = max((value for _, name, value in kept if name == SECONDS), default=0.0)
        self._began = time.monotonic()
        _replace(path, as_csv([HEADER, *kept]))
        self._file = path.open("ab", buffering=0)
        if self._wants_events and has_tensorboard():
            self._events = Events(self.folder / EVENTS_NAME, done + 1)

    def iteration(self, decisions: int, metrics: Mapping[str, float]) -> None:
        """See `Watcher`.

        Raises:
            OSError: a file cannot be written.
        """
        self._write(decisions, {**metrics, SECONDS: self._before + time.monotonic() - self._began})

    def evaluation(self, decisions: int, metrics: Mapping[str, float]) -> None:
        """See `Watcher`.

        Raises:
            OSError: a file cannot be written.
        """
        self._write(decisions, metrics)

    def note(self, text: str) -> None:
        """See `Watcher`: sentences are not logged."""

    def _write(self, decisions: int, metrics: Mapping[str, float]) -> None:
        """Figures into all files."""
        if self._file is None:
            raise RuntimeError("the log is not open: call started first")
        _write_all(self._file, as_csv([(decisions, name, value) for name, value in metrics.items()]))
        if self._events is not None:
            self._events.write(decisions, metrics)

    def __enter__(self) -> Self:
        """For `with`: the files are closed at its end."""
        return self

    def __exit__(self, *_: object) -> None:
        """See `__enter__`."""
        self.close()

    def close(self) -> None:
        """Close the files."""
        if self._file is not None:
            self._file.close()
            self._file = None
        if self._events is not None:
            self._events.close()
            self._events = None


# --------------------------------------------------------------------------------------------------------------- CSV


def read_log(folder: str | Path) -> Series:
    """The figures of a run: those of the log in its folder, as `read_series` gives them.

    Raises:
        OSError: there is no log, or it cannot be read.
        ValueError: the file of that name is no log.
    """
    return read_series(Path(folder) / CSV_NAME)


def read_series(path: Path) -> Series:
    """Figures by name: decisions (int64, ascending) and values (float64), each of shape (n,).

    Of several values for the same decisions the last one counts; values that are no numbers are left out.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is no log.
    """
    found: dict[str, dict[int, float]] = {}
    for decisions, name, value in _rows(path):
        if math.isfinite(value):
            found.setdefault(name, {})[decisions] = value
    return {
        name: (np.array(sorted(points), np.int64), np.array([points[at] for at in sorted(points)]))
        for name, points in found.items()
    }


def _rows(path: Path) -> Iterator[Row]:
    """The lines of a log, up to one that was cut off.

    Raises:
        ValueError: it is no log.
    """
    with path.open(newline="", encoding="utf-8", errors="replace") as file:
        lines = csv.reader(line for line in file if line.endswith("\n"))
        if next(lines, None) != list(HEADER):
            raise ValueError(f"{path} is not the log of a run: its first line is not {','.join(HEADER)}")
        for number, line in enumerate(lines, 2):
            try:
                decisions, name, value = line
                yield int(decisions), name, float(value)
            except ValueError:
                raise ValueError(f"{path}, line {number}: {','.join(line)!r} is not decisions, a name and a value") from None


def _kept_rows(path: Path, done: int) -> list[Row]:
    """The lines of a log up to so many decisions."""
    return [row for row in _rows(path) if row[0] <= done] if path.stat().st_size else []


def as_csv(rows: list[Any]) -> bytes:
    """Rows as lines; numbers with six digits."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([value if not isinstance(value, float) else f"{value:.6g}" for value in map(_plain, row)] for row in rows)
    return text.getvalue().encode()


def _plain(value: Any) -> Any:
    """A number of numpy as one of Python."""
    return value.item() if isinstance(value, np.generic) else value


def _replace(path: Path, content: bytes) -> None:
    """Write a file in place of another: whole, or not at all."""
    new = path.with_name(path.name + ".new")
    try:
        with new.open("wb", buffering=0) as file:
            _write_all(file, content)
            os.fsync(file.fileno())
        new.replace(path)
    except OSError:
        new.unlink(missing_ok=True)
        raise


def _write_all(file: io.FileIO, content: bytes) -> None:
    """Write without a buffer, so that nothing is left to be written later, when the disk may be full."""
    left = memoryview(content)
    while left:
        left = left[file.write(left) or 0 :]


# ------------------------------------------------------------------------------------------------------- TensorBoard


def has_tensorboard() -> bool:
    """Whether TensorBoard is installed."""
    return importlib.util.find_spec("tensorboard") is not None


class Events:
    """A file of events as TensorBoard reads it.

    `torch.utils.tensorboard` writes in a thread of its own, where a full disk ends in a traceback; this one writes at once.
    """

    def __init__(self, folder: Path, purge: int) -> None:
        """Begin a file; TensorBoard forgets what earlier ones say of `purge` decisions and more.

        Raises:
            OSError: the file cannot be written.
        """
        event = importlib.import_module("tensorboard.compat.proto.event_pb2")
        records = importlib.import_module("tensorboard.summary.writer.record_writer")
        self._event, self._summary = event, importlib.import_module("tensorboard.compat.proto.summary_pb2")
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"events.out.tfevents.{time.time_ns() // 10**9:010d}.{socket.gethostname()}.{os.getpid()}.{purge}"
        self._file = path.open("wb", buffering=0)
        self._records = records.RecordWriter(self._file)
        self._add(file_version="brain.Event:2")
        self._add(step=purge, session_log=event.SessionLog(status=event.SessionLog.START))

    def write(self, decisions: int, metrics: Mapping[str, float]) -> None:
        """Figures of a moment.

        Raises:
            OSError: the file cannot be written.
        """
        values = [self._summary.Summary.Value(tag=name, simple_value=float(value)) for name, value in metrics.items()]
        self._add(step=decisions, summary=self._summary.Summary(value=values))

    def _add(self, **content: Any) -> None:
        """One record."""
        self._records.write(self._event.Event(wall_time=time.time(), **content).SerializeToString())

    def close(self) -> None:
        """Close the file."""
        self._file.close()
