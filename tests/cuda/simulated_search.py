"""Sampled worlds, `flat_mc` and `pimc` on a GPU, in numba's simulator of one."""

import random

import numpy as np
import pytest

from noms_env import TableGroup, load_player
from noms_env.belief import new_sampling_workspace, sample_hidden_rows
from noms_env.core.actions import CALLING, NOMINATING, PLAYING, SCORED
from noms_env.cuda.arrays import to_gpu
from noms_env.cuda.players import worlds as worlds_module
from noms_env.cuda.players.worlds import GpuWorlds
from noms_env.engine.row_kernels import kernel_view
from noms_env.players.protocol import NOBODY
from noms_env.search.candidates import only_candidate, write_candidates
from noms_env.search.endgame.position import count_deal_as_last
from noms_env.search.endgame.solver import is_solvable
from noms_env.search.pimc import CALL_WORLDS, MARGIN, SHORT, FlatMC, is_single_round, new_work, search
from noms_env.variants import VARIANTS
from noms_env.variants.table_record import new_tables
from tests.cuda.agreement import Both, Plan, assert_same, draw_plan

SHORT_DEALS = [
    TableGroup("sniped_whist", 3, {"hand_size": 3}),
    TableGroup("small_ships", 3, {"hand_size": 3}),
    TableGroup("up_down", 4),
    TableGroup("noms", 4, {"hand_size": 2}),
]
SOLVABLE_DEALS = [
    *SHORT_DEALS[:2],
    TableGroup("big_ships", 4, {"start_cards": 2}),
    TableGroup("noms", 4, {"hand_size": 3, "min_bid": 1}),
]
SEEDS = np.random.default_rng(8).integers(2**63, size=8)


def as_bytes(tables: np.ndarray) -> np.ndarray:
    return tables.view(np.ndarray).view(np.uint8).reshape(len(tables), -1)


def expected_worlds(tables: np.recarray, row: int, n_worlds: int) -> np.ndarray:
    """Sample the worlds of a row as a search on the processor does."""
    copies = kernel_view(new_tables(n_worlds))
    copies[:] = tables[row]
    sample_hidden_rows(copies, np.arange(n_worlds), tables[row].seat, SEEDS[row], new_sampling_workspace())
    for world in range(n_worlds):
        count_deal_as_last(copies[world])
    return copies


@pytest.mark.parametrize("steps", [1, 11])
def test_worlds_are_those_of_the_processor(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worlds_module, "MAX_BYTES", 1_000_000)  # a piece of a few rows
    both, n_worlds = Both(draw_plan(random.Random(f"worlds {steps}")), 7), 2
    for _ in range(steps):
        both.step(observe=False)
        both.advance()
    tables, selected = both.cpu.tables, np.arange(7) != 4
    actions, where, seeds = to_gpu(np.full(7, 77)), to_gpu(selected), to_gpu(SEEDS[:7])
    worlds = GpuWorlds(7, n_worlds)
    worlds.list_rows(both.gpu.gpu, where.native, True, actions.native)
    choices = {}
    for row in map(int, np.flatnonzero(selected)):
        only = -1 if tables[row].phase == SCORED else only_candidate(tables[row])
        if tables[row].phase != SCORED and only < 0:
            choices[row] = n_worlds * (CALL_WORLDS if is_single_round(tables[row]) else 1)
        else:
            assert actions.to_numpy()[row] == only
    rows = set[int]()
    assert len(worlds.pieces) > 3
    for piece in worlds.pieces:
        worlds.deal(both.gpu.gpu, piece, seeds.native)
        end = min(piece.first + piece.rows, int(piece.counts.copy_to_host()[piece.kind, 0]))
        numbers = piece.numbers.copy_to_host()[piece.kind, piece.first : end]
        for j, row in enumerate(map(int, numbers)):
            assert piece.n_worlds == choices[row]
            copies = as_bytes(worlds.tables.copy_to_host()[j * piece.n_worlds : (j + 1) * piece.n_worlds])
            assert_same(f"worlds of row {row}", as_bytes(expected_worlds(tables, row, piece.n_worlds)), copies, both.plan)
            rows.add(row)
    assert rows == set(choices)
    assert (actions.to_numpy() == 77).tolist() == [row in choices or not selected[row] for row in range(7)]
    both.compare_tables()


