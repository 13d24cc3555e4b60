"""Training callbacks, and the log.

The log is `log.csv`, and also TensorBoard events if TensorBoard is installed. `log.csv` has one figure per line:
`decisions,name,value`. So a resumed run may add new figures, and a truncated file loses one line only. Resuming drops the lines
after the checkpoint.
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
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np

from noms_env._files import read_file, write_atomically

CSV_NAME = "log.csv"
EVENTS_NAME = "tensorboard"
HEADER = ("decisions", "name", "value")
SECONDS = "charts/seconds"  # name of the figure for the total running time, over all resumptions
OLD_NAMES = {
    **{name: f"losses/{name}" for name in ("policy_loss", "value_loss", "approx_kl", "clipfrac", "explained_variance")},
    **{name: f"losses/{name}" for name in ("entropy", "calibration", "calibration_error", "distillation_kl")},
    **{name: f"eval/{name}" for name in ("points", "greedy", "probe", "score")},
    **{"decisions_per_second": "charts/SPS", "learning_rate": "charts/learning_rate", "seconds": SECONDS, "played": "rollout"},
}
"""Prefixes of figures in logs of earlier versions, and their replacements."""

SHOWN = 60  # maximum quoted characters of a wrong line

Row = tuple[int, str, float]
Series = dict[str, tuple[np.ndarray, np.ndarray]]


class Watcher:
    """Base class of training callbacks; does nothing.

    The figures of an iteration have CleanRL's names:

    - `losses/`: `policy_loss`, `value_loss`, `approx_kl`, `clipfrac`, `explained_variance`, `entropy/<phase>` (divided by the
      logarithm of the number of legal actions: 0 to 1), `calibration_error` and `calibration/<decile>/...`
      (`gae.critic_figures`), `minibatches` (of the actor), `distillation_kl` (to recorded decisions)
    - `charts/`: `SPS` (decisions per second), `learning_rate`, `seconds/<part>` (`Profile`)
    - `rollout/<rules>/<figure>`: behaviour in the training deals, whose hand sizes and opponents differ from a match

    The figures of an evaluation: `eval/points/<rules>/<opponent>` (own points less the mean of the others', per duplicate
    deal) with the 95 % interval `.../low` and `.../high`; `eval/greedy/...`, the points of the most probable actions;
    `eval/score`; and `eval/probe/<rules>/<figure>`: behaviour in self-play.
    """

    def started(self, done: int, total: int) -> None:
        """Called when a run starts or resumes, with `done` of `total` decisions."""

    def iteration(self, decisions: int, metrics: Mapping[str, float]) -> None:
        """Called after an iteration, with the decisions so far and its figures."""

    def evaluation(self, decisions: int, metrics: Mapping[str, float]) -> None:
        """Called after an evaluation, with the decisions so far and its figures."""

    def note(self, text: str) -> None:
        """Called with a notice for the user."""

    def ends_run(self) -> bool:
        """Return whether to end the run early; called after each iteration."""
        return False


class Several(Watcher):
    """Forwards all calls to several watchers, in order; ends the run if one of them does."""

    def __init__(self, watchers: Sequence[Watcher]) -> None:
        def forward(method: str, *arguments: Any) -> bool:
            answers = [getattr(watcher, method)(*arguments) for watcher in watchers]
            return any(answers)

        for method in ("started", "iteration", "evaluation", "note", "ends_run"):
            setattr(self, method, partial(forward, method))


class Profile:
    """Timer of the parts of an iteration: `with profile("play"): ...`."""

    def __init__(self) -> None:
        self.seconds = defaultdict[str, float](float)

    @contextmanager
    def __call__(self, part: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        self.seconds[part] += time.perf_counter() - started

    def figures(self, decisions: int, network: float) -> dict[str, float]:
        """Return `charts/SPS` and the seconds of each part; `network` seconds of inference are moved out of play."""
        play, learn = self.seconds["play"], self.seconds["learn"]
        parts = {"play": play - network, "network": network, "learn": learn}
        return {"charts/SPS": decisions / (play + learn)} | {f"charts/seconds/{name}": value for name, value in parts.items()}


class LogError(ValueError):
    """A file is not the log of a run, or damaged."""


class Log(Watcher):
    """Writes figures to the log files immediately; OSError if that fails."""

    def __init__(self, folder: str | Path, events: bool = True) -> None:
        """Log into a folder; with `events` also in TensorBoard's format, if TensorBoard is installed."""
        self.folder, self._wants_events = Path(folder), events
        self._file: io.FileIO | None = None
        self._events: Any = None
        self._before, self._began = 0.0, 0.0

    def started(self, done: int, total: int) -> None:
        """Open the files, and drop lines after `done` decisions (all if it is 0); LogError for a wrong file, or OSError."""
        path = self.folder / CSV_NAME
        rows = [row for row in saved_rows(self.folder) if row[0] <= done > 0]
        self._before = max((value for _, name, value in rows if name == SECONDS), default=0.0)
        self._began = time.monotonic()
        write_atomically(path, as_csv([HEADER, *rows]))
        self._file = path.open("ab", buffering=0)
        if self._wants_events and has_tensorboard():
            from torch.utils.tensorboard import SummaryWriter  # here, since reading a log needs no torch

            self._events = SummaryWriter(self.folder / EVENTS_NAME, purge_step=done + 1)

    def iteration(self, decisions: int, metrics: Mapping[str, float]) -> None:
        self.evaluation(decisions, {**metrics, SECONDS: self._before + time.monotonic() - self._began})

    def evaluation(self, decisions: int, metrics: Mapping[str, float]) -> None:
        if self._file is None:
            raise RuntimeError("the log is not open: call started first")
        left = memoryview(as_csv([(decisions, name, value) for name, value in metrics.items()]))
        while left:  # unbuffered, so that a full disk raises now and not at a later flush
            left = left[self._file.write(left) or 0 :]
        if self._events is not None:
            for name, value in metrics.items():
                self._events.add_scalar(name, value, decisions)
            self._events.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        for file in (self._file, self._events):
            if file is not None:
                file.close()
        self._file = self._events = None


