"""The console command `noms`: its output, its exit statuses, and one sentence for every error."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from noms_env import version
from noms_env.variants import GAMES, VARIANTS
from noms_env.version import __version__
from noms_training import extras
from noms_training.cli import COMMANDS
from noms_training.options import parse_options
from tests.commands import Run, assert_refused
from tests.uncompiled import run_python


def test_version_and_help_do_not_import_the_engine() -> None:
    code = (
        "import sys; from noms_training.cli import main; status = main(['--version']) + main([]);"
        "sys.exit(status + 10 * ('numba' in sys.modules or 'noms_env' in sys.modules))"
    )
    assert run_python("-c", code).startswith(f"noms {__version__}\n")


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"]])
def test_help_names_every_command_with_an_example(run: Run, words: list[str]) -> None:
    status, out, _ = run(*words)
    assert status == 0
    lines = " ".join(out.replace("│", "").split())
    assert all(f" {name} {summary}" in lines for name, (_, summary) in COMMANDS.items())
    assert "noms record small_ships --matches 10" in out


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_an_example_fits_the_terminal_and_shows_no_python(
    run: Run, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for width in (60, 80):
        monkeypatch.setenv("COLUMNS", str(width))
        status, out, _ = run(name, "--help")
        assert status == 0
        assert f"usage: noms {name}" in out
        words = " ".join(out.replace("│", "").split())  # the help may be broken into lines anywhere
        assert f" noms {name} " in words.partition("For example:")[2]
        assert not re.search(r"\bNone\b|\bFalse\b|default: \)|''|NoneType", words)
        lines = [line for line in out.splitlines() if not re.match("  (noms|torchrun) ", line)]  # examples are to be copied
        assert max(map(len, lines)) <= width


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_shell_completion_knows_commands_and_options(run: Run, shell: str) -> None:
    status, out, err = run("--print-completion", shell)
    assert (status, err) == (0, "")
    assert all(word in out for word in (*COMMANDS, "line-ups", "ppo.clip-coef"))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_an_error(run: Run) -> None:
    assert_refused(run("record", "noms", "--out", "/dev/full"), "cannot write /dev/full: No space left on device")
    with Path("/dev/full").open("w") as full:
        result = subprocess.run(
            [sys.executable, "-m", "noms_training", "--help"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (result.returncode, result.stderr) == (2, "noms: cannot print the output: No space left on device\n")


@pytest.mark.parametrize("words", [["--help"], ["watch", "down_up", *["random"] * 4, "--seed", "1"]], ids=" ".join)
def test_a_closed_pipe_is_no_error(words: list[str]) -> None:
    read, write = os.pipe()
    os.close(read)
    result = subprocess.run([sys.executable, "-m", "noms_training", *words], stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert result.returncode == 1
    assert b"noms: " not in result.stderr, "the notice of a first use is allowed, an error is not"


def test_install_commands_name_the_clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clone = Path(version.__file__).parents[1]
    monkeypatch.chdir(clone)
    assert version.install_command("plot") == "pip install '.[plot]'"
    monkeypatch.chdir(tmp_path)
    assert shlex.split(version.install_command("plot")) == ["pip", "install", f"{clone}[plot]"]
    monkeypatch.setattr(version, "__file__", str(tmp_path / "noms_env" / "version.py"))
    assert version.install_command("plot") == "pip install 'noms-env[plot]'"


def test_a_missing_library_is_named_with_its_extra(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert extras.require("json", "train") is json
    monkeypatch.setattr("noms_training.cli.run", lambda _words: extras.require("no_such_library", "train"))
    assert_refused(run("demo"), "needs no_such_library, which is not installed: pip install '.[train]'")
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(extras.MissingExtraError, match="needs Pillow"):
        extras.require("PIL", "render")


HELP_WITHOUT_EXTRAS = """
import sys
from importlib.machinery import PathFinder

class WithoutExtras(PathFinder):
    def find_spec(name, path=None, target=None):
        return None if name.partition(".")[0] in sys.argv else PathFinder.find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = WithoutExtras
from noms_training import cli
for command in cli.COMMANDS:
    assert cli.main([command, "--help"]) == 0
"""


def test_help_needs_no_extra() -> None:
    libraries = ["PIL", "h11", "jinja2", "matplotlib", "pyarrow", "resvg_py", "starlette", "tensorboard", "torch", "uvicorn"]
    run_python("-c", HELP_WITHOUT_EXTRAS, *libraries, "websockets")


@pytest.mark.parametrize(
    ("words", "options"),
    [
        (["target=null", "hook=true"], {"target": None, "hook": True}),
        (["target=None", "hook=False"], {"target": None, "hook": False}),
        (['tie="play_on"'], {"tie": "play_on"}),
        (['trump_rotation=["S","NT"]', "target=50"], {"trump_rotation": ["S", "NT"], "target": 50}),
        (["tie=a=b"], {"tie": "a=b"}),
    ],
)
def test_options_are_json_or_words(words: list[str], options: dict[str, Any]) -> None:
    assert parse_options(words) == options


@pytest.mark.parametrize("words", [["tie"], ["=3"], ["tie=none", "tie=share"]])
def test_malformed_options_are_refused(words: list[str]) -> None:
    with pytest.raises(ValueError, match="--option"):
        parse_options(words)


def test_list_shows_all_games_and_all_options_of_a_game(run: Run) -> None:
    status, names, _ = run("list")
    assert (status, len(names.splitlines())) == (0, len(GAMES) + 1)
    for game in GAMES.values():
        assert f"{game.name}: {game.title}, " in names
        status, out, _ = run("list", game.name)
        assert status == 0
        assert " ".join(game.intro.split()) in " ".join(out.split())
        assert all(f"  {option.name}=" in out for option in game.options)
        assert ("*  " in out) is ("* worked out" in out)
        assert run("list", game.name, "--details")[1].count("(") == out.count("(") + len(game.options)


@pytest.mark.parametrize("name", [*GAMES, "micro"])
def test_list_cuts_nothing_on_a_narrow_terminal(name: str, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    status, out, _ = run("list", name)
    assert (status, "…" in out) == (0, False)


def test_demo_shows_a_deal_of_each_game(run: Run) -> None:
    status, out, err = run("demo", "--games")
    assert (status, err) == (0, "")
    assert out.count(", match 0, deal ") == len(VARIANTS)
    assert all(f"{game.title}, match 0" in out for game in GAMES.values())
    assert out.count("  points ") == len(VARIANTS)
    hands = [line for line in out.splitlines() if line.startswith("  seat ")]
    assert len(set(hands)) == len(hands)


@pytest.mark.parametrize(
    "words",
    [["list"], ["play", "down_up", "--seats", "3", "--deals", "1"], ["demo", "--games"], ["check", "\udcff"]],
    ids=lambda words: words[0],
)
def test_letters_replace_signs_that_cannot_be_shown(words: list[str], tmp_path: Path) -> None:
    result = subprocess.run(
        [sys.executable, "-m", "noms_training", *words],
        capture_output=True,
        input=b"\xe2\x99\xa5q\nq\n",  # a heart, which ASCII cannot read
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONPATH": str(Path(__file__).parents[1])},
    )
    assert result.returncode == (2 if words[0] == "check" else 0), result.stderr
    assert b"Traceback" not in result.stderr
    assert result.stdout.isascii()
    assert result.stderr.isascii()
    if words[0] == "demo":
        assert re.search(rb"seat 0   C [2-9TJQKA]+  D ", result.stdout)
