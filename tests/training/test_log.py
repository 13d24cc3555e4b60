"""The log of a run, across interruptions of every kind."""

import errno
import math
import os
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noms_training.learn.log import CSV_NAME, EVENTS_NAME, HEADER, SECONDS, Log, as_csv, read_log
from tests.commands import disk_full

OPEN: list[Log] = []


def open_log(folder: Path, done: int = 0, events: bool = False) -> Log:
    """A log that is closed after the test."""
    log = Log(folder, events=events)
    OPEN.append(log)
    log.started(done, 1000)
    return log


@pytest.fixture(autouse=True)
def close_logs() -> Iterator[None]:
    yield
    for log in OPEN:
        log.close()
    OPEN.clear()


def read_values(folder: Path, name: str) -> dict[int, float]:
    at, value = read_log(folder)[name]
    return dict(zip(at.tolist(), value.tolist(), strict=True))


def test_logged_figures_can_be_read_at_once(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    log.iteration(100, {"losses/approx_kl": 0.5, "losses/entropy/call": np.float64(1) / 3})
    assert read_values(tmp_path, "losses/approx_kl") == {100: 0.5}
    log.evaluation(100, {"eval/points/noms_4/pimc:20,4": -1.25})
    log.iteration(250, {"losses/approx_kl": 123456.7, "new": 2})
    log.note("nothing to log")
    assert read_values(tmp_path, "losses/approx_kl") == {100: 0.5, 250: 123457}
    assert read_values(tmp_path, "losses/entropy/call") == {100: 0.333333}
    assert read_values(tmp_path, "eval/points/noms_4/pimc:20,4") == {100: -1.25}
    assert read_values(tmp_path, "new") == {250: 2}
    assert (tmp_path / CSV_NAME).read_text().splitlines()[:2] == ["decisions,name,value", "100,losses/approx_kl,0.5"]
    log.iteration(100, {"losses/approx_kl": 3.0})
    log.iteration(250, {"losses/approx_kl": math.nan, "x": math.inf})
    assert read_values(tmp_path, "losses/approx_kl") == {100: 3, 250: 123457}, "the last finite value counts"
    assert "x" not in read_log(tmp_path)


def test_figures_of_earlier_versions_have_their_present_names(tmp_path: Path) -> None:
    old = "policy_loss", "entropy/play", "calibration/3/value", "decisions_per_second", "seconds", "played/noms_4/solo"
    evaluated = "points/noms_4/thumb/low", "greedy/points/noms_4/thumb", "probe/noms_4/solo", "score"
    rows = [f"100,{name},{place}" for place, name in enumerate((*old, *evaluated, "losses/approx_kl"))]
    (tmp_path / CSV_NAME).write_text("\n".join([",".join(HEADER), *rows, ""]))
    assert list(read_log(tmp_path)) == [
        *("losses/policy_loss", "losses/entropy/play", "losses/calibration/3/value", "charts/SPS", SECONDS),
        "rollout/noms_4/solo",
        *(f"eval/{name}" for name in evaluated),
        "losses/approx_kl",
    ]


def read_scalars(folder: Path, name: str) -> list[tuple[int, float]]:
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator", reason="no TensorBoard")
    events = accumulator.EventAccumulator(str(folder / EVENTS_NAME))
    events.Reload()
    return [(event.step, event.value) for event in events.Scalars(name)]


def test_a_resumed_run_drops_the_figures_after_its_checkpoint(tmp_path: Path) -> None:
    first = open_log(tmp_path, events=True)
    for decisions in (100, 200, 300):
        first.iteration(decisions, {"losses/approx_kl": decisions / 4})
    assert read_scalars(tmp_path, "losses/approx_kl") == [(100, 25), (200, 50), (300, 75)]  # while it is open
    first.close()
    again = open_log(tmp_path, 200, events=True)
    assert read_values(tmp_path, "losses/approx_kl") == {100: 25, 200: 50}
    again.iteration(290, {"losses/approx_kl": 1})
    again.evaluation(290, {"eval/points/x/y": np.float64(2)})
    again.close()
    assert read_values(tmp_path, "losses/approx_kl") == {100: 25, 200: 50, 290: 1}
    assert read_scalars(tmp_path, "losses/approx_kl") == [(100, 25), (200, 50), (290, 1)]
    assert read_scalars(tmp_path, "eval/points/x/y") == [(290, 2)]
    open_log(tmp_path, 0)
    assert (tmp_path / CSV_NAME).read_text() == ",".join(HEADER) + "\n"


def test_the_time_of_all_sessions_adds_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    first = open_log(tmp_path)
    now[0] = 1007.0
    first.iteration(100, {})
    now[0] = 1020.0
    first.iteration(200, {})
    now[0] = 5000.0
    again = open_log(tmp_path, 100)
    now[0] = 5002.0
    again.iteration(150, {})
    assert read_values(tmp_path, SECONDS) == {100: 7, 150: 9}


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_a_truncated_log_loses_only_its_last_line(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    folder = tmp_path_factory.mktemp("run")
    log = open_log(folder)
    for decisions in range(1, 4):
        log.evaluation(decisions, {"a": decisions, 'b, "c"': -decisions})
    content = (folder / CSV_NAME).read_bytes()
    cut = data.draw(st.integers(len(as_csv([HEADER])), len(content)))
    (folder / CSV_NAME).write_bytes(content[:cut])
    whole = content[:cut].count(b"\n") - 1
    assert sum(len(at) for at, _ in read_log(folder).values()) == whole
    resumed = open_log(folder, 3)
    resumed.evaluation(4, {"a": 4})
    assert sum(len(at) for at, _ in read_log(folder).values()) == whole + 1
    assert read_values(folder, "a")[4] == 4


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "is not the log of a run: its first line is not decisions,name,value"),
        ("decisions,name,value\n1,kl,0.5\n2,kl\n", "line 3: '2,kl' is not decisions, a name and a value"),
        ("decisions,name,value\n1,kl,much\n", "line 2: '1,kl,much' is not"),
    ],
)
def test_a_file_that_is_no_log_is_refused_and_left_alone(tmp_path: Path, content: str, sentence: str) -> None:
    (tmp_path / CSV_NAME).write_text(content)
    with pytest.raises(ValueError, match=sentence):
        read_log(tmp_path)
    if content:
        with pytest.raises(ValueError, match=sentence):
            open_log(tmp_path)
        assert (tmp_path / CSV_NAME).read_text() == content


def test_a_full_disk_raises_at_once(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    log.iteration(1, {"losses/approx_kl": 1})
    assert log._file is not None
    with Path("/dev/full").open("wb", buffering=0) as full:
        file, log._file = log._file, full
        with pytest.raises(OSError, match="No space left") as error:
            log.iteration(2, {"losses/approx_kl": 2})
        log._file = file
    assert error.value.errno == errno.ENOSPC
    log.close()
    assert read_values(tmp_path, "losses/approx_kl") == {1: 1}


def test_a_disk_that_is_full_at_the_start_leaves_the_log_unchanged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_log(tmp_path).iteration(1, {"losses/approx_kl": 1})
    before = (tmp_path / CSV_NAME).read_bytes()
    monkeypatch.setattr(os, "fsync", disk_full)
    with pytest.raises(OSError, match="No space left"):
        open_log(tmp_path, 1)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {CSV_NAME: before}


def test_without_tensorboard_a_log_has_only_the_csv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("noms_training.learn.log.has_tensorboard", lambda: False)
    log = open_log(tmp_path, events=True)
    log.iteration(1, {"losses/approx_kl": 1})
    log.close()
    assert [path.name for path in tmp_path.iterdir()] == [CSV_NAME]
