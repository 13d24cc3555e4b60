"""The tutorials on adding: their changes, made to a copy of the package, give a game, an option and a player that work."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.tutorials import NEW_FILES, ROOT, changed_copy, page


def run(root: Path, *arguments: str) -> str:
    """What Python prints in the copy, with the compiler off."""
    environment = {**os.environ, "PYTHONPATH": str(root), "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run([sys.executable, *arguments], cwd=root, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def program(name: str, more: str = "") -> str:
    """The Python of a tutorial, and more."""
    blocks = re.findall(r"(?s)```\{code-block\} python\n(.*?)```", page(name))
    assert len(blocks) == 1
    return "".join(blocks) + more


def test_a_variant(tmp_path: Path) -> None:
    files = changed_copy(tmp_path, "variant")
    assert len([file for file in files if file.startswith("noms_env")]) == len(files) <= 4
    more = """
from docs.make_pages import all_pages
from noms_env.policy.encoding import make_encoding
from noms_env.variants import game, make_rules

parts = {part.name: part for part in env.observation_layout()}
seen = env.observe("player_0")["observation"]
assert seen[parts["variant"].slice].tolist() == [0] * 7 + [1] + [0] * 8
assert "Ten points and one for each trick" in all_pages()["seven_down.md"]
assert make_encoding([make_rules(game("seven_down"))]).n_choices == 52 + 8
"""
    printed = run(tmp_path, "-c", program("variant", more))
    run(tmp_path, "docs/make_types.py")
    assert "\nseven_down_v0: " in (tmp_path / "noms_env/envs/games.pyi").read_text(encoding="utf-8")
    assert re.fullmatch(r"\['\d', '\d', '\d', '\d'\] \[\d, \d, \d, \d\] \[[\d., ]+\]\n", printed), printed


ANSWERS = """
import numpy as np
import noms_env
from noms_env.table import Table

policy, table, answers = noms_env.load_player("down_up"), Table("down_up", seed=1), []
table.start()
for _ in range(12):
    answers.append(policy.probabilities(*table.view(int(table.row.seat))))
    table.step(int(answers[-1].argmax()))
"""
"""What a published policy answers at twelve decisions of a deal."""


def test_an_option(tmp_path: Path) -> None:
    assert len(changed_copy(tmp_path, "option")) <= 3
    more = """
assert 5.0 in [points - tricks - 10 for points, tricks in zip(result["points"], result["tricks"])]
np.save("answers.npy", answers)
table = Table("down_up", options={"zero_bonus": 5}, seed=1)
table.start()
try:
    policy.probabilities(*table.view(int(table.row.seat)))
except ValueError as refusal:
    print(refusal)
"""
    printed = run(tmp_path, "-c", program("option", ANSWERS + more))
    here: dict[str, Any] = {}
    exec(ANSWERS, here)
    np.testing.assert_allclose(np.load(tmp_path / "answers.npy"), here["answers"], atol=1e-5)  # compiled sums round otherwise
    assert "zero_bonus" in printed, "the policy refuses a rule that nobody has taught it"
    run(tmp_path, "docs/make_types.py")
    for file in ("games.pyi", "option_types.py"):
        assert " zero_bonus: int" in (tmp_path / "noms_env" / "envs" / file).read_text(encoding="utf-8")


def test_a_player(tmp_path: Path) -> None:
    assert len(changed_copy(tmp_path, "player")) == 2
    run(tmp_path, "-c", program("player"))
    (commands,) = re.findall(r"(?s)```\{code-block\} sh\n(.*?)```", page("player"))
    first, second = commands.splitlines()
    run(tmp_path, "-m", "noms_training", *first.split()[1:])
    assert len((tmp_path / "games.jsonl").read_text(encoding="utf-8").splitlines()) == 19
    run(tmp_path, "-m", "noms_training", *second.replace("200", "2").split()[1:], "--matches", "0")


@pytest.mark.parametrize("name", NEW_FILES)
def test_nothing_is_changed_for_a_gpu(name: str, tmp_path: Path) -> None:
    """`make ptx` compiles the kernels of the copies."""
    assert not [file for file in changed_copy(tmp_path, name) if file.startswith("noms_env/cuda")]


@pytest.mark.parametrize("name", NEW_FILES)
def test_places_that_a_tutorial_names_are_there(name: str) -> None:
    for symbol, file in re.findall(r"`(\w+)` in\s`((?:noms_env|training)/[\w/]+\.py)`", page(name)):
        assert re.search(rf"(?m)^(?:def )?{symbol}\b", (ROOT / file).read_text(encoding="utf-8")), symbol
