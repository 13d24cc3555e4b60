"""The search on a policy for whole batches, in numba's simulator of a GPU; torch runs on the processor."""

import numpy as np
import pytest
import torch

from noms_env import BatchEnv, TableGroup, load_player, make_batch
from noms_env.core.actions import NUM_ACTIONS
from noms_env.cuda.players import lanes, search
from noms_env.cuda.players.policy import GpuPolicy
from noms_env.cuda.players.search import GpuSearch, GpuSearchOutput
from noms_env.players import NOBODY
from noms_env.policy.encoding import make_encoding
from noms_env.policy.file import PolicyInfo
from noms_env.policy.player import PolicyPlayer
from noms_env.search.policy_search import SearchPlayer
from noms_env.variants import VARIANTS, Rules
from tests.cuda.agreement import Graph, to_gpu
from tests.policy.test_player import SMALL, make_actor, rules_of, tensors_of

pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")  # of products that wrap when compiled


def policies(rule_sets: tuple[Rules, ...], temperature: float) -> tuple[PolicyPlayer, GpuPolicy]:
    """Make the same small policy on both sides."""
    tensors = tensors_of(make_actor(rule_sets, SMALL))
    policy = PolicyPlayer(PolicyInfo(rule_sets, SMALL), make_encoding(rule_sets), tensors, temperature)
    return policy, GpuPolicy(policy, tensors, "float32")


def batches(groups: list[TableGroup], tables: int, moment: int) -> tuple[BatchEnv, BatchEnv]:
    """Set up the same tables on both sides, `moment` random decisions into their deals."""
    cpu, gpu = (make_batch(groups, tables, seed=4, device=device) for device in ("cpu", "cuda"))
    streams, actions = np.arange(1, tables + 1) * 77, np.zeros(tables, np.int64)
    cpu.reset()
    for _ in range(moment):
        cpu.random_actions(streams, actions)
        cpu.step(actions)
    gpu.restore(None, cpu.save())
    cpu.observe()
    return cpu, gpu


def compare(player: SearchPlayer, cpu: BatchEnv, seeds: np.ndarray, output: GpuSearchOutput, rows: list[int]) -> int:
    """Compare some rows of an output with the processor's; return the number of rows with a choice."""
    actions, policy, value, means, errors, counts = (array.to_numpy() for array in output)
    results = player.search(cpu.observation[rows], cpu.mask[rows], seeds[rows], cpu.save(rows))
    for result in results:
        row, candidates = rows[result.row], result.members
        others = np.ones(NUM_ACTIONS, np.bool_)
        others[candidates] = False
        assert counts[row, candidates].tolist() == result.counts.tolist()
        assert not counts[row, others].any()
        assert not policy[row, others].any()
        assert policy[row, candidates] == pytest.approx(result.action_weights, rel=1e-4)
        assert actions[row] == result.choose(player.policy.temperature)
        assert np.isnan(means[row, others]).all()
        if result.worlds > 0:
            assert means[row, candidates] == pytest.approx(result.means, rel=1e-5)
            assert errors[row, candidates] == pytest.approx(result.errors, rel=1e-5, nan_ok=True)
            assert value[row] == pytest.approx(result.action_weights @ result.means, rel=1e-4, abs=1e-5)
        else:
            assert np.isnan(value[row])
            assert np.isnan(means[row]).all()
    return len(results)


