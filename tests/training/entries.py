"""Helpers for the tests of the benchmark: entries scored by the command, short protocols, and edits of JSON files."""

import json
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from noms_training.benchmark import protocol, scores
from noms_training.benchmark.cells import cells_of_entry, play_cells
from noms_training.benchmark.entry import read_entry
from noms_training.benchmark.protocol import PROTOCOLS, V1, Field, References
from noms_training.benchmark.scores import read_scores, scored, write_scores
from tests.commands import Run

DEALS = 6
SMALL = ("down_up", "nonesuch")
FIRST = """

class First:
    wants_tables = False

    def act(self, observation, mask, seeds, *, tables=None):
        return mask.argmax(axis=-1)


def player(folder):
    return First()
"""
"""Part of an algorithm file: a player that takes the first legal action."""


def score_entry(folder: Path, run: Run, *words: object) -> dict[str, Any]:
    """Score an entry of protocol 1 and return its scores."""
    version = ("--protocol", 1) if "--player" in words else ()
    status, out, err = run("benchmark", "score", folder, *words, *version, "--threads", 1)
    assert status == 0, err
    assert "these games" in out or "all games" in out
    return read_scores(folder)


def play_and_score(folder: Path) -> None:
    """Score an entry without the command, so that a module-scoped fixture can."""
    entry = read_entry(folder)
    playing = cells_of_entry(entry, folder, PROTOCOLS[entry.protocol].parts, kept=folder)
    assert play_cells(playing, folder)[0] == "all"
    write_scores(folder, scored(entry, [each.cell for each in playing]))


def edit_json(file: Path, change: Callable[[dict[str, Any]], object]) -> None:
    document = json.loads(file.read_text())
    change(document)
    file.write_text(json.dumps(document))


def update_json(file: Path, **values: Any) -> None:
    edit_json(file, lambda document: document.update(values))


def set_references(
    monkeypatch: pytest.MonkeyPatch, references: dict[tuple[str, str], dict[str, dict[str, References]]]
) -> None:
    """Replace the references of some parts: {(protocol, part): {game: {field: references}}}."""
    everything = protocol._references() | references
    monkeypatch.setattr(protocol, "_references", lambda: everything)


def make_small(
    monkeypatch: pytest.MonkeyPatch,
    deals: int,
    games: Collection[str] | None = None,
    tracks: Collection[str] = ("core",),
    name: str = V1,
) -> None:
    """Shorten a protocol: few deals (2 among searching players), few replicates, and only some tracks and games."""
    whole = PROTOCOLS[name]
    some_games = tuple(game for game in whole.games if games is None or game in games)

    def searches(field: Field) -> bool:
        return any(":" in player for player in (field.name, *field.pool))

    parts = {
        part.name: replace(
            part,
            fields=tuple(replace(field, deals=2 if searches(field) else deals) for field in part.fields),
            games=tuple(game for game in part.games if game in some_games),
        )
        for part in whole.parts.values()
        if part.track in tracks
    }
    usual = tuple(track for track in whole.usual if track in tracks)
    monkeypatch.setitem(PROTOCOLS, name, replace(whole, parts=parts, games=some_games, usual=usual))
    monkeypatch.setattr(scores.summary, "__defaults__", (50,))
