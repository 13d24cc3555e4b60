"""Schedule and memory of a search on a GPU, against the processor; `simulated_policy_search` tests the search itself."""

import numpy as np
import pytest

from noms_env.core.actions import NUM_ACTIONS
from noms_env.cuda.players import search
from noms_env.cuda.players.lanes import step_size
from noms_env.cuda.players.search import LANE_BYTES, SLOT_BYTES, Schedule
from noms_env.cuda.players.search_kernels import (
    COUNT,
    FIRST_SLOT,
    FIRST_WORLD,
    OFFSET,
    PLACE,
    ROW,
    TASK_END,
    TRIED,
    TURN_END,
    WORLD,
    WORLDS,
)
from noms_env.search.endgame.position import ORDER
from noms_env.search.endgame.solver import MAX_TRICKS_TO_SOLVE, MAX_TRICKS_TO_SOLVE_DECKTET
from noms_env.search.policy_search import TOGETHER
from noms_env.search.rollouts import ENDING_COUNTS, ENDING_FRAMES, ENDING_WORDS, ROLLOUT_MARGIN
from noms_env.search.seq_halving import RootStats


@pytest.mark.parametrize("worlds", [1, 4, 24, 100])
def test_the_rounds_are_those_of_the_processor(worlds: int) -> None:
    schedule = Schedule(worlds)
    sizes = np.arange(2, NUM_ACTIONS + 1)
    turns = [schedule.turns(sizes * 10, sizes, number) for number in range(search.MAX_ROUNDS)]
    first_worlds = schedule.all_worlds[sizes].cumsum() - schedule.all_worlds[sizes]
    for candidates, first_world in zip(sizes.tolist(), first_worlds, strict=True):
        names = np.arange(candidates)
        stats = RootStats(0, 1, (names, np.ones(candidates), names), 4, 0.5, worlds)
        for turn in turns:
            own = turn[:, turn[PLACE] == 10 * candidates]
            assert own.shape[1] == (stats.worlds_left > 0)
            if stats.worlds_left > 0:
                assert own[[WORLD, WORLDS, TRIED], 0].tolist() == [
                    first_world + stats.worlds,
                    stats.worlds_left,
                    len(stats.remaining),
                ]
                stats.add(np.zeros((stats.worlds_left, len(stats.remaining)), np.int64))
        assert (stats.worlds_left, stats.worlds) == (0, schedule.all_worlds[candidates])
    for turn in turns:
        assert (np.diff(turn[TURN_END], prepend=0) == turn[WORLDS] * turn[TRIED]).all()


@pytest.mark.parametrize(("worlds", "pools"), [(24, 1), (24, 4), (2000, 4)])
def test_a_task_is_what_the_processor_draws_together(worlds: int, pools: int) -> None:
    schedule, sizes, rows = Schedule(worlds), np.array([2, 13, 5, 60]), np.array([7, 3, 9, 1])
    tasks = schedule.tasks(rows, sizes, pools)
    expected = [
        (row, offset, min(schedule.all_worlds[size] - offset, TOGETHER))
        for row, size in zip(rows.tolist(), sizes, strict=True)
        for offset in range(0, schedule.all_worlds[size], TOGETHER)
    ]
    assert [tuple(task) for task in tasks[[ROW, OFFSET, COUNT]].T.tolist()] == expected
    assert (worlds == 2000) == (len(expected) > len(rows))
    assert tasks[TASK_END, -1] == schedule.all_worlds[sizes].sum()
    assert (tasks[FIRST_WORLD] == tasks[TASK_END] - tasks[COUNT]).all()
    assert (tasks[FIRST_SLOT] == pools * tasks[FIRST_WORLD]).all()


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    schedule, sizes = Schedule(24), np.random.default_rng(0).integers(0, 14, 300)
    sizes[sizes == 1] = 0
    monkeypatch.setattr(search, "MAX_BYTES", 3_000_000)
    pieces = list(schedule.pieces(sizes, 4))
    assert np.concatenate(pieces).tolist() == np.flatnonzero(sizes).tolist()
    for piece in pieces:
        worlds = int(schedule.all_worlds[sizes[piece]].sum())
        turns = [schedule.turns(piece, sizes[piece], number) for number in range(search.MAX_ROUNDS)]
        lanes = max(worlds, *(int(turn[TURN_END, -1]) for turn in turns if turn.size > 0))
        assert 4 * worlds * SLOT_BYTES + lanes * LANE_BYTES <= 3_000_000
    assert 5 < len(pieces) < 60
    monkeypatch.setattr(search, "MAX_BYTES", 1)
    assert [len(piece) for piece in schedule.pieces(sizes, 4)] == [1] * int((sizes > 0).sum())
    assert list(schedule.pieces(np.zeros(5, np.int64), 4)) == []


def test_a_step_is_little_larger_than_its_active_lanes() -> None:
    sizes = [step_size(lanes) for lanes in range(1, 5000)]
    assert all(lanes <= size <= max(1.5 * lanes, lanes + 1) for lanes, size in enumerate(sizes, start=1))
    assert len(set(sizes)) <= 26


def test_the_endings_after_rollouts_fit_into_their_memory() -> None:
    for seats in range(2, 8):
        most = max(*MAX_TRICKS_TO_SOLVE[:, seats], MAX_TRICKS_TO_SOLVE_DECKTET[seats] if seats <= 4 else 0) - ROLLOUT_MARGIN
        if most > 0:
            assert ORDER[most + 1, seats] <= ENDING_COUNTS
            assert 1 << max(7 * most * seats // 10, 6) <= ENDING_WORDS
            assert most * seats + 1 <= ENDING_FRAMES
