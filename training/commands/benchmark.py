"""`noms benchmark`: compare algorithms and players on the seven games by a fixed protocol."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro
from rich.text import Text

from noms_env.players.foreign_code import allow_programs

from ..agents.registry import compile_players
from ..benchmark.cells import Playing, cells_of_entry, play_cells
from ..benchmark.checking import complaints, replayed, sampled_cells, unchecked
from ..benchmark.comparison import compare as difference_of
from ..benchmark.entry import (
    ENTRY,
    SCORES,
    SECOND,
    TRIAL,
    Entry,
    EntryError,
    check_tracks,
    other_convention,
    read_entry,
    write_entry,
)
from ..benchmark.protocol import GAMES, PROTOCOLS, V1, V2, rules_of_game
from ..benchmark.report import interval, read_scored, score_rows, write_report
from ..benchmark.running import algorithm_file, begin, budget_of_run, runs_left, train_all
from ..benchmark.scores import add_times, read_scores, read_times, scored, times_text, write_scores
from ..console import fitted, new_table, print_lines, table_lines, terminal
from ..evaluation.duplicate import Lost
from ..extras import require
from ..learn.data.workers import WorkerError
from ..options import by_default
from ..progress_bar import progress_bar
from ..text import count
from .arguments import Flag, Threads, check_run
from .common import FOUND, OK, STOPPED, CommandError, file_errors, interruptible, wrong_arguments
from .files import check_folder_of, options_given, write_json

ALL = ("all",)
Folder = Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="DIR")]
Games = Annotated[tuple[str, ...], by_default("all", "GAME ...")]
OF_PLAYER = ("name", "division", "budget", "games", "seeds", "protocol")
"""Arguments of `noms benchmark score` that only apply to an entry made of a player."""


@dataclass(frozen=True)
class Run:
    """Train an algorithm for its tracks with every seed. Finished runs are skipped."""

    algorithm: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="ALGORITHM")]
    """A Python file with train(task) and player(folder), or a baseline by name."""
    games: Games = ALL
    """The games. The run for generalist and new_rules is on all seven, whatever these are."""
    tracks: Annotated[tuple[str, ...], by_default("all of the protocol", "TRACK ...")] = ()
    """The tracks; generalist and new_rules share one run for each seed, on all games together."""
    budget: Annotated[str, tyro.conf.arg(metavar="BUDGET")] = "10M"
    """Budget of a run of one game: decisions, such as 10M; CPU-hours, such as 0.5h; or both, such as 10M,0.5h, whichever ends
    first. 1M and 10M also end after one CPU-hour, and 100M after ten. A run on all games together has seven times the budget.
    """
    seeds: Annotated[int, tyro.conf.arg(metavar="N")] = 3
    """Runs of each game, and on all games together, with the seeds 1 to N."""
    workers: Annotated[int, tyro.conf.arg(metavar="W")] = 1
    """Worker processes; each does one run at a time."""
    out: Annotated[str | None, by_default("runs/benchmark/ALGORITHM", "DIR")] = None
    """The folder of the entry."""


@dataclass(frozen=True)
class Score:
    """Play the deals of the protocol and write DIR/scores.json. After Ctrl-C the same command continues."""

    folder: Folder
    """The folder of the entry."""
    player: Annotated[str | None, by_default("the runs of noms benchmark run", "PLAYER")] = None
    """Make an entry of a player, as for noms evaluate; {game} and {seed} stand for the game and the seed. In tracks with one
    policy for all games, {game} is generalist.
    """
    name: Annotated[str | None, by_default("name of the folder", "NAME")] = None
    """With --player: its name in tables."""
    division: Annotated[Literal["self-play", "open", "best-response", "search", "fixed"], tyro.conf.arg(metavar="DIVISION")] = (
        "fixed"
    )
    """With --player: the division (docs/benchmark.md)."""
    budget: Annotated[str, by_default("none", "BUDGET")] = ""
    """With --player: the budget of each run, as for noms benchmark run."""
    games: Games = ALL
    """With --player: the games."""
    seeds: Annotated[tuple[int, ...], by_default("0", "SEED ...")] = (0,)
    """With --player: the seeds of its runs."""
    protocol: Annotated[Literal[1, 2], tyro.conf.arg(metavar="N")] = 2
    """With --player: noms-benchmark/N; 1 compares with entries of protocol 1."""
    tracks: Annotated[tuple[str, ...], by_default("the tracks of the entry", "TRACK ...")] = ()
    """The tracks to play."""
    deals: Annotated[int | None, by_default("the deals of the protocol", "N")] = None
    """Play a trial of fewer deals, saved apart in DIR/trial."""
    second_deals: Flag = False
    """Play a second set of deals, saved apart in DIR/second, to check that the order of entries stays the same."""
    threads: Threads = None
    ray: Flag = False
    """Play on the Ray cluster at RAY_ADDRESS, or else on all cores of this machine. It changes no result."""
    allow_programs: Flag = False
    """Run the code in DIR."""


@dataclass(frozen=True)
class Check:
    """Check that an entry is complete and that its scores can be reproduced; status 1 if not."""

    folder: Folder
    """The folder of the entry."""
    cells: Annotated[int, tyro.conf.arg(metavar="N")] = 7
    """Replay this many random cells (a game, a seed, a field); 0 for none."""
    all: Flag = False
    """Replay all cells."""
    seed: Annotated[int | None, by_default("drawn at random, and printed", "S")] = None
    """Seed that chooses the cells."""
    threads: Threads = None
    allow_programs: Flag = False
    """Run the code of the entry."""


@dataclass(frozen=True)
class Report:
    """Write tables, learning curves, cross-play and performance profiles of entries: PNG, Markdown and one HTML page."""

    folders: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="DIR ...", help_behavior_hint="")]
    """Folders of scored entries."""
    out: Annotated[Path, tyro.conf.arg(metavar="DIR")] = Path("benchmark-report")
    """The folder of the report."""


@dataclass(frozen=True)
class Compare:
    """Compare two entries by part and game: difference in score, and probability that a run of one beats a run of the other."""

    mine: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="MINE")]
    """The folder of a scored entry."""
    theirs: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="THEIRS")]
    """The folder of another scored entry."""
    json: Annotated[str | None, by_default("none", "FILE")] = None
    """Also write the figures to this file."""


def benchmark(what: Annotated[Run | Score | Check | Report | Compare, tyro.conf.arg(name="")]) -> int:
    """Compare algorithms and players on the seven games: one score for each game and one over all.

    The protocol noms-benchmark/2 fixes games, deals, opponents, budgets and tracks (docs/benchmark.md). The rules of thumb
    score 0, and a search on the published policies scores 100. An entry is a folder: run trains an algorithm there, score
    plays the deals, and check verifies the entry. The command report draws entries side by side, and compare gives the
    difference of two with its interval.

    For example:
      noms benchmark run ppo --budget 10M --seeds 3 --out entries/ppo
      noms benchmark run my_algorithm.py --games noms down_up --budget 200k --out entries/mine
      noms benchmark score entries/ppo --allow-programs
      noms benchmark score entries/thumb --player thumb
      noms benchmark check entries/thumb
      noms benchmark report entries/ppo entries/thumb --out report
      noms benchmark compare entries/mine entries/ppo
    """
    if isinstance(what, Score | Check) and what.allow_programs:
        allow_programs()
    doing: dict[type, Callable[[Any], int]] = {Run: run, Score: score, Check: check, Report: report, Compare: compare}
    return doing[type(what)](what)


def games_of(args: Sequence[str]) -> tuple[str, ...]:
    """Return the named games in the order of the protocol; CommandError if a game is unknown."""
    if tuple(args) == ALL:
        return tuple(GAMES)
    with wrong_arguments():
        for name in args:
            rules_of_game(name)
    return tuple(name for name in GAMES if name in args)


def run(args: Run) -> int:
    """Train the runs that an entry lacks."""
    if args.seeds < 1 or args.workers < 1:
        raise CommandError(f"--seeds and --workers must be 1 or more, not {args.seeds} and {args.workers}")
    with wrong_arguments(), file_errors("cannot begin the entry"):
        algorithm = algorithm_file(args.algorithm)
        folder = Path(args.out) if args.out else Path("runs") / "benchmark" / algorithm.stem
        seeds = tuple(range(1, args.seeds + 1))
        entry = begin(folder, algorithm, games_of(args.games), seeds, args.budget, args.tracks)
    remaining = runs_left(entry, folder)
    decisions = sum(budget_of_run(entry, name).decisions or 0 for name, _ in remaining)
    title = f"{entry.name}, {count(len(remaining), 'run')}"
    stopped = interruptible("the same command does the remaining runs")
    # Any error but an EntryError comes from the algorithm, and keeps its traceback.
    with stopped, wrong_arguments(EntryError), progress_bar(title, "decisions", decisions or None) as tick:
        train_all(entry, folder, workers=args.workers, tick=tick)
    print_lines([f"trained: {folder} · next: noms benchmark score {folder} --allow-programs"])
    return OK


def score(args: Score) -> int:
    """Play and score an entry."""
    check_run(0, args.threads)
    if args.deals is not None and args.deals < 2:
        raise CommandError(f"--deals must be 2 or more, not {args.deals}")
    if args.ray and args.threads is not None:
        raise CommandError("give --threads or --ray, and not both")
    if args.deals is not None and args.second_deals:
        raise CommandError("give --deals or --second-deals, and not both")
    entry = entry_to_score(args)
    folder = args.folder / (SECOND if args.second_deals else "" if args.deals is None else TRIAL)
    with wrong_arguments(), file_errors(f"cannot write in {folder}"):
        parts = parts_to_play(args, entry, folder)
        playing = cells_of_entry(entry, args.folder, parts, kept=folder, most=args.deals, second=args.second_deals)
        for part in parts:
            play_part(args, f"{entry.name}, {part}", [planned for planned in playing if planned.cell.part.name == part], folder)
        document = scored(entry, [planned.cell for planned in playing])
        write_scores(folder, document)
    show(document)
    times, lost = read_times(folder), sum((lost for planned in playing for lost in planned.cell.lost.values()), Lost())
    lines = (times_text(times, part) for part in parts if part in times)
    print_lines([*lost.sentences(entry.name), *lines, f"written to {folder / SCORES}"])
    return OK


def parts_to_play(args: Score, entry: Entry, folder: Path) -> list[str]:
    """Return the parts of the chosen tracks, or of the entry's tracks, and the parts scored before."""
    protocol = PROTOCOLS[entry.protocol]
    for track in args.tracks:
        if track not in protocol.tracks:
            raise CommandError(f"there is no track {track!r} in {protocol.name}; they are {', '.join(protocol.tracks)}")
    before = read_scores(folder)["parts"] if (folder / SCORES).exists() else []
    names = (*before, *protocol.parts_of(args.tracks or entry.tracks))
    return [name for name in protocol.parts if name in names]


