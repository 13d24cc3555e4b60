"""Comparison of two scored entries: the difference of their scores and the probability of improvement.

Both follow rliable (Agarwal et al., NeurIPS 2021, arXiv 2108.13264), with the bootstrap of `scores`. It resamples seeds within
each game, independently for each entry. It resamples deals jointly for both entries, since these share their cards. If an entry
lacks the points of its deals, the means of a game are drawn from their standard errors instead, independently for each entry,
with one normal deviate for all fields of a game. This makes the interval wider than necessary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .cells import stored_points
from .entry import EntryError
from .protocol import PROTOCOLS, REPLICATES, Part, Place
from .report import Scored
from .scores import deals_drawn, interquartile_mean, interval, means_drawn

FORMAT = "noms-benchmark-compare/1"

Drawn = np.ndarray
"""A figure as measured, followed by its replicates: float64, shape (1 + count, ...)."""


def improvement(mine: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """Return the probability that a run of `mine` outscores one of `theirs`, averaged over games; a tie is half a win.

    Both are scores, float64, shape (..., games, seeds); their numbers of seeds may differ. The result has shape (...).
    """
    wins = np.sign(mine[..., :, None] - theirs[..., None, :])
    return np.asarray((wins.mean(axis=(-3, -2, -1)) + 1) / 2)


def compare(mine: Scored, theirs: Scored, count: int = REPLICATES) -> dict[str, Any]:
    """Compare two entries; EntryError if they have no scored game in common, or different protocols.

    Returns:
        JSON values. `parts`: for each common part, by game and over `all` common games, the difference `score` (mine minus
        theirs) and the probability of `improvement`, with intervals. Games also have the difference `points`, the mean over
        fields. `notes`: sentences on limits of the comparison.
    """
    if mine.entry.protocol != theirs.entry.protocol:
        raise EntryError(f"{mine.name} is of {mine.entry.protocol}, {theirs.name} of {theirs.entry.protocol}")
    rng, parts, notes = np.random.default_rng(0), dict[str, Any](), [*_differences(mine, theirs)]
    for part in PROTOCOLS[mine.entry.protocol].parts.values():
        games = [name for name in part.games if part.kind == "score" and name in mine.games(part.name)]
        if games := [name for name in games if name in theirs.games(part.name)]:
            parts[part.name], unpaired = _compare_part(part, games, (mine, theirs), count, rng)
            if unpaired:
                notes.append(
                    f"{part.name}: the points of the deals of {', '.join(unpaired)} are not kept by both entries, so their "
                    "errors are used as if the cards differed: the intervals are wider than necessary"
                )
    if not parts:
        raise EntryError(f"{mine.name} and {theirs.name} are scored in no game of the same track")
    about = {"format": FORMAT, "protocol": mine.entry.protocol, "mine": mine.name, "theirs": theirs.name}
    return {**about, "parts": parts, "notes": notes}


def _differences(mine: Scored, theirs: Scored) -> Iterator[str]:
    """Yield sentences on differences in division, budget, games and parts."""
    for what in ("division", "budget"):
        own, other = (getattr(entry.entry, what) or "none" for entry in (mine, theirs))
        if own != other:
            yield f"the {what} of {mine.name} is {own}, that of {theirs.name} is {other}"
    for entry, rival in ((mine, theirs), (theirs, mine)):
        games, parts = (entry.entry.games, rival.entry.games), (entry.scores["parts"], rival.scores["parts"])
        for what, (names, others) in (("games", games), ("parts", parts)):
            if only := [name for name in names if name not in others]:
                yield f"only {entry.name} has the {what} {', '.join(only)}"


def _compare_part(
    part: Part, games: Sequence[str], entries: Sequence[Scored], count: int, rng: np.random.Generator
) -> tuple[dict[str, Any], list[str]]:
    """Return the figures of a part, and the games without paired deals."""
    of_games, scores, unpaired, seeds = dict[str, Any](), list[list[Drawn]](), list[str](), list[np.ndarray]()
    for name in games:
        if not seeds or part.run == "game":  # otherwise each seed is one policy for all games
            seeds = [seeds_drawn(len(entry.entry.seeds), count, rng) for entry in entries]
        points, is_paired = resample_points(part, name, entries, seeds, rng)
        unpaired += [] if is_paired else [name]
        anchors = part.references[name]
        scores.append([np.mean([anchors[field].score(of_side[field]) for field in of_side], axis=0) for of_side in points])
        mine, theirs = (np.mean([*of_side.values()], axis=(0, 2)) for of_side in points)
        of_games[name] = _figures(scores[-1:], lambda of_game: of_game.mean(axis=(1, 2))) | {"points": _ends(mine - theirs)}
    return {"games": of_games, "all": _figures(scores, interquartile_mean)}, unpaired


def seeds_drawn(seeds: int, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return the seeds as they are, followed by the resampled seeds of each replicate: int64, shape (1 + count, seeds)."""
    return np.concatenate([[np.arange(seeds)], rng.integers(seeds, size=(count, seeds))])


def resample_points(
    part: Part, game: str, entries: Sequence[Scored], seeds: Sequence[np.ndarray], rng: np.random.Generator
) -> tuple[list[dict[str, Drawn]], bool]:
    """Return the mean points of the resampled `seeds` of both entries by field, and whether their deals are paired."""
    count = len(seeds[0]) - 1
    stored = [read_points(part, game, entry) for entry in entries]
    deals = [{field: points.shape[1] for field, points in of_side.items()} for of_side in stored]
    is_paired = deals[0] == deals[1] and bool(deals[0])
    if is_paired:
        most = max(deals[0].values())
        times = np.concatenate([np.ones((1, most)), deals_drawn(most, len(part.settings(game)), count, rng)])
    drawn = list[dict[str, Drawn]]()
    for entry, of_side, who in zip(entries, stored, seeds, strict=True):
        shift = np.concatenate([[0], rng.normal(size=count)])[:, None]
        means = dict[str, Drawn]()
        for field in part.fields:
            if is_paired:
                means[field.name] = means_drawn(of_side[field.name], times)
            else:
                cells = entry.cells(part.name, game, field.name)
                points, errors = (np.array([cell[what] for cell in cells]) for what in ("points", "error"))
                means[field.name] = points + shift * errors
        drawn.append({field: np.take_along_axis(of_field, who, axis=1) for field, of_field in means.items()})
    return drawn, is_paired


def read_points(part: Part, game: str, entry: Scored) -> dict[str, np.ndarray]:
    """Return the points of the deals by field, float64, shape (seeds, deals); empty if any of the scored deals are missing."""
    points = dict[str, np.ndarray]()
    for field in part.fields:
        cells = zip(entry.entry.seeds, entry.cells(part.name, game, field.name), strict=True)
        rows = [stored_points(Place(part, game, seed, field), figures, entry.folder) for seed, figures in cells]
        if any(row is None for row in rows):
            return {}
        points[field.name] = np.array(rows)
    return points


def _figures(scores: Sequence[Sequence[Drawn]], over: Callable[[np.ndarray], np.ndarray]) -> dict[str, Any]:
    """Return the difference of the scores and the probability of improvement, from the scores of both entries in each game.

    `over` averages over games and seeds, from shape (1 + count, games, seeds) to shape (1 + count,).
    """
    mine, theirs = (np.stack(of_side, axis=1) for of_side in zip(*scores, strict=True))
    return {"score": _ends(over(mine) - over(theirs)), "improvement": _ends(improvement(mine, theirs))}


def _ends(figure: Drawn) -> dict[str, float]:
    return interval(figure[0], figure[1:])
