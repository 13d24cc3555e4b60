"""Pixels of an SVG drawing, rendered by resvg with the fonts of this folder: identical on every machine."""

from __future__ import annotations

from importlib import import_module
from io import BytesIO
from pathlib import Path
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from noms_env.core.messages import pictures_need

FONTS = [str(path) for path in sorted((Path(__file__).parent / "fonts").glob("*.ttf"))]


def import_renderer(module: str) -> ModuleType:
    """Import a library of the extra `render`; raise `ModuleNotFoundError` that says how to install it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        top = module.partition(".")[0]
        if (error.name or "").partition(".")[0] != top:
            raise
        raise ModuleNotFoundError(pictures_need(top), name=top) from error


def png(svg: str, zoom: float = 1) -> bytes:
    """Render a drawing as PNG, `zoom` pixels per unit; the theme `auto` is rendered as light.

    Raises:
        ModuleNotFoundError: resvg-py is not installed.
    """
    settings = {"skip_system_fonts": True, "font_files": FONTS, "font_family": "Inter", "sans_serif_family": "Inter"}
    return bytes(import_renderer("resvg_py").svg_to_bytes(svg_string=svg, zoom=zoom, **settings))


def pixels(svg: str) -> NDArray[np.uint8]:
    """Render a drawing as an RGB image, shape (height, width, 3), uint8.

    Raises:
        ModuleNotFoundError: resvg-py or Pillow is not installed.
    """
    image = import_renderer("PIL.Image")
    return np.asarray(image.open(BytesIO(png(svg))).convert("RGB"), np.uint8).copy()
