"""Text for messages: values, names, and missing libraries."""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import Any

from noms_env.version import install_command

JOINERS = "\u200c\u200d"
"""Zero-width characters that some scripts and composed emoji need."""
PICTURE_LIBRARIES = {"PIL": "Pillow", "resvg_py": "resvg-py"}
"""Modules that pictures need, with the names of their packages in the extra `render`."""


def literal(value: Any) -> str:
    """Return the Python literal of a value, with double quotes."""
    if isinstance(value, list):
        return f"[{', '.join(literal(entry) for entry in value)}]"
    return f'"{value}"' if isinstance(value, str) else repr(value)


@lru_cache(256)
def clean_name(name: str) -> str:
    r"""Make a name safe to show to others: one line, without characters that control a terminal or the text direction.

    Whitespace becomes single spaces. Control and format characters (ESC, U+202E) and lone surrogates are dropped; `JOINERS`
    stay.
    """
    signs = (sign for sign in " ".join(name.split()) if sign in JOINERS or unicodedata.category(sign)[0] != "C")
    return "".join(signs).strip()


def pictures_need(module: str) -> str:
    """Return the message for a missing module of `PICTURE_LIBRARIES`."""
    return f"pictures of the table need {PICTURE_LIBRARIES[module]}, which is not installed: {install_command('render')}"


def printable(text: str) -> str:
    """Escape the control characters in a text, so that it is safe to print to a terminal."""
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text)