def read_log(folder: str | Path, name: str = CSV_NAME) -> Series:
    """Read a log: by figure, decisions (int64, ascending) and values (float64), each of shape (n,).

    The last of several values for the same decisions counts; NaN and infinite values are skipped. Names of earlier versions
    (`OLD_NAMES`) are replaced. LogError if the file is not a log, OSError if it is missing or unreadable.
    """
    figures = defaultdict[str, dict[int, float]](dict)
    for decisions, figure, value in _rows(Path(folder) / name):
        if math.isfinite(value):
            first, *rest = figure.split("/")
            figures["/".join([OLD_NAMES.get(first, first), *rest])][decisions] = value
    ordered = {name: sorted(points.items()) for name, points in figures.items()}
    return {name: tuple(map(np.array, zip(*points, strict=True))) for name, points in ordered.items()}  # type: ignore[misc]


def saved_rows(folder: Path) -> list[Row]:
    """Return the complete lines of the log in a folder, none without a log; LogError if it is not a log."""
    path = folder / CSV_NAME
    return list(_rows(path)) if path.exists() and path.stat().st_size else []


def _rows(path: Path) -> Iterator[Row]:
    """Yield the complete lines of a log; LogError if it is not a log."""
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
            text = f"{','.join(line)[:SHOWN]!r} is not decisions, a name and a value"
            raise LogError(f"{path}, line {lines.line_num}: {text}") from error
        if not has_header:
            raise LogError(f"{path} is not the log of a run: its first line is not {','.join(HEADER)}")


def as_csv(rows: list[Any]) -> bytes:
    """Format rows as CSV, with six significant digits."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([f"{value:.6g}" if isinstance(value, float | np.floating) else value for value in row] for row in rows)
    return text.getvalue().encode()


def has_tensorboard() -> bool:
    """Return whether TensorBoard is installed."""
    return importlib.util.find_spec("tensorboard") is not None
