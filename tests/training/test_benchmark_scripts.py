"""The scripts that measure the references of the benchmark, and how often two entries of the same player agree."""

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import benchmark_references as references
from benchmarks import same_player
from noms_training.benchmark import cells
from noms_training.benchmark.protocol import V2
from tests.training.entries import SMALL, make_small


def test_references_are_the_points_of_zero_and_the_gain_of_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make_small(monkeypatch, 6, SMALL, ("generalist",), V2)
    file = tmp_path / "references.json"
    file.write_text(json.dumps({V2: {"strangers": {"noms": {"strangers": [1, 2]}}}}))
    args = references.Args(tmp_path, ("generalist",), ("thumb",), deals=3, threads=1, file=file)
    references.main(args)
    measured = json.loads(file.read_text())[V2]
    assert measured["strangers"] == {"noms": {"strangers": [1, 2]}}, "the other parts keep their references"
    first = {"down_up": [0, 2, 4], "nonesuch": [0, 1, 2]}
    for game, numbers in first.items():
        zero, one = (
            cells.read_cell(json.loads((tmp_path / name / f"cells/generalist/{game}/0/thumb.json").read_text()))
            for name in ("zero", "one")
        )
        assert (zero.deals, one.deals) == (6, 3)
        gain = np.mean(one.values - zero.values[numbers])
        assert measured["generalist"][game]["thumb"] == pytest.approx([zero.values.mean(), zero.values.mean() + gain, 3])
    output, before = capsys.readouterr().out, file.read_bytes()
    monkeypatch.delattr(cells, "play_block")
    references.main(args)
    assert (capsys.readouterr().out, file.read_bytes()) == (output, before), "nothing is played again"


def test_the_entries_of_a_pair_share_no_deals(monkeypatch: pytest.MonkeyPatch) -> None:
    make_small(monkeypatch, 6, SMALL, ("single_game",), V2)
    args = same_player.Args("greedy", ("single_game",), SMALL, deals=5, searched_deals=1, threads=1)
    playing = same_player.cells_of(args, "single_game")
    deals = {each.cell.field.name: each.cell.field.deals for each in playing}
    assert deals == {"thumb": 5, "policy": 5, "pimc:20": 1, "mixture": 1}
    sides = [same_player.apart(playing[0], number) for number in (1, 1, 2)]
    cells.play_cells(sides, None)
    assert np.array_equal(sides[0].cell.values, sides[1].cell.values)
    assert not np.array_equal(sides[0].cell.values, sides[2].cell.values)
    assert not playing[0].cell.deals


def test_two_figures_agree_within_the_interval_of_their_difference() -> None:
    figure, near, far = ({"value": value, "low": value - 3, "high": value + 3} for value in (0.0, 4.2, 4.3))
    assert same_player.agree(figure, near)
    assert not same_player.agree(figure, far)
