"""Foreign players that are Python functions: their names, and that their failures harm no other player."""

import copy
import os
import re
import subprocess
import sys
from pathlib import Path
from threading import Event

import numpy as np
import pytest

from noms_env import SeatEnv, load_player, make_batch
from noms_env.players.foreign_code import ForfeitError, by_command_line
from noms_env.variants import game, make_rules
from noms_training.agents.guarded import guard_players
from noms_training.agents.registry import agent_spec, agent_specs
from noms_training.agents.spec import AgentSpec
from noms_training.agents.table_pool import AtTables
from noms_training.evaluation.comparison import Comparison, compare
from noms_training.evaluation.matches import compare_matches
from tests.begin import begin
from tests.commands import Run, assert_refused

EXAMPLES = Path(__file__).parents[2] / "examples"
SMALL = make_rules(game("up_down"), 3, {"ranks": 3})
SMALL_WORDS = ("--seats", "3", "--option", "ranks=3")
"""Four cards each at most."""


def compare_with_random(player: str, deals: int = 6, limit: float | None = None) -> Comparison:
    """Play small deals of a player named by text against random ones."""
    return compare(SMALL, agent_spec(player, limit), agent_spec("random"), deals, names=("alone", "against"))


MODULE = """
import sys
import numpy as np
from noms_env.players import load_player
def act(observation, mask, rng, temperature=1.0):
    assert observation.shape == (1072,) and mask.shape == (150,)
    return rng.choice(np.flatnonzero(mask))
def thumb():
    return load_player("thumb")
class Lowest:
    wants_tables = False
    def act(self, observation, mask, seeds, *, tables=None):
        return mask.argmax(axis=-1)
def raises(observation, mask, rng):
    return {}["the answer"] if mask[:52].any() else int(mask.argmax())
def text(observation, mask, rng):
    return "3C"
def illegal(observation, mask, rng):
    return int(mask.argmin())
instances = []
def twice():
    instances.append(1)
    if len(instances) > 1:
        raise RuntimeError("no more")
    return Lowest()
def two(observation, mask):
    return 0
def nothing():
    return None
def broken():
    raise OSError("no model")
def leaves(observation, mask, rng):
    sys.exit(0)
def writes(observation, mask, rng):
    action = int(mask.argmax())
    observation[:] = mask[:] = 1
    return action
def cheats(observation, mask, rng):
    action = int(mask.argmin())
    mask[:] = 1
    return action
def full(observation, mask, rng):
    raise MemoryError
number = 5
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module in the working directory, new for each test."""
    name = f"agents_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return name


def test_functions_and_classes_play(module: str, tmp_path: Path) -> None:
    for name in (f"{module}:thumb", f"{tmp_path / module}.py:thumb"):
        kind = make_rules(game("down_up"), 3)
        assert compare(kind, agent_spec(name), agent_spec("thumb"), 4, seed=2).played.lost[0].tables == 0
    lowest = agent_spec(f"{EXAMPLES / 'own_player.py'}:lowest")
    values = compare(SMALL, AgentSpec("own", agent_spec(f"{module}:Lowest").make), lowest, 20).played.values
    assert np.abs(values.mean(axis=1)).max() < 1e-12, "both take the lowest action"
    first, second = (compare_with_random(f"{module}:act").played for _ in range(2))
    assert first.lost[0].tables == 0
    assert np.array_equal(first.values, second.values)
    assert compare_matches(SMALL, agent_spec(f"{module}:act"), agent_spec("random"), 2).deals > 0


def test_the_random_numbers_of_a_function_do_not_depend_on_the_other_rows(module: str) -> None:
    batch = begin(make_batch("down_up", tables=20, seed=1))
    batch.observe()
    rows = np.arange(20)
    player = agent_spec(f"{module}:act")
    actions = AtTables(player.make(), np.random.default_rng([7, 0]))(batch, rows)
    with guard_players([player], (7,), Event()) as (guard,):
        assert np.array_equal(guard(batch, rows), actions)


