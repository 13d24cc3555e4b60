"""`noms plot`: draw the learning curves of runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tyro

from ..extras import require
from ..learn.log import CSV_NAME, read_log
from ..options import by_default
from ..publish.plots import draw
from .common import OK, CommandError, file_errors, wrong_arguments
from .files import check_not_read

DEFAULT_NAME = "curves.png"


def plot(
    run: Annotated[tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="RUN ...", help_behavior_hint="")],
    out: Annotated[str | None, by_default(f"{DEFAULT_NAME} in the folder of the first run", "FILE")] = None,
) -> int:
    """Draw the learning curves of one run, or of several in one picture, as a PNG.

    The picture shows points per deal against the panel with 95 % intervals, and behaviour such as contracts made. It also shows
    the entropy of each phase, the size of updates, the calibration of the critic, and speed. The run may still be training.

    For example:
      noms plot runs/small_ships-fast
      noms plot runs/first runs/second --out both.png

    Args:
        run: Folders of runs, as `noms train` makes them.
        out: The file to write.
    """
    if not run:
        raise CommandError("name the folder of at least one run, such as runs/small_ships-fast")
    require("matplotlib", "plot", "noms plot")
    path = Path(out) if out else Path(run[0]) / DEFAULT_NAME
    check_not_read(out or str(path), *(file for folder in run for file in Path(folder).glob("*") if file.suffix != ".png"))
    runs = {}
    for folder in run:
        if Path(folder).is_dir() and not (Path(folder) / CSV_NAME).exists():
            raise CommandError(f"{folder} is not the folder of a run: it has no {CSV_NAME}")
        with wrong_arguments(), file_errors(f"cannot read the log of {folder}"):
            runs[folder] = read_log(folder)
    with wrong_arguments(), file_errors(f"cannot write {path}"):
        draw(runs, path)
    print(path)
    return OK
