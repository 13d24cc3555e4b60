"""Processes of workers."""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

WORKER = """import os, pathlib, time
path = pathlib.Path(FOLDER, str(os.getpid()))
while True:
    path.open("a").write(".")
    time.sleep(0.02)
"""
PARENT = "from noms_training.learn.data.workers import in_processes; list(in_processes(exec, [(WORKER,)] * 2, 2))"


def wait_for(condition: Callable[[], bool], seconds: float) -> bool:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def test_workers_end_with_a_killed_parent(tmp_path: Path) -> None:
    def sizes() -> list[int]:
        return [path.stat().st_size for path in sorted(tmp_path.iterdir())]

    def is_quiet() -> bool:
        before = sizes()
        time.sleep(1)
        return before == sizes()

    worker = WORKER.replace("FOLDER", repr(str(tmp_path)))
    parent = subprocess.Popen([sys.executable, "-c", PARENT.replace("WORKER", repr(worker))])
    try:
        assert wait_for(lambda: len(sizes()) == 2, 120)
    finally:
        parent.kill()
        parent.wait()
    assert wait_for(is_quiet, 60)
