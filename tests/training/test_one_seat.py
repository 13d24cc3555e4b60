"""What learners of other libraries are given: features, and a measurement on duplicate deals."""

from typing import Any

import numpy as np
import pytest

from noms_env import feature_layout
from noms_env.variants import game, make_rules
from noms_training.agents.registry import agent_spec
from noms_training.evaluation.comparison import compare
from noms_training.interop.one_seat import duplicate_points
from tests.training.fakes import FIRST

VARIANTS = ("down_up", "small_ships")


def lowest(features: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """The legal action with the lowest number, in each row."""
    return np.asarray(mask.argmax(axis=1))


def test_the_learner_is_given_the_features_of_single_deals() -> None:
    layout, seen = feature_layout("small_ships", 5, episode="deal", ranks=10), []

    def choose(features: np.ndarray, mask: np.ndarray) -> np.ndarray:
        seen.append(features)
        return lowest(features, mask)

    duplicate_points(choose, "small_ships", deals=2, seats=5, ranks=10)
    features = np.concatenate(seen)
    assert features.dtype == np.float32
    assert features.shape == (len(features), layout.n_features)
    assert (features <= layout.high).all()
    (hand,) = (part for part in layout.sections if part.name == "hand")
    assert set(features[:, hand.slice].sum(axis=1)) == set(range(2, 9)), "the last card is forced"


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
    with pytest.raises(ValueError, match="deals must be at least 2, for an interval, not 1"):
        duplicate_points(lowest, "down_up", deals=1)
    with pytest.raises(ValueError, match="chose action -1, which was not legal"):
        duplicate_points(lambda _, mask: np.zeros(len(mask), np.int64) - 1, "down_up", deals=2)
