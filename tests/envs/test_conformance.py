"""The environments keep PettingZoo's contract: its own tests pass, without a warning but two.

`pyproject.toml` makes every warning an error, except the two that `api_test` gives for every observation that is a dict.
"""

import random
import re
import subprocess
import sys
from functools import partial
from typing import Any

import numpy as np
import pettingzoo
import pytest
from gymnasium import spaces
from pettingzoo.test import api_test, parallel_api_test, parallel_seed_test, render_test, seed_test, state_test
from pettingzoo.utils.conversions import turn_based_aec_to_parallel

import noms_env
from noms_env import IllegalActionError
from noms_env.envs.aec import TrickTakingEnv
from noms_env.envs.gym.seat import METADATA
from tests.begin import begin
from tests.envs.play import EVERY_TABLE, Kind, make, module_of, snapshot, walk

MASK_PLACES = ("observation", "info", "both")
MAKERS = ("env", "raw_env")
OF_FOUR = [kind for kind in EVERY_TABLE if kind.seats == 4]


def build(kind: Kind, maker: str = "env", **arguments: Any) -> Any:
    return getattr(module_of(kind.variant), maker)(seats=kind.seats, **arguments)


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("kind", OF_FOUR, ids=str)
def test_the_tests_of_pettingzoo_pass(kind: Kind, maker: str, capsys: pytest.CaptureFixture[str]) -> None:
    for mask_in in MASK_PLACES:
        api_test(build(kind, maker, mask_in=mask_in), num_cycles=40)
    seed_test(lambda: build(kind, maker), num_cycles=40)
    if maker == "env":
        for mask_in in ("observation", "info"):
            parallel_api_test(build(kind, "parallel_env", mask_in=mask_in), num_cycles=40)
            parallel_seed_test(partial(build, kind, "parallel_env", mask_in=mask_in), num_cycles=20)
        # `state_test` ignores the mask, which only the wrapped environment survives.
        state_test(build(kind), turn_based_aec_to_parallel(build(kind)), num_cycles=20)
        capsys.readouterr()
        render_test(lambda render_mode: build(kind, render_mode=render_mode))
        assert capsys.readouterr().out


@pytest.mark.parametrize("kind", EVERY_TABLE, ids=str)
def test_the_api_test_passes_to_the_end_of_an_episode(kind: Kind) -> None:
    api_test(build(kind, episode="deal"), num_cycles=200)


def test_a_parallel_step_takes_only_the_action_of_the_agent_to_act() -> None:
    aec, env = (getattr(noms_env.down_up_v0, maker)(seats=3, episode="deal", hand_size=2) for maker in ("env", "parallel_env"))
    aec.reset(seed=5)
    views, _ = env.reset(seed=5)
    rng, returns = random.Random(1), dict.fromkeys(env.possible_agents, 0.0)
    while env.agents:
        (acting,) = [agent for agent, view in views.items() if view["action_mask"].any()]
        assert acting == aec.agent_selection
        action = rng.choice(np.flatnonzero(views[acting]["action_mask"]).tolist())
        aec.step(action)
        views, rewards, terminated, truncated, _ = env.step(dict.fromkeys(env.agents, 149) | {acting: action})
        assert (rewards, terminated, truncated) == (aec.rewards, aec.terminations, aec.truncations)
        for agent, view in views.items():
            np.testing.assert_array_equal(view["observation"], aec.observe(agent)["observation"])
            returns[agent] += rewards[agent]
    assert not any(view["action_mask"].any() for view in views.values())
    assert list(returns.values()) == aec.unwrapped.table.row.points[:3].tolist()


@pytest.mark.skipif(not hasattr(pettingzoo, "aec_registry"), reason="PettingZoo has no registry before 1.27")
@pytest.mark.parametrize("kind", EVERY_TABLE[::4], ids=str)
def test_a_registered_id_makes_the_same_game(kind: Kind) -> None:
    name = f"noms/{kind.variant}-v{noms_env.ENV_VERSION}"
    env = begin(pettingzoo.make("aec", name, seats=kind.seats, episode="deal"), seed=5)
    assert isinstance(env.unwrapped, TrickTakingEnv)
    assert np.array_equal(env.state(), begin(make(kind, episode="deal"), seed=5).state())


@pytest.mark.parametrize("kind", EVERY_TABLE[::4], ids=str)
def test_metadata_names_and_spaces(kind: Kind) -> None:
    env = build(kind, "raw_env")
    assert str(env) == f"{kind.variant}_v{noms_env.ENV_VERSION}"
    modes = {"render_modes": ["ansi", "human", "rgb_array"], "render_fps": 2}
    assert modes == METADATA
    assert env.metadata.items() >= {**modes, "is_parallelizable": False}.items()
    assert env.possible_agents == [f"player_{seat}" for seat in range(kind.seats)]
    vector = spaces.Box(0, 255, (noms_env.OBSERVATION_SIZE,), np.uint8)
    mask = spaces.Box(0, 1, (noms_env.NUM_ACTIONS,), np.int8)
    for agent in env.possible_agents:
        assert env.observation_space(agent) is env.observation_space(agent)
        assert env.action_space(agent) is env.action_space(agent)
        assert env.action_space(agent) == spaces.Discrete(noms_env.NUM_ACTIONS)
        assert env.observation_space(agent) == spaces.Dict({"observation": vector, "action_mask": mask})
        assert build(kind, mask_in="info").observation_space(agent) == vector
    assert env.observation_space("player_0") is not env.observation_space("player_1"), "each agent may be seeded apart"
    assert env.state_space == spaces.Box(0, 255, (noms_env.STATE_SIZE,), np.uint8)


