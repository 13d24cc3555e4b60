"""Checks of entries: completeness, consistency of the scores, and reproduction by playing cells again."""

from __future__ import annotations

import csv
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from noms_env._files import read_file
from noms_env.core.actions import brief

from ..agents.registry import agent_spec, file_sha256, is_program
from ..text import count
from .cells import CELLS, Cell, Playing, Run, cells_of_entry, joint_sha256, play_cells, stored_cell, stored_points
from .entry import (
    ALGORITHM,
    CURVE,
    OF_A_RUN,
    PLAYER,
    RUN,
    RUN_PATTERN,
    Entry,
    EntryError,
    algorithm_of,
    files_sha256,
    machine,
    read_entry,
    read_json,
    run_files,
    run_folder,
    sha256_of,
    versions,
)
from .protocol import DEAL_SET, PROTOCOLS, V1
from .scores import cross_play, deals_sha256, figures_of, has_references, places_of, read_scores, scored, summary, values_of
from .task import PLAYER_FILE

OVER_BUDGET = 1.05
"""Largest fraction of the budget that a run may use, since it may finish its last iteration."""
CURVE_TO = 0.9
"""Fraction of the decisions that a learning curve must reach."""
DIGITS = 1e-9
"""Tolerance for sums in a different order."""
MAX_DIFFERENT = 0.05
"""Largest fraction of the deals of a cell that may differ by the rounding of a network."""
ONE_SIDED = 2.58
"""Critical value (1 %) for a sum of symmetric differences, in roots of the sum of their squares."""


def complaints(folder: Path) -> list[str]:
    """Return everything that is missing or wrong in an entry, without playing, as sentences; EntryError if it has no scores."""
    entry, document = read_entry(folder), read_scores(folder)
    faults = [*_of_entry(entry, folder), *_of_scores(entry, document)]
    return faults or [*_of_policies(entry, folder, document), *_of_sums(entry, document), *_of_cells(entry, folder, document)]


def unchecked(folder: Path, played: Sequence[Playing] = ()) -> list[str]:
    """Return the gaps of a check that has `played` cells again, as sentences; an entry may lack policies and deals."""
    entry, document, gaps = read_entry(folder), read_scores(folder), list[str]()
    cells, others = len(places_of(entry, document)), _count_others(document, played)
    runs, absent = len(entry.runs), len(runs_absent(entry, folder))
    if absent:
        whose = "the policies" if absent == runs else f"the policies of {absent} of {runs} runs"
        gaps.append(f"{whose} are not here: {'no cell' if absent == runs else 'none of their cells'} can be played again")
    if entry.source and not algorithm_of(folder).is_file():
        gaps.append(f"{ALGORITHM} is not here: it is {entry.source} in the repository of noms-env, SHA-256 {entry.algorithm}")
    if not (folder / CELLS).is_dir() and (others or len(played) < cells):
        gaps.append("the points of the deals are not here: the intervals cannot be recomputed")
    if others:
        gaps.append(
            f"{others} of {count(len(played), 'cell')} came to other points here, within their intervals: another processor "
            "or version may change a few deals, and it cannot be verified that this is the reason"
        )
    if not played and not gaps:
        gaps.append("no cell was played again: the points are those that the files say")
    elif 0 < len(played) < cells:
        gaps.append(f"{cells - len(played)} of {cells} cells were not played again: their points are what the files say")
    return gaps


def _count_others(document: Mapping[str, Any], played: Sequence[Playing]) -> int:
    """Count the cells whose points differ from the published ones."""
    return sum(figures_of(document, replay.cell.place)["sha256"] != replay.cell.sha256 for replay in played)


def runs_absent(entry: Entry, folder: Path) -> set[Run]:
    """Return the runs whose players are missing; runs no code of the entry to find out."""

    def is_here(name: str) -> bool:
        file = Path(name.rpartition(":")[0])
        if is_program(name):
            own = entry.player != OF_A_RUN or (algorithm_of(folder).is_file() and bool(run_files(file.parent)))
            return file.suffix != ".py" or (file.is_file() and own)
        try:
            agent_spec(name)
        except ValueError:
            return False
        return True

    return {run for run in entry.runs if not is_here(entry.player_name(folder, *run))}


