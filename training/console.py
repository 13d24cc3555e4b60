"""The terminal: where commands print, in colour where it is one."""

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
"""The command line of `noms` that runs, for a shell; "" in a program."""
SPELLED = dict(zip("♣♦♥♠·±×–µ█▁▂▃▄▅▆▇─━═╴╶╸╺│┃║", ("C", "D", "H", "S", "|", "+-", *"x-u#1234567-------|||"), strict=True))
"""What is printed for a sign that the output cannot encode."""
BOXES = range(0x2500, 0x2580)
"""Signs that draw boxes; the corners and crossings among them are printed as a plus sign."""
SPELLING = "noms_env.letters"
"""The name under which `spell_out` is known to streams."""
UNBOUNDED = 10_000
"""Width of what is no terminal, where no line needs to be broken."""
ENDS = ("_exit", "execv", "execve")
"""The functions of `os` that end the Python code of a process at once; the others of their kind call them."""
LEAST_NAME = 12
"""To so many letters the first column of a table shrinks before any other does."""


def spell_out(error: UnicodeError) -> tuple[str, int]:
    r"""Letters for what could not be encoded, as `codecs.register_error` wants them; `\u` and a number for the rest."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(_letters, error.object[error.start : error.end])), error.end


def _letters(sign: str) -> str:
    plain = unicodedata.normalize("NFKD", sign).encode("ascii", "ignore").decode()
    return SPELLED.get(sign) or ("+" if ord(sign) in BOXES else plain or sign.encode("ascii", "backslashreplace").decode())


codecs.register_error(SPELLING, spell_out)


def never_fail_on_signs() -> None:
    """Let signs that the terminal cannot show be printed as letters, and bytes that are no text be read as a question mark.

    What is to be read as ASCII is read as UTF-8, of which it is a part, so that the signs of suits are understood.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=SPELLING)
    if isinstance(sys.stdin, io.TextIOWrapper):
        is_ascii = codecs.lookup(sys.stdin.encoding).name == "ascii"
        sys.stdin.reconfigure(encoding="utf-8" if is_ascii else None, errors="replace")


def terminal(stderr: bool = False) -> Console:
    """Where to print: in colour if it is a terminal, and as wide as need be if it is none (and COLUMNS is not set)."""
    from rich.console import Console

    class Terminal(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # as `print` does; rich would end the process

    is_file = not (sys.stderr if stderr else sys.stdout).isatty() and "COLUMNS" not in os.environ
    return Terminal(stderr=stderr, highlight=False, soft_wrap=True, width=UNBOUNDED if is_file else None)


def print_lines(lines: Iterable[str]) -> None:
    """Print lines with ANSI colours, which are left out where the output is not a terminal; see `broken`."""
    from rich.text import Text

    console = terminal()
    for line in lines:
        say(console, Text.from_ansi(line))


def say(console: Console, line: Text, end: str = "\n") -> None:
    """Print a line; see `broken`."""
    *parts, last = broken(line, console.width)
    for part in parts:
        console.print(part)
    console.print(last, end=end)


def broken(line: Text, width: int) -> Iterator[Text]:
    """A line in parts that fit a width, broken at ` · ` or else at gaps, and indented as what stands behind the label.

    A label ends where two gaps follow one another.
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
    """A table without lines; its heads are taken as they are (`pimc:100:` is no picture)."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", pad_edge=False)
    table.add_column(Text(head), overflow="fold")
    for other in others:
        table.add_column(Text(other), overflow="fold", justify="right")
    return table


def fitted(table: Table, width: int) -> Table:
    """A filled table in columns that fit a width: heads give way first, then names; then pairs of figures are broken at gaps.

    No figure is ever cut: a table that has too many of them is wider.
    """
    heads = [str(column.header) for column in table.columns]
    cells = [[str(cell) for cell in column.cells] for column in table.columns]
    bare = [max(map(len, [*column, *head.split()]), default=1) for head, column in zip(heads, cells, strict=True)]
    least = [max((len(word) for cell in column for word in cell.split()), default=1) for column in cells]
    least[0] = min(bare[0], LEAST_NAME)
    widths = [max(own, len(head)) for own, head in zip(bare, heads, strict=True)]
    growth = sum(max(map(_growth, [head, *column])) for head, column in zip(heads, cells, strict=True))
    room = width - 2 * (len(widths) - 1) - growth
    for lowest in (bare, [least[0], *bare[1:]], least):
        while sum(widths) > room and widths != lowest:
            slack = [own - low for own, low in zip(widths, lowest, strict=True)]
            widths[slack.index(max(slack))] -= 1
    for column, own in zip(table.columns, widths, strict=True):
        column.min_width = column.max_width = own
    return table


def _growth(text: str) -> int:
    """How much longer standard output makes a text that it has to spell."""
    encoding = sys.stdout.encoding or "utf-8"
    return len(text.encode(encoding, SPELLING).decode(encoding)) - len(text)


def table_lines(table: Table) -> list[str]:
    """The lines of a filled table, as wide as standard output is, with ANSI colours if it is a terminal."""
    console = terminal()
    with console.capture() as caught:
        console.print(fitted(table, console.width))
    return caught.get().splitlines()


def colour(low: float, high: float) -> str:
    """Green for an interval above 0, red for one below."""
    return "green" if low > 0 else "red" if high < 0 else ""


@contextmanager
def no_sudden_end() -> Iterator[None]:
    """In this process `os._exit` and `os.exec*` raise SystemExit, as `sys.exit` does, and what is done to end goes on.

    In processes that are forked from it they do what they always do. Compiled code that ends the process is not held up.
    """
    process = os.getpid()
    real = {(module, name): getattr(module, name) for module in (os, sys.modules[os.name]) for name in ENDS}

    def raising(name: str, end: Callable[..., Any]) -> Callable[..., Any]:
        def refuse(*arguments: Any) -> Any:
            if os.getpid() != process:
                return end(*arguments)
            raise SystemExit(f"os.{name} was called")

        return refuse

    for (module, name), end in real.items():
        setattr(module, name, raising(name, end))
    try:
        yield
    finally:
        for (module, name), end in real.items():
            setattr(module, name, end)
