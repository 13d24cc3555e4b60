"""What a run tells: to the screen, and to the log.

The log is `log.csv` always, and TensorBoard's format where TensorBoard is installed. `log.csv` has one figure a line:
`decisions,name,value`. So a run that is resumed with other figures than before goes on in the same file, and a file that was
cut off in the middle of a line has lost nothing else. Lines of decisions that a resumed run does again are dropped.
"""

from __future__ import annotations

import csv
import importlib.util
import io
import math
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

CSV_NAME = "log.csv"
EVENTS_NAME = "tensorboard"
HEADER = ("decisions", "name", "value")
SECONDS = "seconds"
"""Name of a figure: how long the run has worked, all its sessions together."""

Row = tuple[int, str, float]
Series = dict[str, tuple[np.ndarray, np.ndarray]]


class Watcher(Protocol):
    """Is told what a run does.

    The figures of an iteration: `decisions_per_second`, `rollout_seconds`, `engine_seconds`, `learn_seconds`, `learning_rate`,
    `entropy/<phase>` (0 to 1: divided by the logarithm of the number of legal actions), `approx_kl`, `clipfrac`,
    `explained_variance`, `policy_loss`, `value_loss`, `ema_kl`, `epochs`, and `played/<rules>/<figure>`: the learner's
    behaviour in the deals that it learns from (whose hand sizes and opponents are not those of a match).

    The figures of an evaluation: `points/<rules>/<opponent>` (own points less the mean of the others', per duplicate deal)
    with its 95 % interval `.../low` and `.../high`, the same of the EMA policy as `ema/...` and of the most probable actions as
    `greedy/...`, `score/policy` and `score/ema`, and `probe/<rules>/<figure>`: the policy's behaviour against itself.
    """

    def started(self, done: int, total: int) -> None:
        """The run begins, or goes on: so many decisions are done, of so many."""
        ...

    def iteration(self, decisions: int, metrics: Mapping[str, float]) -> None:
        """An iteration is over, and so many decisions are done."""
        ...

    def evaluation(self, decisions: int, metrics: Mapping[str, float]) -> None:
        """The policy was evaluated."""
        ...

    def note(self, text: str) -> None:
        """Something has happened that the user may want to know: a sentence."""
        ...


class Silent:
    """Tells nobody: for processes that do not talk to the user."""

    def started(self, done: int, total: int) -> None:
        """See `Watcher`."""

    def iteration(self, decisions: int, metrics: Mapping[str, float]) -> None:
        """See `Watcher`."""

    def evaluation(self, decisions: int, metrics: Mapping[str, float]) -> None:
        """See `Watcher`."""

    def note(self, text: str) -> None:
        """See `Watcher`."""


class Several:
    """Tells several watchers, in their order."""

    def __init__(self, watchers: Sequence[Watcher]) -> None:
        """Tell all of these."""
        self.watchers = watchers

    def started(self, done: int, total: int) -> None:
        """See `Watcher`."""
        for watcher in self.watchers:
            watcher.started(done, total)

    def iteration(self, decisions: int, metrics: Mapping[str, float]) -> None:
        """See `Watcher`."""
        for watcher in self.watchers:
            watcher.iteration(decisions, metrics)

    def evaluation(self, decisions: int, metrics: Mapping[str, float]) -> None:
        """See `Watcher`."""
        for watcher in self.watchers:
            watcher.evaluation(decisions, metrics)

    def note(self, text: str) -> None:
        """See `Watcher`."""
        for watcher in self.watchers:
            watcher.note(text)


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
        self._events: SummaryWriter | None = None
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
            from torch.utils.tensorboard import SummaryWriter

            self._events = SummaryWriter(self.folder / EVENTS_NAME, purge_step=done + 1)

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
            for name, value in metrics.items():
                self._events.add_scalar(name, float(value), decisions)
            self._events.flush()

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


def has_tensorboard() -> bool:
    """Whether TensorBoard is installed."""
    return importlib.util.find_spec("tensorboard") is not None
