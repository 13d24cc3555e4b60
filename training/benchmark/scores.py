"""From points to scores: normalised by the references, one for each game and one over all, with intervals.

The score over all games is the interquartile mean over games and seeds, with the stratified bootstrap of rliable (Agarwal et
al., Deep Reinforcement Learning at the Edge of the Statistical Precipice, NeurIPS 2021, arXiv 2108.13264; a few lines here,
since its package brings much that is not needed): seeds are drawn anew within each game. Deals are drawn anew too, the same for
all seeds and fields of a game, since they had the same cards. With three seeds such intervals are too narrow.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import trim_mean

from ..evaluation.deal_sets import digest
from .cells import Cell, as_documents
from .entry import SCORES, TRIAL, Entry, EntryError, fits, machine, read_json, versions, write_json
from .protocol import (
    DEAL_SET,
    GAMES,
    PARTS,
    PROTOCOL,
    REPLICATES,
    Part,
    References,
    cells_of,
    fields_of,
    references,
    rules_of_game,
)

FORMAT = "noms-benchmark-scores/1"
CUT = 0.25
"""What an interquartile mean leaves out at each end."""

Values = Mapping[str, Mapping[str, np.ndarray]]
"""Points by game and field: float64, shape (seeds, deals). The first deals of a field are those of all others."""


def interval(value: Any, replicates: np.ndarray) -> dict[str, float]:
    """A figure and its 95 % interval, from those of the replicates of the bootstrap, float64, shape (n,)."""
    low, high = np.quantile(replicates, (0.025, 0.975))
    return {"value": float(value), "low": float(low), "high": float(high)}


def interquartile_mean(scores: np.ndarray) -> np.ndarray:
    """Of scores, float64, shape (..., games, seeds), without the lowest and the highest quarter: shape (...)."""
    return np.asarray(trim_mean(scores.reshape(*scores.shape[:-2], -1), CUT, axis=-1))


def replicates_of(
    values: Mapping[str, np.ndarray], of_game: Mapping[str, References], count: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """The bootstrap of a game.

    Returns:
        Score of each seed that is drawn, float64, shape (count, seeds), and the least field's, float64, shape (count,).
    """
    most, seeds = max(points.shape[1] for points in values.values()), len(next(iter(values.values())))
    times = rng.multinomial(most, np.full(most, 1 / most), size=count).astype(np.float64)
    drawn = rng.integers(seeds, size=(count, seeds))
    by_field = list[np.ndarray]()
    for field, points in values.items():
        weight = times[:, : points.shape[1]]
        means = weight @ points.T / weight.sum(axis=1, keepdims=True)
        by_field.append(np.take_along_axis(of_game[field].score(means), drawn, axis=1))
    stacked = np.array(by_field)
    return stacked.mean(axis=0), stacked.mean(axis=2).min(axis=0)


def summary(values: Values, of_games: Mapping[str, Mapping[str, References]], count: int = REPLICATES) -> dict[str, Any]:
    """The scores of each game and over all games, as plain values.

    Returns:
        By game: `score` and `robustness` with intervals, `fields` and `seeds` with their scores. Over all games: `score`, the
        interquartile mean, `mean`, `median`, and `robustness`, the mean of the games'. Robustness is the score of the field
        in which the mean of the seeds is the least.
    """
    rng, games, all_drawn, all_least = np.random.default_rng(0), dict[str, Any](), [], []
    for name, by_field in values.items():
        scores = np.array([of_games[name][field].score(points.mean(axis=1)) for field, points in by_field.items()])
        drawn, least = replicates_of(by_field, of_games[name], count, rng)
        weakest = scores.mean(axis=1)
        games[name] = {
            "score": interval(scores.mean(), drawn.mean(axis=1)),
            "robustness": interval(weakest.min(), least),
            "fields": dict(zip(by_field, weakest.tolist(), strict=True)),
            "seeds": scores.mean(axis=0).tolist(),
        }
        all_drawn.append(drawn)
        all_least.append(least)
    seeds, draws = np.array([game["seeds"] for game in games.values()]), np.array(all_drawn).swapaxes(0, 1)
    robustness = np.mean([game["robustness"]["value"] for game in games.values()])
    over_all = {
        "score": interval(interquartile_mean(seeds), interquartile_mean(draws)),
        "mean": interval(seeds.mean(), draws.mean(axis=(1, 2))),
        "median": interval(np.median(seeds.mean(axis=1)), np.median(draws.mean(axis=2), axis=1)),
        "robustness": interval(robustness, np.mean(all_least, axis=0)),
    }
    return {"games": games, "all": over_all}


def values_of(cells: Sequence[Cell], part: str) -> dict[str, dict[str, np.ndarray]]:
    """The points of the cells of a part; see `Values`."""
    values: dict[str, dict[str, list[np.ndarray]]] = {}
    for cell in cells:
        if cell.field.part == part:
            values.setdefault(cell.game, {}).setdefault(cell.field.name, []).append(cell.values)
    return {name: {field: np.array(rows) for field, rows in fields.items()} for name, fields in values.items()}


def cross_play(points: Iterable[tuple[str, int, int | None, float]], seeds: Sequence[int]) -> dict[str, Any]:
    """Of each game the points of each seed (row) alone among each other (column), and the mean of all pairs, `gap`.

    A seed among itself has 0 points above the others. Where seeds have found different conventions, a newcomer at their
    tables loses more than a stronger one wins, and the gap is below 0.

    Args:
        points: game, seed, seed of the field (None for another field, which does not count), and points a deal.
        seeds: of the entry.
    """
    tables: dict[str, np.ndarray] = {}
    for name, seed, other, mean in points:
        if other is not None:
            table = tables.setdefault(name, np.zeros((len(seeds), len(seeds))))
            table[seeds.index(seed), seeds.index(other)] = mean
    others = ~np.eye(len(seeds), dtype=np.bool_)
    return {name: {"points": table.tolist(), "gap": float(table[others].mean())} for name, table in tables.items()}


def scored(entry: Entry, cells: Sequence[Cell]) -> dict[str, Any]:
    """All that `scores.json` says of complete cells.

    Raises:
        EntryError: one is not complete.
    """
    parts = [part for part in PARTS if any(cell.field.part == part for cell in cells)]
    anchors, fields = references(), {field for *_, field in cells_of(entry.games, entry.seeds, PARTS)}
    document: dict[str, Any] = {
        "format": FORMAT,
        "protocol": PROTOCOL,
        **{"name": entry.name, "track": entry.track, "budget": entry.budget, "seeds": list(entry.seeds)},
        "deals": {"set": DEAL_SET, "sha256": {name: digest(rules_of_game(name), DEAL_SET) for name in entry.games}},
        **({} if all(cell.field in fields for cell in cells) else {"trial": True}),
        "parts": parts,
        "cells": as_documents(cells),
    }
    for part in parts:
        if part == "cross":
            means = ((cell.game, cell.seed, cell.field.seed, float(cell.values.mean())) for cell in cells)
            document["cross_play"] = cross_play(means, entry.seeds)
        else:
            known = all(field.name in anchors[name] for field in fields_of(part) for name in entry.games)
            document[part] = summary(values_of(cells, part), anchors) if known else None
    return document


def write_scores(folder: Path, document: Mapping[str, Any]) -> None:
    """Write the scores, with what played them; OSError if they cannot be written."""
    write_json(folder / SCORES, {**document, "versions": versions(), "machine": machine()})


def read_scores(folder: Path) -> dict[str, Any]:
    """The scores of an entry; EntryError if there are none of this format, or those of a trial only."""
    if not (folder / SCORES).exists() and (folder / TRIAL / SCORES).exists():
        only = "only a trial with fewer deals was; noms benchmark score without --deals plays them all"
        raise EntryError(f"{folder} is not scored: {only}")
    document = read_json(folder / SCORES, f"{folder} is not scored")
    if document.get("format") != FORMAT or document.get("protocol") != PROTOCOL:
        raise EntryError(f"{folder / SCORES} is not of the format {FORMAT!r} and the protocol {PROTOCOL!r}")
    if not fits(document, _pattern()) or not _is_consistent(document):
        raise EntryError(f"{folder} is not scored: {SCORES} is damaged")
    return document


def _pattern() -> dict[str, Any]:
    """What `scores.json` is like (`entry.fits`)."""
    figure = {"value": float, "low": float, "high": float}
    over_all = dict.fromkeys(("score", "mean", "median", "robustness"), figure)
    cell = {
        **{"points": float, "error": float, "deals": int, "sha256": str},
        **{"player_sha256": (str, None), "field_sha256": (str, None), "lost?": int},
    }

    def by_game(pattern: Any) -> dict[str, Any]:
        return {f"{name}?": pattern for name in GAMES}

    def summary_of(part: Part) -> Any:
        fields = {field.name: float for field in fields_of(part)}
        of_game = {"score": figure, "robustness": figure, "fields": fields, "seeds": [float]}
        return {"games": by_game(of_game), "all": over_all}, None

    return {
        **dict.fromkeys(("format", "protocol", "name", "track", "budget"), str),
        **{"seeds": [int], "deals": {"set": str, "sha256": by_game(str)}, "trial?": bool, "parts": [str]},
        **{"cells": by_game({str: {str: cell}}), "core?": summary_of("core"), "search?": summary_of("search")},
        **{"cross_play?": by_game({"points": [[float]], "gap": float}), "versions": dict, "machine": dict},
    }


def _is_consistent(document: Mapping[str, Any]) -> bool:
    """Whether the lists of scores that fit the pattern are as long as there are seeds, and the parts are of the protocol."""
    parts, seeds = document["parts"], len(document["seeds"])
    summaries = [document[part] for part in ("core", "search") if document.get(part)]
    lists = [game["seeds"] for summary in summaries for game in summary["games"].values()]
    for table in document.get("cross_play", {}).values():
        lists += [table["points"], *table["points"]]
    return set(parts) <= {*PARTS} and len(set(parts)) == len(parts) and all(len(scores) == seeds for scores in lists)
