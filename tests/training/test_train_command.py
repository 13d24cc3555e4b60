"""`noms train`: the configuration and the folder of a run; `test_train.py` tests the loop."""

import importlib
import json
import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from noms_env.policy.encoding import make_encoding
from noms_env.policy.file import PolicyInfo, save_policy
from noms_training.commands import train as command
from noms_training.extras import MissingExtraError
from noms_training.learn import loop
from noms_training.learn.checkpoint import CheckpointError, RunFolder
from noms_training.learn.config import PRESETS, ActorConfig, CurriculumConfig, OpponentsConfig, TrainConfig
from noms_training.learn.log import SECONDS, Watcher, read_log
from noms_training.learn.train import Trainer
from tests.commands import SMALL_NETWORKS, Run, assert_refused, is_one_sentence
from tests.policy.test_player import SMALL, make_actor, tensors_of
from tests.training.fakes import rules

Starts = list[tuple[TrainConfig, RunFolder, Watcher]]
TINY = [*SMALL_NETWORKS, "--tables", "8"]


@pytest.fixture
def run(run: Run) -> Run:
    return partial(run, "train")


@pytest.fixture
def starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Starts:
    """Notes the arguments of the loop, in place of training; in an empty folder."""
    calls: Starts = []

    def train(run: Trainer, folder: RunFolder, watcher: Watcher, minutes: float | None) -> bool:
        calls.append((run.config, folder, watcher))
        watcher.started(0, run.config.decisions)
        watcher.iteration(100, {"losses/approx_kl": 0.5})
        return minutes is None

    monkeypatch.setattr(loop, "train_prepared", train)
    monkeypatch.chdir(tmp_path)
    return calls


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_gives_the_defaults(run: Run, starts: Starts, preset: str) -> None:
    path = f"runs/down_up-{preset}"
    status, out, err = run("down_up", "--preset", preset)
    assert (status, out) == (0, f"policy: {path}/policy.safetensors · learning curves: noms plot {path}\n")
    ((config, folder, _),) = starts
    usual = TrainConfig(variants=("down_up",), threads=os.cpu_count(), **PRESETS[preset][1])
    assert config == usual.sized(config.device == "cuda")
    assert folder.path == Path(path)
    assert json.loads((folder.path / "config.json").read_text())["decisions"] == config.decisions
    assert "100 of" in err
    assert read_log(folder.path)["losses/approx_kl"][1].tolist() == [0.5]


def test_arguments_override_the_preset(run: Run, starts: Starts) -> None:
    words = ["big_ships", "down_up", "--seats", "3", "4", "--ppo.clip-coef", "0.1", "--no-privileged-critic", "--seed", "7"]
    words += ["--option", "hook=false", "--option", "hook_min_cards=2", "--out", "there", "--preset=smoke", *TINY]
    words += ["--opponents.players", "random", "--evaluate-every", "500", "--precision", "fp32"]
    assert_refused(run(*words), "hook_min_cards has an effect only with hook=True")
    assert not Path("there").exists()
    words[words.index("hook=false")] = "hook=true"
    assert run(*words)[0] == 0
    ((config, folder, _),) = starts
    assert folder.path == Path("there")
    preset = TrainConfig(variants=("big_ships", "down_up"), **PRESETS["smoke"][1])
    assert config.ppo == replace(preset.ppo, clip_coef=0.1)
    assert (config.variants, config.seats) == (("big_ships", "down_up"), (3, 4))
    assert (config.seed, config.privileged_critic) == (7, False)
    assert (config.option, config.evaluate_every) == (("hook=true", "hook_min_cards=2"), 500)
    assert (config.opponents.players, config.precision, config.network.width) == (("random",), "fp32", 8)
    assert config.decisions == preset.decisions


@pytest.mark.parametrize(
    ("preset", "option", "trick_features"), [("fast", "--initial-policy", False), ("smoke", "--initial_policy", True)]
)
def test_a_run_from_an_initial_policy_has_its_network(
    run: Run, starts: Starts, preset: str, option: str, trick_features: bool
) -> None:
    more: Any = {"trick_features": trick_features}
    rule_sets = (rules("down_up"),)
    actor = make_actor(rule_sets, SMALL, encoding=make_encoding(rule_sets, **more))
    save_policy("first.safetensors", tensors_of(actor), PolicyInfo(rule_sets, SMALL, **more))
    sizes: dict[str, Any] = dict(SMALL)
    own, usual = ActorConfig(**sizes), TrainConfig(("down_up",), **PRESETS[preset][1]).sized(False)
    assert own != usual.network
    assert run("down_up", "--preset", preset, option, "first.safetensors")[0] == 0
    ((config, _, _),) = starts
    assert usual.card_features
    assert config == replace(usual, initial_policy="first.safetensors", network=own, threads=os.cpu_count(), **more)


