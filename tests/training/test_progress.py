"""Progress of a run, on a terminal and elsewhere."""

import io
import re
import sys
import time
from unittest.mock import Mock, call

import pytest
from rich.console import Console

from noms_training.learn.log import Several, Watcher
from noms_training.learn.progress import TREND, Lines, Screen, watching
from noms_training.progress_bar import Rate, progress_bar
from noms_training.text import duration

ITERATION = {
    "losses/approx_kl": 0.0123,
    "losses/clipfrac": 0.114,
    "losses/explained_variance": 0.532,
    "charts/learning_rate": 4.2e-4,
    "losses/entropy/call": 0.81,
    "losses/entropy/play": 0.64,
    "charts/SPS": 2e4,
    "charts/seconds/play": 1.0,
    "charts/seconds/network": 0.5,
    "charts/seconds/learn": 2.5,
}
EVALUATION = {
    "eval/points/down_up_4/random": 2.5,
    "eval/points/down_up_4/random/low": 2.25,
    "eval/points/down_up_4/random/high": 2.75,
    "eval/greedy/points/down_up_4/random": 9.0,
    "eval/probe/down_up_4/bid/hit": 0.456,
    "eval/probe/down_up_4/bid/hit/7": 0.123,
    "eval/probe/small_ships_4/partner/trick": 3.44,
}


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_the_rate_covers_the_last_minute(clock: list[float]) -> None:
    rate = Rate(1000)
    assert rate.per_second() == 0
    clock[0] += 10
    rate.note(3000)
    assert rate.per_second() == 200
    for _ in range(20):
        clock[0] += 10
        rate.note(3000)
    assert rate.per_second() == 0


def test_durations() -> None:
    texts = {0: "0:00", 59.6: "1:00", 125: "2:05", 3600: "1:00:00", 90061: "25:01:01"}
    assert {seconds: duration(seconds) for seconds in texts} == texts


def test_a_job_without_a_terminal_prints_lines(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar("noms, 4 seats", "deals", 1000) as advance:
        clock[0] += 20  # of compilation
        advance(50)
        clock[0] += 20
        advance(50)
        clock[0] += 10
        advance(100)
    assert capsys.readouterr().err == "noms, 4 seats: 100 of 1,000 deals · 2.5/s · 6:00 left\n"


def test_a_job_on_a_terminal_has_a_bar(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    for total, text in ((3, "3 of 3 deals"), (None, "3 deals")):
        with progress_bar("noms", "deals", total) as advance:
            advance(1)
            advance(2)
        assert text in capsys.readouterr().err


def test_lines_are_printed_at_intervals_and_at_once_for_evaluations_and_notes(clock: list[float]) -> None:
    stream = io.StringIO()
    lines = Lines(stream, every=10)
    lines.started(0, 1_000_000)
    for decisions in range(10_000, 260_000, 10_000):
        clock[0] += 1
        lines.iteration(decisions, ITERATION)
    lines.evaluation(250_000, EVALUATION)
    lines.note("a checkpoint [is] written")
    written = stream.getvalue().splitlines()
    assert len(written) == 5
    assert written[2:] == [
        " 21% · 210,000 of 1,000,000 decisions · 10,000/s · 1:19 left",
        "after 250,000 decisions: v random +2.50 ±0.25 points",
        "a checkpoint [is] written",
    ]


def test_the_speed_of_a_resumed_run_leaves_out_compilation(clock: list[float]) -> None:
    stream = io.StringIO()
    lines = Lines(stream)
    lines.started(900_000, 1_000_000)
    clock[0] += 500  # of compilation
    lines.iteration(910_000, {})
    clock[0] += 10
    lines.iteration(960_000, {})
    progress = [" 91% · 910,000 of 1,000,000 decisions", " 96% · 960,000 of 1,000,000 decisions · 5,000/s · 0:08 left"]
    assert stream.getvalue().splitlines() == progress


@pytest.mark.parametrize("width", [80, 200])
def test_the_screen_shows_the_newest_figures(width: int) -> None:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=width, height=40, color_system=None, legacy_windows=False)
    with Screen(console, "down_up", refresh=False) as screen:
        screen.started(0, 400_000)
        screen.iteration(50_000, ITERATION)
        screen.evaluation(50_000, {**EVALUATION, "eval/points/down_up_4/random": 1.0})
        screen.iteration(100_000, {**ITERATION, "losses/approx_kl": 0.0456})
        screen.evaluation(100_000, EVALUATION)
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", stream.getvalue())
    picture = text[text.rindex("down_up ━") :]
    points = ("100,000 of 400,000 decisions", "+2.50 ±0.25", f"{TREND[0]}{TREND[-1]}")
    for figure in (*points, "0.0456", "bids hit exactly", "45.6%", "partner seen in trick", "3.44"):
        assert figure in picture, figure
    for figure in ("0.0123", "+9.00", "12.3%"):
        assert figure not in picture, figure
    assert max(map(len, picture.splitlines())) <= width


def test_several_watchers_hear_everything() -> None:
    first, second = Mock(spec=Watcher), Mock(spec=Watcher)
    calls = [call.started(1, 2), call.iteration(3, {"losses/approx_kl": 1}), call.evaluation(4, {"x": 2}), call.note("text")]
    for name, arguments, _ in calls:
        getattr(Several([first, Watcher(), second]), name)(*arguments)
    assert first.method_calls == second.method_calls == calls
    first.ends_run.return_value = False
    for answer in (False, True):
        second.ends_run.return_value = answer
        assert Several([first, Watcher(), second]).ends_run() == answer


def test_a_terminal_gets_a_screen(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with watching("noms") as watcher:
        assert isinstance(watcher, Screen)
        watcher.started(0, 10)
        watcher.iteration(5, ITERATION)
    assert "noms" in capsys.readouterr().err
