"""The baselines of the benchmark learn at tiny size: the policy changes, is kept, and plays."""

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
from noms_training.agents.spec import AgentSpec
from noms_training.benchmark import generalist, protocol, task
from noms_training.benchmark.entry import BASELINES
from noms_training.benchmark.generalist import layout_of
from noms_training.benchmark.learning import (
    NetworkPlayer,
    SelfPlay,
    advantages,
    drawn,
    masked,
    network_of,
    next_of_same,
    save_network,
)
from noms_training.benchmark.new_rules import HELD_OUT, new_rules
from noms_training.benchmark.protocol import GAMES, GENERALIST, Budget, budget_of, rules_of_game
from noms_training.benchmark.running import algorithm_file, baselines, begin, train_all
from noms_training.benchmark.task import Task, load_algorithm, train_run
from noms_training.evaluation.comparison import alone_in_field
from noms_training.learn.draw_rules import BETWEEN_DEALS
from noms_training.learn.train import Trainer  # under the name by which the baselines have it
from tests.cases import some

GAME = "nonesuch"
DEALS = 8
NEED_MORE = {"maskable_ppo"}
"""Those with a library in an environment of its own: tests/interop."""


@pytest.fixture(autouse=True)
def short_curves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task, "CURVE_AT", (0.0, 1.0))
    for module in (task, protocol):
        monkeypatch.setattr(module, "CURVE_DEALS", DEALS)


def learnt(file: Path, folder: Path, budget: str, game: str = GAME) -> tuple[float, float]:
    """Points at the start and at the end of a learning curve."""
    train_run(file, game, 1, budget_of(budget), folder / "trained" / game / "1", lambda decisions: None)
    (folder / "algorithm.py").write_bytes(file.read_bytes())
    lines = (folder / "trained" / game / "1" / "curve.csv").read_text().splitlines()[1:]
    first, last = (float(line.split(",")[3]) for line in (lines[0], lines[-1]))
    return first, last


@pytest.mark.parametrize(("game", "name"), some(product([GAME, GENERALIST], sorted(set(baselines()) - NEED_MORE)), 5))
def test_the_policy_of_a_baseline_changes_is_kept_and_plays(game: str, name: str, tmp_path: Path) -> None:
    """With few tables, so that there are some iterations, and a quick expert."""
    file, text = tmp_path / f"{name}.py", algorithm_file(name).read_text()
    text = re.sub(r"(?m)^(.*\bTABLES\b.*?= .*?)\b(?:64|256|512)\b", r"\g<1>16", text)
    file.write_text(text.replace('"pimc:20"', '"pimc:1"').replace("decisions // 10", "decisions // 2"))
    first, last = learnt(file, tmp_path / "entry", "600", game)
    assert first != last
    made = tmp_path / "entry" / "trained" / game / "1"
    for function in ("player", *(["other_player"] if hasattr(load_algorithm(file), "other_player") else [])):
        spec = agent_spec(f"{made / 'player.py'}:{function}")
        found = alone_in_field(rules_of_game(GAME), spec, agent_spec("random"), DEALS)  # strict: every answer must be legal
        assert alone_in_field(rules_of_game(GAME), spec, agent_spec("random"), DEALS) == found
    if game == GENERALIST:
        assert alone_in_field(new_rules("sniped_whist")[0], spec, agent_spec("random"), DEALS).deals == DEALS


