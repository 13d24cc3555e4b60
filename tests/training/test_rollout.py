"""Deals played for training: what is kept, what is paid, and who plays."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch

from noms_env.core.state import MAX_SEATS
from noms_env.players import make_player
from noms_env.policy.encoding import make_encoding
from noms_env.variants import Rules, RulesError
from noms_training.agents.table_pool import AtTables, TablePool, make_rule_sets, play, relative_points
from noms_training.learn.collect import (
    ActorPlayer,
    Played,
    PolicyLearner,
    Rollout,
    draw_choices,
    draw_sizes,
    make_rollout,
    make_workers,
)
from noms_training.learn.config import ActorConfig, TrainConfig
from noms_training.learn.gae import gae
from noms_training.learn.network import Actor, masked

SMALL = ActorConfig(width=16, blocks=1, card_width=4, scorer_width=4)
VARIANTS = ("sniped_whist", "big_ships", "small_ships", "noms", "nonesuch", "down_up", "up_down")


def make_actor(rule_sets: Sequence[Rules], seed: int = 0) -> Actor:
    """A small network with no inclination to uniform choices."""
    torch.manual_seed(seed)
    encoding = make_encoding(rule_sets)
    actor = Actor.of(encoding, SMALL)
    for layer in (actor.head.play, actor.head.words, actor.head.nominate):
        torch.nn.init.normal_(layer.weight, std=0.5)
    return actor


def make_pool(rule_sets: Sequence[Rules], tables: int = 24, **arguments: Any) -> TablePool:
    return TablePool(rule_sets, range(len(rule_sets)), tables, seed=1, **{"state": True, **arguments})


def make_learner(rule_sets: Sequence[Rules], seed: int = 0, *, greedy: bool = False, privileged: bool = True) -> PolicyLearner:
    """A policy that draws, and keeps its decisions."""
    player = ActorPlayer(make_actor(rule_sets), make_encoding(rule_sets), greedy=greedy)
    return PolicyLearner(player, np.random.default_rng(seed), privileged)


def record_of(pool: TablePool, learner: PolicyLearner) -> Rollout:
    """The decisions of a learner at the tables of a pool."""
    part = Played(learner.steps, relative_points(pool.batch.points, pool.seats), {}, 0.0)
    return make_rollout([part], torch.from_numpy(pool.rule_set), learner.encoding, learner.privileged, "cpu")


def played(
    variants: Sequence[str], seats: Sequence[int] = (), tables: int = 24, **arguments: Any
) -> tuple[TablePool, PolicyLearner, Rollout]:
    """A deal of self-play at each table of a pool."""
    rule_sets = make_rule_sets(variants, seats)
    pool = make_pool(rule_sets, tables, **arguments)
    learner = make_learner(rule_sets)
    pool.deal(0)
    play(pool, [learner.choose], np.zeros((tables, MAX_SEATS), np.int64))
    return pool, learner, record_of(pool, learner)


Deal = tuple[str, TablePool, Rollout]


@pytest.fixture(scope="module", params=VARIANTS)
def deal(request: pytest.FixtureRequest) -> Deal:
    """Each variant, with a deal of it."""
    pool, _, decisions = played([request.param])
    return request.param, pool, decisions


# What cost the project sheepsheadai months (its notebooks, 6.1, 6.2).


def test_the_ratio_is_one_under_the_same_parameters_for_every_seats_rows(deal: Deal) -> None:
    variant, _, decisions = deal
    with torch.no_grad():
        logits = masked(make_actor(make_rule_sets([variant]))(decisions.features, decisions.mask), decisions.mask)
        again = logits.log_softmax(-1).gather(1, decisions.choice[:, None]).squeeze(1)
    assert set(decisions.seat.tolist()) == set(range(int(decisions.seat.max()) + 1))
    torch.testing.assert_close(again, decisions.log_prob, atol=2e-5, rtol=0)
    assert decisions.log_prob.std() > 0.1  # a uniform policy would prove nothing


def test_the_reward_lands_on_every_seats_last_decision(deal: Deal) -> None:
    _, pool, decisions = deal
    reward = decisions.reward
    advantage = gae(decisions.table, decisions.seat, torch.zeros(len(decisions)), reward, 0.0)
    places = zip(decisions.table.tolist(), decisions.seat.tolist(), strict=True)
    last = {(table, seat): i for i, (table, seat) in enumerate(places)}
    for (table, seat), i in last.items():
        assert advantage[i] == reward[table, seat]
    others = np.setdiff1d(np.arange(len(decisions)), list(last.values()))
    assert (advantage[others] == 0).all()  # and on no other decision
    assert len(last) > len(pool) * 2
    assert reward.abs().sum() > 0


def test_the_return_of_each_decision_is_the_seats_own_score(deal: Deal) -> None:
    _, _, decisions = deal
    value = torch.from_numpy(np.random.default_rng(0).normal(size=len(decisions)).astype(np.float32))
    advantage = gae(decisions.table, decisions.seat, value, decisions.reward, 1.0)
    expected = decisions.reward[decisions.table, decisions.seat]
    torch.testing.assert_close(advantage + value, expected, atol=1e-4, rtol=0)


def test_decisions_are_of_whole_deals_only(deal: Deal) -> None:
    _, pool, decisions = deal
    assert pool.batch.scored.all()
    assert set(decisions.table.tolist()) == set(range(len(pool)))


def test_every_decision_has_an_alternative(deal: Deal) -> None:
    _, _, decisions = deal
    assert decisions.mask.sum(1).min() == 2


def test_kept_arrays_fit_together() -> None:
    pool, learner, decisions = played(["small_ships", "down_up"], (3, 4), 30)
    encoding = learner.encoding
    n = len(decisions)
    assert decisions.features.shape == (n, encoding.n_features)
    assert decisions.seen.shape == (n, encoding.n_features + encoding.n_hidden)
    assert torch.equal(decisions.seen[:, : encoding.n_features], decisions.features)
    assert decisions.mask.shape == (n, encoding.n_choices)
    assert (decisions.mask[torch.arange(n), decisions.choice] == 1).all()
    assert (decisions.rule_set.numpy() == pool.rule_set[decisions.table]).all()
    assert (decisions.seat.numpy() < pool.seats[decisions.table]).all()
    assert set(decisions.rule_set.tolist()) == {0, 1, 2, 3}


def test_parts_are_joined_with_tables_of_their_own() -> None:
    (worker,) = make_workers(make_rule_sets(["down_up"]), 0, 24, 1, TrainConfig(("down_up",), seed=1), rank=0)
    learner = make_learner(worker.rule_sets)
    part = worker.play(0, learner, np.random.default_rng(0))
    nothing, rule_set = part._replace(steps=[]), torch.zeros(72, dtype=torch.int64)
    several = [part], [part, nothing, part], [nothing, nothing]
    one, both, none = (make_rollout(parts, rule_set, learner.encoding, True, "cpu") for parts in several)
    assert len(both) == 2 * len(one)
    assert both.table.max() == 71
    assert torch.equal(both.table, torch.cat([one.table, one.table + 48]))
    assert torch.equal(both.seen, torch.cat([one.seen, one.seen]))
    assert len(none) == 0


def test_opponents_decisions_are_not_kept() -> None:
    rule_sets = make_rule_sets(["small_ships"])
    pool, rng = make_pool(rule_sets), np.random.default_rng(0)
    learner = make_learner(rule_sets)
    seating = np.zeros((len(pool), MAX_SEATS), np.int64)
    seating[:, 1] = 1
    seating[:4] = 1
    pool.deal(0)
    play(pool, [learner.choose, AtTables(make_player("random"), rng)], seating)
    decisions = record_of(pool, learner)
    assert set(decisions.seat.tolist()) == {0, 2, 3}
    assert decisions.table.min() == 4


def test_without_a_privileged_critic_nothing_hidden_is_kept() -> None:
    rule_sets = make_rule_sets(["noms"])
    pool = make_pool(rule_sets, state=False, in_matches=True)
    learner = make_learner(rule_sets, privileged=False)
    pool.deal(0)
    play(pool, [learner.choose], np.zeros((len(pool), MAX_SEATS), np.int64))
    assert record_of(pool, learner).seen.shape[1] == learner.encoding.n_features


def test_the_same_number_gives_the_same_deals() -> None:
    rule_sets = make_rule_sets(["big_ships"], (5,))
    pool = make_pool(rule_sets)
    hands = []
    for number in (3, 4, 3):
        pool.deal(number)
        hands.append(pool.batch.tables.hands.copy())
    assert (hands[0] == hands[2]).all()
    assert (hands[0] != hands[1]).any()


def test_tables_are_numbered_through() -> None:
    rule_sets = make_rule_sets(["up_down"])
    whole, parts = make_pool(rule_sets, 8), [make_pool(rule_sets, 4, first_table=first) for first in (0, 4)]
    for pool in (whole, *parts):
        pool.deal(2)
    assert (whole.batch.tables.hands == np.concatenate([part.batch.tables.hands for part in parts])).all()


def test_matches_go_on_from_deal_to_deal_and_from_a_copy() -> None:
    rule_sets = make_rule_sets(["noms"])
    pool = make_pool(rule_sets, in_matches=True)
    learner = make_learner(rule_sets)

    def go_on(where: TablePool, number: int) -> None:
        where.deal(number)
        play(where, [learner.choose], np.zeros((len(where), MAX_SEATS), np.int64))

    go_on(pool, 0)
    assert (pool.batch.tables.deal == 0).all()
    saved = pool.save()
    twin = make_pool(rule_sets, in_matches=True)
    twin.restore(saved)
    for where in (pool, twin):
        learner.rng = np.random.default_rng(9)
        go_on(where, 1)
    assert (pool.batch.tables.deal[pool.batch.tables.match == 0] == 1).all()
    assert pool.batch.tables.tobytes() == twin.batch.tables.tobytes()


def test_hand_sizes_get_the_same_number_of_decisions_each() -> None:
    rule_sets = make_rule_sets(["down_up", "small_ships"])
    pool = make_pool(rule_sets, 40_000)
    sizes = draw_sizes(pool, rule_sets, np.random.default_rng(0))
    assert (sizes[pool.rule_set == 1] == -1).all()
    number, count = np.unique(sizes[pool.rule_set == 0], return_counts=True)
    assert number.tolist() == list(range(1, 11))
    np.testing.assert_allclose(count * (number + 1) / np.mean(count * (number + 1)), 1, atol=0.1)
    pool.deal(0, sizes)
    assert (pool.batch.tables.deal_size[pool.rule_set == 0] == sizes[pool.rule_set == 0]).all()


def test_choices_are_drawn_from_the_softmax_of_the_legal_logits() -> None:
    logits = np.tile(np.log(np.array([[1.0, 2.0, 50.0, 5.0]], np.float32)), (80_000, 1))
    mask = np.tile(np.array([[1, 1, 0, 1]], np.int8), (80_000, 1))
    choice, log_prob = np.empty(80_000, np.int64), np.empty(80_000, np.float32)
    draw_choices(logits, mask, np.random.default_rng(0).random(80_000), choice, log_prob)
    np.testing.assert_allclose(np.bincount(choice, minlength=4) / 80_000, [1 / 8, 2 / 8, 0, 5 / 8], atol=0.006)
    np.testing.assert_allclose(log_prob, np.log(np.array([1, 2, 0.01, 5]) / 8)[choice], atol=1e-5)
    draw_choices(logits, mask, np.full(80_000, -1.0), choice, log_prob)
    assert set(choice) == {3}


@pytest.mark.parametrize("draw", [0.0, 1 - 2**-53])
def test_no_draw_gives_an_illegal_choice(draw: float) -> None:
    logits = np.array([[5.0, -80.0, 3.0, -90.0, 9.0]], np.float32)
    mask = np.array([[0, 1, 1, 1, 0]], np.int8)
    choice, log_prob = np.empty(1, np.int64), np.empty(1, np.float32)
    draw_choices(logits, mask, np.array([draw]), choice, log_prob)
    assert mask[0, choice[0]] == 1


@pytest.mark.parametrize(
    ("variants", "seats", "options", "message"),
    [
        (["noms", "down_up"], (3,), {}, "noms is played"),
        (["noms"], (), {"hooks": True}, "hooks"),
    ],
)
def test_what_suits_no_game_is_refused(
    variants: list[str], seats: tuple[int, ...], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(RulesError, match=message):
        make_rule_sets(variants, seats, options)
