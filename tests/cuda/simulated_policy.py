"""Tests of what networks see, and of policies, on a GPU; they run in numba's simulator of one, with torch on the processor."""

import random
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
from tests.cuda.agreement import Both, Plan
from tests.policy.test_player import ATTENTION, NETWORK, SMALL, made_player, rules_of, tensors_of

TABLES = 4
"""More than `policies.TOGETHER` of the simulator, and no multiple of it."""
EXACT, ROUNDED = 1e-5, 0.05
"""How far probabilities with numbers of float32 and of bfloat16 may be from those of the processor."""
SHIPPED = ("noms", "small_ships", "nonesuch", "sniped_whist", "exact_bid")


def both_of(variant: str, rng: random.Random, observation: str = "bytes") -> Both:
    """Two batches of one game with random options, some decisions into their deals."""
    seats, options = random_table(variant, rng)
    options.pop("accumulate", None)
    arguments = {"seed": rng.randrange(2**63), "hidden_state": True, "observation": observation}
    both = Both(Plan([TableGroup(variant, seats, options)], arguments), 3)
    play(both, rng.randrange(12, 40))
    return both


def play(both: Both, steps: int) -> None:
    """Random play by the processor, which hands its tables over; what is seen is written at the end."""
    for _ in range(steps):
        both.cpu.random_actions(both.states, both.actions)
        both.cpu.step(both.actions)
        both.cpu.reset(both.cpu.over)
    both.gpu.restore(None, both.cpu.save())
    for batch in (both.cpu, both.gpu):
        batch.observe()


def both_for(player: PolicyPlayer, tables: int = TABLES) -> Both:
    """Two batches of the tables that a policy can sit at."""
    groups = [TableGroup(rules.variant.name, rules.seats, None) for rules in player.rule_sets]
    return Both(Plan(groups[:tables], {"seed": 5}), tables)


ALL_FEATURES = {"card_features": True, "trick_features": True}


@pytest.mark.parametrize(
    ("variant", "features"),
    [*((variant, ALL_FEATURES) for variant in VARIANTS), ("noms", {}), ("nonesuch", {"card_features": True})],
)
def test_networks_see_the_bytes_of_the_processor(variant: str, features: dict[str, Any]) -> None:
    both = both_of(variant, random.Random(f"{variant} {len(features)}"))
    encoding = make_encoding([group.rules for group in both.cpu.groups], **features)
    expected, legal, order = encoding.encode(both.cpu.observation, both.cpu.mask)
    assert both.cpu.hidden_state is not None
    hidden = encoding.encode_hidden(both.cpu.hidden_state, np.arange(3), order)
    seen = both.gpu.gpu.seen
    for numbers in BITS:
        on_gpu = GpuEncoding(encoding, 3, numbers)
        on_gpu.encode(seen[0], 3)
        got: Any = on_gpu.features.to_numpy()
        if numbers == "bfloat16":
            got = from_dlpack(on_gpu.features).view(torch.bfloat16).float().numpy()
        assert np.array_equal(got, expected.astype(got.dtype))
        assert on_gpu.order.to_numpy().tolist() == order.tolist()
        assert np.array_equal(on_gpu.encode_mask(seen[1], 3).to_numpy(), legal)
        assert np.array_equal(on_gpu.encode_hidden(seen[2], 3).to_numpy(), hidden)
        assert np.array_equal(on_gpu.actions.to_numpy(), encoding.actions)


def test_so_many_rows_of_several_games_are_seen() -> None:
    both = Both(Plan([TableGroup("noms"), TableGroup("small_ships", 4)], {"seed": 2}), 6)
    play(both, 9)
    encoding = make_encoding([group.rules for group in both.cpu.groups], card_features=True)
    on_gpu = GpuEncoding(encoding, 6)
    from_dlpack(on_gpu.features).fill_(77)
    on_gpu.encode(both.gpu.gpu.seen[0], 4)
    expected, _, _ = encoding.encode(both.cpu.observation, both.cpu.mask)
    assert np.array_equal(on_gpu.features.to_numpy()[:4], expected[:4])
    assert (on_gpu.features.to_numpy()[4:] == 77).all()


@pytest.mark.parametrize("name", SHIPPED)
def test_published_policies_answer_as_on_the_processor(name: str) -> None:
    """The actions are the same unless a draw falls between two within rounding, as none does here."""
    cpu = load_player(name)
    assert isinstance(cpu, PolicyPlayer)
    exact, rounded = load_policy(name, numbers="float32"), load_policy(name)
    both, decided = both_for(cpu), to_gpu(np.zeros(TABLES, np.int64))
    play(both, 9)
    seen, seeds = (both.cpu.observation, both.cpu.mask), to_gpu(draw_seeds(np.random.default_rng(1), TABLES))
    expected, actions = cpu.probabilities(*seen), cpu.act(*seen, np.random.default_rng(1)).tolist()
    assert np.abs(exact.probabilities(both.gpu).to_numpy() - expected).max() < EXACT
    cooler = exact.probabilities(both.gpu, temperature=0.5).to_numpy()
    assert np.abs(cooler - cpu.probabilities(*seen, temperature=0.5)).max() < EXACT
    found = rounded.probabilities(both.gpu).to_numpy()
    assert np.abs(found - expected).max() < ROUNDED
    assert ((found > 0) <= (both.cpu.mask > 0)).all()
    for player in (exact, rounded):
        assert player.act(both.gpu, seeds).to_numpy().tolist() == actions
    exact.draw(both.gpu.gpu.native, TABLES, None, decided.native, temperature=0)
    assert decided.to_numpy().tolist() == cpu.act(*seen, np.random.default_rng(1), temperature=0).tolist()
    assert repr(rounded) == f"<GpuPolicy: {cpu!r}; numbers=bfloat16>"


