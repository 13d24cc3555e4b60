"""The documentation site in Chromium: its search answers, and nothing on its pages scrolls sideways."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

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
"""What a user asks, and the page that answers."""
SEARCH = "question => Search._performSearch(...Search._parseQuery(question)).reverse().map(result => result[0])"
OVERFLOWS = """() => [...document.querySelectorAll("article pre, article table, article .table-wrapper, body")]
  .filter((part) => part.scrollWidth > part.clientWidth + 1 && part.clientWidth)
  .map((part) => `${part.tagName} ${part.scrollWidth - part.clientWidth}: ${part.textContent.trim().slice(0, 60)}`)"""


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the built site."""
    folder = tmp_path_factory.mktemp("site")
    words = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "--keep-going", "-d", str(folder / "doctrees")]
    subprocess.run([*words, str(ROOT / "docs"), str(folder / "html")], check=True)
    return folder / "html"


@pytest.fixture(scope="session")
def find(site: Path, chromium: Any) -> Any:
    """The pages that the site's search names, best first."""
    page = chromium.new_page()
    page.goto(f"{(site / 'search.html').as_uri()}?q=")
    page.wait_for_function("Search.hasIndex()")
    return lambda question: page.evaluate(SEARCH, question)


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_search_has_the_answer_among_its_first_three(question: str, find: Callable[[str], list[str]]) -> None:
    assert QUESTIONS[question] in find(question)[:3]


def test_the_search_leaves_out_the_notebook_and_the_cards(find: Callable[[str], list[str]]) -> None:
    found = {page for question in ("experiment", "reward", "policy", "noms") for page in find(question)}
    assert found
    assert not [page for page in found if page == "lab" or page.startswith("policies/")]


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_on_a_page_to_work_with_scrolls_sideways(width: int, site: Path, new_page: Callable[..., Any]) -> None:
    page = new_page((site / "index.html").as_uri())
    page.set_viewport_size({"width": width, "height": 900})
    wide = dict[str, list[str]]()
    for file in [site / "index.html", *sorted((site / "start").glob("*.html")), *sorted((site / "how_to").glob("*.html"))]:
        page.goto(file.as_uri())
        wide |= {str(file.relative_to(site)): parts} if (parts := page.evaluate(OVERFLOWS)) else {}
    assert wide == {}
