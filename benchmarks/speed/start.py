"""Startup time of the package in a new process, with and without compiled code in the cache."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from benchmarks.speed.clock import SECONDS, Case

SCRIPT = """
from time import perf_counter
start = perf_counter()
import noms_env
imported = perf_counter()
env = noms_env.small_ships_v0.raw_env()
env.reset(seed=0)
env.step(int(env.last()[0]["action_mask"].argmax()))
stepped = perf_counter()
env.last(), env.state()
import numpy as np
batch = noms_env.make_batch("noms", tables=2, hidden_state=True)
batch.reset()
batch.observe()
actions, streams = np.zeros(2, np.int64), np.ones(2, np.int64)
batch.random_actions(streams, actions)
batch.step(actions)
batch.restore(0, batch.save(1))
batch.clone(0, 1)
ready = perf_counter()
import json
print(json.dumps({"import": imported - start, "first_step": stepped - imported, "all": ready - start}))
"""

PARTS = {
    "import": "import noms_env",
    "first_step": "first environment, reset and step after the import",
    "all": "import, environment, batch and every compiled function of theirs",
}


def measure_start(cache: Path | None) -> dict[str, float]:
    """Return the wall seconds of `PARTS` in a new process; `cache` is the folder of compiled code, None for the default."""
    place = {} if cache is None else {"NUMBA_CACHE_DIR": str(cache)}
    command = [sys.executable, "-c", SCRIPT]
    done = subprocess.run(command, env=os.environ | place, check=True, capture_output=True, text=True)
    seconds: dict[str, float] = json.loads(done.stdout)
    return seconds


def start_cases(cache: Path | None) -> Iterator[Case]:
    """Yield the starts with compiled code; the first run fills the cache."""

    def seconds_of(part: str, _seconds: float) -> float:
        return measure_start(cache)[part]

    for part, text in PARTS.items():
        yield Case(f"start/{part}", text, partial(seconds_of, part), SECONDS)
