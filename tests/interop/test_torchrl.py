"""TorchRL sees the same as our environments, of one seat or all, and obeys the masks; the example learns."""

import runpy
from pathlib import Path

import numpy as np
import pytest
import torch
from torchrl.envs import ActionMask, GymWrapper, MarlGroupMapType, PettingZooWrapper, TransformedEnv
from torchrl.envs.utils import check_env_specs

from noms_env import SeatVectorEnv, down_up_v0
from tests.envs.play import WAYS
from tests.interop.learning import assert_it_learns, assert_seen, run_page

pytestmark = [
    pytest.mark.interop,
    pytest.mark.filterwarnings("ignore:Creating .* which inherits from WeightUpdaterBase:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:PettingZoo in TorchRL is tested using version:UserWarning"),
]

EXAMPLE = Path(__file__).parents[2] / "examples" / "torchrl_ppo.py"
ROWS, STEPS, SEED = 8, 30, 5


def make_envs(way: str) -> SeatVectorEnv:
    return SeatVectorEnv(ROWS, "down_up", autoreset_mode="Disabled", **WAYS[way])


@pytest.mark.parametrize("way", WAYS)
def test_a_rollout_has_the_steps_of_the_environments(way: str) -> None:
    env = TransformedEnv(GymWrapper(make_envs(way), categorical_action_encoding=True), ActionMask())
    env.set_seed(SEED)
    torch.manual_seed(1)
    rollout = env.rollout(STEPS, break_when_any_done=False)
    envs = make_envs(way)
    envs.reset(seed=SEED)
    seen, _ = envs.reset()  # `set_seed` resets, and so does `rollout`
    ends = 0
    for step in rollout.unbind(1):
        assert_seen(step, seen)
        seen, rewards, terminated, truncated, _ = envs.step(step["action"].numpy())
        assert_seen(step["next"], seen)
        assert np.array_equal(step["next", "reward"][:, 0].numpy(), rewards.astype(np.float32))
        assert np.array_equal(step["next", "terminated"][:, 0].numpy(), terminated)
        assert np.array_equal(step["next", "truncated"][:, 0].numpy(), truncated)
        over = terminated | truncated
        ends += int(over.sum())
        if over.any():
            seen, _ = envs.reset(options={"reset_mask": over})
    assert ends > 0 or way == "a match"


def test_the_specs_are_right() -> None:
    # The check continues after the end of a deal, where nothing is legal: no `ActionMask`, and illegal actions end the deal.
    envs = SeatVectorEnv(ROWS, "down_up", autoreset_mode="Disabled", illegal_action="terminate")
    check_env_specs(GymWrapper(envs, categorical_action_encoding=True))


def test_all_seats_play_through_pettingzoo() -> None:
    aec = down_up_v0.env(episode="deal")
    env = PettingZooWrapper(aec, use_mask=True, group_map=MarlGroupMapType.ALL_IN_ONE_GROUP, categorical_actions=True, seed=3)
    torch.manual_seed(1)
    for _ in range(5):
        rollout = env.rollout(200)
        seats = rollout["agents"]
        is_legal = seats["action_mask"].gather(-1, seats["action"].unsqueeze(-1)).squeeze(-1)
        assert is_legal[seats["mask"]].all()
        assert (seats["mask"].sum(dim=1) == 1).all(), "one seat acts"
        assert rollout["next", "done"][-1].all()
        table = aec.unwrapped.table
        returns = rollout["next", "agents", "reward"].sum(dim=0).squeeze(-1)
        assert returns.tolist() == table.row.points[: table.seats].tolist()


def test_the_policy_of_the_example_obeys_the_mask() -> None:
    example = runpy.run_path(str(EXAMPLE))
    torch.manual_seed(1)
    actor, _ = example["make_policy"]()
    with torch.no_grad():  # at these tables an illegal action raises
        rollout = example["make_env"](ROWS, SEED).rollout(STEPS, actor, break_when_any_done=False)
    assert rollout["next", "done"].any()
    assert rollout["action_mask"].gather(-1, rollout["action"].unsqueeze(-1)).all()


def test_the_example_learns(capsys: pytest.CaptureFixture[str]) -> None:
    assert_it_learns(capsys, runpy.run_path(str(EXAMPLE))["main"], tables=256, decisions=60_000, deals=200)


def test_the_code_of_the_page_runs() -> None:
    run_page("TorchRL")
