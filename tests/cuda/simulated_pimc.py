"""Tests of `pimc` on a GPU, in numba's simulator of one: `test_gpu_rows` starts them, in a process of its own."""

import numpy as np
import pytest

from noms_env import TableGroup, load_player
from noms_env.core.actions import SCORED
from noms_env.cuda.arrays import to_gpu
from noms_env.engine.row_kernels import kernel_view
from noms_env.players.protocol import NOBODY
from noms_env.search.candidates import write_candidates
from noms_env.search.endgame.solver import is_solvable
from noms_env.search.pimc import MARGIN, SHORT, new_work, search
from tests.cuda.agreement import Both, Plan

SHORT_DEALS = [
    TableGroup("sniped_whist", 3, {"hand_size": 3}),
    TableGroup("small_ships", 3, {"hand_size": 3}),
    TableGroup("big_ships", 4, {"start_cards": 2}),
    TableGroup("noms", 4, {"hand_size": 3, "min_bid": 1}),
]
TABLES = 8
WORLDS = 2
SEEDS = np.random.default_rng(8).integers(2**63, size=TABLES)


def compare(plan: Plan, skipped: int, steps: int) -> dict[str, int]:
    """Ask both sides at every second decision behind the first ones; how many choices were solved, and how many played out.

    The processor is held to the endings that a GPU solves. Actions are compared, and what the candidates came to in all worlds
    together.
    """
    work, on_gpu = new_work(WORLDS), load_player(f"pimc:{WORLDS}", device="cuda")
    both, asked = Both(plan, TABLES), np.arange(TABLES) != 3
    for _ in range(skipped):
        both.step(observe=False)
        both.go_on()
    seen = {"solved": 0, "played out": 0}
    for step in range(steps):
        tables, seeds = kernel_view(both.cpu.tables), SEEDS + step
        actions = to_gpu(np.full(TABLES, 77))
        on_gpu.act(both.gpu, to_gpu(seeds), where=to_gpu(asked) if step % 2 else None, actions=actions)
        memory, got = on_gpu._memory[TABLES], actions.to_numpy()
        numbers, counts = (array.copy_to_host() for array in memory.worlds.pieces[0][:2])
        kind = int(counts[1, 0] > 0)  # whose piece was the last that had rows
        places = {int(row): j for j, row in enumerate(numbers[kind, : counts[kind, 0]])}
        for row in range(TABLES):
            if not asked[row] and step % 2:
                assert got[row] == 77
                continue
            t = tables[row]
            assert got[row] == (NOBODY if t.phase == SCORED else search(tables, row, seeds[row], SHORT, work))
            if row in places:
                n = write_candidates(t, np.int64(0), work.candidates)
                assert memory.sums.copy_to_host()[places[row], :n].tolist() == work.sums[:n].tolist()
                seen["solved" if is_solvable(t, MARGIN[SHORT, 0]) else "played out"] += 1
        for _ in range(2):
            both.step(observe=False)
            both.go_on()
    return seen


def test_pimc_answers_as_a_processor_that_is_held_to_short_endings() -> None:
    seen = compare(Plan(SHORT_DEALS, {"seed": 6}), skipped=0, steps=4)
    assert min(seen.values()) > 3


@pytest.mark.soak
@pytest.mark.parametrize("variant", ["down_up", "up_down", "nonesuch", "small_ships", "noms"])
def test_pimc_answers_as_the_processor_towards_the_end_of_whole_deals(variant: str) -> None:
    seen = compare(Plan([TableGroup(variant)], {"seed": 2}), skipped=36, steps=5)
    assert sum(seen.values()) > 3
