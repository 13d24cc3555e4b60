"""Policies as players: equal to torch, and indifferent to the other rows."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from noms_env.core.actions import MOST, NUM_ACTIONS
from noms_env.envs.batch import make_batch
from noms_env.envs.table_groups import TableGroup
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
"""Unequal sizes, of which none fills its tiles."""
SMALL = {"width": 5, "blocks": 1, "card_width": 2, "scorer_width": 0}
ATTENTION: dict[str, Any] = {"kind": "attention", "token_width": 20, "layers": 2, "heads": 4, "card_width": 6}


def rules_of(*variants: str) -> tuple[Rules, ...]:
    """The usual rules of some games."""
    return tuple(make_rules(game(name)) for name in variants)


def make_actor(rule_sets: tuple[Rules, ...], network: dict[str, Any], seed: int = 0, encoding: Encoding | None = None) -> Actor:
    """A network with numbers that leave no part without effect."""
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


def made_player(rule_sets: tuple[Rules, ...], network: dict[str, Any], seed: int = 0) -> tuple[Actor, PolicyPlayer]:
    """The same policy in torch and as a player."""
    actor = make_actor(rule_sets, network, seed)
    return actor, PolicyPlayer(PolicyInfo(rule_sets, network), make_encoding(rule_sets), tensors_of(actor))


def save_small(path: Path, rule_sets: tuple[Rules, ...], **info: Any) -> None:
    """A file with a policy of the smallest network."""
    save_policy(path, tensors_of(make_actor(rule_sets, SMALL)), PolicyInfo(rule_sets, SMALL, **info))


def decisions(rule_sets: tuple[Rules, ...], tables: int, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Observations and masks from random play, each table some decisions into its deal."""
    batch = make_batch([TableGroup(kind.variant.name, kind.seats, kind.options) for kind in rule_sets], tables, seed=seed)
    rng = np.random.default_rng(seed)
    streams, actions = rng.integers(1, 2**32, tables), np.zeros(tables, np.int64)
    batch.reset()
    seen = np.zeros((tables, OBSERVATION_SIZE), np.uint8)
    legal = np.zeros((tables, NUM_ACTIONS), np.int8)
    last = np.arange(tables) % 40
    for moment in range(40):
        batch.observe()
        rows = (last == moment) & ~batch.over
        seen[rows], legal[rows] = batch.observation[rows], batch.mask[rows]
        batch.random_actions(streams, actions)
        batch.step(actions)
    there = legal.any(axis=1)
    return seen[there], legal[there]


def by_torch(actor: Actor, player: PolicyPlayer, seen: np.ndarray, legal: np.ndarray) -> np.ndarray:
    """The probabilities as training reckons them."""
    features, mask, order = player.encoding.encode(seen, legal)
    with torch.no_grad():
        seen_by_it, allowed = torch.from_numpy(features), torch.from_numpy(mask)
        logits = actor(seen_by_it, allowed).masked_fill(allowed == 0, -torch.inf)
    out = np.zeros((len(seen), NUM_ACTIONS), np.float32)
    np.put_along_axis(out, player.encoding.actions[order].astype(np.int64), logits.softmax(1).numpy(), axis=1)
    return out


WIDE: dict[str, Any] = {"width": 256, "blocks": 3, "card_width": 64}
OF_TWO_KINDS: list[tuple[str, dict[str, Any]]] = [(variant, WIDE) for variant in VARIANTS]
OF_TWO_KINDS += [(variant, ATTENTION) for variant in ("nonesuch", "small_ships", "down_up")]


@pytest.mark.parametrize(("variant", "network"), OF_TWO_KINDS)
def test_probabilities_are_those_of_torch(variant: str, network: dict[str, Any]) -> None:
    actor, player = made_player(rules_of(variant), network)
    seen, legal = decisions(player.rule_sets, 300)
    found = player.probabilities(seen, legal)
    assert found.dtype == np.float32
    assert np.abs(found - by_torch(actor, player, seen, legal)).max() < 1e-5
    assert np.abs(found.sum(axis=1) - 1).max() < 1e-6
    assert not found[legal == 0].any()
    assert found.max(axis=1).std() > 0.05, "a network that tells the rows apart"


@pytest.mark.parametrize(
    "network", some_uncompiled([NETWORK, SMALL | {"blocks": 0}, ATTENTION, ATTENTION | {"layers": 1, "heads": 1}], 4)
)
def test_any_size_and_several_games(network: dict[str, Any]) -> None:
    rule_sets = (*rules_of("noms", "down_up"), make_rules(game("nonesuch"), 3))
    actor, player = made_player(rule_sets, network)
    seen, legal = decisions(rule_sets, 60)
    assert np.abs(player.probabilities(seen, legal) - by_torch(actor, player, seen, legal)).max() < 1e-5


