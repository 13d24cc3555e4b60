"""Markdown: tables, lists, and pages of which a program writes some blocks and people the rest."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

Cell = str | None
"""Of a table; empty if None."""

BLOCK = re.compile(r"(<!-- (?P<owner>[a-z ]+): (?P<name>[a-z-]+) -->\n).*?(<!-- end of (?P=name) -->)", re.DOTALL)
"""A block that a program writes, between two comments."""


class BlockError(ValueError):
    """A page that does not have the blocks that are to be written; the message says why."""


def table(head: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    """A table: words to the left, and what begins with a digit or a sign to the right."""
    lines = [[cell or "" for cell in row] for row in rows]
    numbers = [all(not line[place] or line[place][0] in "+-0123456789" for line in lines) for place in range(len(head))]
    rules = ["---:" if number and place else "---" for place, number in enumerate(numbers)]
    return "\n".join(f"| {' | '.join(line)} |" for line in [list(head), rules, *lines])


def bullets(items: Iterable[str]) -> str:
    """A list."""
    return "\n".join(f"- {item}" for item in items)


def code(text: str) -> str:
    """A name or a value, in a table too."""
    return f"`{text}`".replace("|", "\\|")


def with_blocks(page: str, owner: str, blocks: Mapping[str, str], where: str) -> str:
    """A page with its blocks written anew; all else in it stays as it is.

    Args:
        page: in which each block stands between `<!-- owner: name -->` and `<!-- end of name -->`, on lines of their own.
        owner: who writes the blocks: small letters and spaces.
        blocks: their text by name; a block that the page does not have is left out.
        where: the page's file, for the message.

    Returns:
        The page.

    Raises:
        BlockError: it has a block of the owner that is not among these, or the end of one is missing.
    """
    found = [match["name"] for match in BLOCK.finditer(page) if match["owner"] == owner]
    begun = re.findall(rf"<!-- {owner}: ([a-z-]+) -->", page)
    if begun != found:
        missing = next(name for name in begun if begun.count(name) != found.count(name))
        raise BlockError(f"{where} has no comment <!-- end of {missing} --> behind the beginning of that block")
    for name in found:
        if name not in blocks:
            raise BlockError(f"{where} has a block {name!r}; the blocks of {owner} are {', '.join(blocks)}")

    def written(match: re.Match[str]) -> str:
        if match["owner"] != owner:
            return match[0]
        return f"{match[1]}\n{blocks[match['name']].strip()}\n\n{match[4]}"

    return BLOCK.sub(written, page)
