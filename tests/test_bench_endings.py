"""The measure of the endings: what it counts, and that the newest rules lose less there than the first."""

import csv
from pathlib import Path

import numpy as np
import pytest

from benchmarks import endings
from noms_env.variants import VARIANTS


def test_a_card_is_better_if_the_worlds_say_so_and_gains_what_it_gains_in_truth() -> None:
    values = np.array([[10, 30, 20], [10, 30, 90], [10, 50, 0], [10, 30, 0], [30, 10, 40]])
    assert endings.clear_gain(values, 0, 10) == (True, -2.0), "the second is clearly best in four worlds, and loses in truth"
    assert endings.clear_gain(values, 1, 10) == (False, 0.0)


def test_every_game_has_its_kinds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    endings.main(endings.Args(tmp_path, deals=6, worlds=4))
    with (tmp_path / "endings.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["game"] for row in rows} == set(VARIANTS)
    assert all(row["kind"].startswith(("2 left, ", "3 left, ")) for row in rows)
    assert all(int(row["better"]) <= int(row["positions"]) for row in rows)
    losses = [float(row["lost"]) for row in rows]
    assert losses == sorted(losses, reverse=True)
    assert (tmp_path / "endings.md").read_text() in capsys.readouterr().out


def test_looking_ahead_leaves_less_to_gain(tmp_path: Path) -> None:
    lost = {}
    for version in (1, 2):
        args = endings.Args(tmp_path, games=("up_down",), deals=600, worlds=20, version=version)
        lost[version] = sum(float(row["lost"]) for row in endings.rows_of("up_down", args))
    assert lost[1] > 300
    assert lost[2] < 0.75 * lost[1]