def play_part(args: Score, title: str, playing: Sequence[Playing], folder: Path) -> None:
    """Play the missing deals of a part, and record the time."""
    if not playing:
        return
    compile_players({name for planned in playing for name in planned.names})
    cells, start = [planned.cell for planned in playing], time.perf_counter()
    before = sum(cell.deals for cell in cells)
    stopped = interruptible("the same command continues", WorkerError)
    with stopped, progress_bar(title, "deals", sum(cell.field.deals for cell in cells)) as tick:
        threads = args.threads or os.cpu_count() or 1
        ending, cpu = play_cells(playing, folder, threads=threads, on_ray=args.ray, tick=tick)
    deals, wall = sum(cell.deals for cell in cells) - before, time.perf_counter() - start
    add_times(folder, cells[0].part.name, before=before, deals=deals, wall=wall, cpu=cpu)
    if ending != "all":
        raise CommandError("stopped by Ctrl-C; the same command continues", STOPPED)


def entry_to_score(args: Score) -> Entry:
    """Return the entry in the folder; if a player is named, write its entry first."""
    with wrong_arguments(), file_errors(f"cannot write in {args.folder}"):
        if args.player is None:
            entry, stray = read_entry(args.folder), options_given(args, OF_PLAYER)
            if stray:
                raise CommandError(f"{', '.join(stray)}: only with --player; the entry in {args.folder} defines it")
            return entry
        allow_programs()  # the user named the only player of this entry
        before = read_entry(args.folder) if (args.folder / ENTRY).exists() else None
        entry = entry_of_player(args, before.tracks if before else ())
        if before and replace(entry, tracks=before.tracks) != before:
            raise CommandError(f"there is another entry in {args.folder}; take another folder, or leave --player away")
        cells_of_entry(entry, args.folder, parts_to_play(args, entry, args.folder))  # checks that every player can be loaded
        write_entry(args.folder, entry)
    return entry


