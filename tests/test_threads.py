"""Threads share rows and players, and forked processes have their own threads."""

import os
import sys
import threading
import time

import numpy as np
import pytest

import noms_env
from noms_env._threads import RowThreads
from noms_env.belief.determinize import sampled_tables
from noms_env.players import load_player
from tests.begin import begin


def test_an_error_is_raised_after_all_threads_are_done() -> None:
    finished = list[int]()

    def work(first: int, end: int, part: int) -> None:
        if part == 0:
            raise ValueError("the first range")
        time.sleep(0.1)
        finished.append(part)

    with pytest.raises(ValueError, match="the first range"):
        RowThreads(3).run(9, work)
    assert sorted(finished) == [1, 2]


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
def test_a_forked_process_has_its_own_threads() -> None:
    threads, values = RowThreads(2), np.zeros(2)
    threads.run(2, lambda first, end, part: values.__setitem__(part, 1))
    child = os.fork()
    if child == 0:
        threads.run(2, lambda first, end, part: values.__setitem__(part, 2))
        os._exit(0 if values.tolist() == [2, 2] else 1)
    for _ in range(300):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            break
        time.sleep(0.1)
    else:
        os.kill(child, 9)
        pytest.fail("the child waits for the threads of its parent")
    assert os.waitstatus_to_exitcode(status) == 0


@pytest.mark.parametrize("name", ["flat_mc:3", "pimc:3", "thumb"])
def test_threads_may_share_a_player(name: str) -> None:
    batch = begin(noms_env.make_batch("down_up", tables=60, seed=1))
    batch.observe()
    player, actions = load_player(name), dict[int, np.ndarray]()

    def act(number: int) -> None:
        rng = np.random.default_rng(0)
        tables = sampled_tables(batch.tables, None, rng)
        actions[number] = np.asarray(player.act(batch.observation, batch.mask, rng, tables=tables))

    act(0)
    threads = [threading.Thread(target=act, args=(number,), daemon=True) for number in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(actions) == [0, 1, 2], "a thread hangs"
    assert (actions[0] == actions[1]).all()
    assert (actions[0] == actions[2]).all()