def test_names_lead_to_policies_on_the_gpu() -> None:
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
def test_networks_of_other_parts(network: dict[str, Any]) -> None:
    actor, cpu = made_player(rules_of("down_up", "small_ships"), network)
    player = GpuPolicy(cpu, tensors_of(actor), "float32")
    both = both_for(cpu)
    play(both, 11)
    expected = cpu.probabilities(both.cpu.observation, both.cpu.mask)
    assert np.abs(player.probabilities(both.gpu).to_numpy() - expected).max() < EXACT


def alone(player: PolicyPlayer, batch: BatchEnv, row: int, seed: int) -> int:
    """What a policy does in one row, on the processor."""
    mask = np.ascontiguousarray(batch.mask[[row]])
    return int(player.drawn(batch.observation[[row]], mask, np.array([seed]), player.temperature)[0])


@pytest.mark.parametrize("waits", [False, True])
def test_some_rows_of_a_mixed_batch_are_asked(waits: bool) -> None:
    """Rows of another game may be there; they get `NOBODY` where they are asked all the same."""
    both = Both(Plan([TableGroup("small_ships"), TableGroup("noms")], {"seed": 8}), 8)
    play(both, 6)
    player = load_policy("noms", numbers="float32")
    player.waits = waits
    fits, seeds = np.arange(8) >= both.cpu.groups[1].rows.start, draw_seeds(np.random.default_rng(1), 8)
    here = [alone(player.player, both.cpu, row, seeds[row]) if fits[row] else NOBODY for row in range(8)]
    for asked in (fits, fits & (np.arange(8) % 2 == 0), ~fits, fits & False):
        actions = to_gpu(np.full(8, 77))
        player.act(both.gpu, to_gpu(seeds), where=to_gpu(asked), actions=actions)
        assert actions.to_numpy().tolist() == np.where(asked, here, 77).tolist()


def test_tables_of_other_rules_are_refused_when_a_batch_is_first_seen() -> None:
    player, seeds = load_policy("noms"), to_gpu(np.arange(4))
    mixed = make_batch([TableGroup("noms"), TableGroup("small_ships")], 4, device="cuda")
    options = make_batch("noms", 4, suits=3, device="cuda")
    for batch, said in ((mixed, "not for small_ships with 4 seats"), (options, "not for noms with 4 seats and other options")):
        for _ in range(2):
            with pytest.raises(ValueError, match=f"this policy was trained for noms .*, {said}"):
                player.act(batch, seeds)
            with pytest.raises(ValueError, match=said):
                player.probabilities(batch)
    with pytest.raises(ValueError, match="not for noms with 4 seats and other options"):
        player.act(options, seeds, where=options.over)
    with pytest.raises(ValueError, match="not on a GPU"):
        player.act(make_batch("noms", 4), seeds)
    with pytest.raises(ValueError, match="GpuPolicy needs seeds"):
        player.act(make_batch("noms", 4, device="cuda"))


def test_tables_that_are_no_batch() -> None:
    """Of a list of tables, some are asked; rows that are over get `NOBODY`, and others nothing."""
    player = load_policy("small_ships", numbers="float32")
    both = both_for(player.player, 8)
    play(both, 4)
    seeds, native = draw_seeds(np.random.default_rng(3), 8), both.gpu.gpu.native
    expected = [alone(player.player, both.cpu, row, seeds[row]) for row in range(8)]
    actions = to_gpu(np.full(8, 77))
    player.draw(native, 7, to_gpu(seeds).native, actions.native, rows=to_gpu(np.array([6, 1, -1, 3, 7, 0, -1, 2])).native)
    assert actions.to_numpy().tolist() == [expected[row] if row in (6, 1, 3, 7, 0) else 77 for row in range(8)]
    player.draw(native, 8, None, actions.native, temperature=0)
    decided = player.player.act(both.cpu.observation, both.cpu.mask, np.random.default_rng(0), temperature=0)
    assert actions.to_numpy().tolist() == decided.tolist()
    chances = to_gpu(np.full((8, 150), np.float32(9)))
    player.tell(native, 2, chances.native, rows=to_gpu(np.array([5, 2])).native)
    told = player.player.probabilities(both.cpu.observation, both.cpu.mask)
    told[[0, 1, 3, 4, 6, 7]] = 0
    assert np.abs(chances.to_numpy() - told).max() < EXACT


