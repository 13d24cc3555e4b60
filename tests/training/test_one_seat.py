"""Features and evaluation on duplicate deals for learners of other libraries."""

from typing import Any

import numpy as np
import pytest

from noms_env import feature_layout
from noms_training.agents.registry import agent_spec
from noms_training.evaluation.comparison import compare
from noms_training.interop.one_seat import duplicate_points
from tests.training.fakes import FIRST, rules


def lowest(features: np.ndarray, mask: np.ndarray) -> np.ndarray:
    return np.asarray(mask.argmax(axis=1))


def test_the_learner_gets_the_features_of_single_deals() -> None:
    layout, rows = feature_layout("small_ships", 5, episode="deal", ranks=10), []

    def choose(features: np.ndarray, mask: np.ndarray) -> np.ndarray:
        rows.append(features)
        return lowest(features, mask)

    duplicate_points(choose, "small_ships", deals=2, seats=5, ranks=10)
    features = np.concatenate(rows)
    assert features.dtype == np.float32
    assert features.shape == (len(features), layout.n_features)
    assert (features <= layout.high).all()
    (hand,) = (part for part in layout.sections if part.name == "hand")
    assert set(features[:, hand.slice].sum(axis=1)) == set(range(2, 9)), "the last card is forced"


@pytest.mark.parametrize("options", [{}, {"seats": 3, "opponent": "thumb"}], ids=str)
@pytest.mark.parametrize("variant", ["down_up", "small_ships"])
def test_points_are_those_of_an_evaluation(variant: str, options: dict[str, Any]) -> None:
    mean, margin = duplicate_points(lowest, variant, deals=20, **options)
    opponent = agent_spec(options.get("opponent", "random"))
    expected = compare(rules(variant, options.get("seats")), FIRST, opponent, 20, names=("alone",)).estimate()
    assert mean == pytest.approx(expected.mean)
    assert margin == pytest.approx((expected.high - expected.low) / 2) != 0


def test_one_deal_and_an_illegal_action_are_refused() -> None:
    with pytest.raises(ValueError, match="deals must be at least 2"):
        duplicate_points(lowest, "down_up", deals=1)
    with pytest.raises(ValueError, match="chose action -1, which was not legal"):
        duplicate_points(lambda _, mask: np.zeros(len(mask), np.int64) - 1, "down_up", deals=2)
