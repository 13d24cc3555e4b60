"""Files of the repository as pages of the site: their links, and a page for the card of each policy.

Pages show such files with MyST's `include`, so that nothing is written twice. A link is relative to the file in which it
stands, and leads to a file of the repository; `with_links_of_the_site` turns it into one that works on the site.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

DOCS = Path(__file__).parent
ROOT = DOCS.parent
START_PAGE = "index.md"
POLICIES = "policies"
"""The folder of the pages that `write_policy_pages` makes."""

_INCLUDE = re.compile(r"(?m)^```\{include\} (\S+)\n((?::.*\n)*)```")
LINK = re.compile(r"(?<=\]\()(?!\w+:|#)[^)\s#]+(?=[)#])")
"""A link to a file."""


def includes(page: Path) -> Iterator[tuple[Path, dict[str, str]]]:
    """The files that a page includes, each with the options that say which part of it."""
    for target, options in _INCLUDE.findall(page.read_text(encoding="utf-8")):
        arguments = dict(re.findall(r"(?m)^:([\w-]+): (.+)$", options))
        yield (page.parent / target).resolve(), {name: value.strip('"') for name, value in arguments.items()}


def pages_of_files() -> dict[Path, Path]:
    """The page that shows a file of the repository, for files that are included whole; the README's is the start page."""
    by_file = {file: page.relative_to(DOCS) for page in sorted(DOCS.rglob("*.md")) for file, part in includes(page) if not part}
    return {**by_file, ROOT / "README.md": Path(START_PAGE)}


def with_links_of_the_site(text: str, file: Path, pages: Mapping[Path, Path]) -> str:
    """The Markdown of a file with its links to other files as they are on the site.

    Links to files that have a page (`pages_of_files`) lead there, other links and pictures to the file. Both begin with a
    slash, which stands for the folder of the site's sources.
    """

    def on_site(link: re.Match[str]) -> str:
        target = (file.parent / link[0]).resolve()
        if target in pages:
            return f"/{pages[target]}"
        return f"/{os.path.relpath(target, DOCS)}" if target.is_file() else link[0]

    return LINK.sub(on_site, text)


def write_policy_pages() -> None:
    """Write a page for the card of each policy that comes with the package, and a page that lists them."""
    cards = {card.parent.name: card for card in sorted(ROOT.glob("checkpoints/*/README.md"))}
    folder = DOCS / POLICIES
    no_search = "---\nnosearch: true\n---\n\n"
    texts = {name: f"{no_search}```{{include}} {os.path.relpath(card, folder)}\n```\n" for name, card in cards.items()}
    listed = "\n".join(cards)
    texts["index"] = f"{no_search}# Policies\n\n" + (
        f"The policies that come with the package, each with its card.\n\n```{{toctree}}\n{listed}\n```\n"
        if cards
        else "No policy comes with this version of the package.\n"
    )
    folder.mkdir(exist_ok=True)
    for page in folder.glob("*.md"):
        if page.stem not in texts:
            page.unlink()
    for name, text in texts.items():
        page = folder / f"{name}.md"
        if not page.exists() or page.read_text(encoding="utf-8") != text:
            page.write_text(text, encoding="utf-8")
