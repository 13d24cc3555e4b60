"""`noms export`: make a dataset of decisions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from noms_env.record.files import record_lines
from noms_env.variants import given_options

from ..agents.registry import compile_players
from ..learn.data.decisions import Decisions, ExportError, columns_of, from_records
from ..learn.data.shards import check_folder, write_shards
from ..learn.data.workers import Play, WorkerError, from_workers
from ..options import by_default, rules_of
from ..progress_bar import progress_bar
from ..text import count
from .arguments import Flag, Option, Players, ProgramLimit, Seats, check_limit, names_of
from .common import OK, CommandError, file_errors, interruptible, wrong_arguments
from .files import lines_of, options_given

Tick = Callable[[int], None]
OF_PLAY = ("seats", "option", "matches", "player", "seed", "limit", "targets", "workers", "ray")
"""Arguments that only apply with --variant."""


@dataclass(frozen=True)
class Arguments:
    """Arguments of `noms export`."""

    file: Annotated[tyro.conf.Positional[tuple[str, ...]], by_default("none: play a game", "FILE ...")] = ()
    """Files of records (noms-record/1). Each deal is replayed, and must score the points that its record states."""
    _: KW_ONLY
    out: Annotated[str, tyro.conf.arg(metavar="FOLDER")]
    """The folder to make."""
    variant: Annotated[str | None, by_default("none: read files", "VARIANT")] = None
    """Play this game instead."""
    seats: Seats = None
    option: Option = ()
    matches: Annotated[int | None, by_default("1", "N")] = None
    """Number of matches."""
    player: Players = ()
    seed: Annotated[int | None, by_default("0", "S")] = None
    """0 to 2**63 - 1, for the cards, as for `noms record`, and for the players."""
    limit: ProgramLimit = None
    targets: Flag = False
    """Also write outputs of policies and searches: probabilities of the actions, and the value that a search expects."""
    workers: Annotated[int | None, by_default("1", "N")] = None
    """Worker processes. They change no file."""
    ray: Flag = False
    """Play on the Ray cluster at RAY_ADDRESS, or else on all cores of this machine."""
    file_format: Annotated[Literal["parquet", "npz"], tyro.conf.arg(name="format")] = "parquet"
    """The file format."""
    shard: Annotated[int, tyro.conf.arg(metavar="ROWS")] = 65536
    """Decisions in each file."""

    def check(self) -> None:
        """Raise CommandError unless exactly one source is named, files or a game, with the options of that source."""
        check_limit(self.limit)
        if bool(self.file) == (self.variant is not None):
            raise CommandError("give files of records, or a game to be played (--variant), and not both")
        if self.ray and self.workers is not None:
            raise CommandError("give --workers or --ray, and not both")
        stray = options_given(self, OF_PLAY)
        if self.file and stray:
            raise CommandError(f"{stray[0]} goes with --variant; records state how they were played")


def export(data_set: Annotated[Arguments, tyro.conf.arg(name="")]) -> int:
    """Make a dataset of decisions for imitation, offline learning and statistics, from records or by playing.

    A row is one decision: observation and legal-action mask of the seat to act, its action, and its final result in the deal.
    The README.md of the new folder lists the columns.

    Parquet needs the extra export (pyarrow); pandas, Polars and Hugging Face's datasets read it:
    load_dataset("parquet", data_files="decisions/*.parquet"). numpy.load reads the npz files. The same arguments give the same
    files. The folder is written whole or not at all, in constant memory.

    For example:
      noms export games.jsonl --out decisions
      noms export --variant small_ships --matches 1000 --player thumb --out decisions
      noms export --variant noms --player runs/noms-fast@0 --matches 200 --format npz --shard 10000 --out decisions
      noms export --variant noms --player search:noms --targets --matches 500 --workers 8 --out decisions
    """
    data_set.check()
    out = data_set.out
    with wrong_arguments(), file_errors(f"cannot write {out}"):
        check_folder(Path(out))
    unit = "deals" if data_set.variant is None else "matches"
    total, source, decisions = records_of(data_set.file) if data_set.variant is None else matches_of(data_set, data_set.variant)
    columns, stopped = columns_of(data_set.targets), interruptible(f"{out} is not written", WorkerError)
    with stopped, wrong_arguments(), file_errors(f"cannot write {out}"), progress_bar("export", unit, total) as tick:
        dataset = write_shards(decisions(tick), Path(out), source, data_set.file_format, data_set.shard, columns)
    files = count(dataset.shards, "file")
    print(f"{dataset.decisions:,} decisions of {count(dataset.deals, 'deal')} written to {out}, in {files}")
    return OK


Source = tuple[int, dict[str, Any], Callable[[Tick], Iterator[Decisions]]]
"""Number of deals or matches, their description, and an iterator of decisions that reports progress to a `Tick`."""


def records_of(files: Sequence[str]) -> Source:
    """Return the decisions of recorded deals; CommandError if a file cannot be read."""
    total = 0
    for name in files:
        with file_errors(f"cannot read {name}"), Path(name).open("rb") as opened:
            total += sum(1 for _ in record_lines(opened))

    def decisions(tick: Tick) -> Iterator[Decisions]:
        number = 0
        for name in files:
            try:
                for part in from_records(lines_of(name), number):
                    number += 1
                    yield part
                    tick(1)
            except ExportError as error:
                raise CommandError(f"{name}, {error}") from error

    return total, {"files": [Path(name).name for name in files]}, decisions


def matches_of(arguments: Arguments, variant: str) -> Source:
    """Return the decisions of matches to play; CommandError if the players cannot play them."""
    matches, seed = 1 if arguments.matches is None else arguments.matches, arguments.seed or 0
    players = names_of(arguments.player)
    with wrong_arguments():
        rules = rules_of(variant, arguments.seats, arguments.option)
        play = Play(variant, rules.seats, given_options(rules), players, matches, seed, arguments.limit, arguments.targets)
        compile_players(players)
        played = from_workers(play, 1 if arguments.workers is None else arguments.workers, arguments.ray)

    def decisions(tick: Tick) -> Iterator[Decisions]:
        for part, ended in played:
            yield part
            tick(ended)

    return matches, play.source, decisions