@pytest.mark.parametrize("variant", VARIANTS)
def test_sample_hidden_deals_as_on_the_processor(variant: str) -> None:
    both = Both(draw_plan(random.Random(f"hidden {variant}"), [variant]), tables=13)
    rng = random.Random(variant)
    for _ in range(2):
        for _ in range(rng.randrange(1, 9)):
            both.step(observe=False)
            both.advance()
        playing = np.flatnonzero(both.cpu.tables.phase != SCORED)
        if len(playing) == 0:
            continue
        source, seat, seed = int(rng.choice(playing)), rng.randrange(int(both.cpu.tables.n_seats[0])), rng.randrange(2**32)
        rows = None if rng.random() < 0.2 else np.arange(13)  # more rows than threads
        for batch in (both.cpu, both.gpu):
            batch.sample_hidden(source, seat, np.random.default_rng(seed), rows)
        both.compare()
        both.compare_tables()


def compare_flat_mc(plan: Plan, steps: int) -> set[int]:
    """Ask both sides at every second decision of 4 tables; return the phases in which there was a choice."""
    cpu_player, gpu_player = FlatMC(2), load_player("flat_mc:2", device="cuda")
    both, selected, phases = Both(plan, tables=4), np.arange(4) != 2, set[int]()
    for step in range(steps):
        tables, seeds = both.cpu.tables, SEEDS[:4] + step
        phases |= {int(table.phase) for table in tables if table.phase != SCORED and only_candidate(table) < 0}
        expected, actions = np.zeros(4, np.int64), to_gpu(np.full(4, 77))
        cpu_player.write_actions(both.cpu.mask, seeds, kernel_view(tables), expected)
        gpu_player.act(both.gpu, to_gpu(seeds), where=to_gpu(selected) if step % 2 else None, actions=actions)
        assert actions.to_numpy().tolist() == np.where(selected | (step % 2 == 0), expected, 77).tolist()
        for _ in range(2):
            both.step(observe=False)
            both.advance()
    return phases


def test_flat_mc_answers_as_on_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worlds_module, "MAX_BYTES", 1_000_000)  # a piece of a few rows
    phases = compare_flat_mc(Plan(SHORT_DEALS, {"seed": 6}), steps=3)
    assert phases >= {CALLING, NOMINATING, PLAYING}


@pytest.mark.soak
@pytest.mark.parametrize("variant", VARIANTS)
def test_flat_mc_answers_as_on_the_processor_in_all_games(variant: str) -> None:
    compare_flat_mc(draw_plan(random.Random(f"flat_mc {variant}"), [variant]), steps=8)


def compare_pimc(plan: Plan, skipped: int, steps: int) -> dict[str, int]:
    """Ask both sides at every second decision after the first ones; count the choices that were solved or played out.

    The processor solves only the endings that a GPU solves. Compares actions, and sums of candidates over all worlds.
    """
    work, player = new_work(2), load_player("pimc:2", device="cuda")
    n = len(SEEDS)
    both, selected = Both(plan, n), np.arange(n) != 3
    for _ in range(skipped):
        both.step(observe=False)
        both.advance()
    counts = {"solved": 0, "played out": 0}
    for step in range(steps):
        tables, seeds = kernel_view(both.cpu.tables), SEEDS + step
        actions = to_gpu(np.full(n, 77))
        player.act(both.gpu, to_gpu(seeds), where=to_gpu(selected) if step % 2 else None, actions=actions)
        memory, answers = player._memory[n], actions.to_numpy()
        numbers, n_rows = (array.copy_to_host() for array in memory.worlds.pieces[0][:2])
        kind = int(n_rows[1, 0] > 0)  # the kind of the last piece with rows
        places = {int(row): j for j, row in enumerate(numbers[kind, : n_rows[kind, 0]])}
        for row in range(n):
            if not selected[row] and step % 2:
                assert answers[row] == 77
                continue
            t = tables[row]
            assert answers[row] == (NOBODY if t.phase == SCORED else search(tables, row, seeds[row], SHORT, work))
            if row in places:
                count = write_candidates(t, np.int64(0), work.candidates)
                assert memory.sums.copy_to_host()[places[row], :count].tolist() == work.sums[:count].tolist()
                counts["solved" if is_solvable(t, MARGIN[SHORT, 0]) else "played out"] += 1
        for _ in range(2):
            both.step(observe=False)
            both.advance()
    return counts


def test_pimc_answers_as_a_processor_that_solves_short_endings_only() -> None:
    counts = compare_pimc(Plan(SOLVABLE_DEALS, {"seed": 6}), skipped=0, steps=4)
    assert min(counts.values()) > 3


@pytest.mark.soak
@pytest.mark.parametrize("variant", ["down_up", "up_down", "nonesuch", "small_ships", "noms"])
def test_pimc_answers_as_the_processor_near_the_end_of_whole_deals(variant: str) -> None:
    counts = compare_pimc(Plan([TableGroup(variant)], {"seed": 2}), skipped=36, steps=5)
    assert sum(counts.values()) > 3