def entry_of_player(args: Score, tracks: Collection[str]) -> Entry:
    """Return the entry of the named player, in the chosen tracks and in those it has entered before."""
    name, protocol = args.name or args.folder.resolve().name, PROTOCOLS[V1 if args.protocol == 1 else V2]
    about = (name, args.division, args.player or "", games_of(args.games), args.seeds, args.budget)
    entry = Entry(*about, protocol=protocol.name, tracks=tuple(dict.fromkeys((*tracks, *args.tracks))))
    if protocol.name == V1:
        return entry
    check_tracks(entry)
    first = entry.player_name(args.folder.resolve(), *entry.runs[0])
    return replace(entry, other_player=other_convention(entry.player, first))


def check(args: Check) -> int:
    """Check an entry, replay some cells, and print the verdict."""
    check_run(args.seed or 0, args.threads)
    if args.cells < 0:
        raise CommandError(f"--cells must be 0 or more, not {args.cells}")
    seed = secrets.randbits(31) if args.seed is None else args.seed
    with wrong_arguments():
        wrong, played = complaints(args.folder), list["Playing"]()
        if not wrong and (args.all or args.cells):
            played = sampled_cells(args.folder, None if args.all else args.cells, seed)
            stopped = interruptible("the check is not done")
            with stopped, progress_bar("played again", "deals", sum(cell.cell.field.deals for cell in played)) as tick:
                wrong = replayed(args.folder, played, args.threads or os.cpu_count() or 1, tick)
        notes = [] if wrong else unchecked(args.folder, played)
    print_lines([*wrong, *notes])
    verdict = "refused" if wrong else "accepted as far as can be checked here" if notes else "accepted"
    amount = f"{count(len(played), 'cell')} played again" + ("" if args.all else f" (--seed {seed})")
    print_lines([f"{args.folder}: {verdict}, {amount}"])
    return FOUND if wrong else OK


