"""Tables on a GPU: the tests in numba's simulator of one, and what users read if there is no GPU."""

import itertools
import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from unittest.mock import Mock

import pytest
from numba import cuda

from benchmarks.cuda.__main__ import main
from noms_env import VARIANTS, load_player, make_batch
from noms_env.cuda import rows
from tests.commands import Run, assert_refused

ROOT = Path(__file__).parents[2]


make_gpu_batch = partial(make_batch, "noms", 2, device="cuda")


@pytest.mark.parametrize("file", sorted(path.name for path in (ROOT / "tests" / "cuda").glob("simulated*.py")))
def test_in_the_simulator(file: str) -> None:
    run_simulated_tests(file, "not soak")


@pytest.mark.soak
@pytest.mark.parametrize("file", ["simulated_search.py", "simulated_policy_search.py"])
def test_searches_of_all_games_in_the_simulator(file: str) -> None:
    run_simulated_tests(file, "soak")


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """numba-cuda is installed, but finds no GPU."""
    monkeypatch.setattr(rows, "find_spec", lambda name: name)
    monkeypatch.setattr(rows, "import_module", lambda name: name)
    monkeypatch.setattr(cuda, "is_available", lambda: False)


def run_simulated(*words: str, **environment: str) -> str:
    """Run Python in another process, since numba chooses the simulator at import; return its output."""
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1", **environment}
    process = subprocess.run([sys.executable, *words], cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


def run_simulated_tests(file: str, marks: str) -> None:
    run_simulated("-m", "pytest", "-q", "-m", marks, "-p", "no:xdist", "-p", "no:cacheprovider", f"tests/cuda/{file}")


def assert_refused_in_one_line(error: type[Exception], sentence: str, call: Callable[[], object]) -> None:
    with pytest.raises(error, match=sentence) as refusal:
        call()
    assert "\n" not in str(refusal.value)


def test_without_numba_cuda_a_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "find_spec", lambda _name: None)
    sentence = r"numba-cuda, which is not installed: pip install .*\[cuda\]'?, or"
    assert_refused_in_one_line(ModuleNotFoundError, sentence, make_gpu_batch)


@pytest.mark.usefixtures("no_gpu")
def test_without_a_gpu_a_sentence_says_so() -> None:
    assert_refused_in_one_line(RuntimeError, "needs an NVIDIA GPU and its driver", make_gpu_batch)


def test_without_torch_a_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "noms_env.cuda.players.policy", raising=False)
    sentence = r"policies on a GPU need torch, .*: pip install .*\[train\]'?"
    assert_refused_in_one_line(ModuleNotFoundError, sentence, lambda: load_player("noms@0", device="cuda"))


@pytest.mark.usefixtures("no_gpu")
@pytest.mark.parametrize("command", ["evaluate", "tournament", "crossplay"])
def test_commands_without_a_gpu_say_so_or_use_the_processor(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    monkeypatch.chdir(tmp_path)
    words = [command, "thumb", "random", "--variant", "down_up", "--deals", 2, "--threads", 1]
    words += ["--matches", 0] if command == "evaluate" else []
    words += ["--out", "results"] if command == "tournament" else ["--json", "results.json"]
    assert_refused(run(*words, "--device", "cuda"), "needs an NVIDIA GPU and its driver")
    assert not [*tmp_path.iterdir()]
    assert run(*words, "--device", "auto")[0] == 0
    files = [file for file in tmp_path.rglob("*.json") if file.parent.parent.name != "blocks"]
    assert files
    assert not any("device" in file.read_text() for file in files)


def test_a_numpy_that_numba_cuda_cannot_use_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "find_spec", lambda name: name)
    monkeypatch.setattr(rows, "import_module", Mock(side_effect=AttributeError("module 'numpy' has no attribute 'row_stack'")))
    sentence = r"numba-cuda does not work with numpy [\d.]+ \(.*row_stack.*\): pip install"
    assert_refused_in_one_line(RuntimeError, sentence, make_gpu_batch)


def test_the_benchmark_runs_in_the_simulator(tmp_path: Path) -> None:
    file = tmp_path / "build" / "cuda.json"
    out = run_simulated("-W", "error", "-m", "benchmarks.cuda", "--json", str(file))
    results = json.loads(file.read_text())
    assert results["run"]
    assert min(results["agreement"]["decisions"].values()) > 0
    assert [*results["speed"]["games"]] == [*results["speed"]["core"]] == list(VARIANTS)
    assert all(rates["calls"] > 0 for rates in results["speed"]["by tables"].values())
    for player, games in itertools.product(("random", "thumb"), ("", "/games")):
        (comparison,) = results[f"players/{player}{games}"].values()
        assert comparison["mismatches"] == 0 < comparison["compared"]
        assert comparison["rate"] > 0 < comparison["core"]
    assert results["players/solved"]["small_ships"]["not made"].startswith(
        "ValueError: the player solved plays on the processor"
    )
    assert {row["name"] for row in results["layout"]["rates"]} == {
        f"{layout}, {order}" for layout in ("rows", "neighbours") for order in ("mixed", "alike")
    }
    assert results["learn"]["big_ships"]["on"] == "cuda"
    assert results["learn"]["big_ships"]["rate"] > 0
    assert len(results["learn"]["above thumb"]["curve"]) > 0
    assert "words read" in out
    assert "under way" not in results


def test_the_profile_of_the_benchmark_runs_in_the_simulator(tmp_path: Path) -> None:
    out = run_simulated("-W", "error", "-m", "benchmarks.cuda", "--profile", PATH=str(tmp_path))
    for variant in ("step alone", "write alone", "thumb", "all in one phase", "neighbours differ"):
        assert variant in out
    assert out.endswith("ncu is not on the path\n")


@pytest.mark.usefixtures("no_gpu")
def test_without_a_gpu_the_benchmark_says_that_nothing_was_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--json", str(tmp_path / "cuda.json")]) == 0
    assert capsys.readouterr().out.startswith("not run: device='cuda' needs an NVIDIA GPU")
    assert json.loads((tmp_path / "cuda.json").read_text())["run"] is False
