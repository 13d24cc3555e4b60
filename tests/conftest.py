"""What all tests share: the command `noms`, and that under CI every test runs: one that would be skipped there fails."""

import os
from collections.abc import Callable, Generator
from typing import TypeVar

import pytest

from noms_env import _jit
from noms_training.cli import main

_jit.PROGRESS.has_printed = True  # the first tests may compile the engine; no line among what a command prints says so
os.environ.pop("COLUMNS", None)  # a worker of pytest-xdist has it, and a pipe is as wide as need be

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """The report of a test; outermost of the wrappers, so that an expected failure is known as such."""
    report = yield
    return report if hasattr(report, "wasxfail") else without_skip(report)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """The report of a file, which may be skipped as a whole."""
    return without_skip((yield))


def without_skip(report: Report) -> Report:
    """Under CI a failure in place of a skip."""
    if report.skipped and os.environ.get("CI"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"{report.nodeid} would be skipped, but under CI every test must run: {reason}"
    return report


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str, str]]:
    """Runs `noms` with these words: exit status, standard output, standard error; never so slow as to print its progress."""
    monkeypatch.setattr("noms_training.progress_bar.LINE_SECONDS", float("inf"))

    def run_main(*words: object) -> tuple[int, str, str]:
        status = main([str(word) for word in words])
        return status, *capsys.readouterr()

    return run_main
