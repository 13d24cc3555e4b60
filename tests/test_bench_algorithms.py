"""The baselines of the benchmark at tiny size: the policy changes, is saved, and plays."""

import json
import re
from itertools import product
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from benchmarks import observations
from noms_env import OBSERVATION_SIZE, feature_layout, load_player, make_batch
from noms_env.players import draw_seeds
from noms_env.variants import make_rules
from noms_training.agents.registry import agent_spec
from noms_training.benchmark import generalist, protocol, task
from noms_training.benchmark.entry import BASELINES
from noms_training.benchmark.generalist import layout_of
from noms_training.benchmark.learning import NetworkPlayer, SelfPlay, drawn, masked, network_of, save_network
from noms_training.benchmark.new_rules import HELD_OUT, new_rules
from noms_training.benchmark.protocol import GAMES, GENERALIST, Budget, budget_of, rules_of_game
from noms_training.benchmark.running import algorithm_file, baselines, begin, train_all
from noms_training.benchmark.task import Task, load_algorithm, train_run
from noms_training.evaluation.comparison import alone_in_field
from noms_training.learn.draw_rules import BETWEEN_DEALS
from noms_training.learn.train import Trainer  # the name in the baselines
from tests.cases import some

GAME = "nonesuch"
DEALS = 8
NEED_MORE = {"maskable_ppo"}
"""Baselines whose library has its own environment: tests/interop."""


@pytest.fixture(autouse=True)
def short_curves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task, "CURVE_AT", (0.0, 1.0))
    for module in (task, protocol):
        monkeypatch.setattr(module, "CURVE_DEALS", DEALS)


def train(file: Path, folder: Path, budget: str, game: str = GAME) -> tuple[float, float]:
    """Train a baseline; return the points at both ends of its learning curve."""
    run = folder / "trained" / game / "1"
    train_run(file, game, 1, budget_of(budget), run, lambda decisions: None)
    (folder / "algorithm.py").write_bytes(file.read_bytes())
    lines = (run / "curve.csv").read_text().splitlines()[1:]
    first, last = (float(line.split(",")[3]) for line in (lines[0], lines[-1]))
    return first, last


@pytest.mark.parametrize(("game", "name"), some(product([GAME, GENERALIST], sorted(set(baselines()) - NEED_MORE)), 5))
def test_the_policy_of_a_baseline_changes_is_saved_and_plays(game: str, name: str, tmp_path: Path) -> None:
    """With few tables, for several iterations, and a quick expert."""
    file, text = tmp_path / f"{name}.py", algorithm_file(name).read_text()
    text = re.sub(r"(?m)^(.*\bTABLES\b.*?= .*?)\b(?:64|256|512)\b", r"\g<1>16", text)
    file.write_text(text.replace('"pimc:20"', '"pimc:1"').replace("decisions // 10", "decisions // 2"))
    first, last = train(file, tmp_path / "entry", "600", game)
    assert first != last
    run = tmp_path / "entry" / "trained" / game / "1"
    for function in ("player", *(["other_player"] if hasattr(load_algorithm(file), "other_player") else [])):
        spec = agent_spec(f"{run / 'player.py'}:{function}")
        points = [alone_in_field(rules_of_game(GAME), spec, agent_spec("random"), DEALS) for _ in range(2)]
        assert points[0] == points[1]  # and every answer was legal
    if game == GENERALIST:
        assert alone_in_field(new_rules("sniped_whist")[0], spec, agent_spec("random"), DEALS).deals == DEALS


