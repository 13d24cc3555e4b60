"""Types of arguments follow from the declarations, and mypy finds each wrong call in `tests/typed_calls.py`."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from docs import make_types
from noms_env.core.state import EPISODES
from noms_env.envs.validation import Episode
from tests import typed_calls

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize(("name", "text"), make_types.all_files().items(), ids=list(make_types.all_files()))
def test_a_file_of_types_is_what_the_script_writes(name: str, text: str) -> None:
    assert (make_types.FOLDER / name).read_text(encoding="utf-8") == text, "run `python docs/make_types.py`"


def test_right_calls_run_and_every_episode_has_a_type() -> None:
    typed_calls.right("big_ships")
    assert get_args(Episode) == EPISODES


def test_mypy_finds_each_wrong_call(tmp_path: Path) -> None:
    text = Path(typed_calls.__file__).read_text(encoding="utf-8")
    marks = [re.search(r"ignore\[(.+)\]", line) for line in text.splitlines()]
    wrong = {(number, mark[1]) for number, mark in enumerate(marks, 1) if mark}
    assert len(wrong) == 17
    file = tmp_path / "calls.py"
    file.write_text(re.sub(r"  # type: ignore.*", "", text), encoding="utf-8")
    done = subprocess.run([sys.executable, "-m", "mypy", file], cwd=ROOT, capture_output=True, text=True, check=False)
    assert {(int(line), code) for line, code in re.findall(r":(\d+): error: .*  \[(.+)\]", done.stdout)} == wrong, done.stdout
