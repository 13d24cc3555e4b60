"""What `python -m benchmarks.cuda` prints."""

from __future__ import annotations

from typing import Any

MILLION = 1e6


def show(found: dict[str, Any]) -> None:
    """Print one table."""
    print(", ".join(f"{name} {found[name]}" for name in found if isinstance(found[name], str)))
    for name in ("compiling", "agreement", "graph"):
        if name in found:
            print(f"{name}: {found[name]}")
    speed = found.get("speed", {})
    if "by tables" in speed:
        show_speed(speed)
    elif speed:
        print(f"speed: {speed}")
    print(f"seconds: {found.get('seconds')}")


def show_speed(speed: dict[str, Any]) -> None:
    """Print the rates."""
    print(f"copies move {speed['bandwidth'] / 1e9:.0f} GB/s; a decision moves about {speed['bytes a decision']} bytes")
    print("M decisions/s, mask and observation written; x: times one core; of the bandwidth: of the rate in one launch")
    heads = "".join(f" {head:>9}" for head in ("tables", "one core", "launch", "x", "calls", "graph"))
    print(f"{'game':>14}{heads} {'of the bandwidth':>17}")
    best, core, game = speed.get("best"), speed["core"], speed["game"]
    for tables, rates in speed["by tables"].items():
        line(game, tables, rates, core[game], speed)
    for variant, rates in speed.get("games", {}).items():
        line(variant, best, rates, core[variant], speed)
    if "features" in speed:
        line("with features", best, speed["features"], core[game], speed)


def line(name: str, tables: int | None, rates: dict[str, float | None], core: float, speed: dict[str, Any]) -> None:
    """Print a row."""

    def million(rate: float | None) -> str:
        return "-" if rate is None else f"{rate / MILLION:.1f}"

    launch = rates["launch"]
    times = "-" if launch is None else f"{launch / core:.1f}"
    share = "-" if launch is None else f"{launch * speed['bytes a decision'] / speed['bandwidth']:.1%}"
    numbers = f"{million(core):>9} {million(launch):>9} {times:>9} {million(rates['calls']):>9} {million(rates['graph']):>9}"
    print(f"{name:>14} {tables or 0:>9,} {numbers} {share:>17}")
