"""Policies as players: equal to torch, indifferent to the other rows, and safe to load."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save, save_file

import noms_env
import training
from noms_env.actions import NUM_ACTIONS
from noms_env.engine import layout
from noms_env.engine.layout import OBSERVATION_SIZE, layout_digest
from noms_env.envs.batch import make_batch
from noms_env.players import NOBODY, policy, policy_file, which_rules
from noms_env.players.encoding import Encoding, make_encoding
from noms_env.players.forward import Forward, shapes_of
from noms_env.players.policy import PolicyPlayer, load_player
from noms_env.players.policy_file import (
    KEY,
    PolicyFileError,
    PolicyInfo,
    given_options,
    read_policy,
    save_policy,
    write_atomically,
)
from noms_env.players.products import (
    LANES,
    PANEL,
    SIDE_BY_SIDE,
    TILE,
    as_panels,
    multiply,
    multiply_needed,
    multiply_sparse,
)
from noms_env.rules import Rules, game, make_rules
from noms_env.state import VARIANTS
from tests.envs.play import KINDS
from training.config import NetworkConfig
from training.evaluate import contestant
from training.network import Actor

NETWORK = {"width": 40, "blocks": 2, "card_width": 6}
"""Unequal sizes, of which none fills its tiles."""
SMALL = {"width": 5, "blocks": 1, "card_width": 2}


def rules_of(*variants: str) -> tuple[Rules, ...]:
    """The usual rules of some games."""
    return tuple(make_rules(game(name)) for name in variants)


def make_actor(kinds: tuple[Rules, ...], network: dict[str, int], seed: int = 0, encoding: Encoding | None = None) -> Actor:
    """A network with numbers that leave no part without effect."""
    encoding = encoding or make_encoding(kinds)
    torch.manual_seed(seed)
    choices = torch.tensor(encoding.choices.astype(np.int64))
    actor = Actor(torch.tensor(encoding.scale), choices, NetworkConfig(**network), encoding.hints)
    with torch.no_grad():
        for name, parameter in actor.named_parameters():
            if parameter.ndim == 1:
                parameter.add_(torch.randn_like(parameter) * 0.3)
            elif name.startswith("head."):
                parameter.mul_(20)
    return actor


def tensors_of(actor: Actor) -> dict[str, np.ndarray]:
    """Its parameters as arrays."""
    return {name: tensor.numpy() for name, tensor in actor.state_dict().items()}


def made_player(kinds: tuple[Rules, ...], network: dict[str, int], seed: int = 0) -> tuple[Actor, PolicyPlayer]:
    """The same policy in torch and as a player."""
    actor = make_actor(kinds, network, seed)
    return actor, PolicyPlayer(PolicyInfo(kinds, network), make_encoding(kinds), tensors_of(actor))


def decisions(kinds: tuple[Rules, ...], tables: int, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Observations and masks from random play, each table some decisions into its deal."""
    batch = make_batch([(kind.variant.name, kind.seats, kind.options, 1.0) for kind in kinds], tables, seed=seed)
    rng = np.random.default_rng(seed)
    streams, actions = rng.integers(1, 2**32, tables), np.zeros(tables, np.int64)
    batch.deal()
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
        logits = actor(torch.from_numpy(features)).masked_fill(torch.from_numpy(mask) == 0, -torch.inf)
    out = np.zeros((len(seen), NUM_ACTIONS), np.float32)
    np.put_along_axis(out, player.encoding.actions[order].astype(np.int64), logits.softmax(1).numpy(), axis=1)
    return out


# ---------------------------------------------------------------------------------------------- equal to torch


@pytest.mark.parametrize("variant", VARIANTS)
def test_probabilities_are_those_of_torch(variant: str) -> None:
    actor, player = made_player(rules_of(variant), {"width": 256, "blocks": 3, "card_width": 64})
    seen, legal = decisions(player.kinds, 300)
    found = player.probabilities(seen, legal)
    assert found.dtype == np.float32
    assert np.abs(found - by_torch(actor, player, seen, legal)).max() < 1e-5
    assert np.abs(found.sum(axis=1) - 1).max() < 1e-6
    assert not found[legal == 0].any()
    assert found.max(axis=1).std() > 0.05, "a network that tells the rows apart"