def report(args: Report) -> int:
    """Write the report of some entries."""
    if not args.folders:
        raise CommandError("name the folder of at least one entry that is scored, such as entries/ppo")
    require("matplotlib", "plot", "noms benchmark report")
    with wrong_arguments(), file_errors(f"cannot write in {args.out}"):
        page = write_report(args.folders, args.out)
    print_lines([f"written to {page}"])
    return OK


def compare(args: Compare) -> int:
    """Print the differences of two entries."""
    check_folder_of(args.json, *(folder / name for folder in (args.mine, args.theirs) for name in (ENTRY, SCORES)))
    with wrong_arguments():
        mine, theirs = (read_scored([folder])[0] for folder in (args.mine, args.theirs))
        document = difference_of(mine, theirs)
    if args.json:
        write_json(args.json, document)
    unit = PROTOCOLS[document["protocol"]].unit
    for part, figures in document["parts"].items():
        table = new_table(part, "score", "points", "improvement")
        for name, of_game in {**figures["games"], "over these games": figures["all"]}.items():
            points = f"{of_game['points']['value']:+z.2f}" if "points" in of_game else ""
            table.add_row(*map(Text, (name, interval(of_game["score"], unit, "+"), points, interval(of_game["improvement"]))))
        print_lines([*table_lines(table), ""])
    print_lines(
        [
            f"score, points: those of {mine.name} less those of {theirs.name}, with 95 % intervals over seeds and deals",
            f"improvement: the probability that a run of {mine.name} scores more than a run of {theirs.name}",
            *document["notes"],
        ]
    )
    return OK


def show(document: dict[str, Any]) -> None:
    """Print the scores of an entry."""
    protocol = PROTOCOLS[document["protocol"]]
    for part in document["parts"]:
        if protocol.parts[part].kind != "score":
            continue
        if not document["scores"][part]:
            print_lines([f"the part {part} has no references so far: the points are written, and no scores"])
        else:
            head, rows = score_rows(document, part)
            table = new_table(*head)
            for row in rows:
                table.add_row(*(Text(cell.replace("\n", " ")) for cell in row))
            console = terminal()
            console.print(fitted(table, console.width))
