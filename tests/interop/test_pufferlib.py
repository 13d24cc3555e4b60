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


BACKENDS = {
    "one process": ({"backend": pufferlib.vector.Serial}, (0, 1, 2, 3)),
    # PufferLib gives each process the next seed, whatever its number of tables.
    "two processes": ({"backend": pufferlib.vector.Multiprocessing, "num_workers": 2}, (0, 1, 1, 2)),
}


@pytest.mark.parametrize("backend", BACKENDS)
def test_it_shows_the_same_as_the_environments(example: dict[str, Any], backend: str) -> None:
    arguments, seeds = BACKENDS[backend]
    envs = pufferlib.vector.make(example["make_seat"], num_envs=ROWS, **arguments)
    tables = [SeatEnv("down_up", **example["TABLE_ARGUMENTS"]) for _ in range(ROWS)]
    expected = [table.reset(seed=SEED + seed)[0] for table, seed in zip(tables, seeds, strict=True)]
    form, n_features = envs.emulated["emulated_observation_dtype"], feature_layout("down_up", episode="deal").n_features
    rng, was_over, deals = np.random.default_rng(1), [False] * ROWS, 0
    try:
        rows, _ = envs.reset(SEED)
        for _ in range(STEPS):
            observations, masks = example["unpack"](rows, form)
            assert (observations.shape, masks.shape) == ((ROWS, n_features), (ROWS, NUM_ACTIONS))
            for observation, mask, seen in zip(observations, masks, expected, strict=True):
                assert_seen({"observation": observation, "action_mask": mask}, seen)
            actions = np.array([rng.choice(np.flatnonzero(mask)) if mask.any() else 0 for mask in masks], np.int32)
            rows, rewards, terminals, truncations, _ = envs.step(actions)
            for row, table in enumerate(tables):
                if was_over[row]:  # the step after the end starts the next deal
                    expected[row], reward, terminated = table.reset()[0], 0.0, False
                else:
                    expected[row], reward, terminated, _, _ = table.step(int(actions[row]))
                assert rewards[row] == pytest.approx(reward)
                assert (terminals | truncations)[row] == terminated
                was_over[row], deals = terminated, deals + terminated
    finally:
        envs.close()
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
