"""`python -m benchmarks.cuda`, or `make cuda`: compare tables on a GPU with the CPU, in at most four minutes.

The program prints one table and writes one file. Without a GPU it reports that nothing was run. With numba's simulator
(`NUMBA_ENABLE_CUDASIM=1 NUMBA_DISABLE_JIT=1`) everything runs at tiny sizes, and the rates have no meaning.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numba import config

from noms_env import TableGroup, make_batch
from noms_env.variants import VARIANTS

START = perf_counter()
GAME = "small_ships"
WARM = ("first", "features", "play", "next match", "next deal", "processor")
"""Groups of kernels that compile in parallel processes, beside the players."""
PARTS = ("compiling", "agreement", "graph", "learn", "speed", "players", "layout", "peers")
"""Most important parts first, since time may run out."""
BROKEN = 3
"""Exit status of a process that lost the GPU: after some CUDA errors no launch works."""
LEFT_TO_COMPILE = 120.0
"""Seconds that must remain before torch compiles the networks."""
STUCK, LATE = 120.0, 12.0
"""Seconds after which a part counts as hanging, and seconds past the time limit after which it is killed."""


@dataclass(frozen=True)
class Settings:
    """Sizes and times of the comparison."""

    seconds: float = 225.0  # time limit; no part begins later
    agreement_seconds: float = 40.0  # after one plan of each game, no further plan begins later
    agreement_tables: int = 65_536
    agreement_steps: int = 160
    every: int = 20
    sizes: tuple[int, ...] = (4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304)
    core_tables: int = 2048
    measure: float = 0.2  # seconds per measurement
    copied: int = 1 << 30  # bytes
    captured_steps: int = 100
    threads: int | None = None
    traces: int = 1024
    layout_tables: int = 1_048_576
    profile_tables: int = 1_048_576


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
    traces=3,
    layout_tables=32,
    profile_tables=7,
)


@dataclass
class Results:
    """The results, as in the file."""

    file: Path
    settings: Settings
    figures: dict[str, Any] = field(default_factory=dict)

    def left(self) -> float:
        """Return the remaining seconds."""
        return self.settings.seconds - (perf_counter() - START)

    def part(self, name: str, run: Callable[[], Any]) -> bool:
        """Run a part if there is time, and write the file. Return False if it failed; the file then has the error."""
        if self.left() < 0:
            self.figures[name] = {"not run": "no time was left"}
            self.write()
            return True
        self.figures["under way"] = {"part": name, "since": time.time()}
        self.write()
        start = perf_counter()
        try:
            self.figures[name] = run()
        except Exception as error:
            self.fail(name, f"{type(error).__name__}: {error}")
        self.figures.pop("under way")
        self.figures.setdefault("seconds", {})[name] = round(perf_counter() - start, 1)
        gc.collect()
        self.write()
        return "failed" not in self.figures[name]

    def fail(self, name: str, error: str) -> None:
        """Add the error of a part to its results so far."""
        self.figures[name] = {**(self.figures.get(name) or {}), "failed": error}

    def write(self) -> None:
        """Replace the file."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        new = self.file.with_suffix(".new")
        new.write_text(json.dumps(self.figures, indent=2) + "\n", encoding="utf-8")
        new.replace(self.file)

    def read(self) -> None:
        """Load the results that another process wrote."""
        self.figures = json.loads(self.file.read_text(encoding="utf-8"))

    def failed(self) -> list[str]:
        """Return the failed parts with their errors."""
        return [
            f"{name}: {part['failed']}" for name, part in self.figures.items() if isinstance(part, dict) and "failed" in part
        ]


def main(words: list[str] | None = None) -> int:
    """Run the comparison; return 1 if a part failed or a result differs."""
    arguments = parse_arguments(words)
    settings = TINY if config.ENABLE_CUDASIM else Settings(seconds=arguments.seconds)
    if arguments.tables is not None:
        settings = Settings(agreement_tables=arguments.tables, agreement_steps=20, every=1, seconds=3600, agreement_seconds=0)
    if arguments.warm:
        print(json.dumps(warm(arguments.warm)))
        return 0
    results = Results(arguments.json, settings)
    if arguments.here:
        results.read()
        return run_here(results, arguments.here)
    error = gpu_problem()
    if error:
        results.figures = {"run": False, "why": error}
        results.write()
        print(f"not run: {error}")
        return 0
    if arguments.profile:
        from benchmarks.cuda import profile

        return profile.show(GAME, settings.profile_tables, settings.measure, settings.copied)
    return run_all(results, steps_of(arguments.only or PARTS), in_processes=arguments.tables is None)


