"""`python -m benchmarks.speed --train`: what it counts and what it measures. Nothing here depends on a speed."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

import gymnasium
import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.speed import plot, train, train_peers
from benchmarks.speed.__main__ import main, measure_training, show
from benchmarks.speed.clock import GFLOPS, PERCENT, RATE, Case, Goal, Measured
from benchmarks.speed.peers import collected
from benchmarks.speed.report import Results
from benchmarks.speed.train import FAST, SMALL, TINY, Products, Spent, Trainer, learning_flops, stages, train_goals
from benchmarks.speed.train_peers import Deals, learning, maker
from noms_env.core.actions import NUM_ACTIONS
from noms_env.observation.layout import OBSERVATION_SIZE
from training.config import LeagueConfig, NetworkConfig, PPOConfig
from training.learn import ppo
from training.learn.network import Critic
from training.learn.self_play import SelfPlay


@pytest.fixture(scope="module")
def trainer() -> Trainer:
    return Trainer(replace(FAST, **TINY, threads=2))


# ---------------------------------------------------------------------------------------------------------- settings


def test_the_settings_are_those_that_the_goals_speak_of(trainer: Trainer) -> None:
    assert FAST.network == FAST.critic == NetworkConfig(256, 3)
    assert FAST.oracle
    assert FAST.ppo.epochs == 3
    assert not SMALL.oracle
    assert SMALL.ppo.epochs == 1
    parameters = Trainer(replace(SMALL, batch=400)).parameters
    low, high = train.SMALL_PARAMETERS
    assert low <= sum(parameters.values()) <= high
    assert trainer.parameters["actor"] == sum(part.numel() for part in trainer.run.actor.parameters())


def test_the_stages_of_a_run() -> None:
    fast = stages(FAST)
    assert {name: (stage.start, round(stage.length, 6), stage.text) for name, stage in fast.items()} == {
        "start": (0.0, 0.3, "neither magnet nor league"),
        "magnet": (0.3, 0.3, "magnet"),
        "league": (0.6, 0.4, "magnet and league"),
    }
    assert list(stages(SMALL)) == ["start"]
    assert stages(SMALL)["start"].length == 1
    turned = replace(FAST, league=LeagueConfig(start=0.1), ppo=PPOConfig(magnet_from=0.5))
    assert [(name, stage.text) for name, stage in stages(turned).items()][1:] == [
        ("league", "league"),
        ("magnet", "league and magnet"),
    ]


# -------------------------------------------------------------------------------------------------------- operations


def test_operations_worked_by_hand() -> None:
    sizes = [(3, 2), (2, 1)]  # 6 and 2 weights: forward 2 x 8, weights' gradients 2 x 8, inputs' 2 x 2
    assert train.forward_flops(sizes) == 16
    assert learning_flops(sizes) == 36


def counted(work: Any) -> int:
    """Operations of matrix products, as torch counts them."""
    with FlopCounterMode(display=False) as counter:
        work()
    return int(counter.get_total_flops())


def actor_step(run: SelfPlay, rows: int, magnet: float) -> None:
    """Forward and backward of the actor."""
    encoding = run.encoding
    none = torch.zeros(rows)
    sample = ppo.Sample(
        torch.zeros((rows, encoding.n_features), dtype=torch.uint8),
        torch.zeros((rows, encoding.n_features + encoding.n_hidden), dtype=torch.uint8),
        torch.ones((rows, encoding.n_choices), dtype=torch.int8),
        torch.zeros(rows, dtype=torch.int64),
        *(none, none, none, none),
        torch.zeros((rows, encoding.n_hidden), dtype=torch.uint8),
        torch.zeros(rows, dtype=torch.int64),
        torch.zeros((rows, encoding.n_choices)),
        *(torch.zeros(rows, dtype=torch.int64), none),
        *(torch.zeros((rows, 0)), torch.zeros((rows, 0))),
    )
    usual: dict[str, Any] = {"settings": run.config.ppo, "lesson": False, "dtype": torch.float32}
    losses, _ = ppo.actor_losses(run.student, sample, torch.arange(rows), magnet=magnet, **usual)
    losses.sum().backward()


@pytest.mark.parametrize("magnet", [0.0, 0.5])
def test_operations_of_the_update_are_those_that_torch_counts(trainer: Trainer, magnet: float) -> None:
    run = trainer.run
    critic = run.critic
    assert isinstance(critic, Critic)
    everything = torch.zeros((64, run.encoding.n_features + run.encoding.n_hidden), dtype=torch.uint8)
    # that of twice as many rows less that of so many leaves out what does not grow with the rows
    of_actor = counted(lambda: actor_step(run, 64, magnet)) - counted(lambda: actor_step(run, 32, magnet))
    of_critic = counted(lambda: critic(everything).sum().backward()) - counted(lambda: critic(everything[:32]).sum().backward())
    ours = trainer._flops(2)
    assert ours * 32 == 2 * of_actor + run.config.ppo.epochs * of_critic


def test_the_plain_products_are_as_many_operations() -> None:
    products = Products([(30, 16), (16, 16), (16, 1)], 50, torch.float32)
    assert products.flops == 50 * learning_flops([(30, 16), (16, 16), (16, 1)])
    multiply = Products.multiply.__wrapped__  # type: ignore[attr-defined]  # torch counts nothing in inference mode
    assert counted(lambda: multiply(products, 3)) == 3 * products.flops


def test_the_plain_rate_is_that_of_both_networks_in_two_threads(trainer: Trainer, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[tuple[int, int]] = []
    monkeypatch.setattr(Products, "multiply", lambda self, times: done.append((self.flops, times)))
    times = iter([0.0, 0.0, 4.0, 10.0])
    monkeypatch.setattr("benchmarks.speed.train.perf_counter", lambda: next(times))
    rate = train.products_rate(trainer.run)(3.0)
    assert len(done) == 2
    assert rate == pytest.approx(sum(flops * times for flops, times in done) / 10.0 / 1e9)


# ------------------------------------------------------------------------------------------------------- our trainer


def test_a_whole_run_is_its_stages_each_as_long_as_in_a_run(trainer: Trainer) -> None:
    known = Trainer.__new__(Trainer)
    known.stages = stages(FAST)
    known.spent = {
        "start": Spent(decisions=100, seconds=10.0, engine=1.0),
        "magnet": Spent(decisions=50, seconds=10.0, engine=0.0),
        "league": Spent(decisions=50, seconds=20.0, engine=5.0),
    }
    seconds = 0.3 * 0.1 + 0.3 * 0.2 + 0.4 * 0.4
    assert known.whole() == pytest.approx(1 / seconds)
    assert known.share("engine") == pytest.approx(100 * (0.3 * 0.01 + 0.4 * 0.1) / seconds)


@pytest.mark.parametrize(("name", "progress"), [("start", 0.0), ("magnet", 0.3), ("league", 0.6)])
def test_a_stage_is_measured_where_it_begins(
    trainer: Trainer, name: str, progress: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    update, draw_opponent = ppo.update_actor, SelfPlay._draw_opponent

    def see_update(*given: Any, **named: Any) -> dict[str, float]:
        seen.append(("magnet", named["magnet"] > 0, trainer.run.progress))
        return update(*given, **named)

    def see_opponent(run: SelfPlay, place: Any) -> str | None:
        drawn = draw_opponent(run, place)
        seen.append(("league", drawn is not None, run.progress))
        return drawn

    monkeypatch.setattr("training.learn.self_play.update_actor", see_update)
    monkeypatch.setattr(SelfPlay, "_draw_opponent", see_opponent)
    rate = trainer.measure(name, 0.0)
    spent = trainer.spent[name]
    assert rate == spent.decisions / spent.seconds
    expected = [("league", progress >= 0.6), ("magnet", progress >= 0.3)]
    assert sorted({(what, there) for what, there, _ in seen}) == expected
    assert {at for *_, at in seen} == {progress}
    assert 0 < spent.engine < spent.rollout < spent.seconds
    assert 0 < spent.update < spent.learn < spent.seconds
    per_decision = spent.flops / spent.decisions
    assert per_decision in [trainer._flops(epochs) for epochs in (1, 2, 3)]


def test_iterations_are_added_up_until_the_time_is_over(trainer: Trainer, monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = []

    def iterate(self: Trainer, progress: float, spent: Spent) -> None:
        rounds.append(progress)
        spent.decisions += 7
        spent.seconds += 0.5

    monkeypatch.setattr(Trainer, "_iterate", iterate)
    assert trainer.measure("magnet", 1.4) == 14
    assert rounds == [0.3] * 3


# -------------------------------------------------------------------------------------------------------- the peers


def test_every_decision_of_the_single_agent_has_an_alternative() -> None:
    deals, random = Deals(seed=5), Random(0)
    seats, rewards = set(), []
    for _ in range(20):
        observation, over = deals.reset(), False
        while not over:
            seat = int(deals.table.row.seat)
            seats.add(seat)
            view, mask = deals.table.view(seat)
            assert observation.dtype == np.float32
            assert np.array_equal(observation, view)
            assert np.array_equal(deals.mask(), mask.astype(bool))
            assert len(deals.legal) > 1
            observation, reward, over = deals.step(random.choice(deals.legal))
            assert over or reward == 0
        points = deals.table.row.points[:4].tolist()
        assert reward == pytest.approx(points[seat] - (sum(points) - points[seat]) / 3)
        rewards.append(reward)
        assert deals.table.is_scored
    assert seats == {0, 1, 2, 3}
    assert len(set(rewards)) > 3


def test_the_environment_is_one_of_gymnasium() -> None:
    env = maker(gymnasium, 1)()
    observation, _ = env.reset(seed=3)
    assert env.observation_space.contains(observation)
    for _ in range(300):
        action = int(np.flatnonzero(env.action_masks())[-1])
        assert env.action_space.contains(np.int64(action))
        observation, _, over, truncated, _ = env.step(np.int64(action))
        assert env.observation_space.contains(observation)
        assert not truncated
        if over:
            observation, _ = env.reset()
    assert env.observation_space.shape == (OBSERVATION_SIZE,)
    assert env.action_space.n == NUM_ACTIONS


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
        assert learning(fake, threads=1)() == 15
        assert learning(fake, threads=2)() == 15
    finally:
        torch.set_num_threads(before)
    assert fake.learnt == [(15, False, 1), (15, False, 2)]


def with_fake_peer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the fake in the place of the library."""
    FakePPO.made = []
    vectors = SimpleNamespace(DummyVecEnv=list)
    monkeypatch.setitem(sys.modules, "sb3_contrib", SimpleNamespace(MaskablePPO=FakePPO))
    monkeypatch.setitem(sys.modules, "stable_baselines3", ModuleType("stable_baselines3"))
    monkeypatch.setitem(sys.modules, "stable_baselines3.common", ModuleType("stable_baselines3.common"))
    monkeypatch.setitem(sys.modules, "stable_baselines3.common.vec_env", vectors)


