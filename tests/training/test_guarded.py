"""A player that fails loses that table and no other."""

from threading import Event

import numpy as np
import pytest

from noms_env import BatchEnv, make_batch
from noms_env.players.foreign_code import ForfeitError
from noms_training.agents.guarded import Guarded, first_legal
from noms_training.thread_pool import Stopped
from tests.begin import begin


class Fails:
    """Plays the highest legal action, and fails in row 2."""

    def __init__(self, fault: str) -> None:
        self.fault = fault
        self.calls: list[list[int]] = []

    def __call__(self, batch: BatchEnv, rows: np.ndarray) -> np.ndarray:
        self.calls.append([int(row) for row in rows])
        actions = highest_legal(batch, rows)
        if 2 in rows and self.fault == "raises":
            raise RuntimeError("cannot think")
        if self.fault == "shape":
            return actions[:, np.newaxis]
        wrong = {"illegal": int(np.flatnonzero(batch.mask[2] == 0)[0]), "below": -3, "above": 9999}.get(self.fault)
        return actions if wrong is None else np.where(rows == 2, wrong, actions)


def highest_legal(batch: BatchEnv, rows: np.ndarray) -> np.ndarray:
    actions: np.ndarray = batch.mask.shape[1] - 1 - batch.mask[rows][:, ::-1].argmax(axis=1)
    return actions


@pytest.fixture
def batch() -> BatchEnv:
    batch = begin(make_batch("down_up", tables=6, seed=1))
    batch.observe()
    return batch


ROWS = np.array([0, 2, 3, 5])


def test_good_answers_pass(batch: BatchEnv) -> None:
    guard = Guarded(Fails("never"), Event())
    assert list(guard(batch, ROWS)) == list(highest_legal(batch, ROWS))
    assert guard.lost == {}


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        ("raises", "raised RuntimeError: cannot think"),
        ("illegal", "which was not legal"),
        ("below", "chose action -3, which was not legal"),
        ("above", "chose action 9999, which was not legal"),
    ],
)
def test_a_failure_loses_only_its_table(batch: BatchEnv, fault: str, sentence: str) -> None:
    player = Fails(fault)
    guard = Guarded(player, Event())
    expected = np.where(ROWS == 2, first_legal(batch, ROWS), highest_legal(batch, ROWS))
    assert list(guard(batch, ROWS)) == list(expected)
    assert list(guard.lost) == [2]
    assert sentence in guard.lost[2]
    player.calls.clear()
    assert list(guard(batch, ROWS)) == list(expected)
    assert list(guard(batch, np.array([2]))) == [int(first_legal(batch, np.array([2]))[0])]
    assert player.calls == [[0, 3, 5]], "the player is not asked again at a lost table"


def test_answers_of_another_shape_lose_all_tables(batch: BatchEnv) -> None:
    guard = Guarded(Fails("shape"), Event())
    assert list(guard(batch, ROWS)) == list(first_legal(batch, ROWS))
    assert sorted(guard.lost) == list(ROWS)
    assert "the answer must be 1 integers, not int64 of shape (1, 1)" in guard.lost[0]


def test_a_guard_stops_when_the_event_is_set(batch: BatchEnv) -> None:
    stop = Event()
    stop.set()
    with pytest.raises(Stopped):
        Guarded(Fails("never"), stop)(batch, ROWS)


@pytest.mark.parametrize(("fault", "error"), [("raises", RuntimeError), ("illegal", ValueError), ("illegal", ForfeitError)])
def test_a_strict_guard_raises(batch: BatchEnv, fault: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        Guarded(Fails(fault), Event(), strict=True)(batch, ROWS)
