"""Pictures of recorded deals: SVG or PNG of a moment, animated GIF of a whole deal."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO

from noms_env.record import Record
from noms_env.show.picture import drawing
from noms_env.show.pixels import import_renderer, png
from noms_env.show.theme import Theme
from noms_env.table import Table

from .film import Shown, moments

SUFFIXES = (".svg", ".png", ".gif")
PNG_ZOOM, GIF_ZOOM = 1.5, 0.5
"""Pixels per unit of the drawing (720 by 920 units)."""
GIF_MILLISECONDS, GIF_END = 900, 4000
"""Duration of each frame, and of the last one."""
GIF_COLOURS = 48


def drawings(record: Record, shown: Shown, theme: Theme, before: Table | None = None) -> list[str]:
    """Draw all moments of a deal from the view of `shown.seat`; with None, all hands are open.

    Raises:
        RecordError: the record cannot be replayed.
    """
    drawn = []
    for moment in moments(record, shown, before):
        sees_options = moment.taken is not None and shown.seat in (None, int(moment.table.row.seat))
        drawn.append(drawing(moment.view(shown.seat), moment.notes(shown.names, sees_options), theme))
    return drawn


def picture(drawn: Sequence[str], suffix: str, moment: int | None = None) -> bytes:
    """Return the content of a picture file, from the result of `drawings`.

    `moment` is a number of decisions; None means the end of the deal. A GIF shows all moments.

    Raises:
        ValueError: no such suffix, or no such moment.
        ModuleNotFoundError: a library of the extra `render` is not installed.
    """
    if suffix not in SUFFIXES:
        raise ValueError(f"a picture must be a file that ends with {', '.join(SUFFIXES)}, not {suffix or 'without an ending'}")
    if suffix == ".gif":
        if moment is not None:
            raise ValueError("a GIF shows all moments of a deal; leave the moment out")
        return animation(drawn)
    if moment is not None and not 0 <= moment < len(drawn):
        raise ValueError(f"the moment must be from 0 to {len(drawn) - 1} in this deal, not {moment}")
    drawing = drawn[-1 if moment is None else moment]
    return drawing.encode() if suffix == ".svg" else png(drawing, PNG_ZOOM)


def animation(drawn: Sequence[str]) -> bytes:
    """Make an animated GIF of drawings, with the palette of the middle one."""
    image = import_renderer("PIL.Image")
    frames = [image.open(BytesIO(png(drawing, GIF_ZOOM))).convert("RGB") for drawing in drawn]
    palette = frames[len(frames) // 2].quantize(GIF_COLOURS)
    flat = [frame.quantize(palette=palette, dither=image.Dither.NONE) for frame in frames]
    file, times = BytesIO(), [*[GIF_MILLISECONDS] * (len(flat) - 1), GIF_END]
    flat[0].save(file, "GIF", save_all=True, append_images=flat[1:], duration=times, loop=0, optimize=True)
    return file.getvalue()
