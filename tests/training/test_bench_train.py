"""`python -m benchmarks.speed --train`. Nothing here depends on a speed."""

import sys
from dataclasses import replace

import pytest

from benchmarks.speed.__main__ import main, measure_training
from benchmarks.speed.clock import PERCENT, RATE
from benchmarks.speed.train import FAST, PARTS, TINY, Trainer
from noms_training.learn.train import Trainer as Run


def test_whole_iterations_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    progress, iterate = [], Run.iterate

    def note_progress(run: Run) -> dict[str, float]:
        progress.append(run.progress)
        return iterate(run)

    trainer = Trainer(replace(FAST, **TINY, threads=2))
    monkeypatch.setattr(Run, "iterate", note_progress)
    assert trainer.rate(0.0) > 0
    assert progress == [0]
    assert min(trainer.percent[part] for part in PARTS) > 0
    assert sum(trainer.percent.values()) <= 100


def test_a_quick_run_measures_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sb3_contrib", None)
    results = measure_training(1, quick=True)
    units = {key: measurement.case.unit for key, measurement in results.measured.items()}
    names = ("fast", "small")
    parts = {f"train/{name}/{part}": PERCENT for name in names for part in PARTS}
    assert units == {f"train/{name}": RATE for name in names} | parts
    assert list(results.missing) == ["sb3-contrib"]


def test_other_measurements_and_a_missing_torch_are_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--train", "--only", "peers"]) == 2
    assert "--only peers" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "torch", None)
    assert main(["--train"]) == 2
    assert "torch, which is not installed: pip install '.[train]'" in capsys.readouterr().err
