"""Tianshou sees the same as our environments, of one seat or all; networks obey the masks, and the example learns."""

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tianshou.algorithm import MARLRandomDiscreteMaskedOffPolicyAlgorithm, MultiAgentOffPolicyAlgorithm
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.env.pettingzoo_env import PettingZooEnv

from noms_env import VARIANTS, SeatEnv, down_up_v0, noms_v0
from tests.begin import begin
from tests.envs.play import module_of
from tests.interop.learning import assert_it_learns, assert_seen, run_page

pytestmark = pytest.mark.interop

EXAMPLE = Path(__file__).parents[2] / "examples" / "tianshou_ppo.py"
ROWS, STEPS, SEED = 4, 40, 5


@pytest.fixture
def example() -> dict[str, Any]:
    torch.manual_seed(1)
    return runpy.run_path(str(EXAMPLE))


def test_it_collects_the_steps_of_the_environments(example: dict[str, Any]) -> None:
    tables = example["make_tables"](ROWS, SEED)
    buffer = VectorReplayBuffer(ROWS * STEPS, ROWS)
    collector = Collector(example["make_learner"](), tables, buffer)
    collector.reset()
    collector.collect(n_step=ROWS * STEPS)
    deals = 0
    for row in range(ROWS):
        env = begin(SeatEnv("down_up", **example["TABLE_ARGUMENTS"]), seed=SEED + row)
        seen, _ = env.reset()  # the seed starts an episode, and the collector the next
        for step in buffer.buffers[row][:STEPS].split(1, shuffle=False):
            assert_seen(step.obs, seen)
            seen, reward, terminated, _, _ = env.step(int(step.act[0]))
            assert_seen(step.obs_next, seen)
            assert step.rew[0] == pytest.approx(reward * example["REWARD_SCALE"])
            assert step.terminated[0] == terminated
            if terminated:
                deals += 1
                seen, _ = env.reset()
    assert deals > ROWS


def test_the_network_obeys_the_mask(example: dict[str, Any]) -> None:
    ppo = example["make_learner"]()
    envs = DummyVectorEnv([lambda: SeatEnv("down_up", observation="features")] * ROWS)  # an illegal action raises
    collector = Collector(ppo, envs, VectorReplayBuffer(ROWS * STEPS, ROWS))
    collector.reset()
    stats = collector.collect(n_step=ROWS * STEPS)
    assert stats.n_collected_episodes > 0
    with torch.no_grad():
        batch, _ = collector.buffer.sample(64)
        chances = ppo.policy(batch).dist.probs.numpy()
    assert (chances[batch.obs.action_mask == 0] == 0).all()
    assert (chances[batch.obs.action_mask != 0] > 0).all()


@pytest.mark.parametrize("game", [down_up_v0, noms_v0])
def test_all_seats_play_through_pettingzoo(game: Any) -> None:
    aec = game.env(episode="deal")
    env = PettingZooEnv(aec)
    rng = np.random.default_rng(1)
    for deal in range(3):
        seen, _ = env.reset(seed=deal)
        returns, is_over = np.zeros(aec.num_agents), False
        while not is_over:
            assert seen["agent_id"] == aec.agent_selection
            assert np.array_equal(seen["mask"], aec.unwrapped.observe(aec.agent_selection)["action_mask"] != 0)
            seen, rewards, terminated, truncated, _ = env.step(int(rng.choice(np.flatnonzero(seen["mask"]))))
            returns += rewards
            is_over = terminated or truncated
        table = aec.unwrapped.table
        assert returns.tolist() == table.row.points[: table.seats].tolist()


@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")
@pytest.mark.parametrize("variant", VARIANTS)
def test_infos_have_the_same_shapes_and_types_in_all_deals(variant: str) -> None:
    """Otherwise a buffer refuses them."""

    def make() -> PettingZooEnv:
        return PettingZooEnv(module_of(variant).env(episode="deal"))

    env = make()
    players = [MARLRandomDiscreteMaskedOffPolicyAlgorithm(action_space=env.action_space) for _ in env.agents]
    seats = MultiAgentOffPolicyAlgorithm(algorithms=players, env=env)
    collector = Collector(seats, DummyVectorEnv([make] * 4), VectorReplayBuffer(20_000, 4))
    collector.reset()
    stats = collector.collect(n_episode=60)
    ends = collector.buffer.info[collector.buffer.done]
    assert stats.returns.shape == ends.winners.shape == (60, len(env.agents))
    assert ends.winners.any(axis=1).all()


def test_the_example_learns(example: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert_it_learns(capsys, example["main"], decisions=30_000, deals=200)


def test_the_code_of_the_page_runs() -> None:
    run_page("Tianshou")
