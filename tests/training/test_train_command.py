"""`noms train`: what the words of the command line make of a run; the loop itself is tested elsewhere."""

import importlib
import json
import os
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from noms_env.policy.encoding import make_encoding
from noms_env.policy.file import PolicyInfo, save_policy
from noms_env.variants import game, make_rules
from noms_training.commands import train as command
from noms_training.extras import MissingExtraError
from noms_training.learn import loop
from noms_training.learn.checkpoint import CheckpointError, RunFolder
from noms_training.learn.config import PRESETS, ActorConfig, CurriculumConfig, OpponentsConfig, TrainConfig
from noms_training.learn.log import SECONDS, Watcher, read_log
from noms_training.learn.train import Trainer
from tests.commands import Run, assert_refused, is_one_sentence
from tests.policy.test_player import SMALL, make_actor, tensors_of

Started = list[tuple[TrainConfig, RunFolder, Watcher]]
TINY = ["--network.width", "8", "--network.blocks", "0", "--critic.width", "8", "--critic.blocks", "0", "--tables", "8"]


@pytest.fixture
def run(run: Run) -> Run:
    return partial(run, "train")


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Started:
    """Notes what the loop is started with, in place of training; in an empty folder."""
    calls: Started = []

    def train(run: Trainer, folder: RunFolder, watcher: Watcher, minutes: float | None) -> bool:
        calls.append((run.config, folder, watcher))
        watcher.started(0, run.config.decisions)
        watcher.iteration(100, {"losses/approx_kl": 0.5})
        return minutes is None

    monkeypatch.setattr(loop, "train_prepared", train)
    monkeypatch.chdir(tmp_path)
    return calls


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_gives_the_defaults(run: Run, started: Started, preset: str) -> None:
    status, out, err = run("down_up", "--preset", preset)
    assert (status, out) == (
        0,
        f"policy: runs/down_up-{preset}/policy.safetensors · learning curves: noms plot runs/down_up-{preset}\n",
    )
    ((config, folder, _),) = started
    usual = TrainConfig(variants=("down_up",), threads=os.cpu_count(), **PRESETS[preset][1])
    assert config == usual.sized(config.device == "cuda")
    assert folder.path == Path(f"runs/down_up-{preset}")
    assert json.loads((folder.path / "config.json").read_text())["decisions"] == config.decisions
    assert "100 of" in err
    assert read_log(folder.path)["losses/approx_kl"][1].tolist() == [0.5]


def test_every_field_can_be_given(run: Run, started: Started) -> None:
    words = ["big_ships", "down_up", "--seats", "3", "4", "--ppo.clip-coef", "0.1", "--no-privileged-critic", "--seed", "7"]
    words += ["--option", "hook=false", "--option", "hook_min_cards=2", "--out", "there", "--preset=smoke", *TINY]
    words += ["--opponents.players", "random", "--evaluate-every", "500", "--precision", "fp32"]
    status, _, err = run(*words)
    assert status == 2  # hook_min_cards needs the hook
    assert "hook_min_cards has an effect only with hook=True" in err
    assert not Path("there").exists()
    words[words.index("hook=false")] = "hook=true"
    assert run(*words)[0] == 0
    ((config, folder, _),) = started
    assert folder.path == Path("there")
    preset = TrainConfig(variants=("big_ships", "down_up"), **PRESETS["smoke"][1])
    assert config.ppo == replace(preset.ppo, clip_coef=0.1)
    assert (config.variants, config.seats, config.seed, config.privileged_critic) == (
        ("big_ships", "down_up"),
        (3, 4),
        7,
        False,
    )
    assert (config.option, config.evaluate_every) == (("hook=true", "hook_min_cards=2"), 500)
    assert (config.opponents.players, config.precision, config.network.width) == (("random",), "fp32", 8)
    assert config.decisions == preset.decisions


@pytest.mark.parametrize(
    ("preset", "option", "trick_features"), [("fast", "--initial-policy", False), ("smoke", "--initial_policy", True)]
)
def test_a_run_that_begins_with_a_policy_has_a_network_that_fits_it(
    run: Run, started: Started, preset: str, option: str, trick_features: bool
) -> None:
    more: Any = {"trick_features": trick_features}
    rule_sets = (make_rules(game("down_up")),)
    actor = make_actor(rule_sets, SMALL, encoding=make_encoding(rule_sets, **more))
    save_policy("first.safetensors", tensors_of(actor), PolicyInfo(rule_sets, SMALL, **more))
    sizes: dict[str, Any] = dict(SMALL)
    own, usual = ActorConfig(**sizes), TrainConfig(("down_up",), **PRESETS[preset][1]).sized(False)
    assert own != usual.network
    assert run("down_up", "--preset", preset, option, "first.safetensors")[0] == 0
    ((config, _, _),) = started
    assert usual.card_features
    assert config == replace(usual, initial_policy="first.safetensors", network=own, threads=os.cpu_count(), **more)


def test_a_folder_with_a_run_is_refused(run: Run, started: Started) -> None:
    assert run("down_up", *TINY)[0] == 0
    assert_refused(run("down_up", *TINY), "--resume")
    assert len(started) == 1


