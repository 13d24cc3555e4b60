"""What learners of other libraries are given: features of observations, and a measurement on duplicate deals."""

from typing import Any

import numpy as np
import pytest
import torch

from noms_env import SeatVectorEnv, Table
from noms_env.policy.encoding import make_encoding, write_features
from noms_env.variants import game, make_rules
from tests.training.fakes import FIRST
from training.agents.registry import agent_spec
from training.evaluation.comparison import compare
from training.interop.one_seat import Features, duplicate_points

VARIANTS = ("down_up", "small_ships")


def lowest(observation: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """The legal action with the lowest number, in each row."""
    return np.asarray(mask.argmax(axis=1))


@pytest.mark.parametrize("variant", VARIANTS)
def test_features_are_those_of_the_policies(variant: str) -> None:
    envs, encoding = SeatVectorEnv(16, variant), make_encoding([Table(variant).rules])
    seen, _ = envs.reset(seed=1)
    for _ in range(12):
        seen, *_ = envs.step(lowest(seen["observation"], seen["action_mask"]))
    rows = np.arange(16)
    expected = np.empty((16, encoding.n_features), np.uint8)
    write_features(seen["observation"], rows, np.zeros(16, np.int64), encoding.index, encoding.value, expected)
    features = Features(Table(variant).rules)
    assert features.n_features == encoding.n_features
    for given in (torch.from_numpy(seen["observation"]), torch.from_numpy(seen["observation"]).float()):
        got = features(given)
        assert got.dtype == torch.float32
        assert np.array_equal(got.numpy(), expected * encoding.scale)
    assert (expected != 0).sum() > 16
    assert torch.equal(features(torch.from_numpy(seen["observation"]).view(4, 4, -1)), got.view(4, 4, -1))


@pytest.mark.parametrize("way", [{}, {"seats": 3, "opponent": "thumb"}], ids=str)
@pytest.mark.parametrize("variant", VARIANTS)
def test_points_are_those_of_an_evaluation(variant: str, way: dict[str, Any]) -> None:
    mean, margin = duplicate_points(lowest, variant, deals=20, **way)
    rules = make_rules(game(variant), way.get("seats"))
    found = compare(rules, FIRST, agent_spec(way.get("opponent", "random")), 20, names=("alone",)).estimate()
    assert mean == pytest.approx(found.mean)
    assert margin == pytest.approx((found.high - found.low) / 2) != 0


def test_whoever_plays_as_the_others_do_gets_nothing_more() -> None:
    rng = np.random.default_rng(1)
    mean, margin = duplicate_points(lambda _, mask: (rng.random(mask.shape) * mask).argmax(axis=1), "down_up", deals=300)
    assert abs(mean) < 2 * margin < 2


def test_refusals() -> None:
    with pytest.raises(ValueError, match="an interval takes at least 2 deals, not 1"):
        duplicate_points(lowest, "down_up", deals=1)
    with pytest.raises(ValueError, match="chose action -1, which was not legal"):
        duplicate_points(lambda _, mask: np.zeros(len(mask), np.int64) - 1, "down_up", deals=2)