def _of_entry(entry: Entry, folder: Path) -> Iterator[str]:
    protocol = PROTOCOLS[entry.protocol]
    missing = [name for name in protocol.games if name not in entry.games]
    if missing:
        yield f"the games {', '.join(missing)} are missing"
    if len(entry.seeds) < entry.least_seeds:
        yield f"the division {entry.division} needs {entry.least_seeds} seeds or more, not {len(entry.seeds)}"
    if entry.division == "fixed":
        return
    if not entry.budget:
        yield f"{folder} does not say with which budget it was trained"
        return
    if protocol.budgets and entry.budget not in protocol.budgets:
        yield f"the budget must be one of {', '.join(protocol.budgets)}, not {entry.budget}"
    own = folder / ALGORITHM
    if not entry.algorithm or (sha256_of(own) != entry.algorithm if own.is_file() else not entry.source):
        yield f"{own} is not the file that the runs were made with"
    for name, seed in entry.runs:
        yield from _of_run(entry, run_folder(folder, name, seed))


def _of_run(entry: Entry, run: Path) -> Iterator[str]:
    try:
        document = read_json(run / RUN, f"the run {run} is not complete", RUN_PATTERN)
        budget = PROTOCOLS[entry.protocol].budget_of_run(entry.budget, run.parent.name)
        used = budget.share(document["decisions"], document["cpu_seconds"])
    except ValueError as error:
        yield str(error)
        return
    files, is_new = run_files(run), entry.protocol != V1
    if (document["game"], str(document["seed"])) != (run.parent.name, run.name):
        yield f"{run / RUN} is that of another run"
    if document["budget"] != str(budget):
        yield f"{run} had the budget {brief(document['budget'])}, not {budget}"
    if used > OVER_BUDGET:
        yield f"{run} has used {used:.2f} times the budget {entry.budget}"
    if files and files_sha256(run, files) != document["files_sha256"]:
        yield f"the files in {run} are not those that the run has made"
    if is_new and (run / PLAYER).is_file() and read_file(run / PLAYER).decode(errors="replace") != PLAYER_FILE:
        yield f"{run / PLAYER} is not the file that every run has"
    if not (run / CURVE).is_file():
        yield f"{run} has no learning curve ({CURVE})"
    elif is_new and sha256_of(run / CURVE) != document.get("curve_sha256"):
        yield f"{run / CURVE} is not the learning curve of the run"
    elif not CURVE_TO * document["decisions"] <= _end_of_curve(run / CURVE) <= document["decisions"]:
        yield f"{run / CURVE} does not end with the run, after {document['decisions']:,} decisions"


def _end_of_curve(file: Path) -> float:
    """Return the decisions of the last point of a learning curve, or NaN."""
    try:
        *_, last = csv.DictReader(read_file(file).decode().splitlines())
        return float(last["decisions"])
    except (ValueError, TypeError, LookupError, csv.Error):
        return math.nan


def _of_scores(entry: Entry, document: Mapping[str, Any]) -> Iterator[str]:
    if document.get("trial"):
        yield "the scores are of a trial with fewer deals than the protocol has"
    if document.get("second"):
        yield "the scores are of other deals than those of the protocol"
    about = {"name": entry.name, "division": entry.division, "budget": entry.budget, "seeds": [*entry.seeds]}
    about["protocol"] = entry.protocol
    for what, value in about.items():
        if document[what] != value:
            yield f"the scores are of another {what} than the entry"
    if document["protocol"] != entry.protocol:
        return
    protocol = PROTOCOLS[entry.protocol]
    for part in (protocol.parts[name] for name in document["parts"]):
        sha256 = document["deals"]["sha256"].get(part.name, {})
        for name in entry.games:
            if name in part.games and sha256.get(name) != deals_sha256(part, name):
                yield f"the scores of {name} are of other deals than those of the set {DEAL_SET}"
    needed = {part.name: part for part in map(protocol.parts.__getitem__, protocol.parts_of(entry.tracks))}
    for part in needed.values():
        is_played = any(part.fields_of(seed, entry.seeds) for seed in entry.seeds) and set(part.games) & {*entry.games}
        is_meant = part.kind != "other" or entry.other_player
        if is_played and is_meant and part.name not in document["parts"]:
            yield f"the part {part.name} is not scored"
    places = places_of(entry, document)
    for place in places:
        if figures_of(document, place).get("deals") != place.field.deals:
            where = f"{place.game}, seed {place.seed}, field {place.field.name}"
            yield f"{where} is not scored on {place.field.deals} deals"
    if sum(len(fields) for part in document["cells"].values() for of in part.values() for fields in of.values()) > len(places):
        yield "the scores have cells that the entry has not"


