"""PufferLib's emulation shows the same as our environments, and the example learns."""

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pufferlib.emulation
import pufferlib.vector
import pytest
import torch

from noms_env import NUM_ACTIONS, SeatEnv, feature_layout
from tests.interop.learning import assert_it_learns, assert_seen, run_page

pytestmark = pytest.mark.interop

EXAMPLE = Path(__file__).parents[2] / "examples" / "pufferlib_ppo.py"
ROWS, STEPS, SEED = 4, 60, 5


@pytest.fixture
def example() -> dict[str, Any]:
    return runpy.run_path(str(EXAMPLE))


def play_random(example: dict[str, Any], **arguments: Any) -> tuple[list[np.ndarray], np.ndarray, np.ndarray, np.ndarray]:
    """Play random legal actions; return the rows, the actions, the rewards, and which deals ended, per step."""
    envs = pufferlib.vector.make(example["make_seat"], num_envs=ROWS, **arguments)
    form, rng = envs.emulated["emulated_observation_dtype"], np.random.default_rng(1)
    try:
        rows, _ = envs.reset(SEED)
        all_rows, actions, rewards, over = [rows.copy()], [], [], []
        for _ in range(STEPS):
            _, masks = example["unpack"](rows, form)
            legal = [np.flatnonzero(mask) if mask.any() else np.zeros(1, int) for mask in masks]
            actions.append(np.array([rng.choice(choices) for choices in legal], np.int32))
            rows, reward, terminals, truncations, _ = envs.step(actions[-1])
            all_rows.append(rows.copy())
            rewards.append(reward.copy())
            over.append(terminals | truncations)
    finally:
        envs.close()
    return all_rows, np.array(actions), np.array(rewards), np.array(over)


BACKENDS = {
    "one process": ({"backend": pufferlib.vector.Serial}, (0, 1, 2, 3)),
    # PufferLib gives each process the next seed, whatever its number of tables.
    "two processes": ({"backend": pufferlib.vector.Multiprocessing, "num_workers": 2}, (0, 1, 1, 2)),
}


@pytest.mark.parametrize("backend", BACKENDS)
def test_it_shows_the_same_as_the_environments(example: dict[str, Any], backend: str) -> None:
    arguments, seeds = BACKENDS[backend]
    all_rows, actions, rewards, over = play_random(example, **arguments)
    form, n_features = example["make_seat"]().obs_dtype, feature_layout("down_up", episode="deal").n_features
    deals = 0

    def parts(step: int, row: int) -> dict[str, np.ndarray]:
        observations, masks = example["unpack"](all_rows[step], form)
        assert (observations.shape, masks.shape) == ((ROWS, n_features), (ROWS, NUM_ACTIONS))
        return {"observation": observations[row], "action_mask": masks[row]}

    for row in range(ROWS):
        env = SeatEnv("down_up", **example["TABLE_ARGUMENTS"])
        seen, _ = env.reset(seed=SEED + seeds[row])
        was_over = False
        for step in range(STEPS):
            assert_seen(parts(step, row), seen)
            if was_over:  # the step after the end starts the next deal
                seen, reward, terminated = env.reset()[0], 0.0, False
            else:
                seen, reward, terminated, _, _ = env.step(int(actions[step, row]))
            assert rewards[step, row] == pytest.approx(reward)
            assert over[step, row] == terminated
            was_over, deals = terminated, deals + terminated
        assert_seen(parts(STEPS, row), seen)
    assert deals > ROWS


def test_the_learner_obeys_the_mask(example: dict[str, Any]) -> None:
    torch.manual_seed(1)
    agent, envs = example["Agent"](), example["make_tables"](ROWS)  # an illegal action raises
    example["train"](agent, envs, ROWS * 32 * 3, SEED)
    env = SeatEnv(example["GAME"], observation="features")
    seen, _ = env.reset(seed=1)
    mask = torch.from_numpy(seen["action_mask"])
    with torch.no_grad():
        chances = agent.policy(torch.from_numpy(seen["observation"]), mask).probs
    assert (chances[mask == 0] == 0).all()
    assert (chances[mask != 0] > 0).all()


def test_training_is_deterministic_by_seed(example: dict[str, Any]) -> None:
    def train(seed: int) -> torch.Tensor:
        torch.manual_seed(seed)
        agent = example["Agent"]()
        example["train"](agent, example["make_tables"](2), 128, seed)
        return torch.cat([parameter.detach().flatten() for parameter in agent.parameters()])

    weights = train(1)
    assert torch.isfinite(weights).all()
    assert torch.equal(weights, train(1))
    assert not torch.equal(weights, train(2))


def test_the_example_learns(example: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert_it_learns(capsys, example["main"], tables=64, decisions=40_000, deals=200)


def test_the_code_of_the_page_runs() -> None:
    run_page("PufferLib")
