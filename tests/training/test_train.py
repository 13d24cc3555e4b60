"""Whole runs: interrupted, killed and continued."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from noms_env.policy.file import read_policy
from noms_env.policy.player import load_policy
from noms_env.variants.table_record import TABLE
from noms_training.agents.table_pool import TablePool, make_rule_sets
from noms_training.learn.checkpoint import CheckpointError, RunFolder, load_state, save_state
from noms_training.learn.config import OpponentsConfig, TrainConfig
from noms_training.learn.log import Watcher
from noms_training.learn.loop import train
from noms_training.learn.schedule import Stage
from tests.cases import some
from tests.training import tiny_run
from tests.training.tiny_run import CONFIG, make_config, same_state

ROOT = Path(__file__).parents[2]


def start(folder: Path) -> subprocess.Popen[str]:
    """Start the tiny run in a process of its own."""
    words = [sys.executable, tiny_run.__file__, str(folder)]
    settings = {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | settings)


def finish(process: subprocess.Popen[str]) -> None:
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors


def stop(process: subprocess.Popen[str], lines: int, number: int) -> int:
    """Send a signal after some iterations; return the exit status."""
    assert process.stdout is not None
    for _ in range(lines):
        process.stdout.readline()
    process.send_signal(number)
    process.communicate(timeout=120)
    return process.returncode


def last_state(folder: Path) -> dict[str, Any]:
    state = RunFolder(folder).latest_state()
    assert state is not None
    return state


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that was never stopped."""
    folder = tmp_path_factory.mktemp("uninterrupted") / "run"
    finish(start(folder))
    return folder


