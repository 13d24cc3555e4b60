"""`python -m benchmarks.cuda`: tables on a GPU against the processor, in at most four minutes; `make cuda`.

One table is printed, and one file written. Where there is no GPU, it says that nothing was run. With numba's simulator on
(`NUMBA_ENABLE_CUDASIM=1 NUMBA_DISABLE_JIT=1`) everything runs at tiny sizes, which shows no speed.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import random
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numba import config

from noms_env import make_batch
from noms_env.variants import VARIANTS

START = perf_counter()
GAME = "small_ships"
WARM = ("first", "features", "play", "processor")
"""What is compiled in a process each, side by side."""


@dataclass(frozen=True)
class Settings:
    """How much is compared and measured."""

    seconds: float = 225.0  # of everything; no part begins later
    agreement_seconds: float = 65.0  # after one plan of each game no other begins later
    agreement_tables: int = 65_536
    agreement_steps: int = 160
    every: int = 20
    sizes: tuple[int, ...] = (4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304)
    core_tables: int = 2048
    measure: float = 0.2  # seconds of each figure
    copied: int = 1 << 30  # bytes
    captured_steps: int = 100
    threads: int | None = None


TINY = Settings(
    agreement_seconds=0.0,
    agreement_tables=7,
    agreement_steps=2,
    every=2,
    sizes=(2, 6),
    core_tables=2,
    measure=0.0,
    copied=8 * 1088,
    captured_steps=1,
    threads=1,
)


@dataclass
class Results:
    """What was found, as it goes into the file."""

    file: Path
    settings: Settings
    found: dict[str, Any] = field(default_factory=dict)

    def left(self) -> float:
        """Seconds."""
        return self.settings.seconds - (perf_counter() - START)

    def part(self, name: str, run: Callable[[], Any]) -> None:
        """Run a part, where there is time for it, and write the file; what fails is noted, and the next part runs."""
        if self.left() < 0:
            self.found[name] = {"not run": "no time was left"}
        else:
            start = perf_counter()
            try:
                self.found[name] = run()
            except Exception as error:
                self.found[name] = {"failed": f"{type(error).__name__}: {error}"}
            self.found.setdefault("seconds", {})[name] = round(perf_counter() - start, 1)
            gc.collect()
        self.write()

    def write(self) -> None:
        """Write the file anew."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_text(json.dumps(self.found, indent=2) + "\n", encoding="utf-8")

    def failed(self) -> list[str]:
        """The parts that failed."""
        return [f"{name}: {part['failed']}" for name, part in self.found.items() if isinstance(part, dict) and "failed" in part]


