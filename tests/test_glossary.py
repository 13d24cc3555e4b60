"""The glossary: what it says of itself is there, and each page links the first use of its words."""

import re

import pytest

from docs import sources
from docs.glossary_links import DOCS, GLOSSARY, LINKED, POLICIES, ROOT, pages, with_links

TEXT = GLOSSARY.read_text(encoding="utf-8")
HEADINGS = re.findall(r"(?m)^## (.+)$", TEXT)


def test_its_words_are_in_order_and_its_links_lead_to_them() -> None:
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


@pytest.mark.parametrize(
    ("text", "linked"),
    [
        ("The declarer leads; the declarer wins.", "The [declarer](../glossary.md#declarer) leads; the declarer wins."),
        (
            "# The hook\n\n| the hook |\n\n`the hook` is the hook.",
            "# The hook\n\n| the hook |\n\n`the hook` is the [hook](../glossary.md#hook).",
        ),
        (
            "```text\na double hand\n```\n\nTwo double hands.",
            "```text\na double hand\n```\n\nTwo [double hands](../glossary.md#double-hand).",
        ),
        ("See [a micro-game](x.md). A micro-game.", None),
        ("Branches for each hook; the hook `settle`; nomination whist; a field of the record.", None),
        ("It sits alone in the field.", "It sits [alone](../glossary.md#alone) in the [field](../glossary.md#field)."),
    ],
)
def test_a_link_stands_at_the_first_use_in_a_sentence(text: str, linked: str | None) -> None:
    file = DOCS / "how_to" / "page.md"
    assert with_links(text, file) == (linked or text)
    assert with_links(linked or text, file) == (linked or text)