def test_where_a_deal_is_over_nobody_is_to_act() -> None:
    player = load_policy("noms")
    both = Both(Plan([TableGroup("noms")], {"seed": 1, "episode": "deal"}), 2)
    while not both.cpu.over[0]:
        both.cpu.random_actions(both.states, both.actions)
        both.cpu.step(both.actions)
    both.gpu.restore(None, both.cpu.save([0, 0]))
    assert player.act(both.gpu, to_gpu(np.arange(2))).to_numpy().tolist() == [NOBODY, NOBODY]
    assert not player.probabilities(both.gpu).to_numpy().any()


class Graph:
    """Stands in for a captured CUDA graph: what was launched is launched again."""

    made = 0
    replayed = 0

    def __init__(self, work: Any) -> None:
        self.work = work
        Graph.made += 1

    def replay(self) -> None:
        Graph.replayed += 1
        self.work()


def test_a_captured_graph_is_made_for_each_batch_and_part_and_replayed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policies, "can_capture", lambda: True)
    monkeypatch.setattr(policies, "captured", Graph)
    player = load_policy("noms", numbers="float32", captured=True)
    both, plain = both_for(player.player, TABLES), load_policy("noms", numbers="float32")
    where, made, replayed = to_gpu(np.arange(TABLES) % 2 == 0), Graph.made, Graph.replayed
    for step in range(2):
        play(both, 3)
        seeds = to_gpu(draw_seeds(np.random.default_rng(step), TABLES))
        for asked in (None, where):
            expected = plain.act(both.gpu, seeds, where=asked).to_numpy().tolist()
            assert player.act(both.gpu, seeds, where=asked).to_numpy().tolist() == expected
    parts = -(-TABLES // policies.TOGETHER)
    assert (Graph.made - made, Graph.replayed - replayed) == (2 * parts, 4 * parts)
    monkeypatch.setattr(policies, "can_capture", lambda: False)  # inside of another graph
    assert player.act(both.gpu, seeds).to_numpy().tolist() == plain.act(both.gpu, seeds).to_numpy().tolist()
    assert Graph.replayed - replayed == 4 * parts


def test_the_last_graphs_are_kept_and_none_of_memory_that_was_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policies, "can_capture", lambda: True)
    monkeypatch.setattr(policies, "captured", Graph)
    monkeypatch.setattr(policies, "KEPT_GRAPHS", 2)
    player = load_policy("noms", captured=True)
    batches = [make_batch("noms", 2, seed=seed, device="cuda") for seed in range(3)]
    for batch in batches:
        batch.reset()
        player.act(batch, to_gpu(np.arange(2)))
    kept = [graph[1] for graph in player._graphs.values()]
    assert [tables is batch.gpu.native for tables, batch in zip(kept, batches[1:], strict=True)] == [True, True]
    larger = make_batch("noms", 3, device="cuda")
    larger.reset()
    player.act(larger, to_gpu(np.arange(3)))
    assert [graph[1] is larger.gpu.native for graph in player._graphs.values()] == [True]


@pytest.mark.parametrize("variant", VARIANTS)
def test_canonical_suits_are_those_of_the_wrapper(variant: str) -> None:
    both = both_of(variant, random.Random(variant), "features")
    assert both.cpu.feature_layout is not None
    suits, on_gpu = CanonicalSuits(both.cpu.feature_layout), GpuCanonicalSuits(both.gpu)
    seen, orders = suits.rename({"observation": both.cpu.observation, "action_mask": both.cpu.mask})
    on_gpu.rename()
    assert isinstance(seen, dict)
    assert on_gpu.orders.to_numpy().tolist() == orders.tolist()
    assert (orders > 0).any() or GAMES[variant].deck_kind == DECKTET
    for array, expected in ((on_gpu.observation, seen["observation"]), (on_gpu.mask, seen["action_mask"])):
        got = array.to_numpy()
        assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
        assert np.array_equal(got, expected)
    actions = np.where(seen["action_mask"].any(axis=1), seen["action_mask"].argmax(axis=1), NOBODY)
    meant = suits.meant(actions, orders)
    assert on_gpu.meant(to_gpu(actions)).to_numpy().tolist() == meant.tolist()
    both.cpu.step(meant)
    both.gpu.step(on_gpu.meant(torch.from_numpy(actions)))  # type: ignore[arg-type]
    both.compare_tables()
    assert on_gpu.meant(to_gpu(np.array([-1, 150, -7]))).to_numpy().tolist() == [-1, 150, -7]


def test_canonical_suits_are_for_features_of_one_deck_on_a_gpu() -> None:
    for batch, said in (
        (make_batch("noms", 2, observation="features"), "not on a GPU"),
        (make_batch("noms", 2, device="cuda"), "canonical suits need a batch with observation='features', not <BatchEnv"),
        (make_batch([TableGroup("noms"), TableGroup("nonesuch")], 2, observation="features", device="cuda"), "of one deck"),
    ):
        with pytest.raises(ValueError, match=said):
            GpuCanonicalSuits(batch)
    with pytest.raises(ValueError, match=r"rename its rows with noms_env.cuda.canonical_suits.GpuCanonicalSuits\(batch\)"):
        canonical_suits(make_batch("noms", 2, observation="features", device="cuda"))
