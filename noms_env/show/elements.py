"""SVG elements as strings. All foreign text passes through `text` or `group`, which escape it."""

from __future__ import annotations

import re
from functools import lru_cache
from html import escape

UNFIT = re.compile("[^\t\n\r\u0020-\u007e\u00a0-\u2029\u202f-\u2065\u206a-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML forbids, control characters, and characters that change the direction of text."""

# fmt: off
WIDTHS = (
    28, 34, 55, 65, 65, 102, 67, 34, 38, 38, 56, 68, 33, 47, 33, 39, 67, 43, 63, 65, 68, 62, 65, 58, 65, 65, 33, 34, 68, 68,
    68, 56, 102, 75, 66, 74, 72, 61, 59, 75, 75, 28, 58, 72, 57, 93, 76, 77, 65, 78, 66, 65, 67, 74, 75, 104, 74, 73, 66,
    38, 39, 38, 49, 48, 37, 58, 63, 59, 63, 60, 40, 63, 62, 27, 27, 58, 27, 91, 62, 61, 63, 63, 41, 56, 37, 62, 60, 85, 58,
    60, 57, 47, 37, 47, 68,
)
"""Widths of the ASCII characters from space on, in hundredths of the font size: Inter, the wider of regular and bold."""
# fmt: on
WIDEST = 104
TIGHTEST = 0.8
"""Text that does not fit is condensed to at least this fraction of its width, then truncated."""
cached = lru_cache(4096)
"""Cache: consecutive drawings share most of their texts."""


def escape_text(text: str) -> str:
    """Escape text for an element, or an attribute in double quotes."""
    return escape(UNFIT.sub("\ufffd", text), quote=True)


@cached
def text_width(text: str, size: float) -> float:
    """Estimate the width of a line of text; an upper bound in the fonts of this package."""
    numbers = (ord(sign) - 32 for sign in text)
    return size / 100 * sum(WIDTHS[number] if 0 <= number < len(WIDTHS) else WIDEST for number in numbers)


@cached
def text(
    x: float,
    y: float,
    words: str,
    size: float,
    look: str = "ink",
    *,
    bold: bool = False,
    anchor: str = "start",
    room: float | None = None,
) -> str:
    """Draw a line of text whose middle is at height `y`; all text is escaped.

    Args:
        x: position of the text's start, middle or end, according to `anchor`.
        y: height of the text's middle.
        words: the text.
        size: font size.
        look: CSS class of the colour.
        bold: whether the text is bold.
        anchor: `start`, `middle` or `end`.
        room: width into which the text is fitted; None for no limit.
    """
    fit = ""
    if room is not None and text_width(words, size) > room:
        while len(words) > 1 and text_width(words, size) * TIGHTEST > room:
            words = words.removesuffix("…")[:-1] + "…"
        fit = f' textLength="{min(room, text_width(words, size)):.0f}" lengthAdjust="spacingAndGlyphs"'
    placed = "" if anchor == "start" else f' text-anchor="{anchor}"'
    weight = "bold" if bold else "text"
    return (
        f'<text x="{x:g}" y="{y + 0.36 * size:.4g}" font-size="{size:g}"{placed}{fit} class="noms-{weight} noms-{look}">'
        f"{escape_text(words)}</text>"
    )


def box(x: float, y: float, width: float, height: float, look: str, round_by: float = 10, thick: float = 1.5) -> str:
    """Draw a box with round corners."""
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{round_by:g}" stroke-width="{thick:g}" '
        f'class="noms-{look}"/>'
    )


def disc(x: float, y: float, radius: float, look: str, thick: float = 1.5) -> str:
    """Draw a disc."""
    return f'<circle cx="{x:g}" cy="{y:g}" r="{radius:g}" stroke-width="{thick:g}" class="noms-{look}"/>'


def coin(x: float, y: float, words: str, radius: float = 13) -> str:
    """Draw a disc with a letter or a number."""
    return disc(x, y, radius, "coin") + text(x, y, words, 18, "print", bold=True, anchor="middle", room=2 * radius - 4)


def use(symbol: str, x: float, y: float, width: float, height: float) -> str:
    """Draw a symbol of `cards` in a rectangle."""
    return f'<use href="#noms-{symbol}" x="{x:.5g}" y="{y:.5g}" width="{width:g}" height="{height:g}"/>'


def group(content: str, **attributes: str) -> str:
    """Group elements. Underscores in attribute names become hyphens; a trailing one (`class_`) is dropped."""
    pairs = "".join(f' {name.rstrip("_").replace("_", "-")}="{escape_text(value)}"' for name, value in attributes.items())
    return f"<g{pairs}>{content}</g>"
