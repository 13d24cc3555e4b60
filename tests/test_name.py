"""The package has a unique name, so that a folder, module or package `training` of the user does no harm."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import noms_training
from noms_training import cli
from tests.uncompiled import run_python

ROOT = Path(__file__).parent.parent
PLAYER = "from training import BEST\ndef act(observation, mask, rng):\n    return int(mask.nonzero()[0][BEST])\n"
SPAWNED = """
from multiprocessing import get_context

from noms_training.cli import version

if __name__ == "__main__":
    with get_context("spawn").Pool(1) as pool:
        print("noms", pool.apply(version))
"""


def run(*words: str | Path, cwd: Path, path: tuple[Path, ...] = (ROOT,)) -> str:
    return run_python(*words, cwd=cwd, PYTHONPATH=os.pathsep.join(map(str, path)), NUMBA_DISABLE_JIT="1")


@pytest.mark.parametrize(("name", "place"), [("training.py", "current folder"), ("training/__init__.py", "path")])
def test_the_command_runs_beside_another_training(name: str, place: str, tmp_path: Path) -> None:
    other = tmp_path / "other" / name
    other.parent.mkdir(parents=True)
    other.write_text("raise SystemExit('somebody else wrote this')\n", encoding="utf-8")
    (tmp_path / "spawned.py").write_text(SPAWNED, encoding="utf-8")
    cwd, path = (tmp_path / "other", (ROOT,)) if place == "current folder" else (tmp_path, (tmp_path / "other", ROOT))
    code = "import sys; from noms_training.cli import main; sys.exit(main(['--version']))"
    for words in (("-m", "noms_training", "--version"), ("-c", code), (tmp_path / "spawned.py",)):
        assert run(*words, cwd=cwd, path=path) == f"noms {cli.version()}\n"


def test_a_player_may_import_its_own_training(tmp_path: Path) -> None:
    (tmp_path / "training.py").write_text("BEST = 0\n", encoding="utf-8")
    (tmp_path / "mine.py").write_text(PLAYER, encoding="utf-8")
    few = ("--variant", "up_down", "--deals", "2", "--matches", "0")
    printed = run("-m", "noms_training", "evaluate", "mine:act", "random", *few, cwd=tmp_path)
    assert "mine:act" in printed
    assert "raised" not in printed


def test_the_folder_training_cannot_be_imported_by_its_own_name() -> None:
    assert Path(noms_training.__file__).resolve() == ROOT / "training" / "__init__.py"
    result = subprocess.run([sys.executable, "-c", "import training"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.stderr.endswith("ImportError: the package in the folder `training` is imported as `noms_training`\n")


def test_no_module_is_loaded_twice() -> None:
    names = [getattr(module, "__file__", None) for module in [*sys.modules.values()]]
    files = [Path(name).resolve() for name in names if name]
    counts = Counter(file for file in files if file.is_relative_to(ROOT) and ".venv" not in file.parts)
    assert set(counts.values()) == {1}
