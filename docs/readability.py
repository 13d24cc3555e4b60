"""Paragraphs and sentences that are too long; `tests/test_readability.py` lists them.

Read are the pages, the README, the examples' README, the tables of results, the help of the commands, and public docstrings.
Left out are code, tables, headings and pictures, since nobody reads them as sentences; and `LEFT_OUT`.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import os
import pydoc
import re
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parent.parent

MAX_WORDS_OF_PARAGRAPH = 90
MAX_WORDS_OF_SENTENCE = 30
LEFT_OUT = ("CHANGELOG.md", "checkpoints/LAB.md")
"""Logs, in which one looks an entry up. The pages of the policies are made when the site is built, from results."""
MORE = ("README.md", "examples/README.md", "checkpoints/README.md", "checkpoints/RESULTS.md", "benchmarks/entries/README.md")

_PROSE_DIRECTIVES = ("{note}", "{tip}", "{warning}")
_END = re.compile(r"""(?<=[.!?])["')\]*]*\s+(?=["'(\[*]*[A-Z0-9`])""")
_ABBREVIATION = re.compile(r"(?<![\w-])(?:e\.g|i\.e|al|cf|vs|P|D)\.$")


def files() -> list[Path]:
    """All files that are read."""
    pages = sorted((ROOT / "docs").rglob("*.md"))
    return [*(page for page in pages if page.parent.name != "policies"), *(ROOT / name for name in MORE)]


def paragraphs(markdown: str) -> Iterator[tuple[int, str]]:
    """Line and text of each paragraph, and each item of a list, markup removed."""
    front = re.match(r"\A---\n.*?\n---\n", markdown, re.DOTALL)
    text = "\n" * front[0].count("\n") + markdown[front.end() :] if front else markdown
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    for before, token in zip([None, *tokens], tokens, strict=False):
        line = token.map[0] + 1 if token.map else 0
        if token.type == "inline" and before is not None and before.type == "paragraph_open":
            yield line, _spoken(token)
        elif token.type == "fence" and token.info.split(" ")[0] in _PROSE_DIRECTIVES:
            inner = re.sub(r"(?m)^ +", "", re.sub(r"(?m)^:\w+:.*$", "", token.content))
            yield from ((line + number, part) for number, part in paragraphs(inner))


def without_code(markdown: str) -> str:
    """A page without its blocks of code and what stands above its title."""
    return re.sub(r"(?ms)\A---\n.*?\n---$|^```.*?^```$", "", markdown)


def _spoken(token: Token) -> str:
    """The words of a paragraph: a piece of code counts as one, and a link as its text."""
    words, role = [], False
    for part in token.children or ():
        if part.type == "text":
            words.append(re.sub(r"\{[\w:]+\}$", "", part.content))
            role = part.content.endswith("}")
        elif part.type == "code_inline":
            words.append(re.sub(r" <.*>", "", part.content) if role else "`code`")
        elif part.type in ("softbreak", "hardbreak"):
            words.append(" ")
    return "".join(words)


def sentences(paragraph: str) -> list[str]:
    """The sentences of a paragraph."""
    merged: list[str] = []
    for part in _END.split(paragraph):
        if merged and _ABBREVIATION.search(merged[-1]):
            merged[-1] = f"{merged[-1]} {part}"
        else:
            merged.append(part)
    return merged


def count(text: str) -> int:
    """How many words a text has; a sign alone is none."""
    return sum(any(letter.isalnum() for letter in word) for word in text.split())


def problems(paragraphs_of_text: Iterator[tuple[int, str]]) -> Iterator[tuple[int, int, str]]:
    """Line, number of words and text of each paragraph and sentence that is too long."""
    for line, paragraph in paragraphs_of_text:
        if (words := count(paragraph)) > MAX_WORDS_OF_PARAGRAPH:
            yield line, words, f"paragraph: {paragraph}"
        for sentence in sentences(paragraph):
            if (words := count(sentence)) > MAX_WORDS_OF_SENTENCE:
                yield line, words, sentence


def help_paragraphs(command: str) -> Iterator[tuple[int, str]]:
    """The paragraphs of a command's help, and what it says of each option."""
    text = _help(command, "--help")
    text += _help(command, "--help-all") if "--help-all" in text else ""
    for part in re.split(r"\n\s*\n", re.sub(r"(?m)^[│╭╰].*\n?", "", text))[1:]:
        if not any(line.startswith(" ") for line in part.splitlines()):  # lists and examples are indented
            yield 0, " ".join(part.split())
    for entry in re.split(r"(?m)^[╭╰].*\n|^│ (?=\S)|•", text):
        said = re.sub(r"(?m)^│|│$", "", re.sub(r"\A\S.*?(?:  |│)", "", entry)) if "│" in entry else ""
        yield 0, re.sub(r"\(default:.*", "", " ".join(said.split()))


def _help(command: str, flag: str) -> str:
    """What a command prints; narrow enough that its options stand in one column."""
    from noms_training import cli

    printed = io.StringIO()
    with mock.patch.dict(os.environ, {"COLUMNS": "96"}), contextlib.redirect_stdout(printed):
        cli.main([command, flag])
    return printed.getvalue()


def docstring_paragraphs(page: str) -> Iterator[tuple[int, str]]:
    """The paragraphs of the docstrings that a page of the API shows, and what they say of each argument."""
    for name in re.findall(r"(?m)^\.\. auto(?:class|function|exception):: (\S+)$", page):
        shown = pydoc.locate(name)
        described = [member for key, member in inspect.getmembers(shown, inspect.isroutine) if not key.startswith("_")]
        members = described if inspect.isclass(shown) else []
        for documented in (shown, *members):
            text = inspect.getdoc(documented) or ""
            for part in re.split(r"\n\s*\n|\n(?= *[\w.`, *]+: )|\n(?= *[-*] )|\n(?=\w+:\n)", text):
                yield 0, " ".join(re.sub(r"``?[^`]+``?", "`code`", part).split())
