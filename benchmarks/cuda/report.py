"""Printed report of `python -m benchmarks.cuda`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

MILLION = 1e6
STEP_TARGET, TIMES_TARGET, DECISIONS_TARGET, PEERS_TARGET = 200e6, 20.0, 10**7, 10.0
LEARNER_TARGET, PRODUCTS_TARGET, ABOVE_TARGET = 2.0, 60.0, 60.0
"""Millions of training decisions per second, per cent, and seconds."""
PLAYER_TARGETS = {"thumb": 50e6, "pimc": 10_000.0, "search": 10_000.0}
"""Targets in decisions per second."""
FIRST_TARGET, DISK_TARGET = 60.0, 3.0
"""Seconds to the first step with a cold and with a warm cache."""


def show(results: dict[str, Any]) -> None:
    """Print all results."""
    print(", ".join(f"{name} {results[name]}" for name in results if isinstance(results[name], str)))
    for name in ("compiling", "agreement", "graph"):
        if name in results:
            print(f"{name}: {results[name]}")
    show_targets(results)
    show_learner(results.get("learn", {}))
    speed = results.get("speed", {})
    if "by tables" in speed:
        show_speed(speed)
    elif speed:
        print(f"speed: {speed}")
    show_players({name: part for name, part in results.items() if name.startswith("players/")})
    for name in ("layout", "peers"):
        if name in results:
            show_rates(name, results[name])
    print(f"seconds: {results.get('seconds')}")


def show_targets(results: dict[str, Any]) -> None:
    """Print whether compilation and agreement reach their targets."""
    compiling, decisions = results.get("compiling", {}), results.get("agreement", {}).get("decisions")
    if isinstance(compiling.get("cold", {}).get("first"), float):
        print(reached("seconds to the first step", compiling["cold"]["first"], FIRST_TARGET, most=True))
    if isinstance(compiling.get("from disk"), float):
        print(reached("the same from disk", compiling["from disk"], DISK_TARGET, most=True))
    if decisions:
        print(reached("decisions compared, of the game with the fewest", min(decisions.values()), DECISIONS_TARGET))


def show_learner(learn: dict[str, Any]) -> None:
    """Print the training rates."""
    for game, part in learn.items():
        if isinstance(part, str):
            print(f"learner: {game}: {part}")
        elif game == "above thumb":
            print(f"learner: above thumb in {part['game']}, seconds, decisions and points: {part['curve']}")
            if part["seconds"] is not None:
                print(reached("seconds to be above thumb", part["seconds"], ABOVE_TARGET, most=True))
        else:
            text = f"{part['tables']:,} tables on {part['on']}, first iteration {part['first']:.1f} s, play {part['play']:.0%}"
            print(f"learner: {game}: {text}" + "".join(f"; {note}" for note in part["notes"]))
            print(reached(f"M decisions/s of the learner in {game}", part["rate"] / MILLION, LEARNER_TARGET))
            if part["products"] is not None:
                print(reached("its matrix products, % of the time", 100 * part["products"], PRODUCTS_TARGET))


def reached(what: str, figure: float, target: float, most: bool = False) -> str:
    """Return a line with a figure and its target."""
    good = figure <= target if most else figure >= target
    return f"{what}: {figure:,.1f}, target {'at most ' if most else ''}{target:,.0f}: {'reached' if good else 'NOT reached'}"


def show_speed(speed: dict[str, Any]) -> None:
    """Print the rates."""
    print(f"copies move {speed['bandwidth'] / 1e9:.0f} GB/s; a decision moves about {speed['bytes a decision']} bytes")
    print("M decisions/s, mask and observation written; x: times one core; of the bandwidth: of the rate in one launch")
    print(
        f"target: {STEP_TARGET / MILLION:.0f} and {TIMES_TARGET:.0f} times one core in each game at the best number of tables"
    )
    heads = "".join(f" {head:>9}" for head in ("tables", "one core", "launch", "x", "calls", "graph"))
    print(f"{'game':>14}{heads} {'of the bandwidth':>17} target")
    best, core, game = speed.get("best"), speed["core"], speed["game"]
    for tables, rates in speed["by tables"].items():
        line(game, int(tables), rates, core[game], speed)
    for variant, rates in speed.get("games", {}).items():
        line(variant, best, rates, core[variant], speed, target=True)
    if "features" in speed:
        line("with features", best, speed["features"], core[game], speed)
    if "failed" in speed:
        print(f"then it failed: {speed['failed']}")


def million(rate: float | None) -> str:
    """Format a rate in millions; None as a dash."""
    return "-" if rate is None else f"{rate / MILLION:.1f}"


def line(
    name: str, tables: int | None, rates: dict[str, float | None], core: float, speed: dict[str, Any], target: bool = False
) -> None:
    """Print a row of the table of rates."""
    launch, known = rates["launch"], [rate for rate in rates.values() if rate is not None]
    times = "-" if launch is None else f"{launch / core:.1f}"
    share = "-" if launch is None else f"{launch * speed['bytes a decision'] / speed['bandwidth']:.1%}"
    numbers = f"{million(core):>9} {million(launch):>9} {times:>9} {million(rates['calls']):>9} {million(rates['graph']):>9}"
    good = max(known) >= STEP_TARGET and max(known) >= TIMES_TARGET * core
    print(f"{name:>14} {tables or 0:>9,} {numbers} {share:>17} {('yes' if good else 'NO') if target else ''}".rstrip())


def show_players(parts: dict[str, Any]) -> None:
    """Print a row for each player and game."""
    if not parts:
        return
    print("players: turns per second, decisions per second of one CPU core, and share of actions unlike the CPU's")
    heads = ("tables", "turns/s", "one core", "x", "compared", "differ")
    print(f"{'player':>26} {'game':>13}" + "".join(f" {head:>11}" for head in heads) + " target")
    for step, part in parts.items():
        name = step.split("/")[1]
        for variant, figures in part.items():
            if isinstance(figures, dict):
                print(player_row(name, variant, figures))
            else:
                print(f"{name:>26} {variant}: {figures}")


def player_row(name: str, variant: str, figures: dict[str, Any]) -> str:
    """Return the row of a player in a game."""
    head = f"{name:>26} {variant:>13} "
    error = figures.get("not made") or figures.get("failed")
    if error:
        return f"{head} {'not made' if 'not made' in figures else 'failed'}: {error}"
    rate, core, target = figures["rate"], figures["core"], PLAYER_TARGETS.get(name.partition(":")[0])
    numbers = (f"{figures['tables']:,}", f"{rate:,.0f}", f"{core:,.0f}", f"{rate / core:.1f}")
    same = (f"{figures['compared']:,}", f"{figures['mismatches'] / figures['compared']:.2%}")
    verdict = "" if target is None else f" {target:,.0f}: {'yes' if rate >= target else 'NO'}"
    return head + " ".join(f"{text:>11}" for text in (*numbers, *same)) + verdict


def show_rates(name: str, figures: dict[str, Any]) -> None:
    """Print the rates of the part `layout` or `peers`, and for the peers our speed-up over the fastest."""
    print(f"{name}: " + ", ".join(f"{what} {value}" for what, value in figures.items() if isinstance(value, str | float)))
    for row in figures.get("rates", []):
        print(f"{row['name']:>26} {row['tables']:>9,} {row['rate'] / MILLION:>9.2f} M/s")
    for game, error in figures.get("missing", {}).items():
        print(f"{game:>26} not measured: {error}")
    for what, rate in figures.get("stores", {}).items():
        print(f"{what:>26} {'':>9} {rate / 1e9:>9.0f} GB/s")
    if "times" in figures:
        print(reached("ours at its best, times the fastest of them", figures["times"], PEERS_TARGET))


def show_profile(rows: Sequence[tuple[str, float, float, str]], bandwidth: float) -> None:
    """Print variants of a kernel: name, rate, bytes per decision, and purpose."""
    print(f"copies move {bandwidth / 1e9:.0f} GB/s")
    print(f"{'variant':>44} {'M/s':>9} {'GB/s':>8} {'share':>7}  what it tells")
    for name, rate, moved, purpose in rows:
        print(f"{name:>44} {rate / MILLION:>9.1f} {rate * moved / 1e9:>8.0f} {rate * moved / bandwidth:>7.1%}  {purpose}")
