"""Fixtures of the tests in a browser: Chromium, Firefox, a server, and pages whose console must stay empty.

They run only in `make browser`. The browsers are the system's; none is downloaded.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

NAMES = {
    "chromium": ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"),
    "firefox": ("firefox-esr", "firefox"),
}
"""Names of the commands."""
SIZES = ((1440, 900), (1024, 768), (844, 390), (390, 844))


def find_browser(kind: str) -> str | None:
    """Return the path of a browser: `NOMS_CHROMIUM`, `NOMS_FIREFOX` (empty: none), or the system's."""
    return os.environ.get(f"NOMS_{kind.upper()}", next(filter(None, map(shutil.which, NAMES[kind])), None)) or None


KINDS = ["chromium", *(["firefox"] if find_browser("firefox") else [])]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--approve", action="store_true", help="approve the pictures of pages as they are now")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if "firefox" not in KINDS:
        terminalreporter.write_line(
            "the tests in Firefox are left out: install it (apt install firefox-esr), or name it by NOMS_FIREFOX"
        )


@pytest.fixture(scope="session")
def playwright() -> Iterator[Any]:
    try:
        from playwright.sync_api import sync_playwright
    except ModuleNotFoundError:
        pytest.fail("the tests in a browser need Playwright: pip install '.[browser]'")
    with sync_playwright() as playwright:
        yield playwright


@pytest.fixture(scope="session")
def chromium(playwright: Any) -> Iterator[Any]:
    path = find_browser("chromium")
    if path is None:
        pytest.fail("the tests in a browser need Chromium: install it (apt install chromium), or name it by NOMS_CHROMIUM")
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    flags = ["--font-render-hinting=none", "--disable-lcd-text", "--force-color-profile=srgb"]
    browser = playwright.chromium.launch(executable_path=path, args=flags + ["--no-sandbox"] * root)
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def firefox(playwright: Any) -> Iterator[Any]:
    """Firefox by WebDriver BiDi, for which this Playwright has no public name; it needs no patched browser."""
    from playwright._impl._connection import from_channel
    from playwright._impl._sync_base import mapping

    kind = from_channel(playwright._impl_obj._initializer["_bidiFirefox"])
    kind._playwright = playwright._impl_obj
    prefs = {"ui.prefersReducedMotion": 1}  # not emulated there
    browser = mapping.from_impl(kind).launch(executable_path=find_browser("firefox"), firefox_user_prefs=prefs)
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    from noms_training.play.browser.hall import Hall
    from noms_training.play.browser.lobby import Lobby
    from noms_training.play.browser.messages import Limits
    from tests.served import served

    with served(Hall(tmp_path_factory.mktemp("tables"), Lobby(), Limits(rate=1000, pace=0, undo_seconds=1))) as address:
        yield address


@contextmanager
def pages_of(browser: Any) -> Iterator[Callable[..., Any]]:
    """Yield a function that opens a page in a new context; at the end, assert that the consoles have no errors."""
    contexts, complaints = [], list[str]()

    def open_page(address: str | Path, size: tuple[int, int] = (1280, 900), **settings: Any) -> Any:
        context = browser.new_context(viewport={"width": size[0], "height": size[1]}, **settings)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on("console", lambda line: complaints.append(line.text) if line.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(str(address))
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture
def new_page(chromium: Any) -> Iterator[Callable[..., Any]]:
    with pages_of(chromium) as open_page:
        yield open_page


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def new_page_of_kind(kind: str, request: pytest.FixtureRequest) -> Iterator[Callable[..., Any]]:
    with pages_of(request.getfixturevalue(kind)) as open_page:
        yield open_page
