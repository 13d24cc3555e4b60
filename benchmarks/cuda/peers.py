"""Rates of pgx's card games on JAX's GPU: random legal play, at the best number of tables for each game.

`python -m benchmarks.cuda.peers` prints JSON in its last line. It needs pgx and jax with GPU support; it also runs on a CPU, as
a test. As in our measurements, one compiled call takes several steps, restarts finished games and computes observations.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from importlib import import_module
from time import perf_counter
from typing import Any

from benchmarks.speed.peers import bridge_bidding, pgx_programs

GAMES: dict[str, Callable[[Any], Any]] = {
    "bridge_bidding": lambda _pgx: bridge_bidding(),
    "kuhn_poker": lambda pgx: pgx.make("kuhn_poker"),
    "leduc_holdem": lambda pgx: pgx.make("leduc_holdem"),
    "sparrow_mahjong": lambda pgx: pgx.make("sparrow_mahjong"),
    "hanabi": lambda pgx: pgx.make("hanabi"),
}
"""The card games of all pgx versions; the report lists games that the installed version lacks."""
SIZES = (4096, 32_768, 262_144, 2_097_152)
GAIN = 1.05
"""Minimum gain from more tables to try still more."""


def main() -> int:
    """Measure the games, and print the report."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cuda.peers", description="Rates of pgx's card games.")
    parser.add_argument("--games", nargs="+", choices=GAMES, default=[*GAMES], help="measure only these games")
    parser.add_argument("--tables", type=int, nargs="+", default=SIZES, metavar="N", help="numbers of tables to try")
    parser.add_argument("--seconds", type=float, default=600.0, metavar="N", help="time limit: nothing begins later")
    parser.add_argument("--measure", type=float, default=0.3, metavar="N", help="seconds per measurement")
    arguments = parser.parse_args()
    end = perf_counter() + arguments.seconds
    jax, pgx = import_module("jax"), import_module("pgx")
    device = jax.devices()[0]
    report: dict[str, Any] = {"device": f"{device.platform} {device.device_kind}", "jax": jax.__version__}
    report |= {"pgx": pgx.__version__, "rates": [], "missing": {}}
    for name in arguments.games:
        try:
            report["rates"].append({"name": name, **best_rate(GAMES[name](pgx), arguments.tables, arguments.measure, end)})
        except Exception as error:  # an error inside pgx must not stop the other games
            report["missing"][name] = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
    print(json.dumps(report))
    return 0


def best_rate(env: Any, sizes: tuple[int, ...], seconds: float, end: float) -> dict[str, Any]:
    """Return the decisions per second at the best number of tables.

    Raises:
        TimeoutError: there was no time for any measurement.
    """
    best: dict[str, Any] = {"tables": 0, "rate": 0.0}
    for tables in sizes:
        if perf_counter() > end:
            break
        try:
            rate = rate_of(pgx_programs(env, tables)[0], seconds)
        except Exception:
            if not best["tables"]:
                raise
            break  # out of memory
        is_better = rate > GAIN * best["rate"]
        if rate > best["rate"]:
            best = {"tables": tables, "rate": rate}
        if not is_better:
            break
    if not best["tables"]:
        raise TimeoutError("no time was left")
    return best


def rate_of(work: Callable[[], int], seconds: float) -> float:
    """Return the decisions per second of calls that return their number of decisions; the first two calls compile."""
    work()
    work()
    decisions, start = 0, perf_counter()
    while True:
        decisions += work()
        elapsed = perf_counter() - start
        if elapsed >= seconds:
            return decisions / elapsed


if __name__ == "__main__":
    raise SystemExit(main())