def test_the_trainer_keeps_to_processor_time_and_ends_with_a_measured_policy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clock on which an iteration takes ten seconds: the trial has three, and the rest of a budget of 200 goes to the run."""
    file, text = tmp_path / "trainer.py", algorithm_file("ppo_self_play").read_text()
    text = text.replace("TRIAL, MARGIN = 8_192, 0.9", "TRIAL, MARGIN = 400, 0.9").replace("decisions // 20", "400")
    file.write_text(text.replace("decisions // 10", "10**9"))  # only the end is evaluated
    seconds, counted = [0.0], list[int]()

    def iterate(self: Trainer) -> dict[str, float]:
        seconds[0] += 10.0
        return dict(iterated(self))

    def count(self: Task, decisions: int) -> float:
        counted.append(decisions)
        return counted_as(self, decisions)

    iterated, counted_as = Trainer.iterate, Task.count
    monkeypatch.setattr(Trainer, "iterate", iterate)
    monkeypatch.setattr(Task, "count", count)
    monkeypatch.setattr(Task, "seconds", property(lambda self: (seconds[0], seconds[0])))
    entry = begin(tmp_path / "entry", file, (GAME,), (1,), f"1M,{200 / 3600:.6f}h", ("single_game",))
    train_all(entry, tmp_path / "entry")
    made = tmp_path / "entry" / "trained" / GAME / "1"
    document = json.loads((made / "run.json").read_text())
    assert 170 <= document["cpu_seconds"] <= 200
    assert document["files"] == ["policy.safetensors"]
    rows = (made / "curve.csv").read_text().splitlines()[1:]
    assert [int(row.split(",")[0]) for row in (rows[0], rows[-1])] == [min(counted), document["decisions"]]
    assert len(rows) == 2


@pytest.mark.soak
@pytest.mark.parametrize("name", sorted(set(baselines()) - NEED_MORE - {"clone_pimc"}))
def test_a_baseline_learns(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (task, protocol):
        monkeypatch.setattr(module, "CURVE_DEALS", 256)
    first, last = learnt(algorithm_file(name), tmp_path, "300k", "down_up")  # where all learn soon
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
def test_decisions_of_self_play_are_linked_and_paid(game: str, tmp_path: Path) -> None:
    play = SelfPlay(some_task(tmp_path, game), tables=16)
    found = play.deals(lambda seen: seen.legal.int().argmax(dim=1).numpy())
    assert len(found) == play.decisions == sum(step.stop - step.start for step in found.steps)
    assert bool(found.legal.gather(1, found.action[:, None]).all())
    key = found.table * 7 + found.seat
    for row, after in enumerate(found.following.tolist()):
        later = [other for other in range(row + 1, len(found)) if key[other] == key[row]]
        assert after == (later[0] if later else -1)
    last = found.following < 0
    sums = torch.zeros(16).index_add(0, found.table[last], found.reward[last])
    assert sums.abs().max() < 1e-4, "points less the mean of the others' add up to nothing"
    assert found.reward.abs().max() > 0


def test_advantages_lead_from_the_value_of_a_decision_to_the_rewards_after_it(tmp_path: Path) -> None:
    decisions = SelfPlay(some_task(tmp_path), tables=4).deals(lambda seen: seen.legal.int().argmax(dim=1).numpy())
    reward, (value, bonus) = decisions.reward, torch.randn(2, len(decisions), generator=torch.Generator().manual_seed(1))
    whole, short = (advantages(value, decisions, reward, gae_lambda, bonus) for gae_lambda in (1.0, 0.0))
    later = bonus.clone()
    for row in reversed(range(len(decisions))):
        after = int(decisions.following[row])
        assert short[row] == pytest.approx(
            float(bonus[row] + (reward[row] if after < 0 else value[after]) - value[row]), abs=1e-4
        )
        later[row] += 0 if after < 0 else later[after]
    assert torch.allclose(value + whole, reward + later, atol=1e-4)
    assert torch.allclose(advantages(value, decisions, reward, 1.0), reward - value, atol=1e-4)


def test_a_generalist_learns_under_new_rules_each_time_but_never_under_held_out_ones(tmp_path: Path) -> None:
    task = some_task(tmp_path, GENERALIST)
    batches = [task.make_batch(40) for _ in range(12)]
    rules = [{group.rules for group in batch.groups} for batch in batches]
    assert len(set().union(*rules)) > 100
    assert all({each.variant.name for each in of_batch} == set(GAMES) for of_batch in rules)
    assert {each.seats for each in set().union(*rules)} == set(range(2, 8))
    assert {batch.feature_layout for batch in batches} == {task.layout}
    assert len({batch.tables.seed[0] for batch in batches}) == 12, "other deals, too"
    assert {group.rules for group in some_task(tmp_path, GENERALIST).make_batch(40).groups} == rules[0]
    for each in set().union(*rules):
        usual = make_rules(each.variant, each.seats).options
        for option, values in HELD_OUT.items():
            assert each.options.get(option) not in values or each.options[option] == usual[option]


def test_a_policy_is_kept_as_float16_and_sees_the_options_that_it_has_learnt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = some_task(tmp_path, GENERALIST)
    layout, network = task.layout, network_of(task.layout).half().float()
    save_network(task, network)
    kept = load_file(tmp_path / "policy.safetensors")
    assert {tensor.dtype for tensor in kept.values()} == {torch.float16}
    monkeypatch.setattr(generalist, "BETWEEN_DEALS", {*BETWEEN_DEALS, "half"})  # as if there were other options now
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
    assert task.rows[0][3] == pytest.approx(np.mean([of_game.mean for of_game in points]), abs=1e-4)
    assert task.rows[0][4] < task.rows[0][3] < task.rows[0][5]


def test_the_next_with_the_same_key() -> None:
    assert next_of_same(np.array([3, 1, 3, 3, 1, 2])).tolist() == [2, 4, 3, -1, -1, -1]


def test_actions_are_drawn_with_their_probabilities_and_are_legal() -> None:
    logits = torch.log(torch.tensor([[0.5, 0.2, 0.0, 0.3]])).repeat(4000, 1)
    legal = torch.tensor([[True, False, True, True]]).repeat(4000, 1)
    found = drawn(logits, legal, np.random.default_rng(0).random(4000))
    assert np.bincount(found, minlength=4) / 4000 == pytest.approx([0.625, 0, 0, 0.375], abs=0.03)
    assert drawn(logits[:1], torch.tensor([[True, False, False, False]]), np.array([1 - 1e-16])).tolist() == [0]


def test_the_network_player_sees_what_the_learner_sees(tmp_path: Path) -> None:
    """On the bytes of a table it takes the action that the learner takes on the features of that table."""
    torch.manual_seed(0)
    one = some_task(tmp_path)
    network = network_of(one.layout)
    chosen = list[np.ndarray]()

    def choose(seen: object) -> np.ndarray:
        actions = masked(network(seen.features), seen.legal).argmax(dim=1).numpy()  # type: ignore[attr-defined]
        chosen.append(actions)
        return np.asarray(actions)

    play = SelfPlay(one, tables=8)
    with torch.no_grad():
        found = play.deals(choose)
    batch = make_batch(GAME, 8, seats=4, seed=1, episode="deal", skip_forced=True)
    batch.reset()
    batch.observe()
    player, rng = NetworkPlayer(network, GAME), np.random.default_rng(0)
    while not batch.over.all():
        rows = np.flatnonzero(~batch.over)
        actions = np.zeros(8, np.int64)
        actions[rows] = player.act(batch.observation[rows], batch.mask[rows], draw_seeds(rng, len(rows)))
        batch.step(actions, observe=True)
    points = batch.tables.points[:, :4]
    relative = (4 * points - points.sum(axis=1, keepdims=True)) / 3
    assert found.reward.numpy() == pytest.approx(relative[found.table.numpy(), found.seat.numpy()], abs=1e-4)
    assert feature_layout(GAME, 4, episode="deal").n_features == one.layout.n_features


def test_an_algorithm_is_a_player_before_it_has_learnt(tmp_path: Path) -> None:
    """What the curve measures at its start is a player that answers legally."""
    module = load_algorithm(algorithm_file("ppo"))
    one = some_task(tmp_path)
    network = module.network_of(one.layout, gain=0.01)
    spec = AgentSpec("untrained", lambda: module.NetworkPlayer(network, GAME))
    assert alone_in_field(rules_of_game(GAME), spec, agent_spec("greedy"), 8).mean < 0
    assert budget_of("10").share(10, 0) == 1


def test_each_observation_is_what_the_learner_and_its_player_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def load_small(file: Path) -> ModuleType:
        module = load_algorithm(file)
        monkeypatch.setattr(module, "TABLES", 8)
        return module

    monkeypatch.setattr(observations, "load_algorithm", load_small)
    args = observations.Args(tmp_path, ("ppo",), GAME, decisions=300, seeds=1)
    observations.main(args)
    inputs = {}
    for observation in observations.OBSERVATIONS:
        weights = load_file(tmp_path / "ppo" / observation / "1" / "policy.safetensors")
        inputs[observation] = weights["body.0.weight"].shape[1]
    n_features = feature_layout(GAME, 4, episode="deal").n_features
    assert inputs == {"bytes": OBSERVATION_SIZE, "features": n_features, "canonical": n_features}
    lines = (tmp_path / "observations.csv").read_text().splitlines()
    assert [line.split(",")[1] for line in lines[1:]] == [name for name in observations.OBSERVATIONS for _ in range(2)]
    assert (tmp_path / "observations.md").read_text().count("| ppo |") == 3
    assert len(capsys.readouterr().out.splitlines()) == 3
    observations.main(args)
    assert capsys.readouterr().out == "", "all runs are there"
