"""Entries of the benchmark, scored by the command."""

from pathlib import Path
from typing import Any

from noms_training.benchmark.scores import read_scores
from tests.commands import Run

DEALS = 6
SMALL = ("down_up", "nonesuch")


def scored_entry(folder: Path, run: Run, *words: object) -> dict[str, Any]:
    status, out, err = run("benchmark", "score", folder, *words, "--threads", 1)
    assert status == 0, err
    assert "these games" in out or "all games" in out
    return read_scores(folder)
