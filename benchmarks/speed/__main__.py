"""`python -m benchmarks.speed`: the speed of this package and its peers."""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

import tyro

from benchmarks.speed.clock import SECONDS, Case, Control, Measured, by_turns
from benchmarks.speed.ours import PARTS, bytes_per_table, growth_cases, measure_start, our_cases, start_cases
from benchmarks.speed.peers import build_cases, peer_cases
from benchmarks.speed.plot import draw
from benchmarks.speed.report import Results, as_json, as_tables
from noms_training.cli import exit_status
from noms_training.commands.common import OK, CommandError, file_errors
from noms_training.commands.files import check_folder_of, write_json
from noms_training.console import terminal
from noms_training.extras import require
from noms_training.progress_bar import progress_bar

FILE_WIDTH = 150
"""Width of tables that do not go to a terminal, in columns."""
SECONDS_OF_TRAINING = 2.0
"""Seconds for each case of the trainer at each turn, enough for some iterations."""

Part = Literal["ours", "peers", "growth"]
File = Annotated[str | None, tyro.conf.arg(metavar="FILE")]


@dataclass(frozen=True)
class Settings:
    """Sizes of the measurement."""

    repetitions: int
    seconds: float = 0.4  # of each case at each turn
    tables: int = 2048
    many_tables: int = 16_384  # for the comparison of one thread with two
    growth: tuple[int, ...] = (1024, 4096, 16_384, 65_536, 262_144)
    cold: bool = True  # whether to measure a start without compiled code


QUICK = Settings(1, seconds=0.001, tables=8, many_tables=8, growth=(8, 16), cold=False)
"""Tiny sizes, which show only that everything runs."""


def bench(
    json: File = None,
    plot: File = None,
    repetitions: Annotated[int, tyro.conf.arg(metavar="N")] = 5,
    only: Part | None = None,
    train: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False,
    quick: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False,
) -> int:
    """Measure the speed of the engine and the environments against other packages for the same work.

    All cases take turns, and medians are printed. Before each case a fixed loop is timed, to detect a busy machine.
    Packages that are not installed are listed and left out; `pip install '.[bench]'` installs them. The benchmark needs some
    minutes, two cores, 2 GB of memory and an idle machine.

    For example:
      python -m benchmarks.speed
      python -m benchmarks.speed --json bench.json --plot bench.png
      python -m benchmarks.speed --only growth --plot growth.png
      python -m benchmarks.speed --train --json train.json

    Args:
        json: Write all figures, the machine and the versions to this file.
        plot: Draw a PNG of the figures (needs Matplotlib).
        repetitions: Turns of all cases.
        only: Measure only the engine and environments (`ours`), only the peers and our cases that they compare with
            (`peers`), or only the time per decision by number of tables (`growth`).
        train: Measure the trainer instead, and MaskablePPO of sb3-contrib (needs the extra `train`).
        quick: Use tiny sizes, only to test that everything runs.
    """
    if repetitions < 1:
        raise CommandError(f"--repetitions must be 1 or more, not {repetitions}")
    if train and only:
        raise CommandError(f"--train measures the trainer alone; it does not go with --only {only}")
    check_folder_of(json)
    check_folder_of(plot)
    if plot:
        require("matplotlib", "plot", "--plot")
    if train:
        results = measure_training(repetitions, quick)
    else:
        results = measure(replace(QUICK, repetitions=repetitions) if quick else Settings(repetitions), only)
    if not results.measured:
        reasons = (f"; {name}: {reason}" for name, reason in results.missing.items())
        raise CommandError(f"nothing could be measured{''.join(reasons)}")
    show(results)
    if json:
        write_json(json, as_json(results))
    if plot:
        with file_errors(f"cannot write {plot}"):
            draw(results, plot)
    return OK


def main(args: Sequence[str] | None = None) -> int:
    """Run the command with `args`, by default those of the process, and return the exit status."""
    return exit_status("benchmarks.speed", lambda: tyro.cli(bench, prog="python -m benchmarks.speed", args=args))


def measure(settings: Settings, only: Part | None) -> Results:
    """Set up and measure the cases of the environments."""
    with tempfile.TemporaryDirectory(prefix="noms-bench-") as folder:
        cases, missing = all_cases(settings, only, Path(folder) if settings.cold else None)
        control = Control().run
        cold = cold_start(Path(folder), control) if settings.cold and only in (None, "ours") else {}
        measured, failed = in_turns(cases, settings.repetitions, settings.seconds, control)
    sizes = bytes_per_table() if only in (None, "ours") else {}
    return Results(measured | cold, asdict(settings) | {"only": only}, missing | failed, sizes)


def measure_training(repetitions: int, quick: bool = False) -> Results:
    """Set up and measure the trainers; MissingExtraError if Torch is not installed."""
    require("torch", "train", "--train")
    from benchmarks.speed.train import train_cases
    from benchmarks.speed.train_peers import TRAINERS

    seconds = QUICK.seconds if quick else SECONDS_OF_TRAINING
    peers, missing = build_cases(TRAINERS, quick)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the peers' libraries warn about one another
        measured, failed = in_turns([*train_cases(quick), *peers], repetitions, seconds, Control().run)
    return Results(measured, {"repetitions": repetitions, "seconds": seconds, "train": True, "quick": quick}, missing | failed)


def in_turns(
    cases: Sequence[Case], repetitions: int, seconds: float, control: Callable[[], float]
) -> tuple[dict[str, Measured], dict[str, str]]:
    """Measure the cases, with a progress bar; see `clock.by_turns`."""
    with progress_bar("measuring", "cases", len(cases) * (repetitions + 1)) as advance:
        return by_turns(cases, repetitions, seconds, control, advance)


def all_cases(settings: Settings, only: Part | None, cache: Path | None) -> tuple[list[Case], dict[str, str]]:
    """Return the selected cases, and the missing peers with the reason."""
    ours = [] if only == "growth" else our_cases(settings.tables, settings.many_tables)
    peers, missing = peer_cases(settings.tables) if only in (None, "peers") else ([], {})
    if only == "peers":
        compared = {key for case in peers for key in case.compared_with}
        return [*(case for case in ours if case.key in compared), *peers], missing
    starts = start_cases(cache) if only != "growth" else []
    growth = growth_cases(settings.growth) if only != "ours" else []
    return [*ours, *starts, *growth, *peers], missing


def cold_start(folder: Path, control: Callable[[], float]) -> dict[str, Measured]:
    """Measure one start without compiled code, too slow for the turns. It fills the cache folder for the other starts."""
    before = control()
    seconds = measure_start(folder)
    cases = {part: Case(f"cold/{part}", text, lambda _: 0.0, SECONDS) for part, text in PARTS.items()}
    return {case.key: Measured(case, [seconds[part]], [before]) for part, case in cases.items()}


def show(results: Results) -> None:
    """Print the tables."""
    console = terminal()
    if not console.is_terminal:
        console.width = FILE_WIDTH
    for part in as_tables(results):
        console.print(part, soft_wrap=False)
        console.print()


if __name__ == "__main__":
    sys.exit(main())