def main(words: list[str] | None = None) -> int:
    """Run everything; 1 if something failed or differs."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cuda", description="Tables on a GPU against the processor.")
    parser.add_argument("--json", type=Path, default=Path("build/cuda.json"), metavar="FILE")
    parser.add_argument("--only", choices=("agreement", "speed", "graph"), help="one part alone")
    parser.add_argument("--tables", type=int, metavar="N", help="how many are compared, for a sanitizer")
    parser.add_argument("--warm", choices=WARM, help="compile one thing alone, and print the seconds up to its first step")
    given = parser.parse_args(words)
    settings = TINY if config.ENABLE_CUDASIM else Settings()
    if given.tables is not None:
        settings = Settings(agreement_tables=given.tables, agreement_steps=20, every=1, seconds=3600, agreement_seconds=0)
    if given.warm:
        print(json.dumps(warm(given.warm)))
        return 0
    results = Results(given.json, settings)
    why = why_not()
    if why:
        results.found = {"run": False, "why": why}
        results.write()
        print(f"not run: {why}")
        return 0
    return run_all(results, given.only)


def why_not() -> str:
    """Why nothing can be run here; "" where there is a GPU."""
    from noms_env.cuda.rows import check_gpu

    try:
        check_gpu()
    except (ModuleNotFoundError, RuntimeError) as error:
        return str(error)
    return ""


def run_all(results: Results, only: str | None) -> int:
    """Run every part, or one."""
    from benchmarks.cuda import report, speed

    results.found = {"run": True, **speed.device_names()}
    if only is None:
        results.part("compiling", compile_all)
    if only in (None, "agreement"):
        results.part("agreement", lambda: agreement(results))
    if only in (None, "graph"):
        results.part("graph", lambda: captured(results.settings))
    if only in (None, "speed"):
        results.part("speed", lambda: measure(results))
    report.show(results.found)
    failed = results.failed()
    print(*failed, sep="\n", file=sys.stderr)
    return 1 if failed else 0


def warm(what: str) -> float:
    """Compile something, and keep it on disk; seconds from the start of this program to the end of its first step."""
    from benchmarks.cuda import speed

    if what == "processor":
        for kind in ("bytes", "features"):
            batch = make_batch(list_of_all(), 14, observation=kind, hidden_state=True, pause_after_deal=True)
            batch.reset()
            batch.observe()
            batch.random_actions(np.ones(14, np.int64), np.zeros(14, np.int64))
            batch.step(batch.mask.argmax(axis=1), observe=True)
            batch.next_deal()
            batch.restore(None, batch.save())
        speed.one_core(GAME, 14, 0.0)
    elif what == "play":
        speed.Gpu(GAME, 14)
    else:
        batch = make_batch(GAME, 14, device="cuda", observation="features" if what == "features" else "bytes")
        batch.reset()
        batch.observe()
        first = batch.mask.to_numpy().argmax(axis=1)  # type: ignore[attr-defined]
        batch.step(first, observe=True)
    speed.wait()
    return perf_counter() - START


def list_of_all() -> list[Any]:
    """A group of each game."""
    from noms_env import TableGroup

    return [TableGroup(variant) for variant in VARIANTS]


def compile_all() -> dict[str, Any]:
    """Compile everything in processes side by side; then the first step again, with all on disk."""
    if config.ENABLE_CUDASIM:
        return {"cold": {what: warm(what) for what in WARM}, "from disk": warm("first")}

    with ThreadPoolExecutor(len(WARM)) as pool:
        cold = dict(zip(WARM, pool.map(lambda what: round(printed_by("--warm", what), 1), WARM), strict=True))
    return {"cold": cold, "from disk": round(printed_by("--warm", "first"), 1)}


def printed_by(*words: str) -> float:
    """The number that this program prints in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.cuda", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=150)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr.strip()[-2000:]}")
    return float(json.loads(done.stdout.splitlines()[-1]))


def agreement(results: Results) -> dict[str, Any]:
    """Compare random play of each game, options drawn at random; decisions compared by game."""
    from tests.cuda.agreement import draw_plan, play_both

    settings, rng, start = results.settings, random.Random(1), perf_counter()
    decisions, plans = dict.fromkeys(VARIANTS, 0), 0
    much = (settings.agreement_tables, settings.agreement_steps, 10, settings.threads, settings.every)
    for variant in itertools.cycle(VARIANTS):
        if plans >= len(VARIANTS) and (perf_counter() - start > settings.agreement_seconds or results.left() < 75):
            break
        decisions[variant] += play_both(draw_plan(rng, [variant]), *much)
        plans += 1
    mixed = play_both(draw_plan(rng), *much)
    return {"decisions": decisions, "mixed": mixed, "plans": plans, "every": settings.every}


def captured(settings: Settings) -> dict[str, Any]:
    """Whether a step in a CUDA graph does what a call does."""
    from benchmarks.cuda import speed

    same = speed.captured_is_the_same(GAME, settings.sizes[0], settings.captured_steps)
    if same is False:
        raise AssertionError("replays of a captured step lead to other tables than calls")
    return {"same": same}


def measure(results: Results) -> dict[str, Any]:
    """Rates by the number of tables for one game, and of each game at the best number."""
    from benchmarks.cuda import speed

    settings = results.settings
    found: dict[str, Any] = {"game": GAME, "bytes a decision": speed.MOVED_A_DECISION}
    found["bandwidth"] = speed.bandwidth(settings.copied, 0.1)
    found["core"] = {variant: speed.one_core(variant, settings.core_tables, 2 * settings.measure) for variant in VARIANTS}
    by_tables: dict[int, dict[str, float | None]] = {}
    found["by tables"] = by_tables
    results.found["speed"] = found
    for tables in settings.sizes:
        by_tables[tables] = speed.rates(GAME, tables, settings.measure)
        gc.collect()
        results.write()
        if results.left() < 30:
            break
    best = max(by_tables, key=lambda tables: by_tables[tables]["launch"] or 0.0)
    found["best"] = best
    found["games"] = {}
    for variant in VARIANTS:
        if results.left() < 5:
            break
        found["games"][variant] = speed.rates(variant, best, settings.measure)
        gc.collect()
        results.write()
    found["features"] = speed.rates(GAME, best, settings.measure, "features")
    return found


if __name__ == "__main__":
    sys.exit(main())
