"""Network inputs and policies on a GPU, in numba's simulator of one; torch runs on the processor."""

import random
from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.dlpack import from_dlpack

from noms_env import BatchEnv, CanonicalSuits, TableGroup, canonical_suits, load_player, make_batch
from noms_env.core.cards import DECKTET
from noms_env.cuda.arrays import to_gpu
from noms_env.cuda.canonical_suits import GpuCanonicalSuits
from noms_env.cuda.players import policy as policies
from noms_env.cuda.players.encoding import BITS, GpuEncoding
from noms_env.cuda.players.policy import GpuPolicy, load_policy
from noms_env.players import NOBODY, draw_seeds
from noms_env.policy.encoding import make_encoding
from noms_env.policy.player import PolicyPlayer
from noms_env.variants import GAMES, VARIANTS
from tests.agreement import random_table
from tests.begin import begin
from tests.cuda.agreement import Both, Graph, Plan
from tests.policy.test_player import ATTENTION, NETWORK, SMALL, make_small_player, rules_of, tensors_of

TABLES = 4
"""More than `policies.TOGETHER` in the simulator, and no multiple of it."""
EXACT, ROUNDED = 1e-5, 0.05
"""Tolerances of probabilities computed in float32 and in bfloat16."""


def both_of(variant: str, rng: random.Random, observation: str = "bytes") -> Both:
    """Set up two batches of one game with random options, some decisions into their deals."""
    seats, options = random_table(variant, rng)
    options.pop("accumulate", None)
    arguments = {"seed": rng.randrange(2**63), "hidden_state": True, "observation": observation}
    both = Both(Plan([TableGroup(variant, seats, options)], arguments), 3)
    play(both, rng.randrange(12, 40))
    return both


def play(both: Both, steps: int) -> None:
    """Play at random on the processor, copy its tables to the GPU, and observe on both sides."""
    for _ in range(steps):
        both.cpu.random_actions(both.states, both.actions)
        both.cpu.step(both.actions)
        both.cpu.reset(both.cpu.over)
    both.gpu.restore(None, both.cpu.save())
    for batch in (both.cpu, both.gpu):
        batch.observe()


def both_for(player: PolicyPlayer, tables: int = TABLES) -> Both:
    """Set up two batches of tables that a policy can sit at."""
    groups = [TableGroup(rules.variant.name, rules.seats, None) for rules in player.rule_sets]
    return Both(Plan(groups[:tables], {"seed": 5}), tables)


ALL_FEATURES = {"card_features": True, "trick_features": True}


@pytest.mark.parametrize(
    ("variant", "features"),
    [*((variant, ALL_FEATURES) for variant in VARIANTS), ("noms", {}), ("nonesuch", {"card_features": True})],
)
def test_network_inputs_are_those_of_the_processor(variant: str, features: dict[str, Any]) -> None:
    both = both_of(variant, random.Random(f"{variant} {len(features)}"))
    encoding = make_encoding([group.rules for group in both.cpu.groups], **features)
    expected, legal, order = encoding.encode(both.cpu.observation, both.cpu.mask)
    assert both.cpu.hidden_state is not None
    hidden = encoding.encode_hidden(both.cpu.hidden_state, np.arange(3), order)
    outputs = both.gpu.gpu.seen
    for numbers in BITS:
        on_gpu = GpuEncoding(encoding, 3, numbers)
        on_gpu.encode(outputs[0], 3)
        encoded: Any = on_gpu.features.to_numpy()
        if numbers == "bfloat16":
            encoded = from_dlpack(on_gpu.features).view(torch.bfloat16).float().numpy()
        assert np.array_equal(encoded, expected.astype(encoded.dtype))
        assert on_gpu.order.to_numpy().tolist() == order.tolist()
        assert np.array_equal(on_gpu.encode_mask(outputs[1], 3).to_numpy(), legal)
        assert np.array_equal(on_gpu.encode_hidden(outputs[2], 3).to_numpy(), hidden)
        assert np.array_equal(on_gpu.actions.to_numpy(), encoding.actions)


