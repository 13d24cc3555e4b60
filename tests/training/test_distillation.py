"""Distillation: recorded decisions are read as a network sees them, and the policy comes nearer to who took them."""

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from noms_env.policy.encoding import make_encoding
from noms_env.variants import game, make_rules
from noms_training.agents.registry import agent_spec
from noms_training.extras import MissingExtraError
from noms_training.learn import schedule
from noms_training.learn.config import CurriculumConfig, PPOConfig, TrainConfig
from noms_training.learn.data.decisions import COLUMNS, TARGETS, Decisions, from_play
from noms_training.learn.data.shards import FileFormat, write_shards
from noms_training.learn.imitation import Recorded, RecordedDecisions, distance_from
from noms_training.learn.ppo import Trainable, update_actor
from noms_training.learn.train import Trainer
from tests.commands import lacking
from tests.policy.test_player import save_small
from tests.training.test_ppo import make_actor, make_batch, shuffle
from tests.training.test_self_play import equal, parameters, tiny

RULES = make_rules(game("down_up"), 4, {"ranks": 4})
SOURCE = {"variant": "down_up", "seats": 4, "options": {"ranks": 4}}


def decided(folder: Path, *players: str) -> Iterator[Decisions]:
    """Decisions of a policy of the smallest network, or of some players."""
    save_small(folder / "policy.safetensors", (RULES,))
    names = players or (str(folder / "policy.safetensors"),)
    return (part for part, _ in from_play(RULES, [agent_spec(name) for name in names], 4, seed=1, targets=True))


def written(folder: Path, file_format: FileFormat = "npz", source: Any = SOURCE) -> str:
    write_shards(decided(folder), folder / "set", source, file_format, 500, COLUMNS + TARGETS)
    return str(folder / "set")


@pytest.mark.parametrize("file_format", ["npz", "parquet"])
def test_decisions_are_read_as_a_network_sees_them(tmp_path: Path, file_format: FileFormat) -> None:
    encoding = make_encoding((RULES,), card_features=True)
    found = RecordedDecisions([written(tmp_path, file_format)], encoding, [RULES])
    parts = list(decided(tmp_path))
    seen, legal, policy = (np.concatenate([part[name] for part in parts]) for name in ("observation", "action_mask", "policy"))
    chosen = np.count_nonzero(legal, axis=1) > 1
    features, mask, order = encoding.encode(seen[chosen], legal[chosen])
    assert np.array_equal(found.features, features)
    assert np.array_equal(found.mask, mask)
    assert len(found) == chosen.sum() > 100
    for row in range(0, len(found), 37):
        actions = encoding.actions[order[row]]
        np.testing.assert_allclose(found.probs[row], policy[chosen][row, actions], atol=1e-3)
    assert not (found.probs * (mask == 0)).any()


def test_a_folder_of_exports_stands_for_them_by_name(tmp_path: Path) -> None:
    def sharpened(policy: np.ndarray, power: int) -> np.ndarray:
        raised = policy**power
        shares: np.ndarray = raised / raised.sum(axis=1, keepdims=True)
        return shares

    for name, power in {"b": 2, "a": 1, ".unfinished.part": 3}.items():
        parts = ({**part, "policy": sharpened(part["policy"], power)} for part in decided(tmp_path))
        write_shards(parts, tmp_path / name, SOURCE, "npz", columns=COLUMNS + TARGETS)
    encoding = make_encoding((RULES,))
    one, other, together = (RecordedDecisions([str(tmp_path / name)], encoding, [RULES]).probs for name in ("a", "b", ""))
    assert not np.array_equal(one, other)
    assert np.array_equal(together, np.concatenate([one, other]))


def test_more_decisions_than_memory_may_hold_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("noms_training.learn.imitation.MOST_IN_ALL", 100)
    with pytest.raises(ValueError, match="hold more than 100 decisions with a choice: name fewer folders"):
        RecordedDecisions([written(tmp_path)], make_encoding((RULES,)), [RULES])


def test_a_batch_is_drawn_with_its_random_numbers(tmp_path: Path) -> None:
    recorded = RecordedDecisions([written(tmp_path)], make_encoding((RULES,)), [RULES])
    one, again = (next(recorded.batches(40, 0.5, np.random.default_rng(3), "cpu")) for _ in range(2))
    assert torch.equal(one.features, again.features)
    assert (one.coef, one.probs.dtype, len(one.mask)) == (0.5, torch.float32, 40)
    np.testing.assert_allclose(one.probs.sum(1), 1, atol=2e-3)


