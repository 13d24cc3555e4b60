"""Values of all actions: they are what plain play gives, they teach the actor alone, and off they change nothing."""

from typing import Any

import numpy as np
import pytest
import torch

from noms_env.core.actions import NUMBER
from noms_env.core.state import MAX_SEATS
from noms_training.agents.table_pool import AtTables, TablePool, play, relative_points
from noms_training.learn.all_actions import AllActionsLearner, action_values, decisions_with_values, play_out
from noms_training.learn.collect import make_rollout
from noms_training.learn.config import PPOConfig
from noms_training.learn.train import Trainer
from tests.training.test_self_play import tiny

ONE_CARD = ("ranks=13", "suits=1", "start_cards=1", "hook=false")


def test_the_values_of_a_call_with_one_card_each_are_those_of_the_rules() -> None:
    """Two seats, one card each: the play is forced, so after the second call nothing is left to chance."""
    run = Trainer(tiny("big_ships", seats=(2,), option=ONE_CARD, threads=1))
    pool = TablePool(run.rule_sets, [0], 64, seed=3)
    pool.deal(0)
    pool.batch.observe()
    first = np.arange(64) % 2
    pool.step(NUMBER + first)
    pool.batch.observe()
    player, seat = run.player(run.actor), pool.batch.seat.astype(int)
    _, mask, order = run.encoding.encode(pool.batch.observation, pool.batch.mask)
    values = action_values(player, pool.batch.save(), mask, order, np.random.default_rng(0))
    run.close()
    hands = pool.batch.tables.hands
    wins = (hands[np.arange(64), seat] > hands[np.arange(64), 1 - seat]).astype(int)
    choices = run.encoding.choices.tolist()
    other = 1 - wins + 10 * (first == 1 - wins)
    for call in (0, 1):
        own = wins + 10 * (call == wins)
        np.testing.assert_allclose(values[:, choices.index(NUMBER + call)], own - other)
    assert (values[mask == 0] == 0).all()
    assert set(wins) == {0, 1}


def test_values_are_the_means_of_plain_play_from_the_same_table() -> None:
    run = Trainer(tiny("small_ships", "noms", seats=(3,), option=("ranks=5",), threads=1))
    pool, copies = TablePool(run.rule_sets, [0, 1], 2, seed=5), 3000
    pool.deal(0)
    player, rng = run.player(run.actor), np.random.default_rng(1)
    pool.batch.observe()
    _, mask, order = run.encoding.encode(pool.batch.observation, pool.batch.mask)
    tables = pool.batch.save()
    repeated = np.repeat(np.arange(2), copies)
    values = action_values(player, tables[repeated], mask[repeated], order[repeated], rng)
    for row in range(2):
        plain = TablePool([run.rule_sets[row]], [0], copies, seed=6)
        choice = int(np.flatnonzero(mask[row])[-1])
        action = run.encoding.actions[order[row], choice]
        plain.batch.restore(None, np.repeat(tables[row : row + 1], copies))
        plain.step(np.full(copies, action))
        play(plain, [AtTables(player, rng)], np.zeros((copies, MAX_SEATS), np.int64))
        expected = relative_points(plain.batch.points, plain.seats)[:, tables.seat[row]]
        found = values[repeated == row, choice]
        error = np.sqrt((found.var() + expected.var()) / copies)
        assert error > 0
        assert abs(found.mean() - expected.mean()) < 4 * error
    run.close()


def test_copies_of_a_decision_share_their_random_numbers() -> None:
    run = Trainer(tiny("small_ships", threads=1))
    pool = TablePool(run.rule_sets, [0], 40, seed=5)
    pool.deal(0)
    pool.batch.observe()
    action, tables = pool.batch.mask.argmax(1), pool.batch.save()
    player, twice = run.player(run.actor), np.repeat(np.arange(40), 2)
    points = play_out(player, tables[twice], action[twice], twice, np.random.default_rng(2))
    apart = play_out(player, tables[twice], action[twice], np.arange(80), np.random.default_rng(2))
    run.close()
    assert (points[::2] == points[1::2]).all()
    assert (apart[::2] != apart[1::2]).any(1).mean() > 0.5


