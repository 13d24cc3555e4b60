"""Deals played for training: recorded decisions, rewards and players."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch

from noms_env.core.state import MAX_SEATS
from noms_env.players import load_player
from noms_env.policy.encoding import make_encoding
from noms_env.variants import VARIANTS, Rules, RulesError
from noms_training.agents.table_pool import AtTables, TablePool, make_rule_sets, play, relative_points
from noms_training.learn import collect
from noms_training.learn.collect import ActorPlayer, Played, PolicyLearner, Rollout, make_rollout, make_workers
from noms_training.learn.config import ActorConfig, TrainConfig
from noms_training.learn.gae import gae
from noms_training.learn.network import Actor, masked

SMALL = ActorConfig(width=16, blocks=1, card_width=4, scorer_width=4)


def make_actor(rule_sets: Sequence[Rules], seed: int = 0) -> Actor:
    """A small network whose policy is far from uniform."""
    torch.manual_seed(seed)
    encoding = make_encoding(rule_sets)
    actor = Actor.of(encoding, SMALL)
    for layer in (actor.head.play, actor.head.words, actor.head.nominate):
        torch.nn.init.normal_(layer.weight, std=0.5)
    return actor


def make_pool(rule_sets: Sequence[Rules], tables: int = 24, **arguments: Any) -> TablePool:
    return TablePool(rule_sets, range(len(rule_sets)), tables, seed=1, **{"state": True, **arguments})


def make_learner(rule_sets: Sequence[Rules], privileged: bool = True) -> PolicyLearner:
    player = ActorPlayer(make_actor(rule_sets), make_encoding(rule_sets))
    return PolicyLearner(player, np.random.default_rng(0), privileged)


def make_record(pool: TablePool, learner: PolicyLearner) -> Rollout:
    """The decisions of a learner at the tables of a pool."""
    part = Played(learner.steps, relative_points(pool.batch.points, pool.seats), {}, 0.0)
    return make_rollout([part], torch.from_numpy(pool.rule_set), learner.encoding, learner.privileged, "cpu")


def play_alone(pool: TablePool, learner: PolicyLearner, number: int = 0) -> Rollout:
    """Play a deal of self-play at each table."""
    pool.deal(number)
    play(pool, [learner.choose], np.zeros((len(pool), MAX_SEATS), np.int64))
    return make_record(pool, learner)


Deal = tuple[str, TablePool, Rollout]


@pytest.fixture(scope="module", params=VARIANTS)
def deal(request: pytest.FixtureRequest) -> Deal:
    """Deals of each game."""
    rule_sets = make_rule_sets([request.param])
    pool = make_pool(rule_sets)
    return request.param, pool, play_alone(pool, make_learner(rule_sets))


def test_the_same_parameters_give_the_recorded_log_probabilities(deal: Deal) -> None:
    variant, _, decisions = deal
    with torch.no_grad():
        logits = masked(make_actor(make_rule_sets([variant]))(decisions.features, decisions.mask), decisions.mask)
        again = logits.log_softmax(-1).gather(1, decisions.choice[:, None]).squeeze(1)
    assert set(decisions.seat.tolist()) == set(range(int(decisions.seat.max()) + 1))
    torch.testing.assert_close(again, decisions.log_prob, atol=2e-5, rtol=0)
    assert decisions.log_prob.std() > 0.1  # a uniform policy would prove nothing


def test_the_reward_belongs_to_the_last_decision_of_each_seat(deal: Deal) -> None:
    _, pool, decisions = deal
    reward = decisions.reward
    advantage = gae(decisions.table, decisions.seat, torch.zeros(len(decisions)), reward, 0.0)
    places = zip(decisions.table.tolist(), decisions.seat.tolist(), strict=True)
    last = {(table, seat): i for i, (table, seat) in enumerate(places)}
    for (table, seat), i in last.items():
        assert advantage[i] == reward[table, seat]
    others = np.setdiff1d(np.arange(len(decisions)), list(last.values()))
    assert (advantage[others] == 0).all()
    assert len(last) > len(pool) * 2
    assert reward.abs().sum() > 0


@pytest.mark.parametrize("points", [[26 * 2.0**180, -(2.0**180), 0, 0], [np.inf, -np.inf, 0, 0], [-np.inf, np.inf, np.inf, 0]])
def test_points_that_have_doubled_beyond_float32_give_a_finite_reward(points: list[float]) -> None:
    reward = relative_points(np.array([points]), np.array([4]))
    assert np.isfinite(reward).all()
    assert np.sign(reward[0, 0]) == np.sign(points[0])


def test_all_deals_are_finished_and_each_decision_has_a_choice(deal: Deal) -> None:
    _, pool, decisions = deal
    assert pool.batch.scored.all()
    assert set(decisions.table.tolist()) == set(range(len(pool)))
    assert decisions.mask.sum(1).min() == 2


def test_the_columns_of_a_rollout_fit_together() -> None:
    rule_sets = make_rule_sets(["small_ships", "down_up"], (3, 4))
    pool, learner = make_pool(rule_sets, 30), make_learner(rule_sets)
    decisions, encoding = play_alone(pool, learner), learner.encoding
    n = len(decisions)
    assert decisions.features.shape == (n, encoding.n_features)
    assert decisions.seen.shape == (n, encoding.n_features + encoding.n_hidden)
    assert torch.equal(decisions.seen[:, : encoding.n_features], decisions.features)
    assert decisions.mask.shape == (n, encoding.n_choices)
    assert (decisions.mask[torch.arange(n), decisions.choice] == 1).all()
    assert (decisions.rule_set.numpy() == pool.rule_set[decisions.table]).all()
    assert (decisions.seat.numpy() < pool.seats[decisions.table]).all()
    assert set(decisions.rule_set.tolist()) == {0, 1, 2, 3}


def test_joined_parts_have_separate_tables() -> None:
    (worker,) = make_workers(make_rule_sets(["down_up"]), 0, 24, 1, TrainConfig(("down_up",), seed=1), rank=0)
    learner = make_learner(worker.rule_sets)
    part = worker.play(0, learner, np.random.default_rng(0))
    nothing, rule_set = part._replace(steps=[]), torch.zeros(72, dtype=torch.int64)
    lists = [part], [part, nothing, part], [nothing, nothing]
    single, joined, empty = (make_rollout(parts, rule_set, learner.encoding, True, "cpu") for parts in lists)
    assert joined.table.max() == 71
    assert torch.equal(joined.table, torch.cat([single.table, single.table + 48]))
    assert torch.equal(joined.seen, torch.cat([single.seen, single.seen]))
    assert len(empty) == 0


def test_the_decisions_of_opponents_are_not_recorded() -> None:
    rule_sets = make_rule_sets(["small_ships"])
    pool, rng = make_pool(rule_sets), np.random.default_rng(0)
    learner = make_learner(rule_sets)
    seating = np.zeros((len(pool), MAX_SEATS), np.int64)
    seating[:, 1] = 1
    seating[:4] = 1
    pool.deal(0)
    play(pool, [learner.choose, AtTables(load_player("random"), rng)], seating)
    decisions = make_record(pool, learner)
    assert set(decisions.seat.tolist()) == {0, 2, 3}
    assert decisions.table.min() == 4


def test_hidden_cards_are_recorded_for_a_privileged_critic_only() -> None:
    rule_sets = make_rule_sets(["noms"])
    learner = make_learner(rule_sets, privileged=False)
    decisions = play_alone(make_pool(rule_sets, state=False, in_matches=True), learner)
    assert decisions.seen.shape[1] == learner.encoding.n_features


def test_deals_depend_on_their_number_and_on_the_number_of_the_table() -> None:
    rule_sets = make_rule_sets(["up_down"])
    whole, parts = make_pool(rule_sets, 8), [make_pool(rule_sets, 4, first_table=first) for first in (0, 4)]
    hands = []
    for number in (3, 4, 3):
        for pool in (whole, *parts):
            pool.deal(number)
        hands.append(whole.batch.tables.hands.copy())
        assert (hands[-1] == np.concatenate([part.batch.tables.hands for part in parts])).all()
    assert (hands[0] == hands[2]).all()
    assert (hands[0] != hands[1]).any()


def test_matches_continue_from_deal_to_deal_and_from_a_copy() -> None:
    rule_sets = make_rule_sets(["noms"])
    pool, copy = (make_pool(rule_sets, in_matches=True) for _ in range(2))
    learner = make_learner(rule_sets)
    play_alone(pool, learner)
    assert (pool.batch.tables.deal == 0).all()
    copy.restore(pool.save())
    for tables in (pool, copy):
        learner.rng = np.random.default_rng(9)
        play_alone(tables, learner, 1)
    assert (pool.batch.tables.deal[pool.batch.tables.match == 0] == 1).all()
    assert pool.batch.tables.tobytes() == copy.batch.tables.tobytes()


def test_each_hand_size_has_the_same_number_of_decisions() -> None:
    rule_sets = make_rule_sets(["down_up", "small_ships"])
    pool = make_pool(rule_sets, 40_000)
    sizes = collect.draw_sizes(pool, rule_sets, np.random.default_rng(0))
    assert (sizes[pool.rule_set == 1] == -1).all()
    number, count = np.unique(sizes[pool.rule_set == 0], return_counts=True)
    assert number.tolist() == list(range(1, 11))
    np.testing.assert_allclose(count * (number + 1) / np.mean(count * (number + 1)), 1, atol=0.1)
    pool.deal(0, sizes)
    assert (pool.batch.tables.deal_size[pool.rule_set == 0] == sizes[pool.rule_set == 0]).all()


def draw(logits: list[float], legal: list[int], draws: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Choices and log-probabilities for the same decision, by draws from 0 to 1."""
    choice, log_prob = np.empty(len(draws), np.int64), np.empty(len(draws), np.float32)
    rows, mask = np.tile(np.array(logits, np.float32), (len(draws), 1)), np.tile(np.array(legal, np.int8), (len(draws), 1))
    collect.draw_choices(rows, mask, draws, choice, log_prob)
    return choice, log_prob


