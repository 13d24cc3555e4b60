"""Pages, docstrings and help have short sentences and paragraphs, and a how-to page has at most 600 words."""

from pathlib import Path

import pytest

from docs import readability
from noms_training import cli

PAGES = readability.files()


def name_of(page: Path) -> str:
    return str(page.relative_to(readability.ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_sentences_and_paragraphs_of_a_page_are_short(page: Path) -> None:
    assert list(readability.problems(readability.paragraphs(page.read_text(encoding="utf-8")))) == []


@pytest.mark.parametrize("page", [page for page in PAGES if page.parent.name == "api"], ids=name_of)
def test_sentences_and_paragraphs_of_docstrings_are_short(page: Path) -> None:
    assert list(readability.problems(readability.docstring_paragraphs(page.read_text(encoding="utf-8")))) == []


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_sentences_and_paragraphs_of_help_are_short(command: str) -> None:
    assert list(readability.problems(readability.help_paragraphs(command))) == []


@pytest.mark.parametrize("page", [page for page in PAGES if page.parent.name in ("how_to", "start")], ids=name_of)
def test_a_how_to_page_is_short(page: Path) -> None:
    assert readability.count(readability.without_code(page.read_text(encoding="utf-8"))) <= 600
