"""SuperSuit: its wrappers accept our environments with the mask in the infos, and leave the mask right."""

from typing import Any

import numpy as np
import pytest
import supersuit
from pettingzoo import AECEnv

from noms_env import VARIANTS
from tests.envs.play import module_of
from tests.interop.learning import run_page

pytestmark = pytest.mark.interop

WRAPPERS: dict[str, Any] = {
    "frame_stack": lambda env: supersuit.frame_stack_v2(env, 2),
    "flatten": supersuit.flatten_v0,
    "normalize_obs": supersuit.normalize_obs_v0,
    "agent_indicator": supersuit.agent_indicator_v0,
    "dtype": lambda env: supersuit.dtype_v0(env, "float16"),
    "clip_reward": supersuit.clip_reward_v0,
}


def make_env(variant: str, **arguments: Any) -> AECEnv:
    return module_of(variant).env(episode="deal", observation="features", **arguments)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_wrapped_environments_have_right_spaces_rewards_and_masks(wrapper: str, variant: str) -> None:
    plain, env = make_env(variant, mask_in="info"), WRAPPERS[wrapper](make_env(variant, mask_in="info"))
    plain.reset(seed=2)
    env.reset(seed=2)
    rng = np.random.default_rng(1)
    for agent in env.agent_iter():
        observation, reward, *over, info = env.last()
        _, plain_reward, *plain_over, plain_info = plain.last()
        space = env.observation_space(agent)
        # `agent_indicator` marks with the highest value of all features, which its own space excludes.
        assert observation.shape == space.shape if wrapper == "agent_indicator" else space.contains(observation)
        assert reward == (np.clip(plain_reward, -1, 1) if wrapper == "clip_reward" else plain_reward)
        assert over == plain_over
        np.testing.assert_array_equal(info["action_mask"], plain_info["action_mask"])
        action = None if any(over) else int(rng.choice(np.flatnonzero(info["action_mask"])))
        plain.step(action)
        env.step(action)
    assert not plain.agents


@pytest.mark.parametrize("wrapper", sorted(set(WRAPPERS) - {"clip_reward"}))
def test_wrappers_of_observations_refuse_a_mask_in_the_observation(wrapper: str) -> None:
    with pytest.raises((AssertionError, AttributeError)):
        WRAPPERS[wrapper](make_env("down_up"))


def test_the_code_of_the_page_runs() -> None:
    run_page("SuperSuit")