def test_a_folder_with_a_run_is_refused_without_resume(run: Run, starts: Starts) -> None:
    assert run("down_up", *TINY)[0] == 0
    assert_refused(run("down_up", *TINY), "--resume")
    assert len(starts) == 1


def test_the_short_help_leaves_out_rare_options(run: Run) -> None:
    status, short, _ = run("--help")
    assert (status, "--help-all" in short) == (0, True)
    assert {"--preset", "--minutes", "--decisions", "--device"} <= set(short.split())
    rare = {"--allow-programs", "--privileged-critic,", "--ppo.gae-lambda", "--keep", "--curriculum.matches", "--network.width"}
    assert not rare & set(short.split())
    assert len(short.splitlines()) < 40
    status, full, _ = run("--help-all")
    assert status == 0
    assert rare | {"--resume", "--seats"} <= set(full.split())
    assert all(f"{name}: {text}" in " ".join(full.split()) for name, (text, _) in PRESETS.items())


def test_without_torch_the_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib, "import_module", Mock(side_effect=ModuleNotFoundError(name="torch")))
    with pytest.raises(MissingExtraError, match="noms train needs torch"):
        command.start(TrainConfig(("down_up",)), set(), "fast", None, False)


@pytest.fixture
def saved(run: Run, starts: Starts) -> TrainConfig:
    """A run in `there`."""
    assert run("down_up", "--preset", "smoke", "--seed", "3", "--out", "there", *TINY)[0] == 0
    return starts.pop()[0]


@pytest.mark.parametrize(
    "words",
    [
        ["--resume", "--out", "there"],
        ["--out=there", "--seed=3", "--resume", "--opponents.no-alone", "--no_trick_features"],
        ["--preset", "smoke", *TINY, "--seed", "3", "down_up", "--out", "there", "--resume"],
    ],
)
def test_a_resumed_run_has_its_first_configuration(
    run: Run, starts: Starts, saved: TrainConfig, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 7)  # its threads stay
    assert run(*words)[0] == 0
    ((config, folder, _),) = starts
    assert (config, folder.path) == (saved, Path("there"))
    assert json.loads(Path("there/config.json").read_text())["threads"] == saved.threads


@pytest.mark.parametrize("decisions", [900_000, 10])
def test_a_changed_budget_is_saved(run: Run, starts: Starts, saved: TrainConfig, decisions: int) -> None:
    assert run("--resume", "--out", "there", "--decisions", str(decisions))[0] == 0
    assert run("--resume", "--out", "there")[0] == 0
    assert [config for config, _, _ in starts] == [replace(saved, decisions=decisions)] * 2


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--ppo.clip-coef", "0.1"], "ppo.clip_coef 0.2, not 0.1; only --decisions may change"),
        (["--preset", "long"], "seed 3, not 0"),
        (["up_down"], "variants ('down_up',), not ('up_down',)"),
    ],
)
def test_other_settings_of_a_resumed_run_cannot_change(
    run: Run, starts: Starts, saved: TrainConfig, words: list[str], sentence: str
) -> None:
    before = Path("there/config.json").read_bytes()
    assert_refused(run("--resume", "--out", "there", *words), f"as it was started, with {sentence}")
    assert starts == []
    assert Path("there/config.json").read_bytes() == before


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        *(("config.json", content, "there is no run to continue in there: ") for content in ("{", "[1]", "[" * 100_000, "{}")),
        ("config.json", '{"variants": ["down_up"], "speed": 1}', "there is no run to continue in there: "),
        ("state/000000000009.pt", f"noms-state/4 {'0' * 64}\n{{}}", "was written by another version of noms"),
    ],
)
def test_a_damaged_run_is_refused_unchanged(
    run: Run, starts: Starts, saved: TrainConfig, name: str, content: str, sentence: str
) -> None:
    (Path("there") / name).write_text(content)
    before = [(Path("there") / file).read_bytes() for file in ("config.json", name)]
    for _ in range(2):
        assert_refused(run("--resume", "--out", "there", "--decisions", 12345), sentence)
    assert [(Path("there") / file).read_bytes() for file in ("config.json", name)] == before
    assert starts == []


def test_a_damaged_log_is_refused(run: Run, saved: TrainConfig) -> None:
    Path("there/log.csv").write_text("decisions,name,value\nbad\n")
    before = Path("there/config.json").read_bytes()
    for words in ([], ["--decisions", 12345]):
        assert_refused(run("--resume", "--out", "there", *words), "there/log.csv, line 2: ")
    assert Path("there/config.json").read_bytes() == before


