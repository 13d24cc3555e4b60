"""Publish scored entries of the benchmark in the repository: `python -m benchmarks.publish [DIR ...]`.

Each DIR is a scored entry. If `noms benchmark check DIR --cells 0` has no complaint, it is copied to
benchmarks/entries/PROTOCOL/NAME, such as 2/thumb. The copy has hashes instead of deals, the revision of a baseline instead of
its file, and only the policies of the first seed, so that anyone can play their cells again. Then the pages of results of both
protocols and the learning curves are written from all published entries; without DIR this is all. Needs
`pip install '.[plot]'`.
"""

from __future__ import annotations

import shutil
import subprocess
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
    PLAYER,
    RUN,
    RUNS,
    SCORES,
    TIMES,
    read_entry,
    run_files,
    run_folder,
    sha256_of,
    write_entry,
)
from noms_training.benchmark.protocol import PROTOCOLS, V2
from noms_training.benchmark.report import Scored, by_protocol, curve_pictures, markdown_section, read_scored, sections
from noms_training.text import as_file_name, count

ROOT = Path(__file__).resolve().parent.parent
ENTRIES, ALGORITHMS, CURVES = "benchmarks/entries", "benchmarks/algorithms", "docs/curves"
PAGES = {name: f"docs/benchmark_results{'' if name == V2 else '_' + name[-1]}.md" for name in PROTOCOLS}
MAX_BYTES = 30_000_000
"""Limit on the size of all published policies together."""


@dataclass
class Args:
    """Command-line arguments."""

    folders: Annotated[tuple[Path, ...], tyro.conf.Positional] = ()
    """entries to add, or to replace those of the same name"""
    root: Path = ROOT
    """folder of the checkout"""


def publish(folder: Path, entries: Path) -> Path:
    """Copy the public files of an entry to the folder `entries`, and return the folder of the copy.

    Raises:
        EntryError: The entry or its scores are missing or damaged.
        SystemExit: The entry has faults, or the policies of all entries are too large; the message says why.
    """
    if faults := complaints(folder):
        raise SystemExit("\n".join([*faults, f"{folder} is not published"]))
    entry = read_entry(folder)
    to = entries / entry.protocol[-1] / as_file_name(entry.name)
    part = to.with_name(f".{to.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    public = (ENTRY, SCORES, TIMES, ALGORITHM, f"{RUNS}/*/*/{RUN}", f"{RUNS}/*/*/{CURVE}")
    files = [file for name in public for file in folder.glob(name)]
    for run in (run_folder(folder, name, seed) for name, seed in entry.runs if seed == entry.seeds[0]):
        files += [run / name for name in (PLAYER, *run_files(run)) if (run / name).is_file()]
    for file in files:
        copy = part / file.relative_to(folder)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)
    runs = (run for other in (part, *entries.glob("*/[!.]*")) if other != to for run in other.glob(f"{RUNS}/*/*/"))
    size = sum((run / name).stat().st_size for run in runs for name in run_files(run))
    if size > MAX_BYTES:
        shutil.rmtree(part)
        limit = f"the policies of all entries would have {size:,} bytes, and {MAX_BYTES:,} are allowed"
        raise SystemExit(f"{limit}: {folder} is not published")
    name_source(part)
    shutil.rmtree(to, ignore_errors=True)
    return part.replace(to)


def name_source(folder: Path) -> None:
    """If the algorithm of an entry is a committed baseline, replace the copy by its path and revision."""
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


def published(root: Path) -> dict[str, list[Scored]]:
    """Read the published entries of a checkout by protocol, best first."""
    return by_protocol(read_scored(sorted(file.parent for file in (root / ENTRIES).glob(f"*/[!.]*/{ENTRY}"))))


def pages(root: Path) -> tuple[dict[str, str], dict[str, bytes]]:
    """Return the pages of results by path, and pictures by name; the newest protocol with learning curves provides them."""
    text, curves, pictures, entries = dict[str, str](), dict[str, bytes](), dict[str, bytes](), published(root)
    for name in reversed(PROTOCOLS):
        blocks = [f"# Results of {name}"]
        others = ", ".join(f"[{other}]({Path(path).name})" for other, path in PAGES.items() if other != name)
        if of_protocol := entries.get(name):
            number = count(len(of_protocol), "published entry", "published entries")
            blocks.append(f"{number} of [the protocol](benchmark.md); `{ENTRIES}` has the files. Other results: {others}.")
            of_page = [*sections(of_protocol, is_short=name != V2)]
            blocks += [markdown_section(section, f"{Path(CURVES).name}/") for section in of_page]
            pictures |= {key: png for section in of_page for key, png in section.pictures.items()}
            curves = curves or curve_pictures(of_protocol)
        else:
            blocks.append(f"No entries of [the protocol](benchmark.md) are published so far. Other results: {others}.")
        text[PAGES[name]] = with_links("\n\n".join(blocks) + "\n", ROOT / PAGES[name])
    return text, curves | pictures


def main(args: Args) -> None:
    """Publish the entries, and write the pages of results with their pictures."""
    for folder in args.folders:
        print(publish(folder, args.root / ENTRIES))
    text, pictures = pages(args.root)
    shutil.rmtree(args.root / CURVES, ignore_errors=True)
    for name, png in pictures.items():
        (args.root / CURVES).mkdir(exist_ok=True)
        write_atomically(args.root / CURVES / f"{name}.png", png)
    for path, page in text.items():
        write_atomically(args.root / path, page.encode())


if __name__ == "__main__":
    main(tyro.cli(Args, description=__doc__))