def test_the_peer_is_measured_at_its_defaults_and_with_many_environments(monkeypatch: pytest.MonkeyPatch) -> None:
    with_fake_peer(monkeypatch)
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
    assert "pip install 'noms-env[bench]'" in missing["sb3-contrib"]


# ---------------------------------------------------------------------------------------------------------- the goals


def found(**values: float) -> dict[str, Measured]:
    """Figures; two underscores stand for a stroke."""
    keys = {name.replace("__", "/"): value for name, value in values.items()}
    return {
        key: Measured(Case(key, "", lambda _: 0.0, of_a_peer=key.startswith("maskable")), [value])
        for key, value in keys.items()
    }


OURS = {
    "train__fast": 30_000.0,
    "train__fast__engine": 11.0,
    "train__small": 99_000.0,
    "products__plain": 300.0,
    "products__update": 180.0,
}


def test_the_goals() -> None:
    peers = {"maskable_ppo__defaults__1": 1000.0, "maskable_ppo__defaults__2": 1600.0, "maskable_ppo__many__1": 6000.0}
    goals = list(train_goals(found(**OURS, **peers)))
    assert [(goal.wanted, round(goal.found, 9), goal.met) for goal in goals] == [
        (20_000, 30_000, True),
        (10, 11, False),
        (0.5, 0.6, True),
        (100_000, 99_000, False),
        (20, 18.75, False),
        (1, 5, True),
    ]
    assert len(list(train_goals(found(**OURS)))) == 4