@pytest.mark.parametrize(
    ("changes", "player"),
    [
        ({"panel": ("random", "cmd:touch ran")}, "cmd:touch ran"),
        ({"opponents": OpponentsConfig(players=("ran_there:make",))}, "ran_there:make"),
        ({"curriculum": CurriculumConfig(expert=("evil/ran.py:make",))}, "evil/ran.py:make"),
    ],
)
def test_a_program_named_by_a_folder_runs_only_if_allowed(
    run: Run, starts: Starts, saved: TrainConfig, changes: dict[str, Any], player: str
) -> None:
    Path("there/config.json").write_text(json.dumps(replace(saved, **changes).as_dict()))
    Path("evil").mkdir()
    for file in (Path("ran_there.py"), Path("evil/ran.py")):
        file.write_text("from pathlib import Path\nPath('ran').touch()\n")
    assert_refused(run("--resume", "--out", "there"), f"names the program {player!r}: it is run with --allow-programs only")
    assert not Path("ran").exists()
    run("--resume", "--out", "there", "--allow-programs")
    assert Path("ran").exists(), "it was run, though it is no player"
    assert starts == []


def test_a_program_named_by_the_command_line_runs(run: Run, starts: Starts, saved: TrainConfig) -> None:
    Path("own.py").write_text("def act(observation, mask, rng):\n    return int(mask.argmax())\n")
    Path("there/config.json").write_text(json.dumps(replace(saved, panel=("own.py:act",)).as_dict()))
    assert run("--resume", "--out", "there", "--panel", "own.py:act")[0] == 0
    assert len(starts) == 1


@pytest.mark.parametrize(
    ("error", "status", "sentence"),
    [
        (KeyboardInterrupt(), 130, "stopped by Ctrl-C; to continue: noms train --resume --out there"),
        (CheckpointError("there/state/1.pt cannot be written: No space left"), 2, "there/state/1.pt cannot be written"),
        (OSError(28, "No space left on device"), 2, "cannot write the log in there: No space left on device"),
    ],
)
def test_an_interrupted_run_ends_with_a_sentence(
    run: Run, starts: Starts, monkeypatch: pytest.MonkeyPatch, error: BaseException, status: int, sentence: str
) -> None:
    monkeypatch.setattr(loop, "train_prepared", Mock(side_effect=error))
    code, out, err = run("down_up", "--out", "there", *TINY)
    assert (code, out, is_one_sentence(err), sentence in err) == (status, "", True, True), err


def test_a_bug_is_not_reported_as_a_wrong_argument(run: Run, starts: Starts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "train_prepared", Mock(side_effect=ValueError("operands could not be broadcast")))
    with pytest.raises(ValueError, match="broadcast"):
        run("down_up", *TINY)


def test_with_minutes_the_same_command_starts_and_resumes_a_run(
    run: Run, starts: Starts, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["--preset", "smoke", "--ppo.clip-coef", "0.1", "down_up", "--minutes", "2.5", *TINY]
    for cores in (2, 7):
        monkeypatch.setattr("os.cpu_count", lambda cores=cores: cores)
        status, out, err = run(*words)
        assert status == 0, err
        assert out.endswith("noms train --resume --out runs/down_up-smoke\n")
    (first, _, _), (second, _, _) = starts
    assert first == second
    assert_refused(run(*words, "--seed", 3), "with seed 0, not 3")
    assert_refused(run("down_up", "--out", "other", "--minutes", "0", *TINY), "--minutes must be above 0, not 0")
    assert_refused(run("--preset", "smoke", "--minutes", "1"), "name at least one game")
    assert not Path("other").exists()


def test_only_rank_0_writes_and_prints(run: Run, starts: Starts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "1")
    assert run("down_up", "--out", "there", *TINY) == (0, "", "")
    ((_, folder, watcher),) = starts
    assert type(watcher) is Watcher
    assert folder.path == Path("there")
    assert not folder.path.exists()


def test_a_short_run_is_logged_resumed_and_finished(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["down_up", "--out", "there", "--threads", "1", "--decisions", "300", "--evaluation-deals", "4", *TINY]
    status, _, err = run(*words)
    assert status == 0, err
    figures = read_log("there")
    iterations = figures["losses/approx_kl"][0].tolist()
    assert iterations[-1] >= 300
    assert figures["eval/points/down_up_4/random"][0][-1] == iterations[-1]
    assert {SECONDS, "losses/entropy/call", "losses/explained_variance", "eval/probe/down_up_4/bid/hit"} <= set(figures)
    budget = int(iterations[-1]) + 200
    assert run("--resume", "--out", "there", "--decisions", budget)[0] == 0
    again = read_log("there")["losses/approx_kl"][0].tolist()
    assert again[: len(iterations)] == iterations
    assert again[-1] >= budget
    status, out, _ = run("--resume", "--out", "there")
    assert (status, f"the run is finished: {int(again[-1]):,} of {budget:,} decisions" in out) == (0, True)
    before = Path("there/config.json").read_bytes()
    assert_refused(run("--resume", "--out", "there", "--decisions", "10"), "decisions: --decisions must be above that, not 10")
    assert Path("there/config.json").read_bytes() == before
