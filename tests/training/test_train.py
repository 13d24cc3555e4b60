"""Whole runs: interrupted and continued; `test_train_soak.py` kills them."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import torch

from noms_env.policy.file import read_policy
from noms_env.policy.player import load_policy
from noms_env.variants.table_record import TABLE
from noms_training.agents.table_pool import TablePool, make_rule_sets
from noms_training.learn import train as train_module
from noms_training.learn.checkpoint import CheckpointError, RunFolder, load_state, save_state
from noms_training.learn.config import OpponentsConfig, TrainConfig
from noms_training.learn.gae import gae
from noms_training.learn.log import Watcher
from noms_training.learn.loop import train
from noms_training.learn.schedule import Stage
from tests.cases import some
from tests.training import tiny_run
from tests.training.tiny_run import CONFIG, make_config, same_state, save_policy_of


def last_state(folder: Path) -> dict[str, Any]:
    state = RunFolder(folder).latest_state()
    assert state is not None
    return state


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run in another process that was never stopped."""
    folder = tmp_path_factory.mktemp("uninterrupted") / "run"
    settings = {"PYTHONPATH": str(Path(__file__).parents[2]), "OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, tiny_run.__file__, str(folder)], check=True, env=os.environ | settings)
    return folder


def assert_same_run(path: Path, expected: Path) -> None:
    """Check that two runs have equal last states, best policies and past selves."""
    assert same_state(last_state(path), last_state(expected))
    assert RunFolder(path).past() == RunFolder(expected).past()
    for name in ("policy", *(f"past/{past}" for past in last_state(path)["standing"]["past"])):
        tensors, others = (read_policy(folder / f"{name}.safetensors")[2] for folder in (path, expected))
        assert all((tensors[key] == others[key]).all() for key in others)


@pytest.mark.parametrize("is_damaged", some([True, False], 2), ids=["the state before", "the last state"])
def test_a_run_whose_disk_is_full_at_every_evaluation_continues_from(
    is_damaged: bool, uninterrupted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, failures = RunFolder.write_state, set[int]()

    def fail_once(folder: RunFolder, decisions: int, state: Mapping[str, Any]) -> None:
        evaluations = decisions // (CONFIG.evaluate_every or 1)
        if evaluations not in {0, *failures}:
            failures.add(evaluations)
            raise CheckpointError("the disk is full")
        write(folder, decisions, state)

    monkeypatch.setattr(RunFolder, "write_state", fail_once)
    path, ends = tmp_path / "run", list[str]()
    RunFolder.create(path, CONFIG.as_dict()).close()
    while len(ends) < 10 and "" not in ends:
        with RunFolder.open(path, warn=lambda line: None) as folder:
            try:
                train(CONFIG, folder)
                ends.append("")
            except CheckpointError as error:
                ends.append(str(error))
        if is_damaged and ends[-1]:
            max((path / "state").glob("*.pt")).write_bytes(b"")
    assert ends == [*["the disk is full"] * len(failures), ""]
    assert len(failures) > 2, "more evaluations than past selves"
    assert_same_run(path, uninterrupted)


def test_the_folder_of_a_run_has_states_past_selves_and_a_policy(uninterrupted: Path) -> None:
    decisions = last_state(uninterrupted)["decisions"]
    assert decisions >= CONFIG.decisions
    past = [load_state(file)["standing"]["past"] for file in (uninterrupted / "state").glob("*.pt")]
    assert [len(names) for names in past] == [2, 2]
    assert RunFolder(uninterrupted).past() == sorted({name for names in past for name in names})
    player = load_policy(uninterrupted / "policy.safetensors")
    assert player.info.decisions <= decisions
    assert [kind.variant.name for kind in player.info.rule_sets] == ["noms", "down_up"]


def make_watcher() -> Mock:
    return Mock(spec=Watcher, ends_run=Mock(return_value=False))


def evaluations_of(watcher: Mock) -> dict[int, Mapping[str, float]]:
    """Metrics by decisions."""
    return dict(call.args for call in watcher.evaluation.call_args_list)


def test_a_run_whose_budget_is_used_does_nothing_until_the_budget_grows(tmp_path: Path) -> None:
    config = make_config("down_up", decisions=4_000, evaluation_deals=2, panel=("random",))
    first, idle, second = make_watcher(), make_watcher(), make_watcher()
    with RunFolder.create(tmp_path / "run", config.as_dict()) as folder:
        train(config, folder, first)
        before = last_state(folder.path)
        train(config, folder, idle)
        assert same_state(last_state(folder.path), before)
        train(replace(config, decisions=8_000), folder, second)
    done = max(evaluations_of(first))
    assert done >= 4_000
    for watcher, budget in ((idle, 4_000), (second, 8_000)):
        watcher.started.assert_called_once_with(done, budget)
    assert not evaluations_of(idle)
    steps = np.diff([done, *evaluations_of(second)])
    assert len(steps) >= 4
    assert steps.max() < 2 * max(400, np.diff(list(evaluations_of(first))).max())


def with_value(state: dict[Any, Any], name: str, value: Any) -> dict[Any, Any]:
    """A state with another value at `a/b/c`; without it, for None."""
    first, _, rest = name.partition("/")
    key: Any = int(first) if first.isdigit() and int(first) in state else first
    new = with_value(state[key], rest, value) if rest else value
    return {**state, key: new} if new is not None else {other: state[other] for other in state if other != key}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("actor", None),
        ("actor/head.bias", torch.zeros(3)),
        ("iteration", "many"),
        ("decisions", -1),
        ("standing/past", ["../../policy"]),
        ("standing/colour", 3),
        ("actor_optimizer/param_groups", []),
        ("actor_optimizer/state/0/exp_avg", torch.zeros(1)),
        ("actor_optimizer/state/0/exp_avg", torch.zeros(1, dtype=torch.int64)),
        ("reward_scale/weight", [1.0]),
        ("tables", {}),
        ("tables/1", torch.zeros(3, 5, dtype=torch.uint8)),
    ],
)
def test_a_state_of_another_run_is_refused(uninterrupted: Path, tmp_path: Path, name: str, value: Any) -> None:
    shutil.copytree(uninterrupted, tmp_path / "run")
    newest = max((tmp_path / "run" / "state").glob("*.pt"))
    save_state(newest, with_value(load_state(newest), name, value))
    with RunFolder.open(tmp_path / "run") as folder, pytest.raises(CheckpointError, match="is not of the run that its config"):
        train(CONFIG, folder)


