"""Entries of the benchmark, scored by the command, and protocols with less of everything."""

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from noms_training.benchmark.protocol import PROTOCOLS, V1, Field
from noms_training.benchmark.scores import read_scores
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
"""In the file of an algorithm: a player that takes the first legal action."""


def scored_entry(folder: Path, run: Run, *words: object) -> dict[str, Any]:
    """Score an entry of protocol 1."""
    protocol = ("--protocol", 1) if "--player" in words else ()
    status, out, err = run("benchmark", "score", folder, *words, *protocol, "--threads", 1)
    assert status == 0, err
    assert "these games" in out or "all games" in out
    return read_scores(folder)


def _searches(field: Field) -> bool:
    return any(":" in name for name in (field.name, *field.pool))


def make_small(
    monkeypatch: pytest.MonkeyPatch,
    deals: int,
    games: Collection[str] | None = None,
    tracks: Collection[str] = ("core",),
    name: str = V1,
) -> None:
    """Put a protocol with few deals, two where players search, and some of the tracks and games in the place of one."""
    whole = PROTOCOLS[name]
    kept = tuple(game for game in whole.games if games is None or game in games)
    parts = {
        part.name: replace(
            part,
            fields=tuple(replace(field, deals=2 if _searches(field) else deals) for field in part.fields),
            games=tuple(game for game in part.games if game in kept),
        )
        for part in whole.parts.values()
        if part.track in tracks
    }
    usual = tuple(track for track in whole.usual if track in tracks)
    monkeypatch.setitem(PROTOCOLS, name, replace(whole, parts=parts, games=kept, usual=usual))
