"""Damaged tables and benchmark entries end in the documented errors."""

import json
import shutil
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import Mock, patch

import pytest
from hypothesis import strategies as st

from noms_training.benchmark.checking import complaints, unchecked
from noms_training.benchmark.entry import EntryError
from noms_training.benchmark.figures import curves_of
from noms_training.benchmark.report import read_scored, sections
from noms_training.benchmark.scores import read_times
from noms_training.play.browser.live import SPEEDS, table_from
from noms_training.play.browser.lobby import Lobby
from tests.fuzz import fuzzed, is_refused
from tests.training.table_browsers import some_table
from tests.training.test_fuzz_files import damaged, replace_file, spoil

ENTRY = Path(__file__).parent.parent.parent / "benchmarks" / "entries" / "1" / "ppo"
TABLES = [some_table(actions, variant).to_json() for variant, actions in (("small_ships", 3), ("noms", 40), ("down_up", 70))]
LOBBY = Lobby()


def damaged_json(draw: Any, text: str) -> bytes:
    """Return JSON with other values, or with damaged bytes."""
    document = json.loads(text)
    for _ in range(draw(st.integers(0, 2))):
        spoil(draw, document)
    content = json.dumps(document).encode()
    return damaged(draw, content) if content and draw(st.booleans()) else content


@fuzzed(60, 15_000)
def test_tables(data: st.DataObject) -> None:
    text = damaged_json(data.draw, data.draw(st.sampled_from(TABLES))).decode(errors="replace")
    try:
        table = table_from(text, LOBBY.check)
    except ValueError:
        return
    assert table_from(table.to_json(), LOBBY.check).moment == table.moment
    assert SPEEDS[0] <= table.speed <= SPEEDS[1]
    for seat in (None, *range(table.rules.seats)):
        table.view(seat)
    table.seat_of("nobody")
    assert {*table.people} >= {seat for seat, player in enumerate(table.session.players) if player is None}


@pytest.fixture(scope="module")
def entry(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shutil.copytree(ENTRY, tmp_path_factory.mktemp("fuzz") / "entry")


FILES = ("entry.json", "scores.json", "times.json", "trained/noms/1/run.json", "trained/noms/1/curve.csv")


@fuzzed(30, 3_000)
def test_entries(entry: Path, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(FILES))
    file = entry / name
    text = file.read_text()
    replace_file(file, damaged_json(data.draw, text) if file.suffix == ".json" else damaged(data.draw, text.encode()))
    try:
        for read in (complaints, unchecked, lambda folder: read_scored([folder])):
            is_refused(partial(read, entry), EntryError)
        read_times(entry)
        no_picture = Mock(return_value=b"")  # a real one takes long
        with patch.multiple("noms_training.benchmark.figures", draw_profiles=no_picture, draw_runs=no_picture):
            is_refused(partial(report, entry), EntryError)
    finally:
        replace_file(file, text.encode())


def report(folder: Path) -> None:
    (scored,) = read_scored([folder])
    assert list(sections([scored]))
    curves_of(scored.entry, folder)