def test_the_short_help_has_what_matters_and_the_long_one_everything(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    status, short, _ = run("--help")
    assert (status, "--help-all" in short) == (0, True)
    assert {"--preset", "--minutes", "--decisions", "--device"} <= set(short.split())
    rare = {"--allow-programs", "--privileged-critic,", "--ppo.gae-lambda", "--keep", "--curriculum.matches", "--network.width"}
    assert not rare & set(short.split())
    assert len(short.splitlines()) < 40
    status, full, _ = run("--help-all")
    assert status == 0
    assert rare | {"--resume", "--seats"} <= set(full.split())
    assert all(f"{name}: {says}" in " ".join(full.split()) for name, (says, _) in PRESETS.items())


def test_without_torch_a_sentence_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(module: str) -> Any:
        raise ModuleNotFoundError(f"No module named {module!r}", name=module)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(MissingExtraError) as caught:
        command.start(TrainConfig(("down_up",)), set(), "fast", None, False)
    assert "noms train needs torch" in str(caught.value)


@pytest.fixture
def saved(run: Run, started: Started) -> TrainConfig:
    """A run in `there`."""
    assert run("down_up", "--preset", "smoke", "--seed", "3", "--out", "there", *TINY)[0] == 0
    return started.pop()[0]


@pytest.mark.parametrize(
    "words",
    [
        ["--resume", "--out", "there"],
        ["--out=there", "--seed=3", "--resume", "--opponents.no-alone", "--no_trick_features"],
        ["--preset", "smoke", *TINY, "--seed", "3", "down_up", "--out", "there", "--resume"],
    ],
)
def test_a_run_goes_on_as_it_was_started(run: Run, started: Started, saved: TrainConfig, words: list[str]) -> None:
    assert run(*words)[0] == 0
    ((config, folder, _),) = started
    assert (config, folder.path) == (saved, Path("there"))


def test_a_run_keeps_its_threads_whoever_goes_on_with_it(
    started: Started, saved: TrainConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 7)
    assert command.run(replace(saved, threads=None), Path("there"), resume=True) == 0
    assert started.pop()[0] == saved
    assert json.loads(Path("there/config.json").read_text())["threads"] == saved.threads


@pytest.mark.parametrize("decisions", [900_000, 10])
def test_the_budget_can_be_changed_and_is_remembered(run: Run, started: Started, saved: TrainConfig, decisions: int) -> None:
    assert run("--resume", "--out", "there", "--decisions", str(decisions))[0] == 0
    assert run("--resume", "--out", "there")[0] == 0
    assert [config for config, _, _ in started] == [replace(saved, decisions=decisions)] * 2


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--ppo.clip-coef", "0.1"], "ppo.clip_coef 0.2, not 0.1; only --decisions may change"),
        (["--preset", "long"], "seed 3, not 0"),
        (["up_down"], "variants ('down_up',), not ('up_down',)"),
    ],
)
def test_a_run_that_goes_on_cannot_be_changed(
    run: Run, started: Started, saved: TrainConfig, words: list[str], sentence: str
) -> None:
    before = Path("there/config.json").read_bytes()
    assert_refused(run("--resume", "--out", "there", *words), f"as it was started, with {sentence}")
    assert started == []
    assert Path("there/config.json").read_bytes() == before


@pytest.mark.parametrize("content", ["{", "[1]", "[" * 100_000, '{"variants": ["down_up"], "speed": 1}', "{}"])
def test_a_damaged_configuration_is_told(run: Run, started: Started, saved: TrainConfig, content: str) -> None:
    Path("there/config.json").write_text(content)
    assert_refused(run("--resume", "--out", "there"), "noms: there is no run to continue in there: ")


@pytest.mark.parametrize(
    ("changes", "player"),
    [
        ({"panel": ("random", "cmd:touch ran")}, "cmd:touch ran"),
        ({"opponents": OpponentsConfig(players=("ran_there:make",))}, "ran_there:make"),
        ({"curriculum": CurriculumConfig(expert=("evil/ran.py:make",))}, "evil/ran.py:make"),
    ],
)
def test_a_folder_runs_no_program_unless_the_command_line_allows_it(
    run: Run, started: Started, saved: TrainConfig, changes: dict[str, Any], player: str
) -> None:
    Path("there/config.json").write_text(json.dumps(replace(saved, **changes).as_dict()))
    Path("evil").mkdir()
    for file in (Path("ran_there.py"), Path("evil/ran.py")):
        file.write_text("from pathlib import Path\nPath('ran').touch()\n")
    assert_refused(run("--resume", "--out", "there"), f"names the program {player!r}: it is run with --allow-programs only")
    assert not Path("ran").exists()
    run("--resume", "--out", "there", "--allow-programs")
    assert Path("ran").exists(), "it is no player, but it was run"
    assert started == []


def test_a_program_that_the_command_line_names_may_run(run: Run, started: Started, saved: TrainConfig) -> None:
    Path("own.py").write_text("def act(observation, mask, rng):\n    return int(mask.argmax())\n")
    Path("there/config.json").write_text(json.dumps(replace(saved, panel=("own.py:act",)).as_dict()))
    assert run("--resume", "--out", "there", "--panel", "own.py:act")[0] == 0
    assert len(started) == 1


