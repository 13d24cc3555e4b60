"""What learners of other libraries are given: features of observations, and a measurement on duplicate deals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from noms_env import IllegalActionError, SeatEnv, SeatVectorEnv, Table
from noms_env.policy.encoding import make_encoding, write_features
from training.interop.one_seat import Features, duplicate_points

VARIANTS = ("down_up", "small_ships")
WAYS: dict[str, dict[str, Any]] = {"usual": {}, "three seats by rule of thumb": {"seats": 3, "opponents": "thumb"}}


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


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_points_are_those_of_each_deal_from_every_seat(variant: str, way: str) -> None:
    env, deals = SeatEnv(variant, reward="relative", **WAYS[way]), 5
    scores = np.zeros((deals, env.table.seats))
    for deal, seat in np.ndindex(scores.shape):
        seen, _ = env.reset(seed=40 + deal, options={"seat": seat})
        is_over = False
        while not is_over:
            seen, reward, is_over, _, _ = env.step(int(seen["action_mask"].argmax()))
            scores[deal, seat] += reward
    means = scores.mean(axis=1)
    mean, margin = duplicate_points(lowest, variant, deals=deals, seed=40, **WAYS[way])
    assert mean == pytest.approx(means.mean())
    assert margin == pytest.approx(1.96 * math.sqrt(means.var(ddof=1) / deals))
    assert margin > 0


def test_whoever_plays_as_the_others_do_gets_nothing_more() -> None:
    rng = np.random.default_rng(1)
    mean, margin = duplicate_points(lambda _, mask: (rng.random(mask.shape) * mask).argmax(axis=1), "down_up", deals=300)
    assert abs(mean) < 2 * margin < 2


def test_refusals() -> None:
    with pytest.raises(ValueError, match="an interval takes at least 2 deals, not 1"):
        duplicate_points(lowest, "down_up", deals=1)
    with pytest.raises(IllegalActionError):
        duplicate_points(lambda _, mask: np.zeros(len(mask), np.int64) - 1, "down_up", deals=2)
