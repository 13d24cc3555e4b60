"""Tables on a GPU: the tests in numba's simulator of one, and what is said where there is none."""

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from numba import cuda

from benchmarks.cuda.__main__ import main
from noms_env import VARIANTS, load_player, make_batch
from noms_env.cuda import rows
from tests.commands import Run, assert_refused

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("file", sorted(path.name for path in (ROOT / "tests" / "cuda").glob("simulated*.py")))
def test_in_the_simulator(file: str) -> None:
    run_in_the_simulator(file, "not soak")


@pytest.mark.soak
@pytest.mark.parametrize("file", ["simulated_search.py", "simulated_pimc.py", "simulated_policy_search.py"])
def test_searches_of_all_games_in_the_simulator(file: str) -> None:
    run_in_the_simulator(file, "soak")


def run_in_the_simulator(file: str, marks: str) -> None:
    """The simulator is chosen when numba is imported, so it takes a process of its own."""
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1"}
    words = ["-q", "-m", marks, "-p", "no:xdist", "-p", "no:cacheprovider", f"tests/cuda/{file}"]
    command = [sys.executable, "-m", "pytest", *words]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_without_numba_cuda_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "find_spec", lambda _name: None)
    with pytest.raises(
        ModuleNotFoundError, match=r"numba-cuda, which is not installed: pip install .*\[cuda\]'?, or"
    ) as refused:
        make_batch("noms", 2, device="cuda")
    assert "\n" not in str(refused.value)


def test_without_a_gpu_one_sentence_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "find_spec", lambda name: name)
    monkeypatch.setattr(cuda, "is_available", lambda: False)
    with pytest.raises(RuntimeError, match="needs an NVIDIA GPU and its driver") as refused:
        make_batch("noms", 2, device="cuda")
    assert "\n" not in str(refused.value)


def test_without_torch_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "noms_env.cuda.players.policy", raising=False)
    with pytest.raises(ModuleNotFoundError, match=r"policies on a GPU need torch, .*: pip install .*\[train\]'?") as refused:
        load_player("noms@0", device="cuda")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("command", ["evaluate", "tournament", "crossplay"])
def test_commands_without_a_gpu_say_so_or_take_the_processor(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    monkeypatch.setattr(rows, "find_spec", lambda name: name)
    monkeypatch.setattr(rows, "import_module", lambda name: name)
    monkeypatch.setattr(cuda, "is_available", lambda: False)
    monkeypatch.chdir(tmp_path)
    words = [command, "thumb", "random", "--variant", "down_up", "--deals", 2, "--threads", 1]
    words += ["--matches", 0] if command == "evaluate" else []
    words += ["--out", "found"] if command == "tournament" else ["--json", "found.json"]
    assert_refused(run(*words, "--device", "cuda"), "needs an NVIDIA GPU and its driver")
    assert not [*tmp_path.iterdir()]
    assert run(*words, "--device", "auto")[0] == 0
    files = [file for file in tmp_path.rglob("*.json") if file.parent.parent.name != "blocks"]
    assert files
    assert not any("device" in file.read_text() for file in files)


def test_a_numpy_that_numba_cuda_cannot_use_costs_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_name: str) -> None:
        raise AttributeError("module 'numpy' has no attribute 'row_stack'")

    monkeypatch.setattr(rows, "find_spec", lambda name: name)
    monkeypatch.setattr(rows, "import_module", fail)
    with pytest.raises(
        RuntimeError, match=r"numba-cuda does not work with numpy [\d.]+ \(.*row_stack.*\): pip install"
    ) as refused:
        make_batch("noms", 2, device="cuda")
    assert "\n" not in str(refused.value)


def test_what_is_to_run_on_a_gpu_runs_in_the_simulator(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-W", "error", "-m", "benchmarks.cuda", "--json", str(tmp_path / "build" / "cuda.json")]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads((tmp_path / "build" / "cuda.json").read_text())
    assert found["run"]
    assert min(found["agreement"]["decisions"].values()) > 0
    assert [*found["speed"]["games"]] == [*found["speed"]["core"]] == list(VARIANTS)
    assert all(rates["calls"] > 0 for rates in found["speed"]["by tables"].values())
    for player, game in itertools.product(("random", "thumb"), ("", "/games")):
        (compared,) = found[f"players/{player}{game}"].values()
        assert compared["mismatches"] == 0 < compared["compared"]
        assert compared["rate"] > 0 < compared["core"]
    assert found["players/solved"]["small_ships"]["not made"].startswith("ValueError: the player solved plays on the processor")
    assert {row["name"] for row in found["layout"]["rates"]} == {
        f"{layout}, {order}" for layout in ("rows", "neighbours") for order in ("mixed", "alike")
    }
    assert found["learn"]["big_ships"]["on"] == "cuda"
    assert found["learn"]["big_ships"]["rate"] > 0
    assert len(found["learn"]["above thumb"]["curve"]) > 0
    assert "words read" in done.stdout
    assert "under way" not in found


def test_what_limits_the_kernels_is_told(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1", "PATH": str(tmp_path)}
    command = [sys.executable, "-W", "error", "-m", "benchmarks.cuda", "--profile"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    for variant in ("step alone", "write alone", "thumb", "all in one phase", "neighbours differ"):
        assert variant in done.stdout
    assert done.stdout.endswith("ncu is not on the path\n")


def test_without_a_gpu_it_says_that_nothing_was_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(rows, "find_spec", lambda name: name)
    monkeypatch.setattr(cuda, "is_available", lambda: False)
    assert main(["--json", str(tmp_path / "cuda.json")]) == 0
    assert capsys.readouterr().out.startswith("not run: device='cuda' needs an NVIDIA GPU")
    assert json.loads((tmp_path / "cuda.json").read_text())["run"] is False
