"""Words of messages."""

from __future__ import annotations

from typing import Any


def literal(value: Any) -> str:
    """A value as one writes it in Python, with double quotes."""
    if isinstance(value, list):
        return f"[{', '.join(literal(entry) for entry in value)}]"
    return f'"{value}"' if isinstance(value, str) else repr(value)