def test_a_share_of_the_actions_is_random_and_the_choices_kept_are_those_of_the_policy() -> None:
    run = Trainer(tiny("big_ships", seats=(2,), option=ONE_CARD, threads=1))
    with torch.no_grad():
        run.actor.head.bias[NUMBER + 1] = 50.0
    pool, rng = TablePool(run.rule_sets, [0], 4000, seed=3), np.random.default_rng(0)
    pool.deal(0)
    pool.batch.observe()
    settings = PPOConfig(played_out=0.01, exploration=0.5)
    learner = AllActionsLearner(run.player(run.actor), rng, False, settings, np.random.default_rng(1))
    actions = learner.choose(pool.batch, np.arange(4000))
    run.close()
    assert set(actions) == {NUMBER, NUMBER + 1}
    assert abs((actions == NUMBER).mean() - 0.25) < 4 * np.sqrt(0.25 * 0.75 / 4000)
    assert set(run.encoding.choices[learner.steps[0]["choice"]]) == {NUMBER + 1}


def of_share(share: float, **changes: Any) -> Trainer:
    return Trainer(tiny("down_up", ppo=PPOConfig(minibatch_size=256, played_out=share, **changes)))


def test_the_critic_and_the_deals_are_those_of_plain_self_play_and_the_actor_learns_otherwise() -> None:
    plain, other, played = of_share(0.0), of_share(0.0, kl_coef=5.0), of_share(0.5)
    for run in (plain, other, played):
        run.iterate()
        run.close()

    def equal(one: torch.nn.Module, two: torch.nn.Module) -> bool:
        return all(torch.equal(a, b) for a, b in zip(one.parameters(), two.parameters(), strict=True))

    assert equal(plain.actor, other.actor)
    assert equal(plain.critic, other.critic)
    assert plain.decisions == played.decisions
    assert equal(plain.critic, played.critic)
    assert not equal(plain.actor, played.actor)


def test_advantages_are_in_units_of_the_scale_and_of_mean_zero_under_the_policy() -> None:
    run = of_share(0.5)
    run.reward_scale.mean_square[:], run.reward_scale.weight[:] = 16.0, 1.0
    worker, rng = run.workers[0], np.random.default_rng(0)
    learner = AllActionsLearner(run.player(run.actor), rng, True, PPOConfig(played_out=0.5), np.random.default_rng(1))
    played = worker.play(0, learner, rng)
    batch = make_rollout([played], run.rule_set, run.encoding, True, "cpu")
    batch.advantage = torch.zeros(len(batch))
    part = decisions_with_values(batch, run.actor, torch.float32, run.reward_scale, run.threads)
    run.close()
    assert batch.values is not None
    assert part.values is not None
    assert part.log_policy is not None
    wanted = ~batch.values.isnan().any(1)
    assert 0.4 < wanted.double().mean() < 0.6
    torch.testing.assert_close(part.log_prob, part.log_policy.gather(1, part.choice[:, None])[:, 0])
    assert (part.log_policy.exp() * part.values).sum(1).abs().max() < 1e-4
    legal = part.mask == 1
    differences = part.values - part.values.gather(1, part.choice[:, None])
    points = batch.values[wanted] - batch.values[wanted].gather(1, part.choice[:, None])
    torch.testing.assert_close(differences[legal], points[legal] / 4, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("share", [0.02, 1.0])
def test_the_policy_learns_from_values(share: float) -> None:
    settings = PPOConfig(minibatch_size=256, played_out=share, ent_coef_call=0.0, ent_coef_play=0.0, uniform_kl_coef=0.0)
    run = Trainer(tiny("big_ships", seats=(2,), option=("ranks=5", "suits=2", "start_cards=2"), ppo=settings))
    figures = run.iterate()
    run.close()
    assert figures["losses/policy_loss"] < 0.1
    assert figures["losses/clipfrac"] == 0
