"""The figures of a training run: who is given them, and the log.

The log is `log.csv` always, and TensorBoard's format where TensorBoard is installed. `log.csv` has one figure a line:
`decisions,name,value`. So a run that is resumed with other figures than before goes on in the same file, and a file that was
cut off in the middle of a line has lost nothing else. Lines of decisions that a resumed run does again are dropped.
"""

from __future__ import annotations

import csv
import importlib.util
import io
import math
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import numpy as np

from noms_env._files import read_file, write_atomically

CSV_NAME = "log.csv"
EVENTS_NAME = "tensorboard"
HEADER = ("decisions", "name", "value")
SECONDS = "charts/seconds"
"""Name of a figure: how long the run has worked, all its sessions together."""
OLD_NAMES = {
    **{name: f"losses/{name}" for name in ("policy_loss", "value_loss", "approx_kl", "clipfrac", "explained_variance")},
    **{name: f"losses/{name}" for name in ("entropy", "calibration", "calibration_error", "distillation_kl")},
    **{name: f"eval/{name}" for name in ("points", "greedy", "probe", "score")},
    **{"decisions_per_second": "charts/SPS", "learning_rate": "charts/learning_rate", "seconds": SECONDS, "played": "rollout"},
}
"""First parts of the names of figures in logs of earlier versions, and what stands for them now."""

SHOWN = 60
"""Letters of a wrong line that are quoted."""

Row = tuple[int, str, float]
Series = dict[str, tuple[np.ndarray, np.ndarray]]


class Watcher:
    """Base class of what follows a run; it does nothing.

    The figures of an iteration have CleanRL's names: `losses/...`: `policy_loss`, `value_loss`, `approx_kl`, `clipfrac`,
    `explained_variance`, `entropy/<phase>` (0 to 1: divided by the logarithm of the number of legal actions),
    `calibration_error` and `calibration/<decile>/...` (`gae.calibration`), `minibatches` (of the actor), `distillation_kl` (to
    recorded decisions); `charts/...`: `SPS` (decisions per second), `learning_rate`, `seconds/<part>` (`Profile`); and
    `rollout/<rules>/<figure>`: the learner's behaviour in the deals that it learns from (whose hand sizes and opponents are
    not those of a match).

    The figures of an evaluation: `eval/points/<rules>/<opponent>` (own points less the mean of the others', per duplicate
    deal) with its 95 % interval `.../low` and `.../high`, the same of the most probable actions as `eval/greedy/...`,
    `eval/score`, and `eval/probe/<rules>/<figure>`: the policy's behaviour against itself.
    """

    def started(self, done: int, total: int) -> None:
        """The run begins, or goes on: so many decisions are done, of so many."""

    def iteration(self, decisions: int, metrics: Mapping[str, float]) -> None:
        """An iteration is over, and so many decisions are done."""

    def evaluation(self, decisions: int, metrics: Mapping[str, float]) -> None:
        """The policy was evaluated."""

    def note(self, text: str) -> None:
        """Something has happened that the user may want to know: a sentence."""

    def ends_run(self) -> bool:
        """Whether the run is to end, though there are decisions left; it is asked after each iteration."""
        return False


class Several(Watcher):
    """Passes everything on to several watchers, in their order."""

    def __init__(self, watchers: Sequence[Watcher]) -> None:
        self.watchers = watchers

    def _all(self, method: str, *arguments: Any) -> list[Any]:
        return [getattr(watcher, method)(*arguments) for watcher in self.watchers]

    def started(self, done: int, total: int) -> None:
        self._all("started", done, total)

    def iteration(self, decisions: int, metrics: Mapping[str, float]) -> None:
        self._all("iteration", decisions, metrics)

    def evaluation(self, decisions: int, metrics: Mapping[str, float]) -> None:
        self._all("evaluation", decisions, metrics)

    def note(self, text: str) -> None:
        self._all("note", text)

    def ends_run(self) -> bool:
        return any(self._all("ends_run"))