@pytest.mark.parametrize(
    ("function", "why"),
    [
        ("raises", "raised KeyError: 'the answer' (agents_"),
        ("text", "raised TypeError: the answer must be the number of an action, not '3C'"),
        ("cheats", "chose action 0, which was not legal"),
        ("leaves", "raised SystemExit: 0 (agents_"),
    ],
)
def test_a_function_that_fails_loses_the_table(module: str, function: str, why: str, run: Run) -> None:
    lost = compare_with_random(f"{module}:{function}").played.lost
    assert lost[0].tables > 0
    assert lost[1].tables == 0
    assert why in lost[0].why[0]
    status, _, err = run("watch", "up_down", f"{module}:{function}", "--delay", "0", "--seed", "1")
    assert_refused((status, "", err), f"noms: {module}:{function} {why.partition(' (')[0].split('action 0')[0]}")


ENDING = """
import os, sys
from os import _exit
def act(observation, mask, rng):
    os._exit(0)
def other(observation, mask, rng):
    sys.modules[os.name]._exit(0)
def program(observation, mask, rng):
    os.execvp(sys.executable, [sys.executable, "-c", "pass"])
def make():
    _exit(0)
def train(task):
    os._exit(0)
def player(folder):
    pass
"""
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}


def test_a_player_that_ends_the_process_ends_no_command(tmp_path: Path) -> None:
    (tmp_path / "ends.py").write_text(ENDING)
    (tmp_path / "imported.py").write_text("import os\nos._exit(0)\n")
    evaluate = ["--variant", "up_down", *SMALL_WORDS, "--deals", "2", "--threads", "1"]
    words = [
        *(["evaluate", f"ends.py:{name}", "random", *evaluate] for name in ("act", "other", "program", "make")),
        ["evaluate", "imported.py:make", "random", *evaluate],
        ["tournament", "ends.py:act", "random", "greedy", *evaluate],
        ["watch", "up_down", "ends.py:act", *SMALL_WORDS, "--delay", "0"],
        ["record", "up_down", *SMALL_WORDS, "--player", "ends.py:act", "--out", "games.jsonl"],
        ["export", "--variant", "up_down", *SMALL_WORDS, "--player", "ends.py:act", "--format", "npz", "--out", "data"],
        ["benchmark", "run", "ends.py", "--games", "up_down", "--budget", "100", "--seeds", "1", "--out", "entry"],
        ["benchmark", "run", "imported.py", "--games", "up_down", "--budget", "100", "--seeds", "1", "--out", "other"],
    ]
    script = f"from noms_training.cli import main\nfor words in {words}:\n    print('status', main(words), flush=True)\n"
    process = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, env=ENVIRONMENT)
    statuses = [line for line in process.stdout.splitlines() if line.startswith("status ")]
    assert statuses == [f"status {status}" for status in (0, 0, 0, 2, 2, 0, 2, 2, 2, 1, 1)], (process.stdout, process.stderr)
    for name in ("_exit", "execv"):
        assert f"raised SystemExit: os.{name} was called (ends.py, line " in process.stdout
    sentences = process.stderr.splitlines()
    assert all(line.startswith("noms: ") for line in sentences), sentences
    assert len(sentences) == 7
    assert "noms: somebody else's code ended the command before it was done (SystemExit: os._exit was called)" in sentences
    assert not (tmp_path / "games.jsonl").exists()
    assert not (tmp_path / "data").exists()


def test_a_training_process_that_ends_itself_is_reported(tmp_path: Path) -> None:
    (tmp_path / "ends.py").write_text(ENDING)
    words = ["benchmark", "run", "ends.py", "--games", "up_down", "--budget", "100", "--workers", "2", "--out", "entry"]
    process = subprocess.run(
        [sys.executable, "-m", "noms_training", *words], cwd=tmp_path, capture_output=True, text=True, env=ENVIRONMENT
    )
    assert process.returncode == 2
    assert "noms: a process that trained has ended itself or was killed" in process.stderr.splitlines()[-1]
    assert "Traceback" not in process.stderr


