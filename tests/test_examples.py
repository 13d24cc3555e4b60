"""The scripts in `examples` that need no further library run."""

import re
import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


def test_gymnasium_seat_prints_plausible_points(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLES / "gymnasium_seat.py"), run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    form = r"(.{12})  against (\w+) +([-+][\d.]+) ± ([\d.]+) in +(\d+) deals, [\d.]+ s"
    matches = [re.fullmatch(form, line) for line in lines]
    figures = {(match[1].strip(), match[2]): (float(match[3]), float(match[4]), int(match[5])) for match in matches if match}
    assert len(figures) == len(lines) == 4
    for (where, opponents), (mean, error, deals) in figures.items():
        assert deals >= (200 if where == "one table" else 5000)
        if opponents == "random":
            assert abs(mean) < 4 * error, "it plays like the others"
        else:
            assert mean < -10 * error


def test_search_on_policy_prints_each_decision(capsys: pytest.CaptureFixture[str]) -> None:
    script = runpy.run_path(str(EXAMPLES / "search_on_policy.py"))
    script["main"]("nonesuch", "", "worlds=2")
    *decisions, points = capsys.readouterr().out.splitlines()
    assert 8 < len(decisions) < 40
    assert sum(bool(re.search(r"[+-]\d\.\d\d ±\d", line)) for line in decisions) > 5
    assert points.startswith("points ")
