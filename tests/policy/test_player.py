"""Policies as players: equal to torch, and independent of the other rows."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from noms_env.core.actions import MOST, NUM_ACTIONS
from noms_env.envs.batch import TableGroup, make_batch
from noms_env.observation.layout import OBSERVATION_SIZE
from noms_env.players import NOBODY
from noms_env.policy.encoding import Encoding, make_encoding
from noms_env.policy.file import PolicyInfo, save_policy
from noms_env.policy.inference import shapes_of
from noms_env.policy.player import PolicyPlayer
from noms_env.variants import VARIANTS, Rules, game, make_rules
from noms_training.learn.config import ActorConfig
from noms_training.learn.network import Actor
from tests.cases import some_uncompiled

NETWORK = {"width": 40, "blocks": 2, "card_width": 6, "scorer_width": 7}
"""Unequal sizes; none is a multiple of the tile size."""
SMALL = {"width": 5, "blocks": 1, "card_width": 2, "scorer_width": 0}
ATTENTION: dict[str, Any] = {"kind": "attention", "token_width": 20, "layers": 2, "heads": 4, "card_width": 6}


def rules_of(*variants: str) -> tuple[Rules, ...]:
    """Return the default rules of some games."""
    return tuple(make_rules(game(name)) for name in variants)


def make_actor(rule_sets: tuple[Rules, ...], network: dict[str, Any], seed: int = 0, encoding: Encoding | None = None) -> Actor:
    """Return a network in which every part has an effect."""
    encoding = encoding or make_encoding(rule_sets)
    torch.manual_seed(seed)
    actor = Actor.of(encoding, ActorConfig(**network))
    with torch.no_grad():
        for name, parameter in actor.named_parameters():
            if parameter.ndim == 1:
                parameter.add_(torch.randn_like(parameter) * 0.3)
            elif name.startswith(("head.", "scorer.")):
                parameter.mul_(20)
    return actor


def tensors_of(actor: Actor) -> dict[str, np.ndarray]:
    return {name: tensor.numpy() for name, tensor in actor.state_dict().items()}


def make_small_player(rule_sets: tuple[Rules, ...], network: dict[str, Any], seed: int = 0) -> tuple[Actor, PolicyPlayer]:
    """Return the same policy in torch and as a player."""
    actor = make_actor(rule_sets, network, seed)
    return actor, PolicyPlayer(PolicyInfo(rule_sets, network), make_encoding(rule_sets), tensors_of(actor))


def save_small(path: Path, rule_sets: tuple[Rules, ...], **info: Any) -> None:
    """Save a policy with the smallest network."""
    save_policy(path, tensors_of(make_actor(rule_sets, SMALL)), PolicyInfo(rule_sets, SMALL, **info))


def decisions(rule_sets: tuple[Rules, ...], tables: int, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Return observations and masks from random play, each table at another decision of its deal."""
    batch = make_batch([TableGroup(kind.variant.name, kind.seats, kind.options) for kind in rule_sets], tables, seed=seed)
    rng = np.random.default_rng(seed)
    streams, actions = rng.integers(1, 2**32, tables), np.zeros(tables, np.int64)
    batch.reset()
    observation = np.zeros((tables, OBSERVATION_SIZE), np.uint8)
    legal = np.zeros((tables, NUM_ACTIONS), np.int8)
    last = np.arange(tables) % 40
    for moment in range(40):
        batch.observe()
        rows = (last == moment) & ~batch.over
        observation[rows], legal[rows] = batch.observation[rows], batch.mask[rows]
        batch.random_actions(streams, actions)
        batch.step(actions)
    has_decision = legal.any(axis=1)
    return observation[has_decision], legal[has_decision]


def by_torch(actor: Actor, player: PolicyPlayer, observation: np.ndarray, legal: np.ndarray) -> np.ndarray:
    """Return the probabilities as training computes them."""
    features, mask, order = player.encoding.encode(observation, legal)
    with torch.no_grad():
        allowed = torch.from_numpy(mask)
        logits = actor(torch.from_numpy(features), allowed).masked_fill(allowed == 0, -torch.inf)
    out = np.zeros((len(observation), NUM_ACTIONS), np.float32)
    np.put_along_axis(out, player.encoding.actions[order].astype(np.int64), logits.softmax(1).numpy(), axis=1)
    return out


WIDE: dict[str, Any] = {"width": 256, "blocks": 3, "card_width": 64}
OF_TWO_KINDS: list[tuple[str, dict[str, Any]]] = [(variant, WIDE) for variant in VARIANTS]
OF_TWO_KINDS += [(variant, ATTENTION) for variant in ("nonesuch", "small_ships", "down_up")]


