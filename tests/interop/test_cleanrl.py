"""PPO in one file, `examples/cleanrl_ppo.py`: its advantages are right, and it learns. It needs only torch."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import noms_env
from noms_training.agents.table_pool import relative_points
from noms_training.learn import gae
from tests.interop.learning import assert_it_learns, load_script

EXAMPLE = Path(__file__).parents[2] / "examples" / "cleanrl_ppo.py"


@pytest.fixture(scope="module")
def ppo() -> Any:
    return load_script(EXAMPLE)


@pytest.mark.parametrize(("variant", "seats"), [("down_up", 4), ("small_ships", 6), ("nonesuch", 3)])
def test_advantages_equal_those_of_the_trainer(ppo: Any, variant: str, seats: int) -> None:
    torch.manual_seed(0)
    batch = noms_env.make_batch(variant, 24, seats=seats, episode="deal", observation="features", skip_forced=True)
    steps = ppo.play_deals(ppo.Agent(batch.feature_layout, 16), batch)
    table, seat, value = (torch.cat([getattr(step, name) for step in steps]) for name in ("table", "seat", "value"))
    reward = torch.from_numpy(ppo.relative_points(batch)).float()
    assert reward.shape == (24, seats)
    np.testing.assert_allclose(reward.sum(dim=1), 0, atol=1e-4)
    points = batch.tables.points
    np.testing.assert_allclose(reward, relative_points(points, np.full(24, seats))[:, :seats], atol=1e-5)
    for weight in (0.0, 0.9, 1.0):
        expected = gae.gae(table, seat, value, reward, weight)
        np.testing.assert_allclose(ppo.advantages(steps, reward, weight), expected, atol=1e-4)
    np.testing.assert_allclose(ppo.advantages(steps, reward, 1.0), reward[table, seat] - value, atol=1e-4)


def test_it_learns(ppo: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = "--total-decisions 20000 --num-tables 128 --width 32 --eval-deals 200 --minibatch-size 256"
    args = ppo.tyro.cli(ppo.Args, args=[*arguments.split(), "--tensorboard", str(tmp_path)])
    lines = assert_it_learns(capsys, ppo.main, args)
    assert lines[-1] == "It beats random players."
    (curves,) = tmp_path.glob("events.out.tfevents.*")
    assert curves.stat().st_size > 1000
