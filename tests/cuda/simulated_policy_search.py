"""Tests of the search on a policy for whole batches that run in numba's simulator of a GPU, compared with the processor's.

`test_gpu_rows` starts them, in a process of its own; torch is on the processor.
"""

from collections.abc import Callable

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
from tests.cuda.agreement import to_gpu
from tests.policy.test_player import SMALL, make_actor, rules_of, tensors_of

pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")  # of products that wrap when compiled


def policies(rule_sets: tuple[Rules, ...], temperature: float) -> tuple[PolicyPlayer, GpuPolicy]:
    """The same small policy on both sides."""
    tensors = tensors_of(make_actor(rule_sets, SMALL))
    policy = PolicyPlayer(PolicyInfo(rule_sets, SMALL), make_encoding(rule_sets), tensors, temperature)
    return policy, GpuPolicy(policy, tensors, "float32")


def batches(groups: list[TableGroup], tables: int, moment: int) -> tuple[BatchEnv, BatchEnv]:
    """The same tables on both sides, so many random decisions into their deals."""
    cpu, gpu = (make_batch(groups, tables, seed=4, device=device) for device in ("cpu", "cuda"))
    streams, actions = np.arange(1, tables + 1) * 77, np.zeros(tables, np.int64)
    cpu.reset()
    for _ in range(moment):
        cpu.random_actions(streams, actions)
        cpu.step(actions)
    gpu.restore(None, cpu.save())
    cpu.observe()
    return cpu, gpu


def compare(player: SearchPlayer, cpu: BatchEnv, seeds: np.ndarray, found: GpuSearchOutput, rows: list[int]) -> int:
    """Hold what was found in some rows against the processor's; in how many of them there was a choice."""
    actions, policy, value, means, errors, counts = (array.to_numpy() for array in found)
    searched = player.search(cpu.observation[rows], cpu.mask[rows], seeds[rows], cpu.save(rows))
    for one in searched:
        row, known = rows[one.row], np.zeros(NUM_ACTIONS, np.bool_)
        known[one.members] = True
        assert counts[row, one.members].tolist() == one.counts.tolist()
        assert not counts[row, ~known].any()
        assert not policy[row, ~known].any()
        assert policy[row, one.members] == pytest.approx(one.action_weights, rel=1e-4)
        assert actions[row] == one.choose(player.policy.temperature)
        assert np.isnan(means[row, ~known]).all()
        if one.worlds > 0:
            assert means[row, one.members] == pytest.approx(one.means, rel=1e-5)
            assert errors[row, one.members] == pytest.approx(one.errors, rel=1e-5, nan_ok=True)
            assert value[row] == pytest.approx(one.action_weights @ one.means, rel=1e-4, abs=1e-5)
        else:
            assert np.isnan(value[row])
            assert np.isnan(means[row]).all()
    return len(searched)


CASES = [
    ("mixture", 0.0, [TableGroup("small_ships")], 2, 30),
    ("policy", 1.0, [TableGroup("nonesuch")], 2, 30),
    ("thumb", 1.0, [TableGroup("sniped_whist")], 2, 30),
    ("uniform", 0.0, [TableGroup("noms")], 2, 40),
]