def parse_arguments(words: list[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cuda", description="Compare tables on a GPU with the CPU.")
    parser.add_argument("--json", type=Path, default=Path("build/cuda.json"), metavar="FILE", help="file for the results")
    parser.add_argument("--only", choices=PARTS, nargs="+", help="run only these parts")
    parser.add_argument("--seconds", type=float, default=Settings.seconds, metavar="N", help="time limit: no part begins later")
    parser.add_argument("--tables", type=int, metavar="N", help="number of tables to compare, for a sanitizer")
    parser.add_argument("--profile", action="store_true", help="print the bottlenecks of the kernels, with ncu if installed")
    parser.add_argument("--warm", metavar="WHAT", help=f"only compile {', '.join(WARM)} or a player, and print the seconds")
    parser.add_argument("--here", nargs="+", metavar="STEP", help="run steps in this process, and add the results to the file")
    return parser.parse_args(words)


def gpu_problem() -> str:
    """Return the reason why nothing can run here; "" with a GPU."""
    from noms_env.cuda.rows import check_gpu

    try:
        check_gpu()
    except (ModuleNotFoundError, RuntimeError) as error:
        return str(error)
    return ""


def steps_of(parts: Iterable[str]) -> list[str]:
    """Return the steps of some parts; each player has two: first one game, then all others."""
    from benchmarks.cuda import players

    names = players.names_of(amount())
    by_player = [*(f"players/{name}" for name in names), *(f"players/{name}/games" for name in names)]
    return [step for part in parts for step in (by_player if part == "players" else [part])]


def amount() -> Any:
    """Return the sizes and times of the players' measurements."""
    from benchmarks.cuda import players

    return players.TINY if config.ENABLE_CUDASIM else players.Amount()


def run_all(results: Results, steps: list[str], in_processes: bool) -> int:
    """Run all steps, and print the results.

    The steps run in a separate process. If it dies, hangs or loses the GPU, another process runs the remaining steps.
    """
    from benchmarks.cuda import report, speed

    results.figures = {"run": True, **speed.device_names()}
    results.write()
    remaining = list(steps)
    while remaining and in_processes:
        seconds = str(max(0.0, results.left() - 2))
        words = ["--json", str(results.file), "--seconds", seconds, "--here", *remaining]
        error = watch(subprocess.Popen([sys.executable, "-m", "benchmarks.cuda", *words]), results)
        results.read()
        broken = results.figures.pop("under way", {"part": remaining[0] if remaining[0] not in results.figures else ""})["part"]
        if broken:
            results.fail(broken, error)
        results.write()
        remaining = [step for step in remaining if step not in results.figures]
    if remaining:
        run_here(results, remaining)
    report.show(results.figures)
    failed = results.failed()
    print(*failed, sep="\n", file=sys.stderr)
    return 1 if failed else 0


def watch(process: subprocess.Popen[bytes], results: Results) -> str:
    """Wait for a process, and kill it if it hangs. Return the reason for its end, which counts if a step was running."""
    while process.poll() is None:
        time.sleep(0.1)
        results.read()
        elapsed = time.time() - results.figures.get("under way", {}).get("since", time.time())
        if elapsed > STUCK or results.left() < -LATE:
            process.kill()
            process.wait()
            return f"was not done after {elapsed:.0f} s, and was ended"
    return f"the process ended with status {process.returncode}"


def run_here(results: Results, steps: list[str]) -> int:
    """Run steps in this process; return `BROKEN` if the GPU is lost after a failed step."""
    from benchmarks.cuda import speed

    for step in steps:
        if not results.part(step, partial(run_step, results, step)) and not speed.works():
            return BROKEN
    return 0


def run_step(results: Results, step: str) -> Any:
    """Return the results of one step."""
    if step.startswith("players/"):
        return measure_player(results, *step.split("/")[1:])
    parts = (compile_all, check_agreement, check_graph, measure_learner, measure_speed, measure_layout, measure_peers)
    return dict(zip([part for part in PARTS if part != "players"], parts, strict=True))[step](results)


def warm(what: str) -> float:
    """Compile a group of kernels into the cache; return the seconds from program start to the end of the first step."""
    from benchmarks.cuda import speed

    if what == "processor":
        for kind in ("bytes", "features"):
            groups = [TableGroup(variant) for variant in VARIANTS]
            batch = make_batch(groups, 14, observation=kind, hidden_state=True, pause_after_deal=True)
            batch.reset()
            batch.observe()
            batch.random_actions(np.ones(14, np.int64), np.zeros(14, np.int64))
            batch.step(batch.mask.argmax(axis=1), observe=True)
            batch.next_deal()
            batch.restore(None, batch.save())
        speed.one_core(GAME, 14, 0.0)
    elif what == "play":
        speed.Gpu(GAME, 14, out_of_step=False)
    elif what == "next match":
        batch = make_batch(GAME, 14, device="cuda")
        batch.reset(batch.over)
    elif what == "next deal":
        batch = make_batch(GAME, 14, device="cuda")
        batch.restore(None, make_batch(GAME, 14).save())
        batch.next_deal()
    elif what not in WARM:
        from benchmarks.cuda import players

        players.warm(what, GAME)
    else:
        batch = make_batch(GAME, 14, device="cuda", observation="features" if what == "features" else "bytes")
        batch.reset()
        batch.observe()
        first = batch.mask.to_numpy().argmax(axis=1)  # type: ignore[attr-defined]
        batch.step(first, observe=True)
    speed.wait()
    return perf_counter() - START


def compile_all(_results: Results) -> dict[str, Any]:
    """Compile everything in parallel processes, then time the first step again with a warm cache."""
    from benchmarks.cuda import players

    if config.ENABLE_CUDASIM:
        return {"cold": {what: warm(what) for what in WARM}, "from disk": warm("first")}

    what_of_all = (*WARM, *players.names_of(players.Amount()))
    with ThreadPoolExecutor(len(what_of_all)) as pool:
        cold = dict(zip(what_of_all, pool.map(lambda what: run_and_read("--warm", what), what_of_all), strict=True))
    seconds_by: dict[str, Any] = {"cold": cold, "from disk": run_and_read("--warm", "first")}
    wrong = [seconds for seconds in (*cold.values(), seconds_by["from disk"]) if isinstance(seconds, str)]
    return {**seconds_by, "failed": wrong[0]} if wrong else seconds_by


def run_and_read(*words: str) -> float | str:
    """Return the number that this program prints in a new process, or an error message."""
    command = [sys.executable, "-m", "benchmarks.cuda", *words]
    try:
        process = subprocess.run(command, capture_output=True, text=True, check=False, timeout=STUCK - 10)
    except subprocess.TimeoutExpired:
        return f"{' '.join(words)}: not done in {STUCK - 10:.0f} s"
    if process.returncode != 0:
        return f"{' '.join(words)}: {process.stderr.strip()[-2000:]}"
    return round(float(json.loads(process.stdout.splitlines()[-1])), 1)


def check_agreement(results: Results) -> dict[str, Any]:
    """Compare random play with random options in each game; return the numbers of compared decisions."""
    from tests.cuda.agreement import draw_plan, play_both

    settings, rng, start = results.settings, random.Random(1), perf_counter()
    decisions, plans = dict.fromkeys(VARIANTS, 0), 0
    much = (settings.agreement_tables, settings.agreement_steps, 10, settings.threads, settings.every)
    for variant in itertools.cycle(VARIANTS):
        if plans >= len(VARIANTS) and (perf_counter() - start > settings.agreement_seconds or results.left() < 100):
            break
        decisions[variant] += play_both(draw_plan(rng, [variant]), *much)
        plans += 1
    mixed = play_both(draw_plan(rng), *much)
    return {"decisions": decisions, "mixed": mixed, "plans": plans, "every": settings.every}


def check_graph(results: Results) -> dict[str, Any]:
    """Check that replays of a CUDA graph equal calls."""
    from benchmarks.cuda import speed

    same = speed.captured_is_the_same(GAME, results.settings.sizes[0], results.settings.captured_steps)
    if same is False:
        raise AssertionError("replays of a captured step lead to other tables than calls")
    return {"same": same}


def measure_learner(results: Results) -> dict[str, Any]:
    """Return the training rate by game, and the time until a policy beats `thumb`."""
    if find_spec("torch") is None:
        return {"not run": "torch is not installed"}
    from benchmarks.cuda import learner

    amount, figures = learner.TINY if config.ENABLE_CUDASIM else learner.Amount(), dict[str, Any]()
    results.figures["learn"] = figures
    for game in amount.games:
        figures[game] = learner.measure(game, amount, is_compiled=False)
        gc.collect()
        results.write()
    figures["above thumb"] = {"game": game, **learner.time_above(game, amount)}
    if results.left() > LEFT_TO_COMPILE:
        results.write()
        figures[f"{game}, compiled"] = learner.measure(game, amount, is_compiled=True)
    return figures


def measure_speed(results: Results) -> dict[str, Any]:
    """Return rates by number of tables for one game, and rates of all games at the best number."""
    from benchmarks.cuda import speed

    settings = results.settings
    figures: dict[str, Any] = {"game": GAME, "bytes a decision": speed.MOVED_A_DECISION}
    figures["bandwidth"] = speed.bandwidth(settings.copied, 0.1)
    figures["core"] = {variant: speed.one_core(variant, settings.core_tables, 2 * settings.measure) for variant in VARIANTS}
    by_tables: dict[int, dict[str, float | None]] = {}
    figures["by tables"] = by_tables
    results.figures["speed"] = figures
    for tables in settings.sizes:
        by_tables[tables] = speed.rates(GAME, tables, settings.measure)
        gc.collect()
        results.write()
        if results.left() < 30:
            break
    best = max(by_tables, key=lambda tables: by_tables[tables]["launch"] or 0.0)
    figures["best"] = best
    figures["games"] = {}
    for variant in VARIANTS:
        if results.left() < 5:
            break
        figures["games"][variant] = speed.rates(variant, best, settings.measure)
        gc.collect()
        results.write()
    figures["features"] = speed.rates(GAME, best, settings.measure, "features")
    return figures


def measure_player(results: Results, name: str, games: str = "") -> dict[str, Any]:
    """Measure a player in one game, or in all others at the best number of tables in that game; return results by game."""
    from benchmarks.cuda import players

    known = results.figures.get(f"players/{name}", {}).get(GAME, {})
    variants = [variant for variant in amount().games if variant != GAME] if games else [GAME]
    figures: dict[str, Any] = {}
    for variant in variants:
        if results.left() < 0 or "not made" in known:
            break
        figures[variant] = players.measure(name, variant, amount(), known.get("tables") if games else None)
        if "failed" in figures[variant]:
            figures["failed"] = f"{variant}: {figures[variant]['failed']}"
        elif figures[variant].get("mismatches") and players.must_agree(name):
            figures["failed"] = f"{figures[variant]['first']}; {figures[variant]['mismatches']} differ"
        if "failed" in figures:
            break
        results.figures[f"players/{name}" + "/games" * bool(games)] = figures
        results.write()
    return figures


def measure_layout(results: Results) -> dict[str, Any]:
    """Return the possible gains from another layout of tables and from wider stores."""
    from benchmarks.cuda import layout

    settings = results.settings
    figures = layout.measure_layouts(GAME, settings.layout_tables, settings.traces, settings.measure)
    return {**figures, "stores": layout.measure_stores(settings.layout_tables, settings.measure)}


def measure_peers(results: Results) -> dict[str, Any]:
    """Return the rates of pgx's games on the same GPU, measured in a new process, if jax and pgx are installed."""
    missing = [name for name in ("jax", "pgx") if find_spec(name) is None]
    if missing:
        return {"not run": f"not installed: {', '.join(missing)}"}
    command = [sys.executable, "-m", "benchmarks.cuda.peers", "--seconds", str(max(0.0, min(results.left(), STUCK - 30)))]
    environment = {**os.environ, "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    process = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=STUCK - 10)
    if process.returncode != 0:
        raise RuntimeError(process.stderr.strip()[-2000:])
    figures: dict[str, Any] = json.loads(process.stdout.splitlines()[-1])
    games = results.figures.get("speed", {}).get("games", {}).values()
    ours = max((rate for rates in games for rate in rates.values() if rate is not None), default=0.0)
    theirs = max((row["rate"] for row in figures["rates"]), default=0.0)
    return {**figures, "times": ours / theirs} if ours and theirs else figures


if __name__ == "__main__":
    sys.exit(main())
