"""`python -m benchmarks.speed --train`: what it counts and what it measures. Nothing here depends on a speed."""

import sys
from dataclasses import replace
from random import Random

import numpy as np
import pytest

from benchmarks.speed import train_peers
from benchmarks.speed.__main__ import main, measure_training
from benchmarks.speed.clock import PERCENT, RATE
from benchmarks.speed.peers import collected
from benchmarks.speed.report import Results
from benchmarks.speed.train import FAST, PARTS, SMALL, TINY, Trainer
from benchmarks.speed.train_peers import SelfPlayEnv
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


def test_wrong_requests(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--train", "--only", "peers"]) == 2
    message = "benchmarks.speed: --train measures the trainer alone; it does not go with --only peers\n"
    assert capsys.readouterr().err == message
    monkeypatch.setitem(sys.modules, "torch", None)
    assert main(["--train"]) == 2
    missing = "--train needs torch, which is not installed: pip install '.[train]'"
    assert capsys.readouterr().err == f"benchmarks.speed: {missing}\n"
