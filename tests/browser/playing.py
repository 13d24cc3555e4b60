"""How the tests play at a table: by clicks, keys and touch."""

from typing import Any

import pytest

CHOICES = "#stage [data-word]"
CORNER = {"x": 9, "y": 20}
"""Of a card: the part that no other covers."""


def until(page: Any, script: str, arg: object = None) -> None:
    """Wait until a script says true; the page's policy lets no text be run in it, so the page is asked from outside."""
    for _ in range(3000):
        if page.evaluate(script, arg):
            return
        page.wait_for_timeout(20)
    pytest.fail(f"it never came to {script}")


def sit_down(page: Any, variant: str, player: str = "random") -> None:
    """Open a table at which the others play at once."""
    page.click(f"[data-game={variant}] .set-up")
    for select in page.query_selector_all("#setup .who select")[1:]:
        select.select_option(player)
    page.click("#start")
    page.wait_for_selector("#stage .own-bar")
    page.select_option("#pace", "0")


def state(page: Any) -> str:
    """Where the match stands."""
    return str(page.get_attribute("#stage", "data-moment"))


def wait_for_turn(page: Any) -> bool:
    """Wait until the person is to act; False if the deal is over."""
    page.wait_for_selector(f"{CHOICES}, .result", state="attached")
    return page.query_selector(CHOICES) is not None


def wait_until_moved(page: Any, before: str) -> None:
    """Wait until the match stands elsewhere."""
    page.wait_for_selector(f'#stage:not([data-moment="{before}"])')


DOUBLE_TAP = 350
"""Milliseconds after which a second tap is not the second half of a double tap, which takes no action."""


def click(page: Any) -> None:
    before = state(page)
    page.locator(CHOICES).first.click(position=CORNER)
    wait_until_moved(page, before)


def press(page: Any) -> None:
    before = state(page)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    wait_until_moved(page, before)


def tap(page: Any) -> None:
    before = state(page)
    page.locator(CHOICES).first.tap(position=CORNER)
    wait_until_moved(page, before)
    page.wait_for_timeout(DOUBLE_TAP)
