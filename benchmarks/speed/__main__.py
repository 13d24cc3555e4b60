"""`python -m benchmarks.speed`: measured speed, beside the peers."""

from __future__ import annotations

import json as json_format
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from training.cli import exit_status
from training.commands.common import OK, CommandError, file_errors
from training.console import terminal

if TYPE_CHECKING:
    from benchmarks.speed.clock import Case, Measured
    from benchmarks.speed.report import Results

FILE_WIDTH = 150
"""Columns of the tables where they do not go to a terminal."""

SECONDS_OF_TRAINING = 2.0
"""For each of its cases at each turn: some iterations."""

Part = Literal["ours", "peers", "growth"]
File = Annotated[str | None, tyro.conf.arg(metavar="FILE")]


@dataclass(frozen=True)
class Settings:
    """How much is measured.

    Attributes:
        repetitions: turns of all cases.
        seconds: for each case at each turn.
        tables: tables of a batch.
        many_tables: tables where one thread is measured against two.
        growth: numbers of tables of the growth curve.
        cold: measure a start with nothing compiled.
    """

    repetitions: int
    seconds: float = 0.4
    tables: int = 2048
    many_tables: int = 16_384
    growth: tuple[int, ...] = (1024, 4096, 16_384, 65_536, 262_144)
    cold: bool = True


def quick_settings(repetitions: int) -> Settings:
    """Tiny sizes, which show that everything runs, and no speed."""
    return Settings(repetitions, seconds=0.001, tables=8, many_tables=8, growth=(8, 16), cold=False)


def bench(
    json: File = None,
    plot: File = None,
    repetitions: Annotated[int, tyro.conf.arg(metavar="N")] = 5,
    only: Part | None = None,
    train: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False,
    quick: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False,
) -> int:
    """Measure the speed of the engine and the environments, and of other packages that do the same work.

    All cases take turns, and before each a fixed loop is timed, which tells how quiet the machine was. Medians are
    printed. Packages that are not installed are named and left out: `pip install 'noms-env[bench]'` brings them.
    It takes some minutes, two cores and 2 GB of memory, and wants a machine with nothing else to do.

    For example:
      python -m benchmarks.speed
      python -m benchmarks.speed --json bench.json --plot bench.png
      python -m benchmarks.speed --only growth --plot growth.png
      python -m benchmarks.speed --train --json train.json

    Args:
        json: Write all figures, the machine and the versions to this file.
        plot: Draw a PNG of the figures (needs Matplotlib).
        repetitions: Turns of all cases.
        only: The engine and the environments, the peers (with what is compared with them), or the growth with the
            number of tables; all if not given.
        train: Measure the trainer instead: decisions learnt from, beside MaskablePPO of sb3-contrib, and how near its update
            comes to the matrix products that it consists of (needs the extra `train`).
        quick: Tiny sizes, to see that everything runs: the figures mean nothing.
    """
    if repetitions < 1:
        raise CommandError(f"--repetitions must be 1 or more, not {repetitions}")
    if train and only:
        raise CommandError(f"--train measures the trainer alone; it does not go with --only {only}")
    for file in filter(None, (json, plot)):
        if not Path(file).absolute().parent.is_dir():
            raise CommandError(f"cannot write {file}: there is no folder {Path(file).parent}")
    if plot:
        from benchmarks.speed.plot import need_matplotlib

        need_matplotlib()
    if train:
        results = measure_training(repetitions, quick)
    else:
        results = measure(quick_settings(repetitions) if quick else Settings(repetitions), only)
    show(results)
    if json:
        from benchmarks.speed.report import as_json

        with file_errors(f"cannot write {json}"):
            Path(json).write_text(json_format.dumps(as_json(results), indent=1) + "\n")
    if plot:
        from benchmarks.speed.plot import draw

        with file_errors(f"cannot write {plot}"):
            draw(results, plot)
    return OK


def main(args: Sequence[str] | None = None) -> int:
    """Run the command with these words, those of the process when None, and return the exit status."""
    return exit_status("benchmarks.speed", lambda: tyro.cli(bench, prog="python -m benchmarks.speed", args=args))


