"""The figures of a run in files: what is written can be read, across interruptions of every kind."""

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

from noms_training.learn import log
from noms_training.learn.log import CSV_NAME, EVENTS_NAME, HEADER, SECONDS, Log, as_csv, read_log
from tests.commands import disk_full

OPEN: list[Log] = []


def opened(folder: Path, done: int = 0, events: bool = False) -> Log:
    one = Log(folder, events=events)
    OPEN.append(one)
    one.started(done, 1000)
    return one


@pytest.fixture(autouse=True)
def close_logs() -> Iterator[None]:
    yield
    for one in OPEN:
        one.close()
    OPEN.clear()


def values(folder: Path, name: str) -> dict[int, float]:
    at, value = read_log(folder)[name]
    return dict(zip(at.tolist(), value.tolist(), strict=True))


def test_what_is_logged_can_be_read_at_once(tmp_path: Path) -> None:
    one = opened(tmp_path)
    one.iteration(100, {"losses/approx_kl": 0.5, "losses/entropy/call": np.float64(1) / 3})
    assert values(tmp_path, "losses/approx_kl") == {100: 0.5}
    one.evaluation(100, {"eval/points/noms_4/pimc:20,4": -1.25})
    one.iteration(250, {"losses/approx_kl": 123456.7, "new": 2})
    one.note("nothing to log")
    assert values(tmp_path, "losses/approx_kl") == {100: 0.5, 250: 123457}
    assert values(tmp_path, "losses/entropy/call") == {100: 0.333333}
    assert values(tmp_path, "eval/points/noms_4/pimc:20,4") == {100: -1.25}
    assert values(tmp_path, "new") == {250: 2}
    assert (tmp_path / CSV_NAME).read_text().splitlines()[:2] == ["decisions,name,value", "100,losses/approx_kl,0.5"]


def test_figures_of_earlier_versions_are_read_by_their_present_names(tmp_path: Path) -> None:
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


def test_a_resumed_run_drops_what_it_does_again(tmp_path: Path) -> None:
    first = opened(tmp_path)
    for decisions in (100, 200, 300):
        first.iteration(decisions, {"losses/approx_kl": decisions / 100})
    first.close()
    again = opened(tmp_path, 200)
    assert values(tmp_path, "losses/approx_kl") == {100: 1, 200: 2}
    again.iteration(290, {"losses/approx_kl": 9, "other": 1})
    assert values(tmp_path, "losses/approx_kl") == {100: 1, 200: 2, 290: 9}
    opened(tmp_path, 0)
    assert (tmp_path / CSV_NAME).read_text() == ",".join(HEADER) + "\n"


def test_the_time_of_all_sessions_adds_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    first = opened(tmp_path)
    now[0] = 1007.0
    first.iteration(100, {})
    now[0] = 1020.0
    first.iteration(200, {})
    now[0] = 5000.0
    again = opened(tmp_path, 100)
    now[0] = 5002.0
    again.iteration(150, {})
    assert values(tmp_path, SECONDS) == {100: 7, 150: 9}


def test_the_last_of_several_values_counts_and_what_is_no_number_does_not(tmp_path: Path) -> None:
    one = opened(tmp_path)
    one.iteration(200, {"losses/approx_kl": math.nan, "x": math.inf})
    one.iteration(100, {"losses/approx_kl": 2.0})
    one.iteration(100, {"losses/approx_kl": 3.0})
    at, value = read_log(tmp_path)["losses/approx_kl"]
    assert (at.tolist(), value.tolist()) == ([100], [3.0])
    assert "x" not in read_log(tmp_path)


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_a_log_cut_off_anywhere_loses_its_last_line_only(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    folder = tmp_path_factory.mktemp("run")
    one = opened(folder)
    for decisions in range(1, 4):
        one.evaluation(decisions, {"a": decisions, 'b, "c"': -decisions})
    content = (folder / CSV_NAME).read_bytes()
    cut = data.draw(st.integers(len(as_csv([HEADER])), len(content)))
    (folder / CSV_NAME).write_bytes(content[:cut])
    whole = content[:cut].count(b"\n") - 1
    assert sum(len(at) for at, _ in read_log(folder).values()) == whole
    resumed = opened(folder, 3)
    resumed.evaluation(4, {"a": 4})
    found = read_log(folder)
    assert sum(len(at) for at, _ in found.values()) == whole + 1
    assert values(folder, "a")[4] == 4


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "is not the log of a run: its first line is not decisions,name,value"),
        ("decisions,name,value\n1,kl,0.5\n2,kl\n", "line 3: '2,kl' is not decisions, a name and a value"),
        ("decisions,name,value\n1,kl,much\n", "line 2: '1,kl,much' is not"),
    ],
)
def test_another_file_is_refused(tmp_path: Path, content: str, sentence: str) -> None:
    (tmp_path / CSV_NAME).write_text(content)
    with pytest.raises(ValueError, match=sentence):
        read_log(tmp_path)
    if content:
        with pytest.raises(ValueError, match=sentence):
            opened(tmp_path)
        assert (tmp_path / CSV_NAME).read_text() == content


def test_a_full_disk_is_told_and_nothing_is_kept_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = opened(tmp_path)
    one.iteration(1, {"losses/approx_kl": 1})
    assert one._file is not None
    with Path("/dev/full").open("wb", buffering=0) as full:
        kept, one._file = one._file, full
        with pytest.raises(OSError, match="No space left") as caught:
            one.iteration(2, {"losses/approx_kl": 2})
        one._file = kept
    assert caught.value.errno == errno.ENOSPC
    one.close()
    assert values(tmp_path, "losses/approx_kl") == {1: 1}


def test_a_disk_that_is_full_at_the_start_leaves_the_log_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened(tmp_path).iteration(1, {"losses/approx_kl": 1})
    before = (tmp_path / CSV_NAME).read_bytes()
    monkeypatch.setattr(os, "fsync", disk_full)
    with pytest.raises(OSError, match="No space left"):
        opened(tmp_path, 1)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {CSV_NAME: before}


def scalars(folder: Path, name: str) -> list[tuple[int, float]]:
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator", reason="no TensorBoard")
    events = accumulator.EventAccumulator(str(folder / EVENTS_NAME))
    events.Reload()
    return [(event.step, event.value) for event in events.Scalars(name)]


def test_tensorboard_reads_the_figures_across_a_resume(tmp_path: Path) -> None:
    first = opened(tmp_path, events=True)
    for decisions in (100, 200, 300):
        first.iteration(decisions, {"losses/approx_kl": decisions / 4})
    assert scalars(tmp_path, "losses/approx_kl") == [(100, 25), (200, 50), (300, 75)]  # while it is open
    first.close()
    again = opened(tmp_path, 200, events=True)
    again.iteration(290, {"losses/approx_kl": 1})
    again.evaluation(290, {"eval/points/x/y": np.float64(2)})
    again.close()
    assert scalars(tmp_path, "losses/approx_kl") == [(100, 25), (200, 50), (290, 1)]
    assert scalars(tmp_path, "eval/points/x/y") == [(290, 2)]


def test_without_tensorboard_there_is_the_csv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "has_tensorboard", lambda: False)
    one = opened(tmp_path, events=True)
    one.iteration(1, {"losses/approx_kl": 1})
    one.close()
    assert [path.name for path in tmp_path.iterdir()] == [CSV_NAME]
