"""What scoring takes, by part: `times.json` of an entry, a file of its own, so that the same scores are the same file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..text import duration
from .entry import EntryError, machine, read_json, write_json
from .protocol import PROTOCOLS

TIMES = "times.json"
OF_PART = {"deals": int, "wall_seconds": float, "cpu_seconds": float, "processor": str}
PATTERN = {f"{part}?": OF_PART for protocol in PROTOCOLS.values() for part in protocol.parts}
"""Of it (`entry.fits`)."""


def read_times(folder: Path) -> dict[str, Any]:
    """What each part took so far; nothing if that is not known."""
    try:
        return read_json(folder / TIMES, "no times are kept", PATTERN)
    except EntryError:
        return {}


def add_times(folder: Path, part: str, *, before: int, deals: int, wall: float, cpu: float) -> None:
    """Add the wall seconds and processor seconds, of all threads and machines, that some deals of a part took.

    The processor seconds are without those of programs that play (`cmd:`). If no deals were played `before`, the times in the
    file are of deals that are no more. OSError if the file cannot be written.
    """
    if deals:
        times = read_times(folder)
        sums = times.get(part, {}) if before else {}
        for name, value in (("deals", deals), ("wall_seconds", wall), ("cpu_seconds", cpu)):
            sums[name] = round(sums.get(name, 0) + value, 2)
        write_json(folder / TIMES, {**times, part: {**sums, "processor": machine()["processor"]}})


def times_text(times: dict[str, Any], part: str) -> str:
    """`core: 57,344 deals · 0:31 wall time · 0:58 processor time`."""
    took = times[part]
    walls = ((took["wall_seconds"], "wall time"), (took["cpu_seconds"], "processor time"))
    return " · ".join([f"{part}: {took['deals']:,} deals", *(f"{duration(seconds)} {what}" for seconds, what in walls)])
