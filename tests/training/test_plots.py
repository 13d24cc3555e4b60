"""`noms plot`: the curves, and refusals."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from noms_training.learn.log import Log
from noms_training.publish.plots import SMOOTHED, draw, panels_of, smooth
from tests.commands import Run, assert_refused
from tests.training.test_progress import EVALUATION, ITERATION

POINTS, KL = "eval/points/down_up_4/random", "losses/approx_kl"


@pytest.fixture
def run(run: Run) -> Run:
    return partial(run, "plot")


def log_run(folder: Path, shift: float = 0.0) -> Path:
    """Log a run of three iterations and two evaluations."""
    folder.mkdir()
    with Log(folder, events=False) as log:
        log.started(0, 300)
        for decisions in (100, 200, 300):
            log.iteration(decisions, {name: value + shift for name, value in ITERATION.items()})
        for decisions in (150, 300):
            log.evaluation(decisions, {name: value + shift for name, value in EVALUATION.items()})
    return folder


def test_a_run_becomes_a_picture_in_its_folder(run: Run, tmp_path: Path) -> None:
    folder = log_run(tmp_path / "run")
    assert run(folder) == (0, f"{folder / 'curves.png'}\n", "")
    with Image.open(folder / "curves.png") as image:
        assert image.format == "PNG"
        assert image.width > 1000
        assert len(set(image.convert("L").get_flattened_data())) > 10


def test_a_picture_of_several_runs_is_written_to_out(run: Run, tmp_path: Path) -> None:
    folders = [log_run(tmp_path / "a"), log_run(tmp_path / "b", shift=1.0)]
    assert run(*folders, "--out", tmp_path / "both.png") == (0, f"{tmp_path / 'both.png'}\n", "")
    assert (tmp_path / "both.png").exists()
    assert not (folders[0] / "curves.png").exists()


def test_missing_runs_figures_and_folders_are_refused(run: Run, tmp_path: Path) -> None:
    empty, nowhere = tmp_path / "empty", tmp_path / "no" / "x.png"
    empty.mkdir()
    assert_refused(run(empty), f"{empty} is not the folder of a run: it has no log.csv")
    (empty / "log.csv").write_text("decisions,name,value\n")
    assert_refused(run(empty), "the log has no figures")
    assert_refused(run(log_run(tmp_path / "run"), "--out", nowhere), f"cannot write {nowhere}: No such file or directory")
    assert_refused(run(), "name the folder of at least one run")


def test_each_group_of_figures_has_a_panel() -> None:
    names = [*ITERATION, *EVALUATION, "eval/points/noms_4/random"]
    panels = list(panels_of({"run": {name: (np.ones(1), np.ones(1)) for name in names}}))
    assert len(panels) == 8
    assert (list(panels[0].curves), panels[0].intervals) == ([POINTS], True)
    assert list(panels[5].curves) == ["losses/approx_kl", "losses/clipfrac"]
    assert list(panels_of({"run": {}})) == []


def test_curves_bands_and_runs_are_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figures: list[Any] = []

    def note_figure(figure: Any, dpi: int) -> bytes:
        figures.append(figure)
        return b""

    monkeypatch.setattr("noms_training.publish.plots.png", note_figure)
    values: dict[str, dict[str, list[float]]] = {
        "first": {POINTS: [1, 2], f"{POINTS}/low": [0.5, 1.5], f"{POINTS}/high": [1.5, 2.5], KL: [0.1, 0.2]},
        "second": {"eval/points/down_up_4/thumb": [-1, 0], KL: [0.3, 0.4]},
    }
    at = np.array([1, 2])
    draw({run: {name: (at, np.array(value)) for name, value in own.items()} for run, own in values.items()}, tmp_path / "x.png")
    points, movement = figures[0].axes
    assert [line.get_ydata().tolist() for line in points.lines[:2]] == [[1, 2], [-1, 0]]
    (band,) = points.collections
    assert {tuple(corner) for corner in band.get_paths()[0].vertices} >= {(1, 0.5), (2, 1.5), (1, 1.5), (2, 2.5)}
    assert [text.get_text() for text in points.get_legend().get_texts()] == ["v random", "v thumb"]
    lines = [(line.get_ydata().tolist(), line.get_linestyle()) for line in movement.lines]
    assert lines == [([0.1, 0.2], "-"), ([0.3, 0.4], "--")]
    assert [text.get_text() for text in figures[0].legends[0].get_texts()] == ["first", "second"]


@given(st.lists(st.floats(-100, 100), min_size=1, max_size=1000))
def test_smoothing_keeps_the_mean_and_the_order(values: list[float]) -> None:
    at, means = smooth(np.arange(len(values)) * 3, np.array(values))
    assert len(at) == len(means) == min(len(values), SMOOTHED)
    assert (np.diff(at) > 0).all()
    if len(values) <= SMOOTHED:
        assert means.tolist() == values
    if len(values) % SMOOTHED == 0:
        assert means.mean() == pytest.approx(np.mean(values), abs=1e-9)
    assert min(values) - 1e-9 <= means.min() <= means.max() <= max(values) + 1e-9
