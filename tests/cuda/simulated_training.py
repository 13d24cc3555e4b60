"""Tests of training with tables on a GPU; they run in numba's simulator of one, with torch on the processor."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from noms_env.core.state import MAX_SEATS
from noms_env.players.protocol import decision_seed
from noms_env.policy.inference_kernels import draw_choice, uniform
from noms_training.agents.table_pool import TablePool, relative_points
from noms_training.evaluation.comparison import figures
from noms_training.learn import loop, schedule
from noms_training.learn.checkpoint import RunFolder
from noms_training.learn.collect import Rollout, make_rollout
from noms_training.learn.config import ActorConfig, CurriculumConfig, OpponentsConfig, PPOConfig, TrainConfig
from noms_training.learn.log import Log, read_log
from noms_training.learn.train import DEALS, Trainer

NETWORK = ActorConfig(width=8, blocks=1, card_width=4, scorer_width=4)
SHORT = ("ranks=6", "suits=2", "start_cards=2")
"""Of big ships: few cards, so that a deal takes a moment."""


def config(variant: str = "big_ships", **changes: Any) -> TrainConfig:
    """A run on a GPU whose iterations take a moment."""
    usual: dict[str, Any] = {
        "seats": (3,) if variant == "big_ships" else (),
        "option": SHORT if variant == "big_ships" else (),
        "tables": 5,
        "device": "cuda",
        "precision": "fp32",
        "network": NETWORK,
        "critic": NETWORK,
        "decisions": 100_000,
        "ppo": PPOConfig(minibatch_size=16),
        "panel": ("random",),
    }
    return TrainConfig(variants=(variant,), **usual | changes)


def rollout_of(run: Trainer) -> Rollout:
    """What an iteration collects."""
    now = schedule.at(run.progress, run.config)
    parts = [run.collect(worker, now) for worker in run.workers]
    return make_rollout(parts, run.rule_set, run.encoding, run.config.privileged_critic, run.device)


@pytest.mark.parametrize("variant", ["big_ships", "nonesuch"])
def test_what_is_collected_is_what_the_processors_tables_show(variant: str) -> None:
    run = Trainer(config(variant))
    assert run.tables_on == "cuda"
    assert run.notes == []
    run.iteration = 7
    batch, encoding, seed = rollout_of(run), run.encoding, int(run._stream(DEALS).integers(2**62))
    pool = TablePool(run.rule_sets, [0], 5, seed=run.config.seed, state=True)
    sizes = np.zeros(5, np.int64) if variant != "big_ships" else run.workers[0].pool.batch.save().deal_size.astype(np.int64)
    pool.deal(7, sizes if variant == "big_ships" else None)
    logits = run.actor.frozen()
    where, taken = np.zeros(5, np.int64), 0
    while len(rows := np.flatnonzero(pool.goes_on)):
        pool.batch.observe()
        features, mask, order = encoding.encode(pool.batch.observation, pool.batch.mask, rows)
        assert pool.batch.hidden_state is not None
        hidden = encoding.encode_hidden(pool.batch.hidden_state, rows, order)
        expected = logits(torch.from_numpy(features), torch.from_numpy(mask))
        actions = np.zeros(5, np.int64)
        for i, row in enumerate(rows):
            decision = int((batch.table == int(row)).nonzero()[where[row]])
            assert batch.seen[decision].numpy().tolist() == [*features[i], *hidden[i]]
            assert batch.mask[decision].numpy().tolist() == mask[i].tolist()
            assert batch.seat[decision] == pool.batch.seat[row]
            assert batch.phase[decision] == pool.tables[row].phase
            drawn = uniform(decision_seed(pool.tables[row], np.zeros(MAX_SEATS, np.int64), where[row], seed))
            choice, log_prob = draw_choice(expected[i].numpy(), mask[i], drawn)
            assert batch.choice[decision] == choice
            assert float(batch.log_prob[decision]) == pytest.approx(float(log_prob), abs=1e-5)
            actions[row] = encoding.actions[order[i], choice]
            where[row] += 1
            taken += 1
        pool.step(actions)
    assert taken == len(batch) > 10
    points = relative_points(pool.batch.points, pool.seats)
    assert np.abs(batch.reward.numpy()[:, : points.shape[1]] - points).max() < 1e-6
    assert run.iterate()["losses/value_loss"] > 0


def test_networks_with_attention_learn() -> None:
    network = ActorConfig(kind="attention", token_width=8, layers=1, heads=2, card_width=4)
    run = Trainer(config(network=network, critic=network))
    assert (run.tables_on, run.notes) == ("cuda", [])
    assert run.iterate()["losses/value_loss"] > 0


def test_a_run_goes_on_as_if_it_had_never_stopped() -> None:
    settings = config("noms", seats=(4,), tables=2, option=("hand_size=4",))
    alone, first, second = (Trainer(settings) for _ in range(3))
    for _ in range(3):
        alone.iterate()
    first.iterate()
    first.iterate()
    second.restore(first.state())
    second.iterate()
    assert second.decisions == alone.decisions
    for one, other in zip(alone.actor.parameters(), second.actor.parameters(), strict=True):
        assert torch.equal(one, other)
    assert [worker.pool.in_matches for worker in alone.workers] == [False, True]


def test_a_run_with_opponents_evaluates_and_ends(tmp_path: Path) -> None:
    opponents = OpponentsConfig(share=1.0, start=0.0, past=2, players=("thumb", "random"))
    settings = config(decisions=60, tables=3, opponents=opponents, evaluate_every=30, evaluation_deals=2)
    with RunFolder.create(tmp_path / "run", settings.as_dict()) as folder, Log(folder.path) as log:
        assert loop.train(settings, folder, log)
    assert (tmp_path / "run" / "policy.safetensors").exists()
    assert len([*(tmp_path / "run" / "past").iterdir()]) == 2
    assert {"eval/points/big_ships_3/random", "charts/SPS", "losses/entropy/play"} <= set(read_log(tmp_path / "run"))


@pytest.mark.parametrize("name", ["thumb", "past"])
def test_the_learner_keeps_its_own_decisions_alone(name: str) -> None:
    run = Trainer(config(opponents=OpponentsConfig(share=1.0, start=0.0, players=("thumb",), alone=True)))
    if name == "past":
        run.config = config(opponents=OpponentsConfig(share=1.0, start=0.0, alone=True))
        run.past = {"past": run.new_actor()}
    batch = rollout_of(run)
    for table in range(5):
        assert len(set(batch.seat[batch.table == table].tolist())) <= 1
    assert len(set(batch.seat.tolist())) > 1


def test_evaluations_find_what_the_processor_finds() -> None:
    run = Trainer(config(panel=("thumb",)))
    found = [
        figures(run.rule_sets, run.hero(device, True), [run.spec("thumb", device)], 2, seed=1) for device in ("cuda", "cpu")
    ]
    assert found[0] == pytest.approx(found[1])
    assert run.panel()[0].device == "cuda"


def test_what_cannot_be_on_a_gpu_is_said_and_stays_on_the_processor() -> None:
    imitated = Trainer(config(curriculum=CurriculumConfig(expert=("thumb",))))
    own = Trainer(config(opponents=OpponentsConfig(share=1.0, players=("tests.training.fakes:LowestCard",))))
    for run, reason in ((imitated, "thumb can be imitated on the processor only"), (own, "plays on the processor only")):
        assert run.tables_on == "cpu"
        assert reason in run.notes[0]
        run.iterate()
        run.close()


def test_all_cards_are_scored_as_the_legal_ones_are() -> None:
    run = Trainer(config())
    scorer = run.actor.scorer
    assert scorer is not None
    batch = rollout_of(run)
    choices = batch.mask.shape[1]
    with torch.no_grad():
        outputs = torch.randn(len(batch), choices + 4)
        some, everything = (scorer.folded(scores)(outputs, batch.features, batch.mask) for scores in (False, True))
    legal = batch.mask.bool()
    assert torch.allclose(some[legal], everything[legal], atol=1e-5)
    assert not torch.allclose(some[legal], outputs[:, :choices][legal])
