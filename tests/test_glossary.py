"""The glossary is in order, and each page links the first use of its words."""

import re

from docs import sources
from docs.glossary_links import DOCS, GLOSSARY, LINKED, POLICIES, ROOT, pages, with_links

TEXT = GLOSSARY.read_text(encoding="utf-8")
HEADINGS = re.findall(r"(?m)^## (.+)$", TEXT)


def test_words_are_in_order_and_links_lead_to_them() -> None:
    assert sorted(HEADINGS, key=str.lower) == HEADINGS
    assert set(LINKED) <= set(HEADINGS)
    anchors = {heading.lower().replace(" ", "-").replace(",", "") for heading in HEADINGS}
    links = set(re.findall(r"\]\(#([\w-]+)\)", TEXT))
    assert len(links) > 10
    assert links <= anchors


def test_each_page_links_the_first_use_of_its_words() -> None:
    assert POLICIES == sources.POLICIES
    files = pages()
    assert {ROOT / "README.md", DOCS / "players.md", DOCS / "environments" / "noms.md"} <= set(files)
    for file in files:
        text = file.read_text(encoding="utf-8")
        assert with_links(text, file) == text, f"run `python docs/glossary_links.py`, for {file.relative_to(ROOT)}"
