"""What the tests in a browser share: Chromium, a server, and pages that must not complain.

They are left out unless asked for: `make browser`. The browser is the system's; none is downloaded.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
"""Names under which systems have it."""


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """The browser; the tests fail with a sentence where there is none."""
    try:
        from playwright.sync_api import sync_playwright
    except ModuleNotFoundError:
        pytest.fail("the tests in a browser need Playwright: pip install '.[browser]'")
    path = os.environ.get("NOMS_CHROMIUM") or next(filter(None, map(shutil.which, CHROMIUM)), None)
    if path is None:
        pytest.fail("the tests in a browser need Chromium: install it (apt install chromium), or name it by NOMS_CHROMIUM")
    with sync_playwright() as playwright:
        root = hasattr(os, "geteuid") and os.geteuid() == 0
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"] if root else [])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server in a thread of its own."""
    from noms_training.play.browser.hall import Hall
    from noms_training.play.browser.lobby import Lobby
    from noms_training.play.browser.messages import Limits
    from tests.served import served

    with served(Hall(tmp_path_factory.mktemp("tables"), Lobby(), Limits(rate=1000, pace=0))) as address:
        yield address


@pytest.fixture
def new_page(chromium: Any) -> Iterator[Callable[..., Any]]:
    """Opens pages, each of a person of its own; at the end none may have complained in its console."""
    contexts, complaints = [], list[str]()

    def open_page(address: str | Path, **settings: Any) -> Any:
        context = chromium.new_context(viewport={"width": 1280, "height": 900}, **settings)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(str(address))
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []
