"""Scores with intervals: points normalised by the references, for each game and over all games.

The score over all games is the interquartile mean over games and seeds. Its interval is the stratified bootstrap of rliable
(Agarwal et al., Deep Reinforcement Learning at the Edge of the Statistical Precipice, NeurIPS 2021, arXiv 2108.13264), in a few
lines without the dependencies of that package. It resamples seeds within each game, or once for all games if each seed is one
policy for all. It also resamples deals, with the same deals for all seeds, fields and settings of a game, since these share
their cards. With three seeds such intervals are too narrow.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import trim_mean

from ..evaluation.deal_sets import digest
from ..text import duration
from .cells import Cell, as_documents
from .entry import SCORES, TIMES, TRIAL, Entry, EntryError, fits, machine, read_json, versions, write_json
from .protocol import DEAL_SET, GENERALIST, PROTOCOLS, REPLICATES, V1, Part, Place, References

FORMAT, FORMAT_1 = "noms-benchmark-scores/2", "noms-benchmark-scores/1"
TIMES_OF_PART = {"deals": int, "wall_seconds": float, "cpu_seconds": float, "processor": str}
TIMES_PATTERN = {f"{part}?": TIMES_OF_PART for protocol in PROTOCOLS.values() for part in protocol.parts}
"""Pattern of `times.json`."""
CUT = 0.25
"""Fraction that an interquartile mean leaves out at each end."""

Values = Mapping[str, Mapping[str, np.ndarray]]
"""Points by game and field: float64, shape (seeds, deals).

Fields of different size share their first deals. In a game with several settings all fields have the same deals.
"""


def interval(value: Any, replicates: np.ndarray) -> dict[str, float]:
    """Return a figure with its 95 % interval from the bootstrap replicates, float64, shape (n,)."""
    low, high = np.quantile(replicates, (0.025, 0.975))
    return {"value": float(value), "low": float(low), "high": float(high)}


def interquartile_mean(scores: np.ndarray) -> np.ndarray:
    """Return the mean without the lowest and highest quarter: from shape (..., games, seeds) to shape (...)."""
    return np.asarray(trim_mean(scores.reshape(*scores.shape[:-2], -1), CUT, axis=-1))


def deals_drawn(deals: int, settings: int, count: int, rng: np.random.Generator) -> np.ndarray:
    """Resample deals, the same numbers in all settings; return their multiplicities, float64, shape (count, deals).

    Deals of one number have the same cards in settings that deal the same pack alike.
    """
    each = max(1, deals // settings)
    return np.tile(rng.multinomial(each, np.full(each, 1 / each), size=count).astype(np.float64), settings)


def means_drawn(points: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Return the mean over resampled deals: from points, shape (seeds, deals), to shape (count, seeds).

    If a replicate has none of these deals, which is likely only for few deals, all count equally.
    """
    weight = times[:, : points.shape[1]]
    weight = np.where(weight.any(axis=1, keepdims=True), weight, 1.0)
    return np.asarray(weight @ points.T / weight.sum(axis=1, keepdims=True))