def test_choices_are_drawn_from_the_softmax_of_the_legal_logits() -> None:
    logits, legal = np.log([1.0, 2.0, 50.0, 5.0]).tolist(), [1, 1, 0, 1]
    choice, log_prob = draw(logits, legal, np.random.default_rng(0).random(80_000))
    np.testing.assert_allclose(np.bincount(choice, minlength=4) / 80_000, [1 / 8, 2 / 8, 0, 5 / 8], atol=0.006)
    np.testing.assert_allclose(log_prob, np.log(np.array([1, 2, 0.01, 5]) / 8)[choice], atol=1e-5)
    greedy, _ = draw(logits, legal, np.array([-1.0]))
    assert greedy == [3]
    extreme, _ = draw([5.0, -80.0, 3.0, -90.0, 9.0], [0, 1, 1, 1, 0], np.array([0.0, 1 - 2**-53]))
    assert set(extreme) <= {1, 2, 3}


@pytest.mark.parametrize(("seats", "options", "message"), [((3,), {}, "noms is played"), ((), {"hooks": True}, "hooks")])
def test_seats_and_options_of_no_game_are_refused(seats: tuple[int, ...], options: dict[str, Any], message: str) -> None:
    with pytest.raises(RulesError, match=message):
        make_rule_sets(["noms", "down_up"], seats, options)
