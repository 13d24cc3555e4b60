"""Distillation from recorded decisions."""

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
from tests.training.fakes import rules
from tests.training.test_ppo import make_actor, make_batch, shuffle
from tests.training.tiny_run import make_config, run_iterations, same_parameters

RULES = rules("down_up", 4, ranks=4)
SOURCE = {"variant": "down_up", "seats": 4, "options": {"ranks": 4}}


def policy_decisions(folder: Path) -> Iterator[Decisions]:
    """Decisions of a policy of the smallest network."""
    save_small(folder / "policy.safetensors", (RULES,))
    policy = agent_spec(str(folder / "policy.safetensors"))
    return (part for part, _ in from_play(RULES, [policy], 4, seed=1, targets=True))


def write_set(folder: Path, file_format: FileFormat = "npz", source: Any = SOURCE) -> str:
    write_shards(policy_decisions(folder), folder / "set", source, file_format, 500, COLUMNS + TARGETS)
    return str(folder / "set")


@pytest.mark.parametrize("file_format", ["npz", "parquet"])
def test_decisions_are_read_as_a_network_sees_them(tmp_path: Path, file_format: FileFormat) -> None:
    encoding = make_encoding((RULES,), card_features=True)
    recorded = RecordedDecisions([write_set(tmp_path, file_format)], encoding, [RULES])
    parts, names = list(policy_decisions(tmp_path)), ("observation", "action_mask", "policy")
    observation, legal, policy = (np.concatenate([part[name] for part in parts]) for name in names)
    has_choice = np.count_nonzero(legal, axis=1) > 1
    features, mask, order = encoding.encode(observation[has_choice], legal[has_choice])
    assert np.array_equal(recorded.features, features)
    assert np.array_equal(recorded.mask, mask)
    assert len(recorded) == has_choice.sum() > 100
    for row in range(0, len(recorded), 37):
        actions = encoding.actions[order[row]]
        np.testing.assert_allclose(recorded.probs[row], policy[has_choice][row, actions], atol=1e-3)
    assert not (recorded.probs * (mask == 0)).any()


def test_a_folder_of_exports_is_read_in_order_of_name(tmp_path: Path) -> None:
    for name, power in {"b": 2, "a": 1, ".unfinished.part": 3}.items():
        policies = ((part, part["policy"] ** power) for part in policy_decisions(tmp_path))
        parts = ({**part, "policy": policy / policy.sum(axis=1, keepdims=True)} for part, policy in policies)
        write_shards(parts, tmp_path / name, SOURCE, "npz", columns=COLUMNS + TARGETS)
    encoding = make_encoding((RULES,))
    first, second, together = (RecordedDecisions([str(tmp_path / name)], encoding, [RULES]).probs for name in ("a", "b", ""))
    assert not np.array_equal(first, second)
    assert np.array_equal(together, np.concatenate([first, second]))


def test_a_batch_depends_on_its_random_generator_alone(tmp_path: Path) -> None:
    recorded = RecordedDecisions([write_set(tmp_path)], make_encoding((RULES,)), [RULES])
    batch, again = (next(recorded.batches(40, 0.5, np.random.default_rng(3), "cpu")) for _ in range(2))
    assert torch.equal(batch.features, again.features)
    assert (batch.coef, batch.probs.dtype, len(batch.mask)) == (0.5, torch.float32, 40)
    np.testing.assert_allclose(batch.probs.sum(1), 1, atol=2e-3)


def test_unusable_decisions_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_policy = ({**part, "policy": part["policy"] * 0} for part in policy_decisions(tmp_path))
    write_shards(without_policy, tmp_path / "no policy", SOURCE, "npz", columns=COLUMNS + TARGETS)
    write_shards(policy_decisions(tmp_path), tmp_path / "no column", SOURCE, "npz")
    write_shards(policy_decisions(tmp_path), tmp_path / "parquet", SOURCE, "parquet")
    others: dict[str, dict[str, Any]] = {"5 seats": {**SOURCE, "seats": 5}, "records": {"files": ["games"]}}
    for name, source in others.items():
        write_shards(policy_decisions(tmp_path), tmp_path / name, source, "npz", columns=COLUMNS + TARGETS)
    monkeypatch.setattr("noms_training.learn.data.shards.require", lacking("pyarrow.parquet"))
    for name, sentence in (
        ("nowhere", "has no decisions"),
        ("no policy", "has a policy: name policies"),
        ("no column", "has no column 'policy'"),
        ("parquet", "reading Parquet needs pyarrow.parquet"),
        *((name, "of tables that this run does not play") for name in others),
    ):
        with pytest.raises((ValueError, MissingExtraError), match=sentence):
            RecordedDecisions([str(tmp_path / name)], make_encoding((RULES,)), [RULES])
    monkeypatch.setattr("noms_training.learn.imitation.MAX_ROWS_OF_RUN", 100)
    with pytest.raises(ValueError, match="more than 100 decisions"):
        RecordedDecisions([write_set(tmp_path)], make_encoding((RULES,)), [RULES])


def test_the_distance_by_hand() -> None:
    legal = torch.tensor([[1, 1, 0], [1, 1, 1]], dtype=torch.int8)
    probs = torch.tensor([[0.25, 0.75, 0.0], [0.0, 0.5, 0.5]])
    logits = torch.tensor([[0.0, 0.0, 5.0], [1.0, 1.0, 1.0]])
    first = 0.25 * math.log(0.25 / 0.5) + 0.75 * math.log(0.75 / 0.5)
    second = math.log(0.5 / (1 / 3))
    distance = distance_from(Recorded(torch.zeros(2, 1), legal, probs, 1.0), logits)
    assert float(distance) == pytest.approx((first + second) / 2)


@pytest.mark.parametrize("coef", [0.0, 5.0])
def test_the_policy_approaches_the_recorded_one(coef: float) -> None:
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


def test_the_coefficient_falls_to_0_and_counts_in_self_play_only() -> None:
    config = TrainConfig(("noms",), curriculum=CurriculumConfig(shards=("there",), distil_coef=2.0, critic_warmup=0.1))
    assert [schedule.at(progress, config).distil_coef for progress in (0.0, 0.25, 1.0)] == [2, 1.5, 0]
    waiting = replace(config, initial_policy="noms")
    assert [schedule.at(progress, waiting).distil_coef for progress in (0.0, 0.25)] == [0, 1.5]
    assert schedule.at(0.0, TrainConfig(("noms",))).distil_coef == 0


def test_a_run_learns_from_recorded_decisions_and_resumes(tmp_path: Path) -> None:
    curriculum = CurriculumConfig(shards=(write_set(tmp_path),), distil_coef=3.0)
    config = make_config("down_up", option=("ranks=4",), curriculum=curriculum, decisions=10**6)
    first, _ = run_iterations(config)
    resumed, _ = run_iterations(config, 11, first.state())
    whole = Trainer(config)
    distances = [whole.iterate()["losses/distillation_kl"] for _ in range(12)]
    whole.close()
    assert np.mean(distances[-3:]) < 0.8 * distances[0]
    assert same_parameters(whole, resumed)