def measure(settings: Settings, only: Part | None) -> Results:
    """Set everything up and measure it."""
    from benchmarks.speed.clock import Control, by_turns
    from benchmarks.speed.ours import bytes_per_table
    from benchmarks.speed.report import Results

    with tempfile.TemporaryDirectory(prefix="noms-bench-") as folder:
        cache = Path(folder) if settings.cold else None
        with progress("setting up", 1):
            cases, missing = all_cases(settings, only, cache)
        control = Control().run
        cold: dict[str, Measured] = {}
        if settings.cold and only in (None, "ours"):
            with progress("compiling everything", 1):
                cold = cold_start(Path(folder), control)
        with progress("measuring", len(cases) * (settings.repetitions + 1)) as tick:
            measured, failed = by_turns(cases, settings.repetitions, settings.seconds, control, tick)
    sizes = bytes_per_table() if only in (None, "ours") else {}
    return Results(measured | cold, asdict(settings) | {"only": only}, missing | failed, sizes)


def measure_training(repetitions: int, quick: bool = False) -> Results:
    """Set the trainers up and measure them.

    Raises:
        MissingExtraError: torch is not installed.
    """
    from training.extras import require

    require("torch", "train", "--train")
    from benchmarks.speed.clock import Control, by_turns
    from benchmarks.speed.peers import collected
    from benchmarks.speed.report import Results
    from benchmarks.speed.train import train_cases, train_goals
    from benchmarks.speed.train_peers import TRAINERS

    seconds = 0.001 if quick else SECONDS_OF_TRAINING
    with progress("setting up", 1):
        peers, missing = collected({name: partial(build, quick) for name, build in TRAINERS.items()})
        cases = train_cases(quick) + peers
    with progress("measuring", len(cases) * (repetitions + 1)) as tick, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the peers' libraries have to say of one another
        measured, failed = by_turns(cases, repetitions, seconds, Control().run, tick)
    settings = {"repetitions": repetitions, "seconds": seconds, "train": True, "quick": quick}
    return Results(measured, settings, missing | failed, goals=list(train_goals(measured)))


def all_cases(settings: Settings, only: Part | None, cache: Path | None) -> tuple[list[Case], dict[str, str]]:
    """The cases that are wanted, and the peers that are missing, with the reason."""
    from benchmarks.speed.clock import with_those_compared
    from benchmarks.speed.ours import growth_cases, our_cases
    from benchmarks.speed.peers import peer_cases
    from benchmarks.speed.start import start_cases

    cases: list[Case] = []
    missing: dict[str, str] = {}
    ours = [] if only == "growth" else our_cases(settings.tables, settings.many_tables)
    if only in (None, "ours"):
        cases += [*ours, *start_cases(cache)]
    if only in (None, "growth"):
        cases += growth_cases(settings.growth)
    if only in (None, "peers"):
        peers, missing = peer_cases(settings.tables)
        cases += with_those_compared(peers, ours) if only else peers
    return cases, missing


def cold_start(folder: Path, control: Callable[[], float]) -> dict[str, Measured]:
    """One start with nothing compiled: it takes too long for the turns. It fills the folder for the others."""
    from benchmarks.speed.clock import SECONDS, Case, Measured
    from benchmarks.speed.start import PARTS, measure

    before = control()
    seconds = measure(folder)
    cases = [Case(f"cold/{part}", text, lambda _: 0.0, SECONDS) for part, text in PARTS.items()]
    return {case.key: Measured(case, [seconds[case.key.partition("/")[2]]], [before]) for case in cases}


def show(results: Results) -> None:
    """Print the tables."""
    from benchmarks.speed.report import as_tables

    console = terminal()
    if not console.is_terminal:
        console.width = FILE_WIDTH
    for part in as_tables(results):
        console.print(part, soft_wrap=False)
        console.print()


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[Case], None]]:
    """A bar with the time left on standard error, if that is a terminal: yields what moves it."""
    if not sys.stderr.isatty():
        yield lambda case: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn, TimeRemainingColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn(), "{task.fields[case]}")
    with Progress(what, *columns, console=terminal(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total, case="")

        def tick(case: Case) -> None:
            bar.update(task, advance=1, case=case.key)

        yield tick


if __name__ == "__main__":
    sys.exit(main())
