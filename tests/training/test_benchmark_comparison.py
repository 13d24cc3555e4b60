"""Two entries compared: figures by hand, deals that are the same or not kept, and what does not compare."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from noms_training.benchmark import protocol
from noms_training.benchmark.cells import UNIT, Cell
from noms_training.benchmark.comparison import compare, improvement, seeds_drawn
from noms_training.benchmark.entry import Entry, write_entry
from noms_training.benchmark.protocol import PROTOCOLS, V1, V2, References
from noms_training.benchmark.report import Scored, read_scored
from noms_training.benchmark.scores import scored, summary, write_scores
from tests.commands import Run, assert_refused

CORE = PROTOCOLS[V1].parts["core"]
GAMES = ("noms", "down_up")


def make_scored(
    folder: Path, gain: float, seeds: tuple[int, ...] = (0,), spread: float = 0.0, games: tuple[str, ...] = GAMES
) -> Scored:
    """An entry as if it had been scored: on every deal the same luck as any other, and so many points more."""
    entry, cells = Entry(folder.name, "fixed", "thumb", games, seeds, protocol=V1), list[Cell]()
    write_entry(folder, entry)
    for place in PROTOCOLS[V1].places(games, seeds, ["core"]):
        luck = np.random.default_rng(len(place.game)).normal(0, 3, place.field.deals)
        own = gain + spread * (place.seed - np.mean(seeds))
        cells.append(Cell(*place, None, None, {0: [*map(int, np.rint((luck + own) * UNIT))]}))
        cells[-1].save(folder)
    write_scores(folder, scored(entry, cells))
    return read_scored([folder])[0]


def test_the_probability_of_improvement_by_hand() -> None:
    mine, theirs = np.array([[1.0, 2.0], [0.0, 0.0]]), np.array([[0.0, 1.5], [0.0, 1.0]])
    assert improvement(mine, theirs) == (3 / 4 + (0.5 + 0.5) / 4) / 2
    rng = np.random.default_rng(0)
    mine, theirs = rng.integers(9, size=(7, 3)).astype(float), rng.integers(9, size=(7, 10)).astype(float)
    of_rliable = np.mean([mannwhitneyu(*pair).statistic / 30 for pair in zip(mine, theirs, strict=True)])
    assert improvement(mine, theirs) == pytest.approx(of_rliable)
    assert improvement(np.stack([mine] * 4), np.stack([theirs] * 4)).tolist() == pytest.approx([of_rliable] * 4)


def test_on_the_same_deals_luck_makes_no_difference(tmp_path: Path) -> None:
    better, worse = make_scored(tmp_path / "better", 0.1), make_scored(tmp_path / "worse", 0.0)
    document = compare(better, worse, 100)
    assert document["notes"] == []
    for game, figures in document["parts"]["core"]["games"].items():
        for what, wanted in {
            "points": 0.1,
            "score": np.mean([0.1 / (pair.one - pair.zero) for pair in CORE.references[game].values()]),
            "improvement": 1,
        }.items():
            assert [*figures[what].values()] == pytest.approx([wanted] * 3, abs=1e-6), (game, what)
    shutil.rmtree(worse.folder / "cells")
    unpaired = compare(better, worse, 400)
    assert "the points of the deals of noms, down_up are not kept" in unpaired["notes"][0]
    points = unpaired["parts"]["core"]["games"]["noms"]["points"]
    assert points["value"] == pytest.approx(0.1, abs=1e-6)
    width = 2 * 1.96 * 2**0.5 * 3 / 2048**0.5
    assert points["high"] - points["low"] == pytest.approx(width, rel=0.2)


def test_the_spread_of_seeds_is_in_the_interval(tmp_path: Path) -> None:
    many, one = make_scored(tmp_path / "many", 0.0, (1, 2, 3), 1.0), make_scored(tmp_path / "one", 0.5)
    figures = compare(many, one, 1000)["parts"]["core"]["games"]["noms"]
    assert figures["points"] == pytest.approx({"value": -0.5, "low": -1.5, "high": 0.5}, abs=0.01), "1 1 1 and 3 3 3"
    assert figures["improvement"] == pytest.approx({"value": 1 / 3, "low": 0, "high": 1}, abs=1e-9)
    drawn = seeds_drawn(3, 5, np.random.default_rng(0))
    assert (drawn.shape, drawn[0].tolist()) == ((6, 3), [0, 1, 2])


def test_two_players_by_the_command(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    make_scored(tmp_path / "other", 0.0, games=("down_up",))
    for words, sentence in {
        ("other", "theirs"): "other and theirs are scored in no game of the same track",
        ("mine", "nowhere"): "there is no entry in",
    }.items():
        assert_refused(run("benchmark", "compare", *(tmp_path / word for word in words)), sentence)


def test_the_seeds_of_a_policy_for_all_games_are_drawn_together(monkeypatch: pytest.MonkeyPatch) -> None:
    part = PROTOCOLS[V2].parts["generalist"]
    references = {(V2, "generalist"): {name: {"thumb": References(0, 1)} for name in part.games}}
    monkeypatch.setattr(protocol, "_references", lambda: references)
    values = {name: {"thumb": np.repeat([[0.0], [1.0], [2.0]], 120, axis=1)} for name in part.games}
    together, apart = (summary(each, values, 500)["all"]["mean"] for each in (part, replace(part, run="game")))
    assert together["value"] == apart["value"] == pytest.approx(1)
    assert together["high"] - together["low"] > 1.4
    assert apart["high"] - apart["low"] < 1
