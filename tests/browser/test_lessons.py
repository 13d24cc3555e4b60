"""The first lessons in a browser: each is done to its end by clicks, and answers what is not right."""

from collections.abc import Callable
from typing import Any

import pytest

from noms_env.variants import VARIANTS
from tests.browser.playing import CORNER, until

pytestmark = pytest.mark.browser
NewPage = Callable[..., Any]


def begin(new_page: NewPage, address: str, variant: str, **settings: Any) -> Any:
    page = new_page(address, reduced_motion="reduce", **settings)
    page.click(f"[data-game={variant}] .lesson")
    page.wait_for_selector(".lesson-card")
    until(page, "noms.ready")
    return page


def go_on(page: Any) -> None:
    """Do what a step asks for."""
    number, wanted = page.evaluate("[noms.step, noms.lesson.steps[noms.step].wants]")
    if wanted is None:
        page.click("#lesson-next")
    else:
        page.locator(f"#stage [data-word='{wanted}']").first.click(position=CORNER)
    until(page, f"noms.step === {number + 1} && noms.ready")


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_lesson_is_done_to_its_end(variant: str, new_page: NewPage, address: str) -> None:
    page = begin(new_page, address, variant)
    page.set_viewport_size({"width": 390, "height": 844})
    for _ in range(page.evaluate("noms.lesson.steps.length") - 1):
        go_on(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert page.inner_text(".lesson-text")
    assert page.is_visible("#result-headline")
    page.click("#lesson-play")
    page.wait_for_selector(".plate .level")
    assert page.evaluate("noms.table.variant") == variant
    assert set(page.evaluate("noms.table.levels")) == {None, "easy"}


def test_a_lesson_says_what_is_wrong_and_goes_on_after_a_reload(new_page: NewPage, address: str) -> None:
    page = begin(new_page, address, "small_ships")
    go_on(page)
    page.click("#stage [data-word='7']")
    assert "Bid 10" in page.inner_text("#lesson-wrong")
    assert page.query_selector("#stage .hinted") is None
    page.click("#stage [data-word='7']")
    page.wait_for_selector("#stage .hinted[data-word='10']")
    for _ in range(3):
        go_on(page)
    page.locator("[data-why='4C']").click(position=CORNER)
    assert "suit of the card that you nominated" in page.inner_text("#table-status")
    number = page.evaluate("noms.step")
    page.reload()
    until(page, "Boolean(noms.ready && noms.lesson)")
    assert page.evaluate("noms.step") == number
    page.click("#lesson-back")
    until(page, f"noms.step === {number - 1} && noms.ready")
    page.keyboard.press("ArrowRight")
    while page.evaluate("document.activeElement.dataset.word") != page.evaluate("noms.lesson.steps[noms.step].wants"):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    until(page, f"noms.step === {number} && noms.ready")


def test_axe_finds_nothing_in_lessons_and_results(new_page: NewPage, address: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    def found(page: Any) -> list[str]:
        violations = Axe().run(page).response["violations"]
        return [f"{one['id']}: {one['nodes'][0]['html']}" for one in violations]

    page = begin(new_page, address, "nonesuch")
    go_on(page)
    assert found(page) == []
    page.click("#theme")
    assert found(page) == []
    page.goto(f"{address}#page=results")
    page.wait_for_selector(".results")
    assert found(page) == []