def test_the_first_rows_of_several_games_are_encoded() -> None:
    both = Both(Plan([TableGroup("noms"), TableGroup("small_ships", 4)], {"seed": 2}), 6)
    play(both, 9)
    encoding = make_encoding([group.rules for group in both.cpu.groups], card_features=True)
    on_gpu = GpuEncoding(encoding, 6)
    from_dlpack(on_gpu.features).fill_(77)
    on_gpu.encode(both.gpu.gpu.seen[0], 4)
    expected, _, _ = encoding.encode(both.cpu.observation, both.cpu.mask)
    assert np.array_equal(on_gpu.features.to_numpy()[:4], expected[:4])
    assert (on_gpu.features.to_numpy()[4:] == 77).all()


@pytest.mark.parametrize("name", ["noms", "small_ships", "nonesuch", "sniped_whist", "exact_bid"])
def test_published_policies_answer_as_on_the_processor(name: str) -> None:
    """The actions are the same unless a draw falls between two within rounding, as none does here."""
    cpu: Any = load_player(name)
    exact, rounded = load_policy(name, numbers="float32"), load_policy(name)
    both, greedy = both_for(cpu), to_gpu(np.zeros(TABLES, np.int64))
    play(both, 9)
    views, seeds = (both.cpu.observation, both.cpu.mask), to_gpu(draw_seeds(np.random.default_rng(1), TABLES))
    expected, actions = cpu.probabilities(*views), cpu.act(*views, np.random.default_rng(1)).tolist()
    assert np.abs(exact.probabilities(both.gpu).to_numpy() - expected).max() < EXACT
    cooler = exact.probabilities(both.gpu, temperature=0.5).to_numpy()
    assert np.abs(cooler - cpu.probabilities(*views, temperature=0.5)).max() < EXACT
    probabilities = rounded.probabilities(both.gpu).to_numpy()
    assert np.abs(probabilities - expected).max() < ROUNDED
    assert ((probabilities > 0) <= (both.cpu.mask > 0)).all()
    for player in (exact, rounded):
        assert player.act(both.gpu, seeds).to_numpy().tolist() == actions
    exact.draw(both.gpu.gpu.native, TABLES, None, greedy.native, temperature=0)
    assert greedy.to_numpy().tolist() == cpu.act(*views, np.random.default_rng(1), temperature=0).tolist()
    assert repr(rounded) == f"<GpuPolicy: {cpu!r}; numbers=bfloat16>"


def test_load_player_loads_policies_on_the_gpu() -> None:
    player = load_player("noms@0.5", device="cuda")
    assert isinstance(player, GpuPolicy)
    assert (player.temperature, player.numbers, player.draws) == (0.5, "bfloat16", True)
    assert not load_player("noms@0", device="cuda").draws
    with pytest.raises(ValueError, match="numbers must be bfloat16 or float32, not 'float16'"):
        load_policy("noms", numbers="float16")


@pytest.mark.parametrize(
    "network",
    [SMALL, NETWORK, SMALL | {"blocks": 0}, ATTENTION],
    ids=["no scorer", "nothing counted", "no blocks", "attention"],
)
def test_networks_of_each_form_answer_as_on_the_processor(network: dict[str, Any]) -> None:
    actor, cpu = make_small_player(rules_of("down_up", "small_ships"), network)
    player = GpuPolicy(cpu, tensors_of(actor), "float32")
    both = both_for(cpu)
    play(both, 11)
    expected = cpu.probabilities(both.cpu.observation, both.cpu.mask)
    assert np.abs(player.probabilities(both.gpu).to_numpy() - expected).max() < EXACT


def act_in_row(player: PolicyPlayer, batch: BatchEnv, row: int, seed: int) -> int:
    """Ask a policy in one row, on the processor."""
    mask = np.ascontiguousarray(batch.mask[[row]])
    return int(player.drawn(batch.observation[[row]], mask, np.array([seed]), player.temperature)[0])