@pytest.mark.uncompiled
@pytest.mark.parametrize("network", [NETWORK, SMALL | {"blocks": 0}, {"width": 64, "blocks": 1, "card_width": 3}])
def test_any_size_and_several_games(network: dict[str, int]) -> None:
    kinds = (*rules_of("noms", "down_up"), make_rules(game("nonesuch"), 3))
    actor, player = made_player(kinds, network)
    seen, legal = decisions(kinds, 60)
    assert np.abs(player.probabilities(seen, legal) - by_torch(actor, player, seen, legal)).max() < 1e-5


def test_scales_are_folded_in() -> None:
    kinds = rules_of("small_ships")
    rng = np.random.default_rng(1)
    plain = make_encoding(kinds)
    encoding = replace(plain, scale=rng.uniform(0.2, 1, plain.n_features).astype(np.float32))
    actor = make_actor(kinds, NETWORK, encoding=encoding)
    player = PolicyPlayer(PolicyInfo(kinds, NETWORK), encoding, tensors_of(actor))
    seen, legal = decisions(kinds, 100)
    found = player.probabilities(seen, legal)
    assert np.abs(found - by_torch(actor, player, seen, legal)).max() < 1e-5
    other = PolicyPlayer(PolicyInfo(kinds, NETWORK), plain, tensors_of(actor))
    assert np.abs(found - other.probabilities(seen, legal)).max() > 0.01


@pytest.mark.uncompiled
def test_products_by_tiles() -> None:
    rng = np.random.default_rng(0)
    weight = rng.normal(size=(2 * PANEL + 3, 21)).astype(np.float32)
    x = rng.normal(size=(15, 24)).astype(np.float32)
    panels = as_panels(weight)
    assert panels.shape == (3, 21, PANEL)
    assert PANEL == 2 * LANES
    for rows in (1, 5, 6, 14):
        y = np.full((15, 3 * PANEL + 1), 7, np.float32)
        multiply(x, rows, panels, y)
        assert np.abs(y[:rows, : len(weight)] - x[:rows, :21] @ weight.T).max() < 1e-5
        assert (y[rows:] == 7).all()
        assert (y[:, 3 * PANEL :] == 7).all()


def test_rows_are_multiplied_alike_alone_and_in_a_tile() -> None:
    rng = np.random.default_rng(0)
    panels = as_panels(rng.normal(size=(PANEL, 200)).astype(np.float32))
    x = rng.normal(size=(TILE, 200)).astype(np.float32)
    y, alone = np.zeros((TILE, PANEL), np.float32), np.zeros((1, PANEL), np.float32)
    multiply(x, TILE, panels, y)
    for row in range(TILE):
        multiply(x[row : row + 1], 1, panels, alone)
        assert (alone[0] == y[row]).all()


@pytest.mark.uncompiled
def test_only_the_columns_that_are_needed_are_reckoned() -> None:
    rng = np.random.default_rng(0)
    panels = as_panels(rng.normal(size=(3 * PANEL, 21)).astype(np.float32))
    x = rng.normal(size=(2 * TILE + 2, 21)).astype(np.float32)
    whole = np.zeros((len(x), 3 * PANEL), np.float32)
    multiply(x, len(x), panels, whole)
    needed = np.zeros(len(x), np.int64)
    needed[[0, TILE - 1, 2 * TILE]] = 0b100, 0b001, 0b010
    y = np.full_like(whole, 7)
    multiply_needed(x, len(x), panels, needed, y)
    reckoned = np.zeros((len(x), 3), bool)
    reckoned[:TILE, [0, 2]] = reckoned[2 * TILE, 1] = True
    assert (y == np.where(np.repeat(reckoned, PANEL, axis=1), whole, 7)).all()