@pytest.mark.parametrize(("variant", "network"), OF_TWO_KINDS)
def test_probabilities_are_those_of_torch(variant: str, network: dict[str, Any]) -> None:
    actor, player = make_small_player(rules_of(variant), network)
    observation, legal = decisions(player.rule_sets, 300)
    probabilities = player.probabilities(observation, legal)
    assert probabilities.dtype == np.float32
    assert np.abs(probabilities - by_torch(actor, player, observation, legal)).max() < 1e-5
    assert np.abs(probabilities.sum(axis=1) - 1).max() < 1e-6
    assert not probabilities[legal == 0].any()
    assert probabilities.max(axis=1).std() > 0.05, "the rows have different answers"


@pytest.mark.parametrize(
    "network", some_uncompiled([NETWORK, SMALL | {"blocks": 0}, ATTENTION, ATTENTION | {"layers": 1, "heads": 1}], 4)
)
def test_networks_of_any_size_for_several_games_are_those_of_torch(network: dict[str, Any]) -> None:
    rule_sets = (*rules_of("noms", "down_up"), make_rules(game("nonesuch"), 3))
    actor, player = make_small_player(rule_sets, network)
    observation, legal = decisions(rule_sets, 60)
    assert np.abs(player.probabilities(observation, legal) - by_torch(actor, player, observation, legal)).max() < 1e-5


def test_the_scales_of_features_are_applied() -> None:
    rule_sets = rules_of("small_ships")
    rng = np.random.default_rng(1)
    plain = make_encoding(rule_sets)
    encoding = replace(plain, scale=rng.uniform(0.2, 1, plain.n_features).astype(np.float32))
    actor = make_actor(rule_sets, NETWORK, encoding=encoding)
    player = PolicyPlayer(PolicyInfo(rule_sets, NETWORK), encoding, tensors_of(actor))
    observation, legal = decisions(rule_sets, 100)
    probabilities = player.probabilities(observation, legal)
    assert np.abs(probabilities - by_torch(actor, player, observation, legal)).max() < 1e-5
    unscaled = PolicyPlayer(PolicyInfo(rule_sets, NETWORK), plain, tensors_of(actor))
    assert np.abs(probabilities - unscaled.probabilities(observation, legal)).max() > 0.01


@pytest.fixture(scope="module")
def player() -> PolicyPlayer:
    return make_small_player(rules_of("small_ships"), NETWORK)[1]


Rows = tuple[np.ndarray, np.ndarray]


@pytest.fixture(scope="module")
def rows(player: PolicyPlayer) -> Rows:
    return decisions(player.rule_sets, 250)


def test_a_row_has_the_same_answer_alone_and_in_a_batch(player: PolicyPlayer, rows: Rows) -> None:
    observation, legal = rows
    probabilities = player.probabilities(observation, legal)
    together = player.act(observation, legal, np.random.default_rng(6))
    rng = np.random.default_rng(6)
    for row in range(len(observation)):
        assert (player.probabilities(observation[row], legal[row]) == probabilities[row]).all()
        action = player.act(observation[row], legal[row], rng)
        assert type(action) is int
        assert action == together[row]
    assert (player.probabilities(observation[::-1], legal[::-1])[::-1] == probabilities).all()


def test_each_row_takes_one_number_of_the_stream_even_without_a_choice(player: PolicyPlayer, rows: Rows) -> None:
    rng, twin = np.random.default_rng(4), np.random.default_rng(4)
    player.act(*rows, rng)
    assert rng.integers(2**63) == twin.integers(2**63, size=len(rows[0]) + 1)[-1]


def test_actions_are_drawn_with_the_probabilities(player: PolicyPlayer, rows: Rows) -> None:
    row = int(np.argmax((player.probabilities(*rows) > 0.1).sum(axis=1)))
    n = 4000
    observation, legal = (np.repeat(part[row : row + 1], n, axis=0) for part in rows)
    for temperature in (1.0, 0.4):
        expected = player.probabilities(rows[0][row], rows[1][row], temperature=temperature).astype(float)
        actions = player.act(observation, legal, np.random.default_rng(1), temperature=temperature)
        shares = np.bincount(actions, minlength=NUM_ACTIONS) / n
        assert (np.abs(shares - expected) <= 4.5 * np.sqrt(expected * (1 - expected) / n)).all()
        assert (expected > 0.05).sum() >= 2


def test_temperature_divides_the_logits(player: PolicyPlayer, rows: Rows) -> None:
    usual = player.probabilities(*rows).astype(float)
    cold = player.probabilities(*rows, temperature=0.5)
    squared = usual**2 / (usual**2).sum(axis=1, keepdims=True)
    assert np.abs(cold - squared).max() < 1e-6
    greedy = player.probabilities(*rows, temperature=0)
    assert (greedy.argmax(axis=1) == usual.argmax(axis=1)).all()
    assert sorted(set(greedy.ravel())) == [0, 1]
    assert (greedy.sum(axis=1) == 1).all()