@pytest.mark.parametrize("waits", [False, True])
def test_some_rows_of_a_mixed_batch_are_answered(waits: bool) -> None:
    """Rows of another game may be in the batch; if they are selected, they get `NOBODY`."""
    both = Both(Plan([TableGroup("small_ships"), TableGroup("noms")], {"seed": 8}), 8)
    play(both, 6)
    player = load_policy("noms", numbers="float32")
    player.waits = waits
    fits, seeds = np.arange(8) >= both.cpu.groups[1].rows.start, draw_seeds(np.random.default_rng(1), 8)
    expected = [act_in_row(player.player, both.cpu, row, seeds[row]) if fits[row] else NOBODY for row in range(8)]
    for where in (fits, fits & (np.arange(8) % 2 == 0), ~fits, fits & False):
        actions = to_gpu(np.full(8, 77))
        player.act(both.gpu, to_gpu(seeds), where=to_gpu(where), actions=actions)
        assert actions.to_numpy().tolist() == np.where(where, expected, 77).tolist()


def test_tables_of_other_rules_are_refused() -> None:
    player, seeds = load_policy("noms"), to_gpu(np.arange(4))
    mixed = make_batch([TableGroup("noms"), TableGroup("small_ships")], 4, device="cuda")
    options = make_batch("noms", 4, suits=3, device="cuda")
    for batch, words in ((mixed, "not for small_ships with 4 seats"), (options, "not for noms with 4 seats and other options")):
        for _ in range(2):
            with pytest.raises(ValueError, match=f"this policy was trained for noms .*, {words}"):
                player.act(batch, seeds)
            with pytest.raises(ValueError, match=words):
                player.probabilities(batch)
    with pytest.raises(ValueError, match="not for noms with 4 seats and other options"):
        player.act(options, seeds, where=options.over)
    with pytest.raises(ValueError, match="not on a GPU"):
        player.act(make_batch("noms", 4), seeds)
    with pytest.raises(ValueError, match="GpuPolicy needs seeds"):
        player.act(make_batch("noms", 4, device="cuda"))


def test_selected_rows_of_tables_without_a_batch_are_answered() -> None:
    player = load_policy("small_ships", numbers="float32")
    both = both_for(player.player, 8)
    play(both, 4)
    seeds, native = draw_seeds(np.random.default_rng(3), 8), both.gpu.gpu.native
    expected = [act_in_row(player.player, both.cpu, row, seeds[row]) for row in range(8)]
    actions = to_gpu(np.full(8, 77))
    player.draw(native, 7, to_gpu(seeds).native, actions.native, rows=to_gpu(np.array([6, 1, -1, 3, 7, 0, -1, 2])).native)
    assert actions.to_numpy().tolist() == [expected[row] if row in (6, 1, 3, 7, 0) else 77 for row in range(8)]
    player.draw(native, 8, None, actions.native, temperature=0)
    greedy = player.player.act(both.cpu.observation, both.cpu.mask, np.random.default_rng(0), temperature=0)
    assert actions.to_numpy().tolist() == greedy.tolist()
    chances = to_gpu(np.full((8, 150), np.float32(9)))
    player.tell(native, 2, chances.native, rows=to_gpu(np.array([5, 2])).native)
    probabilities = player.player.probabilities(both.cpu.observation, both.cpu.mask)
    probabilities[[0, 1, 3, 4, 6, 7]] = 0
    assert np.abs(chances.to_numpy() - probabilities).max() < EXACT


def test_nobody_acts_after_the_end_of_a_deal() -> None:
    player = load_policy("noms")
    both = Both(Plan([TableGroup("noms")], {"seed": 1, "episode": "deal"}), 2)
    while not both.cpu.over[0]:
        both.cpu.random_actions(both.states, both.actions)
        both.cpu.step(both.actions)
    both.gpu.restore(None, both.cpu.save([0, 0]))
    assert player.act(both.gpu, to_gpu(np.arange(2))).to_numpy().tolist() == [NOBODY, NOBODY]
    assert not player.probabilities(both.gpu).to_numpy().any()


