"""Players that fail lose the table at which they do, and no other."""

from threading import Event

import numpy as np
import pytest

from noms_env import BatchEnv, make_batch
from noms_env.players.foreign_code import ForfeitError
from noms_training.agents.guarded import Guarded, first_legal
from noms_training.thread_pool import Stopped
from tests.begun import begun


class Fails:
    """The highest legal action; fails in its own way at one row."""

    def __init__(self, how: str, row: int = 2) -> None:
        self.how, self.row = how, row
        self.asked: list[list[int]] = []

    def __call__(self, batch: BatchEnv, rows: np.ndarray) -> np.ndarray:
        self.asked.append([int(row) for row in rows])
        actions = highest_legal(batch, rows)
        if self.row in rows and self.how == "raises":
            raise RuntimeError("cannot think")
        if self.how == "shape":
            return actions[:, np.newaxis]
        wrong = {"illegal": int(np.flatnonzero(batch.mask[self.row] == 0)[0]), "below": -3, "above": 9999}.get(self.how)
        return actions if wrong is None else np.where(rows == self.row, wrong, actions)


def highest_legal(batch: BatchEnv, rows: np.ndarray) -> np.ndarray:
    actions: np.ndarray = batch.mask.shape[1] - 1 - batch.mask[rows][:, ::-1].argmax(axis=1)
    return actions


@pytest.fixture
def batch() -> BatchEnv:
    made = begun(make_batch("down_up", tables=6, seed=1))
    made.observe()
    return made


ROWS = np.array([0, 2, 3, 5])


def test_good_answers_pass(batch: BatchEnv) -> None:
    guard = Guarded(Fails("never"), Event())
    assert list(guard(batch, ROWS)) == list(highest_legal(batch, ROWS))
    assert guard.lost == {}


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ("raises", "raised RuntimeError: cannot think"),
        ("illegal", "which was not legal"),
        ("below", "chose action -3, which was not legal"),
        ("above", "chose action 9999, which was not legal"),
    ],
)
def test_only_the_table_is_lost(batch: BatchEnv, how: str, why: str) -> None:
    player = Fails(how)
    guard = Guarded(player, Event())
    actions = guard(batch, ROWS)
    assert list(guard.lost) == [2]
    assert why in guard.lost[2]
    expected = np.where(ROWS == 2, first_legal(batch, ROWS), highest_legal(batch, ROWS))
    assert list(actions) == list(expected)
    player.asked.clear()
    assert list(guard(batch, ROWS)) == list(expected)
    assert player.asked == [[0, 3, 5]]  # it is not asked again at a table that it has lost
    player.asked.clear()
    assert list(guard(batch, np.array([2]))) == [int(first_legal(batch, np.array([2]))[0])]
    assert player.asked == []


def test_answers_of_another_shape_lose_all_tables(batch: BatchEnv) -> None:
    guard = Guarded(Fails("shape"), Event())
    assert list(guard(batch, ROWS)) == list(first_legal(batch, ROWS))
    assert sorted(guard.lost) == list(ROWS)
    assert "the answer must be 1 integers, not int64 of shape (1, 1)" in guard.lost[0]


def test_a_block_that_is_stopped_is_given_up(batch: BatchEnv) -> None:
    stop = Event()
    stop.set()
    with pytest.raises(Stopped):
        Guarded(Fails("never"), stop)(batch, ROWS)


@pytest.mark.parametrize(("how", "error"), [("raises", RuntimeError), ("illegal", ValueError), ("illegal", ForfeitError)])
def test_a_strict_guard_raises(batch: BatchEnv, how: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        Guarded(Fails(how), Event(), strict=True)(batch, ROWS)