def _of_sums(entry: Entry, document: Mapping[str, Any]) -> Iterator[str]:
    """Check that the scores, without intervals, follow from the points of the cells."""
    protocol = PROTOCOLS[entry.protocol]
    for part in (protocol.parts[name] for name in document["parts"]):
        places = [*protocol.places(entry.games, entry.seeds, (part.name,))]
        points = [(place, figures_of(document, place)["points"]) for place in places]
        if part.kind == "cross":
            means = ((place.game, place.seed, place.field.seed, mean) for place, mean in points)
            scores, sums = {"games": document["scores"][part.name]}, {"games": cross_play(means, entry.seeds)}
        elif has_references(part, entry):
            values = values_of((place, np.array([mean])) for place, mean in points)
            scores, sums = document["scores"][part.name] or {}, summary(part, values, 1)
        else:
            continue
        of_games = scores.get("games") or {}
        for name, game_sums in sums["games"].items():
            if not _agree(_without_intervals(of_games.get(name)), _without_intervals(game_sums)):
                yield f"the figures of {name} ({part.name}) do not follow from their points"
        if "all" in sums and not _agree(_without_intervals(scores.get("all")), _without_intervals(sums["all"])):
            yield f"the figures over all games ({part.name}) do not follow from their points"


def _without_intervals(figures: Any) -> Any:
    if isinstance(figures, Mapping):
        return {name: _without_intervals(value) for name, value in figures.items() if name not in ("low", "high")}
    return figures


def _of_policies(entry: Entry, folder: Path, document: Mapping[str, Any]) -> Iterator[str]:
    """Check that each run was scored with its own single policy, and that the fields have the protocol's policies."""
    protocol, scored_sha256 = PROTOCOLS[entry.protocol], defaultdict[Run, set[str | None]](set)
    for place in places_of(entry, document):
        figures = figures_of(document, place)
        scored_sha256[place.part.run_of(place.game), place.seed].add(figures["player_sha256"])
        known = [protocol.sha256_of(name) for name in protocol.players_of(place)] if place.field.seed is None else []
        if any(known) and figures["field_sha256"] != joint_sha256(known):
            yield f"the scores of {place.game}, seed {place.seed}, are among another policy than that of the protocol"
        if place.part.kind == "other" and figures["player_sha256"] is None:
            yield f"the player of the other convention in {place.game}, seed {place.seed}, is no policy"
    learns, seeds = entry.division != "fixed", defaultdict[tuple[str, str | None], list[int]](list)
    for (name, seed), hashes in scored_sha256.items():
        if learns:
            run = run_folder(folder, name, seed) / RUN
            trained = {read_json(run, f"{run.parent} is not complete", RUN_PATTERN)["files_sha256"]}
            if hashes != trained:
                yield f"the scores of {name}, seed {seed}, are of another policy than the run has made"
        elif len(hashes) > 1:
            yield f"the scores of {name}, seed {seed}, are of {len(hashes)} policies"
        for sha256 in hashes:
            seeds[name, sha256].append(seed)
    for (name, _), same in seeds.items():
        if learns and len(same) > 1:
            yield f"the seeds {', '.join(map(str, same))} of {name} have the same policy"


def _of_cells(entry: Entry, folder: Path, document: Mapping[str, Any]) -> Iterator[str]:
    """Check that the scores, with their intervals, follow from the points of the deals, if the entry has these."""
    if not (folder / CELLS).is_dir():
        return
    cells = [stored_cell(place, figures_of(document, place), folder) for place in places_of(entry, document)]
    try:
        figures = scored(entry, cells)
    except EntryError as error:
        yield f"the deals in {folder / CELLS} cannot be used: {error}"
        return
    for key, value in figures.items():
        if not _agree(document.get(key), value):
            yield f"{key} in the scores is not what the deals in {folder / CELLS} say"


def _agree(published: Any, measured: Any) -> bool:
    """Return whether two JSON values are equal up to rounding, which depends on the linear algebra library."""
    if isinstance(measured, float) and isinstance(published, (int, float)):
        return abs(published - measured) <= DIGITS
    if isinstance(measured, Mapping) and isinstance(published, Mapping):
        return published.keys() == measured.keys() and all(_agree(published[name], value) for name, value in measured.items())
    if isinstance(measured, (list, tuple)) and isinstance(published, (list, tuple)):
        return len(published) == len(measured) and all(map(_agree, published, measured))
    return bool(published == measured)


def sampled_cells(folder: Path, number: int | None, seed: int) -> list[Playing]:
    """Draw cells of an entry to play again, balanced over games; all cells if `number` is None.

    Cells whose players are missing are left out (`unchecked` reports them). EntryError if a player fails to load.
    """
    entry, document = read_entry(folder), read_scores(folder)
    playing = cells_of_entry(entry, folder, document["parts"], without=runs_absent(entry, folder))
    if number is None:
        return playing
    drawn = [playing[place] for place in np.random.default_rng(seed).permutation(len(playing))]
    ranks, counts = list[int](), Counter[str]()
    for candidate in drawn:
        counts[candidate.cell.game] += 1
        ranks.append(counts[candidate.cell.game])
    return [drawn[place] for place in np.argsort(ranks, kind="stable")[:number]]


