"""Short names for tables and pictures."""

import warnings
from dataclasses import replace
from pathlib import Path

import pytest

from noms_training.evaluation.tournament import Folder, play_tournament, results_of
from noms_training.publish.plots import draw_heatmap
from noms_training.text import LONGEST, short_names
from tests.training.test_tournament import NAMES, plan, small

DEEP = "/somewhere/" + "quite/deep/" * 12


@pytest.mark.parametrize(
    ("names", "short"),
    [
        (["thumb", "pimc:100"], ["thumb", "pimc:100"]),
        (["checkpoints/noms/policy.safetensors", "thumb"], ["policy.safetensors", "thumb"]),
        (["runs/a/policy.safetensors@0", "runs/b/policy.safetensors@0"], ["a/policy.safetensors@0", "b/policy.safetensors@0"]),
        (["cmd:/usr/bin/python -IS /x/bot.py", "/x/own.py:make"], ["cmd:python -IS bot.py", "own.py:make"]),
        (["a" * 30 + "x" + "a" * 30, "a" * 30 + "y" + "a" * 30], [f"{'a' * 7}…{'a' * 16} ({number})" for number in (1, 2)]),
        (["/a/b", "/a//b"], ["a/b", "/b"]),
    ],
)
def test_names_are_short_and_different(names: list[str], short: list[str]) -> None:
    assert short_names(names) == short
    assert len(set(short)) == len(names)
    assert all(len(one) <= LONGEST + 4 for one in short)


def test_a_picture_with_long_names_has_room_for_its_cells(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "tournament")
    of = plan(4)
    folder.begin(of)
    assert play_tournament(of, [small(name) for name in NAMES], folder) == "all"
    results = results_of(of, [small(name) for name in NAMES], folder)
    assert results is not None
    long = replace(results, plan=replace(of, players=tuple(f"{DEEP}{'long' * 40}.py:{name}" for name in NAMES)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        draw_heatmap(long, tmp_path / "heat.png")
    assert (tmp_path / "heat.png").read_bytes().startswith(b"\x89PNG")