def test_scales_are_folded_in() -> None:
    rule_sets = rules_of("small_ships")
    rng = np.random.default_rng(1)
    plain = make_encoding(rule_sets)
    encoding = replace(plain, scale=rng.uniform(0.2, 1, plain.n_features).astype(np.float32))
    actor = make_actor(rule_sets, NETWORK, encoding=encoding)
    player = PolicyPlayer(PolicyInfo(rule_sets, NETWORK), encoding, tensors_of(actor))
    seen, legal = decisions(rule_sets, 100)
    found = player.probabilities(seen, legal)
    assert np.abs(found - by_torch(actor, player, seen, legal)).max() < 1e-5
    other = PolicyPlayer(PolicyInfo(rule_sets, NETWORK), plain, tensors_of(actor))
    assert np.abs(found - other.probabilities(seen, legal)).max() > 0.01


@pytest.fixture(scope="module")
def player() -> PolicyPlayer:
    return made_player(rules_of("small_ships"), NETWORK)[1]


@pytest.fixture(scope="module")
def rows(player: PolicyPlayer) -> tuple[np.ndarray, np.ndarray]:
    return decisions(player.rule_sets, 250)


Rows = tuple[np.ndarray, np.ndarray]


def test_a_row_is_answered_alike_alone_and_among_others(player: PolicyPlayer, rows: Rows) -> None:
    seen, legal = rows
    chances = player.probabilities(seen, legal)
    many = player.act(seen, legal, np.random.default_rng(6))
    rng = np.random.default_rng(6)
    for row in range(len(seen)):
        assert (player.probabilities(seen[row], legal[row]) == chances[row]).all()
        action = player.act(seen[row], legal[row], rng)
        assert type(action) is int
        assert action == many[row]
    assert (player.probabilities(seen[::-1], legal[::-1])[::-1] == chances).all()


def test_a_row_takes_one_number_of_the_stream_also_where_it_has_no_choice(player: PolicyPlayer, rows: Rows) -> None:
    rng, twin = np.random.default_rng(4), np.random.default_rng(4)
    player.act(*rows, rng)
    assert rng.integers(2**63) == twin.integers(2**63, size=len(rows[0]) + 1)[-1]


def test_draws_have_the_probabilities(player: PolicyPlayer, rows: Rows) -> None:
    row = int(np.argmax((player.probabilities(*rows) > 0.1).sum(axis=1)))
    n = 4000
    seen, legal = (np.repeat(part[row : row + 1], n, axis=0) for part in rows)
    for temperature in (1.0, 0.4):
        chances = player.probabilities(rows[0][row], rows[1][row], temperature=temperature).astype(float)
        actions = player.act(seen, legal, np.random.default_rng(1), temperature=temperature)
        found = np.bincount(actions, minlength=NUM_ACTIONS) / n
        assert (np.abs(found - chances) <= 4.5 * np.sqrt(chances * (1 - chances) / n)).all()
        assert (chances > 0.05).sum() >= 2


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
def test_of_equals_the_lowest_action_is_taken() -> None:
    rule_sets = rules_of("big_ships")
    zeros = {name: np.zeros(shape, np.float32) for name, shape in shapes_of(make_encoding(rule_sets), SMALL).items()}
    player = PolicyPlayer(PolicyInfo(rule_sets, SMALL), make_encoding(rule_sets), zeros)
    seen, legal = decisions(rule_sets, 60)
    orders = set(player.encoding.encode(seen, legal)[2].tolist())
    assert len(orders) > 5, "suits are renamed, so the network's order is not the table's"
    assert (player.act(seen, legal, np.random.default_rng(0), temperature=0) == legal.argmax(axis=1)).all()
    assert np.abs(player.probabilities(seen, legal) - legal / legal.sum(axis=1, keepdims=True)).max() < 1e-7


def test_rows_in_which_nobody_is_to_act(player: PolicyPlayer, rows: Rows) -> None:
    seen, legal = np.zeros_like(rows[0][:3]), np.zeros_like(rows[1][:3])
    seen[1], legal[1] = rows[0][0], rows[1][0]
    actions = player.act(seen, legal, np.random.default_rng(0))
    assert [actions[0], actions[2]] == [NOBODY, NOBODY]
    assert legal[1, actions[1]] == 1
    assert player.probabilities(seen, legal).sum(axis=1) == pytest.approx([0, 1, 0])
    assert player.act(seen[0], legal[0], np.random.default_rng(0)) == NOBODY
    assert player.act(seen[:0], legal[:0], np.random.default_rng(0)).shape == (0,)