def replayed(
    folder: Path, playing: Sequence[Playing], threads: int, tick: Callable[[int], None] = lambda deals: None
) -> list[str]:
    """Play cells again, and return the differences from the published scores as sentences.

    Without networks, or on the same machine with the same versions, the points of every deal must be equal. Otherwise the
    last digits of a network's sums may differ, and with them some decisions. Then the published means must lie within the
    intervals measured here, in each cell and over all cells that differ. The differences must not favour one side. If the entry
    has the points of its deals, few may differ (`MAX_DIFFERENT`). The published errors are not trusted. If all cells were
    played and have equal points, all scores are recomputed with their intervals. Ctrl-C raises KeyboardInterrupt.
    """
    entry, document = read_entry(folder), read_scores(folder)
    if play_cells(playing, None, threads=threads, tick=tick)[0] != "all":
        raise KeyboardInterrupt
    here = (document["machine"], document["versions"]) == (machine(), versions())
    cells, again = [in_play.cell for in_play in playing], list[Again]()
    for cell in cells:
        published = figures_of(document, cell.place)
        again.append(Again(cell, published, stored_points(cell.place, published, folder)))
    # Rounding may affect a policy, a search with one, and external code.
    exact = (here or not any(is_program(name) or file_sha256(name) for name in in_play.names) for in_play in playing)
    differences = [*filter(None, map(_difference, again, exact))]
    if differences or _count_others(document, playing) or len(playing) < len(places_of(entry, document)):
        return differences or [*_biases(again)]
    wrong = [key for key, value in scored(entry, cells).items() if not _agree(document.get(key), value)]
    return [f"{key} in the scores is not what the deals say that were played again" for key in wrong]


class Again(NamedTuple):
    """A cell played here, its published figures, and the published points of its deals, float64, shape (deals,), or None."""

    cell: Cell
    published: Mapping[str, Any]
    points: np.ndarray | None


def _difference(again: Again, exact: bool) -> str:
    """Return how a cell differs from its published figures, or "". If `exact`, every deal must have equal points."""
    cell, published = again.cell, again.published
    if (cell.player_sha256, cell.field_sha256) != (published["player_sha256"], published["field_sha256"]):
        return f"{cell.name}: the policy is not the one that was scored"
    here = cell.figures()
    if _agree(published, here):
        return ""
    width, same = 1.96 * here["error"], cell.sha256 == published["sha256"]
    if not exact and not same and all(abs(here[figure] - published[figure]) <= width for figure in ("points", "error")):
        others = 0 if again.points is None else int((again.points != cell.values).sum())
        if others <= MAX_DIFFERENT * cell.deals:
            return ""
        share = f"{others:,} of {cell.deals:,} deals"
        return f"{cell.name}: {share} came to other points when played again, more than rounding changes"
    texts = [f"{figures['points']:+.6f} (error {figures['error']:.6f})" for figures in (here, published)]
    return f"{cell.name}: {texts[0]} points a deal when played again, {texts[1]} published"


def _biases(again: Sequence[Again]) -> Iterator[str]:
    """Yield complaints if the published points favour one side beyond chance: over the cells that differ, or in most deals.

    Fields of one game and seed share deals and player, so their errors add up; errors of other cells are independent. A cell
    without the published points of its deals counts as one difference.
    """
    shift, errors, parts = 0.0, defaultdict[Run, float](float), list[np.ndarray]()
    for cell, published, points in again:
        difference = published["points"] - cell.values.mean()
        if cell.sha256 != published["sha256"]:
            shift += difference
            errors[cell.game, cell.seed] += cell.figures()["error"]
        parts.append(np.array([difference]) if points is None else (points - cell.values) / cell.deals)
    differences = np.concatenate([*parts, []])
    unit = "deals" if all(points is not None for *_, points in again) else "cells"
    for bias, limit, ending in (
        (shift, 1.96 * math.hypot(*errors.values()), ", over all cells by more than chance allows"),
        (differences.sum(), ONE_SIDED * math.hypot(*differences) + DIGITS, f" in more {unit} than chance allows"),
    ):
        if abs(bias) > limit:
            better = "better" if bias > 0 else "worse"
            yield f"the published points are {better} than those played again{ending}"
