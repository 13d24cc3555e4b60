"""Parse a command line into a function call with tyro; every refusal is one sentence."""

from __future__ import annotations

import contextlib
import io
import itertools
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Sequence
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin

import tyro
from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

from .commands.common import CommandError

KINDS = {int: "an integer", float: "a number", str: "a text"}

registry = ConstructorRegistry()


@registry.primitive_rule
def plain_values(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[Any] | None:
    """Parse numbers, optional values and variadic tuples, with our own error messages."""
    parts = get_args(info.type)
    is_optional = info.type_origin is UnionType and len(parts) == 2 and parts[1] is NoneType and parts[0] in KINDS
    if info.type in (int, float) or is_optional:
        kind = parts[0] if is_optional else info.type
        return _spec(1, kind, lambda words: _value(kind, words[0]))
    if info.type_origin is tuple and len(parts) == 2 and parts[1] is ... and tyro.conf.UseAppendAction not in info.markers:
        minimum = 0 if tyro.conf.Positional in info.markers else 1
        return _spec("*", parts[0], lambda words: _values(parts[0], words, minimum))
    return None


def _spec(nargs: Literal[1, "*"], kind: Any, read: Callable[[list[str]], Any]) -> PrimitiveConstructorSpec[Any]:
    return PrimitiveConstructorSpec(
        nargs=nargs,
        metavar=getattr(kind, "__name__", "name").upper() + (" ..." if nargs == "*" else ""),
        instance_from_str=read,
        is_instance=lambda _value: True,
        str_from_instance=lambda value: list(map(str, value)) if nargs == "*" else [str(value)],
    )


def _values(kind: Any, words: Sequence[str], minimum: int) -> tuple[Any, ...]:
    """Convert words to values; ValueError if there are too few, or one is invalid."""
    if len(words) < minimum:
        raise ValueError("needs a value")
    return tuple(_value(kind, word) for word in words)


def _value(kind: Any, word: str) -> Any:
    """Convert a word to a value; ValueError if it is invalid."""
    if get_origin(kind) is Literal:
        if word not in get_args(kind):
            raise ValueError(f"must be one of {', '.join(map(repr, get_args(kind)))}, not {word!r}")
        return word
    try:
        return kind(word)
    except ValueError:
        raise ValueError(f"must be {KINDS[kind]}, not {word!r}") from None


def parse(function: Callable[..., Any], prog: str, words: Sequence[str]) -> Any:
    """Parse words as the arguments of a function, and call it; its signature and docstring define the options.

    Raises:
        CommandError: the words are invalid.
        SystemExit: help was requested, and has been printed.
    """
    wants_help = bool({"-h", "--help"} & set(words))
    output = _Output(wants_help and sys.stdout.isatty())
    try:
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            return tyro.cli(function, prog=prog, args=words, registry=registry)
    except SystemExit as end:
        if end.code:
            help_word = getattr(function, "full_help", "--help")
            raise CommandError(f"{sentence(output.getvalue())}; see {prog} {help_word}") from None
        columns = shutil.get_terminal_size().columns  # tyro does not wrap prose
        print(re.sub(r"(?m)^[A-Za-z-].*$", lambda line: textwrap.fill(line[0], columns), output.getvalue()), end="")
        raise


class _Output(io.StringIO):
    """Buffer for the output of tyro, in colour if the real output is a terminal."""

    encoding = "utf-8"

    def __init__(self, terminal: bool) -> None:
        super().__init__()
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal


def sentence(box: str) -> str:
    """Extract the error sentence from a box of tyro, with its suggested option but without its usage text."""
    inner = [line.strip("│") for line in box.splitlines() if line[:1] == "│"]
    message = itertools.takewhile(lambda line: "──" not in line, inner)
    text = " ".join(line.strip() for line in message if not line.startswith(" " * 8))
    text = re.sub(r"^Error parsing (--\S+):", r"\1", text)
    text = re.sub(r"^Error parsing config\.(\w+): (\w+)", lambda part: f"--{part[1]}.{part[2]}".replace("_", "-"), text)
    guess = re.search(r"Perhaps you meant:\W+(--[\w.-]+)", box)
    return text.rstrip(".") + (f" (did you mean {guess[1]}?)" if guess else "")
