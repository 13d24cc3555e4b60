"""The first lessons in Chromium: by clicks to their end, and their answers to wrong choices."""

from typing import Any

import pytest

from noms_env.variants import VARIANTS
from tests.browser.playing import CORNER, NewPage, axe_findings, page_width, until

pytestmark = pytest.mark.browser


def open_lesson(new_page: NewPage, address: str, variant: str, size: tuple[int, int] = (1280, 900)) -> Any:
    page = new_page(address, size, reduced_motion="reduce")
    page.click(f"[data-game={variant}] .lesson")
    page.wait_for_selector(".lesson-card")
    until(page, "noms.ready")
    return page


def do_step(page: Any) -> None:
    number, word = page.evaluate("[noms.step, noms.lesson.steps[noms.step].wants]")
    if word is None:
        page.click("#lesson-next")
    else:
        page.locator(f"#stage [data-word='{word}']").first.click(position=CORNER)
    until(page, f"noms.step === {number + 1} && noms.ready")


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_lesson_leads_to_a_game(variant: str, new_page: NewPage, address: str) -> None:
    page = open_lesson(new_page, address, variant, (390, 844))
    for _ in range(page.evaluate("noms.lesson.steps.length") - 1):
        do_step(page)
        assert page_width(page) <= 390
        assert page.inner_text(".lesson-text")
    assert page.is_visible("#result-headline")
    page.click("#lesson-play")
    page.wait_for_selector(".plate .level")
    assert page.evaluate("noms.table.variant") == variant
    assert set(page.evaluate("noms.table.levels")) == {None, "easy"}


def test_a_lesson_corrects_mistakes_and_survives_a_reload(new_page: NewPage, address: str) -> None:
    page = open_lesson(new_page, address, "small_ships")
    do_step(page)
    for _ in ("light", "dark"):
        assert axe_findings(page) == []
        page.click("#theme")
    page.click("#stage [data-word='7']")
    assert "Bid 10" in page.inner_text("#lesson-wrong")
    assert page.query_selector("#stage .hinted") is None
    page.click("#stage [data-word='7']")
    page.wait_for_selector("#stage .hinted[data-word='10']")
    for _ in range(3):
        do_step(page)
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
