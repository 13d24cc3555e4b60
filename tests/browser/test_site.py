"""The documentation site in Chromium: its search, and no page that scrolls sideways."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.playing import NewPage

pytestmark = pytest.mark.browser
ROOT = Path(__file__).parents[2]
WIDTHS = (390, 1024, 1440)
QUESTIONS = {
    "how do I change the reward": "how_to/rewards",
    "reward scale": "how_to/rewards",
    "what is normal for PPO": "normal",
    "why is my action illegal": "how_to/legal_actions",
    "how fast on my laptop": "speed",
    "can I use JAX": "gpu",
    "load a policy as an opponent": "how_to/opponents",
    "learning rate": "how_to/change_training",
    "hidden partner": "environments/small_ships",
    "how strong are the published policies": "results",
    "train on a GPU": "gpu",
    "resume training": "how_to/resume",
    "how do I evaluate my policy": "how_to/evaluate",
    "how many deals do I need": "how_to/evaluate",
    "play in the browser": "how_to/browser",
    "play with friends": "how_to/host",
    "action mask": "how_to/legal_actions",
    "what is in an observation": "environments/common",
    "features for a neural network": "environments/features",
    "rules of Nonesuch": "environments/nonesuch",
    "stable baselines MaskablePPO": "how_to/other_libraries",
    "RLlib": "how_to/other_libraries",
    "PettingZoo self-play": "how_to/many_agents",
    "Gymnasium vector environment": "how_to/one_agent",
    "what is thumb": "players",
    "what does pimc:100 mean": "players",
    "write my own bot": "how_to/own_players",
    "add a house rule": "how_to/add_option",
    "data set for imitation learning": "how_to/export",
    "same deals with the same seed": "how_to/reproducibility",
    "sample hidden cards for MCTS": "how_to/sample_hidden",
    "install torch": "start/install",
    "submit to the benchmark": "how_to/own_entry",
    "duplicate deal": "glossary",
    "how long does training take": "how_to/train",
    "how do I cite": "reporting",
}
"""Questions of users, and the pages with the answers."""
SEARCH = "question => Search._performSearch(...Search._parseQuery(question)).reverse().map(result => result[0])"
OVERFLOWS = """() => [...document.querySelectorAll("article pre, article table, article .table-wrapper, body")]
  .filter((part) => part.scrollWidth > part.clientWidth + 1 && part.clientWidth)
  .map((part) => `${part.tagName} ${part.scrollWidth - part.clientWidth}: ${part.textContent.trim().slice(0, 60)}`)"""


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site."""
    folder = tmp_path_factory.mktemp("site")
    words = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "--keep-going", "-d", str(folder / "doctrees")]
    subprocess.run([*words, str(ROOT / "docs"), str(folder / "html")], check=True)
    return folder / "html"


@pytest.fixture(scope="session")
def find(site: Path, chromium: Any) -> Any:
    """Return a function that searches the site, and returns pages, best first."""
    page = chromium.new_page()
    page.goto(f"{(site / 'search.html').as_uri()}?q=")
    page.wait_for_function("Search.hasIndex()")
    return lambda question: page.evaluate(SEARCH, question)


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_answer_is_among_the_first_three_results(question: str, find: Callable[[str], list[str]]) -> None:
    assert QUESTIONS[question] in find(question)[:3]


def test_the_search_leaves_out_the_notebook_and_the_cards(find: Callable[[str], list[str]]) -> None:
    pages = {page for question in ("experiment", "reward", "policy", "noms") for page in find(question)}
    assert pages
    assert not [page for page in pages if page == "lab" or page.startswith("policies/")]


@pytest.mark.parametrize("width", WIDTHS)
def test_no_page_of_the_manual_scrolls_sideways(width: int, site: Path, new_page: NewPage) -> None:
    page = new_page((site / "index.html").as_uri(), (width, 900))
    wide = {}
    for file in [site / "index.html", *sorted((site / "start").glob("*.html")), *sorted((site / "how_to").glob("*.html"))]:
        page.goto(file.as_uri())
        wide[str(file.relative_to(site))] = page.evaluate(OVERFLOWS)
    assert not any(wide.values()), wide
