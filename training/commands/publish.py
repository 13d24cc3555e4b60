"""`noms publish`: the folder of a policy that is handed on, with its card."""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from training.commands.common import OK, CommandError, file_errors, wrong_arguments
from training.extras import require

if TYPE_CHECKING:
    from training.learn.log import Series
    from training.publish.result_files import Names, Results
    from training.publish.run_summary import Outcome

OUT = "checkpoints"
PICTURED = ("points/", "entropy/")
"""Beginnings of the names of the figures in the picture of the card."""


def publish(
    run: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="RUN")],
    name: Annotated[str, tyro.conf.arg(metavar="NAME")],
    out: Annotated[str, tyro.conf.arg(metavar="FOLDER")] = OUT,
    panel: Annotated[tuple[str, ...], tyro.conf.arg(metavar="FILE.json ...")] = (),
    before: Annotated[tuple[str, ...], tyro.conf.arg(metavar="RUN ...")] = (),
) -> int:
    """Make the folder of a policy that is handed on: FOLDER/NAME with its weights, a card, and its learning curve.

    The card, README.md, says what the policy is, how it was trained and by which command it is made again, how it fares
    against others, what it does at the table, and where it is weak. It follows from the run and from the result files; what
    has been written by hand between the two comments below "Known weaknesses" is kept when the card is made again. So: make
    it once, measure the policy by its name, make it again with the results.

    A policy in the folder checkpoints of a checkout, or of the installed package, is found by its name, or by that of a game
    it was trained for, wherever a policy is asked for: noms play, noms evaluate, noms_env.load_player.

    For example:
      noms publish runs/small_ships-long --name auctions
      noms evaluate auctions pimc:100 --set test --json auctions-pimc.json
      noms tournament auctions thumb random --variant noms --set test --out tournaments/noms
      noms publish runs/small_ships-long --name auctions --panel auctions-pimc.json tournaments/noms/results.json
      noms publish runs/finished --name mine --before runs/begun
      noms publish runs/better --name mine --before checkpoints/mine

    Args:
        run: The folder of the run, as noms train makes it; its best policy so far is taken.
        name: What the policy is called: lower-case letters, digits, _ and -.
        out: Where its folder is made; what the folder has already is replaced file by file.
        panel: Results for the card: files of noms evaluate --json, and results.json of noms tournament.
        before: If the run began with the policy of another (noms train --initial), or had lessons of it
            (--curriculum.teacher): the folders of the runs before it, the first one first. The card and the curve then have
            the whole course. The folder of a published policy stands for all runs that made it.
    """
    folder = Path(out) / name
    require("matplotlib", "plot", "noms publish")
    from noms_env.policy.player import POLICY_NAME
    from training.learn.log import HEADER, as_csv
    from training.publish.model_card import CARD, PICTURE, card
    from training.publish.run_summary import CURVE, RUNS, as_runs, read_outcome

    with wrong_arguments(), file_errors(f"cannot read the run in {run}"):
        check_name(name)
        outcome = read_outcome(run, before)
        check_game(name, outcome)
        results = results_of(panel, names_of(name, run, folder, outcome), outcome)
        curve = outcome.curve()
        content = {
            POLICY_NAME: outcome.content,
            CURVE: as_csv([HEADER, *rows_of(curve)]),
            RUNS: as_runs(outcome),
            PICTURE: picture_of(name, curve),
            CARD: card(name, outcome, results, notes_in(folder / CARD)).encode(errors="surrogateescape"),
        }
    for line in doubts(run, before, panel, outcome):
        print(f"noms: {line}", file=sys.stderr)
    write(folder, content)
    print(f"{folder}: a policy of {outcome.seen:,} decisions, {len(outcome.content) / 1e6:.2f} MB · {folder / CARD}")
    return OK


# ------------------------------------------------------------------------------------------------------------ the input


def check_name(name: str) -> None:
    """Refuse a name that is no name of a folder, or that means something else.

    Raises:
        CommandError: it is one.
    """
    from noms_env.players import PLAYERS

    if not re.fullmatch(r"[a-z0-9][a-z0-9_-]*", name):
        raise CommandError(f"--name must be of lower-case letters, digits, _ and -, such as small_ships, not {name!r}")
    if name in PLAYERS:
        raise CommandError(f"--name {name} is the name of a player; those are {', '.join(PLAYERS)}")


def check_game(name: str, outcome: Outcome) -> None:
    """Refuse a policy that is named after a game that it does not play.

    Raises:
        CommandError: it is one.
    """
    from noms_env.core.state import VARIANTS

    games = list(dict.fromkeys(kind.variant.name for kind in outcome.info.rule_sets))
    if name in VARIANTS and name not in games:
        raise CommandError(f"--name {name} is the name of a game; the policy was trained for {', '.join(games)}")


def names_of(name: str, run: str, folder: Path, outcome: Outcome) -> Names:
    """Who the policy is in result files."""
    from training.publish.result_files import Names

    return Names(name, [run, folder], outcome.content)


def results_of(files: Sequence[str], names: Names, outcome: Outcome) -> Results:
    """What the result files hold, all together.

    Raises:
        CommandError: a file cannot be read.
        ValueError: a file holds no figures of the policy.
    """
    from training.publish.result_files import Results, read_results

    found = Results()
    for file in files:
        with file_errors(f"cannot read {file}"):
            found += read_results(file, names, outcome.info.rule_sets)
    return found


def notes_in(file: Path) -> str:
    """What people have written into the card that is there; nothing if there is none.

    Raises:
        CardError: it is not known which part that is.
        OSError: the file cannot be read.
    """
    from training.publish.model_card import NO_NOTES, notes_of

    return notes_of(file.read_bytes().decode(errors="surrogateescape"), str(file)) if file.exists() else NO_NOTES


def doubts(run: str, before: Sequence[str], panel: Sequence[str], outcome: Outcome) -> Iterator[str]:
    """What looks wrong, but need not be."""
    from noms_env.policy.player import POLICY_NAME
    from training.publish.run_summary import learns_from, machine_paths

    made = (Path(run) / POLICY_NAME).stat().st_mtime
    for file in panel:
        if Path(file).stat().st_mtime < made:
            yield f"{file} is older than the policy of {run}: its figures may be those of an earlier one"
    for path in machine_paths(outcome.config.as_dict()):
        yield f"the run names {path}, a path of this machine: the card and the policy's file name it too"
    first = outcome.runs[0].config
    if learns_from(first):
        what = "began with the policy" if first.initial else "had lessons of the policy"
        yield f"{[*before, run][0]} {what} {learns_from(first)}; --before tells of the runs before it"


# ----------------------------------------------------------------------------------------------------------- the output


def rows_of(series: Series) -> Iterator[tuple[int, str, float]]:
    """Figures as lines of a log, by name and decisions."""
    for name, (at, values) in series.items():
        yield from ((int(decisions), name, float(value)) for decisions, value in zip(at, values, strict=True))


def picture_of(name: str, curve: Series) -> bytes:
    """The PNG of the card.

    Raises:
        ValueError: there is nothing to draw yet.
    """
    from training.publish.plots import draw

    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "curve.png"
        draw({name: {figure: values for figure, values in curve.items() if figure.startswith(PICTURED)}}, file)
        return file.read_bytes()


def write(folder: Path, content: dict[str, bytes]) -> None:
    """Write the files, each whole or not at all, in this order.

    Raises:
        CommandError: one cannot be written.
    """
    from noms_env.policy.file import write_atomically

    with file_errors(f"cannot write in {folder}"):
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in content.items():
            write_atomically(folder / name, data)
