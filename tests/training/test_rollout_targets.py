"""What every action comes to: against the rules themselves, with all cards known; and that a policy learns from it."""

import copy
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from noms_env import Table
from noms_env.core.actions import NOMINATE, NUM_ACTIONS
from noms_env.engine.row_kernels import kernel_view
from noms_env.players.rule_based.heuristics import new_workspaces
from noms_env.players.rule_based.player import thumb_rows
from noms_env.players.search.solver import solve
from noms_env.policy.encoding import make_encoding
from noms_env.policy.file import PolicyInfo, save_policy
from tests.begun import begun
from training.config import CurriculumConfig, NetworkConfig, PPOConfig, TrainConfig
from training.learn.rollout_targets import RolloutTargets
from training.learn.self_play import SelfPlay


def values_at(table: Table) -> np.ndarray:
    """What the actions at a table come to, float32, shape (NUM_ACTIONS,)."""
    encoding = make_encoding([table.rules])
    observation, mask = table.view(int(table.row.seat))
    _, _, order = encoding.encode(observation[np.newaxis], mask[np.newaxis])
    batch: Any = SimpleNamespace(tables=table._rows)
    before = table._rows.tobytes()
    values = np.zeros(NUM_ACTIONS, np.float32)
    values[encoding.actions[order[0]]] = RolloutTargets(encoding).action_values(batch, np.zeros(1, np.int64), order)[0]
    assert table._rows.tobytes() == before, "the table is left as it is"
    return values


def by_hand(table: Table, action: int) -> float:
    """The same of one action: it is taken, `thumb` calls for the others, and once cards are played everybody plays best."""
    seat, copied = int(table.row.seat), copy.deepcopy(table)
    if table.phase == "play":
        return solve(table)[action][seat]
    copied.step(action)
    chosen = np.empty(1, np.int64)
    while copied.phase != "play":
        thumb_rows(kernel_view(copied._rows), new_workspaces(), chosen)
        copied.step(int(chosen[0]))
    mover = int(copied.row.seat)
    return max(solve(copied).values(), key=lambda worth: worth[mover])[seat]


@pytest.mark.parametrize("seats", [3, 4])
def test_calls_and_cards_of_small_hands_are_worth_what_the_rules_and_the_solver_say(seats: int) -> None:
    rng = np.random.default_rng(seats)
    seen: set[str] = set()
    for seed in range(12):
        table = begun(Table("big_ships", seats, {"start_cards": 3}, seed=seed))
        while not table.is_scored:
            legal = np.flatnonzero(table.view(int(table.row.seat))[1])
            if len(legal) > 1:
                seen.add(str(table.phase))
                values = values_at(table)
                expected = {int(action): by_hand(table, int(action)) for action in legal}
                assert {action: pytest.approx(values[action], abs=1e-5) for action in expected} == expected
                assert not np.delete(values, legal).any()
            table.step(int(rng.choice(legal)))
    assert seen == {"call", "play"}


def test_cards_that_are_alike_are_worth_the_same_and_every_nomination_is_tried() -> None:
    rng = np.random.default_rng(4)
    nominations, alike = 0, 0
    for seed in range(6):
        table = begun(Table("noms", 4, seed=seed))
        while not table.is_scored:
            legal = np.flatnonzero(table.view(int(table.row.seat))[1])
            values = values_at(table)
            assert np.isfinite(values).all()
            if table.phase == "nominate":
                nominations += 1
                assert len(np.unique(values[legal[legal >= NOMINATE]])) > 1, "it matters who is nominated"
            neighbours = [card for card in legal if card + 1 in legal and card % 13 < 12 and table.phase == "play"]
            for card in neighbours:
                if table.row.nominated not in (card, card + 1):
                    alike += 1
                    assert values[card] == values[card + 1]
            lowest_bid_first = table.phase == "call" and table.row.high_call < 0 and len(legal) > 1
            table.step(int(legal[1] if lowest_bid_first else legal[0] if table.phase == "call" else rng.choice(legal)))
    assert nominations > 2
    assert alike > 100


def config(**changes: Any) -> TrainConfig:
    """A small run that only tries out."""
    small: dict[str, Any] = {
        "variants": ("sniped_whist",),
        "option": ("hand_size=4",),
        "decisions": 1_000_000,
        "batch_size": 3000,
        "threads": 1,
        "device": "cpu",
        "network": NetworkConfig(32, 1, 8),
        "critic": NetworkConfig(16, 1, 8),
        "ppo": PPOConfig(update_epochs=2, minibatch_size=256, learning_rate=3e-3),
        "curriculum": CurriculumConfig(rollout_targets=1.0),
    }
    return TrainConfig(**small | changes)


def test_a_policy_learns_from_them() -> None:
    run = SelfPlay(config())
    losses = [run.iterate()["policy_loss"] for _ in range(16)]
    run.close()
    assert np.mean(losses[-4:]) < np.mean(losses[:2]) - 0.05, losses


def test_with_hints_a_run_begins_near_thumb() -> None:
    with_hints, without = (SelfPlay(config(rule_based_prior=prior)) for prior in (True, False))
    found = [run.iterate()["entropy/play"] for run in (with_hints, without)]
    assert found[0] < found[1] - 0.1
    for run in (with_hints, without):
        run.close()


def test_thumb_sits_at_most_tables_meanwhile_and_nothing_is_tried_afterwards() -> None:
    run = SelfPlay(config(curriculum=CurriculumConfig(rollout_targets=0.5)))
    worker = run.workers[0]
    played = run.collect(worker)
    assert played.decisions.action_values is not None
    assert played.decisions.action_values.shape == (len(played.decisions), run.encoding.n_choices)
    assert len(played.decisions) < 0.7 * len(worker.pool) * 4 * 3, "others sit at some of the seats"
    run.decisions = run.config.decisions // 2
    assert run.collect(worker).decisions.action_values is None
    run.close()


def test_a_run_that_begins_with_a_policy_tries_nothing(tmp_path: Path) -> None:
    first = SelfPlay(config())
    tensors = {name: tensor.numpy() for name, tensor in first.actor.state_dict().items()}
    info = PolicyInfo(tuple(first.rule_sets), asdict(first.config.network), card_features=True)
    save_policy(tmp_path / "policy.safetensors", tensors, info)
    first.close()
    run = SelfPlay(config(initial_policy=str(tmp_path)))
    assert run.collect(run.workers[0]).decisions.action_values is None
    run.close()
