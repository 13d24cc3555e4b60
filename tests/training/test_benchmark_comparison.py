"""Comparison of two entries: figures by hand, with and without the points of the deals, and refusals."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from noms_training.benchmark.cells import UNIT, Cell
from noms_training.benchmark.comparison import compare, improvement, seeds_drawn
from noms_training.benchmark.entry import Entry, write_entry
from noms_training.benchmark.protocol import PROTOCOLS, V1, V2, References
from noms_training.benchmark.report import Scored, read_scored
from noms_training.benchmark.scores import scored, summary, write_scores
from tests.commands import Run, assert_refused
from tests.training.entries import set_references

CORE = PROTOCOLS[V1].parts["core"]
GAMES = ("noms", "down_up")


def make_scored(
    folder: Path, gain: float, seeds: tuple[int, ...] = (0,), spread: float = 0.0, games: tuple[str, ...] = GAMES
) -> Scored:
    """Write a scored entry that has the same luck in every deal as any other, and `gain` more points per deal."""
    entry, cells = Entry(folder.name, "fixed", "thumb", games, seeds, protocol=V1), list[Cell]()
    write_entry(folder, entry)
    for place in PROTOCOLS[V1].places(games, seeds, ["core"]):
        luck = np.random.default_rng(len(place.game)).normal(0, 3, place.field.deals)
        points = luck + gain + spread * (place.seed - np.mean(seeds))
        cells.append(Cell(*place, None, None, {0: [*map(int, np.rint(points * UNIT))]}))
        cells[-1].save(folder)
    write_scores(folder, scored(entry, cells))
    return read_scored([folder])[0]


def test_the_probability_of_improvement_by_hand() -> None:
    mine, theirs = np.array([[1.0, 2.0], [0.0, 0.0]]), np.array([[0.0, 1.5], [0.0, 1.0]])
    assert improvement(mine, theirs) == (3 / 4 + (0.5 + 0.5) / 4) / 2
    rng = np.random.default_rng(0)
    mine, theirs = rng.integers(9, size=(7, 3)).astype(float), rng.integers(9, size=(7, 10)).astype(float)
    rank_statistic = np.mean([mannwhitneyu(*pair).statistic / 30 for pair in zip(mine, theirs, strict=True)])
    assert improvement(mine, theirs) == pytest.approx(rank_statistic)
    assert improvement(np.stack([mine] * 4), np.stack([theirs] * 4)).tolist() == pytest.approx([rank_statistic] * 4)


def test_luck_cancels_on_the_same_deals(tmp_path: Path) -> None:
    better, worse = make_scored(tmp_path / "better", 0.1), make_scored(tmp_path / "worse", 0.0)
    document = compare(better, worse, 100)
    assert document["notes"] == []
    for game, figures in document["parts"]["core"]["games"].items():
        score = np.mean([0.1 / (pair.one - pair.zero) for pair in CORE.references[game].values()])
        for key, value in {"points": 0.1, "score": score, "improvement": 1}.items():
            assert [*figures[key].values()] == pytest.approx([value] * 3, abs=1e-6), (game, key)
    shutil.rmtree(worse.folder / "cells")
    unpaired = compare(better, worse, 400)
    assert "the points of the deals of noms, down_up are not kept" in unpaired["notes"][0]
    points = unpaired["parts"]["core"]["games"]["noms"]["points"]
    assert points["value"] == pytest.approx(0.1, abs=1e-6)
    width = 2 * 1.96 * 2**0.5 * 3 / 2048**0.5
    assert points["high"] - points["low"] == pytest.approx(width, rel=0.2)


def test_the_interval_has_the_spread_of_seeds(tmp_path: Path) -> None:
    several, single = make_scored(tmp_path / "many", 0.0, (1, 2, 3), 1.0), make_scored(tmp_path / "one", 0.5)
    figures = compare(several, single, 1000)["parts"]["core"]["games"]["noms"]
    assert figures["points"] == pytest.approx({"value": -0.5, "low": -1.5, "high": 0.5}, abs=0.01), "1 1 1 and 3 3 3"
    assert figures["improvement"] == pytest.approx({"value": 1 / 3, "low": 0, "high": 1}, abs=1e-9)
    draws = seeds_drawn(3, 5, np.random.default_rng(0))
    assert (draws.shape, draws[0].tolist()) == ((6, 3), [0, 1, 2])


def test_the_command_compares_the_games_of_both_entries(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    make_scored(tmp_path / "mine", 1.0)
    make_scored(tmp_path / "theirs", 0.0, games=("noms",))
    status, out, err = run("benchmark", "compare", tmp_path / "mine", tmp_path / "theirs", "--json", tmp_path / "c.json")
    assert (status, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 80
    assert "only mine has the games down_up" in out
    document = json.loads((tmp_path / "c.json").read_text())
    assert (document["mine"], document["theirs"], [*document["parts"]["core"]["games"]]) == ("mine", "theirs", ["noms"])
    points = document["parts"]["core"]["games"]["noms"]["points"]["value"]
    assert [line.split()[-5] for line in out.splitlines() if line.startswith("noms ")] == [f"{points:+.2f}"] == ["+1.00"]
    scores = tmp_path / "mine" / "scores.json"
    refused = run("benchmark", "compare", tmp_path / "mine", tmp_path / "theirs", "--json", scores)
    assert_refused(refused, f"cannot write {scores}: this command reads it; give it another name")
    make_scored(tmp_path / "other", 0.0, games=("down_up",))
    for pair, sentence in {
        ("other", "theirs"): "in no game of the same track",
        ("mine", "nowhere"): "there is no entry in",
    }.items():
        assert_refused(run("benchmark", "compare", *(tmp_path / name for name in pair)), sentence)


def test_replicates_draw_the_seeds_of_a_generalist_together(monkeypatch: pytest.MonkeyPatch) -> None:
    part = PROTOCOLS[V2].parts["generalist"]
    set_references(monkeypatch, {(V2, "generalist"): {name: {"thumb": References(0, 1)} for name in part.games}})
    values = {name: {"thumb": np.repeat([[0.0], [1.0], [2.0]], 120, axis=1)} for name in part.games}
    together, apart = (summary(each, values, 500)["all"]["mean"] for each in (part, replace(part, run="game")))
    assert together["value"] == apart["value"] == pytest.approx(1)
    assert together["high"] - together["low"] > 1.4
    assert apart["high"] - apart["low"] < 1