@pytest.mark.parametrize(
    ("number", "status", "stops"),
    [
        (signal.SIGKILL, -signal.SIGKILL, (2, 3)),
        pytest.param(signal.SIGINT, 130, (4,), marks=pytest.mark.soak),
        pytest.param(signal.SIGKILL, -signal.SIGKILL, (2, 4, 3), marks=pytest.mark.soak),
    ],
    ids=["twice", "once", "often"],
)
def test_a_stopped_run_ends_like_an_uninterrupted_one(
    number: int, status: int, stops: tuple[int, ...], uninterrupted: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    before = 0
    for lines in stops:
        assert stop(start(folder), lines, number) == status
        decisions = last_state(folder)["decisions"]
        assert decisions > before
        before = decisions
    finish(start(folder))
    assert same_state(last_state(folder), last_state(uninterrupted))
    for name in ("policy.safetensors", *(f"past/{past}.safetensors" for past in last_state(folder)["standing"]["past"])):
        tensors, expected = (read_policy(path / name)[2] for path in (folder, uninterrupted))
        assert all((tensors[key] == expected[key]).all() for key in tensors)


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
    assert same_state(last_state(path), last_state(uninterrupted))
    assert RunFolder(path).past() == RunFolder(uninterrupted).past()


def test_the_folder_of_a_run_has_states_past_selves_and_a_policy(uninterrupted: Path) -> None:
    decisions = last_state(uninterrupted)["decisions"]
    assert decisions >= CONFIG.decisions
    past = [load_state(file)["standing"]["past"] for file in (uninterrupted / "state").glob("*.pt")]
    assert [len(names) for names in past] == [2, 2]
    assert RunFolder(uninterrupted).past() == sorted({name for names in past for name in names})
    player = load_policy(uninterrupted / "policy.safetensors")
    assert player.info.decisions <= decisions
    assert [kind.variant.name for kind in player.info.rule_sets] == ["noms", "down_up"]


class NoteEvents(Watcher):
    def __init__(self) -> None:
        self.evaluations: dict[int, Mapping[str, float]] = {}
        self.notes: list[str] = []
        self.starts: list[int] = []

    def started(self, done: int, total: int) -> None:
        self.starts.append(done)

    def evaluation(self, decisions: int, metrics: Mapping[str, float]) -> None:
        self.evaluations[decisions] = dict(metrics)

    def note(self, text: str) -> None:
        self.notes.append(text)


def train_in(path: Path, config: TrainConfig, *watchers: Watcher) -> RunFolder:
    """Train in a new folder."""
    with RunFolder.create(path, config.as_dict()) as folder:
        train(config, folder, *watchers)
    return folder


def test_a_run_with_a_larger_budget_is_evaluated_on_the_way(tmp_path: Path) -> None:
    config = make_config("down_up", decisions=4_000, evaluation_deals=2, panel=("random",))
    first, second = NoteEvents(), NoteEvents()
    with RunFolder.create(tmp_path / "run", config.as_dict()) as folder:
        train(config, folder, first)
        train(replace(config, decisions=8_000), folder, second)
    steps = np.diff([max(first.evaluations), *second.evaluations])
    assert second.starts == [max(first.evaluations)]
    assert len(steps) >= 4
    assert steps.max() < 2 * max(400, np.diff(list(first.evaluations)).max())


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
    alone = OpponentsConfig(share=0)
    config = make_config("down_up", decisions=6_000, evaluate_every=1_000, evaluation_deals=16, opponents=alone)
    events = NoteEvents()
    folder = train_in(tmp_path / "run", config, events)
    assert folder.past() == []
    first, *evaluations = events.evaluations.values()
    assert len(evaluations) >= 2
    for metrics in (first, *evaluations):
        for name in ("eval/points/down_up_4/random", "eval/greedy/points/down_up_4/random"):
            assert np.isfinite(metrics[name])
    assert "eval/score" not in first
    scores = [metrics["eval/score"] for metrics in evaluations]
    assert load_policy(folder.policy).info.score == pytest.approx(max(scores))


class CtrlC(Watcher):
    """Sends SIGINT after some decisions."""

    def __init__(self, after: int) -> None:
        self.after = after

    def iteration(self, decisions: int, metrics: Mapping[str, float]) -> None:
        if decisions >= self.after:
            signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize(("after", "is_stopped"), [(1, True), (1_500, False)])
def test_ctrl_c_in_the_last_iteration_finishes_the_run(after: int, is_stopped: bool, tmp_path: Path) -> None:
    config = make_config("down_up", decisions=1_500, evaluation_deals=2)
    with RunFolder.create(tmp_path / "run", config.as_dict()) as folder:
        if is_stopped:
            with pytest.raises(KeyboardInterrupt):
                train(config, folder, CtrlC(after))
        else:
            assert train(config, folder, CtrlC(after))
        assert (folder.decisions < 1_500) is is_stopped


def test_a_run_in_pieces_of_time_ends_like_an_uninterrupted_one(uninterrupted: Path, tmp_path: Path) -> None:
    ends = list[bool]()
    RunFolder.create(tmp_path / "run", CONFIG.as_dict()).close()
    while not any(ends):
        with RunFolder.open(tmp_path / "run") as folder:
            ends.append(train(CONFIG, folder, minutes=1e-9 if len(ends) < 2 else 0.01))
        assert len(ends) < 40
    assert ends[:2] == [False, False]
    assert same_state(last_state(tmp_path / "run"), last_state(uninterrupted))


def test_a_run_whose_budget_is_used_does_nothing(tmp_path: Path) -> None:
    config, events = make_config("down_up", decisions=500, evaluation_deals=2), NoteEvents()
    with RunFolder.create(tmp_path / "run", config.as_dict()) as folder:
        train(config, folder)
        before = last_state(folder.path)
        train(config, folder, events)
        assert events.starts[0] >= 500
        assert same_state(last_state(folder.path), before)


def test_a_run_is_not_continued_against_a_changed_policy(tmp_path: Path) -> None:
    opponent, impostor = (
        train_in(tmp_path / str(seed), make_config("down_up", decisions=500, evaluation_deals=2, seed=seed)).policy
        for seed in (1, 2)
    )
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
    events = NoteEvents()
    train_in(tmp_path / "run", make_config("down_up", decisions=1_500, evaluate_every=10**6, evaluation_deals=2), events)
    first, second = (note for note in events.notes if "learns" in note)
    assert first == f"after 0 decisions: {Stage.CRITIC_WARMUP.value}"
    assert second.endswith(f"decisions: {Stage.SELF_PLAY.value}")
