"""RLlib: the environment, the module, players from checkpoints, and the example's league on a cluster of two nodes."""

import json
import runpy
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import ray
import torch
from ray.cluster_utils import Cluster
from ray.rllib.env.env_context import EnvContext
from ray.rllib.env.multi_agent_env_runner import MultiAgentEnvRunner
from ray.rllib.utils.pre_checks.env import check_multiagent_environments

from noms_env import NUM_ACTIONS, VARIANTS, IllegalActionError, load_player
from noms_env.envs.aec import TrickTakingEnv
from noms_env.interop.rllib import RLlibEnv
from noms_env.players import NOBODY
from noms_training.cli import main as noms
from noms_training.interop import rllib
from noms_training.learn.data import workers
from tests.interop.learning import run_page

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*Overriding environment rllib-multi-agent-env-v0:UserWarning"),  # at each runner
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # RLlib uses its own deprecated functions
    pytest.mark.filterwarnings("ignore::FutureWarning:ray"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # Ray leaves sockets and processes to the garbage collector
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),  # the same, seen by pytest
]

EXAMPLES = Path(__file__).parents[2] / "examples"
EXAMPLE = SimpleNamespace(**runpy.run_path(str(EXAMPLES / "rllib_self_play.py")))
GAME: dict[str, Any] = {"variant": "down_up", "seats": 3, "episode": "deal", "hand_size": 3}


def random_legal(rng: np.random.Generator, seen: dict[str, Any]) -> dict[str, int]:
    """Draw a legal action for the only agent with an observation."""
    ((agent, view),) = seen.items()
    return {agent: int(rng.choice(np.flatnonzero(view["action_mask"])))}


@pytest.mark.parametrize("skip_forced", [False, True])
@pytest.mark.parametrize("variant", VARIANTS)
def test_only_the_seat_to_act_observes_and_rewards_are_complete(variant: str, skip_forced: bool) -> None:
    env = RLlibEnv({"variant": variant, "episode": "deal", "skip_forced": skip_forced})
    rng = np.random.default_rng(1)
    for deal in range(3):
        seen, infos = env.reset(seed=deal)
        assert list(infos) == list(seen)
        returns, over, decisions = dict.fromkeys(env.possible_agents, 0.0), False, 0
        while not over:
            assert list(seen) == [env.env.agent_selection]
            ((agent, view),) = seen.items()
            assert env.observation_spaces[agent].contains(view)
            assert np.flatnonzero(view["action_mask"]).tolist() == env.env.legal_actions()
            seen, rewards, terminated, truncated, infos = env.step(random_legal(rng, seen))
            assert agent in rewards
            assert set(infos) <= set(seen)
            decisions += 1
            for name, reward in rewards.items():
                returns[name] += reward
            over = terminated["__all__"] or truncated["__all__"]
        row = env.env.table.row
        assert list(returns.values()) == row.points[: env.env.table.seats].tolist()
        assert any(returns.values())
        assert list(seen) == env.possible_agents
        assert not any(view["action_mask"].any() for view in seen.values())
        assert all("last_deal" in info for info in infos.values())
        with pytest.raises(ValueError, match="call reset first"):
            env.step({"player_0": 0})


def test_a_match_gives_rewards_after_each_deal() -> None:
    env = RLlibEnv({"variant": "up_down", "episode": "match", "reward": "relative"})
    rng, returns, deals, over = np.random.default_rng(1), np.zeros(4), 0, False
    seen, _ = env.reset(seed=3)
    while not over:
        seen, rewards, terminated, truncated, infos = env.step(random_legal(rng, seen))
        if len(rewards) > 1:
            deals += 1
            returns += [rewards[agent] for agent in env.possible_agents]
            assert sum(rewards.values()) == pytest.approx(0)
        assert bool(infos) == (len(rewards) > 1)
        over = terminated["__all__"]
        assert not truncated["__all__"]
    totals = env.env.table.row.totals[:4]
    assert deals == len(env.env.table.rules.schedule)
    np.testing.assert_allclose(returns, totals - (totals.sum() - totals) / 3, atol=1e-6)


def test_deals_follow_from_the_seed_and_differ_between_runners() -> None:
    raw = TrickTakingEnv(**GAME)
    raw.reset(seed=5)
    first = raw.table.get_state()
    env = RLlibEnv(GAME)
    env.reset(seed=5)
    assert env.env.table.get_state() == first
    raw.reset()
    env.reset()
    assert env.env.table.get_state() == raw.table.get_state() != first
    hands = set()
    for worker in range(4):
        env, twin = (RLlibEnv(EnvContext(GAME, worker_index=worker)) for _ in range(2))
        env.reset(seed=5)
        twin.reset(seed=5)
        assert twin.env.table.get_state() == env.env.table.get_state()
        hands.add(tuple(env.env.table.row.hands))
    assert len(hands) == 4
    assert tuple(np.frombuffer(first, env.env.table.row.dtype)[0]["hands"]) in hands