@pytest.mark.parametrize(("field", "value"), [("variant", 3), ("n_seats", 7), ("dealer", 99), ("deal", 9_999), ("order", 52)])
def test_impossible_tables_are_refused(field: str, value: int) -> None:
    pools = [TablePool(make_rule_sets(["down_up"]), [0], 5, seed=1, in_matches=True) for _ in (1, 2)]
    pools[0].deal(0)
    saved = pools[0].save()
    pools[1].restore(saved)
    saved.view(TABLE)[field][2] = value
    with pytest.raises(ValueError, match=r"the state is (of a table with other rules|damaged)"):
        pools[1].restore(saved)


def test_evaluations_measure_sampled_and_greedy_play_and_the_best_policy_is_kept(tmp_path: Path) -> None:
    alone, watcher = OpponentsConfig(share=0), make_watcher()
    config = make_config("down_up", decisions=6_000, evaluate_every=1_000, evaluation_deals=16, opponents=alone)
    with RunFolder.create(tmp_path / "run", config.as_dict()) as folder:
        train(config, folder, watcher)
        assert folder.past() == []
    first, *evaluations = evaluations_of(watcher).values()
    assert len(evaluations) >= 2
    for metrics in (first, *evaluations):
        for name in ("eval/points/down_up_4/random", "eval/greedy/points/down_up_4/random"):
            assert np.isfinite(metrics[name])
    assert "eval/score" not in first
    scores = [metrics["eval/score"] for metrics in evaluations]
    assert load_policy(folder.policy).info.score == pytest.approx(max(scores))