class Profile:
    """Seconds by part: `with profile("play"): ...`."""

    def __init__(self) -> None:
        self.seconds = defaultdict[str, float](float)

    @contextmanager
    def __call__(self, part: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        self.seconds[part] += time.perf_counter() - started

    def figures(self, decisions: int, network: float) -> dict[str, float]:
        """`charts/SPS` and the seconds of each part of an iteration with so many decisions.

        `network`: seconds of the policy's passes at the tables, which count as play so far.
        """
        play, learn = self.seconds["play"], self.seconds["learn"]
        parts = {"play": play - network, "network": network, "learn": learn}
        return {"charts/SPS": decisions / (play + learn)} | {f"charts/seconds/{name}": value for name, value in parts.items()}


class LogError(ValueError):
    """A file that is no log of a run, or damaged; the message says where."""


class Log(Watcher):
    """Writes the figures of a run into files, as they come; OSError if it cannot."""

    def __init__(self, folder: str | Path, events: bool = True) -> None:
        """Log into the folder of a run; with `events` in TensorBoard's format too, where TensorBoard is installed."""
        self.folder, self._wants_events = Path(folder), events
        self._file: io.FileIO | None = None
        self._events: Events | None = None
        self._before, self._began = 0.0, 0.0

    def started(self, done: int, total: int) -> None:
        """Open the files; lines after `done` decisions go, all where nothing is done; `LogError` for no log, or OSError."""
        path = self.folder / CSV_NAME
        there = path.exists() and path.stat().st_size
        kept = [row for row in _rows(path) if row[0] <= done > 0] if there else []
        self._before = max((value for _, name, value in kept if name == SECONDS), default=0.0)
        self._began = time.monotonic()
        write_atomically(path, as_csv([HEADER, *kept]))
        self._file = path.open("ab", buffering=0)
        if self._wants_events and has_tensorboard():
            self._events = Events(self.folder / EVENTS_NAME, done + 1)

    def iteration(self, decisions: int, metrics: Mapping[str, float]) -> None:
        self.evaluation(decisions, {**metrics, SECONDS: self._before + time.monotonic() - self._began})

    def evaluation(self, decisions: int, metrics: Mapping[str, float]) -> None:
        if self._file is None:
            raise RuntimeError("the log is not open: call started first")
        write_whole(self._file, as_csv([(decisions, name, value) for name, value in metrics.items()]))
        if self._events is not None:
            self._events.write(decisions, metrics)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the files."""
        for file in (self._file, self._events):
            if file is not None:
                file.close()
        self._file = self._events = None


def write_whole(file: io.FileIO, content: bytes) -> None:
    """Write to a file without a buffer, so that nothing is left to be written later, when the disk may be full."""
    left = memoryview(content)
    while left:
        left = left[file.write(left) or 0 :]


class Events:
    """Figures in TensorBoard's format; they are in the file when a call returns (TensorBoard's own writer has a thread)."""

    def __init__(self, folder: Path, start: int) -> None:
        """Begin a file in a folder; figures from `start` decisions on in earlier files no longer count."""
        event_pb2 = importlib.import_module("tensorboard.compat.proto.event_pb2")
        writer = importlib.import_module("tensorboard.summary.writer.record_writer")
        folder.mkdir(parents=True, exist_ok=True)
        seconds, left = divmod(time.time_ns(), 10**9)  # TensorBoard reads the files by their names
        self._file = (folder / f"events.out.tfevents.{seconds:010}.{left:09}").open("wb", buffering=0)
        self._event, self._record = event_pb2.Event, writer.RecordWriter
        session = event_pb2.SessionLog(status=event_pb2.SessionLog.START)
        for content in ({"file_version": "brain.Event:2"}, {"session_log": session}):
            self._add(self._event(step=start, wall_time=time.time(), **content))

    def write(self, decisions: int, metrics: Mapping[str, float]) -> None:
        """Add figures; OSError if they cannot be written."""
        event = self._event(step=decisions, wall_time=time.time())
        for name, value in metrics.items():
            event.summary.value.add(tag=name, simple_value=float(value))
        self._add(event)

    def _add(self, event: Any) -> None:
        record = io.BytesIO()
        self._record(record).write(event.SerializeToString())
        write_whole(self._file, record.getvalue())

    def close(self) -> None:
        """Close the file."""
        self._file.close()


# --------------------------------------------------------------------------------------------------------------- CSV


def read_log(folder: str | Path, name: str = CSV_NAME) -> Series:
    """The figures of the log of that name, by theirs: decisions (int64, ascending) and values (float64), each of shape (n,).

    Of several values for the same decisions the last one counts; values that are no numbers are left out. Names of earlier
    versions (`OLD_NAMES`) are replaced.

    Raises:
        OSError: there is no log, or it cannot be read.
        LogError: the file of that name is no log.
    """
    figures = defaultdict[str, dict[int, float]](dict)
    for decisions, figure, value in _rows(Path(folder) / name):
        if math.isfinite(value):
            first, *rest = figure.split("/")
            figures["/".join([OLD_NAMES.get(first, first), *rest])][decisions] = value
    ordered = {figure: sorted(points.items()) for figure, points in figures.items()}
    return {
        figure: (np.array([at for at, _ in points], np.int64), np.array([value for _, value in points]))
        for figure, points in ordered.items()
    }


def _rows(path: Path) -> Iterator[Row]:
    """The lines of a log, up to one that was cut off; LogError if it is no log."""
    with io.StringIO(read_file(path).decode(errors="replace"), newline="") as file:
        lines = csv.reader(line for line in file if line.endswith("\n"))
        line: list[str] = []
        try:
            has_header = next(lines, None) == list(HEADER)
            for line in lines if has_header else ():
                decisions, name, value = line
                if not 0 <= int(decisions) < 1 << 63:
                    raise ValueError
                yield int(decisions), name, float(value)
        except (ValueError, csv.Error) as error:
            wrong = f"{','.join(line)[:SHOWN]!r} is not decisions, a name and a value"
            raise LogError(f"{path}, line {lines.line_num}: {wrong}") from error
        if not has_header:
            raise LogError(f"{path} is not the log of a run: its first line is not {','.join(HEADER)}")


def as_csv(rows: list[Any]) -> bytes:
    """Rows as lines; numbers with six digits."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([f"{value:.6g}" if isinstance(value, float | np.floating) else value for value in row] for row in rows)
    return text.getvalue().encode()


def has_tensorboard() -> bool:
    """Whether TensorBoard is installed."""
    return importlib.util.find_spec("tensorboard") is not None