def test_the_trainer_ends_with_its_processor_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An iteration takes ten seconds: the trial has three iterations, the run the rest of 200 seconds."""
    file, text = tmp_path / "trainer.py", algorithm_file("ppo_self_play").read_text()
    text = text.replace("TRIAL, MARGIN = 8_192, 0.9", "TRIAL, MARGIN = 400, 0.9").replace("decisions // 20", "400")
    file.write_text(text.replace("decisions // 10", "10**9"))  # only the end is evaluated
    seconds, counts = [0.0], list[int]()

    def iterate(self: Trainer) -> dict[str, float]:
        seconds[0] += 10.0
        return dict(real_iterate(self))

    def count(self: Task, decisions: int) -> float:
        counts.append(decisions)
        return real_count(self, decisions)

    real_iterate, real_count = Trainer.iterate, Task.count
    monkeypatch.setattr(Trainer, "iterate", iterate)
    monkeypatch.setattr(Task, "count", count)
    monkeypatch.setattr(Task, "seconds", property(lambda self: (seconds[0], seconds[0])))
    entry = begin(tmp_path / "entry", file, (GAME,), (1,), f"1M,{200 / 3600:.6f}h", ("single_game",))
    train_all(entry, tmp_path / "entry")
    run = tmp_path / "entry" / "trained" / GAME / "1"
    document = json.loads((run / "run.json").read_text())
    assert 170 <= document["cpu_seconds"] <= 200
    assert document["files"] == ["policy.safetensors"]
    rows = (run / "curve.csv").read_text().splitlines()[1:]
    assert [int(row.split(",")[0]) for row in (rows[0], rows[-1])] == [min(counts), document["decisions"]]
    assert len(rows) == 2


@pytest.mark.soak
@pytest.mark.parametrize("name", sorted(set(baselines()) - NEED_MORE - {"clone_pimc"}))
def test_a_baseline_learns(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (task, protocol):
        monkeypatch.setattr(module, "CURVE_DEALS", 256)
    first, last = train(algorithm_file(name), tmp_path, "300k", "down_up")
    assert last > first + 0.5


@pytest.mark.parametrize("name", baselines())
def test_a_baseline_is_one_readable_file(name: str) -> None:
    text = (BASELINES / f"{name}.py").read_text()
    assert len(text.splitlines()) <= 160
    assert "from noms_training" in text
    assert "from benchmarks" not in text


def some_task(folder: Path, game: str = GAME) -> Task:
    return Task(game, 1, Budget(10), folder)


@pytest.mark.parametrize("game", [GAME, GENERALIST])
def test_decisions_of_self_play_have_successors_and_rewards(game: str, tmp_path: Path) -> None:
    play = SelfPlay(some_task(tmp_path, game), tables=16)
    rows = play.deals(lambda batch: batch.legal.int().argmax(dim=1).numpy())
    assert len(rows) == play.decisions == sum(step.stop - step.start for step in rows.steps)
    assert bool(rows.legal.gather(1, rows.action[:, None]).all())
    key = rows.table * 7 + rows.seat
    for row, successor in enumerate(rows.following.tolist()):
        later = [other for other in range(row + 1, len(rows)) if key[other] == key[row]]
        assert successor == (later[0] if later else -1)
    last = rows.following < 0
    sums = torch.zeros(16).index_add(0, rows.table[last], rows.reward[last])
    assert sums.abs().max() < 1e-4, "relative points add up to 0"
    assert rows.reward.abs().max() > 0


def test_a_generalist_trains_under_changing_rules_but_never_under_held_out_ones(tmp_path: Path) -> None:
    task = some_task(tmp_path, GENERALIST)
    batches = [task.make_batch(40) for _ in range(12)]
    rules = [{group.rules for group in batch.groups} for batch in batches]
    all_rules = set().union(*rules)
    assert len(all_rules) > 100
    assert all({each.variant.name for each in batch_rules} == set(GAMES) for batch_rules in rules)
    assert {each.seats for each in all_rules} == set(range(2, 8))
    assert {batch.feature_layout for batch in batches} == {task.layout}
    assert len({batch.tables.seed[0] for batch in batches}) == 12, "the deals change, too"
    assert {group.rules for group in some_task(tmp_path, GENERALIST).make_batch(40).groups} == rules[0]
    for each in all_rules:
        usual = make_rules(each.variant, each.seats).options
        for option, values in HELD_OUT.items():
            assert each.options.get(option) not in values or each.options[option] == usual[option]


def test_a_policy_is_saved_as_float16_and_keeps_its_features(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = some_task(tmp_path, GENERALIST)
    layout, network = task.layout, network_of(task.layout).half().float()
    save_network(task, network)
    assert {tensor.dtype for tensor in load_file(tmp_path / "policy.safetensors").values()} == {torch.float16}
    monkeypatch.setattr(generalist, "BETWEEN_DEALS", {*BETWEEN_DEALS, "half"})  # a later version with another option
    layout_of.cache_clear()
    assert task.layout.n_features < layout.n_features
    loaded = NetworkPlayer.load(tmp_path, network_of)
    assert loaded.layout.options == layout.options
    batch = task.make_batch(8, observation="bytes")
    batch.reset()
    batch.observe()
    players = loaded, NetworkPlayer(network, layout)
    ours, theirs = (player.act(batch.observation, batch.mask, np.arange(8)) for player in players)
    assert (ours == theirs).all()
    layout_of.cache_clear()


def test_the_learning_curve_of_a_generalist_is_the_mean_of_all_games(tmp_path: Path) -> None:
    task = some_task(tmp_path, GENERALIST)
    task.log(0, lambda: load_player("greedy"))
    specs = agent_spec("greedy"), agent_spec("thumb:2")
    points = [alone_in_field(rules_of_game(name), *specs, DEALS) for name in GAMES]
    assert task.rows[0][3] == pytest.approx(np.mean([estimate.mean for estimate in points]), abs=1e-4)
    assert task.rows[0][4] < task.rows[0][3] < task.rows[0][5]


def test_actions_are_drawn_with_their_probabilities_and_are_legal() -> None:
    logits = torch.log(torch.tensor([[0.5, 0.2, 0.0, 0.3]])).repeat(4000, 1)
    legal = torch.tensor([[True, False, True, True]]).repeat(4000, 1)
    actions = drawn(logits, legal, np.random.default_rng(0).random(4000))
    assert np.bincount(actions, minlength=4) / 4000 == pytest.approx([0.625, 0, 0, 0.375], abs=0.03)
    assert drawn(logits[:1], torch.tensor([[True, False, False, False]]), np.array([1 - 1e-16])).tolist() == [0]


def test_the_network_player_acts_on_bytes_as_the_learner_on_features(tmp_path: Path) -> None:
    torch.manual_seed(0)
    task = some_task(tmp_path)
    network = network_of(task.layout)
    with torch.no_grad():
        rows = SelfPlay(task, tables=8).deals(
            lambda batch: np.asarray(masked(network(batch.features), batch.legal).argmax(dim=1).numpy())
        )
    batch = make_batch(GAME, 8, seats=4, seed=1, episode="deal", skip_forced=True)
    batch.reset()
    batch.observe()
    player, rng = NetworkPlayer(network, GAME), np.random.default_rng(0)
    while not batch.over.all():
        playing = np.flatnonzero(~batch.over)
        actions = np.zeros(8, np.int64)
        actions[playing] = player.act(batch.observation[playing], batch.mask[playing], draw_seeds(rng, len(playing)))
        batch.step(actions, observe=True)
    points = batch.tables.points[:, :4]
    relative = (4 * points - points.sum(axis=1, keepdims=True)) / 3
    assert rows.reward.numpy() == pytest.approx(relative[rows.table.numpy(), rows.seat.numpy()], abs=1e-4)
    assert feature_layout(GAME, 4, episode="deal").n_features == task.layout.n_features


def test_learner_and_player_have_the_same_observation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def load_small(file: Path) -> ModuleType:
        module = load_algorithm(file)
        monkeypatch.setattr(module, "TABLES", 8)
        return module

    monkeypatch.setattr(observations, "load_algorithm", load_small)
    args = observations.Args(tmp_path, ("ppo",), GAME, decisions=300, seeds=1)
    observations.main(args)
    files = {name: tmp_path / "ppo" / name / "1" / "policy.safetensors" for name in observations.OBSERVATIONS}
    inputs = {name: load_file(file)["body.0.weight"].shape[1] for name, file in files.items()}
    n_features = feature_layout(GAME, 4, episode="deal").n_features
    assert inputs == {"bytes": OBSERVATION_SIZE, "features": n_features, "canonical": n_features}
    lines = (tmp_path / "observations.csv").read_text().splitlines()
    assert [line.split(",")[1] for line in lines[1:]] == [name for name in observations.OBSERVATIONS for _ in range(2)]
    assert (tmp_path / "observations.md").read_text().count("| ppo |") == 3
    assert len(capsys.readouterr().out.splitlines()) == 3
    observations.main(args)
    assert capsys.readouterr().out == "", "no run is repeated"