def test_an_illegal_action_ends_the_episode_or_raises() -> None:
    env = RLlibEnv(GAME)
    ((agent, _),) = env.reset(seed=1)[0].items()
    seen, rewards, terminated, truncated, _ = env.step({agent: 0})
    assert rewards == {name: -1.0 if name == agent else 0.0 for name in env.possible_agents}
    assert terminated == {"__all__": True}
    assert truncated == {"__all__": False}
    assert list(seen) == env.possible_agents
    env = RLlibEnv({**GAME, "illegal_action": "raise"})
    env.reset(seed=1)
    before = env.env.table.get_state()
    with pytest.raises(IllegalActionError, match="Legal in the phase call"):
        env.step({env.env.agent_selection: 0})
    assert env.env.table.get_state() == before


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ({}, "env_config must name a game"),
        ({"variant": "down_up", "mask_in": "info"}, "mask_in is not an argument here"),
        ({"variant": "down_up", "skip_forced": 1}, "skip_forced must be True or False"),
        ({"variant": "down_up", "reward": "money"}, "reward must be 'points'"),
    ],
)
def test_wrong_arguments_are_refused(config: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        RLlibEnv(config)


def test_only_the_agent_to_act_may_act() -> None:
    env = RLlibEnv(GAME)
    with pytest.raises(ValueError, match="call reset first"):
        env.step({"player_0": 0})
    env.reset(seed=1)
    agent = env.env.agent_selection
    other = next(name for name in env.possible_agents if name != agent)
    for actions, names in (({}, "nobody"), ({other: 0}, other), ({agent: 0, other: 0}, f"{agent}, {other}")):
        with pytest.raises(ValueError, match=f"actions must be of {agent} alone, the agent to act, not of {names}"):
            env.step(actions)


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_environment_passes_the_check_of_rllib(variant: str) -> None:
    check_multiagent_environments(RLlibEnv({"variant": variant}))


@pytest.fixture(scope="module")
def spec() -> Any:
    return EXAMPLE.module_spec((32,))


def some_rows(rows: int = 64) -> tuple[np.ndarray, np.ndarray]:
    env, rng = RLlibEnv({"variant": "down_up", "seats": 3}), np.random.default_rng(0)
    views: list[Any] = []
    seen, _ = env.reset(seed=0)
    while len(views) < rows:
        views += seen.values()
        seen = env.step(random_legal(rng, seen))[0]
    return np.stack([view["observations"] for view in views]), np.stack([view["action_mask"] for view in views])


def test_illegal_actions_have_no_probability(spec: Any) -> None:
    torch.manual_seed(0)
    module = spec.build()
    observation, mask = some_rows()
    mask[-1] = 0  # as at the end of an episode
    seen = {"observations": torch.from_numpy(observation), "action_mask": torch.from_numpy(mask)}
    for forward in (module.forward_inference, module.forward_exploration, module.forward_train):
        logits = forward({"obs": seen})["action_dist_inputs"]
        assert logits.shape == mask.shape
        assert torch.isfinite(logits).all()
        chances = torch.softmax(logits, -1)[:-1]
        assert (chances[mask[:-1] == 0] == 0).all()
        assert (chances[mask[:-1] != 0] > 0).all()
    values = module.compute_values({"obs": seen})
    assert values.shape == (len(mask),)
    assert torch.isfinite(values).all()
    assert values.requires_grad


@pytest.mark.parametrize("timesteps", [None, 100])
def test_a_runner_obeys_masks_and_loses_no_reward(timesteps: int | None) -> None:
    """A runner samples whole episodes, or fragments of a number of timesteps."""
    config = EXAMPLE.make_config(0, envs=4, batch=400).environment(env_config={"skip_forced": False})
    runner = MultiAgentEnvRunner(config=config)
    returns: dict[str, dict[str, float]] = {}
    finished, decisions = set(), 0
    for _ in range(3):
        for episode in runner.sample(**({"num_episodes": 8} if timesteps is None else {"num_timesteps": timesteps})):
            for agent, part in episode.agent_episodes.items():
                actions, views = part.get_actions(), part.get_observations(slice(0, len(part)))
                assert (views["action_mask"][np.arange(len(part)), actions] == 1).all()
                decisions += len(part)
                sums = returns.setdefault(episode.id_, {})
                sums[agent] = sums.get(agent, 0.0) + part.get_return()
            if episode.is_done:
                finished.add(episode.id_)
    assert len(finished) >= 10
    assert decisions >= 100
    assert any(any(returns[number].values()) for number in finished)
    for number in finished:
        assert sum(returns[number].values()) == pytest.approx(0, abs=1e-5), "relative points"


def test_a_player_samples_the_probabilities_of_its_module(spec: Any) -> None:
    torch.manual_seed(0)
    module = spec.build()
    with torch.no_grad():
        module.policy[-1].weight *= 1000
    player = rllib.ModulePlayer(module)
    observation, mask = some_rows(1)
    many = np.repeat(observation, 20_000, axis=0), np.repeat(mask, 20_000, axis=0)
    actions = player.act(*many, np.random.default_rng(1))
    counts = np.bincount(actions, minlength=NUM_ACTIONS) / len(actions)
    seen = {"observations": torch.from_numpy(observation), "action_mask": torch.from_numpy(mask)}
    chances = torch.softmax(module.forward_inference({"obs": seen})["action_dist_inputs"], -1)[0].detach().numpy()
    assert 0.2 < chances.max() < 0.95, "neither deterministic nor uniform"
    np.testing.assert_allclose(counts, chances, atol=0.02)


def test_a_player_is_deterministic_and_accepts_one_row(spec: Any) -> None:
    player = rllib.ModulePlayer(spec.build())
    observation, mask = some_rows()
    mask[3] = 0
    actions = player.act(observation, mask, np.random.default_rng(2))
    assert actions[3] == NOBODY
    others = np.delete(np.arange(len(mask)), 3)
    assert (mask[others, actions[others]] == 1).all()
    np.testing.assert_array_equal(actions, player.act(observation, mask, np.random.default_rng(2)))
    assert type(player.act(observation[0], mask[0], np.random.default_rng(2))) is int


def test_a_folder_without_a_checkpoint_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(rllib.CHECKPOINT, raising=False)
    with pytest.raises(ValueError, match="NOMS_RLLIB_CHECKPOINT must name the folder"):
        rllib.player()
    with pytest.raises(ValueError, match="is not a checkpoint of RLlib"):
        rllib.player(tmp_path)
    for name in ("a", "b"):
        (tmp_path / rllib.MODULES / name).mkdir(parents=True)
        (tmp_path / rllib.MODULES / name / rllib.CLASS_FILE).touch()
    with pytest.raises(ValueError, match="holds the modules a, b, and no main"):
        rllib.player(tmp_path)
    assert rllib.module_folder(tmp_path / rllib.MODULES / "b").name == "b"


def test_half_of_the_episodes_have_one_learner_and_past_selves() -> None:
    agents = [f"player_{seat}" for seat in range(EXAMPLE.SEATS)]
    tables = []
    for number in range(600):
        episode = SimpleNamespace(id_=f"{number:x}")
        assert {EXAMPLE.module_for(agent, episode, past=0) for agent in agents} == {"main"}
        tables.append([EXAMPLE.module_for(agent, episode, past=2) for agent in agents])
    alone = [table for table in tables if table.count("main") == 1]
    assert len(alone) == sum(table.count("main") == EXAMPLE.SEATS for table in tables) == 300
    assert {table.index("main") for table in alone} == {0, 1, 2}
    assert {name for table in alone for name in table} == {"main", "past_0", "past_1"}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """Two nodes of Ray with one processor each."""
    node = {"num_cpus": 1, "include_dashboard": False, "object_store_memory": 10**8}
    nodes = Cluster(initialize_head=True, head_node_args=node)
    nodes.add_node(**node)
    ray.init(address=nodes.address, log_to_driver=False)
    yield nodes
    ray.shutdown()
    nodes.shutdown()


def weights_at_runners(algorithm: Any, module: str) -> list[dict[str, np.ndarray]]:
    weights: list[dict[str, np.ndarray]] = algorithm.env_runner_group.foreach_env_runner(
        lambda runner: runner.module[module].get_state(), local_env_runner=False
    )
    return weights


def same(weights: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> bool:
    """Return whether two modules have the same policy."""
    names = [name for name in weights if name.startswith("policy.")]
    return bool(names) and all(np.array_equal(weights[name], other[name]) for name in names)


def test_a_league_trains_on_two_nodes_and_its_player_plays(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    algorithm = EXAMPLE.make_config(2, envs=4, batch=256).build_algo()
    try:
        places = algorithm.env_runner_group.foreach_env_runner(
            lambda runner: ray.get_runtime_context().get_node_id(), local_env_runner=False
        )
        assert sorted(places) == sorted(node["NodeID"] for node in ray.nodes())
        assert len(set(places)) == 2
        untrained = weights_at_runners(algorithm, "main")[0]
        EXAMPLE.train(algorithm, decisions=1000, league=1)
        trained, frozen = (weights_at_runners(algorithm, name) for name in ("main", "past_0"))
        assert len(trained) == len(frozen) == 2
        assert same(*trained)
        assert not same(untrained, trained[0])
        assert same(*frozen)
        assert not same(trained[0], frozen[0])
        assert not same(untrained, frozen[0])
        checkpoint = Path(algorithm.save_to_path(tmp_path / "checkpoint"))
    finally:
        algorithm.stop()
    folder = checkpoint / rllib.MODULES / "past_0"
    assert same(rllib.player(folder).module.get_state(), frozen[0])
    assert same(rllib.player(checkpoint).module.get_state(), trained[0])
    capsys.readouterr()
    monkeypatch.setenv(rllib.CHECKPOINT, str(checkpoint))
    words = ["--variant", "down_up", "--seats", "3", "--deals", "32", "--matches", "0", "--threads", "1"]
    assert noms(["evaluate", "noms_training.interop.rllib:player", "random", *words]) == 0
    out = capsys.readouterr().out
    assert "rllib:player v random: " in out
    assert "lost" not in out
    monkeypatch.setenv(rllib.CHECKPOINT, str(tmp_path))
    with pytest.raises(ValueError, match=r"rllib:player raised ValueError: .* is not a checkpoint of RLlib"):
        load_player("noms_training.interop.rllib:player")


def test_a_past_self_is_a_copy_of_the_learner(cluster: Cluster) -> None:
    algorithm = EXAMPLE.make_config(0, envs=4, batch=128).build_algo()
    try:
        algorithm.train()
        before = algorithm.get_module("main").get_state()
        rllib.add_past_self(algorithm, "past_0", EXAMPLE.module_spec(), partial(EXAMPLE.module_for, past=1))
        assert same(algorithm.get_module("past_0").get_state(), before)
    finally:
        algorithm.stop()


def test_an_export_on_two_nodes_equals_one_of_one_process(cluster: Cluster, tmp_path: Path) -> None:
    words = ["export", "--variant", "down_up", "--seats", "3", "--option", "ranks=3", "--matches", "200", "--format", "npz"]
    assert noms([*words, "--player", "thumb", "--out", str(tmp_path / "one")]) == 0
    assert noms([*words, "--player", "thumb", "--ray", "--out", str(tmp_path / "two")]) == 0
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()
    nodes = {node for (node,) in workers.in_ray(node_of, [()] * 8)}
    assert len(nodes) == 2


def test_a_scoring_on_two_nodes_equals_one_of_one_process_and_resumes(cluster: Cluster, tmp_path: Path) -> None:
    act = "def act(observation, mask, rng):\n    return -1 if mask[7] else int(rng.choice(mask.nonzero()[0]))\n"
    (tmp_path / "mine.py").write_text(act)
    words = ["--player", f"{tmp_path / 'mine.py'}:act", "--name", "mine", "--protocol", "1"]
    words += ["--games", "nonesuch", "--deals", "80"]
    assert noms(["benchmark", "score", str(tmp_path / "one"), *words, "--threads", "1"]) == 0
    assert noms(["benchmark", "score", str(tmp_path / "two"), *words, "--ray"]) == 0
    files = [path.relative_to(tmp_path / "one") for path in (tmp_path / "one").rglob("*.json") if path.name != "times.json"]
    assert len(files) == 1 + 1 + 4
    for resumes in (False, True):
        if resumes:
            (tmp_path / "two" / files[-1]).unlink()
            assert noms(["benchmark", "score", str(tmp_path / "two"), *words, "--ray"]) == 0
        for file in files:
            assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes(), file
    assert '"lost":{"tables":0' not in (tmp_path / "one/trial/cells/nonesuch/0/thumb.json").read_text()
    times = json.loads((tmp_path / "two" / "trial" / "times.json").read_text())["core"]
    assert times["deals"] >= 4 * 80
    assert times["cpu_seconds"] > 0


def node_of() -> tuple[str]:
    """Return the node of a job, after so much time that other jobs run elsewhere."""
    time.sleep(0.2)
    return (ray.get_runtime_context().get_node_id(),)


def test_an_error_on_a_node_is_reported(cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "wrong.py").write_text("def act(observation, mask, rng):\n    return 149\n", encoding="utf-8")
    words = ["export", "--variant", "down_up", "--player", f"{tmp_path / 'wrong.py'}:act", "--ray"]
    assert noms([*words, "--out", str(tmp_path / "set")]) == 2
    err = capsys.readouterr().err
    assert "chose action 149, which was not legal" in err
    assert "Traceback" not in err
    assert not (tmp_path / "set").exists()


def test_the_code_of_the_page_runs() -> None:
    run_page("RLlib")
