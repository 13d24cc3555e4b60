"""The canvas for pictures of a table: its colours and drawing functions.

Positions and sizes are in pixels of the finished picture; it is drawn twice as large and reduced, which smooths all edges.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from noms_env.show.marks import MARK_NAMES, mark

WIDTH, HEIGHT = 960, 720
SCALE = 2
Colour = tuple[int, int, int]
INK: Colour = (30, 32, 38)
PAPER: Colour = (253, 251, 246)
CREAM: Colour = (244, 239, 222)
GOLD: Colour = (250, 206, 92)
FAINT: Colour = (166, 194, 174)
PANEL: Colour = (13, 54, 36)
RIM: Colour = (44, 104, 74)
WOOD: Colour = (58, 36, 22)
CENTRE = (480, 346)


class Picture:
    """The canvas; its methods take positions and sizes in pixels of the finished picture."""

    def __init__(self) -> None:
        self.sheet = cloth().copy()
        self.pen = ImageDraw.Draw(self.sheet)

    def pixels(self) -> NDArray[np.uint8]:
        """The finished picture."""
        return np.asarray(self.sheet.resize((WIDTH, HEIGHT), Image.Resampling.BOX), np.uint8).copy()

    def text(self, x: float, y: float, text: str, size: int, colour: Colour = CREAM, anchor: str = "la") -> None:
        """A line of text; `anchor` says which of its points (x, y) is, as in Pillow."""
        self.pen.text((SCALE * x, SCALE * y), text, colour, font(size), anchor)

    def bold(self, x: float, y: float, text: str, size: int, colour: Colour = CREAM, anchor: str = "la") -> None:
        """A line of heavier text."""
        self.pen.text((SCALE * x, SCALE * y), text, colour, font(size), anchor, stroke_width=1, stroke_fill=colour)

    def box(self, x: float, y: float, width: float, height: float, fill: Colour, rim: Colour, thick: int = 1) -> None:
        """A box with round corners."""
        corners = [SCALE * x, SCALE * y, SCALE * (x + width), SCALE * (y + height)]
        self.pen.rounded_rectangle(corners, 9 * SCALE, fill, rim, thick * SCALE)

    def paste(self, x: float, y: float, image: Image.Image) -> None:
        """A card or mark with its upper left corner at (x, y)."""
        self.sheet.paste(image, (round(SCALE * x), round(SCALE * y)), image)

    def mark(self, x: float, y: float, kind: int, suit: int, size: int) -> None:
        """The mark of a suit, centred at (x, y)."""
        self.paste(x - size / 2, y - size / 2, mark(MARK_NAMES[kind][suit], SCALE * size))

    def coin(self, x: float, y: float, radius: float, text: str = "", fill: Colour = CREAM) -> None:
        """A disc with a short text, centred at (x, y)."""
        edges = [SCALE * (x - radius), SCALE * (y - radius), SCALE * (x + radius), SCALE * (y + radius)]
        self.pen.ellipse(edges, fill, INK, SCALE)
        self.bold(x, y, text, round(1.2 * radius), INK, "mm")


@lru_cache(maxsize=32)
def font(size: int) -> ImageFont.ImageFont | ImageFont.FreeTypeFont:
    """Pillow's own font."""
    return ImageFont.load_default(SCALE * size)


def text_width(text: str, size: int) -> float:
    """Width of a line of text."""
    return font(size).getlength(text) / SCALE


@lru_cache(maxsize=1)
def cloth() -> Image.Image:
    """The empty table: a wooden frame, and green cloth that is lighter in the middle."""
    width, height = SCALE * WIDTH, SCALE * HEIGHT
    y, x = np.mgrid[0:height, 0:width]
    away = np.hypot((x - SCALE * CENTRE[0]) / width, (y - SCALE * CENTRE[1]) / height)
    light = np.clip(1.12 - 0.85 * away, 0.4, 1.2)[..., None]
    grain = np.random.default_rng(0).normal(0, 1.2, (height, width, 1))
    green = np.clip(np.array([28, 112, 72]) * light + grain, 0, 255).astype(np.uint8)
    sheet = Image.new("RGB", (width, height), WOOD)
    mask = Image.new("L", (width, height), 0)
    edges = (SCALE * 6, SCALE * 38, width - SCALE * 6, height - SCALE * 6)
    ImageDraw.Draw(mask).rounded_rectangle(edges, 26 * SCALE, 255)
    sheet.paste(Image.fromarray(green), (0, 0), mask)
    ImageDraw.Draw(sheet).rounded_rectangle(edges, 26 * SCALE, None, (112, 74, 44), 2 * SCALE)
    return sheet
