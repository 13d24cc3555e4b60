"""Links from the words of the games to the glossary: `python docs/glossary_links.py` writes them.

On each page the first use of a word of `LINKED` leads to its section of `docs/glossary.md`, unless it leads elsewhere.
Code, headings and tables have no links. Generated pages get theirs from what generates them.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from docs.sources import DOCS, POLICIES, ROOT

GLOSSARY = DOCS / "glossary.md"

LINKED = {
    "alone": r"(?<=sits )alone|(?<=one )alone|alone(?= among)",
    "best response": r"best responses?",
    "control variate": r"control variates?",
    "declarer": r"declarers?",
    "double hand": r"double hands?",
    "duplicate deal": r"duplicate deals?",
    "eldest": r"eldest",
    "field": r"(?<=in the )field\b|(?<=in )fields(?= (?:of|that))|(?<=above the )field\b|(?<=of the )field\b|(?<=four )fields",
    "forfeit": r"forfeits?",
    "hook": r"(?<=the )hook\b(?! `)",
    "layout": r"layouts?(?= of the hidden)",
    "line-up": r"line-ups?",
    "micro-game": r"micro-games?",
    "Misere": r"Misere",
    "NashConv": r"NashConv",
    "nomination": r"nominat(?:ed|es|ions?)\b(?! whist)",
    "partner": r"hidden partners?",
    "pass-out": r"pass-outs?|passed out",
    "scored deal": r"scored deals?",
    "Sniped": r"sniped\b(?! whist)",
    "stock": r"(?<=the )stock\b",
}
"""Words whose first use on a page is linked, and how they stand there."""
LEFT_OUT = ("glossary.md", "index.md")
"""The glossary, and the first page of the site, which has one sentence."""
PROTECTED = re.compile(
    r"\A---\n.*?\n---\n"  # front matter
    r"|^(?P<fence>`{3,})[^\n]*\n.*?^(?P=fence)"
    r"|^ *(?:#|\||<|:\w|!\[|\[\w+\]:)[^\n]*"  # headings, tables, HTML, options of directives, pictures
    r"|^ {4}[^\n]*"
    r"|`[^`\n]+`"
    r"|!?\[[^\]]*\]\([^)]*\)",
    re.DOTALL | re.MULTILINE,
)


def pages() -> list[Path]:
    """The files that get links: all pages but the cards of the policies, and the README."""
    linked = sorted(page for page in DOCS.rglob("*.md") if page.parent.name != POLICIES)
    return [ROOT / "README.md", *(page for page in linked if page.relative_to(DOCS).as_posix() not in LEFT_OUT)]


def with_links(text: str, file: Path) -> str:
    """The Markdown of a file with a link at the first use of each word of `LINKED`; unchanged if it has them already."""
    target = Path(os.path.relpath(GLOSSARY, file.parent)).as_posix()
    for term, pattern in LINKED.items():
        link, protected = f"]({target}#{term.lower().replace(' ', '-')})", list(PROTECTED.finditer(text))
        linked = text.find(link) if link in text else len(text)
        for used in re.finditer(rf"(?<![\w-])(?:{pattern})", text[:linked]):
            around = next((span for span in protected if span.start() <= used.start() < span.end()), None)
            if around is None:
                text = f"{text[: used.start()]}[{used[0]}{link}{text[used.end() :]}"
            if around is None or around[0].startswith("["):
                break
    return text


def main() -> None:
    """Write the links of all pages."""
    for page in pages():
        text = page.read_text(encoding="utf-8")
        linked = with_links(text, page)
        if linked != text:
            page.write_text(linked, encoding="utf-8")
            print(page.relative_to(ROOT))


if __name__ == "__main__":
    main()
