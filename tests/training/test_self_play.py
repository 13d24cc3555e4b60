"""Iterations of self-play: that they learn, and that they can be stopped and gone on with."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import noms_env
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

TINY = ActorConfig(width=32, blocks=1, card_width=8, scorer_width=8)
ATTENTION = ActorConfig(kind="attention", token_width=16, layers=2, heads=2, card_width=8)


def tiny(*variants: str, **changes: Any) -> TrainConfig:
    """A configuration whose iterations take a moment."""
    usual: dict[str, Any] = {
        "tables": 32,
        "threads": 2,
        "precision": "fp32",
        "network": TINY,
        "critic": TINY,
        "decisions": 20_000,
        "ppo": PPOConfig(minibatch_size=256),
    }
    return TrainConfig(variants=variants, **usual | changes)


def parameters(run: Trainer) -> list[np.ndarray]:
    """All of them, of actor and critic."""
    modules = (run.actor, run.critic)
    return [parameter.detach().numpy().copy() for module in modules for parameter in module.parameters()]


def after(config: TrainConfig, iterations: int) -> list[np.ndarray]:
    """The parameters after some iterations from the start."""
    run = Trainer(config)
    for _ in range(iterations):
        run.iterate()
    run.close()
    return parameters(run)


def equal(one: list[np.ndarray], other: list[np.ndarray]) -> bool:
    return all((a == b).all() for a, b in zip(one, other, strict=True))


def one_card_bids(run: Trainer) -> dict[int, set[int]]:
    """What the first caller bids with each rank, when the policy is not sampled from."""
    pool = TablePool(run.rule_sets, [0], 512, seed=99)
    pool.deal(0)
    first = pool.batch.seat.astype(np.int64)
    held = pool.batch.tables.hands[np.arange(512), first]
    choose = AtTables(run.player(run.actor, greedy=True), np.random.default_rng(0))
    play(pool, [choose], np.zeros((512, 7), np.int64))
    calls = pool.batch.tables.call[np.arange(512), first] - 1
    ranks = np.log2(held).astype(int)
    return {int(rank): set(calls[ranks == rank].tolist()) for rank in np.unique(ranks)}


def test_the_right_bid_of_a_game_of_one_card_is_learnt() -> None:
    """Two seats, one suit of 13 cards, one card each; the last caller may not make the calls add up to one.

    So the second caller must call what the first did. If the first wins with probability p, calling 1 brings 11 p - 11 (1 - p)
    more than the other gets, and calling 0 brings 9 (1 - p) - 9 p: with p above 1/2, 1 is right, and below it 0. A card of
    place k (of 0 to 12) wins with p = k / 12.
    """
    short = ("ranks=13", "suits=1", "start_cards=1", "hook=true")
    settings = PPOConfig(minibatch_size=256, learning_rate=3e-3, ent_coef_call=0.02)
    run = Trainer(tiny("big_ships", seats=(2,), option=short, tables=256, ppo=settings))
    assert len(one_card_bids(run)) == 13
    for _ in range(40):
        run.iterate()
    bids = one_card_bids(run)
    run.close()
    assert NUMBER + 1 in run.encoding.choices
    for rank in (0, 1, 2, 3, 4, 8, 9, 10, 11, 12):
        assert bids[rank] == {int(rank > 6)}, f"place {rank} of 12"


def test_figures_of_an_iteration_are_there() -> None:
    run = Trainer(tiny("down_up"))
    figures = run.iterate()
    run.close()
    losses = "approx_kl", "clipfrac", "value_loss", "calibration_error", "calibration/10/return", "entropy/call", "entropy/play"
    for name in ("charts/SPS", "charts/learning_rate", "charts/seconds/learn", *(f"losses/{name}" for name in losses)):
        assert np.isfinite(figures[name]), name
    assert min(figures[f"charts/seconds/{part}"] for part in ("play", "network")) > 0
    assert 0.9 < figures["losses/entropy/play"] < 1.1  # the first policy is nearly uniform
    parts = [figures[f"rollout/down_up_4/bid/{what}"] for what in ("hit", "over", "under")]
    assert sum(parts) == pytest.approx(1)
    assert 0 < parts[0] < 1


def test_games_of_other_numbers_of_seats_are_learnt_together() -> None:
    run = Trainer(tiny("noms", "big_ships", seats=(4, 7)))
    assert len({worker.pool.batch.points.shape[1] for worker in run.workers}) == 2
    assert np.isfinite(run.iterate()["losses/value_loss"])
    run.close()


def test_calibration_by_hand() -> None:
    value = np.repeat(np.arange(10, dtype=np.float32), 3)[::-1].copy()
    paid = value.copy()
    paid[value == 9] += [1, 2, 3]  # the highest decile is too low by 2, so the root mean square is 2 / sqrt(10)
    found = critic_figures(torch.from_numpy(value), torch.from_numpy(paid))
    assert found["losses/calibration_error"] == pytest.approx(2 / np.sqrt(10))
    assert [found[f"losses/calibration/{k}/value"] for k in range(1, 11)] == list(range(10))
    assert [found[f"losses/calibration/{k}/return"] for k in (1, 9, 10)] == [0, 8, 11]
    assert list(critic_figures(torch.zeros(9), torch.zeros(9))) == ["losses/explained_variance"]


def test_explained_variance_and_entropy_by_hand() -> None:
    reward = torch.tensor([1.0, -1.0, 2.0, -2.0])
    assert explained_variance(reward, reward) == 1
    assert explained_variance(torch.zeros(4), reward) == 0
    assert explained_variance(reward / 2, reward) == pytest.approx(0.75)
    run = Trainer(tiny("down_up"))
    decisions = _decisions(run)
    run.close()
    half = replace(decisions, log_prob=torch.full((len(decisions),), np.log(0.5)))
    expected = np.mean(np.log(2) / np.log(decisions.mask[decisions.phase == 3].sum(1).numpy()))
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
def test_a_resumed_run_equals_one_that_was_never_stopped(changes: dict[str, Any]) -> None:
    variants = changes.pop("variants")
    config = tiny(*variants, **changes)
    first = Trainer(config)
    for _ in range(2):
        first.iterate()
    state = first.state()
    first.close()
    again = Trainer(config)
    assert not equal(parameters(again), parameters(first))
    again.restore(state)
    for _ in range(2):
        again.iterate()
    again.close()
    assert equal(parameters(again), after(config, 4))
    assert again.decisions > first.decisions
    assert again.reward_scale.state_dict() != first.reward_scale.state_dict()


def test_another_seed_is_another_run() -> None:
    one, other = tiny("down_up", seed=1), tiny("down_up", seed=2)
    assert equal(after(one, 1), after(one, 1))
    assert not equal(after(one, 1), after(other, 1))


def test_thumb_is_in_a_run_what_it_was_at_its_beginning() -> None:
    opponents = OpponentsConfig(share=0.5, players=("thumb", "thumb:2"))
    players = Trainer(tiny("down_up", opponents=opponents, thumb_version=1)).players
    made = {name: spec.make() for name, spec in players.items()}
    assert {name: getattr(player, "version", None) for name, player in made.items()} == {"thumb": 1, "thumb:2": 2}
    assert [spec.name for spec in players.values()] == ["thumb", "thumb:2"], "as logs and policies know them"


def test_opponents_sit_at_the_tables_once_they_are_to_come() -> None:
    config = tiny("down_up", opponents=OpponentsConfig(share=0.5, start=0.0, players=("random",)))
    run = Trainer(config)
    run.past["000"] = run.actor
    drawn = set()
    for run.iteration in range(20):
        drawn |= {run.draw_opponent(worker, schedule.at(0.0, config)) for worker in run.workers}
    assert drawn == {"random", "000"}
    figures = run.iterate()
    run.close()
    assert np.isfinite(figures["losses/approx_kl"])
    alone = Trainer(tiny("down_up", opponents=OpponentsConfig(share=0.5, start=1.0, players=("random",))))
    alone.iteration = run.iteration
    assert all(alone.draw_opponent(worker, schedule.at(0.0, alone.config)) is None for worker in alone.workers)
    fewer, more = (len(_decisions(which)) for which in (run, alone))
    assert fewer < more
    alone.close()


def _decisions(run: Trainer) -> Rollout:
    """The decisions from which an iteration learns."""
    played = [run.collect(worker, schedule.at(run.progress, run.config)) for worker in run.workers]
    return make_rollout(played, run.rule_set, run.encoding, run.config.privileged_critic, run.device)


def _log_policy(run: Trainer, decisions: Rollout) -> Tensor:
    """Logarithms of the probabilities of its actions, float32, shape (decisions, choices)."""
    return masked(run.actor.frozen()(decisions.features, decisions.mask), decisions.mask).log_softmax(-1)


def test_an_imitated_expert_plays_and_the_policy_comes_to_play_like_it() -> None:
    def agreement(run: Trainer) -> tuple[float, float]:
        """Probability that the policy gives to thumb's decisions, and to one drawn at random."""
        decisions = _decisions(run)
        policy, taken = _log_policy(run, decisions).exp(), decisions.choice[:, None]
        assert (decisions.mask.gather(1, taken) == 1).all()
        return float(policy.gather(1, taken).mean()), float((1 / decisions.mask.sum(1)).mean())

    settings = PPOConfig(minibatch_size=256, learning_rate=3e-3)
    imitation = CurriculumConfig(expert=("thumb",), imitation=1.0)
    alone = OpponentsConfig(start=0.0)
    run = Trainer(tiny("down_up", curriculum=imitation, ppo=settings, decisions=10**6, opponents=alone))
    before, chance = agreement(run)
    assert before == pytest.approx(chance, abs=0.05)
    for _ in range(40):
        figures = run.iterate()
    afterwards, chance = agreement(run)
    run.close()
    assert afterwards > chance + 0.05
    assert figures["losses/approx_kl"] == figures["losses/clipfrac"] == 0
    assert figures["losses/policy_loss"] > 0


