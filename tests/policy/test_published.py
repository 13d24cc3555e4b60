"""The policies that come with the package answer as when they were published."""

import numpy as np
import pytest

import noms_env
from noms_env.policy.encoding import make_encoding
from noms_env.policy.player import PolicyPlayer, load_policy
from noms_env.variants import GAMES, make_rules
from tests.begun import begun

ANSWERS = {
    ("sniped_whist", 4): [0.342728, 0.940002, 0.812843, 0.435739, 0.606168, 0.777830, 0.780348, 0.980783, 0.910539, 0.995673],
    ("sniped_whist", 6): [0.791279, 0.887083, 0.903772, 0.510931, 0.954630, 0.602627, 0.982869, 0.610529, 0.800169, 0.499744],
    ("big_ships", 4): [0.846842, 0.534372, 0.663450, 0.632178, 0.772840, 0.898321, 0.903945, 0.541677, 0.946964, 0.219135],
    ("big_ships", 7): [0.926020, 0.993580, 0.595266, 0.878881, 0.884897, 0.883559, 0.622928, 0.284154, 0.645348, 0.875216],
    ("small_ships", 4): [0.851685, 0.834237, 0.962313, 0.607496, 0.788879, 0.777463, 0.996621, 0.980626, 0.977119, 0.976051],
    ("small_ships", 5): [0.513040, 0.951474, 0.992058, 0.895706, 0.836877, 0.998440, 0.953503, 0.998457, 0.992652, 0.961096],
    ("noms", 4): [0.603623, 0.915207, 0.906741, 0.712388, 0.930410, 0.879182, 0.855173, 0.923593, 0.672422, 0.693453],
    ("nonesuch", 4): [0.996430, 0.852198, 0.970391, 0.553191, 0.716646, 0.559113, 0.552952, 0.281726, 0.862558, 0.700090],
    ("nonesuch", 3): [0.883757, 0.919025, 0.794778, 0.653272, 0.807236, 0.958012, 0.453687, 0.851999, 0.321127, 0.815212],
    ("down_up", 4): [0.588354, 0.848489, 0.718943, 0.947820, 0.441356, 0.601025, 0.624644, 0.950085, 0.586238, 0.547963],
    ("down_up", 3): [0.717859, 0.713180, 0.930803, 0.315269, 0.972694, 0.436702, 0.537794, 0.913774, 0.714077, 0.976229],
    ("up_down", 4): [0.922140, 0.998622, 0.946092, 0.996077, 0.983723, 0.979338, 0.947325, 0.950704, 0.998797, 0.996847],
}
"""Per game and seats, the highest probability (temperature 4) of the first 10 decisions of a match in which it is always
taken."""


OF_BOTH_AUCTIONS = [0.975842, 0.954838, 0.977466, 0.975176, 0.402717, 0.815691, 0.791710, 0.998002, 0.995677, 0.995862]
"""The same of the policy `small_ships`, which was trained for noms too, in noms."""


@pytest.mark.parametrize(("variant", "seats"), ANSWERS)
def test_a_published_policy_answers_as_ever(variant: str, seats: int) -> None:
    assert_answers(load_policy(variant), variant, seats, ANSWERS[variant, seats])


def assert_answers(player: PolicyPlayer, variant: str, seats: int, expected: list[float]) -> None:
    batch = begun(noms_env.make_batch(variant, tables=1, seats=seats, seed=3, skip_forced=True))
    found = []
    for _ in expected:
        batch.observe()
        chances = player.probabilities(batch.observation, batch.mask, temperature=4)
        found.append(chances.max())
        batch.step(chances.argmax(axis=1))
    np.testing.assert_allclose(found, expected, atol=2e-6)


def test_a_policy_of_several_games_answers_as_ever_where_a_game_has_got_an_option_of_another() -> None:
    assert_answers(load_policy("small_ships"), "noms", 4, OF_BOTH_AUCTIONS)


def test_an_option_declared_later_is_no_feature_of_an_older_policy() -> None:
    tables = [make_rules(GAMES[name]) for name in ("down_up", "big_ships")]
    now, before = make_encoding(tables), make_encoding(tables, options=("start_cards", "hook"))
    assert {"start_cards", "hook", "bonus"} < set(now.options)
    assert before.options == ("start_cards", "hook")
    assert now.n_features - before.n_features == len(now.options) - 2
    places = now.places_of(before)
    assert (now.index[:, places] == before.index).all()
    with pytest.raises(ValueError, match="these features are missing: bonus, direction"):
        before.places_of(now)