@pytest.mark.parametrize(
    ("at_most", "at", "met"), [(False, 2.0, True), (False, 1.9, False), (True, 2.0, True), (True, 2.1, False)]
)
def test_a_goal_is_met_from_where_it_is(at_most: bool, at: float, met: bool) -> None:
    assert Goal("", 2.0, at, at_most).met == met


def test_of_operations_per_second_more_is_better() -> None:
    slow, fast = (Measured(Case(key, "", lambda _: 0.0, GFLOPS), [value]) for key, value in (("a", 50.0), ("b", 200.0)))
    assert slow.times_slower_than(fast) == 4


# ----------------------------------------------------------------------------------------------------- the whole run


@pytest.fixture(scope="module")
def results() -> Results:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "sb3_contrib", None)
        return measure_training(1, quick=True)


def test_a_quick_run_measures_everything(results: Results) -> None:
    units = {key: one.case.unit for key, one in results.measured.items()}
    expected = {f"train/fast{part}": RATE for part in ("/start", "/magnet", "/league", "")}
    expected |= {f"train/small{part}": RATE for part in ("/start", "")}
    expected |= {f"train/{name}/{part}": PERCENT for name in ("fast", "small") for part in train.SHARES}
    assert units == expected | {"products/plain": GFLOPS, "products/update": GFLOPS}
    share = {key: one.median for key, one in results.measured.items() if one.case.unit == PERCENT}
    for name in ("fast", "small"):
        assert share[f"train/{name}/rollout"] + share[f"train/{name}/learn"] == pytest.approx(100, abs=2)
        assert 0 < share[f"train/{name}/engine"] < share[f"train/{name}/rollout"]
        assert 0 < share[f"train/{name}/update"] < share[f"train/{name}/learn"]
    assert list(results.missing) == ["sb3-contrib"]
    assert len(results.goals) == 4


def test_the_goals_are_printed_and_drawn(results: Results, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    show(results)
    out = capsys.readouterr().out
    assert "missing: sb3-contrib: not installed (sb3_contrib): pip install 'noms-env[bench]'" in out
    first = results.goals[0]
    words = ["20,000", f"{first.found:,.0f}", *("met" if first.met else "not met").split()]
    assert any(line.startswith(first.text) and line.split()[-len(words) :] == words for line in out.splitlines())
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
    written = json.loads((tmp_path / "t.json").read_text())
    assert [goal["wanted"] for goal in written["goals"]] == [20_000, 10, 0.5, 100_000]
    assert all(goal["met"] == (goal["found"] >= goal["wanted"]) for goal in written["goals"] if not goal["at_most"])


def test_wrong_requests(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--train", "--only", "peers"]) == 2
    assert capsys.readouterr().err == "benchmarks.speed: --train measures the trainer alone; it does not go with --only peers\n"
    monkeypatch.setitem(sys.modules, "torch", None)
    assert main(["--train"]) == 2
    assert (
        capsys.readouterr().err
        == "benchmarks.speed: --train needs torch, which is not installed: pip install 'noms-env[train]'\n"
    )
