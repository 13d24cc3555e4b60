"""The terminal: where commands print, in colour where it is one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


def terminal(stderr: bool = False) -> Console:
    """Where to print: in colour if it is a terminal, and never with lines broken or recoloured."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, soft_wrap=True)


def print_lines(lines: Iterable[str]) -> None:
    """Print lines with ANSI colours, which are left out where the output is not a terminal."""
    from rich.text import Text

    console = terminal()
    for line in lines:
        console.print(Text.from_ansi(line))


def new_table(head: str, *others: str) -> Table:
    """A table without lines."""
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", pad_edge=False)
    table.add_column(head, no_wrap=True)
    for other in others:
        table.add_column(other, no_wrap=True, justify="right")
    return table


def colour(low: float, high: float) -> str:
    """Green for an interval above 0, red for one below."""
    return "green" if low > 0 else "red" if high < 0 else ""