def test_what_cannot_be_learnt_from_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    untold = ({**part, "policy": part["policy"] * 0} for part in decided(tmp_path))
    write_shards(untold, tmp_path / "untold", SOURCE, "npz", columns=COLUMNS + TARGETS)
    write_shards(decided(tmp_path), tmp_path / "plain", SOURCE, "npz")
    write_shards(decided(tmp_path), tmp_path / "parquet", SOURCE, "parquet")
    others: list[dict[str, Any]] = [{**SOURCE, "seats": 5}, {"files": ["games"]}]
    for number, source in enumerate(others):
        write_shards(decided(tmp_path), tmp_path / f"of other tables {number}", source, "npz", columns=COLUMNS + TARGETS)
    monkeypatch.setattr("noms_training.learn.data.shards.require", lacking("pyarrow.parquet"))
    for name, sentence in (
        ("nowhere", "has no decisions"),
        ("untold", "has a policy: name policies"),
        ("plain", "has no column 'policy'"),
        ("parquet", "reading Parquet needs pyarrow.parquet"),
        ("of other tables 0", "of tables that this run does not play"),
        ("of other tables 1", "of tables that this run does not play"),
    ):
        with pytest.raises((ValueError, MissingExtraError), match=sentence):
            RecordedDecisions([str(tmp_path / name)], make_encoding((RULES,)), [RULES])


def test_the_distance_by_hand() -> None:
    legal = torch.tensor([[1, 1, 0], [1, 1, 1]], dtype=torch.int8)
    probs = torch.tensor([[0.25, 0.75, 0.0], [0.0, 0.5, 0.5]])
    logits = torch.tensor([[0.0, 0.0, 5.0], [1.0, 1.0, 1.0]])
    first = 0.25 * math.log(0.25 / 0.5) + 0.75 * math.log(0.75 / 0.5)
    second = math.log(0.5 / (1 / 3))
    distance = distance_from(Recorded(torch.zeros(2, 1), legal, probs, 1.0), logits)
    assert float(distance) == pytest.approx((first + second) / 2)


@pytest.mark.parametrize("coef", [0.0, 5.0])
def test_the_policy_comes_nearer_to_the_recorded_one(coef: float) -> None:
    batch, actor = make_batch(64), make_actor()
    probs = torch.zeros(batch.mask.shape).scatter_(1, batch.mask.int().argmax(1, keepdim=True), 1.0)  # the first legal choice
    recorded = Recorded(batch.features, batch.mask, probs, coef)
    optimizer = torch.optim.Adam(actor.parameters(), lr=0.01)
    settings = PPOConfig(update_epochs=40, minibatch_size=64, target_kl=0.0)
    before = float(distance_from(recorded, actor(recorded.features, recorded.mask)).detach())
    figures = update_actor(Trainable(actor, optimizer), batch, shuffle(64, 64), settings, repeat(recorded))
    after = float(distance_from(recorded, actor(recorded.features, recorded.mask)).detach())
    assert figures["losses/distillation_kl"] > 0
    assert (after < before / 4) == (coef > 0)


def test_its_coefficient_falls_to_nothing_and_counts_in_self_play_only() -> None:
    config = TrainConfig(("noms",), curriculum=CurriculumConfig(shards=("there",), distil_coef=2.0, critic_warmup=0.1))
    assert [schedule.at(progress, config).distil_coef for progress in (0.0, 0.25, 1.0)] == [2, 1.5, 0]
    waiting = replace(config, initial_policy="noms")
    assert [schedule.at(progress, waiting).distil_coef for progress in (0.0, 0.25)] == [0, 1.5]
    assert schedule.at(0.0, TrainConfig(("noms",))).distil_coef == 0


def config(folder: Path, **changes: Any) -> TrainConfig:
    curriculum = CurriculumConfig(shards=(written(folder),), distil_coef=3.0)
    return tiny("down_up", option=("ranks=4",), curriculum=curriculum, decisions=10**6, **changes)


def test_a_run_learns_from_recorded_decisions(tmp_path: Path) -> None:
    run = Trainer(config(tmp_path))
    distances = [run.iterate()["losses/distillation_kl"] for _ in range(12)]
    run.close()
    assert np.mean(distances[-3:]) < 0.8 * distances[0]


def test_a_resumed_run_draws_the_same_decisions(tmp_path: Path) -> None:
    settings = config(tmp_path)
    whole, first, second = Trainer(settings), Trainer(settings), Trainer(settings)
    for run in (whole, whole, first):
        run.iterate()
    second.restore(first.state())
    second.iterate()
    for run in (whole, first, second):
        run.close()
    assert equal(parameters(whole), parameters(second))
