"""`noms plot`: which curves are drawn, of which figures, and what is said where there are none."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib.figure
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from noms_training.learn.log import Log, Series
from noms_training.publish.plots import SMOOTHED, draw, panels_of, smooth
from tests.commands import Run

POINTS, KL = "eval/points/down_up_4/random", "losses/approx_kl"
ITERATION = {
    "losses/approx_kl": 0.01,
    "losses/clipfrac": 0.1,
    "losses/entropy/play": 0.5,
    "losses/explained_variance": 0.3,
    "charts/SPS": 2e4,
}
EVALUATION = {POINTS: 1.0, f"{POINTS}/low": 0.5, f"{POINTS}/high": 1.5, "eval/probe/down_up_4/bid/hit": 0.4}


@pytest.fixture
def run(run: Run) -> Run:
    return partial(run, "plot")


def a_run(folder: Path, evaluation: Mapping[str, float] = EVALUATION, shift: float = 0.0) -> Path:
    """A run of three iterations and two evaluations."""
    folder.mkdir()
    with Log(folder, events=False) as log:
        log.started(0, 300)
        for decisions in (100, 200, 300):
            log.iteration(decisions, {name: value + shift for name, value in ITERATION.items()})
        for decisions in (150, 300):
            log.evaluation(decisions, {name: value + shift for name, value in evaluation.items()})
    return folder


def series(**values: list[float]) -> Series:
    return {name: (np.arange(1, len(value) + 1), np.array(value)) for name, value in values.items()}


def drawn(runs: Mapping[str, Series], monkeypatch: pytest.MonkeyPatch, path: Path) -> Any:
    """The picture that is drawn."""
    pictures: list[Any] = []
    savefig = matplotlib.figure.Figure.savefig

    def keep(self: Any, *arguments: Any, **options: Any) -> None:
        pictures.append(self)
        savefig(self, *arguments, **options)

    monkeypatch.setattr(matplotlib.figure.Figure, "savefig", keep)
    draw(runs, path)
    return pictures[0]


def test_a_run_becomes_a_picture_in_its_folder(run: Run, tmp_path: Path) -> None:
    folder = a_run(tmp_path / "run")
    status, out, err = run(folder)
    assert (status, out, err) == (0, f"{folder / 'curves.png'}\n", "")
    with Image.open(folder / "curves.png") as image:
        assert image.format == "PNG"
        assert image.width > 1000
        assert len(set(image.convert("L").get_flattened_data())) > 10


def test_several_runs_go_where_they_are_told(run: Run, tmp_path: Path) -> None:
    folders = [a_run(tmp_path / "a"), a_run(tmp_path / "b", shift=1.0)]
    status, out, _ = run(*folders, "--out", tmp_path / "both.png")
    assert (status, out) == (0, f"{tmp_path / 'both.png'}\n")
    assert (tmp_path / "both.png").exists()
    assert not (folders[0] / "curves.png").exists()


def test_what_cannot_be_drawn_is_one_sentence(run: Run, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    assert run(empty) == (2, "", f"noms: {empty} is not the folder of a run: it has no log.csv\n")
    (empty / "log.csv").write_text("decisions,name,value\n")
    assert run(empty) == (2, "", "noms: there is nothing to draw yet: the log has no figures\n")
    folder = a_run(tmp_path / "run")
    nowhere = tmp_path / "no" / "x.png"
    assert run(folder, "--out", nowhere) == (2, "", f"noms: cannot write {nowhere}: No such file or directory\n")
    assert run() == (2, "", "noms: name the folder of at least one run, such as runs/small_ships-fast\n")


def test_panels_are_those_of_the_figures_there_are() -> None:
    others = ("points/noms_4/random", "greedy/points/down_up_4/random", "probe/noms_4/partner/trick")
    names = [*ITERATION, *EVALUATION, *(f"eval/{name}" for name in others)]
    panels = list(panels_of({"run": {name: (np.ones(1), np.ones(1)) for name in names}}))
    assert len(panels) == 8
    (curve,) = panels[0].curves
    assert (curve.name, curve.band) == (POINTS, (f"{POINTS}/low", f"{POINTS}/high"))
    assert [curve.name for curve in panels[5].curves] == ["losses/approx_kl", "losses/clipfrac"]
    assert list(panels_of({"run": {}})) == []


def test_curves_bands_and_runs_are_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = series(**{POINTS: [1.0, 2.0], f"{POINTS}/low": [0.5, 1.5], f"{POINTS}/high": [1.5, 2.5], KL: [0.1, 0.2]})
    second = series(**{"eval/points/down_up_4/thumb": [-1.0, 0.0], KL: [0.3, 0.4]})
    picture = drawn({"first": first, "second": second}, monkeypatch, tmp_path / "x.png")
    points, movement = picture.axes
    assert [line.get_ydata().tolist() for line in points.lines[:2]] == [[1, 2], [-1, 0]]
    (band,) = points.collections
    assert {tuple(corner) for corner in band.get_paths()[0].vertices} >= {(1, 0.5), (2, 1.5), (1, 1.5), (2, 2.5)}
    assert [text.get_text() for text in points.get_legend().get_texts()] == ["v random", "v thumb"]
    assert [(line.get_ydata().tolist(), line.get_linestyle()) for line in movement.lines] == [
        ([0.1, 0.2], "-"),
        ([0.3, 0.4], "--"),
    ]
    assert [text.get_text() for text in picture.legends[0].get_texts()] == ["first", "second"]


@given(st.lists(st.floats(-100, 100), min_size=1, max_size=1000))
def test_smoothing_keeps_the_mean_and_the_order(values: list[float]) -> None:
    at = np.arange(len(values)) * 3
    where, means = smooth(at, np.array(values))
    assert len(where) == len(means) == min(len(values), SMOOTHED)
    assert (np.diff(where) > 0).all()
    if len(values) <= SMOOTHED:
        assert means.tolist() == values
    if len(values) % SMOOTHED == 0:
        assert means.mean() == pytest.approx(np.mean(values), abs=1e-9)
    assert min(values) - 1e-9 <= means.min() <= means.max() <= max(values) + 1e-9
