"""Under CI a skipped test fails and is named, and `make interop` tries every library."""

import os
import subprocess
import sys
from pathlib import Path

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


def run(folder: Path, *words: str, ci: str) -> tuple[int, str]:
    """Return the exit status and output of pytest in a folder."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow", *words]
    variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    result = subprocess.run(command, cwd=folder, env={**variables, "CI": ci}, capture_output=True, text=True, check=False)
    return result.returncode, result.stdout


def test_every_skip_fails_under_ci_and_is_named(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(Path(__file__).with_name("conftest.py").read_text())
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = slow\n")
    (tmp_path / "test_some.py").write_text(TESTS)
    (tmp_path / "test_file.py").write_text('import pytest; pytest.importorskip("no_such_library", reason="no library")')
    assert run(tmp_path, "-n", "0", ci="")[0] == 0
    status, out = run(tmp_path, "-n", "1", "--continue-on-collection-errors", ci="true")
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


def test_make_interop_continues_after_a_failing_library() -> None:
    outer = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    command = ["make", "interop", "LIBRARIES=no_such_library neither"]
    result = subprocess.run(command, cwd=Path(__file__).parents[1], env=outer, capture_output=True, text=True, check=False)
    assert result.returncode != 0
    for library in ("no_such_library", "neither"):
        assert f"interop-{library}" in result.stderr
