"""Fixtures and hooks for all tests: the command `noms`, and under CI a failure in place of each skip."""

import os
from collections.abc import Callable, Generator
from typing import TypeVar

import pytest

from noms_env import _jit
from noms_training.cli import main

_jit.PROGRESS.has_printed = True  # the first tests may compile the engine, and no output of a command may mention it
os.environ.pop("COLUMNS", None)  # workers of pytest-xdist set it

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield  # outermost of the wrappers, so that the report names an expected failure
    return report if hasattr(report, "wasxfail") else without_skip(report)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    return without_skip((yield))


def without_skip(report: Report) -> Report:
    if report.skipped and os.environ.get("CI"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"{report.nodeid} would be skipped, but under CI every test must run: {reason}"
    return report


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str, str]]:
    """Run `noms` and return its exit status, standard output (without progress lines) and standard error."""
    monkeypatch.setattr("noms_training.progress_bar.LINE_SECONDS", float("inf"))

    def run_main(*words: object) -> tuple[int, str, str]:
        status = main([str(word) for word in words])
        return status, *capsys.readouterr()

    return run_main