@pytest.mark.uncompiled
def test_sparse_products() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(9, 300)).astype(np.float32) * (rng.random((9, 300)) < 0.1)
    x[4] = 0
    weight = rng.normal(size=(PANEL + 3, 300)).astype(np.float32)
    places, amounts, starts = [], [], [0]
    for row in x:
        there = np.flatnonzero(row)
        filled = max(SIDE_BY_SIDE, -(-len(there) // SIDE_BY_SIDE) * SIDE_BY_SIDE)
        places.append(np.resize(there, filled) if len(there) else np.full(filled, 299))
        amounts.append(np.r_[row[there], np.zeros(filled - len(there))])
        starts.append(starts[-1] + filled)
    y = np.full((len(x) + 1, 2 * PANEL + 1), 7, np.float32)
    sparse = np.concatenate(places).astype(np.uint16), np.concatenate(amounts).astype(np.float32), np.array(starts)
    multiply_sparse(*sparse, len(x), as_panels(weight), y)
    assert np.abs(y[:9, : len(weight)] - x @ weight.T).max() < 1e-5
    assert (y[9:] == 7).all()
    assert (y[:, 2 * PANEL :] == 7).all()


def test_hand_sizes_follow_the_deals() -> None:
    assert which_rules.hand_sizes(make_rules(game("nonesuch"), 3)) == {12}
    assert which_rules.hand_sizes(make_rules(game("small_ships"), 4, {"hand_size": 9})) == {9}
    assert which_rules.hand_sizes(make_rules(game("down_up"), 4)) == set(range(1, 11))


# ---------------------------------------------------------------------------------------------- how it acts


@pytest.fixture(scope="module")
def player() -> PolicyPlayer:
    return made_player(rules_of("small_ships"), NETWORK)[1]


@pytest.fixture(scope="module")
def rows(player: PolicyPlayer) -> tuple[np.ndarray, np.ndarray]:
    return decisions(player.kinds, 250)


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


@pytest.mark.uncompiled
def test_draws_have_the_probabilities(player: PolicyPlayer, rows: Rows) -> None:
    row = int(np.argmax((player.probabilities(*rows) > 0.1).sum(axis=1)))
    n = 4000 if noms_env._jit.COMPILED else 300
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


def test_greedy_takes_the_most_probable_and_draws_nothing(player: PolicyPlayer, rows: Rows) -> None:
    rng = np.random.default_rng(0)
    actions = player.act(*rows, rng, temperature=0)
    assert (actions == player.probabilities(*rows).argmax(axis=1)).all()
    assert rng.integers(2**63) == np.random.default_rng(0).integers(2**63)


@pytest.mark.uncompiled
def test_of_equals_the_lowest_action_is_taken() -> None:
    kinds = rules_of("big_ships")
    zeros = {name: np.zeros(shape, np.float32) for name, shape in shapes_of(make_encoding(kinds).n_features, SMALL).items()}
    player = PolicyPlayer(PolicyInfo(kinds, SMALL), make_encoding(kinds), zeros)
    seen, legal = decisions(kinds, 60)
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
        (lambda seen, legal: (seen, legal * 0.5), "not uint8 and float64"),
        (lambda seen, legal: (seen[:, :-1], legal), "must have shapes"),
        (lambda seen, legal: (seen, legal[:, :-1]), "must have shapes"),
        (lambda seen, legal: (seen[0], legal), "as many rows"),
        (lambda seen, legal: (seen[1:], legal), "as many rows"),
    ],
)
def test_arrays_that_are_refused(player: PolicyPlayer, rows: Rows, change: Callable[..., Rows], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        player.act(*change(*rows), np.random.default_rng(0))


@pytest.mark.parametrize("temperature", [-0.1, float("nan"), float("inf"), "warm", None])
def test_temperatures_that_are_refused(player: PolicyPlayer, rows: Rows, temperature: Any) -> None:
    with pytest.raises(ValueError, match="temperature must be a number from 0 on"):
        player.act(*rows, np.random.default_rng(0), temperature=temperature)


OTHER_TABLES = [
    ("noms", 4, {}, "trained for small_ships with 4 seats; the observation is of noms with 4 seats"),
    ("small_ships", 5, {}, "the observation is of small_ships with 5 seats"),
    ("small_ships", 4, {"misere_value": 9}, "is of small_ships with 4 seats with other options: misere_value$"),
]


@pytest.mark.uncompiled
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
    legal[noms_env.actions.MOST] = 1
    with pytest.raises(ValueError, match="the mask allows action 97, which is never legal"):
        player.act(rows[0][0], legal, np.random.default_rng(0))


def test_all_the_rules_of_a_policy_are_known() -> None:
    kinds = (*rules_of("small_ships", "down_up"), make_rules(game("small_ships"), 5, {"indication": True}))
    _, player = made_player(kinds, SMALL)
    for kind in kinds:
        seen, legal = decisions((kind,), 40)
        actions = player.act(seen, legal, np.random.default_rng(0))
        assert (np.take_along_axis(legal, actions[:, np.newaxis], axis=1) == 1).all()
    with pytest.raises(ValueError, match=r"small_ships with 5 seats with other options: indication$"):
        player.probabilities(*decisions((make_rules(game("small_ships"), 5),), 1))


# ---------------------------------------------------------------------------------------------- its file

INFO = PolicyInfo(
    (*rules_of("up_down"), make_rules(game("up_down"), 3, {"schedule": "up", "ranks": 7})),
    SMALL,
    training={"ppo": {"clip": 0.2}},
    seed=11,
    decisions=1234,
    score=0.75,
    revision="v1-2-gabc",
)


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("policy") / "policy.safetensors"
    save_policy(path, tensors_of(make_actor(INFO.kinds, SMALL)), INFO)
    return path


def test_what_is_written_is_read(good: Path) -> None:
    info, encoding, tensors = read_policy(good)
    assert info == INFO
    assert info.packages["numpy"] == np.__version__
    assert encoding.digest == make_encoding(INFO.kinds).digest
    wanted = tensors_of(make_actor(INFO.kinds, SMALL))
    assert {name: tensor.tobytes() for name, tensor in tensors.items()} == {
        name: tensor.tobytes() for name, tensor in wanted.items()
    }
    assert set(load_file(good)) == set(wanted), "an ordinary safetensors file"
    seen, legal = decisions(INFO.kinds, 20)
    one, other = load_player(good), noms_env.load_player(str(good.parent))
    assert (one.probabilities(seen, legal) == other.probabilities(seen, legal)).all()
    assert training.load_player(good).info == INFO


def test_the_names_of_the_tensors_are_those_of_the_network() -> None:
    for network in (NETWORK, SMALL | {"blocks": 0}):
        actor = make_actor(rules_of("noms"), network)
        shapes = {name: tuple(tensor.shape) for name, tensor in actor.state_dict().items()}
        assert shapes == shapes_of(make_encoding(rules_of("noms")).n_features, network)


@pytest.mark.parametrize("name", KINDS)
def test_the_options_given_make_the_same_rules(name: str) -> None:
    kind = KINDS[name]
    rules = make_rules(game(kind.variant), kind.seats, kind.options)
    given = given_options(rules)
    assert make_rules(rules.variant, rules.seats, json.loads(json.dumps(given))) == rules
    assert set(given) <= set(kind.options)


def rewritten(
    path: Path,
    target: Path,
    change: Callable[[dict[str, Any]], object] = lambda document: None,
    tensors: Callable[[dict[str, np.ndarray]], object] = lambda tensors: None,
) -> Path:
    """A copy of a file with a change, with a SHA-256 that fits."""
    arrays = {name: tensor.copy() for name, tensor in load_file(path).items()}
    document = document_of(path)
    change(document)
    tensors(arrays)
    document["sha256"] = policy_file._digest(document, arrays)
    save_file(arrays, target, {KEY: policy_file._text(document)})
    return target


def document_of(path: Path) -> dict[str, Any]:
    """The JSON document of a file."""
    content = path.read_bytes()
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    document: dict[str, Any] = json.loads(header["__metadata__"][KEY])
    return document


def test_a_rewritten_file_is_fine(good: Path, tmp_path: Path) -> None:
    assert read_policy(rewritten(good, tmp_path / "same"))[0] == INFO


def setter(**values: Any) -> Callable[[dict[str, Any]], object]:
    """What puts values into a dictionary."""
    return lambda document: document.update(values)


DOCUMENTS = {
    "format": (
        setter(format="noms-policy/2"),
        "has the format 'noms-policy/2'; this version of noms-env reads 'noms-policy/1'",
    ),
    "environment": (setter(environment=99), "was made for version 99 of the environments; this is version 0"),
    "layout": (setter(layout="0" * 64), "another layout of observations or actions"),
    "encoding": (setter(encoding="0" * 64), "another encoding of observations"),
    "entry missing": (lambda document: document.pop("seed"), "is damaged"),
    "entry added": (setter(extra=1), "is damaged"),
    "seed": (setter(seed="five"), "says 'five' for seed"),
    "revision": (setter(revision=5), "says 5 for revision"),
    "training": (setter(training=[]), r"says \[\] for training"),
    "kinds: none": (setter(kinds=[]), "does not say for which games"),
    "kinds: too many": (setter(kinds=[{"variant": "noms", "seats": 4, "options": {}}] * 1001), "does not say for which games"),
    "kinds: strange": (setter(kinds=["noms"]), "does not say for which games"),
    "kinds: unknown": (setter(kinds=[{"variant": "skat", "seats": 3, "options": {}}]), "there is no variant 'skat'"),
    "kinds: seats": (setter(kinds=[{"variant": "noms", "seats": [], "options": {}}]), "played with"),
    "kinds: options": (setter(kinds=[{"variant": "noms", "seats": 4, "options": {"min_bid": {}}}]), "min_bid must be"),
    "network": (setter(network={"width": 5, "blocks": 1}), "gives no size of a network"),
    "width": (setter(network=SMALL | {"width": 10**9}), "gives no size of a network"),
    "blocks": (setter(network=SMALL | {"blocks": 2}), "lacks the tensor 'trunk.layers.1.bias'"),
    "other width": (setter(network=SMALL | {"width": 6}), r"has 'trunk.first.weight' as float32 of shape \(5, .* \(6, "),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_documents_that_are_refused(good: Path, tmp_path: Path, name: str) -> None:
    change, sentence = DOCUMENTS[name]
    with pytest.raises(PolicyFileError, match=sentence):
        read_policy(rewritten(good, tmp_path / "changed", change))


TENSORS: dict[str, tuple[Callable[[dict[str, np.ndarray]], object], str]] = {
    "missing": (lambda tensors: tensors.pop("head.bias"), "lacks the tensor 'head.bias'"),
    "unknown": (setter(spare=np.zeros(2, np.float32)), "has an unknown tensor 'spare'"),
    "shape": (setter(**{"head.bias": np.zeros((NUM_ACTIONS, 1), np.float32)}), r"of shape \(150, 1\); .* of shape \(150,\)"),
    "type": (
        setter(**{"head.bias": np.zeros(NUM_ACTIONS, np.float64)}),
        "holds 'head.bias' as F64; a policy's tensors are F32",
    ),
    "NaN": (lambda tensors: tensors["head.cards"].__setitem__((3, 1), np.nan), "numbers in 'head.cards' that are not finite"),
    "infinite": (lambda tensors: tensors["head.bias"].__setitem__(0, -np.inf), "numbers in 'head.bias' that are not finite"),
}


@pytest.mark.parametrize("name", TENSORS)
def test_tensors_that_are_refused(good: Path, tmp_path: Path, name: str) -> None:
    change, sentence = TENSORS[name]
    with pytest.raises(PolicyFileError, match=sentence):
        read_policy(rewritten(good, tmp_path / "changed", tensors=change))


def test_numbers_too_large_to_reckon_with(good: Path, tmp_path: Path) -> None:
    def grow(tensors: dict[str, np.ndarray]) -> None:
        tensors["head.cards"][:] = tensors["head.play.weight"][:] = 1e30

    with pytest.raises(PolicyFileError, match="too large to reckon with"):
        load_player(rewritten(good, tmp_path / "changed", tensors=grow))


def test_files_that_are_none(good: Path, tmp_path: Path) -> None:
    with pytest.raises(PolicyFileError, match=r"there is no file .*nowhere\.safetensors"):
        load_player(tmp_path / "nowhere.safetensors")
    with pytest.raises(PolicyFileError, match=r"there is no file .*policy\.safetensors"):
        load_player(tmp_path)
    with pytest.raises(PolicyFileError, match="cannot be read"):
        read_policy(tmp_path)
    save_file({"weight": np.zeros(3, np.float32)}, tmp_path / "foreign", {"format": "pt"})
    save_file({"weight": np.zeros(3, np.float32)}, tmp_path / "bare")
    for name in ("foreign", "bare"):
        with pytest.raises(PolicyFileError, match="without 'noms-policy' in its metadata: not a policy of noms-env"):
            load_player(tmp_path / name)
    text = policy_file._text(document_of(good))
    for damage in (text[:-1], "[" * 100_000, "5", text.replace(",", ", ", 1), text.replace("1234", "1235")):
        save_file(load_file(good), tmp_path / "damaged", {KEY: damage})
        with pytest.raises(PolicyFileError, match="damaged"):
            load_player(tmp_path / "damaged")


def test_a_network_or_tensors_that_do_not_fit_are_not_written(tmp_path: Path) -> None:
    tensors = tensors_of(make_actor(INFO.kinds, SMALL))
    with pytest.raises(PolicyFileError, match=r"the policy has 'trunk\.first\.weight' as"):
        save_policy(tmp_path / "policy", tensors, replace(INFO, network=SMALL | {"width": 7}))
    tensors["head.bias"] = tensors["head.bias"] + np.nan
    with pytest.raises(PolicyFileError, match="not finite"):
        save_policy(tmp_path / "policy", tensors, INFO)
    assert list(tmp_path.iterdir()) == []


def test_the_layout_digest_follows_sections_and_actions(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = layout_digest()
    assert len(usual) == 64
    assert layout_digest.__wrapped__() == usual
    first, *others = layout.HIDDEN
    for name, value in [
        ("HIDDEN", (replace(first, name="palms"), *others)),
        ("OBSERVATION", tuple(replace(section, start=section.start + 8) for section in layout.OBSERVATION)),
        ("NUM_ACTIONS", NUM_ACTIONS - 1),
        ("action_word", lambda action, deck: str(action)),
    ]:
        with monkeypatch.context() as patch:
            patch.setattr(layout, name, value)
            assert layout_digest.__wrapped__() != usual, name
    with monkeypatch.context() as patch:
        patch.setattr(layout, "HIDDEN", (replace(first, meaning="in other words"), *others))
        assert layout_digest.__wrapped__() == usual


# ---------------------------------------------------------------------------------------------- fuzzing


def refused(content: bytes, path: Path) -> None:
    """Loading must end with the one error."""
    path.write_bytes(content)
    with pytest.raises(PolicyFileError):
        load_player(path)


def test_files_that_were_cut_off(good: Path, tmp_path: Path) -> None:
    content = good.read_bytes()
    rng = random.Random(1)
    for length in {*range(12), *(rng.randrange(len(content)) for _ in range(60)), len(content) - 1}:
        refused(content[:length], tmp_path / "cut")
    refused(content + b"\0", tmp_path / "longer")


def test_flipped_bits(good: Path, tmp_path: Path) -> None:
    content = good.read_bytes()
    header = 8 + int.from_bytes(content[:8], "little")
    rng = random.Random(2)
    places = {*range(64), *(rng.randrange(8 * header) for _ in range(300))}
    places |= {8 * header + rng.randrange(8 * (len(content) - header)) for _ in range(150)}
    for place in sorted(places):
        flipped = bytearray(content)
        flipped[place // 8] ^= 1 << place % 8
        refused(bytes(flipped), tmp_path / "flipped")


def test_random_bytes_and_swapped_parts(good: Path, tmp_path: Path) -> None:
    content = good.read_bytes()
    rng = random.Random(3)
    for _ in range(60):
        refused(rng.randbytes(rng.randrange(2000)), tmp_path / "random")
        header = rng.randbytes(rng.randrange(60))
        refused(len(header).to_bytes(8, "little") + header + rng.randbytes(40), tmp_path / "random header")
        start, end = sorted(rng.randrange(len(content)) for _ in range(2))
        refused(content[:start] + content[end:], tmp_path / "without a part")
        refused(content[:start] + rng.randbytes(8) + content[start + 8 :], tmp_path / "with a random part")


def test_a_tensor_of_the_same_shape_from_another_policy(good: Path, tmp_path: Path) -> None:
    arrays = load_file(good) | {"head.bias": load_file(good)["head.bias"][::-1].copy()}
    refused(save(arrays, {KEY: policy_file._text(document_of(good))}), tmp_path / "mixed")


HUGE = """
import resource, sys
from noms_env import load_player
import noms_env.players.policy
from noms_env.players.policy_file import PolicyFileError

used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for path in sys.argv[1:]:
    try:
        load_player(path)
    except PolicyFileError as error:
        print(error)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - used) // 1024)
"""


def test_large_claims_take_no_memory(tmp_path: Path) -> None:
    claims = {}
    for name, length in [("header", 2**63 - 1), ("whole", 3 << 30), ("most", 90 << 20)]:
        claims[name] = tmp_path / name
        with claims[name].open("wb") as file:
            file.write(
                length.to_bytes(8, "little") + b'{"a":{"dtype":"F32","shape":[1000000000],"data_offsets":[0,4000000000]}}'
            )
            file.truncate({"header": 1000, "whole": (3 << 30) + 8, "most": 100 << 20}[name])
    command = [sys.executable, "-c", HUGE, *map(str, claims.values())]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert [("cut off" in line, "larger than any policy" in line) for line in out[:3]] == [
        (True, False),
        (False, True),
        (True, False),
    ]
    assert int(out[3]) < 50, "MiB"


# ---------------------------------------------------------------------------------------------- writing and finding


def test_a_failed_write_leaves_the_old_file(good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "policy.safetensors"
    write_atomically(path, b"old")

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        save_policy(path, load_file(good), INFO)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_written_file_has_the_usual_permissions(tmp_path: Path) -> None:
    write_atomically(tmp_path / "one", b"1")
    (tmp_path / "two").write_bytes(b"2")
    assert (tmp_path / "one").stat().st_mode == (tmp_path / "two").stat().st_mode


def test_policies_by_name(good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "PACKAGE", tmp_path / "noms_env")
    with pytest.raises(PolicyFileError, match=r"there is no policy 'up_down'; .* none yet"):
        load_player("up_down")
    for folder in ("noms_env/checkpoints/up_down", "checkpoints/late"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "policy.safetensors").write_bytes(good.read_bytes())
    assert load_player("up_down").info == INFO
    with pytest.raises(PolicyFileError, match=r"there is no policy 'late'; .*: up_down"):
        load_player("late")
    (tmp_path / "pyproject.toml").touch()
    assert load_player("late").info == INFO
    assert list(policy.shipped_policies()) == ["up_down", "late"]


# ---------------------------------------------------------------------------------------------- found by its game


def ship(root: Path, name: str, *variants: str, decisions: int = 100) -> Path:
    """A policy that comes with the package."""
    kinds = rules_of(*variants)
    file = root / "noms_env" / "checkpoints" / name / "policy.safetensors"
    file.parent.mkdir(parents=True)
    save_policy(file, tensors_of(make_actor(kinds, SMALL)), PolicyInfo(kinds, SMALL, decisions=decisions))
    return file


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package without policies."""
    monkeypatch.setattr(policy, "PACKAGE", tmp_path / "noms_env")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_policy_is_found_by_each_of_its_games(package: Path) -> None:
    files = {"auctions": ship(package, "auctions", "small_ships", "noms"), "nonesuch": ship(package, "nonesuch", "nonesuch")}
    for name in ("auctions", "small_ships", "noms"):
        assert policy.policy_file_of(name) == files["auctions"]
        assert load_player(name).kinds == rules_of("small_ships", "noms")
    assert policy.policy_file_of("nonesuch") == files["nonesuch"]
    with pytest.raises(PolicyFileError) as refused:
        load_player("down_up")
    there_are = "the policies that come with the package: auctions (small_ships, noms), nonesuch"
    assert str(refused.value) == f"there is no policy 'down_up'; {there_are}"


def test_of_several_policies_for_a_game_its_namesake_comes_first_then_the_longest_trained(package: Path) -> None:
    both, late = ship(package, "b", "noms", "up_down"), ship(package, "c", "noms", decisions=200)
    assert policy.policy_file_of("noms") == late
    assert policy.policy_file_of("up_down") == both
    earlier = ship(package, "a", "noms", decisions=200)
    assert policy.policy_file_of("noms") == earlier
    namesake = ship(package, "noms", "noms", decisions=1)
    assert policy.policy_file_of("noms") == namesake
    namesake.write_bytes(b"damaged")
    assert policy.policy_of_game("noms") == earlier
    assert policy.policy_file_of("noms") == namesake, "a name is a name"
    with pytest.raises(PolicyFileError, match="cut off"):
        load_player("noms")
    with pytest.raises(PolicyFileError, match=r"a \(noms\), b \(noms, up_down\), c \(noms\), noms$"):
        load_player("down_up")


def test_names_go_before_folders_and_folders_before_nothing(package: Path, good: Path) -> None:
    (package / "noms").mkdir()
    (package / "noms" / "policy.safetensors").write_bytes(good.read_bytes())
    assert load_player("noms").info == INFO
    file = ship(package, "auctions", "noms")
    assert policy.policy_file_of("noms") == file
    assert load_player(Path("noms")).info == load_player("./noms").info == INFO


def test_no_weights_are_read_to_find_a_policy(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = ship(package, "auctions", "noms")
    content = bytearray(file.read_bytes())
    content[-8:] = b"\xff" * 8
    file.write_bytes(content)
    monkeypatch.setattr(policy_file, "_tensors", lambda *arguments: pytest.fail("tensors were read"))
    assert policy.policy_file_of("noms") == file
    assert policy_file.read_info(file).kinds == rules_of("noms")
    monkeypatch.undo()
    with pytest.raises(PolicyFileError, match="is damaged: its content does not have the SHA-256"):
        load_player(file)


def test_a_contestant_may_be_named_after_a_game(package: Path) -> None:
    ship(package, "auctions", "noms")
    ship(package, "thumb", "noms", decisions=1)
    assert contestant("noms").kinds == contestant("auctions@0").kinds == contestant("noms@0").kinds == rules_of("noms")
    assert contestant("thumb").kinds is None, "players go before policies"
    with pytest.raises(ValueError, match=r"there is no policy 'down_up'; .*: auctions \(noms\), thumb \(noms\)"):
        contestant("down_up")
    with pytest.raises(ValueError, match="there is no player 'chess'"):
        contestant("chess")


def test_a_policy_needs_no_torch(good: Path) -> None:
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "import noms_env\n"
        "assert not [m for m in sys.modules if m.startswith(('safetensors', 'noms_env.players.'))"
        " and m != 'noms_env.players.protocol']\n"
        f"print(noms_env.load_player({str(good)!r}).info.decisions)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "1234\n"


def test_folding_refuses_nothing_that_is_finite() -> None:
    kinds = rules_of("down_up")
    assert Forward.folded(make_encoding(kinds), tensors_of(make_actor(kinds, NETWORK))).is_finite()
