"""Blocks of Markdown."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

WIDTH = 120


def joined(blocks: Iterable[str]) -> str:
    """Blocks with empty lines between them."""
    return "\n\n".join(blocks) + "\n"


def wrapped(text: str, first: str = "", others: str = "") -> str:
    """A paragraph in lines of bounded width."""
    return textwrap.fill(
        text, WIDTH, initial_indent=first, subsequent_indent=others, break_long_words=False, break_on_hyphens=False
    )


def numbered(items: Sequence[str]) -> str:
    """A numbered list."""
    return "\n".join(wrapped(item, f"{number}. ", "   ") for number, item in enumerate(items, 1))


def bullets(items: Iterable[str]) -> str:
    """A list."""
    return "\n".join(wrapped(item, "- ", "  ") for item in items)


def table_of(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def code(text: str) -> str:
    """A block of Python."""
    return f"```python\n{text}\n```"


def literal(value: Any) -> str:
    """A value as one writes it in Python, with double quotes."""
    if isinstance(value, list):
        return f"[{', '.join(literal(entry) for entry in value)}]"
    return f'"{value}"' if isinstance(value, str) else repr(value)


def sentence(text: str) -> str:
    """A sentence in a table's cell: with a capital letter, without a full stop."""
    return text[:1].upper() + text[1:].removesuffix(".")


def span(first: int, last: int) -> str:
    """Numbers from first to last."""
    return str(first) if first == last else f"{first} to {last}"
