"""A deal of each game in each browser and on each size of screen, by clicks, keys or touch."""

import pytest

from noms_env.variants import VARIANTS
from tests.browser.conftest import SIZES
from tests.browser.playing import NewPage, click, press, tap, wait_for_turn

pytestmark = pytest.mark.browser
ACTIONS = {"chromium": (click, press, tap), "firefox": (click, press)}
"""Playwright cannot touch the screen of Firefox; `test_touch` does."""


@pytest.mark.parametrize("size", SIZES, ids=[str(width) for width, _ in SIZES])
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_deal_is_played_to_its_score(
    variant: str, size: tuple[int, int], kind: str, new_page_of_kind: NewPage, address: str
) -> None:
    actions = ACTIONS[kind]
    act = actions[([*VARIANTS].index(variant) + SIZES.index(size)) % len(actions)]
    page = new_page_of_kind(address, size, has_touch=act is tap, reduced_motion="reduce")
    page.click("#level >> text=easy")
    page.click(f"[data-game={variant}] .play")
    page.wait_for_selector("#stage .own-bar")
    page.select_option("#pace", "0")
    wait_for_turn(page)
    seats = page.locator(".plate").count() + 1
    while wait_for_turn(page):
        act(page)
    page.wait_for_selector("#sheet tbody tr:not(.to-come)", state="attached")
    assert page.inner_text("#table-status").startswith(("The deal is over", "The match is over", "All passed"))
    page.wait_for_selector("#result-headline")
    assert page.locator(".result tbody tr").count() == seats
