"""The marks of the suits of both decks as masks, drawn from curves so that no font is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from math import cos, pi, sin

from PIL import Image, ImageDraw

Points = list[tuple[float, float]]
Pen = ImageDraw.ImageDraw

SIDE = 256
"""Pixels along a side of a mask; the curves are drawn in a unit square."""
CLEAR, INK = 0, 255

MARK_COLOURS = {
    "clubs": (24, 26, 32),
    "diamonds": (200, 30, 48),
    "hearts": (200, 30, 48),
    "spades": (24, 26, 32),
    "moons": (98, 106, 138),
    "suns": (222, 98, 20),
    "waves": (24, 108, 190),
    "leaves": (48, 132, 56),
    "wyrms": (136, 54, 158),
    "knots": (158, 112, 20),
}
"""Colour of each suit."""
MARK_NAMES = (("clubs", "diamonds", "hearts", "spades"), ("moons", "suns", "waves", "leaves", "wyrms", "knots"))
"""Per deck, the suits in the order of their numbers."""


@lru_cache(maxsize=256)
def mark(name: str, size: int) -> Image.Image:
    """The mark of a suit in its colour on a transparent ground, shape (size, size)."""
    mask = Image.new("L", (SIDE, SIDE), CLEAR)
    DRAWERS[name](ImageDraw.Draw(mask))
    image = Image.new("RGBA", (size, size), MARK_COLOURS[name])
    image.putalpha(mask.resize((size, size), Image.Resampling.LANCZOS))
    return image


def _polygon(pen: Pen, points: Iterable[tuple[float, float]], ink: int = INK) -> None:
    pen.polygon([(SIDE * x, SIDE * y) for x, y in points], fill=ink)


def _disc(pen: Pen, x: float, y: float, radius: float, ink: int = INK) -> None:
    pen.ellipse([SIDE * (x - radius), SIDE * (y - radius), SIDE * (x + radius), SIDE * (y + radius)], fill=ink)


def _stroke(pen: Pen, points: Points, width: float, ink: int = INK, tip: float | None = None) -> None:
    """A line with a round brush, of one width or tapering to `tip`."""
    for place, (x, y) in enumerate(points):
        share = place / (len(points) - 1)
        _disc(pen, x, y, (width + ((width if tip is None else tip) - width) * share) / 2, ink)


def _curve(formula: Callable[[float], tuple[float, float]], start: float, end: float, steps: int = 160) -> Points:
    return [formula(start + (end - start) * step / steps) for step in range(steps + 1)]


def _heart_curve(t: float) -> tuple[float, float]:
    x = 16 * sin(t) ** 3
    y = 13 * cos(t) - 5 * cos(2 * t) - 2 * cos(3 * t) - cos(4 * t)
    return 0.5 + x / 34, 0.46 - y / 33


def _stem(pen: Pen) -> None:
    _polygon(pen, [(0.47, 0.55), (0.53, 0.55), (0.56, 0.78), (0.68, 0.96), (0.32, 0.96), (0.44, 0.78)])


def _clubs(pen: Pen) -> None:
    _stem(pen)
    for x, y in ((0.5, 0.25), (0.27, 0.56), (0.73, 0.56)):
        _disc(pen, x, y, 0.205)
    _disc(pen, 0.5, 0.47, 0.12)


def _diamonds(pen: Pen) -> None:
    _polygon(pen, [(0.5, 0.02), (0.84, 0.5), (0.5, 0.98), (0.16, 0.5)])


def _hearts(pen: Pen) -> None:
    _polygon(pen, _curve(_heart_curve, 0, 2 * pi))


def _spades(pen: Pen) -> None:
    _stem(pen)
    _polygon(pen, [(x, 0.03 + 0.86 * (0.98 - y)) for x, y in _curve(_heart_curve, 0, 2 * pi)])


def _moons(pen: Pen) -> None:
    _disc(pen, 0.46, 0.5, 0.44)
    _disc(pen, 0.65, 0.42, 0.36, CLEAR)


def _suns(pen: Pen) -> None:
    for ray in range(8):
        angle = ray * pi / 4
        base = [(0.5 + 0.33 * cos(angle + turn), 0.5 + 0.33 * sin(angle + turn)) for turn in (-0.3, 0.3)]
        _polygon(pen, [*base, (0.5 + 0.49 * cos(angle), 0.5 + 0.49 * sin(angle))])
    _disc(pen, 0.5, 0.5, 0.26)


def _waves(pen: Pen) -> None:
    for y in (0.24, 0.5, 0.76):
        # `y=y` takes the value of this turn; mypy cannot tell the type of such a function.
        _stroke(pen, _curve(lambda x, y=y: (x, y + 0.075 * sin(4 * pi * x)), 0.07, 0.93), 0.115)  # type: ignore[misc]


def _leaves(pen: Pen) -> None:
    side = _curve(lambda t: (0.5 + 0.34 * sin(pi * t) * (1 - 0.35 * t), 0.82 - 0.8 * t), 0, 1)
    _polygon(pen, [*side, *((1 - x, y) for x, y in reversed(side))])
    _stroke(pen, [(0.5, 0.3 + 0.005 * step) for step in range(110)], 0.045, CLEAR)
    _stroke(pen, [(0.5, 0.8 + 0.002 * step) for step in range(80)], 0.08)


def _wyrms(pen: Pen) -> None:
    body = _curve(lambda t: (0.5 + 0.27 * sin(2 * pi * t + 0.5), 0.2 + 0.72 * t), 0, 1.0)
    _stroke(pen, body, 0.19, INK, 0.05)
    _polygon(pen, [(0.78, 0.3), (0.5, 0.36), (0.2, 0.2), (0.16, 0.12), (0.52, 0.04), (0.72, 0.08)])
    _disc(pen, 0.5, 0.16, 0.045, CLEAR)


def _knot_curve(t: float) -> tuple[float, float]:
    return 0.5 + 0.145 * (sin(t) + 2 * sin(2 * t)), 0.47 - 0.145 * (cos(t) - 2 * cos(2 * t))


def _knots(pen: Pen) -> None:
    """A trefoil knot, one strand over the other at its three crossings."""
    _stroke(pen, _curve(_knot_curve, 0, 2 * pi, 400), 0.115)
    for crossing in range(3):
        over = 0.27 + 2 * pi / 3 * crossing
        _stroke(pen, _curve(_knot_curve, over - 0.2, over + 0.2), 0.2, CLEAR)
        _stroke(pen, _curve(_knot_curve, over - 0.32, over + 0.32), 0.115)


_FUNCTIONS = (_clubs, _diamonds, _hearts, _spades, _moons, _suns, _waves, _leaves, _wyrms, _knots)
DRAWERS: dict[str, Callable[[Pen], None]] = dict(zip(MARK_COLOURS, _FUNCTIONS, strict=True))
