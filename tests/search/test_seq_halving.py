"""What a search tries, in how many worlds, and the policy that follows from what it finds."""

import numpy as np
import pytest

from noms_env.core.actions import NUM_ACTIONS
from noms_env.engine.row_kernels import kernel_view
from noms_env.search.endgame.position import units
from noms_env.search.rollouts import candidates_of
from noms_env.search.seq_halving import LEAST_SHARE, Findings, Rounds
from tests.variants.table_help import play, table_with


def test_of_cards_that_come_to_the_same_one_is_tried() -> None:
    """The most probable of them is played, and their probabilities count together; see also `tests.search`."""
    table = table_with("sniped_whist", ["7C 2D", "5C 6C 8C 9C JC KC AC"], seats=4, dealer=3)
    play(table, "7C")
    chances = np.zeros(NUM_ACTIONS, np.float32)
    hand = [card for card in range(52) if table.legal_actions().count(card)]
    chances[hand] = [0.1, 0.2, 0.15, 0.05, 0.3, 0.05, 0.15]
    actions, shares, members = candidates_of(kernel_view(table._rows), 0, chances)
    assert [table.word(int(action)) for action in actions] == ["5C", "8C", "JC", "KC"]
    assert shares == pytest.approx([0.3, 0.2, 0.3, 0.2])
    assert [table.word(int(action)) for action in members] == ["6C", "8C", "JC", "AC"]


def test_of_many_cards_to_nominate_some_are_tried() -> None:
    """Those that `pimc` would try, and those that the policy finds probable."""
    table = table_with("small_ships", ["AC KC JC 2C 2D 5H 3S"], seats=5, dealer=4)
    play(table, "8 pass pass pass pass C")
    few = candidates_of(kernel_view(table._rows), 0, np.zeros(NUM_ACTIONS, np.float32))[0]
    left = next(action for action in table.legal_actions() if action not in few)
    chances = np.zeros(NUM_ACTIONS, np.float32)
    chances[left] = 0.01
    assert sorted([*few, left]) == candidates_of(kernel_view(table._rows), 0, chances)[0].tolist()
    assert len(few) < 17


def findings(shares: list[float], values: list[list[int]], temperature: float = 0.5) -> Findings:
    """What was found out about actions 0, 1, ... with these probabilities, in points, at a table of three."""
    actions = np.arange(len(shares))
    found = Findings(0, 99, (actions, np.array(shares), actions + 10), 3, temperature, Rounds(10_000, False))
    for row in values:
        found.add(np.array([row]) * units(3))
    return found


def test_the_update_is_that_of_the_module() -> None:
    found = findings([0.6, 0.3, 0.1], [[0, 2, 1], [4, 5, 1], [1, 1, 1]])
    assert found.means == pytest.approx([5 / 3, 8 / 3, 1])
    gains, error = np.array([0, 1, -2 / 3]), np.sqrt(4 + 1 + 0) / 3
    errors = np.maximum(error, np.sqrt([0, 5, 1 + 9]) / 3)
    assert found.errors == pytest.approx(np.std([[0, 0, 0], [2, 1, 0], [1, -3, 0]], axis=1, ddof=1) / np.sqrt(3))
    assert found.logits() == pytest.approx(np.log([0.6, 0.3, 0.1]) + gains / (0.5 * errors))
    assert found.choose(0.0) == 11
    assert findings([0.6, 0.3, 0.1], [[0, 2, 1], [4, 5, 1], [1, 1, 1]], 1e9).choose(0.0) == 10
    drawn = [found_with(seed).choose(2.0) for seed in range(2000)]
    weights = np.exp(found.logits() / 2)
    shares = np.bincount(drawn, minlength=13)[10:] / 2000
    assert shares == pytest.approx(weights / weights.sum(), abs=0.04)


def test_of_one_world_no_error_can_be_told() -> None:
    one = findings([0.6, 0.4], [[0, 3]])
    assert one.errors.tolist() == pytest.approx([0, np.nan], nan_ok=True)
    assert findings([0.6, 0.4], [[0, 3], [0, 3]]).errors.tolist() == [0, 0]
    assert findings([0.6, 0.4], []).errors.tolist() == pytest.approx([0, np.nan], nan_ok=True)


def found_with(seed: int) -> Findings:
    found = findings([0.6, 0.3, 0.1], [[0, 2, 1], [4, 5, 1], [1, 1, 1]])
    found.seed = seed * 7919
    return found


def test_few_worlds_leave_the_policy_as_it_is_and_many_overrule_it() -> None:
    """A gain in half of the worlds; and one in all, which has an error all the same."""
    few, many = (findings([0.99, 0.01], [[0, 1], [0, 0]] * count) for count in (1, 100))
    assert (few.choose(0.0), many.choose(0.0)) == (10, 11)
    sure = findings([0.9, 0.1], [[0, 3]], 1.0)
    assert sure.logits() == pytest.approx(np.log([0.9, 0.1]) + np.array([0, 1]))
    assert findings([0.7, 0.3], []).choose(0.0) == 10
    assert findings([1.0, 0.0], [[0, 0]], 1.0).logits() == pytest.approx([0, np.log(LEAST_SHARE)])
    assert findings([0.9, 0.1], [[0, 1], [0, 0]], 0.0).choose(0.0) == 11


def test_half_of_the_actions_remain_after_each_round() -> None:
    """The best ones and the favourite, in 24 worlds on the mean; gains are reckoned from the favourite in the same worlds."""
    shares, worth = np.array([0.3, *[0.1] * 7]), np.array([0, 9, 1, 8, 2, 7, 3, 6])
    found = Findings(0, 1, (np.arange(8), shares, np.arange(8)), 4, 0.5, Rounds(24, False))
    seen, rounds, rng = 0, list[tuple[list[int], int]](), np.random.default_rng(0)
    while found.left > 0:
        rounds.append((found.tried.tolist(), found.left))
        seen += found.left * len(found.tried)
        found.add((worth[found.tried] + rng.integers(-20, 20, (found.left, 1))) * units(4))
    assert rounds == [([*range(8)], 8), ([0, 1, 3, 5], 16), ([0, 1], 32)]
    assert (seen, found.worlds) == (24 * 8, 56)
    assert found.counts.tolist() == [56, 56, 8, 24, 8, 24, 8, 8]
    assert found.means - found.means[0] == pytest.approx(worth)
    assert found.choose(0.0) == 1


@pytest.mark.parametrize("candidates", [2, 3, 5, 9, 60])
def test_the_rounds_have_the_worlds_that_were_asked_for(candidates: int) -> None:
    found = Findings(0, 1, (np.arange(candidates), np.ones(candidates), np.arange(candidates)), 4, 0.5, Rounds(100, False))
    rollouts, worlds = 0, found.to_come
    while found.left > 0:
        rollouts += found.left * len(found.tried)
        found.add(np.zeros((found.left, len(found.tried)), np.int64))
    assert 0.9 * 100 * candidates <= rollouts <= 100 * candidates
    assert (found.to_come, found.worlds) == (0, worlds)
    assert len(found.tried) == 2


def test_in_a_limited_time_each_round_has_as_many_worlds_as_there_were_before() -> None:
    found = Findings(0, 1, (np.arange(3), np.ones(3), np.arange(3)), 4, 0.5, Rounds(50, True))
    rounds = list[tuple[int, int]]()
    while found.left > 0:
        rounds.append((len(found.tried), found.left))
        found.add(np.zeros((found.left, len(found.tried)), np.int64))
    assert rounds == [(3, 8), (2, 8), (2, 16), (2, 18)]
