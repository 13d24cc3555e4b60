"""Jobs in threads: order, prefixes, and stops."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from threading import Event, Lock
from unittest.mock import Mock

import pytest
import torch

from noms_training.thread_pool import Stopped, ThreadPool, run_jobs


def job_of(value: int) -> Callable[[Event], int]:
    return lambda stop: value


def wait_for_stop(stop: Event) -> int:
    assert stop.wait(30)
    raise Stopped


@pytest.mark.parametrize("threads", [1, 3])
def test_results_are_in_the_order_of_the_jobs(threads: int) -> None:
    ticks: dict[int, int] = {}
    done = run_jobs([job_of(10 * place) for place in range(20)], threads, tick=ticks.__setitem__)
    assert (done.results, done.ending) == ([10 * place for place in range(20)], "all")
    assert ticks == {place: 10 * place for place in range(20)}
    assert run_jobs(iter([]), threads).results == []


def test_few_jobs_are_taken_in_advance() -> None:
    taken, lock = 0, Lock()

    def jobs() -> Iterator[Callable[[Event], int]]:
        nonlocal taken
        for _ in range(1000):
            with lock:
                taken += 1
            yield wait_for_stop

    assert run_jobs(jobs(), 2, until=time.monotonic() - 1).ending == "time"
    assert 1 <= taken <= 4


def test_the_end_of_the_time_and_ctrl_c_keep_the_first_results() -> None:
    def interrupt(_: int, result: int) -> None:
        if result == 2:
            raise KeyboardInterrupt

    jobs = [job_of(1), job_of(2), wait_for_stop, job_of(4)]
    done = run_jobs(jobs, 2, until=time.monotonic() + 0.3)
    assert (done.results, done.ending) == ([1, 2], "time")
    done = run_jobs(jobs, 1, tick=interrupt)
    assert (done.results, done.ending) == ([1, 2], "ctrl-c")


def test_an_error_in_a_job_stops_the_others() -> None:
    fail: Callable[[Event], int] = Mock(side_effect=ValueError("no good"))
    with pytest.raises(ValueError, match="no good"):
        run_jobs([wait_for_stop, fail], 2)


def test_a_pool_keeps_order_and_errors_and_gives_torch_one_thread() -> None:
    thread_pool = ThreadPool(2)
    assert thread_pool.all([partial(pow, k, 2) for k in range(5)]) == [0, 1, 4, 9, 16]
    assert thread_pool.all([torch.get_num_threads] * 3) == [1, 1, 1]
    with pytest.raises(ZeroDivisionError):
        thread_pool.all([lambda: 1, lambda: 1 // 0])
    thread_pool.close()