def test_a_run_ends_at_a_loss_that_is_not_finite_and_keeps_its_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = make_config("down_up", decisions=1_500, evaluation_deals=2)
    with RunFolder.create(tmp_path / "run", config.as_dict()) as folder:
        assert train(config, folder)
        before = {path.name: path.read_bytes() for path in (tmp_path / "run/state").iterdir()}
        monkeypatch.setattr(train_module, "gae", lambda *arguments: gae(*arguments) * np.nan)
        with pytest.raises(CheckpointError, match="a loss is not finite after"):
            train(replace(config, decisions=3_000), folder)
        assert {path.name: path.read_bytes() for path in (tmp_path / "run/state").iterdir()} == before


@pytest.mark.parametrize("after", [1, 1_500])
def test_ctrl_c_interrupts_a_run_unless_it_is_finished(after: int, tmp_path: Path) -> None:
    def interrupt(decisions: int, metrics: Mapping[str, float]) -> None:
        if decisions >= after:
            signal.raise_signal(signal.SIGINT)

    config, watcher = make_config("down_up", decisions=1_500, evaluation_deals=2), make_watcher()
    watcher.iteration.side_effect = interrupt
    with RunFolder.create(tmp_path / "run", config.as_dict()) as folder:
        with pytest.raises(KeyboardInterrupt) if after == 1 else nullcontext():
            assert train(config, folder, watcher)
        assert (folder.decisions < 1_500) is (after == 1)


def test_a_run_in_pieces_of_time_ends_like_an_uninterrupted_one(uninterrupted: Path, tmp_path: Path) -> None:
    path, ends, watcher, saved = tmp_path / "run", list[bool](), make_watcher(), list[int]()
    watcher.iteration.side_effect = lambda *_: saved.append(RunFolder(path).decisions)
    RunFolder.create(path, CONFIG.as_dict()).close()
    while not any(ends):
        with RunFolder.open(path) as folder:
            ends.append(train(CONFIG, folder, watcher, minutes=1e-9 if len(ends) < 2 else 0.01))
        assert len(ends) < 40
    assert ends[:2] == [False, False]
    iterations = [call.args[0] for call in watcher.iteration.call_args_list]
    assert saved == [0, *iterations[:-1]], "every iteration is saved"
    assert_same_run(path, uninterrupted)


def test_a_run_is_not_continued_against_a_changed_policy(tmp_path: Path) -> None:
    opponent, impostor = (tmp_path / name / "policy.safetensors" for name in ("opponent", "impostor"))
    for seed, policy in enumerate((opponent, impostor)):
        policy.parent.mkdir()
        save_policy_of(make_config("down_up", seed=seed), policy.parent)
    original, name = opponent.read_bytes(), f"{opponent.parent}@0"
    opponents = OpponentsConfig(share=0.5, start=0, past=0, players=("thumb", name))
    config = make_config("down_up", decisions=500, evaluation_deals=2, opponents=opponents)
    longer = replace(config, decisions=1_500)
    with RunFolder.create(tmp_path / "run", config.as_dict()) as folder:
        train(config, folder)
        before = last_state(folder.path)
        assert list(before["standing"]["others"]) == [name]
        opponent.write_bytes(impostor.read_bytes())
        with pytest.raises(CheckpointError, match=rf"the file of {name} has changed .*, from SHA-256 \w{{64}} to \w{{64}}: "):
            train(longer, folder)
        assert same_state(last_state(folder.path), before)
        opponent.write_bytes(original)
        train(longer, folder)
        assert last_state(folder.path)["decisions"] >= 1_500


def test_each_stage_of_a_run_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stage(progress: float, _: TrainConfig) -> Stage:
        return Stage.CRITIC_WARMUP if progress < 0.2 else Stage.SELF_PLAY

    monkeypatch.setattr("noms_training.learn.schedule.stage", stage)
    config, watcher = make_config("down_up", decisions=1_500, evaluate_every=10**6, evaluation_deals=2), make_watcher()
    with RunFolder.create(tmp_path / "run", config.as_dict()) as folder:
        train(config, folder, watcher)
    first, second = (call.args[0] for call in watcher.note.call_args_list if "learns" in call.args[0])
    assert first == f"after 0 decisions: {Stage.CRITIC_WARMUP.value}"
    assert second.endswith(f"decisions: {Stage.SELF_PLAY.value}")
