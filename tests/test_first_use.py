"""`noms compile` compiles everything that Python calls, and a command compiles what it needs before it begins."""

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import noms_env
import noms_training
from noms_env._jit import Compiled, Progress
from noms_env.engine import batch_kernels
from tests.uncompiled import run_python

ADAPTERS = ("noms_env.interop.", "noms_env.cuda.", "noms_training.interop.", "noms_training.__main__")
"""These need missing libraries, are compiled for a GPU, or run on import."""
OVERLOADS = """
import gc, json, sys
from noms_env._jit import Compiled

def overloads():
    functions = (item for item in gc.get_objects() if isinstance(item, Compiled))
    return {f"{f.py_func.__module__}.{f.py_func.__qualname__}": len(f.overloads) for f in functions if f.overloads}
"""
"""Counts the compiled overloads of each function in a process."""


def modules() -> Iterator[ModuleType]:
    for package in (noms_env, noms_training):
        for info in walk_packages(package.__path__, f"{package.__name__}."):
            if not info.name.startswith(ADAPTERS):
                yield import_module(info.name)


def called_from_python() -> set[str]:
    """Return the compiled functions that uncompiled functions name."""
    called = set()
    for module in modules():
        names = vars(module)
        for statement in ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8")).body:
            if isinstance(statement, ast.FunctionDef) and isinstance(names.get(statement.name), Compiled):
                continue
            for node in ast.walk(statement):
                value = None
                if isinstance(node, ast.Name):
                    value = names.get(node.id)
                elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                    owner = names.get(node.value.id)
                    value = getattr(owner, node.attr, None) if isinstance(owner, ModuleType) else None
                if isinstance(value, Compiled):
                    called.add(f"{value.py_func.__module__}.{value.py_func.__qualname__}")
    return called


def run_with_overloads(code: str, *words: str) -> Any:
    """Run code after that of `OVERLOADS` and return the JSON on its last line."""
    return json.loads(run_python("-W", "ignore", "-c", OVERLOADS + code, *words).splitlines()[-1])


def test_noms_compile_compiles_all_functions_that_python_calls() -> None:
    code = "from noms_training.cli import main; assert main(['compile']) == 0; print(json.dumps(overloads()))"
    compiled = run_with_overloads(code)
    called = called_from_python()
    assert len(called) > 70
    assert sorted(called - set(compiled)) == []


COMMANDS = {
    "evaluate": "evaluate thumb greedy --variant noms down_up --deals 4 --matches 2 --threads 1",
    "record": "record up_down --player pimc:1 --out FOLDER/games.jsonl",
    "play": "play nonesuch --deals 1 --seed 1 --against nonesuch greedy pimc:1",
}
"""Commands that need only tables and their players."""
COMPILED_LATE = {
    "evaluate": {"noms_training.evaluation.behaviour_stats.count_overtakes"},
    "play": {"noms_env.core.bids.height", "noms_env.variants.dispatch.excuse_is_shown"},
}
"""Small functions that these commands compile later."""
MORE_COMMANDS = [
    "watch noms search:noms@0,worlds=1 thumb random noms --deals 1 --seed 1",
    "tournament random flat_mc:1 exact_bid@0 --variant down_up --deals 2 --out FOLDER/tournament --threads 1",
    "crossplay exact_bid@0 thumb --variant up_down --deals 2",
    "record sniped_whist --player greedy --out FOLDER/games.jsonl",
    "check FOLDER/games.jsonl",
    "replay FOLDER/games.jsonl --match 0 --deal 0",
    "analyse FOLDER/games.jsonl --match 0 --deal 0 --worlds 8 --player search:sniped_whist@0",
    "export FOLDER/games.jsonl --format npz --out FOLDER/decisions",
    "train big_ships --decisions 200 --tables 8 --threads 1 --evaluation-deals 4 --out FOLDER/run",
    "plot FOLDER/run",
    "solve sniped-whist-1 --iterations 2 --out FOLDER/solution.safetensors",
    "exploit thumb --micro sniped-whist-1 --samples 1",
]
PYTHON = """
import noms_env
for opponents in ("thumb", "nonesuch", "pimc:1", "search:nonesuch@0,worlds=1"):
    for kind in ("bytes", "features"):
        env = noms_env.SeatEnv("nonesuch", opponents=opponents, observation=kind)
        seen, _ = env.reset(seed=1)
        env.step(int(seen["action_mask"].argmax()))
env = noms_env.noms_v0.env()
env.reset(seed=1)
env.step(int(env.last()[0]["action_mask"].argmax()))
"""


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_compiles_its_players_before_it_begins(name: str, tmp_path: Path) -> None:
    code = """
from noms_training import cli
from noms_training.agents import registry
before = {}
compile_players = registry.compile_players
def compile_and_count(*arguments, **keywords):
    compile_players(*arguments, **keywords)
    before.update(overloads())
registry.compile_players = compile_and_count
assert cli.main(sys.argv[1:]) == 0
assert before
after = overloads()
print(json.dumps([function for function in after if after[function] > before.get(function, 0)]))
"""
    late = run_with_overloads(code, *COMMANDS[name].replace("FOLDER", str(tmp_path)).split())
    assert set(late) <= COMPILED_LATE.get(name, set())


@pytest.mark.soak
def test_nothing_is_compiled_after_noms_compile(tmp_path: Path) -> None:
    cache, noms = tmp_path / "cache", [sys.executable, "-m", "noms_training"]

    def run(command: list[str]) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, timeout=1800
        )

    result = run([*noms, "compile"])
    assert result.returncode == 0, result.stderr
    assert result.stderr.startswith("noms_env: compiling tables, batches, environments, ")
    assert result.stderr.count("\n") == 1
    assert "functions compiled in" in result.stdout
    files = {path.name for path in cache.rglob("*.nb*")}
    assert len(files) > 160
    commands = [[*noms, *line.replace("FOLDER", str(tmp_path)).split()] for line in [*COMMANDS.values(), *MORE_COMMANDS]]
    for command in [*commands, [sys.executable, "-c", PYTHON]]:
        result = run(command)
        assert result.returncode == 0, (command, result.stderr)
        assert "compiling" not in result.stderr, command
        assert {path.name for path in cache.rglob("*.nb*")} == files, command
    result = run([*noms, "compile"])
    assert (result.stderr, result.stdout.startswith("all is compiled, kept in ")) == ("", True)


def test_the_progress_of_compilation_names_the_parts(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    progress = Progress(is_cached=True)
    event = SimpleNamespace(data={"dispatcher": batch_kernels.step_rows})

    def compile_a_function() -> None:
        progress.on_start(event)
        progress.on_end(event)

    assert progress.use({"tables": compile_a_function, "thumb": lambda: None}) == 1
    err = capsys.readouterr().err
    assert err.startswith("noms_env: compiling tables, thumb for the first use")
    assert "  tables (1 of 2), functions left: " in err
    assert progress.use({"tables": lambda: None}) == 0
    assert capsys.readouterr().err == ""
