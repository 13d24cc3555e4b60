"""Training with tables on a GPU, in numba's simulator of one; torch runs on the processor."""

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
"""Options of big ships with few cards."""


def config(variant: str = "big_ships", **changes: Any) -> TrainConfig:
    """Configure a run on a GPU with short iterations."""
    defaults: dict[str, Any] = {
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
    return TrainConfig(variants=(variant,), **defaults | changes)


def collect(run: Trainer) -> Rollout:
    """Collect the rollout of an iteration."""
    now = schedule.at(run.progress, run.config)
    parts = [run.collect(worker, now) for worker in run.workers]
    return make_rollout(parts, run.rule_set, run.encoding, run.config.privileged_critic, run.device)


@pytest.mark.parametrize("variant", ["big_ships", "nonesuch"])
def test_a_rollout_is_that_of_the_processor(variant: str) -> None:
    run = Trainer(config(variant))
    assert (run.tables_on, run.notes) == ("cuda", [])
    run.iteration = 7
    rollout, encoding, seed = collect(run), run.encoding, int(run._stream(DEALS).integers(2**62))
    pool = TablePool(run.rule_sets, [0], 5, seed=run.config.seed, state=True)
    sizes = run.workers[0].pool.batch.save().deal_size.astype(np.int64)
    pool.deal(7, sizes if variant == "big_ships" else None)
    logits = run.actor.frozen()
    counts = np.zeros(5, np.int64)
    while len(rows := np.flatnonzero(pool.goes_on)):
        pool.batch.observe()
        features, mask, order = encoding.encode(pool.batch.observation, pool.batch.mask, rows)
        assert pool.batch.hidden_state is not None
        hidden = encoding.encode_hidden(pool.batch.hidden_state, rows, order)
        expected = logits(torch.from_numpy(features), torch.from_numpy(mask))
        actions = np.zeros(5, np.int64)
        for i, row in enumerate(rows):
            decision = int((rollout.table == int(row)).nonzero()[counts[row]])
            assert rollout.seen[decision].numpy().tolist() == [*features[i], *hidden[i]]
            assert rollout.mask[decision].numpy().tolist() == mask[i].tolist()
            assert rollout.seat[decision] == pool.batch.seat[row]
            assert rollout.phase[decision] == pool.tables[row].phase
            number = uniform(decision_seed(pool.tables[row], np.zeros(MAX_SEATS, np.int64), counts[row], seed))
            choice, log_prob = draw_choice(expected[i].numpy(), mask[i], number)
            assert rollout.choice[decision] == choice
            assert float(rollout.log_prob[decision]) == pytest.approx(float(log_prob), abs=1e-5)
            actions[row] = encoding.actions[order[i], choice]
            counts[row] += 1
        pool.step(actions)
    assert counts.sum() == len(rollout) > 10
    points = relative_points(pool.batch.points, pool.seats)
    assert np.abs(rollout.reward.numpy()[:, : points.shape[1]] - points).max() < 1e-6
    assert run.iterate()["losses/value_loss"] > 0


def test_networks_with_attention_learn() -> None:
    network = ActorConfig(kind="attention", token_width=8, layers=1, heads=2, card_width=4)
    run = Trainer(config(network=network, critic=network))
    assert (run.tables_on, run.notes) == ("cuda", [])
    assert run.iterate()["losses/value_loss"] > 0


def test_a_restored_run_learns_the_same_as_one_that_never_stopped() -> None:
    settings = config("noms", seats=(4,), tables=2, option=("hand_size=4",))
    whole, first, second = (Trainer(settings) for _ in range(3))
    for run in (whole, whole, whole, first, first):
        run.iterate()
    second.restore(first.state())
    second.iterate()
    assert second.decisions == whole.decisions
    for weights, expected in zip(second.actor.parameters(), whole.actor.parameters(), strict=True):
        assert torch.equal(weights, expected)
    assert [worker.pool.in_matches for worker in whole.workers] == [False, True]


def test_a_run_with_opponents_evaluates_and_ends(tmp_path: Path) -> None:
    opponents = OpponentsConfig(share=1.0, start=0.0, past=2, players=("thumb", "random"))
    settings = config(decisions=60, tables=3, opponents=opponents, evaluate_every=30, evaluation_deals=2)
    with RunFolder.create(tmp_path / "run", settings.as_dict()) as folder, Log(folder.path) as log:
        assert loop.train(settings, folder, log)
    assert (tmp_path / "run" / "policy.safetensors").exists()
    assert len([*(tmp_path / "run" / "past").iterdir()]) == 2
    assert {"eval/points/big_ships_3/random", "charts/SPS", "losses/entropy/play"} <= set(read_log(tmp_path / "run"))


@pytest.mark.parametrize("players", [("thumb",), ()], ids=["thumb", "past"])
def test_with_opponents_alone_a_rollout_has_the_decisions_of_one_seat_per_table(players: tuple[str, ...]) -> None:
    run = Trainer(config(opponents=OpponentsConfig(share=1.0, start=0.0, players=players, alone=True)))
    if not players:
        run.past = {"past": run.new_actor()}
    rollout = collect(run)
    for table in range(5):
        assert len(set(rollout.seat[rollout.table == table].tolist())) <= 1
    assert len(set(rollout.seat.tolist())) > 1


def test_evaluations_measure_the_same_as_on_the_processor() -> None:
    run = Trainer(config(panel=("thumb",)))
    gpu, cpu = (
        figures(run.rule_sets, run.hero(device, True), [run.spec("thumb", device)], 2, seed=1) for device in ("cuda", "cpu")
    )
    assert gpu == pytest.approx(cpu)
    assert run.panel()[0].device == "cuda"


def test_runs_that_cannot_use_a_gpu_say_so_and_use_the_processor() -> None:
    imitation = Trainer(config(curriculum=CurriculumConfig(expert=("thumb",))))
    own_player = Trainer(config(opponents=OpponentsConfig(share=1.0, players=("tests.training.fakes:LowestCard",))))
    cases = ((imitation, "thumb can be imitated on the processor only"), (own_player, "plays on the processor only"))
    for run, reason in cases:
        assert run.tables_on == "cpu"
        assert reason in run.notes[0]
        run.iterate()
        run.close()


def test_scoring_all_cards_gives_the_legal_ones_the_same_scores() -> None:
    run = Trainer(config())
    scorer = run.actor.scorer
    assert scorer is not None
    rollout = collect(run)
    choices = rollout.mask.shape[1]
    with torch.no_grad():
        outputs = torch.randn(len(rollout), choices + 4)
        legal_only, everything = (scorer.folded(all_)(outputs, rollout.features, rollout.mask) for all_ in (False, True))
    legal = rollout.mask.bool()
    assert torch.allclose(legal_only[legal], everything[legal], atol=1e-5)
    assert not torch.allclose(legal_only[legal], outputs[:, :choices][legal])
