"""Runs from beginning to end: interrupted, killed, and gone on with."""

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
from noms_training.learn.config import OpponentsConfig
from noms_training.learn.log import Watcher
from noms_training.learn.loop import train
from noms_training.learn.schedule import Stage
from tests.cases import some
from tests.training import tiny_run
from tests.training.test_self_play import tiny

ROOT = Path(__file__).parents[2]


def start(folder: Path) -> subprocess.Popen[str]:
    """The tiny run in a process of its own."""
    words = [sys.executable, tiny_run.__file__, str(folder)]
    settings = {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | settings)


def after_lines(process: subprocess.Popen[str], lines: int, what: int) -> int:
    """Send a signal after some iterations; the exit status."""
    assert process.stdout is not None
    for _ in range(lines):
        process.stdout.readline()
    process.send_signal(what)
    process.communicate(timeout=120)
    return process.returncode


def last_state(folder: Path) -> dict[str, Any]:
    state = RunFolder(folder).latest_state()
    assert state is not None
    return state


def same(one: Any, other: Any) -> bool:
    """Whether two states are equal, bit for bit."""
    if isinstance(one, torch.Tensor):
        return torch.equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that was never stopped."""
    folder = tmp_path_factory.mktemp("uninterrupted") / "run"
    process = start(folder)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    return folder


@pytest.mark.parametrize(
    ("what", "status", "stops"),
    [
        (signal.SIGKILL, -signal.SIGKILL, (2, 3)),
        pytest.param(signal.SIGINT, 130, (4,), marks=pytest.mark.soak),
        pytest.param(signal.SIGKILL, -signal.SIGKILL, (2, 4, 3), marks=pytest.mark.soak),
    ],
    ids=["twice", "once", "often"],
)
def test_a_run_that_is_stopped_ends_like_one_that_never_was(
    what: int, status: int, stops: tuple[int, ...], uninterrupted: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    done = 0
    for lines in stops:
        assert after_lines(start(folder), lines, what) == status
        reached = last_state(folder)["decisions"]  # there is a loadable checkpoint, and the run gets on
        assert reached > done
        done = reached
    process = start(folder)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    assert same(last_state(folder), last_state(uninterrupted))
    for name in ("policy.safetensors", *(f"past/{past}.safetensors" for past in last_state(folder)["standing"]["past"])):
        one, other = (read_policy(where / name)[2] for where in (folder, uninterrupted))
        assert all((one[key] == other[key]).all() for key in one)


@pytest.mark.parametrize("is_damaged", some([True, False], 2), ids=["the state before", "the last state"])
def test_a_run_whose_disk_is_full_at_every_evaluation_goes_on_from(
    is_damaged: bool, uninterrupted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, failed = RunFolder.write_state, set[int]()

    def full(folder: RunFolder, decisions: int, state: Mapping[str, Any]) -> None:
        evaluations = decisions // (tiny_run.config().evaluate_every or 1)
        if evaluations not in {0, *failed}:
            failed.add(evaluations)
            raise CheckpointError("the disk is full")
        write(folder, decisions, state)

    monkeypatch.setattr(RunFolder, "write_state", full)
    config, path, ends = tiny_run.config(), tmp_path / "run", list[str]()
    RunFolder.create(path, config.as_dict()).close()
    while len(ends) < 10 and "" not in ends:
        with RunFolder.open(path, warn=lambda line: None) as folder:
            try:
                train(config, folder)
                ends.append("")
            except CheckpointError as error:
                ends.append(str(error))
        if is_damaged and ends[-1]:
            max((path / "state").glob("*.pt")).write_bytes(b"")
    assert ends == [*["the disk is full"] * len(failed), ""]
    assert len(failed) > 2, "the past selves are full"
    assert same(last_state(path), last_state(uninterrupted))
    assert RunFolder(path).past() == RunFolder(uninterrupted).past()


def test_the_folder_holds_what_it_should(uninterrupted: Path) -> None:
    state, config = last_state(uninterrupted), tiny_run.config()
    assert state["decisions"] >= config.decisions
    states = [load_state(file) for file in (uninterrupted / "state").glob("*.pt")]
    assert len(states) == 2
    assert [len(one["standing"]["past"]) for one in states] == [2, 2]
    assert RunFolder(uninterrupted).past() == sorted({name for one in states for name in one["standing"]["past"]})
    player = load_policy(uninterrupted / "policy.safetensors")
    assert player.info.decisions <= state["decisions"]
    assert [kind.variant.name for kind in player.info.rule_sets] == ["noms", "down_up"]


class Noting(Watcher):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.evaluations: dict[int, Mapping[str, float]] = {}
        self.notes: list[str] = []
        self.beginnings: list[int] = []

    def started(self, done: int, total: int) -> None:
        self.beginnings.append(done)

    def evaluation(self, decisions: int, metrics: Mapping[str, float]) -> None:
        self.evaluations[decisions] = dict(metrics)

    def note(self, text: str) -> None:
        self.notes.append(text)


def test_a_run_that_goes_on_with_a_larger_budget_is_evaluated_on_the_way(tmp_path: Path) -> None:
    config, first, second = tiny("down_up", decisions=4_000, evaluation_deals=2, panel=("random",)), Noting(), Noting()
    with RunFolder.create(tmp_path / "run", config.as_dict()) as folder:
        train(config, folder, first)
        train(replace(config, decisions=8_000), folder, second)
    steps = np.diff([max(first.evaluations), *second.evaluations])
    assert second.beginnings == [max(first.evaluations)]
    assert len(steps) >= 4
    assert steps.max() < 2 * max(400, np.diff(list(first.evaluations)).max())


def renamed(state: dict[Any, Any], name: str, value: Any) -> dict[Any, Any]:
    """A state with another value at `a/b/c`; without it, for None."""
    first, _, rest = name.partition("/")
    key: Any = int(first) if first.isdigit() and int(first) in state else first
    changed = renamed(state[key], rest, value) if rest else value
    return {**state, key: changed} if changed is not None else {other: state[other] for other in state if other != key}


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
def test_a_state_that_is_not_of_the_run_is_a_sentence(uninterrupted: Path, tmp_path: Path, name: str, value: Any) -> None:
    shutil.copytree(uninterrupted, tmp_path / "run")
    newest = max((tmp_path / "run" / "state").glob("*.pt"))
    save_state(newest, renamed(load_state(newest), name, value))
    with RunFolder.open(tmp_path / "run") as folder, pytest.raises(CheckpointError, match="is not of the run that its config"):
        train(tiny_run.config(), folder)


@pytest.mark.parametrize(("field", "value"), [("variant", 3), ("n_seats", 7), ("dealer", 99), ("deal", 9_999), ("order", 52)])
def test_tables_that_cannot_be_are_refused(field: str, value: int) -> None:
    pools = [TablePool(make_rule_sets(["down_up"]), [0], 5, seed=1, in_matches=True) for _ in (1, 2)]
    pools[0].deal(0)
    saved = pools[0].save()
    pools[1].restore(saved)
    saved.view(TABLE)[field][2] = value
    with pytest.raises(ValueError, match=r"the state is (of a table with other rules|damaged)"):
        pools[1].restore(saved)


def test_evaluations_tell_of_sampled_and_most_probable_actions_and_the_best_is_kept(tmp_path: Path) -> None:
    config = tiny("down_up", decisions=6_000, evaluate_every=1_000, evaluation_deals=16, opponents=OpponentsConfig(share=0))
    noting = Noting()
    with RunFolder.create(tmp_path / "run", config.as_dict()) as folder:
        train(config, folder, noting)
        assert folder.past() == []
    first, *evaluations = noting.evaluations.values()
    assert len(evaluations) >= 2
    for metrics in (first, *evaluations):
        for name in ("eval/points/down_up_4/random", "eval/greedy/points/down_up_4/random"):
            assert np.isfinite(metrics[name])
    assert "eval/score" not in first
    scores = [metrics["eval/score"] for metrics in evaluations]
    assert load_policy(folder.policy).info.score == pytest.approx(max(scores))


class CtrlC(Watcher):
    """Stops the run, by signal, after so many decisions."""

    def __init__(self, after: int) -> None:
        self.after = after

    def iteration(self, decisions: int, metrics: Mapping[str, float]) -> None:
        if decisions >= self.after:
            signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize(("after", "is_stopped"), [(1, True), (1_500, False)])
def test_ctrl_c_in_the_last_iteration_ends_a_run_that_is_finished(after: int, is_stopped: bool, tmp_path: Path) -> None:
    config = tiny("down_up", decisions=1_500, evaluation_deals=2)
    with RunFolder.create(tmp_path / "run", config.as_dict()) as folder:
        if is_stopped:
            with pytest.raises(KeyboardInterrupt):
                train(config, folder, CtrlC(after))
        else:
            assert train(config, folder, CtrlC(after))
        assert (folder.decisions < 1_500) is is_stopped


def test_a_run_in_pieces_of_time_ends_like_one_in_one_piece(uninterrupted: Path, tmp_path: Path) -> None:
    ends = list[bool]()
    RunFolder.create(tmp_path / "run", tiny_run.config().as_dict()).close()
    while not any(ends):
        with RunFolder.open(tmp_path / "run") as folder:
            ends.append(train(tiny_run.config(), folder, minutes=1e-9 if len(ends) < 2 else 0.01))
        assert len(ends) < 40
    assert ends[:2] == [False, False]
    assert same(last_state(tmp_path / "run"), last_state(uninterrupted))


def test_a_run_whose_budget_is_spent_does_nothing_more(tmp_path: Path) -> None:
    config = tiny("down_up", decisions=500, evaluation_deals=2)
    with RunFolder.create(tmp_path / "run", config.as_dict()) as folder:
        train(config, folder)
        before = last_state(folder.path)
        noting = Noting()
        train(config, folder, noting)
        assert noting.beginnings[0] >= 500
        assert same(last_state(folder.path), before)


def test_a_run_does_not_go_on_against_another_policy_under_the_same_name(tmp_path: Path) -> None:
    first, second = (tiny("down_up", decisions=500, evaluation_deals=2, seed=seed) for seed in (1, 2))
    for config, name in ((first, "opponent"), (second, "impostor")):
        with RunFolder.create(tmp_path / name, config.as_dict()) as folder:
            train(config, folder)
    opponent, impostor = (tmp_path / name / "policy.safetensors" for name in ("opponent", "impostor"))
    known = opponent.read_bytes()
    opponents = OpponentsConfig(share=0.5, start=0, past=0, players=("thumb", f"{tmp_path / 'opponent'}@0"))
    config = tiny("down_up", decisions=500, evaluation_deals=2, opponents=opponents)
    longer = replace(config, decisions=1_500)
    with RunFolder.create(tmp_path / "run", config.as_dict()) as folder:
        train(config, folder)
        before = last_state(folder.path)
        assert list(before["standing"]["others"]) == [f"{tmp_path / 'opponent'}@0"]
        opponent.write_bytes(impostor.read_bytes())
        with pytest.raises(CheckpointError, match=r"the file of .*opponent@0 has changed .*, from SHA-256 \w{64} to \w{64}: "):
            train(longer, folder)
        assert same(last_state(folder.path), before)
        opponent.write_bytes(known)
        train(longer, folder)
        assert last_state(folder.path)["decisions"] >= 1_500


def test_the_user_is_told_what_the_policy_learns_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "noms_training.learn.schedule.stage", lambda at, _: Stage.CRITIC_WARMUP if at < 0.2 else Stage.SELF_PLAY
    )
    config = tiny("down_up", decisions=1_500, evaluate_every=10**6, evaluation_deals=2)
    noting = Noting()
    with RunFolder.create(tmp_path / "run", config.as_dict()) as folder:
        train(config, folder, noting)
    told = [note for note in noting.notes if "learns" in note]
    assert len(told) == 2
    assert told[0] == f"after 0 decisions: {Stage.CRITIC_WARMUP.value}"
    assert told[1].endswith(f"decisions: {Stage.SELF_PLAY.value}")
