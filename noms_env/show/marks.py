"""Suit marks of both decks as paths in a square of 100 by 100, so that no font is needed."""

from __future__ import annotations

from collections.abc import Iterable
from math import cos, pi, sin

MARK_NAMES = (("clubs", "diamonds", "hearts", "spades"), ("moons", "suns", "waves", "leaves", "wyrms", "knots"))
"""Names of the marks per deck, by suit number."""


def _fill_path(path: str) -> str:
    return f'<path d="{path}" fill="currentColor"/>'


def _line(path: str, width: float) -> str:
    return f'<path d="{path}" fill="none" stroke="currentColor" stroke-width="{width:g}" stroke-linecap="round"/>'


def _disc(x: float, y: float, radius: float) -> str:
    return f"M{x - radius:g} {y:g}a{radius:g} {radius:g} 0 1 0 {2 * radius:g} 0a{radius:g} {radius:g} 0 1 0 {-2 * radius:g} 0Z"


def _through(points: Iterable[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def _suns() -> str:
    """Draw a disc and eight rays."""
    rays = []
    for ray in range(8):
        angle = ray * pi / 4
        corners = ((angle - 0.28, 34), (angle, 50), (angle + 0.28, 34))
        rays.append(_through((50 + radius * cos(turn), 50 + radius * sin(turn)) for turn, radius in corners) + "Z")
    return _fill_path(_disc(50, 50, 27) + "".join(rays))


def _knots() -> str:
    """Draw a trefoil knot in three strands, with gaps where a strand passes below another."""
    strands = []
    for strand in range(3):
        middle, reach = 0.27 + 2 * pi / 3 * strand, 0.80
        turns = [middle + reach * step / 14 for step in range(-14, 15)]
        strands.append(_through((50 + 15 * (sin(t) + 2 * sin(2 * t)), 47 - 15 * (cos(t) - 2 * cos(2 * t))) for t in turns))
    return _line("".join(strands), 11)


MARKS: dict[str, str] = {
    "clubs": _fill_path(
        _disc(50, 26, 22)
        + _disc(26, 58, 22)
        + _disc(74, 58, 22)
        + _disc(50, 50, 14)
        + "M45 52C46 76 42 88 30 97L70 97C58 88 54 76 55 52Z"
    ),
    "diamonds": _fill_path("M50 1C60 20 72 36 87 50C72 64 60 80 50 99C40 80 28 64 13 50C28 36 40 20 50 1Z"),
    "hearts": _fill_path(
        "M50 95C22 70 4 52 4 31C4 15 15 5 28 5C38 5 46 11 50 21C54 11 62 5 72 5C85 5 96 15 96 31C96 52 78 70 50 95Z"
    ),
    "spades": _fill_path(
        "M50 3C56 18 94 40 94 62C94 75 84 83 73 83C65 83 58 79 54 72C55 84 59 92 70 97L30 97C41 92 45 84 46 72"
        "C42 79 35 83 27 83C16 83 6 75 6 62C6 40 44 18 50 3Z"
    ),
    "moons": _fill_path("M64 4A47 47 0 1 0 96 66A37 37 0 1 1 64 4Z"),
    "suns": _suns(),
    "waves": _line("".join(f"M7 {y}C20 {y - 20} 30 {y - 20} 50 {y}S80 {y + 20} 93 {y}" for y in (24, 50, 76)), 11),
    "leaves": _fill_path("M47 4C12 28 8 62 47 80ZM53 4C88 28 92 62 53 80Z") + _line("M50 78L50 95", 8),
    "wyrms": _line("M12 90C46 99 88 92 80 72C74 57 26 62 24 44C23 33 32 27 46 26", 13)
    + _fill_path("M40 16C54 2 76 4 94 20L74 25L92 33C76 43 56 42 40 34ZM60 15a5 5 0 1 0 .1 0Z"),
    "knots": _knots(),
}
"""Content of each suit's symbol, in the current colour."""
