"""Words of messages, and names in them."""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import Any

from noms_env.version import install_command

JOINERS = "\u200c\u200d"
"""Signs without a width that some scripts, and pictures of several signs, are written with."""
PICTURE_LIBRARIES = {"PIL": "Pillow", "resvg_py": "resvg-py"}
"""What pictures need, from the extra `render`: modules, and the names by which they are installed."""


def literal(value: Any) -> str:
    """A value as one writes it in Python, with double quotes."""
    if isinstance(value, list):
        return f"[{', '.join(literal(entry) for entry in value)}]"
    return f'"{value}"' if isinstance(value, str) else repr(value)


@lru_cache(256)
def clean_name(name: str) -> str:
    r"""Make a name safe to show to others: one line, without characters that control a terminal or the direction of text.

    Whitespace becomes single spaces. Control and format characters (ESC, U+202E) and lone surrogates are dropped; joiners
    of letters stay.
    """
    signs = (sign for sign in " ".join(name.split()) if sign in JOINERS or unicodedata.category(sign)[0] != "C")
    return "".join(signs).strip()


def pictures_need(module: str) -> str:
    """The message for a missing module of `PICTURE_LIBRARIES`."""
    return f"pictures of the table need {PICTURE_LIBRARIES[module]}, which is not installed: {install_command('render')}"


def printable(text: str) -> str:
    """Escape the control characters of a text, so that a terminal does not act on them."""
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text)
