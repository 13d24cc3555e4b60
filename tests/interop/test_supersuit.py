"""SuperSuit: its wrappers take our environments where the mask is in the infos, and the mask still fits."""

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


def made(variant: str, **arguments: Any) -> AECEnv:
    return module_of(variant).env(episode="deal", observation="features", **arguments)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_wrappers_change_what_they_should_and_the_mask_fits(wrapper: str, variant: str) -> None:
    plain, env = made(variant, mask_in="info"), WRAPPERS[wrapper](made(variant, mask_in="info"))
    for one in (plain, env):
        one.reset(seed=2)
    rng = np.random.default_rng(1)
    for agent in env.agent_iter():
        observation, reward, termination, truncation, info = env.last()
        _, paid, *over, told = plain.last()
        space = env.observation_space(agent)
        # `agent_indicator` marks with the highest value of all features, for which its own space has no room.
        assert observation.shape == space.shape if wrapper == "agent_indicator" else space.contains(observation)
        assert (reward, [termination, truncation]) == (np.clip(paid, -1, 1) if wrapper == "clip_reward" else paid, over)
        np.testing.assert_array_equal(info["action_mask"], told["action_mask"])
        done = termination or truncation
        action = None if done else int(rng.choice(np.flatnonzero(info["action_mask"])))
        for one in (plain, env):
            one.step(action)
    assert not plain.agents


@pytest.mark.parametrize("wrapper", sorted(set(WRAPPERS) - {"clip_reward"}))
def test_wrappers_of_observations_refuse_a_mask_in_the_observation(wrapper: str) -> None:
    with pytest.raises((AssertionError, AttributeError)):
        WRAPPERS[wrapper](made("down_up"))


def test_the_code_of_the_page_runs() -> None:
    run_page("SuperSuit")
