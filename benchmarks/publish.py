"""The results of the benchmark that the repository shows. `python -m benchmarks.publish [DIR ...]`.

Each DIR is an entry that is scored. If nothing is wrong with it (`noms benchmark check DIR --cells 0`), it is copied to
benchmarks/entries/NAME without policies and deals, whose hashes it has, and without the file of a baseline, whose revision it
names. Then docs/benchmark_results.md and its
pictures are written from all entries there; without DIR only that is done. Needs `pip install '.[plot]'`.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import tyro

from docs.glossary_links import with_links
from noms_env._files import write_atomically
from noms_training.benchmark.checking import complaints
from noms_training.benchmark.entry import (
    ALGORITHM,
    CURVE,
    ENTRY,
    RUN,
    RUNS,
    SCORES,
    read_entry,
    sha256_of,
    write_entry,
)
from noms_training.benchmark.figures import LOWEST, curves_of, draw_curves
from noms_training.benchmark.protocol import CURVE_FIELD, V1
from noms_training.benchmark.report import (
    SPEED,
    Scored,
    cross_table,
    file_name,
    read_scored,
    score_table,
    speed_row,
    table_text,
)
from noms_training.benchmark.timing import TIMES
from noms_training.text import markdown_text

ROOT = Path(__file__).resolve().parent.parent
ENTRIES, ALGORITHMS, PAGE = "benchmarks/entries", "benchmarks/algorithms", "docs/benchmark_results.md"
PICTURES, ALL = "benchmark_results", "_all.png"
"""The folder beside the page, and the picture there of all entries that learn; an entry has its own."""


@dataclass
class Args:
    """The settings; `--help` prints them."""

    folders: Annotated[tuple[Path, ...], tyro.conf.Positional] = ()
    """entries that are added, or put in place of those of the same name"""
    root: Path = ROOT
    """the checkout"""


def publish(folder: Path, entries: Path) -> Path:
    """Copy what is published of an entry.

    Returns:
        Its folder there.

    Raises:
        EntryError: there is no entry, or it is not scored.
        SystemExit: something is wrong with it; the message says what.
    """
    if faults := complaints(folder):
        raise SystemExit("\n".join([*faults, f"{folder} is not published"]))
    to = entries / file_name(read_entry(folder).name)
    part = to.with_name(f".{to.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    for pattern in (ENTRY, SCORES, TIMES, ALGORITHM, f"{RUNS}/*/*/{RUN}", f"{RUNS}/*/*/{CURVE}"):
        for file in folder.glob(pattern):
            copy = part / file.relative_to(folder)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copy)
    name_source(part)
    shutil.rmtree(to, ignore_errors=True)
    return part.replace(to)


def name_source(folder: Path) -> None:
    """Where the algorithm of an entry is a committed baseline, name its file and revision in place of the copy."""
    entry = read_entry(folder)
    for file in (ROOT / ALGORITHMS).glob("*.py"):
        if entry.algorithm == sha256_of(file):
            path = file.relative_to(ROOT).as_posix()
            log = ["git", "log", "-1", "--format=%h", "--", path]
            revision = subprocess.run(log, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
            changed = ["git", "diff", "--quiet", "HEAD", "--", path]
            if revision and subprocess.run(changed, cwd=ROOT).returncode == 0:
                write_entry(folder, replace(entry, source=f"{path}@{revision}"))
                (folder / ALGORITHM).unlink(missing_ok=True)
            return


def published(root: Path) -> list[Scored]:
    """The entries of a checkout, the best first."""
    return read_scored(sorted(file.parent for file in (root / ENTRIES).glob(f"[!.]*/{ENTRY}")))


def page(entries: Sequence[Scored]) -> str:
    """The page of results."""
    return with_links("\n\n".join(["# Benchmark results", *_parts(entries)]) + "\n", ROOT / PAGE)


def _parts(entries: Sequence[Scored]) -> Iterator[str]:
    if not entries:
        yield f"No results of `{V1}` are published so far. [The protocol](benchmark.md) says how they are made."
        return
    yield (
        f"The published entries of [the protocol](benchmark.md) `{V1}`: "
        f"`random` has score 0, `{CURVE_FIELD}` has score 1.\n"
        "`benchmarks/entries` has their files. Scores of different tracks or budgets do not compare."
    )
    head, rows = score_table(entries)
    yield "## Scores\n\n" + table_text((head, rows))
    for title, (head, rows) in (
        ("In fields that search", score_table(entries, "search")),
        ("Points of a seed alone among another", cross_table(entries)),
    ):
        if rows:
            yield f"## {title}\n\n" + table_text((head, rows))
    learn = [entry for entry in entries if curves_of(entry.entry, entry.folder)]
    if learn:
        yield (
            "## Learning curves\n\n"
            "Scores in the field `thumb` on deals of the set dev: the mean of the seeds, and from the lowest to the highest.\n"
            f"The pictures begin at a score of {LOWEST}. Times are those of one run, on the mean of the seeds; measuring the\n"
            "curve is not counted."
        )
    if len(learn) > 1:
        yield f"![Learning curves of all entries]({PICTURES}/{ALL})"
    for entry in learn:
        speeds = ((name, speed_row(entry, [name])) for name in entry.entry.games)
        times = table_text((("game", *SPEED), [(name, *row) for name, row in speeds if row is not None]))
        name, says = map(markdown_text, (entry.name, entry.entry.description))
        picture = f"![Learning curves of {name}]({PICTURES}/{file_name(entry.name)}.png)"
        yield "\n\n".join([f"### {name}", *filter(None, [says]), picture, times])


def write_pages(root: Path) -> None:
    """Write the page and its pictures from the entries of a checkout."""
    entries = published(root)
    pictures = (root / PAGE).parent / PICTURES
    learn = {entry.name: curves for entry in entries if (curves := curves_of(entry.entry, entry.folder))}
    drawn = {f"{file_name(name)}.png": {name: curves} for name, curves in learn.items()}
    if len(learn) > 1:
        drawn[ALL] = learn
    content = {pictures / picture: draw_curves(of_entries) for picture, of_entries in drawn.items()}
    shutil.rmtree(pictures, ignore_errors=True)
    for path, picture in content.items():
        pictures.mkdir(exist_ok=True)
        write_atomically(path, picture)
    write_atomically(root / PAGE, page(entries).encode())


def main(args: Args) -> None:
    """Publish the entries, and write the pages."""
    for folder in args.folders:
        print(publish(folder, args.root / ENTRIES))
    write_pages(args.root)


if __name__ == "__main__":
    main(tyro.cli(Args))