def replicates_of(
    values: Mapping[str, np.ndarray],
    of_game: Mapping[str, References],
    count: int,
    rng: np.random.Generator,
    settings: int = 1,
    drawn: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return `count` bootstrap replicates of a game, from the points (`Values`) and the references of its fields.

    Its `settings` share their deals evenly. `drawn` are the seeds of each replicate, int64, shape (count, seeds); None to draw
    them.

    Returns:
        Scores of the resampled seeds, float64, shape (count, seeds), and scores of the weakest field, float64, shape (count,).
    """
    most, seeds = max(points.shape[1] for points in values.values()), len(next(iter(values.values())))
    times = deals_drawn(most, settings, count, rng)
    drawn = rng.integers(seeds, size=(count, seeds)) if drawn is None else drawn
    by_field = [of_game[field].score(means_drawn(points, times)) for field, points in values.items()]
    stacked = np.array([np.take_along_axis(scores, drawn, axis=1) for scores in by_field])
    return stacked.mean(axis=0), stacked.mean(axis=2).min(axis=0)


def summary(part: Part, values: Values, count: int = REPLICATES) -> dict[str, Any]:
    """Return the scores of each game and over all games as JSON values.

    Returns:
        `games`: for each game `score` and `robustness` with intervals, and the scores of `fields` and `seeds`. `all`: the
        interquartile mean `score`, `mean`, `median`, and `robustness`, the mean of the games'. Robustness is the score of
        the weakest field, by the mean over seeds.
    """
    rng, games, all_drawn, all_least, shared = np.random.default_rng(0), dict[str, Any](), [], [], None
    if part.run == GENERALIST:  # each seed is one policy for all games
        seeds = len(next(iter(next(iter(values.values())).values())))
        shared = rng.integers(seeds, size=(count, seeds))
    for name, by_field in values.items():
        of_game = part.references[name]
        scores = np.array([of_game[field].score(points.mean(axis=1)) for field, points in by_field.items()])
        drawn, least = replicates_of(by_field, of_game, count, rng, len(part.settings(name)), shared)
        weakest = scores.mean(axis=1)
        games[name] = {
            "score": interval(scores.mean(), drawn.mean(axis=1)),
            "robustness": interval(weakest.min(), least),
            "fields": dict(zip(by_field, weakest.tolist(), strict=True)),
            "seeds": scores.mean(axis=0).tolist(),
        }
        all_drawn.append(drawn)
        all_least.append(least)
    by_seed, draws = np.array([game["seeds"] for game in games.values()]), np.array(all_drawn).swapaxes(0, 1)
    robustness = np.mean([game["robustness"]["value"] for game in games.values()])
    over_all = {
        "score": interval(interquartile_mean(by_seed), interquartile_mean(draws)),
        "mean": interval(by_seed.mean(), draws.mean(axis=(1, 2))),
        "median": interval(np.median(by_seed.mean(axis=1)), np.median(draws.mean(axis=2), axis=1)),
        "robustness": interval(robustness, np.mean(all_least, axis=0)),
    }
    return {"games": games, "all": over_all}


def values_of(cells: Iterable[tuple[Place, np.ndarray]]) -> dict[str, dict[str, np.ndarray]]:
    """Collect the points of the cells of a part, each float64, shape (deals,), as `Values`."""
    values: dict[str, dict[str, list[np.ndarray]]] = {}
    for place, points in cells:
        values.setdefault(place.game, {}).setdefault(place.field.name, []).append(points)
    return {name: {field: np.array(rows) for field, rows in fields.items()} for name, fields in values.items()}


def cross_play(points: Iterable[tuple[str, int, int | None, float]], seeds: Sequence[int]) -> dict[str, Any]:
    """Return for each game the `points` of each seed (row) alone among each other one (column), and their mean, the `gap`.

    `points` are tuples of game, seed, seed of the field (ignored if None), and points per deal. The diagonal is 0. If the seeds
    have learnt different conventions, the gap is negative: newcomers lose more than stronger seeds win.
    """
    tables: dict[str, np.ndarray] = {}
    for name, seed, other, mean in points:
        if other is not None:
            table = tables.setdefault(name, np.zeros((len(seeds), len(seeds))))
            table[seeds.index(seed), seeds.index(other)] = mean
    others = ~np.eye(len(seeds), dtype=np.bool_)
    return {name: {"points": table.tolist(), "gap": float(table[others].mean())} for name, table in tables.items()}


@cache
def deals_sha256(part: Part, game: str) -> str:
    """Return the SHA-256 of the first deals of a game (`deal_sets.digest`), or of the hashes of its several settings."""
    digests = [digest(rules, DEAL_SET) for rules in part.settings(game)]
    return digests[0] if len(digests) == 1 else hashlib.sha256(" ".join(digests).encode()).hexdigest()


def scored(entry: Entry, cells: Sequence[Cell]) -> dict[str, Any]:
    """Return the document for `scores.json` from complete cells; EntryError if a cell is not complete."""
    protocol = PROTOCOLS[entry.protocol]
    parts = [part for part in protocol.parts.values() if any(cell.part == part for cell in cells)]
    places = {*protocol.places(entry.games, entry.seeds, protocol.parts)}
    sha256 = {part.name: {name: deals_sha256(part, name) for name in entry.games if name in part.games} for part in parts}
    return {
        "format": FORMAT,
        "protocol": entry.protocol,
        **{"name": entry.name, "division": entry.division, "budget": entry.budget, "seeds": list(entry.seeds)},
        "deals": {"set": DEAL_SET, "sha256": sha256},
        **({} if all(cell.place in places for cell in cells) else {"trial": True}),
        **({"second": True} if any(cell.first for cell in cells) else {}),
        "parts": [part.name for part in parts],
        "cells": as_documents(cells),
        "scores": {part.name: _of_part(part, entry, [cell for cell in cells if cell.part == part]) for part in parts},
    }


def _of_part(part: Part, entry: Entry, cells: Sequence[Cell]) -> dict[str, Any] | None:
    """Return the scores or the cross-play of a part; None if it has neither, or no references yet."""
    if part.kind == "cross":
        return cross_play(((cell.game, cell.seed, cell.field.seed, float(cell.values.mean())) for cell in cells), entry.seeds)
    return summary(part, values_of((cell.place, cell.values) for cell in cells)) if has_references(part, entry) else None


def figures_of(document: Mapping[str, Any], place: Place) -> Mapping[str, Any]:
    """Return the figures of a cell in `scores.json`; empty if it has none."""
    by_game = document["cells"].get(place.part.name, {})
    figures: Mapping[str, Any] = by_game.get(place.game, {}).get(str(place.seed), {}).get(place.field.name, {})
    return figures


def places_of(entry: Entry, document: Mapping[str, Any]) -> list[Place]:
    """Return the cells of an entry in the parts of its scores."""
    return [*PROTOCOLS[entry.protocol].places(entry.games, entry.seeds, document["parts"])]


def has_references(part: Part, entry: Entry) -> bool:
    """Return whether a part has references for all fields and for all games of an entry."""
    games = [name for name in entry.games if name in part.games]
    return part.kind == "score" and all(field.name in part.references.get(name, {}) for field in part.fields for name in games)


def write_scores(folder: Path, document: Mapping[str, Any]) -> None:
    """Write the scores, with the versions and the machine; OSError if the file cannot be written."""
    write_json(folder / SCORES, {**document, "versions": versions(), "machine": machine()})


def read_scores(folder: Path) -> dict[str, Any]:
    """Read the scores of an entry; EntryError if the scores are missing or damaged, or there are only those of a trial."""
    if not (folder / SCORES).exists() and (folder / TRIAL / SCORES).exists():
        hint = "only a trial with fewer deals was; noms benchmark score without --deals plays them all"
        raise EntryError(f"{folder} is not scored: {hint}")
    document, damaged = read_json(folder / SCORES, f"{folder} is not scored"), f"{folder} is not scored: {SCORES} is damaged"
    if (document.get("format"), document.get("protocol")) == (FORMAT_1, V1):
        try:
            document = _in_new_form(document)
        except (LookupError, TypeError, AttributeError) as error:
            raise EntryError(damaged) from error
    known = [name for name in PROTOCOLS if name == document.get("protocol")]
    if document.get("format") != FORMAT or not known:
        raise EntryError(f"{folder / SCORES} is not of the format {FORMAT!r} and a protocol of {', '.join(PROTOCOLS)}")
    if not fits(document, _pattern(known[0])) or not _is_consistent(document):
        raise EntryError(damaged)
    return document


def _in_new_form(document: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a document of format 1, always of protocol 1, to the current format."""
    parts, sha256 = [name for name in document["parts"] if name in PROTOCOLS[V1].parts], document["deals"]["sha256"]
    cells: dict[str, Any] = {}
    for game, seeds in document["cells"].items():
        for seed, fields in seeds.items():
            for field, cell in fields.items():
                part = "cross" if field.startswith("seed-") else "search" if field.startswith("pimc:") else "core"
                cells.setdefault(part, {}).setdefault(game, {}).setdefault(seed, {})[field] = cell
    scores = {"core": document.get("core"), "cross": document.get("cross_play"), "search": document.get("search")}
    unchanged = {name: value for name, value in document.items() if name not in ("track", "core", "cross_play", "search")}
    deals = {"set": document["deals"]["set"], "sha256": dict.fromkeys(parts, sha256)}
    new = {"format": FORMAT, "division": document["track"], "deals": deals, "cells": cells}
    return {**unchanged, **new, "scores": {name: scores[name] for name in document["parts"] if name in scores}}


def read_times(folder: Path) -> dict[str, Any]:
    """Return the scoring times of each part so far; empty if the file is missing or damaged."""
    try:
        return read_json(folder / TIMES, "there are no times", TIMES_PATTERN)
    except EntryError:
        return {}


def add_times(folder: Path, part: str, *, before: int, deals: int, wall: float, cpu: float) -> None:
    """Add the wall seconds and processor seconds of some deals of a part; OSError if the file cannot be written.

    They are over all threads and machines. Processor seconds exclude external programs (`cmd:`). If `before`, the number of
    deals played before, is 0, the times replace those in the file.
    """
    if deals:
        times = read_times(folder)
        sums = times.get(part, {}) if before else {}
        for name, value in (("deals", deals), ("wall_seconds", wall), ("cpu_seconds", cpu)):
            sums[name] = round(sums.get(name, 0) + value, 2)
        write_json(folder / TIMES, {**times, part: {**sums, "processor": machine()["processor"]}})


def times_text(times: dict[str, Any], part: str) -> str:
    """Return such as `core: 57,344 deals · 0:31 wall time · 0:58 processor time`."""
    deals, wall, cpu = (times[part][name] for name in ("deals", "wall_seconds", "cpu_seconds"))
    return f"{part}: {deals:,} deals · {duration(wall)} wall time · {duration(cpu)} processor time"


FIGURE = {"value": float, "low": float, "high": float}
CELL = {
    **{"points": float, "error": float, "deals": int, "sha256": str},
    **{"player_sha256": (str, None), "field_sha256": (str, None), "lost?": int},
}
"""Patterns in `scores.json` (`entry.fits`)."""


def _by_game(part: Part, pattern: Any) -> dict[str, Any]:
    return {f"{name}?": pattern for name in part.games}


def _pattern_of(part: Part) -> Any:
    """Return the pattern of the scores or the cross-play of a part."""
    if part.kind == "cross":
        return _by_game(part, {"points": [[float]], "gap": float})
    fields = {field.name: float for field in part.fields}
    of_game = {"score": FIGURE, "robustness": FIGURE, "fields": fields, "seeds": [float]}
    return {"games": _by_game(part, of_game), "all": dict.fromkeys(("score", "mean", "median", "robustness"), FIGURE)}, None


def _pattern(protocol: str) -> dict[str, Any]:
    """Return the pattern of `scores.json`."""
    parts = PROTOCOLS[protocol].parts.values()

    def by_part(pattern: Callable[[Part], Any]) -> dict[str, Any]:
        return {f"{part.name}?": pattern(part) for part in parts}

    return {
        **dict.fromkeys(("format", "protocol", "name", "division", "budget"), str),
        **{"seeds": [int], "trial?": bool, "second?": bool, "parts": [str], "versions": dict, "machine": dict},
        "deals": {"set": str, "sha256": by_part(lambda part: _by_game(part, str))},
        "cells": by_part(lambda part: _by_game(part, {str: {str: CELL}})),
        "scores": by_part(_pattern_of),
    }


def _is_consistent(document: Mapping[str, Any]) -> bool:
    """Return whether all lists of scores have one value per seed, and the parts agree with the scores."""
    names, seeds, scores, lists = document["parts"], len(document["seeds"]), document["scores"], list[Any]()
    for part in PROTOCOLS[document["protocol"]].parts.values():
        of_part = scores.get(part.name) or {}
        if part.kind == "cross":
            lists += [each for table in of_part.values() for each in (table["points"], *table["points"])]
        else:
            lists += [game["seeds"] for game in of_part.get("games", {}).values()]
    return {*names} == {*scores} and len({*names}) == len(names) and all(len(each) == seeds for each in lists)
