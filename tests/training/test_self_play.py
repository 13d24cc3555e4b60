"""Iterations of self-play: they learn, and a run may be stopped and resumed."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from noms_env.core.actions import NUMBER
from noms_env.policy.file import read_policy
from noms_env.policy.player import load_policy
from noms_training.agents.table_pool import AtTables, TablePool, play
from noms_training.learn import schedule
from noms_training.learn.checkpoint import write_policy
from noms_training.learn.collect import Rollout, entropies, make_rollout
from noms_training.learn.config import ActorConfig, CurriculumConfig, OpponentsConfig, PPOConfig, TrainConfig
from noms_training.learn.gae import critic_figures, explained_variance
from noms_training.learn.network import masked
from noms_training.learn.ppo import update_critic
from noms_training.learn.train import Trainer
from tests.policy.test_player import decisions
from tests.training.tiny_run import TINY, make_config, run_iterations, same_parameters, save_policy_of

ATTENTION = ActorConfig(kind="attention", token_width=16, layers=2, heads=2, card_width=8)


def one_card_bids(run: Trainer) -> dict[int, set[int]]:
    """Bids of the first caller with each rank, by the greedy policy."""
    pool = TablePool(run.rule_sets, [0], 512, seed=99)
    pool.deal(0)
    first = pool.batch.seat.astype(np.int64)
    cards = pool.batch.tables.hands[np.arange(512), first]
    choose = AtTables(run.player(run.actor, greedy=True), np.random.default_rng(0))
    play(pool, [choose], np.zeros((512, 7), np.int64))
    calls = pool.batch.tables.call[np.arange(512), first] - 1
    ranks = np.log2(cards).astype(int)
    return {int(rank): set(calls[ranks == rank].tolist()) for rank in np.unique(ranks)}


def test_the_right_bid_with_one_card_is_learnt() -> None:
    """Two seats, one suit of 13 cards, one card each; the last caller may not make the calls add up to one.

    So the second caller must repeat the first call. If the first wins with probability p, calling 1 gains 11 p - 11 (1 - p)
    over the other seat, and calling 0 gains 9 (1 - p) - 9 p: 1 is right if p > 1/2, else 0. The card at
    place k (0 to 12) wins with p = k / 12.
    """
    short = ("ranks=13", "suits=1", "start_cards=1", "hook=true")
    settings = PPOConfig(minibatch_size=256, learning_rate=3e-3, ent_coef_call=0.02)
    run = Trainer(make_config("big_ships", seats=(2,), option=short, tables=256, ppo=settings))
    assert len(one_card_bids(run)) == 13
    for _ in range(40):
        run.iterate()
    bids = one_card_bids(run)
    run.close()
    assert NUMBER + 1 in run.encoding.choices
    for rank in (0, 1, 2, 3, 4, 8, 9, 10, 11, 12):
        assert bids[rank] == {int(rank > 6)}, f"place {rank} of 12"


def test_an_iteration_has_figures() -> None:
    _, figures = run_iterations(make_config("down_up"))
    losses = "approx_kl", "clipfrac", "value_loss", "calibration_error", "calibration/10/return", "entropy/call", "entropy/play"
    for name in ("charts/SPS", "charts/learning_rate", "charts/seconds/learn", *(f"losses/{name}" for name in losses)):
        assert np.isfinite(figures[name]), name
    assert min(figures[f"charts/seconds/{part}"] for part in ("play", "network")) > 0
    assert 0.9 < figures["losses/entropy/play"] < 1.1  # the first policy is nearly uniform
    shares = [figures[f"rollout/down_up_4/bid/{result}"] for result in ("hit", "over", "under")]
    assert sum(shares) == pytest.approx(1)
    assert 0 < shares[0] < 1


def test_games_with_different_numbers_of_seats_are_learnt_together() -> None:
    run, figures = run_iterations(make_config("noms", "big_ships", seats=(4, 7)))
    assert len({worker.pool.batch.points.shape[1] for worker in run.workers}) == 2
    assert np.isfinite(figures["losses/value_loss"])


def test_calibration_by_hand() -> None:
    value = np.repeat(np.arange(10, dtype=np.float32), 3)[::-1].copy()
    returns = value.copy()
    returns[value == 9] += [1, 2, 3]  # the highest decile is too low by 2, so the root mean square is 2 / sqrt(10)
    figures = critic_figures(torch.from_numpy(value), torch.from_numpy(returns))
    assert figures["losses/calibration_error"] == pytest.approx(2 / np.sqrt(10))
    assert [figures[f"losses/calibration/{k}/value"] for k in range(1, 11)] == list(range(10))
    assert [figures[f"losses/calibration/{k}/return"] for k in (1, 9, 10)] == [0, 8, 11]
    assert list(critic_figures(torch.zeros(9), torch.zeros(9))) == ["losses/explained_variance"]


def test_explained_variance_and_entropy_by_hand() -> None:
    reward = torch.tensor([1.0, -1.0, 2.0, -2.0])
    assert explained_variance(reward, reward) == 1
    assert explained_variance(torch.zeros(4), reward) == 0
    assert explained_variance(reward / 2, reward) == pytest.approx(0.75)
    run = Trainer(make_config("down_up"))
    batch = collect_decisions(run)
    run.close()
    half = replace(batch, log_prob=torch.full((len(batch),), np.log(0.5)))
    expected = np.mean(np.log(2) / np.log(batch.mask[batch.phase == 3].sum(1).numpy()))
    assert entropies(half)["losses/entropy/play"] == pytest.approx(expected)


@pytest.mark.parametrize(
    "changes",
    [
        {"variants": ("small_ships",)},
        {"variants": ("noms",), "curriculum": CurriculumConfig(expert=("thumb",), imitation=0.001)},
        {"variants": ("down_up", "noms"), "opponents": OpponentsConfig(share=0.5, start=0.0, players=("random",))},
        {"variants": ("big_ships",), "seats": (3, 5), "privileged_critic": False},
        {"variants": ("sniped_whist",), "card_features": False, "drawn_rules": 1, "tables": 120},
        {"variants": ("small_ships",), "network": ATTENTION, "critic": ATTENTION},
        {"variants": ("noms", "nonesuch"), "ppo": PPOConfig(played_out=0.2, exploration=0.1, coefs_left=0.02)},
    ],
)
def test_a_resumed_run_equals_an_uninterrupted_one(changes: dict[str, Any]) -> None:
    config = make_config(*changes.pop("variants"), **changes)
    whole, _ = run_iterations(config, 4)
    first, _ = run_iterations(config, 2)
    assert not same_parameters(first, whole)
    resumed, _ = run_iterations(config, 2, first.state())
    assert same_parameters(resumed, whole)
    assert resumed.decisions > first.decisions
    assert resumed.reward_scale.state_dict() != first.reward_scale.state_dict()


def test_another_seed_is_another_run() -> None:
    first, second = (run_iterations(make_config("down_up", seed=seed))[0] for seed in (1, 2))
    assert not same_parameters(first, second)


def test_thumb_has_the_version_of_the_run() -> None:
    opponents = OpponentsConfig(share=0.5, players=("thumb", "thumb:2"))
    specs = Trainer(make_config("down_up", opponents=opponents, thumb_version=1)).players
    assert {name: getattr(spec.make(), "version", None) for name, spec in specs.items()} == {"thumb": 1, "thumb:2": 2}
    assert [spec.name for spec in specs.values()] == ["thumb", "thumb:2"], "the names in logs and policies"


def test_opponents_sit_at_the_tables_from_their_start_on() -> None:
    config = make_config("down_up", opponents=OpponentsConfig(share=0.5, start=0.0, players=("random",)))
    run = Trainer(config)
    run.past["000"] = run.actor
    drawn = set()
    for run.iteration in range(20):
        drawn |= {run.draw_opponent(worker, schedule.at(0.0, config)) for worker in run.workers}
    assert drawn == {"random", "000"}
    figures = run.iterate()
    run.close()
    assert np.isfinite(figures["losses/approx_kl"])
    alone = Trainer(make_config("down_up", opponents=OpponentsConfig(share=0.5, start=1.0, players=("random",))))
    alone.iteration = run.iteration
    assert all(alone.draw_opponent(worker, schedule.at(0.0, alone.config)) is None for worker in alone.workers)
    assert len(collect_decisions(run)) < len(collect_decisions(alone))
    alone.close()


def collect_decisions(run: Trainer) -> Rollout:
    """Collect the rollout of an iteration."""
    parts = [run.collect(worker, schedule.at(run.progress, run.config)) for worker in run.workers]
    return make_rollout(parts, run.rule_set, run.encoding, run.config.privileged_critic, run.device)


def log_policy(run: Trainer, batch: Rollout) -> Tensor:
    """Log-probabilities, float32, shape (decisions, choices)."""
    return masked(run.actor.frozen()(batch.features, batch.mask), batch.mask).log_softmax(-1)


def test_the_policy_learns_to_play_like_an_imitated_expert() -> None:
    def agreement(run: Trainer) -> tuple[float, float]:
        """Probability of thumb's decisions under the policy, and under the uniform policy."""
        batch = collect_decisions(run)
        policy, choice = log_policy(run, batch).exp(), batch.choice[:, None]
        assert (batch.mask.gather(1, choice) == 1).all()
        return float(policy.gather(1, choice).mean()), float((1 / batch.mask.sum(1)).mean())

    settings = PPOConfig(minibatch_size=256, learning_rate=3e-3)
    imitation = CurriculumConfig(expert=("thumb",), imitation=1.0)
    alone = OpponentsConfig(start=0.0)
    run = Trainer(make_config("down_up", curriculum=imitation, ppo=settings, decisions=10**6, opponents=alone))
    before, chance = agreement(run)
    assert before == pytest.approx(chance, abs=0.05)
    for _ in range(40):
        figures = run.iterate()
    after, chance = agreement(run)
    run.close()
    assert after > chance + 0.05
    assert figures["losses/approx_kl"] == figures["losses/clipfrac"] == 0
    assert figures["losses/policy_loss"] > 0


