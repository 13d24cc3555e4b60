"""Scoring times by part, in `times.json` of an entry: a separate file, so that equal scores have equal files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..text import duration
from .entry import EntryError, machine, read_json, write_json
from .protocol import PROTOCOLS

TIMES = "times.json"
OF_PART = {"deals": int, "wall_seconds": float, "cpu_seconds": float, "processor": str}
PATTERN = {f"{part}?": OF_PART for protocol in PROTOCOLS.values() for part in protocol.parts}
"""Pattern of the file (`entry.fits`)."""


def read_times(folder: Path) -> dict[str, Any]:
    """Return the times of each part so far; empty if the file is missing or damaged."""
    try:
        return read_json(folder / TIMES, "there are no times", PATTERN)
    except EntryError:
        return {}


def add_times(folder: Path, part: str, *, before: int, deals: int, wall: float, cpu: float) -> None:
    """Add the wall seconds and processor seconds of some deals of a part, over all threads and machines.

    Processor seconds exclude external programs (`cmd:`). If `before`, the number of deals played before, is 0, the times
    replace those in the file.

    Raises:
        OSError: The file cannot be written.
    """
    if deals:
        times = read_times(folder)
        sums = times.get(part, {}) if before else {}
        for name, value in (("deals", deals), ("wall_seconds", wall), ("cpu_seconds", cpu)):
            sums[name] = round(sums.get(name, 0) + value, 2)
        write_json(folder / TIMES, {**times, part: {**sums, "processor": machine()["processor"]}})


def times_text(times: dict[str, Any], part: str) -> str:
    """Return such as `core: 57,344 deals · 0:31 wall time · 0:58 processor time`."""
    took = times[part]
    walls = ((took["wall_seconds"], "wall time"), (took["cpu_seconds"], "processor time"))
    return " · ".join([f"{part}: {took['deals']:,} deals", *(f"{duration(seconds)} {what}" for seconds, what in walls)])
