"""Pages, docstrings and help have short sentences and paragraphs, and pages link the first use of each word of the glossary."""

import re
from pathlib import Path

import pytest

from docs import glossary_links, readability, sources
from noms_training import cli


@pytest.mark.parametrize("page", readability.files(), ids=lambda page: str(page.relative_to(readability.ROOT)))
def test_a_page_is_readable(page: Path) -> None:
    text, folder = page.read_text(encoding="utf-8"), page.parent.name
    assert list(readability.problems(readability.paragraphs(text))) == []
    if folder == "api":
        assert list(readability.problems(readability.docstring_paragraphs(text))) == []
    if folder in ("how_to", "start"):
        assert readability.count(readability.without_code(text)) <= 600


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_the_help_of_a_command_is_readable(command: str) -> None:
    assert list(readability.problems(readability.help_paragraphs(command))) == []


def test_the_glossary_is_in_order_and_its_links_lead_to_its_words() -> None:
    text = glossary_links.GLOSSARY.read_text(encoding="utf-8")
    headings = re.findall(r"(?m)^## (.+)$", text)
    assert sorted(headings, key=str.lower) == headings
    assert set(glossary_links.LINKED) <= set(headings)
    links = set(re.findall(r"\]\(#([\w-]+)\)", text))
    assert len(links) > 10
    assert links <= {heading.lower().replace(" ", "-").replace(",", "") for heading in headings}


def test_each_page_links_the_first_use_of_a_word() -> None:
    files, docs = glossary_links.pages(), sources.DOCS
    assert {docs.parent / "README.md", docs / "players.md", docs / "environments" / "noms.md"} <= set(files)
    for file in files:
        text = file.read_text(encoding="utf-8")
        assert glossary_links.with_links(text, file) == text, f"run `python docs/glossary_links.py`, for {file}"
