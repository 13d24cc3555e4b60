"""A report on entries: tables as Markdown, pictures as PNG, and both on one HTML page that needs no other file."""

from __future__ import annotations

import html
import re
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from noms_env._files import write_atomically

from ..text import duration, markdown_table, markdown_text, printable
from .entry import RUN, RUN_PATTERN, RUNS, Entry, EntryError, read_entry, read_json
from .protocol import PROTOCOLS, V1
from .scores import read_scores

PAGE, TABLES = "report.html", "report.md"
STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 75em; padding: 0 1em; color: #222; }
table { border-collapse: collapse; margin: 1em 0; font-size: 13px; }
th, td { padding: 0.25em 0.7em; border-bottom: 1px solid #ddd; text-align: right; }
th:first-child, td:first-child { text-align: left; }
img { max-width: 100%; }
"""

Row = tuple[str, ...]
Table = tuple[Row, list[Row]]
"""Head and rows."""


@dataclass(frozen=True)
class Scored:
    """An entry with its scores and where it is."""

    folder: Path
    entry: Entry
    scores: Mapping[str, Any]

    @property
    def name(self) -> str:
        return self.entry.name

    def all(self, what: str = "score", part: str = "core") -> Mapping[str, float]:
        """A figure over all games."""
        figure: Mapping[str, float] = self.scores["scores"][part]["all"][what]
        return figure

    def games(self, part: str = "core") -> Mapping[str, Any]:
        """What is said of each game; nothing where the part is not scored."""
        of_part: Mapping[str, Any] = self.scores["scores"].get(part) or {"games": {}}
        games: Mapping[str, Any] = of_part["games"]
        return games

    def cells(self, part: str, game: str, field: str) -> list[Mapping[str, Any]]:
        """What is said of the cells of a field, in the order of the seeds."""
        of_seeds = self.scores["cells"][part][game]
        return [of_seeds[str(seed)][field] for seed in self.entry.seeds]

    @property
    def cross_play(self) -> Mapping[str, Any]:
        """The points of seeds among one another, by game; nothing where they were not played."""
        tables: Mapping[str, Any] = self.scores["scores"].get("cross") or {}
        return tables

    @property
    def has_all_games(self) -> bool:
        """Whether it has all games of the protocol."""
        return self.entry.games == PROTOCOLS[self.entry.protocol].games


def read_scored(folders: Sequence[Path]) -> list[Scored]:
    """Entries that are scored, the best first; those that lack games last.

    Raises:
        EntryError: one is not, or two have the same name.
    """
    entries = [Scored(folder, read_entry(folder), read_scores(folder)) for folder in folders]
    for entry in entries:
        if not entry.games():
            raise EntryError(f"the part core of {entry.folder} is not scored")
        if tuple(entry.games()) != entry.entry.games or entry.scores["seeds"] != [*entry.entry.seeds]:
            raise EntryError(f"the scores in {entry.folder} are not of all its games and seeds: score it again")
    for name, times in Counter(entry.name for entry in entries).items():
        if times > 1:
            raise EntryError(f"two entries have the name {name!r}")
    return sorted(entries, key=lambda entry: (not entry.has_all_games, -entry.all()["value"]))


def interval(figure: Mapping[str, float], sign: str = "") -> str:
    """`0.93 (0.90 to 0.95)`, with a plus sign before what is above 0 if `sign` is `+`."""
    value, low, high = (f"{figure[what]:{sign}z.2f}" for what in ("value", "low", "high"))
    return f"{value} ({low} to {high})"


def score_rows(document: Mapping[str, Any], part: str) -> Table:
    """The scores of one entry: a row for each game, and one over all."""
    games, everything = document["scores"][part]["games"], document["scores"][part]["all"]
    fields = list(next(iter(games.values()))["fields"])
    head = (f"score ({part})", "all fields", *fields, "least")
    rows = [
        (name, interval(game["score"]), *(f"{game['fields'][field]:z.2f}" for field in fields), interval(game["robustness"]))
        for name, game in games.items()
    ]
    title = "all games" if tuple(games) == PROTOCOLS[document["protocol"]].games else "these games"
    last = (title, interval(everything["score"]), *("" for _ in fields), interval(everything["robustness"]))
    return head, [*rows, last]


def games_of(entries: Sequence[Scored]) -> list[str]:
    """The games that any of the entries has."""
    return [name for name in PROTOCOLS[V1].games if any(name in result.entry.games for result in entries)]


def has_all_games(entries: Sequence[Scored]) -> bool:
    """Whether any of the entries has all games of the protocol: what is over some of them compares with nothing."""
    return any(result.has_all_games for result in entries)


def score_table(entries: Sequence[Scored], part: str = "core") -> Table:
    """All entries: over all games where one has them all, and each game that one has."""
    of_all, games = ["all games", "mean", "least field"] if has_all_games(entries) else [], games_of(entries)
    rows = list[Row]()
    for result in entries:
        scores = result.games(part)
        if not scores:
            continue
        each = [f"{scores[name]['score']['value']:z.2f}" if name in scores else "" for name in games]
        entry, budget, over = result.entry, result.entry.budget or "none", ["" for _ in of_all]
        if result.has_all_games:
            means = (f"{result.all(what, part)['value']:z.2f}" for what in ("mean", "robustness"))
            over = [interval(result.all("score", part)), *means]
        rows.append((entry.name, entry.division, budget, str(len(entry.seeds)), *over, *each))
    return ("entry", "track", "budget", "seeds", *of_all, *games), rows


SPEED = ("decisions", "wall time", "CPU time", "decisions/s", "processor")
"""What `speed_row` says."""


def speed_row(result: Scored, games: Sequence[str]) -> Row | None:
    """What the runs of an entry in some games took, on the mean of its runs; None if that is not known."""
    paths = [result.folder / RUNS / name / str(seed) / RUN for name in games for seed in result.entry.seeds]
    runs = [read_json(path, f"the run {path.parent} is not complete", RUN_PATTERN) for path in paths if path.exists()]
    if not runs:
        return None
    decisions, wall, cpu = (float(np.mean([run[key] for run in runs])) for key in ("decisions", "wall_seconds", "cpu_seconds"))
    processors = ", ".join(sorted({printable(run["machine"]["processor"]) for run in runs}))
    pace = f"{decisions / wall:,.0f}" if wall else ""  # too short to be measured
    return f"{decisions:,.0f}", duration(wall), duration(cpu), pace, processors


def speed_table(entries: Sequence[Scored]) -> Table:
    """What the runs of each entry took, on the mean of its runs."""
    rows = ((result.name, speed_row(result, result.entry.games)) for result in entries)
    return ("entry", *SPEED), [(name, *row) for name, row in rows if row is not None]


def cross_table(entries: Sequence[Scored]) -> Table:
    """The mean points of a seed alone among another, of each entry and game."""
    games, rows = games_of(entries), list[Row]()
    for result in entries:
        if tables := result.cross_play:
            rows.append((result.name, *(f"{tables[game]['gap']:+z.2f}" if game in tables else "" for game in games)))
    return ("entry", *games), rows


def sections(entries: Sequence[Scored]) -> Iterator[tuple[str, str, Table | None, dict[str, bytes]]]:
    """The parts of a report: title, what it says, a table, and pictures by their names."""
    from .figures import curves_of, draw_cross_play, draw_curves, draw_profiles

    says = f"Protocol {V1}: {PROTOCOLS[V1].zero} has score 0, {PROTOCOLS[V1].one} has score 1."
    if has_all_games(entries):
        says += (
            " Over all games: the interquartile mean over games and seeds, with the 95 % interval of a stratified bootstrap "
            "over seeds and deals. Least field: the mean over the games of the score in the field that suits the entry least."
        )
    yield "Scores", says, score_table(entries), {}
    if any(result.games("search") for result in entries):
        yield "Scores in fields that search", "The same in the fields that search.", score_table(entries, "search"), {}
    whole = [result for result in entries if len(result.entry.games) > 1]
    if whole:
        games = {result.name: result.games().values() for result in whole}
        by_run = {name: [score for game in of_entry for score in game["seeds"]] for name, of_entry in games.items()}
        says = "The share of games and seeds in which an entry has more than a score: the higher line is the better entry."
        yield "Performance profiles", says, None, {"profiles": draw_profiles(by_run)}
    curves = {result.name: curves_of(result.entry, result.folder) for result in entries}
    curves = {name: of_games for name, of_games in curves.items() if of_games}
    if curves:
        says = "The mean of the seeds, and from the lowest to the highest of them."
        yield "Learning curves", says, speed_table(entries), {"curves": draw_curves(curves)}
    if crossed := [result for result in entries if result.cross_play]:
        pictures = {
            f"cross-play-{file_name(result.name)}": draw_cross_play(result.name, result.cross_play, result.entry.seeds)
            for result in crossed
        }
        says = "Points a deal of a seed alone among another; the mean is below 0 where seeds have found different conventions."
        yield "Cross-play", says, cross_table(entries), pictures
    for result in entries:
        yield (
            f"{result.name}: games and fields",
            result.entry.description,
            score_rows(result.scores, "core"),
            {},
        )


def file_name(name: str) -> str:
    """A name as that of a file."""
    return re.sub(r"[^\w.-]+", "_", name)


def write_report(folders: Sequence[Path], out: Path) -> Path:
    """Write the report on entries.

    Returns:
        The HTML page; `report.md` and the pictures stand beside it.

    Raises:
        EntryError: an entry is not scored.
        MissingExtraError: Matplotlib is not installed.
        OSError: a file cannot be written.
    """
    entries = read_scored(folders)
    out.mkdir(parents=True, exist_ok=True)
    title = "Noms benchmark"
    top = f"<meta charset='utf-8'><title>{title}</title><style>{STYLE}</style>"
    page, text = [f"<!DOCTYPE html><html lang='en'>{top}<h1>{title}</h1>"], [f"# {title}\n"]
    for head, says, table, pictures in sections(entries):
        page.append(f"<h2>{html.escape(head)}</h2><p>{html.escape(says)}</p>")
        text.append(f"## {markdown_text(head)}\n\n{markdown_text(says)}\n")
        if table is not None:
            page.append(html_table(table))
            text.append(table_text(table) + "\n")
        for name, png in pictures.items():
            write_atomically(out / f"{name}.png", png)
            page.append(f"<img alt='{html.escape(head)}' src='data:image/png;base64,{b64encode(png).decode()}'>")
            text.append(f"![{markdown_text(head)}]({name}.png)\n")
    write_atomically(out / TABLES, "\n".join(text).encode())
    write_atomically(out / PAGE, "\n".join(page).encode() + b"\n</html>\n")
    return out / PAGE


def table_text(table: Table) -> str:
    """A table in Markdown."""
    return markdown_table([[markdown_text(cell) for cell in row] for row in table[1]], *map(markdown_text, table[0]))


def html_table(table: Table) -> str:
    """A table in HTML."""
    head, rows = table
    lines = ["".join(f"<th>{html.escape(cell)}</th>" for cell in head)]
    lines += ["".join(f"<td>{html.escape(cell)}</td>" for cell in row) for row in rows]
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"
