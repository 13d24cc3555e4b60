"""What the tests of pages do at a table: play by clicks, keys and touch, and check for accessibility."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

NewPage = Callable[..., Any]
CHOICES = "#stage [data-word]"
CORNER = {"x": 9, "y": 20}
"""Of a card: the part that no other covers."""
DOUBLE_TAP = 350
"""Milliseconds after which a second tap is not the second half of a double tap, which takes no action."""


def until(page: Any, script: str, arg: object = None) -> None:
    """Wait until a script returns true; `wait_for_function` would run text in the page, which its policy forbids."""
    for _ in range(3000):
        if page.evaluate(script, arg):
            return
        page.wait_for_timeout(20)
    pytest.fail(f"it never came to {script}")


def sit_down(page: Any, variant: str, player: str = "random") -> Any:
    """Open a table whose other players act at once; return the page."""
    page.click(f"[data-game={variant}] .set-up")
    for select in page.query_selector_all("#setup .who select")[1:]:
        select.select_option(player)
    page.click("#start")
    page.wait_for_selector("#stage .own-bar")
    page.select_option("#pace", "0")
    return page


def moment_of(page: Any) -> str:
    """Return the position in the match."""
    return str(page.get_attribute("#stage", "data-moment"))


def wait_for_turn(page: Any) -> bool:
    """Wait until the person is to act; return False if the deal is over."""
    page.wait_for_selector(f"{CHOICES}, .result", state="attached")
    return page.query_selector(CHOICES) is not None


def wait_until_moved(page: Any, before: str) -> None:
    page.wait_for_selector(f'#stage:not([data-moment="{before}"])')


def click(page: Any) -> None:
    before = moment_of(page)
    page.locator(CHOICES).first.click(position=CORNER)
    wait_until_moved(page, before)


def press(page: Any) -> None:
    before = moment_of(page)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    wait_until_moved(page, before)


def tap(page: Any) -> None:
    before = moment_of(page)
    page.locator(CHOICES).first.tap(position=CORNER)
    wait_until_moved(page, before)
    page.wait_for_timeout(DOUBLE_TAP)


def finish_deal(page: Any) -> None:
    """Play by clicks until the result is shown."""
    while wait_for_turn(page):
        click(page)
    page.wait_for_selector("#result-headline")


def download(page: Any, button: str) -> bytes:
    """Click a button; return the file that it saves."""
    with page.expect_download() as download:
        page.click(button)
    return Path(download.value.path()).read_bytes()


def axe_findings(page: Any, delay: float = 400) -> list[str]:
    """Return what axe finds after a delay in milliseconds, in which movements end."""
    from axe_playwright_python.sync_playwright import Axe

    page.wait_for_timeout(delay)
    violations = Axe().run(page).response["violations"]
    return [f"{violation['id']}: {violation['nodes'][0]['html']}" for violation in violations]


def page_width(page: Any) -> int:
    return int(page.evaluate("document.documentElement.scrollWidth"))
