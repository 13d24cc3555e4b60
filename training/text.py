"""Numbers, times, names and tables as text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

LONGEST = 24
"""Longest short name, in letters."""


def short_names(names: Sequence[str]) -> list[str]:
    """Shorten names of players, files or commands: drop shared folders, then cut the middle of names above 24 letters.

    Cut names that would be equal get a number. So different names stay different.
    """
    if len(set(names)) < len(names):
        different = list(dict.fromkeys(names))
        return [dict(zip(different, short_names(different), strict=True))[name] for name in names]
    deepest = max((word.count("/") for name in names for word in name.split()), default=0)
    tails = ([" ".join(_tail(word, parts) for word in name.split()) for name in names] for parts in range(1, deepest + 1))
    short = next((tail for tail in tails if len(set(tail)) == len(names)), names)
    cut = [cut_middle(name) for name in short]
    return [name if cut.count(name) == 1 else f"{name} ({cut[: at + 1].count(name)})" for at, name in enumerate(cut)]


def cut_middle(name: str, longest: int = LONGEST) -> str:
    """Cut a name to at most `longest` letters, mostly from its end, where names differ more often."""
    first = longest // 3 - 1
    return name if len(name) <= longest else f"{name[:first]}…{name[first + 1 - longest :]}"


def _tail(word: str, parts: int) -> str:
    prefix = "cmd:" if word.startswith("cmd:") else ""
    return prefix + "/".join(word.removeprefix(prefix).split("/")[-parts:])


def as_file_name(text: str) -> str:
    """Replace characters that a file name may not hold by underscores."""
    return "".join(sign if sign.isalnum() or sign in "-_.=" else "_" for sign in text)


def duration(seconds: float) -> str:
    """Format seconds as `1:02:03` or `2:03`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def rules_text(rules: str) -> str:
    """Format a rules label such as `small_ships_4` in words."""
    name, _, seats = rules.rpartition("_")
    return f"{name}, {seats} seats"


def count(number: int, singular: str, plural: str | None = None) -> str:
    """Return a number with its noun, singular or plural."""
    return f"{number} {singular if number == 1 else plural or singular + 's'}"


def short_number(value: float) -> str:
    """Format a number briefly, such as `2.5 M`."""
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(value) >= size:
            return f"{value / size:g} {unit}"
    return f"{value:g}"


def markdown_table(rows: Iterable[Sequence[str | None]], *head: str) -> str:
    """Return a Markdown table: numbers right-aligned, other columns left-aligned; a None is an empty cell."""
    lines = [[(cell or "").replace("|", "\\|") for cell in row] for row in rows]
    columns = list(zip(*lines, strict=True)) or [()] * len(head)
    numbers = [any(column) and all(cell[:1] in "+-0123456789" for cell in column) for column in columns]
    rule = ["---:" if number else "---" for number in numbers]
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, rule, *lines))


def markdown_text(text: str) -> str:
    """Escape a line of untrusted text for Markdown: no HTML, link, image, heading, list or block can result from it."""
    signs = r"[][<>\\]|^(?:[#=~|:]|[-+*](?=[\s*+-]|$)|\d+[.)](?=\s|$)|```)"
    return re.sub(signs, lambda match: "".join(f"&#{ord(sign)};" for sign in match[0]), text.strip())


def printable(text: str) -> str:
    r"""Escape unprintable characters of untrusted text, such as `\x1b`, so that a terminal does not act on them."""
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text)
