"""Terminal output: encoding, colours, line wrapping and tables."""

from __future__ import annotations

import codecs
import io
import os
import re
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

COMMAND_LINE: ContextVar[str] = ContextVar("COMMAND_LINE", default="")
"""The running `noms` command line, quoted for a shell; "" outside the command."""
SPELLED = dict(zip("♣♦♥♠·±×–µ█▁▂▃▄▅▆▇─━═╴╶╸╺│┃║", ("C", "D", "H", "S", "|", "+-", *"x-u#1234567-------|||"), strict=True))
"""ASCII replacements of characters that the output cannot encode."""
BOXES = range(0x2500, 0x2580)
"""Box-drawing characters; corners and crossings among them become a plus sign."""
SPELLING = "noms_env.letters"
"""Name of the codec error handler `spell_out`."""
UNBOUNDED = 10_000
"""Width of output that is not a terminal, where no line needs wrapping."""
ENDS = ("_exit", "execv", "execve")
"""Functions of `os` that end the process at once; the other exit and exec functions call them."""
MIN_NAME = 12
"""Letters to which the first column of a table shrinks before any other column does."""


def spell_out(error: UnicodeError) -> tuple[str, int]:
    r"""Replace unencodable characters by ASCII, as a handler for `codecs.register_error`; as a last resort by a `\u` escape."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(_letters, error.object[error.start : error.end])), error.end


def _letters(sign: str) -> str:
    plain = unicodedata.normalize("NFKD", sign).encode("ascii", "ignore").decode()
    return SPELLED.get(sign) or ("+" if ord(sign) in BOXES else plain or sign.encode("ascii", "backslashreplace").decode())


codecs.register_error(SPELLING, spell_out)


def never_fail_on_signs() -> None:
    """Print unencodable characters as ASCII, and read undecodable bytes as a replacement character.

    ASCII input is decoded as UTF-8, its superset, so that suit symbols can be read.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=SPELLING)
    if isinstance(sys.stdin, io.TextIOWrapper):
        is_ascii = codecs.lookup(sys.stdin.encoding).name == "ascii"
        sys.stdin.reconfigure(encoding="utf-8" if is_ascii else None, errors="replace")


def terminal(stderr: bool = False) -> Console:
    """Return a console: in colour on a terminal; without a width limit elsewhere, unless COLUMNS is set."""
    from rich.console import Console

    class Terminal(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # like `print`; rich would end the process

    is_file = not (sys.stderr if stderr else sys.stdout).isatty() and "COLUMNS" not in os.environ
    return Terminal(stderr=stderr, highlight=False, soft_wrap=True, width=UNBOUNDED if is_file else None)


def print_lines(lines: Iterable[str]) -> None:
    """Print lines with ANSI colours, wrapped by `broken`; outside a terminal the colours are dropped."""
    from rich.text import Text

    console = terminal()
    for line in lines:
        say(console, Text.from_ansi(line))


def say(console: Console, line: Text, end: str = "\n") -> None:
    """Print a line, wrapped by `broken`."""
    *parts, last = broken(line, console.width)
    for part in parts:
        console.print(part)
    console.print(last, end=end)


def broken(line: Text, width: int) -> Iterator[Text]:
    """Wrap a line to a width: at ` · ` if possible, else at spaces. Continuations are indented to the end of the label.

    A label ends at the first two consecutive spaces.
    """
    from rich.text import Text

    label = re.match(r" *(?:\S+ )*?\S* {2,}(?=\S)| *", line.plain)
    indent = " " * min(label.end() if label else 0, width // 2)
    while len(line) > width:
        gaps = [gap.start() for gap in re.finditer(" (?=[^ ·])", line.plain[: width + 1]) if gap.start() > len(indent)]
        dots = [gap for gap in gaps if line.plain[gap - 1] == "·"]
        if not gaps:
            break
        part, rest = line.divide([max(dots or gaps) + 1])
        part.rstrip()
        yield part
        line = Text.assemble(indent, rest)
    yield line


def new_table(head: str, *others: str) -> Table:
    """Return a table without borders; headers are plain text, without Rich markup (`pimc:100:` is not an emoji)."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", pad_edge=False)
    table.add_column(Text(head), overflow="fold")
    for other in others:
        table.add_column(Text(other), overflow="fold", justify="right")
    return table


def fitted(table: Table, width: int) -> Table:
    """Shrink the columns of a filled table to a width: headers first, then names, then pairs of figures at spaces.

    No figure is ever cut: a table with too many of them stays wider.
    """
    heads = [str(column.header) for column in table.columns]
    cells = [[str(cell) for cell in column.cells] for column in table.columns]
    bare = [max(map(len, [*column, *head.split()]), default=1) for head, column in zip(heads, cells, strict=True)]
    least = [max((len(word) for cell in column for word in cell.split()), default=1) for column in cells]
    least[0] = min(bare[0], MIN_NAME)
    widths = [max(size, len(head)) for size, head in zip(bare, heads, strict=True)]
    growth = sum(max(map(_growth, [head, *column])) for head, column in zip(heads, cells, strict=True))
    space = width - 2 * (len(widths) - 1) - growth
    for lowest in (bare, [least[0], *bare[1:]], least):
        while sum(widths) > space and widths != lowest:
            slack = [size - low for size, low in zip(widths, lowest, strict=True)]
            widths[slack.index(max(slack))] -= 1
    for column, size in zip(table.columns, widths, strict=True):
        column.min_width = column.max_width = size
    return table


def _growth(text: str) -> int:
    """Return how many characters a text gains when standard output must replace some by ASCII."""
    encoding = sys.stdout.encoding or "utf-8"
    return len(text.encode(encoding, SPELLING).decode(encoding)) - len(text)


def table_lines(table: Table) -> list[str]:
    """Render a filled table to lines as wide as standard output, with ANSI colours on a terminal."""
    console = terminal()
    with console.capture() as capture:
        console.print(fitted(table, console.width))
    return capture.get().splitlines()


def colour(low: float, high: float) -> str:
    """Return the colour of an interval: green above 0, red below 0, else none."""
    return "green" if low > 0 else "red" if high < 0 else ""


@contextmanager
def no_sudden_end() -> Iterator[None]:
    """Make `os._exit` and `os.exec*` raise SystemExit in this process, like `sys.exit`, so that cleanup runs.

    Forked processes keep the original functions. Compiled code that ends the process is not stopped.
    """
    process = os.getpid()
    originals = {(module, name): getattr(module, name) for module in (os, sys.modules[os.name]) for name in ENDS}

    def raising(name: str, end: Callable[..., Any]) -> Callable[..., Any]:
        def refuse(*arguments: Any) -> Any:
            if os.getpid() != process:
                return end(*arguments)
            raise SystemExit(f"os.{name} was called")

        return refuse

    for (module, name), end in originals.items():
        setattr(module, name, raising(name, end))
    try:
        yield
    finally:
        for (module, name), end in originals.items():
            setattr(module, name, end)