@pytest.mark.parametrize("mask_in", MASK_PLACES)
def test_mask_in_places_the_mask_and_only_the_agent_to_act_has_ones(mask_in: str) -> None:
    env = begin(build(Kind("nonesuch", 3, {}), "raw_env", mask_in=mask_in, episode="deal"), seed=1)
    for _ in walk(env, random.Random(1), 60):
        for agent in env.possible_agents:
            observation, info = env.observe(agent), env.infos[agent]
            assert isinstance(observation, dict) == (mask_in != "info")
            assert ("action_mask" in info) == (mask_in != "observation")
            masks = [observation["action_mask"]] if mask_in != "info" else []
            masks += [info["action_mask"]] if mask_in != "observation" else []
            for mask in masks:
                assert mask.dtype == np.int8
                assert np.flatnonzero(mask).tolist() == (env.legal_actions() if agent == env.agent_selection else [])
    assert env.phase is None
    assert not any(info["action_mask"].any() for info in env.infos.values() if mask_in != "observation")


@pytest.mark.parametrize("kind", EVERY_TABLE, ids=str)
def test_an_illegal_action_is_refused_and_changes_nothing(kind: Kind) -> None:
    env = begin(make(kind), seed=3)
    seat = env.possible_agents.index(env.agent_selection)
    before = snapshot(env)
    illegal = [action for action in range(-2, 152) if action not in env.legal_actions()]
    strange: list[Any] = [None, 1.0, "pass", True, np.array([0]), np.timedelta64(74), np.timedelta64("NaT")]
    for action in [*illegal, *strange]:
        with pytest.raises(IllegalActionError, match=rf"^seat {seat} .* {re.escape(repr(action))}.*Legal in the phase "):
            env.step(action)
    assert snapshot(env) == before
    env.step(np.int64(env.legal_actions()[0]))
    env.step(np.array(env.legal_actions())[0])


def test_without_the_extra_no_pictures_are_promised() -> None:
    """In another process, since the package looks for the extra once."""
    script = """
import sys

sys.modules["resvg_py"] = None
import gymnasium
from gymnasium.error import DependencyNotInstalled
from gymnasium.utils.env_checker import check_env
from pettingzoo.test import render_test

import noms_env

makers = [lambda **named: noms_env.SeatEnv("down_up", **named), lambda **named: noms_env.SeatVectorEnv(2, "down_up", **named)]
makers += [noms_env.down_up_v0.env, noms_env.down_up_v0.raw_env]
for make in makers:
    assert "rgb_array" not in make().metadata["render_modes"]
    assert "ansi" in make().metadata["render_modes"]
    try:
        make(render_mode="rgb_array")
    except DependencyNotInstalled as error:
        print(error)
check_env(gymnasium.make("noms/down_up-v0").unwrapped)
render_test(noms_env.down_up_v0.env)
"""
    process = subprocess.run([sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    refusals = [line for line in process.stdout.splitlines() if "not installed" in line]
    assert len(refusals) == 4
    assert all(re.match(r"pictures of the table need resvg-py, .*: pip install '\.\[render\]'", line) for line in refusals)


@pytest.mark.parametrize("maker", MAKERS)
def test_an_illegal_action_may_end_the_episode(maker: str) -> None:
    env = begin(build(EVERY_TABLE[0], maker, **({} if maker == "env" else {"illegal_action": "terminate"})), seed=3)
    expected = dict.fromkeys(env.possible_agents, 0.0) | {env.agent_selection: -1.0}
    env.step(noms_env.NUM_ACTIONS - 1)
    assert env.rewards == expected
    assert all(env.terminations.values())
    assert (env.phase, env.legal_actions()) == (None, [])
    returns = {}
    for agent in env.agent_iter():
        observation, returns[agent], *_ = env.last()
        assert not observation["action_mask"].any(), "nobody is to act any more"
        env.step(None)
    assert returns == expected


@pytest.mark.parametrize("maker", MAKERS)
def test_writing_into_a_mask_changes_nothing_else(maker: str) -> None:
    env = begin(getattr(noms_env.down_up_v0, maker)(mask_in="both" if maker == "raw_env" else "observation"), seed=3)
    agent, observation = env.agent_selection, env.last()[0]
    legal = np.flatnonzero(observation["action_mask"])
    observation["action_mask"][:] = 0
    observation["observation"][:] = 0
    assert np.array_equal(np.flatnonzero(env.observe(agent)["action_mask"]), legal)
    assert env.observe(agent)["observation"].any()
    if maker == "raw_env":
        assert np.array_equal(np.flatnonzero(env.infos[agent]["action_mask"]), legal)
    env.last()[0]["action_mask"][:] = 0
    env.step(int(legal[0]))
    assert not any(env.terminations.values())


def test_the_wrapped_environment_refuses_illegal_action() -> None:
    with pytest.raises(ValueError, match="illegal_action is an argument of raw_env"):
        noms_env.down_up_v0.env(illegal_action="raise")  # type: ignore[call-arg]


def test_words_and_numbers_of_actions_fit() -> None:
    env = begin(make(Kind("small_ships", 4, {})), seed=0)
    for action in env.legal_actions():
        assert env.str_to_action(env.action_to_str(action)) == action
    assert (env.str_to_action("QS", phase="play"), env.str_to_action("QS", phase="nominate")) == (49, 147)
    for word, phase in (("QS", None), ("AS", "")):
        with pytest.raises(ValueError, match="phase"):
            env.str_to_action(word, phase)
    strange: tuple[Any, ...] = (1.5, True, None, 150, 57)
    for number in strange:
        with pytest.raises(ValueError, match=str(number)):
            env.action_to_str(number)
