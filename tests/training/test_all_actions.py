"""Values of all actions are the means of plain play, and teach the actor alone."""

from typing import Any

import numpy as np
import pytest
import torch

from noms_env.core.actions import NUMBER
from noms_env.core.state import MAX_SEATS
from noms_training.agents.table_pool import AtTables, TablePool, play, relative_points
from noms_training.learn.all_actions import AllActionsLearner, action_values, decisions_with_values, play_out
from noms_training.learn.collect import make_rollout
from noms_training.learn.config import PPOConfig, TrainConfig
from noms_training.learn.train import Trainer
from tests.training.tiny_run import make_config, run_iterations, same_parameters

ONE_CARD = ("ranks=13", "suits=1", "start_cards=1", "hook=false")


def make_pool(run: Trainer, *arguments: Any, seed: int) -> TablePool:
    """Freshly dealt tables with observations."""
    pool = TablePool(run.rule_sets, *arguments, seed=seed)
    pool.deal(0)
    pool.batch.observe()
    return pool


def test_the_values_of_calls_with_one_card_follow_from_the_rules() -> None:
    """Two seats, one card each: the play is forced, so after the second call nothing is left to chance."""
    run = Trainer(make_config("big_ships", seats=(2,), option=ONE_CARD, threads=1))
    pool = make_pool(run, [0], 64, seed=3)
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


def test_values_are_the_means_of_plain_play() -> None:
    run = Trainer(make_config("small_ships", "noms", seats=(3,), option=("ranks=5",), threads=1))
    pool, copies = make_pool(run, [0, 1], 2, seed=5), 3000
    player, rng = run.player(run.actor), np.random.default_rng(1)
    _, mask, order = run.encoding.encode(pool.batch.observation, pool.batch.mask)
    tables = pool.batch.save()
    repeated = np.repeat(np.arange(2), copies)
    values = action_values(player, tables[repeated], mask[repeated], order[repeated], rng)
    for row in range(2):
        plain = TablePool([run.rule_sets[row]], [0], copies, seed=6)
        choice = int(np.flatnonzero(mask[row])[-1])
        plain.batch.restore(None, np.repeat(tables[row : row + 1], copies))
        plain.step(np.full(copies, run.encoding.actions[order[row], choice]))
        play(plain, [AtTables(player, rng)], np.zeros((copies, MAX_SEATS), np.int64))
        expected = relative_points(plain.batch.points, plain.seats)[:, tables.seat[row]]
        own = values[repeated == row, choice]
        error = np.sqrt((own.var() + expected.var()) / copies)
        assert error > 0
        assert abs(own.mean() - expected.mean()) < 4 * error
    run.close()


def test_copies_of_a_decision_share_their_random_numbers() -> None:
    run = Trainer(make_config("small_ships", threads=1))
    pool = make_pool(run, [0], 40, seed=5)
    action, tables = pool.batch.mask.argmax(1), pool.batch.save()
    player, twice = run.player(run.actor), np.repeat(np.arange(40), 2)
    points = play_out(player, tables[twice], action[twice], twice, np.random.default_rng(2))
    apart = play_out(player, tables[twice], action[twice], np.arange(80), np.random.default_rng(2))
    run.close()
    assert (points[::2] == points[1::2]).all()
    assert (apart[::2] != apart[1::2]).any(1).mean() > 0.5


def test_a_share_of_the_actions_is_random_but_the_policys_choices_are_recorded() -> None:
    run = Trainer(make_config("big_ships", seats=(2,), option=ONE_CARD, threads=1))
    with torch.no_grad():
        run.actor.head.bias[NUMBER + 1] = 50.0
    pool, rng = make_pool(run, [0], 4000, seed=3), np.random.default_rng(0)
    settings = PPOConfig(played_out=0.01, exploration=0.5)
    learner = AllActionsLearner(run.player(run.actor), rng, False, settings, np.random.default_rng(1))
    actions = learner.choose(pool.batch, np.arange(4000))
    run.close()
    assert set(actions) == {NUMBER, NUMBER + 1}
    assert abs((actions == NUMBER).mean() - 0.25) < 4 * np.sqrt(0.25 * 0.75 / 4000)
    assert set(run.encoding.choices[learner.steps[0]["choice"]]) == {NUMBER + 1}


def config_with(played_out: float, **changes: Any) -> TrainConfig:
    return make_config("down_up", ppo=PPOConfig(minibatch_size=256, played_out=played_out, **changes))


def test_values_of_all_actions_teach_the_actor_alone() -> None:
    """Without them, `kl_coef` changes nothing."""
    plain, other, played_out = (
        run_iterations(config)[0] for config in (config_with(0), config_with(0, kl_coef=5), config_with(0.5))
    )
    assert same_parameters(plain, other)
    assert plain.decisions == played_out.decisions
    assert same_parameters(plain, played_out, "critic")
    assert not same_parameters(plain, played_out, "actor")


def test_advantages_are_scaled_and_have_mean_zero_under_the_policy() -> None:
    run = Trainer(config_with(0.5))
    run.reward_scale.mean_square[:], run.reward_scale.weight[:] = 16.0, 1.0
    worker, rng = run.workers[0], np.random.default_rng(0)
    learner = AllActionsLearner(run.player(run.actor), rng, True, PPOConfig(played_out=0.5), np.random.default_rng(1))
    batch = make_rollout([worker.play(0, learner, rng)], run.rule_set, run.encoding, True, "cpu")
    batch.advantage = torch.zeros(len(batch))
    part = decisions_with_values(batch, run.actor, torch.float32, run.reward_scale, run.threads)
    run.close()
    assert batch.values is not None
    assert part.values is not None
    assert part.log_policy is not None
    has_values = ~batch.values.isnan().any(1)
    assert 0.4 < has_values.double().mean() < 0.6
    torch.testing.assert_close(part.log_prob, part.log_policy.gather(1, part.choice[:, None])[:, 0])
    assert (part.log_policy.exp() * part.values).sum(1).abs().max() < 1e-4
    legal = part.mask == 1
    differences = part.values - part.values.gather(1, part.choice[:, None])
    points = batch.values[has_values] - batch.values[has_values].gather(1, part.choice[:, None])
    torch.testing.assert_close(differences[legal], points[legal] / 4, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("share", [0.02, 1.0])
def test_the_policy_learns_from_values(share: float) -> None:
    settings = PPOConfig(minibatch_size=256, played_out=share, ent_coef_call=0.0, ent_coef_play=0.0, uniform_kl_coef=0.0)
    config = make_config("big_ships", seats=(2,), option=("ranks=5", "suits=2", "start_cards=2"), ppo=settings)
    _, figures = run_iterations(config)
    assert figures["losses/policy_loss"] < 0.1
    assert figures["losses/clipfrac"] == 0
