"""Published policies never change their answers."""

import copy
import pickle

import numpy as np
import pytest

import noms_env
from noms_env.policy.encoding import make_encoding
from noms_env.policy.player import load_policy
from noms_env.variants import GAMES, make_rules
from tests.begin import begin

ANSWERS = {
    ("sniped_whist", 4): [0.372362, 0.453184, 0.868697, 0.924193, 0.413844, 0.880732, 0.814752, 0.319769, 0.523132, 0.316648],
    ("sniped_whist", 6): [0.823484, 0.925243, 0.847323, 0.350853, 0.815298, 0.296915, 0.985499, 0.565485, 0.690803, 0.520872],
    ("big_ships", 4): [0.312304, 0.176205, 0.190302, 0.272034, 0.308258, 0.417029, 0.564405, 0.259761, 0.242044, 0.187954],
    ("big_ships", 7): [0.424948, 0.454648, 0.305690, 0.394549, 0.428010, 0.443509, 0.377852, 0.212956, 0.397482, 0.649305],
    ("small_ships", 4): [0.205403, 0.453383, 0.728504, 0.735440, 0.434997, 0.633875, 0.145721, 0.224486, 0.187161, 0.540201],
    ("small_ships", 5): [0.319452, 0.530835, 0.694511, 0.740599, 0.547398, 0.779213, 0.753526, 0.802055, 0.842671, 0.568253],
    ("noms", 4): [0.359309, 0.378068, 0.418160, 0.344726, 0.480299, 0.443686, 0.414516, 0.411818, 0.132057, 0.462399],
    ("nonesuch", 4): [0.708457, 0.654352, 0.713031, 0.598851, 0.816988, 0.218070, 0.522440, 0.713945, 0.590965, 0.620404],
    ("nonesuch", 3): [0.751891, 0.673717, 0.742007, 0.559971, 0.395900, 0.182902, 0.728258, 0.149001, 0.716307, 0.476529],
    ("down_up", 4): [0.245466, 0.319915, 0.269702, 0.204626, 0.238983, 0.283884, 0.508152, 0.822892, 0.265178, 0.370783],
    ("down_up", 3): [0.266707, 0.257815, 0.179705, 0.193552, 0.361681, 0.716165, 0.166656, 0.443706, 0.283380, 0.244154],
    ("up_down", 4): [0.643468, 0.711771, 0.707467, 0.782370, 0.668692, 0.614214, 0.611762, 0.669016, 0.969650, 0.915934],
}
"""The highest probability (temperature 4) at each of the first 10 decisions of a match in which it is always taken."""


@pytest.mark.parametrize(("variant", "seats"), ANSWERS)
def test_a_published_policy_never_changes_its_answers(variant: str, seats: int) -> None:
    player, highest = load_policy(variant), []
    batch = begin(noms_env.make_batch(variant, tables=1, seats=seats, seed=3, skip_forced=True))
    for _ in range(10):
        batch.observe()
        probabilities = player.probabilities(batch.observation, batch.mask, temperature=4)
        highest.append(probabilities.max())
        batch.step(probabilities.argmax(axis=1))
    np.testing.assert_allclose(highest, ANSWERS[variant, seats], atol=2e-6)


def test_an_older_policy_has_no_feature_for_a_later_option() -> None:
    tables = [make_rules(GAMES[name]) for name in ("down_up", "big_ships")]
    now, before = make_encoding(tables), make_encoding(tables, options=("start_cards", "hook"))
    assert {"start_cards", "hook", "bonus"} < set(now.options)
    assert before.options == ("start_cards", "hook")
    assert now.n_features - before.n_features == len(now.options) - 2
    places = now.places_of(before)
    assert (now.index[:, places] == before.index).all()
    with pytest.raises(ValueError, match="missing: bonus, direction"):
        before.places_of(now)


@pytest.mark.parametrize("name", ["noms", "exact_bid"])
def test_a_copy_or_pickle_of_a_policy_has_its_answers(name: str) -> None:
    policy = load_policy(name)
    batch = begin(noms_env.make_batch(policy.rule_sets[0].variant.name, 4, seats=policy.rule_sets[0].seats))
    batch.observe()
    for twin in (copy.deepcopy(policy), pickle.loads(pickle.dumps(policy))):
        assert twin.rule_sets == policy.rule_sets
        probabilities = [each.probabilities(batch.observation, batch.mask) for each in (policy, twin)]
        assert (probabilities[0] == probabilities[1]).all()
        noms_env.SeatEnv(twin.rule_sets[0].variant.name, seats=twin.rule_sets[0].seats, opponents=twin).reset(seed=1)
