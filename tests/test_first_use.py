"""What is compiled beforehand: everything that Python calls, and what a command needs before it begins."""

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

import pytest

import noms_env
import noms_training
from noms_env._jit import Compiled, Progress
from noms_env.engine import batch_kernels
from tests.commands import Run, is_one_sentence

ADAPTERS = ("noms_env.interop.", "noms_env.cuda.", "noms_training.interop.", "noms_training.__main__")
"""They need libraries that are not here, are compiled for a GPU, or run by being imported."""
OVERLOADS = """
import gc, json, sys
from noms_env._jit import Compiled

def overloads():
    found = (one for one in gc.get_objects() if isinstance(one, Compiled))
    return {f"{one.py_func.__module__}.{one.py_func.__qualname__}": len(one.overloads) for one in found if one.overloads}
"""
"""How many types of arguments each function is compiled for, in a process."""


def modules() -> Iterator[ModuleType]:
    for package in (noms_env, noms_training):
        for found in walk_packages(package.__path__, f"{package.__name__}."):
            if not found.name.startswith(ADAPTERS):
                yield import_module(found.name)


def called_from_python() -> set[str]:
    """The compiled functions that functions which are not compiled name."""
    found = set()
    for module in modules():
        names = vars(module)
        for part in ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8")).body:
            if isinstance(part, ast.FunctionDef) and isinstance(names.get(part.name), Compiled):
                continue
            for node in ast.walk(part):
                value = None
                if isinstance(node, ast.Name):
                    value = names.get(node.id)
                elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                    owner = names.get(node.value.id)
                    value = getattr(owner, node.attr, None) if isinstance(owner, ModuleType) else None
                if isinstance(value, Compiled):
                    found.add(f"{value.py_func.__module__}.{value.py_func.__qualname__}")
    return found


def run_in_process(code: str, *words: str) -> str:
    command = [sys.executable, "-W", "ignore", "-c", OVERLOADS + code, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


def test_noms_compile_compiles_all_that_python_calls() -> None:
    code = "from noms_training.cli import main; assert main(['compile']) == 0; print(json.dumps(overloads()))"
    compiled = json.loads(run_in_process(code))
    wanted = called_from_python()
    assert len(wanted) > 70
    assert sorted(wanted - set(compiled)) == []


COMMANDS = {
    "evaluate": "evaluate thumb greedy --variant noms down_up --deals 4 --matches 2 --threads 1",
    "record": "record up_down --player pimc:1 --out FOLDER/games.jsonl",
    "play": "play nonesuch --deals 1 --seed 1 --against nonesuch greedy pimc:1",
}
"""Those that need no more than tables and their players."""
SMALL = {
    "evaluate": {"noms_training.evaluation.behaviour_stats.count_overtakes"},
    "play": {"noms_env.core.bids.height", "noms_env.variants.dispatch.excuse_is_shown"},
}
"""What these compile besides, in a moment."""
MORE = {
    "watch": "watch noms search:noms@0,worlds=1 thumb random noms --deals 1 --seed 1",
    "tournament": "tournament random flat_mc:1 exact_bid@0 --variant down_up --deals 2 --out FOLDER/tournament --threads 1",
    "crossplay": "crossplay exact_bid@0 thumb --variant up_down --deals 2",
    "record": "record sniped_whist --player greedy --out FOLDER/games.jsonl",
    "check": "check FOLDER/games.jsonl",
    "replay": "replay FOLDER/games.jsonl --match 0 --deal 0",
    "analyse": "analyse FOLDER/games.jsonl --match 0 --deal 0 --worlds 8 --player search:sniped_whist@0",
    "export": "export FOLDER/games.jsonl --format npz --out FOLDER/decisions",
    "train": "train big_ships --decisions 200 --tables 8 --threads 1 --evaluation-deals 4 --out FOLDER/run",
    "plot": "plot FOLDER/run",
    "solve": "solve sniped-whist-1 --iterations 2 --out FOLDER/solution.safetensors",
    "exploit": "exploit thumb --micro sniped-whist-1 --samples 1",
}
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
def test_a_command_compiles_what_its_players_need_before_it_begins(name: str, tmp_path: Path) -> None:
    """Whatever is compiled afterwards is seen as a function that is new at the end."""
    code = """
from noms_training import cli
from noms_training.agents import registry
before = {}
compile_players = registry.compile_players
def noted(*arguments, **named):
    compile_players(*arguments, **named)
    before.update(overloads())
registry.compile_players = noted
assert cli.main(sys.argv[1:]) == 0
assert before
after = overloads()
print(json.dumps([one for one in after if after[one] > before.get(one, 0)]))
"""
    late = json.loads(run_in_process(code, *COMMANDS[name].replace("FOLDER", str(tmp_path)).split()))
    assert set(late) <= SMALL.get(name, set())


@pytest.mark.soak
def test_after_noms_compile_nothing_is_compiled_any_more(tmp_path: Path) -> None:
    cache, noms = tmp_path / "cache", [sys.executable, "-m", "noms_training"]

    def run(command: list[str]) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, timeout=1800
        )

    done = run([*noms, "compile"])
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("noms_env: compiling tables, batches, environments, ")
    assert done.stderr.count("\n") == 1
    assert "functions compiled in" in done.stdout
    kept = {path.name for path in cache.rglob("*.nb*")}
    assert len(kept) > 160
    commands = [[*noms, *line.replace("FOLDER", str(tmp_path)).split()] for line in [*COMMANDS.values(), *MORE.values()]]
    for command in [*commands, [sys.executable, "-c", PYTHON]]:
        done = run(command)
        assert done.returncode == 0, (command, done.stderr)
        assert "compiling" not in done.stderr, command
        assert {path.name for path in cache.rglob("*.nb*")} == kept, command
    done = run([*noms, "compile"])
    assert (done.stderr, done.stdout.startswith("all is compiled, kept in ")) == ("", True)


def test_a_player_that_there_is_not_is_one_sentence(run: Run) -> None:
    status, out, err = run("compile", "thump")
    assert (status, out) == (2, "")
    assert is_one_sentence(err)
    assert "there is no player 'thump'; did you mean thumb?" in err


def test_the_line_names_the_parts(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    progress = Progress(is_cached=True)
    event = SimpleNamespace(data={"dispatcher": batch_kernels.step_rows})

    def compile_one() -> None:
        progress.on_start(event)
        progress.on_end(event)

    assert progress.use({"tables": compile_one, "thumb": lambda: None}) == 1
    err = capsys.readouterr().err
    assert err.startswith("noms_env: compiling tables, thumb for the first use, which takes a minute or two at most; ")
    assert "  tables (1 of 2), functions left: " in err
    assert progress.use({"tables": lambda: None}) == 0
    assert capsys.readouterr().err == ""
