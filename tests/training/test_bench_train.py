"""`python -m benchmarks.speed --train`: what it counts and what it measures. Nothing here depends on a speed."""

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest
import torch

from benchmarks.speed import plot, train_peers
from benchmarks.speed.__main__ import main, measure_training, show
from benchmarks.speed.clock import PERCENT, RATE
from benchmarks.speed.peers import collected
from benchmarks.speed.report import Results
from benchmarks.speed.train import FAST, PARTS, SMALL, TINY, Trainer
from benchmarks.speed.train_peers import SelfPlayEnv, learning
from noms_training.learn.config import ActorConfig, NetworkConfig
from noms_training.learn.train import Trainer as Run


@pytest.fixture(scope="module")
def trainer() -> Trainer:
    return Trainer(replace(FAST, **TINY, threads=2))


def test_the_small_setting_is_that_of_pufferlib() -> None:
    assert (FAST.network, FAST.critic) == (ActorConfig(128, 3), NetworkConfig(128, 3))
    assert (SMALL.privileged_critic, SMALL.ppo.update_epochs) == (False, 1)
    assert 13_000 <= Trainer(replace(SMALL, batch_size=400)).parameters <= 33_000, "of PufferLib's networks for small games"


def test_whole_iterations_are_measured(trainer: Trainer, monkeypatch: pytest.MonkeyPatch) -> None:
    progress, iterate = [], Run.iterate

    def see_iteration(run: Run) -> dict[str, float]:
        progress.append(run.progress)
        return iterate(run)

    monkeypatch.setattr(Run, "iterate", see_iteration)
    assert trainer.rate(0.0) > 0
    assert progress == [0]
    assert min(trainer.percent[part] for part in PARTS) > 0
    assert sum(trainer.percent.values()) <= 100


def test_iterations_are_added_up_until_the_time_is_over(trainer: Trainer, monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([0.0, 0.5, 10.0, 10.5, 20.0, 20.5])
    monkeypatch.setattr("benchmarks.speed.train.perf_counter", lambda: next(times))

    def iterate(run: Run) -> dict[str, float]:
        run.decisions += 7
        return {f"charts/seconds/{part}": 0.125 for part in PARTS}

    monkeypatch.setattr(Run, "iterate", iterate)
    assert trainer.rate(1.4) == 14
    assert trainer.percent == dict.fromkeys(PARTS, 25)


def test_every_decision_of_the_single_agent_has_an_alternative() -> None:
    env, random = SelfPlayEnv(seed=5), Random(0)
    seats, rewards = set(), []
    for _ in range(20):
        (observation, _), over = env.reset(), False
        while not over:
            seat = int(env.table.row.seat)
            seats.add(seat)
            view, mask = env.table.view(seat)
            assert env.observation_space.contains(observation)
            assert np.array_equal(observation, view)
            assert np.array_equal(env.action_masks(), mask.astype(bool))
            assert len(env.legal) > 1
            observation, reward, over, truncated, _ = env.step(random.choice(env.legal))
            assert not truncated
            assert over or reward == 0
        points = env.table.row.points[:4].tolist()
        assert reward == pytest.approx(points[seat] - (sum(points) - points[seat]) / 3)
        rewards.append(reward)
        assert env.table.is_scored
    assert seats == {0, 1, 2, 3}
    assert len(set(rewards)) > 3


class FakePPO:
    """In place of MaskablePPO: says what it was asked for."""

    made: ClassVar[list[tuple[int, dict[str, Any]]]] = []

    def __init__(self, policy: str, tables: Sequence[Any], **settings: Any) -> None:
        self.n_envs, self.n_steps, self.learnt = len(tables), settings.get("n_steps", 2048), list[tuple[int, bool, int]]()
        self.made.append((self.n_envs, settings))

    def learn(self, steps: int, reset_num_timesteps: bool) -> None:
        self.learnt.append((steps, reset_num_timesteps, torch.get_num_threads()))


def test_an_iteration_of_a_peer_is_all_that_it_collects() -> None:
    before = torch.get_num_threads()
    fake = FakePPO("MlpPolicy", [None] * 3, n_steps=5)
    try:
        assert learning(fake, threads=1) == learning(fake, threads=2) == 15
    finally:
        torch.set_num_threads(before)
    assert fake.learnt == [(15, False, 1), (15, False, 2)]


def test_the_peer_is_measured_at_its_defaults_and_with_many_environments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakePPO, "made", [])
    monkeypatch.setitem(sys.modules, "sb3_contrib", SimpleNamespace(MaskablePPO=FakePPO))
    monkeypatch.setitem(sys.modules, "stable_baselines3", ModuleType("stable_baselines3"))
    monkeypatch.setitem(sys.modules, "stable_baselines3.common", ModuleType("stable_baselines3.common"))
    monkeypatch.setitem(sys.modules, "stable_baselines3.common.vec_env", SimpleNamespace(DummyVecEnv=list))
    monkeypatch.setattr("os.cpu_count", lambda: 3)
    cases = list(train_peers.maskable_ppo_cases(quick=False))
    assert FakePPO.made[0] == (1, {"device": "cpu", "seed": 0})
    assert {number for number, _ in FakePPO.made[1:]} == {64}
    assert [case.key for case in cases[:3]] == ["maskable_ppo/defaults/1", "maskable_ppo/defaults/3", "maskable_ppo/many/1"]
    assert all(case.of_a_peer and case.compared_with for case in cases)


def test_a_peer_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sb3_contrib", None)
    cases, missing = collected({"sb3-contrib": lambda: train_peers.maskable_ppo_cases(quick=True)})
    assert cases == []
    assert "pip install '.[bench]'" in missing["sb3-contrib"]


@pytest.fixture(scope="module")
def results() -> Results:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "sb3_contrib", None)
        return measure_training(1, quick=True)


def test_a_quick_run_measures_everything(results: Results) -> None:
    units = {key: one.case.unit for key, one in results.measured.items()}
    names = ("fast", "small")
    assert units == {f"train/{name}": RATE for name in names} | {
        f"train/{name}/{part}": PERCENT for name in names for part in PARTS
    }
    assert list(results.missing) == ["sb3-contrib"]


def test_the_figures_are_printed_and_drawn(results: Results, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    show(results)
    out = capsys.readouterr().out
    assert "missing: sb3-contrib: not installed (sb3_contrib): pip install '.[bench]'" in out
    assert "train/fast" in out
    plot.draw(results, tmp_path / "train.png")
    assert (tmp_path / "train.png").stat().st_size > 10_000


def test_the_command_writes_json(results: Results, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked = []

    def measured(repetitions: int, quick: bool) -> Results:
        asked.append((repetitions, quick))
        return results

    monkeypatch.setattr("benchmarks.speed.__main__.measure_training", measured)
    assert main(["--train", "--quick", "--repetitions", "1", "--json", str(tmp_path / "t.json")]) == 0
    assert asked == [(1, True)]
    assert set(json.loads((tmp_path / "t.json").read_text())["cases"]) == set(results.measured)


def test_wrong_requests(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--train", "--only", "peers"]) == 2
    message = "benchmarks.speed: --train measures the trainer alone; it does not go with --only peers\n"
    assert capsys.readouterr().err == message
    monkeypatch.setitem(sys.modules, "torch", None)
    assert main(["--train"]) == 2
    missing = "--train needs torch, which is not installed: pip install '.[train]'"
    assert capsys.readouterr().err == f"benchmarks.speed: {missing}\n"
