"""The words of a command line as the arguments of a function: tyro reads them, and every refusal is one sentence."""

from __future__ import annotations

import contextlib
import io
import itertools
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin

import tyro
from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

from .commands.common import CommandError

REWORDED = (
    (r"Unrecognized options: ([^, ]+).*", r"{prog} does not take \1"),
    (r"Missing from [^:]*: (.*)", r"{prog} needs \1"),
    (r"invalid choice '(.*)' for argument '(.*)'\. Expected one of \((.*?),?\)\.", r"\2 must be one of \3, not '\1'"),
    (r"Missing value for argument '(.*)'\. Expected.*", r"\1 needs a value"),
    (r"Expected one of \{(.*)\}\.", r"{prog} needs one of \1"),
    (r"Error parsing (\S+): (.*)", r"\1 \2"),
)
"""What tyro says, and what a user reads."""
KINDS = {int: "an integer", float: "a number", str: "a text"}
UNBROKEN = 10_000
"""Columns of a terminal in which no sentence is broken."""

registry = ConstructorRegistry()


@registry.primitive_rule
def plain_values(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[Any] | None:
    """Values that may be left out, and rows of values, with words of their own for what cannot be read."""
    parts = get_args(info.type)
    if info.type in (int, float):
        return _spec(1, info.type, lambda words: _value(info.type, words[0]))
    if info.type_origin is UnionType and len(parts) == 2 and parts[1] is NoneType and parts[0] in KINDS:
        return _spec(1, parts[0], lambda words: _value(parts[0], words[0]))
    if info.type_origin is tuple and len(parts) == 2 and parts[1] is ... and tyro.conf.UseAppendAction not in info.markers:
        least = 0 if tyro.conf.Positional in info.markers else 1
        return _spec("*", parts[0], lambda words: _values(parts[0], words, least))
    return None


def _spec(nargs: Literal[1, "*"], kind: Any, read: Callable[[list[str]], Any]) -> PrimitiveConstructorSpec[Any]:
    return PrimitiveConstructorSpec(
        nargs=nargs,
        metavar=getattr(kind, "__name__", "name").upper() + (" ..." if nargs == "*" else ""),
        instance_from_str=read,
        is_instance=lambda _value: True,
        str_from_instance=lambda value: list(map(str, value)) if nargs == "*" else [str(value)],
    )


def _values(kind: Any, words: Sequence[str], least: int) -> tuple[Any, ...]:
    """The values that some words stand for; ValueError if there are too few, or one stands for none."""
    if len(words) < least:
        raise ValueError("needs a value")
    return tuple(_value(kind, word) for word in words)


def _value(kind: Any, word: str) -> Any:
    """The value that a word stands for; ValueError if it stands for none."""
    if get_origin(kind) is Literal:
        if word not in get_args(kind):
            raise ValueError(f"must be one of {', '.join(map(repr, get_args(kind)))}, not {word!r}")
        return word
    try:
        return kind(word)
    except ValueError:
        raise ValueError(f"must be {KINDS[kind]}, not {word!r}") from None


class _Said(io.StringIO):
    """Keeps what tyro prints, with the boxes that `sentence` takes apart, and for a terminal in colours."""

    encoding = "utf-8"

    def __init__(self, terminal: bool) -> None:
        super().__init__()
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal


def parsed(function: Callable[..., Any], prog: str, words: Sequence[str]) -> Any:
    """Call a function with the arguments that words give it.

    Args:
        function: its parameters and docstring say what the words may be.
        prog: the words before, for the help and for refusals.
        words: of the command line.

    Returns:
        What the function returns.

    Raises:
        CommandError: the words are refused.
        SystemExit: the help was asked for, and is printed.
    """
    wants_help, columns = not {"-h", "--help"}.isdisjoint(words), shutil.get_terminal_size().columns
    said, width = _Said(wants_help and sys.stdout.isatty()), columns if wants_help else UNBROKEN
    try:
        with terminal_width(width), contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            return tyro.cli(function, prog=prog, args=words, registry=registry)
    except SystemExit as end:
        if end.code:
            help_word = getattr(function, "full_help", "--help")
            raise CommandError(f"{sentence(said.getvalue(), prog)}; see {prog} {help_word}") from None
        prose = re.compile(r"(?m)^[A-Za-z-].*$")
        print(prose.sub(lambda line: textwrap.fill(line[0], columns), said.getvalue()), end="")
        raise


@contextlib.contextmanager
def terminal_width(columns: int) -> Iterator[None]:
    """Let tyro find a terminal of so many columns."""
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = str(columns)
    try:
        yield
    finally:
        del os.environ["COLUMNS"]
        if before is not None:
            os.environ["COLUMNS"] = before


def sentence(box: str, prog: str) -> str:
    """What a box of tyro's says, without the help on arguments, and the option that it guesses at."""
    inner = [line.strip("│").rstrip() for line in box.splitlines() if line[:1] == "│"]
    said = itertools.takewhile(lambda line: "──" not in line, inner)
    text = " ".join(line.strip() for line in said if not line.startswith(" " * 8))
    for pattern, better in REWORDED:
        text = re.sub(pattern, better.replace("{prog}", prog.removeprefix("noms ")), text)
    text = re.sub(r"\bconfig\.(\w+) (\w+)", lambda part: f"--{part[1]}.{part[2]}".replace("_", "-"), text)
    guess = re.search(r"Perhaps you meant:\W+(--[\w.-]+)", box)
    return text + (f" (did you mean {guess[1]}?)" if guess else "")
