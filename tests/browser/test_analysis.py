"""The analysis of a deal in a real Chromium: its graph and its marks, by clicks, keys and touch, and a decision tried again."""

from typing import Any

import pytest

from tests.browser.conftest import SIZES
from tests.browser.playing import click, sit_down, until, wait_for_turn
from tests.browser.test_boxes import MEASURE, faults
from tests.browser.test_pages import NewPage, saved

pytestmark = pytest.mark.browser
AT = "noms.analysis.at"


def analysed(new_page: NewPage, address: str, variant: str = "up_down", **settings: Any) -> Any:
    """A page that shows the analysis of a deal."""
    page = new_page(address, reduced_motion="reduce", **settings)
    sit_down(page, variant)
    while wait_for_turn(page):
        click(page)
    page.wait_for_selector("#judge")
    page.click("#judge")
    page.wait_for_selector(".analysis-page #graph")
    return page


def decisions(page: Any) -> list[dict[str, Any]]:
    """The judged decisions of the person."""
    found: list[dict[str, Any]] = page.evaluate(
        "noms.analysis.deals[0].moments.map((one, at) => ({ at, ...one })).filter((one) => one.judged && one.seat === 0)"
    )
    return found


def test_an_analysis_opens_at_the_biggest_mistake_and_is_walked_through_by_keys(new_page: NewPage, address: str) -> None:
    page = analysed(new_page, address, "down_up")
    link, own = page.url, decisions(page)
    assert page.locator("#decisions tbody tr").count() == page.locator(".plot .dot:not(.end)").count() == len(own)
    worst = page.evaluate("noms.analysis.deals[0].worst")
    assert worst is not None, "random play loses something"
    assert page.evaluate(AT) == worst
    moment = next(one for one in own if one["at"] == worst)
    assert page.locator(".marked").count() == 2, "what was taken and what is better, both on the board"
    better = page.locator(".marked.better").first
    assert better.get_attribute("data-word") or better.get_attribute("data-card") == moment["judged"]["best"]
    assert "would have been better" in better.get_attribute("aria-label")
    assert "more in" in page.inner_text(".verdict")
    page.click(".error-sign")
    assert "give or take" in page.inner_text(".verdict").lower()
    page.keyboard.press("Home")
    assert page.evaluate(AT) == 0
    page.keyboard.press("ArrowRight")
    assert page.get_attribute("#graph", "aria-valuenow") == "1"
    page.keyboard.press("End")
    page.wait_for_selector("#result-headline")
    page.locator("#decisions tbody button").first.click()
    assert page.evaluate(AT) == own[0]["at"]
    box = page.locator("#graph").bounding_box()
    page.mouse.click(box["x"] + box["width"] - 1, box["y"] + 10)
    assert page.evaluate(AT) == page.evaluate("noms.analysis.deals[0].moments.length") - 1
    assert saved(page, "#png")[:4] == b"\x89PNG"
    assert b"<svg" in saved(page, "#svg")
    page.keyboard.press("Escape")
    assert page.is_visible("#result-headline")
    assert page.url == link
    page.click("#watch")
    page.wait_for_selector(".analysis-page")
    assert page.query_selector("#graph") is None
    page.keyboard.press("Escape")
    page.keyboard.press("n")
    until(page, "noms.table.moment.startsWith('2.')")
    page.wait_for_timeout(1100)  # the least time between two films
    page.click("#sheet [aria-label='Replay deal 1']")
    page.wait_for_selector(".analysis-page")
    page.wait_for_selector(".top >> text=Deal 1")


def test_a_decision_is_tried_again_and_compared_and_the_match_goes_on(new_page: NewPage, address: str) -> None:
    page = analysed(new_page, address)
    sheet, link = page.evaluate("noms.table.sheet"), page.url
    page.locator("#decisions tbody button").first.click()
    at = page.evaluate(AT)
    page.keyboard.press("t")
    page.wait_for_selector(".top >> text=it does not count")
    assert page.evaluate("noms.table.moment") == f"1.{at}"
    assert "does not count" in page.inner_text(".top")
    while wait_for_turn(page):
        click(page)
    page.wait_for_selector(".compared")
    assert "the first time" in page.inner_text(".compared")
    page.click("#once-more")
    page.wait_for_selector(f'#stage[data-moment="1.{at}"]')
    page.click(".way-back")
    page.wait_for_selector(".analysis-page #graph")
    assert page.evaluate(AT) == at
    page.keyboard.press("Escape")
    page.wait_for_selector("#deal-next")
    assert page.url == link
    assert page.evaluate("noms.table.sheet") == sheet
    page.click("#deal-next")
    until(page, "noms.table.moment.startsWith('2.')")


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_nothing_lies_over_anything_else_in_an_analysis(width: int, height: int, new_page: NewPage, address: str) -> None:
    page = new_page(f"{address}gallery.html", reduced_motion="reduce")
    page.set_viewport_size({"width": width, "height": height})
    page.wait_for_selector(".gallery h2 >> text=up_down")
    wrong = {}
    for name in page.evaluate("noms.states.filter(({ table }) => table.view.turn === table.yours).map((one) => one.name)"):
        page.evaluate("(name) => gallery.analyse(name)", name)
        page.wait_for_timeout(60)
        if found := faults(page.evaluate(MEASURE), width):
            wrong[name] = found
    assert wrong == {}


def test_a_phone_shows_table_and_graph_and_a_finger_moves_along_it(new_page: NewPage, address: str) -> None:
    page = analysed(new_page, address, "down_up", has_touch=True)
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_timeout(300)
    graph = page.locator("#graph").bounding_box()
    assert graph["y"] + graph["height"] <= 844, "without scrolling"
    assert all(box["height"] >= 24 for box in (one.bounding_box() for one in page.locator(".steps button:visible").all()))
    page.touchscreen.tap(graph["x"] + 2, graph["y"] + 10)
    assert page.evaluate(AT) == decisions(page)[0]["at"]


def test_axe_finds_nothing_in_an_analysis(new_page: NewPage, address: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page = analysed(new_page, address)
    for _ in ("light", "dark"):
        page.wait_for_timeout(300)
        violations = Axe().run(page).response["violations"]
        assert [f"{one['id']}: {one['nodes'][0]['html']}" for one in violations] == []
        page.click("#theme")