@pytest.mark.parametrize(
    ("opponents", "temperature", "variant", "moment"),
    [
        ("mixture", 0.0, "small_ships", 30),
        ("policy", 1.0, "nonesuch", 30),
        ("thumb", 1.0, "sniped_whist", 30),
        ("uniform", 0.0, "noms", 40),
    ],
)
def test_candidates_worlds_and_values_are_those_of_the_processor(
    opponents: str, temperature: float, variant: str, moment: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if the memory holds only one row at a time."""
    cpu, gpu = batches([TableGroup(variant)], 2, moment)
    cpu_policy, gpu_policy = policies(rules_of(variant), temperature)
    seeds = np.arange(2) * 1013 + 2**62
    if opponents != "mixture":
        monkeypatch.setattr(search, "MAX_BYTES", 1)
        monkeypatch.setattr(search, "ROWS", 1)
    output = GpuSearch(gpu_policy, worlds=2, opponents=opponents).values(gpu, to_gpu(seeds))
    assert compare(SearchPlayer(cpu_policy, worlds=2, opponents=opponents), cpu, seeds, output, [0, 1]) > 0


@pytest.mark.soak
@pytest.mark.parametrize("moment", [2, 11, 22])
@pytest.mark.parametrize("variant", VARIANTS)
def test_searches_of_all_games_are_those_of_the_processor(variant: str, moment: int) -> None:
    cpu, gpu = batches([TableGroup(variant)], 2, moment)
    cpu_policy, gpu_policy = policies(rules_of(variant), 1.0)
    seeds = np.arange(2) * 1013 + moment
    output = GpuSearch(gpu_policy, worlds=2).values(gpu, to_gpu(seeds))
    compare(SearchPlayer(cpu_policy, worlds=2), cpu, seeds, output, [0, 1])


def test_rows_that_are_not_selected_or_have_no_choice_or_other_rules() -> None:
    groups = [TableGroup("noms"), TableGroup("noms", None, {"min_bid": 7})]
    cpu, gpu = batches(groups, 6, 40)
    cpu_policy, gpu_policy = policies(rules_of("noms"), 0.0)
    player, seeds = GpuSearch(gpu_policy, worlds=2, opponents="uniform"), np.arange(6)
    with pytest.raises(ValueError, match="was trained for noms"):
        player.act(gpu, to_gpu(seeds))
    where, actions = to_gpu(np.array([True, True, False, True, True, False])), to_gpu(np.full(6, 77))
    assert player.act(gpu, to_gpu(seeds), where=where, actions=actions) is actions
    rows = np.array([0, 1])
    assert (np.count_nonzero(cpu.mask[rows], axis=1) > 1).any()
    expected = cpu.mask[rows].argmax(axis=1)
    searcher = SearchPlayer(cpu_policy, worlds=2, opponents="uniform")
    for result in searcher.search(cpu.observation[rows], cpu.mask[rows], seeds[rows], cpu.save(rows)):
        expected[result.row] = result.choose(0.0)
    assert actions.to_numpy().tolist() == [*expected, 77, NOBODY, NOBODY, 77]


def test_steps_are_captured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    _, gpu = batches([TableGroup("noms")], 2, 40)
    policy = policies(rules_of("noms"), 0.0)[1]
    expected = GpuSearch(policy, worlds=2, opponents="uniform").values(gpu, to_gpu(np.arange(2)))
    monkeypatch.setattr(lanes, "can_capture", lambda: True)
    monkeypatch.setattr(lanes, "captured", Graph)
    monkeypatch.setattr(torch.cuda, "graph_pool_handle", lambda: (0, 1))
    player = GpuSearch(policy, worlds=2, opponents="uniform")
    for events in ({"capture", "replay"}, {"replay"}):
        Graph.log.clear()
        output = player.values(gpu, to_gpu(np.arange(2)))
        for array, other in zip(output, expected, strict=True):
            np.testing.assert_array_equal(array.to_numpy(), other.to_numpy())
        assert set(Graph.log) == events


@pytest.mark.parametrize(("multiplier", "searches"), [(1, True), (2, False)])
def test_the_policy_plays_where_the_cards_were_sorted(multiplier: int, searches: bool) -> None:
    cpu, gpu = batches([TableGroup("noms")], 2, 40)
    tables = cpu.save()
    tables.multiplier = multiplier
    for batch in (cpu, gpu):
        batch.restore(None, tables)
    cpu.observe()
    cpu_policy, gpu_policy = policies(rules_of("noms"), 0.0)
    output = GpuSearch(gpu_policy, worlds=2, opponents="uniform").values(gpu, to_gpu(np.array([7, 8])))
    assert bool(output.counts.to_numpy().any()) == searches
    assert compare(SearchPlayer(cpu_policy, worlds=2, opponents="uniform"), cpu, np.array([7, 8]), output, [0, 1]) > 0


def test_load_player_reads_or_refuses_the_options_of_a_search() -> None:
    player = load_player("search:small_ships@0,worlds=7,opponents=thumb,temperature=0.5", device="cuda")
    assert (player.worlds, player.opponents, player.temperature, player.policy.temperature) == (7, "thumb", 0.5, 0)
    assert player.rule_sets == player.policy.rule_sets
    assert repr(player).startswith("<GpuSearch: 7 worlds, on <GpuPolicy")
    assert load_player("search:small_ships", device="cuda").opponents == "mixture"
    for name, sentence in {
        "search:small_ships,time=5": "search on a GPU has no option time: options are worlds, opponents and temperature",
        "search:small_ships,threads=2": "search on a GPU has no option threads",
        "search:small_ships,opponents=noms": "opponents on a GPU must be uniform, policy, thumb or mixture, not 'noms'",
        "search:small_ships,worlds=0": "worlds must be a whole number from 1 to 10000",
        "search:small_ships,temperature=-1": "temperature must be a number from 0 on",
        "search:thumb": "needs a trained policy, and thumb is none",
        "search": "needs a trained policy: give search:POLICY",
    }.items():
        with pytest.raises(ValueError, match=sentence) as refusal:
            load_player(name, device="cuda")
        assert "\n" not in str(refusal.value)
    _, gpu = batches([TableGroup("small_ships")], 1, 0)
    with pytest.raises(ValueError, match="GpuSearch needs seeds"):
        player.act(gpu)