def test_a_graph_is_captured_once_for_each_part_and_replayed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policies, "can_capture", lambda: True)
    monkeypatch.setattr(policies, "captured", Graph)
    player = load_policy("noms", numbers="float32", captured=True)
    both, plain = both_for(player.player, TABLES), load_policy("noms", numbers="float32")
    selected = to_gpu(np.arange(TABLES) % 2 == 0)
    Graph.log.clear()
    for step in range(2):
        play(both, 3)
        seeds = to_gpu(draw_seeds(np.random.default_rng(step), TABLES))
        for where in (None, selected):
            expected = plain.act(both.gpu, seeds, where=where).to_numpy().tolist()
            assert player.act(both.gpu, seeds, where=where).to_numpy().tolist() == expected
    parts = -(-TABLES // policies.TOGETHER)
    assert Counter(Graph.log) == {"capture": 2 * parts, "replay": 4 * parts}
    monkeypatch.setattr(policies, "can_capture", lambda: False)  # within another graph
    assert player.act(both.gpu, seeds).to_numpy().tolist() == plain.act(both.gpu, seeds).to_numpy().tolist()
    assert len(Graph.log) == 6 * parts


def test_the_latest_graphs_are_cached_and_dropped_with_their_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policies, "can_capture", lambda: True)
    monkeypatch.setattr(policies, "captured", Graph)
    monkeypatch.setattr(policies, "KEPT_GRAPHS", 2)
    player = load_policy("noms", captured=True)
    batches = [begin(make_batch("noms", 2, seed=seed, device="cuda")) for seed in range(3)]
    for batch in batches:
        player.act(batch, to_gpu(np.arange(2)))
    cached = [graph[1] for graph in player._graphs.values()]
    assert [tables is batch.gpu.native for tables, batch in zip(cached, batches[1:], strict=True)] == [True, True]
    larger = begin(make_batch("noms", 3, device="cuda"))
    player.act(larger, to_gpu(np.arange(3)))
    assert [graph[1] is larger.gpu.native for graph in player._graphs.values()] == [True]


@pytest.mark.parametrize("variant", VARIANTS)
def test_canonical_suits_are_those_of_the_wrapper(variant: str) -> None:
    both = both_of(variant, random.Random(variant), "features")
    assert both.cpu.feature_layout is not None
    suits, on_gpu = CanonicalSuits(both.cpu.feature_layout), GpuCanonicalSuits(both.gpu)
    renamed: Any
    renamed, orders = suits.rename({"observation": both.cpu.observation, "action_mask": both.cpu.mask})
    on_gpu.rename()
    assert on_gpu.orders.to_numpy().tolist() == orders.tolist()
    assert (orders > 0).any() or GAMES[variant].deck_kind == DECKTET
    for array, expected in ((on_gpu.observation, renamed["observation"]), (on_gpu.mask, renamed["action_mask"])):
        np.testing.assert_array_equal(array.to_numpy(), expected, strict=True)
    actions = np.where(renamed["action_mask"].any(axis=1), renamed["action_mask"].argmax(axis=1), NOBODY)
    plain = suits.meant(actions, orders)
    assert on_gpu.meant(to_gpu(actions)).to_numpy().tolist() == plain.tolist()
    both.cpu.step(plain)
    both.gpu.step(on_gpu.meant(torch.from_numpy(actions)))  # type: ignore[arg-type]
    both.compare_tables()
    assert on_gpu.meant(to_gpu(np.array([-1, 150, -7]))).to_numpy().tolist() == [-1, 150, -7]


def test_canonical_suits_need_features_of_one_deck_on_a_gpu() -> None:
    for batch, sentence in (
        (make_batch("noms", 2, observation="features"), "not on a GPU"),
        (make_batch("noms", 2, device="cuda"), "canonical suits need a batch with observation='features', not <BatchEnv"),
        (make_batch([TableGroup("noms"), TableGroup("nonesuch")], 2, observation="features", device="cuda"), "of one deck"),
    ):
        with pytest.raises(ValueError, match=sentence):
            GpuCanonicalSuits(batch)
    with pytest.raises(ValueError, match=r"rename its rows with noms_env.cuda.canonical_suits.GpuCanonicalSuits\(batch\)"):
        canonical_suits(make_batch("noms", 2, observation="features", device="cuda"))
