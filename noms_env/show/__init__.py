"""Views of a table from one seat, as text and as a drawing.

`view.look` collects everything that the seat may see; `lines` and `picture` turn it into text and SVG, and read nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from noms_env.show.lines import card_text, hand_text, lines_of, points_text, suit_text, trick_text
from noms_env.show.picture import drawing
from noms_env.show.pixels import pixels
from noms_env.show.theme import Theme
from noms_env.show.view import Notes, call_text, look
from noms_env.table import Table

__all__ = ["call_text", "card_text", "hand_text", "image", "look", "points_text", "suit_text", "svg", "text", "trick_text"]


def text(table: Table, seat: int | None, *, full: bool = False, colour: bool = False) -> str:
    """Describe the table as a seat sees it, in a dozen lines of text.

    Seats are numbered from 0, deals from 1. Legal actions are the words of game records, but calls are in spoken words.

    Args:
        table: a table with a deal in progress or just scored.
        seat: seat of the viewer; None for a spectator, who sees only public facts.
        full: show all hands, the stock, the partner and the legal actions of the seat to act. For debugging.
        colour: colour the text with ANSI escape codes.

    Returns:
        Lines joined by newlines, without a trailing newline.

    Raises:
        ValueError: no such seat, or nothing has been dealt yet.
    """
    return "\n".join(lines_of(look(table, seat, full), colour))


def svg(table: Table, seat: int | None, *, full: bool = False, names: Sequence[str] = (), theme: Theme = "auto") -> str:
    """Draw the table as a seat sees it, with that seat at the bottom, as an SVG document.

    Args:
        table: a table with a deal in progress or just scored.
        seat: seat of the viewer; None for a spectator, who sees only public facts.
        full: show all hands, the stock, the partner and the legal actions of the seat to act. For debugging.
        names: names of the players by seat, any text; default `Seat 0`, `Seat 1` and so on.
        theme: `light`, `dark`, or `auto` for the reader's system setting.

    Returns:
        A self-contained, scalable document of 720 by 920 units.

    Raises:
        ValueError: no such seat, no such theme, or nothing has been dealt yet.
    """
    return drawing(look(table, seat, full), Notes(names), theme)


def image(table: Table, seat: int | None, *, full: bool = False) -> NDArray[np.uint8]:
    """Render the drawing of `svg` in light colours, as pixels.

    Args:
        table: a table with a deal in progress or just scored.
        seat: seat of the viewer; None for a spectator, who sees only public facts.
        full: show all hands, the stock and the partner. For debugging.

    Returns:
        RGB image, shape (920, 720, 3), uint8.

    Raises:
        ValueError: no such seat, or nothing has been dealt yet.
        ModuleNotFoundError: resvg-py or Pillow is not installed.
    """
    return pixels(svg(table, seat, full=full, theme="light"))


def for_notebook(table: Table, seat: int | None = None, full: bool = False) -> dict[str, str]:
    """Return `text` and `svg` of a table by MIME type, for a notebook; raise `ValueError` before the first deal."""
    return {"text/plain": text(table, seat, full=full), "image/svg+xml": svg(table, seat, full=full)}