@pytest.mark.parametrize(
    ("matches", "expected"),
    [
        (0.25, [(False, {"down_up": 16, "noms": 12}), (True, {"noms": 4})]),
        (1.0, [(False, {"down_up": 16}), (True, {"noms": 16})]),
    ],
)
def test_matches_and_single_deals_of_noms(matches: float, expected: list[tuple[bool, dict[str, int]]]) -> None:
    run = Trainer(tiny("down_up", "noms", threads=1, curriculum=CurriculumConfig(matches=matches)))
    found = []
    for worker in run.workers:
        counts = np.bincount(worker.pool.rule_set, minlength=2)
        games = {kind.variant.name: int(count) for kind, count in zip(run.rule_sets, counts, strict=True) if count > 0}
        found.append((worker.pool.in_matches, games))
    assert found == expected
    figures = run.iterate()
    run.close()
    assert np.isfinite(figures["losses/approx_kl"])


@pytest.fixture(scope="module")
def first_policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The policy of a run of one iteration."""
    return save_first_policy(tmp_path_factory.mktemp("first"))


def save_first_policy(folder: Path, network: ActorConfig = TINY) -> Path:
    """The policy of a run of one iteration."""
    run = Trainer(tiny("down_up", network=network))
    run.iterate()
    run.close()
    write_policy(folder / "policy.safetensors", run.actor, run, None)
    return folder


@pytest.mark.parametrize("temperature", ["", "@0"])
def test_of_a_policy_as_expert_all_probabilities_are_known(first_policy: Path, temperature: str) -> None:
    imitation = CurriculumConfig(expert=(f"{first_policy}{temperature}",), imitation=1.0)
    run = Trainer(tiny("down_up", curriculum=imitation, opponents=OpponentsConfig(start=0.0)))
    decisions = _decisions(run)
    expert = Trainer(tiny("down_up", initial_policy=str(first_policy)))
    expected = _log_policy(expert, decisions).exp()
    expert.close()
    run.close()
    assert decisions.expert_probs is not None
    if temperature:
        assert (decisions.expert_probs.argmax(1) == decisions.choice).all()
        assert (decisions.expert_probs.amax(1) == 1).all()
    else:
        np.testing.assert_allclose(decisions.expert_probs, expected.numpy(), atol=1e-5)
        assert (decisions.expert_probs.argmax(1) != decisions.choice).any()
    np.testing.assert_allclose(decisions.expert_probs.sum(1), 1, atol=1e-5)


def test_a_run_can_begin_with_a_policy_which_waits_for_the_critic(first_policy: Path) -> None:
    _, _, tensors = read_policy(first_policy / "policy.safetensors")
    run = Trainer(tiny("down_up", seed=1, initial_policy=str(first_policy), curriculum=CurriculumConfig(critic_warmup=0.15)))
    begun = {name: tensor.numpy().copy() for name, tensor in run.actor.state_dict().items()}
    assert begun.keys() == tensors.keys()
    assert all((begun[name] == tensors[name]).all() for name in begun)
    changes = []
    while run.progress < 0.3:
        waits, critic = run.progress < 0.15, [parameter.detach().clone() for parameter in run.critic.parameters()]
        figures = run.iterate()
        assert ("losses/policy_loss" in figures) is not waits
        assert any((one != other).any() for one, other in zip(critic, run.critic.parameters(), strict=True))
        assert all((begun[name] == tensor.numpy()).all() for name, tensor in run.actor.state_dict().items()) is waits
        changes.append(waits)
    run.close()
    assert set(changes) == {True, False}


def test_a_run_can_begin_with_a_policy_for_more_tables_than_its_own(tmp_path: Path) -> None:
    more = Trainer(tiny("down_up", "big_ships", seats=(3, 4)))
    write_policy(tmp_path / "policy.safetensors", more.actor, more, None)
    more.close()
    run = Trainer(tiny("down_up", seats=(4,), initial_policy=str(tmp_path), curriculum=CurriculumConfig(critic_warmup=0.0)))
    assert run.labels == ["down_up_4"]
    assert run.encoding == more.encoding
    run.iterate()
    write_policy(tmp_path / "later.safetensors", run.actor, run, None)
    run.close()
    player = load_policy(tmp_path / "later.safetensors")
    assert player.rule_sets == more.encoding.rule_sets
    assert not np.array_equal(player.info.training["seats"], (3, 4))


@pytest.mark.parametrize("network", [TINY, ATTENTION], ids=["mlp", "attention"])
def test_a_run_can_begin_with_a_policy_for_fewer_tables_than_its_own(network: ActorConfig, tmp_path: Path) -> None:
    initial = save_first_policy(tmp_path, network=network)
    first = load_policy(initial)
    assert [rules.seats for rules in first.rule_sets] == [4]
    more: dict[str, Any] = {"network": network, "trick_features": True, "curriculum": CurriculumConfig(critic_warmup=0.0)}
    run = Trainer(tiny("down_up", seats=(3, 4), initial_policy=str(initial), **more))
    write_policy(tmp_path / "begun.safetensors", run.actor, run, None)
    run.iterate()
    run.close()
    begun = load_policy(tmp_path / "begun.safetensors")
    assert sorted(rules.seats for rules in begun.rule_sets) == [3, 4]
    batch = noms_env.make_batch("down_up", tables=64, seed=1, episode="deal")
    batch.reset()
    decisions = 0
    while not batch.over.all():
        batch.observe()
        (expected, chosen) = (player.probabilities(batch.observation, batch.mask) for player in (first, begun))
        np.testing.assert_allclose(chosen, expected, atol=1e-6)
        decisions += int((~batch.over).sum())
        batch.step(first.act(batch.observation, batch.mask, np.random.default_rng(decisions)))
    assert decisions > 64


def test_the_critic_learns_in_one_thread_alone_too(first_policy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    threads = []

    def counted(*arguments: Any, **settings: Any) -> dict[str, float]:
        threads.append(torch.get_num_threads())
        return update_critic(*arguments, **settings)

    monkeypatch.setattr("noms_training.learn.ppo.update_critic", counted)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        run = Trainer(
            tiny("down_up", threads=1, initial_policy=str(first_policy), curriculum=CurriculumConfig(critic_warmup=0.15))
        )
        run.iterate()
        run.close()
    finally:
        torch.set_num_threads(before)
    assert threads == [1]


@pytest.mark.parametrize(
    ("config", "what"),
    [
        (tiny("down_up", "up_down"), "must be for the games of the run; .* was trained for down_up"),
        (
            tiny("down_up", network=ActorConfig(width=16, blocks=1, card_width=8, scorer_width=8)),
            "must have the run's kind and size of network",
        ),
        (tiny("down_up", network=ATTENTION), "must have the run's kind and size of network"),
    ],
)
def test_but_not_with_any_policy(first_policy: Path, config: TrainConfig, what: str) -> None:
    with pytest.raises(ValueError, match=what):
        Trainer(replace(config, initial_policy=str(first_policy)))
