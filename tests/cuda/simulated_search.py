"""Tests of what searches need on a GPU, in numba's simulator of one: `test_gpu_rows` starts them, in a process of its own."""

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
from noms_env.search.candidates import only_candidate
from noms_env.search.endgame.position import count_deal_as_last
from noms_env.search.pimc import CALL_WORLDS, FlatMC, is_single_round
from noms_env.variants import VARIANTS
from noms_env.variants.table_record import new_tables
from tests.cuda.agreement import Both, Plan, assert_same, draw_plan

SHORT_DEALS = [
    TableGroup("sniped_whist", 3, {"hand_size": 3}),
    TableGroup("small_ships", 3, {"hand_size": 3}),
    TableGroup("up_down", 4),
    TableGroup("noms", 4, {"hand_size": 2}),
]
SEEDS = np.random.default_rng(8).integers(2**63, size=7)


def as_bytes(tables: np.ndarray) -> np.ndarray:
    return tables.view(np.ndarray).view(np.uint8).reshape(len(tables), -1)


def expected_worlds(tables: np.recarray, row: int, n_worlds: int) -> np.ndarray:
    """The worlds of a row, as a search on the processor makes them."""
    copies = kernel_view(new_tables(n_worlds))
    copies[:] = tables[row]
    sample_hidden_rows(copies, np.arange(n_worlds), tables[row].seat, SEEDS[row], new_sampling_workspace())
    for world in range(n_worlds):
        count_deal_as_last(copies[world])
    return copies


def both_after(name: str, steps: int, tables: int) -> Both:
    """All games, with options drawn at random, after a few random decisions."""
    both = Both(draw_plan(random.Random(name)), tables)
    for _ in range(steps):
        both.step(observe=False)
        both.go_on()
    return both


@pytest.mark.parametrize("steps", [1, 11])
def test_worlds_are_those_of_the_processor(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worlds_module, "MOST_BYTES", 1_000_000)  # a piece of a few rows
    both, n_worlds = both_after(f"worlds {steps}", steps, 7), 2
    tables, asked = both.cpu.tables, np.arange(7) != 4
    actions, where, seeds = to_gpu(np.full(7, 77)), to_gpu(asked), to_gpu(SEEDS[:7])
    worlds = GpuWorlds(7, n_worlds)
    worlds.list_rows(both.gpu.gpu, where.native, True, actions.native)
    choices = {}
    for row in map(int, np.flatnonzero(asked)):
        only = -1 if tables[row].phase == SCORED else only_candidate(tables[row])
        if tables[row].phase != SCORED and only < 0:
            choices[row] = n_worlds * (CALL_WORLDS if is_single_round(tables[row]) else 1)
        else:
            assert actions.to_numpy()[row] == only
    dealt = set[int]()
    assert len(worlds.pieces) > 3
    for piece in worlds.pieces:
        worlds.deal(both.gpu.gpu, piece, seeds.native)
        end = min(piece.first + piece.rows, int(piece.counts.copy_to_host()[piece.kind, 0]))
        numbers = piece.numbers.copy_to_host()[piece.kind, piece.first : end]
        for j, row in enumerate(map(int, numbers)):
            assert piece.n_worlds == choices[row]
            got = as_bytes(worlds.tables.copy_to_host()[j * piece.n_worlds : (j + 1) * piece.n_worlds])
            assert_same(f"worlds of row {row}", as_bytes(expected_worlds(tables, row, piece.n_worlds)), got, both.plan)
            dealt.add(row)
    assert dealt == set(choices)
    assert (actions.to_numpy() == 77).tolist() == [row in choices or not asked[row] for row in range(7)]
    both.compare_tables()


@pytest.mark.parametrize("variant", VARIANTS)
def test_hidden_cards_are_dealt_as_on_the_processor(variant: str) -> None:
    both = Both(draw_plan(random.Random(f"hidden {variant}"), [variant]), tables=13)
    rng = random.Random(variant)
    for _ in range(2):
        for _ in range(rng.randrange(1, 9)):
            both.step(observe=False)
            both.go_on()
        playing = np.flatnonzero(both.cpu.tables.phase != SCORED)
        if len(playing) == 0:
            continue
        source, seat, seed = int(rng.choice(playing)), rng.randrange(int(both.cpu.tables.n_seats[0])), rng.randrange(2**32)
        rows = None if rng.random() < 0.2 else np.arange(13)  # more than there are threads
        for batch in (both.cpu, both.gpu):
            batch.sample_hidden(source, seat, np.random.default_rng(seed), rows)
        both.compare()
        both.compare_tables()


def compare_flat_mc(plan: Plan, steps: int) -> set[int]:
    """Ask both sides at every second decision of 4 tables; the phases in which there was a choice."""
    on_cpu, on_gpu = FlatMC(2), load_player("flat_mc:2", device="cuda")
    both, asked, phases = Both(plan, tables=4), np.arange(4) != 2, set[int]()
    for step in range(steps):
        tables, seeds = both.cpu.tables, SEEDS[:4] + step
        phases |= {int(table.phase) for table in tables if table.phase != SCORED and only_candidate(table) < 0}
        expected, actions = np.zeros(4, np.int64), to_gpu(np.full(4, 77))
        on_cpu.write_actions(both.cpu.mask, seeds, kernel_view(tables), expected)
        on_gpu.act(both.gpu, to_gpu(seeds), where=to_gpu(asked) if step % 2 else None, actions=actions)
        assert actions.to_numpy().tolist() == np.where(asked | (step % 2 == 0), expected, 77).tolist()
        for _ in range(2):
            both.step(observe=False)
            both.go_on()
    return phases


def test_flat_mc_answers_as_on_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worlds_module, "MOST_BYTES", 1_000_000)  # a row or a few in each piece
    phases = compare_flat_mc(Plan(SHORT_DEALS, {"seed": 6}), steps=3)
    assert phases >= {CALLING, NOMINATING, PLAYING}


@pytest.mark.soak
@pytest.mark.parametrize("variant", VARIANTS)
def test_flat_mc_answers_as_on_the_processor_in_all_games(variant: str) -> None:
    compare_flat_mc(draw_plan(random.Random(f"flat_mc {variant}"), [variant]), steps=8)
