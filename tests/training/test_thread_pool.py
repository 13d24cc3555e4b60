"""Jobs in threads: order, prefixes, and what stops them."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from threading import Event, Lock

import pytest
import torch

from noms_training.thread_pool import Stopped, ThreadPool, run_jobs


def number(value: int) -> Callable[[Event], int]:
    return lambda stop: value


def waiting(stop: Event) -> int:
    """A job that would never end by itself."""
    assert stop.wait(30)
    raise Stopped


def interrupt(_: int, result: int) -> None:
    if result == 2:
        raise KeyboardInterrupt


@pytest.mark.parametrize("threads", [1, 3])
def test_results_are_in_the_order_of_the_jobs(threads: int) -> None:
    told: list[tuple[int, int]] = []
    done = run_jobs(
        [number(10 * place) for place in range(20)], threads, tick=lambda place, result: told.append((place, result))
    )
    assert done.results == [10 * place for place in range(20)]
    assert done.ending == "all"
    assert sorted(told) == [(place, 10 * place) for place in range(20)]
    assert run_jobs(iter([]), threads).results == []


def test_few_jobs_are_taken_before_they_are_wanted() -> None:
    taken, lock = 0, Lock()

    def jobs() -> Iterator[Callable[[Event], int]]:
        nonlocal taken
        for _ in range(1000):
            with lock:
                taken += 1
            yield waiting

    assert run_jobs(jobs(), 2, until=time.monotonic() - 1).ending == "time"
    assert 1 <= taken <= 4


def test_when_the_time_is_over_the_first_results_are_kept() -> None:
    done = run_jobs([number(1), number(2), waiting, number(4)], 2, until=time.monotonic() + 0.3)
    assert (done.results, done.ending) == ([1, 2], "time")


def test_ctrl_c_keeps_the_first_results() -> None:
    done = run_jobs([number(1), number(2), waiting, number(4)], 1, tick=interrupt)
    assert (done.results, done.ending) == ([1, 2], "ctrl-c")


def test_what_a_job_raises_stops_the_others() -> None:
    def fails(stop: Event) -> int:
        raise ValueError("no good")

    with pytest.raises(ValueError, match="no good"):
        run_jobs([waiting, fails], 2)


def test_a_pool_keeps_the_order_of_jobs_their_errors_and_one_thread_of_torch_each() -> None:
    thread_pool = ThreadPool(2)
    assert thread_pool.all([partial(pow, k, 2) for k in range(5)]) == [0, 1, 4, 9, 16]
    assert thread_pool.all([torch.get_num_threads] * 3) == [1, 1, 1]
    with pytest.raises(ZeroDivisionError):
        thread_pool.all([lambda: 1, lambda: 1 // 0])
    thread_pool.close()
