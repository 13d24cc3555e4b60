"""The terminal: where commands print, in colour where it is one."""

from __future__ import annotations

import codecs
import io
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


SPELLED = dict(zip("♣♦♥♠·±×…èµ█▁▂▃▄▅▆▇", ("C", "D", "H", "S", "|", "+-", "x", "...", "e", "u", *"#1234567"), strict=True))
"""What is printed for a sign that the output cannot encode; `?` for all others."""


def spell_out(error: UnicodeError) -> tuple[str, int]:
    """Letters for what could not be encoded, as `codecs.register_error` wants them."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(SPELLED.get(sign, "?") for sign in error.object[error.start : error.end]), error.end


def never_fail_on_signs() -> None:
    """Let signs that the terminal cannot show be printed as letters, and bytes that are no text be read as a question mark."""
    codecs.register_error("noms_env.letters", spell_out)
    for stream, errors in ((sys.stdout, "noms_env.letters"), (sys.stderr, "noms_env.letters"), (sys.stdin, "replace")):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=errors)


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
    """A table without lines; its heads are taken as they are (`pimc:100:` is no picture)."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", pad_edge=False)
    table.add_column(Text(head), no_wrap=True)
    for other in others:
        table.add_column(Text(other), no_wrap=True, justify="right")
    return table


def colour(low: float, high: float) -> str:
    """Green for an interval above 0, red for one below."""
    return "green" if low > 0 else "red" if high < 0 else ""