def test_arrays_of_other_layouts_in_memory(player: PolicyPlayer, rows: Rows) -> None:
    seen, legal = rows
    wanted = player.probabilities(seen, legal)
    locked = seen.copy()
    locked.flags.writeable = False
    wide = np.zeros((len(legal), NUM_ACTIONS + 2), np.int8)
    wide[:, :NUM_ACTIONS] = legal
    for other in (np.asfortranarray(seen), locked):
        assert (player.probabilities(other, legal) == wanted).all()
    for mask in (wide[:, :NUM_ACTIONS], legal.astype(bool), legal.astype(np.int64) << 20):
        assert (player.probabilities(seen, mask) == wanted).all()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda seen, legal: (seen.astype(np.float32), legal), "observation must be uint8 and mask int8, not float32 and int8"),
        (lambda seen, legal: (seen, legal[:, :-1]), "must have shapes"),
        (lambda seen, legal: (seen[1:], legal), "same number of rows"),
    ],
)
def test_arrays_that_are_refused(player: PolicyPlayer, rows: Rows, change: Callable[..., Rows], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        player.act(*change(*rows), np.random.default_rng(0))


@pytest.mark.parametrize("temperature", [-0.1, float("nan"), "1"])
def test_temperatures_that_are_refused(player: PolicyPlayer, rows: Rows, temperature: Any) -> None:
    with pytest.raises(ValueError, match="temperature must be a number from 0 on"):
        player.act(*rows, np.random.default_rng(0), temperature=temperature)


OTHER_TABLES = [
    ("noms", 4, {}, "trained for small_ships with 4 seats; the observation is of noms with 4 seats"),
    ("small_ships", 5, {}, "the observation is of small_ships with 5 seats"),
    ("small_ships", 4, {"misere_value": 9}, "is of small_ships with 4 seats with other options: misere_value$"),
]


@pytest.mark.parametrize(("variant", "seats", "options", "sentence"), OTHER_TABLES)
def test_tables_with_other_rules_are_refused(
    player: PolicyPlayer, rows: Rows, variant: str, seats: int, options: dict[str, Any], sentence: str
) -> None:
    seen, legal = decisions((make_rules(game(variant), seats, options),), 3)
    with pytest.raises(ValueError, match=sentence):
        player.act(seen[0], legal[0], np.random.default_rng(0))
    mixed = (np.concatenate([part[:2], other[:1]]) for part, other in zip(rows, (seen, legal), strict=True))
    with pytest.raises(ValueError, match="row 2 of 3: this policy was trained for"):
        player.probabilities(*mixed)


def test_hands_of_other_sizes_are_refused() -> None:
    _, player = made_player(rules_of("sniped_whist"), SMALL)
    seen, legal = decisions((make_rules(game("sniped_whist"), 4, {"hand_size": 9}),), 1)
    with pytest.raises(ValueError, match=r"is of sniped_whist with 4 seats with hands of 9 cards instead of 13$"):
        player.probabilities(seen, legal)


def test_an_observation_without_a_game_is_refused(player: PolicyPlayer, rows: Rows) -> None:
    with pytest.raises(ValueError, match="is of no game: no variant is marked in it"):
        player.act(np.zeros_like(rows[0][0]), rows[1][0], np.random.default_rng(0))


def test_a_mask_with_an_action_that_is_never_legal_is_refused(player: PolicyPlayer, rows: Rows) -> None:
    legal = rows[1][0].copy()
    legal[MOST] = 1
    with pytest.raises(ValueError, match="the mask allows action 97, which is never legal"):
        player.act(rows[0][0], legal, np.random.default_rng(0))


def test_all_the_rules_of_a_policy_are_known() -> None:
    rule_sets = (*rules_of("small_ships", "down_up"), make_rules(game("small_ships"), 5, {"indication": True}))
    _, player = made_player(rule_sets, SMALL)
    for kind in rule_sets:
        seen, legal = decisions((kind,), 40)
        actions = player.act(seen, legal, np.random.default_rng(0))
        assert (np.take_along_axis(legal, actions[:, np.newaxis], axis=1) == 1).all()
    with pytest.raises(ValueError, match=r"small_ships with 5 seats with other options: indication$"):
        player.probabilities(*decisions((make_rules(game("small_ships"), 5),), 1))
