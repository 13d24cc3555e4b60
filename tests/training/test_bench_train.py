"""`python -m benchmarks.speed --train`: what it counts and what it measures. Nothing here depends on a speed."""

import sys
from dataclasses import replace

import pytest

from benchmarks.speed.__main__ import main, measure_training
from benchmarks.speed.clock import PERCENT, RATE
from benchmarks.speed.report import Results
from benchmarks.speed.train import FAST, PARTS, TINY, Trainer
from noms_training.learn.train import Trainer as Run


@pytest.fixture(scope="module")
def trainer() -> Trainer:
    return Trainer(replace(FAST, **TINY, threads=2))


def test_whole_iterations_are_measured(trainer: Trainer, monkeypatch: pytest.MonkeyPatch) -> None:
    progress, iterate = [], Run.iterate

    def see_iteration(run: Run) -> dict[str, float]:
        progress.append(run.progress)
        return iterate(run)

    monkeypatch.setattr(Run, "iterate", see_iteration)
    assert trainer.rate(0.0) > 0
    assert progress == [0]
    assert min(trainer.percent[part] for part in PARTS) > 0
    assert sum(trainer.percent.values()) <= 100


@pytest.fixture(scope="module")
def results() -> Results:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "sb3_contrib", None)
        return measure_training(1, quick=True)


def test_a_quick_run_measures_everything(results: Results) -> None:
    units = {key: one.case.unit for key, one in results.measured.items()}
    names = ("fast", "small")
    assert units == {f"train/{name}": RATE for name in names} | {
        f"train/{name}/{part}": PERCENT for name in names for part in PARTS
    }
    assert list(results.missing) == ["sb3-contrib"]


def test_wrong_requests(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--train", "--only", "peers"]) == 2
    message = "benchmarks.speed: --train measures the trainer alone; it does not go with --only peers\n"
    assert capsys.readouterr().err == message
    monkeypatch.setitem(sys.modules, "torch", None)
    assert main(["--train"]) == 2
    missing = "--train needs torch, which is not installed: pip install '.[train]'"
    assert capsys.readouterr().err == f"benchmarks.speed: {missing}\n"