def test_a_function_may_change_its_arguments(module: str, run: Run) -> None:
    assert compare_with_random(f"{module}:writes").played.lost[0].tables == 0
    assert run("watch", "up_down", f"{module}:writes", *SMALL_WORDS, "--delay", "0", "--seed", "1")[0] == 0


@pytest.mark.parametrize("name", [":act", ".py:Lowest"])
def test_an_environment_takes_the_same_names(module: str, name: str) -> None:
    env = SeatEnv("up_down", opponents=f"{module}{name}", seats=3, ranks=3)
    env.reset(seed=1)
    twin = copy.deepcopy(env)
    for _ in range(4):
        action = int(env.action_masks().argmax())
        step, again = env.step(action), twin.step(action)
        assert np.array_equal(step[0]["observation"], again[0]["observation"])
        if step[2]:
            break
    env = SeatEnv("up_down", opponents=f"{module}:illegal", seats=3, ranks=3)
    env.reset(seed=1)
    with pytest.raises(ForfeitError, match=f"{module}:illegal chose action 0, which was not legal"):
        env.step(int(env.action_masks().argmax()))


def test_a_memory_error_is_not_blamed_on_the_player(module: str) -> None:
    with pytest.raises(MemoryError):
        compare_with_random(f"{module}:full")


def test_only_programs_have_a_time_limit(module: str) -> None:
    with pytest.raises(ValueError, match=f"only programs .* and {module}:act, thumb is none"):
        agent_specs([f"{module}:act", "thumb"], 1.0)


def test_only_names_of_the_command_line_run_code(module: str) -> None:
    names = [f"{module}:act", f"{module}.py:act", f"search:{module}:act", f"search:up_down,opponents={module}.py:act"]
    with by_command_line(["play", "up_down", f"--against={module}:thumb"]):
        for name in [*names, "cmd:touch ran", "search:cmd:touch ran"]:
            with pytest.raises(ValueError, match=r"a file names the program|is somebody else's code"):
                load_player(name)
        assert load_player(f"{module}:thumb").wants_tables
    for name in names[2:]:
        with pytest.raises(ValueError, match="is somebody else's code"):
            load_player(name)
    assert not Path("ran").exists()


def test_a_player_that_cannot_be_created_again_loses_all(module: str) -> None:
    comparison = compare_with_random(f"{module}:twice", 2)
    lost = comparison.played.lost[0]
    assert lost.tables == 2 * comparison.games
    assert "raised RuntimeError: no more" in lost.why[0]


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("{module}:two", ":two takes the arguments (observation, mask)"),
        ("{module}:nothing", ":nothing returned no player: NoneType lacks act("),
        ("{module}:broken", ":broken raised OSError: no model (agents_"),
        ("{module}:number", ":number is int: a player is"),
        ("{module}:absent", ":absent cannot be loaded: there is no absent in "),
        ("no_such_module:make", "raised ModuleNotFoundError: No module named 'no_such_module'"),
        ("absent.py:make", "cannot be loaded: there is no file"),
        ("wrong.py:make", "raised SyntaxError"),
        ("chess", "MODULE:FUNCTION or cmd:PROGRAM"),
    ],
)
def test_a_wrong_or_unknown_player_is_refused(module: str, name: str, sentence: str) -> None:
    Path("wrong.py").write_text("def make(:\n")
    with pytest.raises(ValueError, match=re.escape(sentence)):
        agent_spec(name.format(module=module))


def test_packages_register_players_by_name(tmp_path: Path, module: str, monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    info = tmp_path / "alice_plays-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: alice-plays\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[noms_env.players]\nalice = {module}:Lowest\nbob = {module}:absent\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert compare_with_random("alice", 4).played.lost[0].tables == 0
    with pytest.raises(ValueError, match="bob raised AttributeError"):
        agent_spec("bob")
    with pytest.raises(ValueError, match=r"the players are random, .*, alice, bob; the policies"):
        agent_spec("chess")