@pytest.mark.uncompiled
def test_temperature_0_takes_the_lowest_of_equally_probable_actions() -> None:
    rule_sets = rules_of("big_ships")
    zeros = {name: np.zeros(shape, np.float32) for name, shape in shapes_of(make_encoding(rule_sets), SMALL).items()}
    player = PolicyPlayer(PolicyInfo(rule_sets, SMALL), make_encoding(rule_sets), zeros)
    observation, legal = decisions(rule_sets, 60)
    orders = set(player.encoding.encode(observation, legal)[2].tolist())
    assert len(orders) > 5, "suits are renamed, so the network has another order of actions"
    assert (player.act(observation, legal, np.random.default_rng(0), temperature=0) == legal.argmax(axis=1)).all()
    assert np.abs(player.probabilities(observation, legal) - legal / legal.sum(axis=1, keepdims=True)).max() < 1e-7


def test_nobody_acts_in_rows_without_legal_actions(player: PolicyPlayer, rows: Rows) -> None:
    observation, legal = np.zeros_like(rows[0][:3]), np.zeros_like(rows[1][:3])
    observation[1], legal[1] = rows[0][0], rows[1][0]
    actions = player.act(observation, legal, np.random.default_rng(0))
    assert [actions[0], actions[2]] == [NOBODY, NOBODY]
    assert legal[1, actions[1]] == 1
    assert player.probabilities(observation, legal).sum(axis=1) == pytest.approx([0, 1, 0])
    assert player.act(observation[0], legal[0], np.random.default_rng(0)) == NOBODY
    assert player.act(observation[:0], legal[:0], np.random.default_rng(0)).shape == (0,)


def test_the_memory_layout_of_arrays_does_not_matter(player: PolicyPlayer, rows: Rows) -> None:
    observation, legal = rows
    expected = player.probabilities(observation, legal)
    locked = observation.copy()
    locked.flags.writeable = False
    wide = np.zeros((len(legal), NUM_ACTIONS + 2), np.int8)
    wide[:, :NUM_ACTIONS] = legal
    for same in (np.asfortranarray(observation), locked):
        assert (player.probabilities(same, legal) == expected).all()
    for mask in (wide[:, :NUM_ACTIONS], legal.astype(bool), legal.astype(np.int64) << 20):
        assert (player.probabilities(observation, mask) == expected).all()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda observation, legal: (observation.astype(np.float32), legal), "uint8 and mask int8, not float32 and int8"),
        (lambda observation, legal: (observation, legal[:, :-1]), "must have shapes"),
        (lambda observation, legal: (observation[1:], legal), "same number of rows"),
        (lambda observation, legal: (np.zeros_like(observation), legal), "no variant is marked"),
        (lambda observation, legal: (observation, legal | (np.arange(NUM_ACTIONS) == MOST)), "action 97, which is never legal"),
    ],
)
def test_wrong_arrays_are_refused(player: PolicyPlayer, rows: Rows, change: Callable[..., Rows], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        player.act(*change(*rows), np.random.default_rng(0))


@pytest.mark.parametrize("temperature", [-0.1, float("nan"), "1"])
def test_a_wrong_temperature_is_refused(player: PolicyPlayer, rows: Rows, temperature: Any) -> None:
    with pytest.raises(ValueError, match="temperature must be a number from 0"):
        player.act(*rows, np.random.default_rng(0), temperature=temperature)


@pytest.mark.parametrize(
    ("variant", "seats", "options", "sentence"),
    [
        ("noms", 4, {}, "trained for small_ships with 4 seats; .* of noms with 4 seats"),
        ("small_ships", 5, {}, "of small_ships with 5 seats"),
        ("small_ships", 4, {"misere_value": 9}, "other options: misere_value$"),
    ],
)
def test_a_table_with_other_rules_is_refused(
    player: PolicyPlayer, rows: Rows, variant: str, seats: int, options: dict[str, Any], sentence: str
) -> None:
    observation, legal = decisions((make_rules(game(variant), seats, options),), 3)
    with pytest.raises(ValueError, match=sentence):
        player.act(observation[0], legal[0], np.random.default_rng(0))
    mixed = (np.concatenate([part[:2], other[:1]]) for part, other in zip(rows, (observation, legal), strict=True))
    with pytest.raises(ValueError, match="row 2 of 3: "):
        player.probabilities(*mixed)


def test_a_hand_of_another_size_is_refused() -> None:
    _, player = make_small_player(rules_of("sniped_whist"), SMALL)
    observation, legal = decisions((make_rules(game("sniped_whist"), 4, {"hand_size": 9}),), 1)
    with pytest.raises(ValueError, match=r"hands of 9 cards instead of 13$"):
        player.probabilities(observation, legal)


def test_a_policy_plays_by_each_of_its_rule_sets() -> None:
    rule_sets = (*rules_of("small_ships", "down_up"), make_rules(game("small_ships"), 5, {"indication": True}))
    _, player = make_small_player(rule_sets, SMALL)
    for kind in rule_sets:
        observation, legal = decisions((kind,), 40)
        actions = player.act(observation, legal, np.random.default_rng(0))
        assert (np.take_along_axis(legal, actions[:, np.newaxis], axis=1) == 1).all()
    with pytest.raises(ValueError, match=r"5 seats with other options: indication$"):
        player.probabilities(*decisions((make_rules(game("small_ships"), 5),), 1))