@pytest.mark.parametrize(
    ("matches", "expected"), [(0.25, [(False, [16, 12]), (True, [0, 4])]), (1.0, [(False, [16, 0]), (True, [0, 16])])]
)
def test_a_share_of_the_tables_of_noms_plays_matches(matches: float, expected: list[tuple[bool, list[int]]]) -> None:
    config = make_config("down_up", "noms", threads=1, curriculum=CurriculumConfig(matches=matches))
    run, figures = run_iterations(config)
    pools = [worker.pool for worker in run.workers]
    assert [(pool.in_matches, np.bincount(pool.rule_set, minlength=2).tolist()) for pool in pools] == expected
    assert np.isfinite(figures["losses/approx_kl"])


@pytest.fixture(scope="module")
def first_policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The policy of a run of one iteration."""
    return save_policy_of(make_config("down_up"), tmp_path_factory.mktemp("first"))


@pytest.mark.parametrize("temperature", ["", "@0"])
def test_an_expert_policy_teaches_all_its_probabilities(first_policy: Path, temperature: str) -> None:
    imitation = CurriculumConfig(expert=(f"{first_policy}{temperature}",), imitation=1.0)
    run = Trainer(make_config("down_up", curriculum=imitation, opponents=OpponentsConfig(start=0.0)))
    batch = collect_decisions(run)
    expert = Trainer(make_config("down_up", initial_policy=str(first_policy)))
    expected = log_policy(expert, batch).exp()
    expert.close()
    run.close()
    assert batch.expert_probs is not None
    if temperature:
        assert (batch.expert_probs.argmax(1) == batch.choice).all()
        assert (batch.expert_probs.amax(1) == 1).all()
    else:
        np.testing.assert_allclose(batch.expert_probs, expected.numpy(), atol=1e-5)
        assert (batch.expert_probs.argmax(1) != batch.choice).any()
    np.testing.assert_allclose(batch.expert_probs.sum(1), 1, atol=1e-5)


def test_an_initial_policy_waits_for_the_critic(first_policy: Path) -> None:
    _, _, tensors = read_policy(first_policy / "policy.safetensors")
    warmup = CurriculumConfig(critic_warmup=0.15)
    run = Trainer(make_config("down_up", seed=1, initial_policy=str(first_policy), curriculum=warmup))

    def is_unchanged() -> bool:
        weights = run.actor.state_dict()
        return weights.keys() == tensors.keys() and all((tensors[name] == weights[name].numpy()).all() for name in weights)

    assert is_unchanged()
    stages = set()
    while run.progress < 0.3:
        waits, critic = run.progress < 0.15, [parameter.detach().clone() for parameter in run.critic.parameters()]
        figures = run.iterate()
        assert ("losses/policy_loss" in figures) is not waits
        assert any((before != after).any() for before, after in zip(critic, run.critic.parameters(), strict=True))
        assert is_unchanged() is waits
        stages.add(waits)
    run.close()
    assert stages == {True, False}


def test_an_initial_policy_may_be_for_more_tables(tmp_path: Path) -> None:
    initial = save_policy_of(make_config("down_up", "big_ships", seats=(3, 4)), tmp_path)
    _, encoding, _ = read_policy(initial / "policy.safetensors")
    settings = CurriculumConfig(critic_warmup=0.0)
    run, _ = run_iterations(make_config("down_up", seats=(4,), initial_policy=str(initial), curriculum=settings))
    assert (run.labels, run.encoding) == (["down_up_4"], encoding)
    write_policy(tmp_path / "later.safetensors", run.actor, run, None)
    player = load_policy(tmp_path / "later.safetensors")
    assert player.rule_sets == encoding.rule_sets
    assert list(player.info.training["seats"]) == [4]


@pytest.mark.parametrize("network", [TINY, ATTENTION], ids=["mlp", "attention"])
def test_an_initial_policy_may_be_for_fewer_tables(network: ActorConfig, tmp_path: Path) -> None:
    initial = save_policy_of(make_config("down_up", network=network), tmp_path)
    first = load_policy(initial)
    assert [rules.seats for rules in first.rule_sets] == [4]
    more: dict[str, Any] = {"network": network, "trick_features": True, "curriculum": CurriculumConfig(critic_warmup=0.0)}
    run = Trainer(make_config("down_up", seats=(3, 4), initial_policy=str(initial), **more))
    write_policy(tmp_path / "widened.safetensors", run.actor, run, None)
    run.iterate()
    run.close()
    widened = load_policy(tmp_path / "widened.safetensors")
    assert sorted(rules.seats for rules in widened.rule_sets) == [3, 4]
    observation, mask = decisions(first.rule_sets, 200)
    expected, policy = (player.probabilities(observation, mask) for player in (first, widened))
    np.testing.assert_allclose(policy, expected, atol=1e-6)


def test_a_run_of_one_thread_trains_the_critic_in_one(first_policy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    threads = []

    def note_threads(*arguments: Any, **settings: Any) -> dict[str, float]:
        threads.append(torch.get_num_threads())
        return update_critic(*arguments, **settings)

    monkeypatch.setattr("noms_training.learn.ppo.update_critic", note_threads)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        warmup = CurriculumConfig(critic_warmup=0.15)
        run_iterations(make_config("down_up", threads=1, initial_policy=str(first_policy), curriculum=warmup))
    finally:
        torch.set_num_threads(before)
    assert threads == [1]


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        (make_config("down_up", "up_down"), "must be for the games of the run; .* was trained for down_up"),
        (make_config("down_up", network=ATTENTION), "must have the run's kind and size of network"),
    ],
)
def test_an_initial_policy_must_fit_the_run(first_policy: Path, config: TrainConfig, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        Trainer(replace(config, initial_policy=str(first_policy)))