def test_a_damaged_log_is_a_sentence_and_stays(run: Run, started: Started, saved: TrainConfig) -> None:
    log = Path("there/log.csv")
    log.write_text(f"{log.read_text()}bad\n")
    before = log.read_bytes()
    assert_refused(run("--resume", "--out", "there"), "noms: there/log.csv, line 4: ")
    assert log.read_bytes() == before


@pytest.mark.parametrize(
    ("error", "status", "sentence"),
    [
        (KeyboardInterrupt(), 130, "stopped by Ctrl-C; to continue: noms train --resume --out there"),
        (CheckpointError("there/state/1.pt cannot be written: No space left"), 2, "there/state/1.pt cannot be written"),
        (OSError(28, "No space left on device"), 2, "cannot write the log in there: No space left on device"),
    ],
)
def test_what_ends_a_run_is_a_sentence(
    run: Run, started: Started, monkeypatch: pytest.MonkeyPatch, error: BaseException, status: int, sentence: str
) -> None:
    def fail(*_: Any) -> None:
        raise error

    monkeypatch.setattr(loop, "train_prepared", fail)
    code, out, err = run("down_up", "--out", "there", *TINY)
    assert (code, out, is_one_sentence(err), sentence in err) == (status, "", True, True), err


def test_a_bug_is_not_taken_for_a_wrong_argument(run: Run, started: Started, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise ValueError("operands could not be broadcast")

    monkeypatch.setattr(loop, "train_prepared", broken)
    with pytest.raises(ValueError, match="broadcast"):
        run("down_up", *TINY)


def test_a_run_in_pieces_is_begun_and_continued_by_the_same_command(run: Run, started: Started, tmp_path: Path) -> None:
    words = ["--preset", "smoke", "--ppo.clip-coef", "0.1", "down_up", "--minutes", "2.5", *TINY]
    for _ in range(2):
        status, out, err = run(*words)
        assert status == 0, err
        assert out.endswith("the time is over; the same command goes on, or noms train --resume --out runs/down_up-smoke\n")
    (first, _, _), (second, _, _) = started
    assert first == second
    assert_refused(run(*words, "--seed", 3), "with seed 0, not 3")
    assert_refused(run("down_up", "--out", "other", "--minutes", "0", *TINY), "--minutes must be above 0, not 0")
    assert_refused(run("--preset", "smoke", "--minutes", "1"), "name at least one game")
    assert not Path("other").exists()


def test_a_run_that_cannot_go_on_keeps_its_budget(run: Run, started: Started) -> None:
    assert run("down_up", "--out", "there", *TINY)[0] == 0
    before = Path("there/config.json").read_bytes()
    Path("there/state/000000000009.pt").write_bytes(b"noms-state/4 " + b"0" * 64 + b"\n{}")
    for _ in range(2):
        refused = run("--resume", "--out", "there", "--decisions", 12345)
        assert_refused(refused, "was written by another version of noms")
    assert Path("there/config.json").read_bytes() == before
    assert len(started) == 1


def test_of_several_processes_one_writes_and_talks(run: Run, started: Started, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "1")
    assert run("down_up", "--out", "there", *TINY) == (0, "", "")
    ((_, folder, watcher),) = started
    assert type(watcher) is Watcher
    assert folder.path == Path("there")
    assert not folder.path.exists()


def test_a_short_run_from_end_to_end(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    words = ["down_up", "--out", "there", "--decisions", "300", "--evaluation-deals", "4", *TINY]
    status, _, err = run(*words)
    assert status == 0, err
    figures = read_log("there")
    done = int(figures["losses/approx_kl"][0][-1])
    assert done >= 300
    assert figures["eval/points/down_up_4/random"][0][-1] == done
    assert {SECONDS, "losses/entropy/call", "losses/explained_variance", "eval/probe/down_up_4/bid/hit"} <= set(figures)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    assert run("--resume", "--out", "there", "--decisions", str(done + 200))[0] == 0
    assert json.loads(Path("there/config.json").read_text())["threads"] == 1, "what a run comes to depends on it"
    again = read_log("there")["losses/approx_kl"][0]
    assert again[: len(figures["losses/approx_kl"][0])].tolist() == figures["losses/approx_kl"][0].tolist()
    assert again[-1] >= done + 200
    status, out, _ = run("--resume", "--out", "there")
    assert (status, f"the run is finished: {int(again[-1]):,} of {done + 200:,} decisions" in out) == (0, True)
    before = Path("there/config.json").read_bytes()
    assert_refused(run("--resume", "--out", "there", "--decisions", "10"), "decisions: --decisions must be above that, not 10")
    assert Path("there/config.json").read_bytes() == before


def test_the_package_run_as_a_module_is_the_same_command() -> None:
    import subprocess

    done = subprocess.run(
        [sys.executable, "-m", "noms_training", "train", "bridge"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, is_one_sentence(done.stderr)) == (2, True), done.stderr
