"""AgileRL: its learners for one seat and for all seats obey the masks in the infos; the page about it runs."""

import warnings
from functools import partial
from typing import Any

import numpy as np
import pytest
from pettingzoo.utils.conversions import turn_based_aec_to_parallel

from noms_env import SeatVectorEnv, down_up_v0
from tests.interop.learning import run_page

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # AgileRL uses its own deprecated functions
    from agilerl.algorithms import IPPO, MADDPG, MATD3, PPO
    from agilerl.components.replay_buffer import ReplayBuffer
    from agilerl.training.train_multi_agent_off_policy import train_multi_agent_off_policy
    from agilerl.training.train_on_policy import train_on_policy
    from agilerl.vector.pz_async_vec_env import AsyncPettingZooVecEnv

pytestmark = [
    pytest.mark.interop,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:TensorDict.to_module:FutureWarning"),
]

GAME: dict[str, Any] = {"episode": "deal", "observation": "features", "mask_in": "info", "reward": "relative"}
FEW: dict[str, Any] = {"max_steps": 256, "evo_steps": 128, "eval_steps": 50, "verbose": False}


def make_env() -> Any:
    """Return the parallel form of the raw environment, which refuses illegal actions."""
    return turn_based_aec_to_parallel(down_up_v0.raw_env(**GAME))


def make_learner(kind: Any, **arguments: Any) -> Any:
    """Return a learner for all seats."""
    env = make_env()
    spaces = [[space(agent) for agent in env.possible_agents] for space in (env.observation_space, env.action_space)]
    return kind(*spaces, agent_ids=env.possible_agents, batch_size=64, **arguments)


@pytest.mark.parametrize(("kind", "as_lists"), [(MADDPG, False), (MATD3, False), (IPPO, True)])
def test_learners_of_all_seats_choose_legal_actions(kind: Any, as_lists: bool) -> None:
    learner, env = make_learner(kind), make_env()
    for seed in range(3):
        observations, infos = env.reset(seed=seed)
        while env.agents:
            if as_lists:
                infos = {agent: {"action_mask": info["action_mask"].tolist()} for agent, info in infos.items()}
            answers = learner.get_action(observations, infos=infos)[0]
            actions = {agent: int(np.asarray(action).item()) for agent, action in answers.items()}
            observations, rewards, *_, infos = env.step(actions)
        assert sum(rewards.values()) == pytest.approx(0)
        assert any(rewards.values())


def test_ippo_refuses_masks_that_are_arrays() -> None:
    """The page says so, and can be shorter once this test fails."""
    observations, infos = make_env().reset(seed=1)
    with pytest.raises(ValueError, match="truth value of an array"):
        make_learner(IPPO).get_action(observations, infos=infos)


def test_the_trainer_of_all_seats_obeys_the_masks() -> None:
    envs = AsyncPettingZooVecEnv([make_env, make_env])
    learner = make_learner(MADDPG, vect_noise_dim=2)
    memory = ReplayBuffer(1000)
    train_multi_agent_off_policy(envs, "down_up", "MADDPG", [learner], memory=memory, sum_scores=False, **FEW)
    assert len(memory) >= 128


def test_the_trainer_of_one_seat_obeys_the_masks() -> None:
    make = partial(SeatVectorEnv, 8, "down_up", mask_in="info", autoreset_mode="SameStep")  # an illegal action raises
    envs = make()
    learner = PPO(envs.single_observation_space, envs.single_action_space, num_envs=8, learn_step=64, batch_size=32)
    train_on_policy(envs, "down_up", "PPO", [learner], **FEW)


def test_the_code_of_the_page_runs() -> None:
    run_page("AgileRL")
