"""Under CI a skipped test fails the run and is named; tests that are deselected or fail as expected are not skipped."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """\
import pytest

@pytest.mark.skip(reason="no time")
def test_marked(): pass

def test_within(): pytest.skip("no luck")

@pytest.mark.slow
def test_left_out(): pytest.skip("not reached")

@pytest.mark.xfail
def test_fails_as_expected(): raise AssertionError

def test_passes(): pass
"""
WHOLE_FILE = 'import pytest; pytest.importorskip("no_such_library", reason="no library")'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with tests, and with the conftest of this project."""
    (tmp_path / "conftest.py").write_text(Path(__file__).with_name("conftest.py").read_text())
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = slow\n")
    (tmp_path / "test_some.py").write_text(TESTS)
    (tmp_path / "test_file.py").write_text(WHOLE_FILE)
    return tmp_path


def run(folder: Path, *words: str, ci: str) -> tuple[int, str]:
    """Exit status and output of pytest in a folder."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow", *words]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(command, cwd=folder, env={**kept, "CI": ci}, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def test_under_ci_every_skip_is_named_and_fails(folder: Path) -> None:
    assert run(folder, "-n", "0", ci="")[0] == 0, "elsewhere a skip is a skip"
    status, out = run(folder, "-n", "1", "--continue-on-collection-errors", ci="true")
    assert status == 1
    for name, reason in [
        ("test_some.py::test_marked", "Skipped: no time"),
        ("test_some.py::test_within", "Skipped: no luck"),
        ("test_file.py", "Skipped: no library"),
    ]:
        assert f"{name} would be skipped, but under CI every test must run: {reason}" in out
    assert "left_out" not in out
    assert "1 passed" in out
    assert "1 xfailed" in out