@pytest.mark.parametrize(("opponents", "temperature", "groups", "tables", "moment"), CASES, ids=[case[0] for case in CASES])
def test_what_is_found_is_what_the_processor_finds(
    opponents: str, temperature: float, groups: list[TableGroup], tables: int, moment: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same candidates, worlds and values; also where memory allows one row at a time."""
    cpu, gpu = batches(groups, tables, moment)
    of_cpu, of_gpu = policies(rules_of(*(group.variant for group in groups)), temperature)
    player = SearchPlayer(of_cpu, worlds=2, opponents=opponents)
    seeds = np.arange(tables) * 1013 + 2**62
    if opponents != "mixture":
        monkeypatch.setattr(search, "MOST_BYTES", 1)
        monkeypatch.setattr(search, "ROWS", 1)
    found = GpuSearch(of_gpu, worlds=2, opponents=opponents).values(gpu, to_gpu(seeds))
    assert compare(player, cpu, seeds, found, [*range(tables)]) > 0


@pytest.mark.soak
@pytest.mark.parametrize("moment", [2, 11, 22])
@pytest.mark.parametrize("variant", VARIANTS)
def test_what_is_found_in_all_games_is_what_the_processor_finds(variant: str, moment: int) -> None:
    cpu, gpu = batches([TableGroup(variant)], 2, moment)
    of_cpu, of_gpu = policies(rules_of(variant), 1.0)
    seeds = np.arange(2) * 1013 + moment
    found = GpuSearch(of_gpu, worlds=2).values(gpu, to_gpu(seeds))
    compare(SearchPlayer(of_cpu, worlds=2), cpu, seeds, found, [0, 1])


def test_rows_that_are_not_asked_or_have_no_choice_or_other_rules() -> None:
    groups = [TableGroup("noms"), TableGroup("noms", None, {"min_bid": 7})]
    cpu, gpu = batches(groups, 6, 40)
    of_cpu, of_gpu = policies(rules_of("noms"), 0.0)
    player, seeds, before = GpuSearch(of_gpu, worlds=2, opponents="uniform"), np.arange(6), np.full(6, 77)
    with pytest.raises(ValueError, match="was trained for noms"):
        player.act(gpu, to_gpu(seeds))
    where = np.array([True, True, False, True, True, False])
    actions = to_gpu(before)
    assert player.act(gpu, to_gpu(seeds), where=to_gpu(where), actions=actions) is actions
    taken = actions.to_numpy()
    assert taken.tolist()[2:] == [77, NOBODY, NOBODY, 77]
    rows = np.array([0, 1])
    choices = np.count_nonzero(cpu.mask[rows], axis=1)
    assert (choices > 1).any()
    searched = SearchPlayer(of_cpu, worlds=2, opponents="uniform").search(
        cpu.observation[rows], cpu.mask[rows], seeds[rows], cpu.save(rows)
    )
    expected = cpu.mask[rows].argmax(axis=1)
    expected[[one.row for one in searched]] = [one.choose(0.0) for one in searched]
    assert taken[:2].tolist() == expected.tolist()


class Graph:
    """Stands in for a CUDA graph."""

    def __init__(self, work: Callable[[], None], _pool: object, made: list[str]) -> None:
        """Take the launches once, as `captured` does."""
        work()
        self.work, self.made = work, made
        made.append("captured")

    def replay(self) -> None:
        self.work()
        self.made.append("replayed")


def test_steps_are_captured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    _, gpu = batches([TableGroup("noms")], 2, 40)
    policy, made = policies(rules_of("noms"), 0.0)[1], list[str]()
    expected = GpuSearch(policy, worlds=2, opponents="uniform").values(gpu, to_gpu(np.arange(2)))
    monkeypatch.setattr(lanes, "can_capture", lambda: True)
    monkeypatch.setattr(lanes, "captured", lambda work, pool: Graph(work, pool, made))
    monkeypatch.setattr(torch.cuda, "graph_pool_handle", lambda: (0, 1))
    player = GpuSearch(policy, worlds=2, opponents="uniform")
    for call in range(2):
        found = player.values(gpu, to_gpu(np.arange(2)))
        for array, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(array.to_numpy(), other.to_numpy())
        assert (made.count("captured") > 0) == (call == 0)
        assert made.count("replayed") > 0
        made.clear()


@pytest.mark.parametrize(("multiplier", "searches"), [(1, True), (2, False)])
def test_where_the_cards_were_sorted_the_policy_plays(multiplier: int, searches: bool) -> None:
    cpu, gpu = batches([TableGroup("noms")], 2, 40)
    tables = cpu.save()
    tables.multiplier = multiplier
    for batch in (cpu, gpu):
        batch.restore(None, tables)
    cpu.observe()
    of_cpu, of_gpu = policies(rules_of("noms"), 0.0)
    found = GpuSearch(of_gpu, worlds=2, opponents="uniform").values(gpu, to_gpu(np.array([7, 8])))
    assert bool(found.counts.to_numpy().any()) == searches
    assert compare(SearchPlayer(of_cpu, worlds=2, opponents="uniform"), cpu, np.array([7, 8]), found, [0, 1]) > 0


def test_names_and_what_is_refused() -> None:
    player = load_player("search:small_ships@0,worlds=7,opponents=thumb,temperature=0.5", device="cuda")
    assert (player.worlds, player.opponents, player.temperature, player.policy.temperature) == (7, "thumb", 0.5, 0)
    assert player.rule_sets == player.policy.rule_sets
    assert repr(player).startswith("<GpuSearch: 7 worlds, on <GpuPolicy")
    assert load_player("search:small_ships", device="cuda").opponents == "mixture"
    for name, refusal in {
        "search:small_ships,time=5": "search on a GPU has no option time: options are worlds, opponents and temperature",
        "search:small_ships,threads=2": "search on a GPU has no option threads",
        "search:small_ships,opponents=noms": "opponents on a GPU must be uniform, policy, thumb or mixture, not 'noms'",
        "search:small_ships,worlds=0": "worlds must be a whole number from 1 to 10000",
        "search:small_ships,temperature=-1": "temperature must be a number from 0 on",
        "search:thumb": "needs a trained policy, and thumb is none",
        "search": "needs a trained policy: give search:POLICY",
    }.items():
        with pytest.raises(ValueError, match=refusal) as refused:
            load_player(name, device="cuda")
        assert "\n" not in str(refused.value)
    _, gpu = batches([TableGroup("small_ships")], 1, 0)
    with pytest.raises(ValueError, match="GpuSearch needs seeds"):
        player.act(gpu)
