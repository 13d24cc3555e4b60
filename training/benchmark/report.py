"""Report on entries: Markdown tables, PNG pictures, and a self-contained HTML page with both."""

from __future__ import annotations

import html
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from noms_env._files import write_atomically

from ..text import as_file_name, count, duration, markdown_table, markdown_text, short_number
from .entry import CONVENTIONS, RUN, RUN_PATTERN, Entry, EntryError, read_entry, read_json, run_folder
from .protocol import GENERALIST, PROTOCOLS, Part, Protocol
from .scores import figures_of, places_of, read_scores

PAGE, TABLES = "report.html", "report.md"
STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 1em auto; max-width: 62em; padding: 0 1em; color: #222; }
table { border-collapse: collapse; margin: 1em 0; font-size: 13px; line-height: 1.3; }
th, td { padding: 0.3em 0.7em; border-bottom: 1px solid #ddd; text-align: right; vertical-align: top; }
th:first-child, td:first-child { text-align: left; padding-left: 0; }
th { vertical-align: bottom; }
small { color: #555; font-size: 11px; }
td + td { white-space: nowrap; }
div { overflow-x: auto; }
.pictures { display: grid; grid-template-columns: repeat(auto-fill, minmax(18em, 1fr)); gap: 0.5em; }
img { width: 100%; }
summary { cursor: pointer; font-weight: 600; margin: 0.6em 0; }
@media (min-width: 900px) { td br { display: none; } td small { margin-left: 0.5em; } }
@media (max-width: 600px) {
  body { padding: 0 0.7em; }
  th, td { padding: 0.3em 0.12em; }
  table { font-size: 12px; }
  th, small { font-size: 10px; }
}
"""

Row = tuple[str, ...]
Table = tuple[Row, list[Row]]
"""Head and rows. The first line of a cell is the most important."""


SCORES_SAY = (
    "{scale}. A score over all games is the interquartile mean over games and seeds, with the 95 % interval of a stratified "
    "bootstrap over seeds and deals. Below it are the points a deal, averaged over games and fields. Scores of different "
    "divisions or budgets are not comparable."
)
GAMES_SAY = (
    "The score and the points a deal, averaged over fields. Least field: the mean over games of the score in the entry's "
    "weakest field."
)
LEVEL = 0.05
"""Largest gain of a converged curve."""
LEARNING_SAYS = (
    "Decisions and processor time are means over runs, on one game if possible. The column of the curve has the gain over the "
    "last third, with its 95 % interval over runs; 1 is the distance from random to thumb. A curve is still rising if the "
    f"interval is above 0, and falling if it is below. It has converged if the interval contains 0 and ends below {LEVEL}."
)
CONVENTION_SAYS = (
    " An entry plays greedy (the most probable action) or sampled actions; the points are means over games in the field thumb."
)
CURVES_SAY = (
    "Points a deal above three {field} on deals of the set dev, by decisions: the mean of the seeds, and their range. The "
    "lines are thumb and random."
)
PROFILES_SAY = "The share of games and seeds in which an entry exceeds a score: the higher line is the better entry."
CROSS_PLAY_SAYS = (
    "Points a deal of a seed alone among another; the mean is negative if seeds have learnt different conventions."
)


class Section(NamedTuple):
    """A section of a report: a title, a paragraph, tables, and PNG pictures by name.

    If it `is_folded`, a click on the title unfolds it.
    """

    title: str
    says: str = ""
    tables: Sequence[Table] = ()
    pictures: Mapping[str, bytes] = {}
    is_folded: bool = False


@dataclass(frozen=True)
class Scored:
    """An entry with its folder and scores."""

    folder: Path
    entry: Entry
    scores: Mapping[str, Any]

    @property
    def name(self) -> str:
        return self.entry.name

    @property
    def protocol(self) -> Protocol:
        return PROTOCOLS[self.entry.protocol]

    def games(self, part: str) -> Mapping[str, Any]:
        """Return the scores of a part by game; empty if it has none."""
        games: Mapping[str, Any] = (self.scores["scores"].get(part) or {}).get("games", {})
        return games

    def over_games(self, part: str, what: str = "score") -> Mapping[str, float]:
        """Return a figure over all games of a scored part."""
        figure: Mapping[str, float] = self.scores["scores"][part]["all"][what]
        return figure

    def has_all_games(self, part: str) -> bool:
        """Return whether the entry has scores in all games of a part; only then do figures over games compare."""
        return tuple(self.games(part)) == self.protocol.parts[part].games

    @property
    def scored_parts(self) -> list[Part]:
        return [part for part in self.protocol.parts.values() if self.games(part.name)]

    @property
    def rank(self) -> tuple[bool, float]:
        """Sort key, best entry first, by the score of the first scored part; entries that lack games come last."""
        name = self.scored_parts[0].name
        return not self.has_all_games(name), -self.over_games(name)["value"]

    @property
    def lacks_cells(self) -> bool:
        """Whether the scores lack a cell; our own files never do."""
        return not all(figures_of(self.scores, place) for place in places_of(self.entry, self.scores))

    def cells(self, part: str, game: str, field: str) -> list[Mapping[str, Any]]:
        """Return the figures of the cells of a field, in the order of the seeds."""
        of_seeds = self.scores["cells"][part][game]
        return [of_seeds[str(seed)][field] for seed in self.entry.seeds]

    def points(self, part: str, game: str, field: str | None = None) -> float:
        """Return points per deal in a field, or the mean of all fields, averaged over seeds."""
        fields = [field] if field else [each.name for each in self.protocol.parts[part].fields]
        return float(np.mean([cell["points"] for each in fields for cell in self.cells(part, game, each)]))

    @property
    def cross_play(self) -> Mapping[str, Any]:
        """Cross-play of the seeds by game; empty if not played."""
        tables: Mapping[str, Any] = self.scores["scores"].get("cross") or {}
        return tables


def read_scored(folders: Sequence[Path]) -> list[Scored]:
    """Read scored entries, by rank; EntryError if one has no complete scores, or two of a protocol have the same name."""
    entries = [Scored(folder, read_entry(folder), read_scores(folder)) for folder in folders]
    for result in entries:
        if not result.scored_parts:
            raise EntryError(f"no part of {result.folder} has scores")
        of_entry = {part: tuple(name for name in result.entry.games if name in part.games) for part in result.scored_parts}
        is_whole = all(tuple(result.games(part.name)) == games for part, games in of_entry.items())
        if not is_whole or result.lacks_cells or result.scores["seeds"] != [*result.entry.seeds]:
            raise EntryError(f"the scores in {result.folder} are not of all its games and seeds: score it again")
    for (_, name), times in Counter((result.entry.protocol, result.name) for result in entries).items():
        if times > 1:
            raise EntryError(f"two entries have the name {name!r}")
    return sorted(entries, key=lambda result: result.rank)


def interval(figure: Mapping[str, float], unit: float = 1, sign: str = "") -> str:
    """Format such as `0.93 (0.90 to 0.95)`, or `93.1 (90.2 to 95.4)` for the unit 100; `sign="+"` always shows the sign."""
    value, low, high = (number(figure[what], unit, sign) for what in ("value", "low", "high"))
    return f"{value} ({low} to {high})"


def number(value: float, unit: float = 1, sign: str = "") -> str:
    """Format a score with two decimals for the unit 1, and one for the unit 100."""
    return f"{value:{sign}z.{2 if unit == 1 else 1}f}"


def stacked(figure: Mapping[str, float], unit: float, sign: str = "") -> str:
    """Format an interval in two lines."""
    return interval(figure, unit, sign).replace(" (", "\n").rstrip(")")


def score_rows(document: Mapping[str, Any], part: str, show: Callable[[Mapping[str, float], float], str] = interval) -> Table:
    """Return the scores and points of one entry: a row for each game, and one over all. `show` formats an interval."""
    protocol, scores = PROTOCOLS[document["protocol"]], document["scores"][part]
    games, unit, cells = scores["games"], protocol.unit, document["cells"][part]
    fields = list(next(iter(games.values()))["fields"])

    def field_cell(name: str, field: str) -> str:
        points = np.mean([of_seed[field]["points"] for of_seed in cells[name].values()])
        return f"{number(games[name]['fields'][field], unit)}\n{points:+z.2f}"

    rows = [
        (name, show(game["score"], unit), *(field_cell(name, field) for field in fields), show(game["robustness"], unit))
        for name, game in games.items()
    ]
    title = "all games" if tuple(games) == protocol.parts[part].games else "these games"
    last = (title, show(scores["all"]["score"], unit), *("" for _ in fields), show(scores["all"]["robustness"], unit))
    return (f"score ({part})", "all fields", *fields, "least"), [*rows, last]


def runs_of(result: Scored) -> list[dict[str, Any]]:
    """Read the training records (`run.json`) of the runs on one game, else of those on all games; skips runs without one."""
    of_games = [run for run in result.entry.runs if run[0] != GENERALIST]
    paths = [run_folder(result.folder, name, seed) / RUN for name, seed in of_games or result.entry.runs]
    return [read_json(path, f"the run {path.parent} is not complete", RUN_PATTERN) for path in paths if path.exists()]


def score_table(entries: Sequence[Scored], parts: Sequence[Part]) -> Table:
    """Return the scores over all games, entries by parts; only for parts in which an entry has all games."""
    rows = list[Row]()
    for result in entries:
        entry, cells = result.entry, list[str]()
        for part in parts:
            if not result.has_all_games(part.name):
                cells.append("some games" if result.games(part.name) else "")
                continue
            points = np.mean([result.points(part.name, name) for name in part.games])
            cells.append(f"{stacked(result.over_games(part.name), result.protocol.unit)}\n{points:+z.2f}")
        about = " · ".join(filter(None, [entry.division, entry.budget, count(len(entry.seeds), "seed")]))
        rows.append((f"{entry.name}\n{about}", *cells))
    return ("entry", *(part.title for part in parts)), rows


def game_table(entries: Sequence[Scored], part: Part) -> Table:
    """Return scores and points, entries by games, and the score of each entry's weakest field."""
    games = [name for name in part.games if any(name in result.games(part.name) for result in entries)]
    rows = list[Row]()
    for result in entries:
        unit = result.protocol.unit
        cells = {
            name: f"{number(game['score']['value'], unit)}\n{result.points(part.name, name):+z.2f}"
            for name, game in result.games(part.name).items()
        }
        least = number(result.over_games(part.name, "robustness")["value"], unit) if result.has_all_games(part.name) else ""
        if cells:
            rows.append((result.name, *(cells.get(name, "") for name in games), least))
    return ("entry", *games, "least field"), rows


def learning_table(entries: Sequence[Scored]) -> Table:
    """Return the training and the convention of each entry."""
    from .figures import curves_of, late_gain

    rows = list[Row]()
    for result in entries:
        runs, used, state = runs_of(result), "", ""
        if runs:
            decisions, seconds = (float(np.mean([run[key] for run in runs])) for key in ("decisions", "cpu_seconds"))
            pace = f"{decisions / seconds:,.0f} a second" if seconds else ""  # too short to be measured
            used = f"{short_number(float(f'{decisions:.2g}'))} decisions\n{duration(seconds)} CPU time\n{pace}".strip()
            gain = late_gain(curves_of(result.entry, result.folder))
            state = f"{state_of(gain)}\n{stacked(gain, 1, '+')}" if gain else ""
        if runs or result.entry.convention:
            rows.append((result.name, used, state, *convention_cells(result)))
    shown = 5 if any(row[3] or row[4] for row in rows) else 3
    return ("entry", "a run", "curve", "plays", "the other way")[:shown], [row[:shown] for row in rows]


def state_of(gain: Mapping[str, float]) -> str:
    """Return the state of a learning curve from its gain at the end; see `LEARNING_SAYS`."""
    if gain["low"] > 0:
        return "still rising"
    return "falling" if gain["high"] < 0 else "converged" if gain["high"] < LEVEL else "unclear"


def convention_cells(result: Scored) -> tuple[str, str]:
    """Return the convention of an entry and the other one, with the points of both in the field `thumb` if measured."""
    plays = result.entry.convention
    for other in result.protocol.parts.values():
        if other.kind == "other" and other.name in result.scores["parts"] and result.games(other.track):
            (field,) = other.fields
            games = [name for name in result.games(other.track) if name in other.games]
            points = (np.mean([result.points(part, name, field.name) for name in games]) for part in (other.track, other.name))
            own, others = (f"{mean:+z.2f}" for mean in points)
            return f"{plays}\n{own}".strip(), f"{CONVENTIONS.get(plays, '')}\n{others}".strip()
    return plays, ""


def cross_table(entries: Sequence[Scored]) -> Table:
    """Return the mean points of a seed alone among another, for each entry and game."""
    games = list(dict.fromkeys(name for result in entries for name in result.cross_play))
    return ("entry", *games), [
        (result.name, *(f"{tables[game]['gap']:+z.2f}" if game in tables else "" for game in games))
        for result in entries
        if (tables := result.cross_play)
    ]


def points_table(result: Scored) -> Table:
    """Return the points of an entry by game in the fields that do not score."""
    parts = [result.protocol.parts[name] for name in result.scores["parts"]]
    fields = [(part, field.name) for part in parts if part.kind in ("points", "other") for field in part.fields]
    games = [name for name in result.entry.games if any(name in part.games for part, _ in fields)]
    heads = (f"{field}, the other way" if part.kind == "other" else field for part, field in fields)
    rows = [(name, *(f"{result.points(part.name, name, field):+z.2f}" for part, field in fields)) for name in games]
    return ("points only", *heads), rows


def curve_pictures(entries: Sequence[Scored]) -> dict[str, bytes]:
    """Draw the learning curves of entries of one protocol: a picture for each game with a curve."""
    from .figures import curves_of, draw_runs

    curves, protocol = {result.name: curves_of(result.entry, result.folder) for result in entries}, entries[0].protocol
    runs = {
        game: {name: of_games[game] for name, of_games in curves.items() if game in of_games}
        for game in (*protocol.games, GENERALIST)
    }
    return {game: draw_runs(game, of_game, protocol.players["thumb"]) for game, of_game in runs.items() if of_game}


def sections(entries: Sequence[Scored], is_short: bool = False) -> Iterator[Section]:
    """Yield the report on entries of one protocol; a short report has no pictures and no details of single entries."""
    from .figures import draw_profiles, scale_text

    protocol = entries[0].protocol
    parts = [part for part in protocol.parts.values() if any(part in result.scored_parts for result in entries)]
    yield Section("Scores", SCORES_SAY.format(scale=scale_text(protocol)), (score_table(entries, parts),))
    if (learning := learning_table(entries))[1]:
        says = LEARNING_SAYS + (CONVENTION_SAYS if len(learning[0]) > 3 else "")
        yield Section("How they learnt and play", says, (learning,))
    if pictures := {} if is_short else curve_pictures(entries):
        yield Section("Learning curves", CURVES_SAY.format(field=protocol.players["thumb"]), (), pictures)
    for part in parts:
        yield Section(f"{part.title}, by game".capitalize(), GAMES_SAY, (game_table(entries, part),), is_folded=True)
    if (cross := cross_table(entries))[1]:
        yield Section("Cross-play", CROSS_PLAY_SAYS, (cross,), is_folded=True)
    if is_short:
        return
    games = {result.name: result.games(parts[0].name) for result in entries}
    by_run = {name: [score for game in of.values() for score in game["seeds"]] for name, of in games.items() if len(of) > 1}
    if by_run:
        profiles = {"profiles": draw_profiles(by_run, protocol)}
        yield Section(f"{parts[0].title}, performance profiles".capitalize(), PROFILES_SAY, (), profiles, is_folded=True)
    for result in entries:
        tables = [score_rows(result.scores, part.name, stacked) for part in result.scored_parts]
        tables += [table for table in [points_table(result)] if table[1]]
        yield Section(f"{result.name}: games and fields", result.entry.description, tables, is_folded=True)


def by_protocol(entries: Sequence[Scored]) -> dict[str, list[Scored]]:
    """Group entries by protocol, the newest first."""
    groups = {name: [result for result in entries if result.entry.protocol == name] for name in reversed(PROTOCOLS)}
    return {name: group for name, group in groups.items() if group}


def write_report(folders: Sequence[Path], out: Path) -> Path:
    """Write the report on entries to the folder `out`, and return the path of its HTML page.

    Raises:
        EntryError: An entry has no complete scores.
        MissingExtraError: Matplotlib is not installed.
        OSError: A file cannot be written.
    """
    of_protocols = {name: [*sections(entries)] for name, entries in by_protocol(read_scored(folders)).items()}
    out.mkdir(parents=True, exist_ok=True)
    head = "<meta charset='utf-8'><meta name='viewport' content='width=device-width'>"
    page, text = [f"<!DOCTYPE html><html lang='en'>{head}<title>Noms benchmark</title><style>{STYLE}</style>"], list[str]()
    for name, parts in of_protocols.items():
        page += [f"<h1>{name}</h1>", *map(html_section, parts)]
        text += [f"# {name}", *(markdown_section(part, f"{as_file_name(name)}-") for part in parts)]
        for picture, png in ((picture, png) for part in parts for picture, png in part.pictures.items()):
            write_atomically(out / f"{as_file_name(name)}-{picture}.png", png)
    write_atomically(out / TABLES, "\n\n".join(text).encode() + b"\n")
    write_atomically(out / PAGE, "\n".join(page).encode() + b"\n</html>\n")
    return out / PAGE


def markdown_section(section: Section, pictures: str) -> str:
    """Return a section in Markdown; `pictures` is the prefix of its picture files."""
    title, says = markdown_text(section.title), markdown_text(section.says)
    blocks = [says, *map(table_text, section.tables)]
    blocks += [" ".join(f'<img src="{pictures}{name}.png" alt="{name}" width="340">' for name in section.pictures)]
    if section.is_folded:
        return "\n\n".join(filter(None, [f"<details>\n<summary>{title}</summary>", *blocks, "</details>"]))
    return "\n\n".join(filter(None, [f"## {title}", *blocks]))


def table_text(table: Table) -> str:
    """Return a table in Markdown."""

    def text(cell: str) -> str:
        first, *lines = map(markdown_text, cell.split("\n"))
        return first + "".join(f"<br><small>{line}</small>" for line in lines)

    return markdown_table([[*map(text, row)] for row in table[1]], *map(markdown_text, table[0]))


def html_section(section: Section) -> str:
    """Return a section in HTML."""
    title = html.escape(section.title)
    sources = ((name, b64encode(png).decode()) for name, png in section.pictures.items())
    pictures = "".join(f"<img alt='{name}' src='data:image/png;base64,{source}'>" for name, source in sources)
    says = f"<p>{html.escape(section.says)}</p>"
    body = "\n".join([says, *map(html_table, section.tables), f"<div class='pictures'>{pictures}</div>"])
    return f"<details><summary>{title}</summary>{body}</details>" if section.is_folded else f"<h2>{title}</h2>{body}"


def html_table(table: Table) -> str:
    """Return a table in HTML that scrolls if too wide."""

    def cell(text: str, tag: str = "td") -> str:
        first, *more = html.escape(text).split("\n")
        return f"<{tag}>{first.replace('_', '_<wbr>')}{''.join(f'<br><small>{line}</small>' for line in more)}</{tag}>"

    lines = ["".join(cell(text, "th") for text in table[0]), *("".join(map(cell, row)) for row in table[1])]
    return f"<div><table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table></div>"
