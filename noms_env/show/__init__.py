"""A table as people see it, from one seat: as text and as a picture.

`view.look` gathers what the seat may see; `lines` and `picture` make of that a text and an image, and read nothing else.
"""

from __future__ import annotations

from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noms_env.show.lines import card_text, hand_text, lines_of, points_text, suit_text, trick_text
from noms_env.show.view import call_text, look
from noms_env.table import Table
from noms_env.version import install_command

__all__ = ["call_text", "card_text", "hand_text", "image", "look", "points_text", "suit_text", "text", "trick_text"]


def text(table: Table, seat: int | None, *, full: bool = False, colour: bool = False) -> str:
    """The table as a seat sees it, in a dozen lines of text.

    Seats are numbered from 0, deals from 1; the legal actions are the words of the game record, but
    calls as people say them.

    Args:
        table: a table at which a deal is under way or has just been scored.
        seat: whose view it is; None for a spectator, who sees what is public.
        full: show all hands, the stock, the partner and the legal actions of the seat to act. For debugging.
        colour: colour the text with ANSI escape codes.

    Returns:
        Lines joined by line ends, without one at the end.

    Raises:
        ValueError: there is no such seat, or nothing has been dealt yet.
    """
    return "\n".join(lines_of(look(table, seat, full), colour))


def image(table: Table, seat: int | None, *, full: bool = False) -> NDArray[np.uint8]:
    """The table as a seat sees it, drawn as a card table with that seat at the bottom.

    Args:
        table: a table at which a deal is under way or has just been scored.
        seat: whose view it is; None for a spectator, who sees what is public.
        full: show all hands, the stock and the partner. For debugging.

    Returns:
        Red, green and blue, shape (720, 960, 3), uint8.

    Raises:
        ValueError: there is no such seat, or nothing has been dealt yet.
        ModuleNotFoundError: Pillow is not installed.
    """
    view = look(table, seat, full)
    try:
        from noms_env.show.picture import draw
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "PIL":
            raise
        message = f"images of the table are drawn with Pillow, which is not installed: {install_command('render')}"
        raise ModuleNotFoundError(message, name="PIL") from error
    return draw(view)


def for_notebook(table: Table) -> dict[str, Any]:
    """The table as a spectator sees it, by MIME type: `text/plain`, and where Pillow is installed `image/png`, bytes.

    Raises:
        ValueError: nothing has been dealt yet.
    """
    shown: dict[str, Any] = {"text/plain": text(table, None)}
    try:
        pixels = image(table, None)
    except ModuleNotFoundError:
        return shown
    from PIL import Image

    file = BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return shown | {"image/png": file.getvalue()}
