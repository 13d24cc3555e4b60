"""Under CI every test runs: one that would be skipped there fails, so that nothing goes untested without a word."""

from __future__ import annotations

import os
from collections.abc import Generator
from typing import TypeVar

import pytest

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
