"""The tutorials on adding a game, an option and a player work in a copy of the package."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.tutorials import NEW_FILES, ROOT, changed_copy, page
from tests.uncompiled import run_python


def run(root: Path, *arguments: str) -> str:
    """Run Python in the copy, with the compiler off, and return its output."""
    return run_python(*arguments, cwd=root, PYTHONPATH=str(root), NUMBA_DISABLE_JIT="1")


def program_of(name: str) -> str:
    """Return the Python code of a tutorial."""
    (block,) = re.findall(r"(?s)```\{code-block\} python\n(.*?)```", page(name))
    return str(block)


def copy_with_changes(root: Path, name: str) -> list[str]:
    """Copy the package with the changes of a tutorial. No file for the GPU changes; `make ptx` compiles the copies."""
    files = changed_copy(root, name)
    assert not [file for file in files if file.startswith("noms_env/cuda")]
    return files


def test_the_new_variant_works(tmp_path: Path) -> None:
    files = copy_with_changes(tmp_path, "variant")
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
    output = run(tmp_path, "-c", program_of("variant") + more)
    run(tmp_path, "docs/make_types.py")
    assert "\nseven_down_v0: " in (tmp_path / "noms_env/envs/games.pyi").read_text(encoding="utf-8")
    assert re.fullmatch(r"\['\d', '\d', '\d', '\d'\] \[\d, \d, \d, \d\] \[[\d., ]+\]\n", output), output


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
"""The probabilities of a published policy at twelve decisions of a deal."""


def test_the_new_option_works(tmp_path: Path) -> None:
    assert len(copy_with_changes(tmp_path, "option")) <= 3
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
    output = run(tmp_path, "-c", program_of("option") + ANSWERS + more)
    here: dict[str, Any] = {}
    exec(ANSWERS, here)
    np.testing.assert_allclose(np.load(tmp_path / "answers.npy"), here["answers"], atol=1e-5)  # compiled sums round differently
    assert "zero_bonus" in output, "the policy refuses an unknown rule"
    run(tmp_path, "docs/make_types.py")
    for file in ("games.pyi", "option_types.py"):
        assert " zero_bonus: int" in (tmp_path / "noms_env" / "envs" / file).read_text(encoding="utf-8")


def test_the_new_player_works(tmp_path: Path) -> None:
    assert len(copy_with_changes(tmp_path, "player")) == 2
    run(tmp_path, "-c", program_of("player"))
    (commands,) = re.findall(r"(?s)```\{code-block\} sh\n(.*?)```", page("player"))
    first, second = commands.splitlines()
    run(tmp_path, "-m", "noms_training", *first.split()[1:])
    assert len((tmp_path / "games.jsonl").read_text(encoding="utf-8").splitlines()) == 19
    run(tmp_path, "-m", "noms_training", *second.replace("200", "2").split()[1:], "--matches", "0")


@pytest.mark.parametrize("name", NEW_FILES)
def test_functions_that_a_tutorial_names_exist(name: str) -> None:
    for symbol, file in re.findall(r"`(\w+)` in\s`((?:noms_env|training)/[\w/]+\.py)`", page(name)):
        assert re.search(rf"(?m)^(?:def )?{symbol}\b", (ROOT / file).read_text(encoding="utf-8")), symbol
